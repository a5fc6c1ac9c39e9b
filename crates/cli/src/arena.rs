//! The memory of a `fire`. A firing lives for a millisecond, and its process then gives everything
//! back to the kernel, so blocks are taken from one region in order and are not reused. All other
//! commands, large blocks, and blocks for which the region has no room, use the system's allocator.

#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustix::mm::{Advice, madvise};

/// The size of the region. The kernel provides its pages when they are written for the first time.
const REGION_BYTES: usize = 4 << 20;
/// Larger blocks come from the system's allocator, which can grow them without a copy.
const MAX_BLOCK_BYTES: usize = 256 << 10;
const PAGE_BYTES: usize = 4096;
/// How much of the region a `fire` uses if no hook runs.
const USUAL_REGION_BYTES: usize = 132 << 10;
/// How much of the stack it uses. The kernel maps more than this at the start of a process.
const USUAL_STACK_BYTES: usize = 44 << 10;

#[repr(C, align(4096))]
struct Region(UnsafeCell<[u8; REGION_BYTES]>);

// SAFETY: `NEXT_OFFSET` gives each part of the region to one block only.
unsafe impl Sync for Region {}

static REGION: Region = Region(UnsafeCell::new([0; REGION_BYTES]));
static NEXT_OFFSET: AtomicUsize = AtomicUsize::new(0);
static IS_ENABLED: AtomicBool = AtomicBool::new(false);

/// Takes further blocks from the region. Has the kernel provide the memory that nearly every `fire`
/// uses with two calls, instead of with a page fault for each page.
pub fn enable() {
    let stack_top = 0_u8;
    provide_pages(REGION.0.get().cast(), USUAL_REGION_BYTES);
    provide_pages(
        (&raw const stack_top).wrapping_sub(USUAL_STACK_BYTES).cast_mut(),
        USUAL_STACK_BYTES,
    );
    IS_ENABLED.store(true, Relaxed);
}

/// Has the kernel provide the whole pages of a range. Kernels before 5.14 refuse, and provide each
/// page when it is used.
fn provide_pages(start: *mut u8, length: usize) {
    let start = start.map_addr(|address| address.next_multiple_of(PAGE_BYTES));
    let length = length - PAGE_BYTES;
    // SAFETY: the range is memory of this process, and its content does not change.
    let _refused = unsafe { madvise(start.cast(), length, Advice::LinuxPopulateWrite) };
}

/// Takes further blocks from the system. Blocks of the region stay valid.
pub fn disable() {
    IS_ENABLED.store(false, Relaxed);
}

/// Allocates from the region while it is enabled, otherwise from the system.
struct FireAllocator;

#[global_allocator]
static ALLOCATOR: FireAllocator = FireAllocator;

/// The offset of a block in the region; `None` for a block of the system.
fn region_offset(block: *mut u8) -> Option<usize> {
    let offset = block.addr().wrapping_sub(REGION.0.get().addr());
    (offset < REGION_BYTES).then_some(offset)
}

/// Moves the end of the used part, if it is still at `from`.
fn move_end(from: usize, to: usize) -> bool {
    to <= REGION_BYTES && NEXT_OFFSET.compare_exchange(from, to, Relaxed, Relaxed).is_ok()
}

/// A new block of the region; `None` without room.
fn take_block(layout: Layout) -> Option<*mut u8> {
    if layout.size() > MAX_BLOCK_BYTES || layout.align() > PAGE_BYTES {
        return None;
    }
    loop {
        let end = NEXT_OFFSET.load(Relaxed);
        let start = end.next_multiple_of(layout.align());
        if start + layout.size() > REGION_BYTES {
            return None;
        }
        if move_end(end, start + layout.size()) {
            return Some(REGION.0.get().cast::<u8>().wrapping_add(start));
        }
    }
}

// SAFETY: every block is either a part of the region that no other block has, or a block of the
// system, and it is returned to where it came from.
unsafe impl GlobalAlloc for FireAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = IS_ENABLED.load(Relaxed).then(|| take_block(layout)).flatten();
        // SAFETY: the caller's promise about the layout is passed on.
        block.unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !IS_ENABLED.load(Relaxed) {
            // SAFETY: as in `alloc`.
            return unsafe { System.alloc_zeroed(layout) };
        }
        // SAFETY: as in `alloc`. A part of the region may have been used before, so it is cleared.
        unsafe {
            let block = self.alloc(layout);
            if !block.is_null() {
                ptr::write_bytes(block, 0, layout.size());
            }
            block
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match region_offset(block) {
            // The last block makes room for the next one; others are left.
            Some(start) => drop(move_end(start + layout.size(), start)),
            // SAFETY: the block is one of the system.
            None => unsafe { System.dealloc(block, layout) },
        }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let Some(start) = region_offset(block) else {
            // SAFETY: the block is one of the system.
            return unsafe { System.realloc(block, layout, size) };
        };
        if size <= layout.size() || move_end(start + layout.size(), start + size) {
            return block;
        }
        // SAFETY: both blocks have at least the old size, and they do not overlap. The caller
        // promises that the new size and the alignment make a layout.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size());
            }
            moved
        }
    }
}
