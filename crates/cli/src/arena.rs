//! The memory of a `fire`. A firing lives for a millisecond on one thread, and its process then gives
//! everything back to the kernel. Its blocks come from one region without locks, and freed blocks
//! are used again, because every page that is touched for the first time costs a page fault. All
//! other commands and threads, large blocks, and blocks for which the region has no room, use the
//! system's allocator.

#![expect(unsafe_code, reason = "a global allocator is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rustix::mm::{Advice, madvise};

/// The size of the region. The kernel provides its pages when they are written for the first time.
const REGION_BYTES: usize = 4 << 20;
/// Larger blocks come from the system's allocator, which can grow them without a copy.
const MAX_BLOCK_BYTES: usize = 256 << 10;
/// Blocks start and end at multiples of this.
const GRAIN_BYTES: usize = 16;
/// Free blocks up to this size are kept in one list for each size.
const MAX_SMALL_BYTES: usize = 512;
/// How many free large blocks are looked at for a large one. For a small one it is the first.
const MAX_SEARCH_COUNT: usize = 4;
const PAGE_BYTES: usize = 4096;
/// How much of the region a `fire` uses if no hook runs.
const USUAL_REGION_BYTES: usize = 72 << 10;
/// How much of the stack it uses. The kernel maps more than this at the start of a process.
const USUAL_STACK_BYTES: usize = 36 << 10;

#[repr(C, align(4096))]
struct Region(UnsafeCell<[u8; REGION_BYTES]>);

// SAFETY: each part of the region belongs to one block only, and only the thread of the firing
// hands out blocks.
unsafe impl Sync for Region {}

static REGION: Region = Region(UnsafeCell::new([0; REGION_BYTES]));

/// Where the next block starts, and the free blocks, as offsets into the region. No block is at
/// offset 0, so 0 ends a list.
struct FreeSpace {
    end: Cell<usize>,
    small: [Cell<usize>; MAX_SMALL_BYTES / GRAIN_BYTES + 1],
    large: Cell<usize>,
}

// SAFETY: it is used only by the one thread for which `IS_FIRE_THREAD` is set.
unsafe impl Sync for FreeSpace {}

static FREE_SPACE: FreeSpace = FreeSpace {
    end: Cell::new(GRAIN_BYTES),
    small: [const { Cell::new(0) }; MAX_SMALL_BYTES / GRAIN_BYTES + 1],
    large: Cell::new(0),
};

/// Whether a thread has the region, or had it.
static HAS_OWNER: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread takes blocks from the region.
    static IS_FIRE_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Takes further blocks of this thread, the main thread, from the region. Has the kernel provide the
/// memory that nearly every `fire` uses with two calls, instead of with a page fault for each page.
///
/// Only the first thread that asks gets the region.
pub fn enable() {
    if HAS_OWNER.swap(true, Relaxed) {
        return;
    }
    let stack_top = 0_u8;
    provide_pages(REGION.0.get().cast(), USUAL_REGION_BYTES);
    provide_pages(
        (&raw const stack_top).wrapping_sub(USUAL_STACK_BYTES).cast_mut(),
        USUAL_STACK_BYTES,
    );
    IS_FIRE_THREAD.set(true);
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
    IS_FIRE_THREAD.set(false);
}

/// What is written at the start of a free block.
#[repr(C)]
struct FreeBlock {
    next: usize,
    bytes: usize,
}

impl FreeSpace {
    /// A block of at least this size; `None` without room.
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        if layout.size() > MAX_BLOCK_BYTES || layout.align() > PAGE_BYTES {
            return None;
        }
        let bytes = block_bytes(layout.size());
        let reused = if layout.align() <= GRAIN_BYTES { self.take_free(bytes) } else { None };
        reused.or_else(|| self.take_new(bytes, layout.align())).map(block_at)
    }

    fn take_new(&self, bytes: usize, align: usize) -> Option<usize> {
        let start = self.end.get().next_multiple_of(align.max(GRAIN_BYTES));
        if start + bytes > REGION_BYTES {
            return None;
        }
        self.end.set(start + bytes);
        Some(start)
    }

    /// A free block, if there is one of this size or a larger one, whose rest stays free.
    fn take_free(&self, bytes: usize) -> Option<usize> {
        if bytes <= MAX_SMALL_BYTES {
            let list = &self.small[bytes / GRAIN_BYTES];
            let start = list.get();
            if start != 0 {
                list.set(read_free(start).next);
                return Some(start);
            }
        }
        let count = if bytes <= MAX_SMALL_BYTES { 1 } else { MAX_SEARCH_COUNT };
        let mut link = &self.large;
        for _ in 0..count {
            let start = link.get();
            if start == 0 {
                break;
            }
            let found = read_free(start);
            if found.bytes >= bytes {
                link.set(found.next);
                if found.bytes > bytes {
                    self.put(start + bytes, found.bytes - bytes);
                }
                return Some(start);
            }
            link = next_of(start);
        }
        None
    }

    /// Frees a block.
    fn put(&self, start: usize, bytes: usize) {
        if start + bytes == self.end.get() {
            return self.end.set(start);
        }
        let list =
            if bytes <= MAX_SMALL_BYTES { &self.small[bytes / GRAIN_BYTES] } else { &self.large };
        let free = FreeBlock { next: list.get(), bytes };
        // SAFETY: the block is in the region, is large enough for the entry, and belongs to nobody.
        unsafe { block_at(start).cast::<FreeBlock>().write(free) };
        list.set(start);
    }

    /// Changes the size of a block where it is, if it shrinks, has room or is the last one.
    fn resize(&self, start: usize, old: usize, new: usize) -> bool {
        let (old, new) = (block_bytes(old), block_bytes(new));
        if new < old {
            self.put(start + new, old - new);
        }
        if new <= old {
            return true;
        }
        let is_last = start + old == self.end.get() && start + new <= REGION_BYTES;
        if is_last {
            self.end.set(start + new);
        }
        is_last
    }
}

/// The size of the block for a request.
fn block_bytes(size: usize) -> usize {
    size.next_multiple_of(GRAIN_BYTES)
}

fn block_at(offset: usize) -> *mut u8 {
    REGION.0.get().cast::<u8>().wrapping_add(offset)
}

fn read_free(start: usize) -> FreeBlock {
    // SAFETY: only offsets of free blocks are in the lists, and `put` wrote their entries.
    unsafe { block_at(start).cast::<FreeBlock>().read() }
}

/// The link of a free block to the next one.
fn next_of(start: usize) -> &'static Cell<usize> {
    // SAFETY: as in `read_free`; a cell has the layout of its content, and nothing else refers to
    // it.
    unsafe { &*block_at(start).cast::<Cell<usize>>() }
}

/// The offset of a block in the region; `None` for a block of the system.
fn region_offset(block: *mut u8) -> Option<usize> {
    let offset = block.addr().wrapping_sub(REGION.0.get().addr());
    (offset < REGION_BYTES).then_some(offset)
}

/// Allocates from the region on the thread of a firing, otherwise from the system.
struct FireAllocator;

#[global_allocator]
static ALLOCATOR: FireAllocator = FireAllocator;

// SAFETY: every block is either a part of the region that no other block has, or a block of the
// system, and it is returned to where it came from. A block of the region that another thread
// frees stays as it is.
unsafe impl GlobalAlloc for FireAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = if IS_FIRE_THREAD.get() { FREE_SPACE.take(layout) } else { None };
        // SAFETY: the caller's promise about the layout is passed on.
        block.unwrap_or_else(|| unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !IS_FIRE_THREAD.get() {
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
            Some(start) if IS_FIRE_THREAD.get() => {
                FREE_SPACE.put(start, block_bytes(layout.size()))
            }
            Some(_) => {}
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
        if IS_FIRE_THREAD.get() && FREE_SPACE.resize(start, layout.size(), size) {
            return block;
        }
        // SAFETY: both blocks have the copied size, and they do not overlap. The caller promises
        // that the new size and the alignment make a layout.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{FREE_SPACE, IS_FIRE_THREAD, disable, enable};

    /// One change of a list of texts: a new one, a longer or shorter one, or one less.
    #[derive(Debug, Clone)]
    enum Change {
        Add(usize),
        Resize(usize, usize),
        Remove(usize),
    }

    fn any_change() -> impl Strategy<Value = Change> {
        prop_oneof![
            (1_usize..3_000).prop_map(Change::Add),
            (any::<usize>(), 1_usize..3_000).prop_map(|(at, size)| Change::Resize(at, size)),
            any::<usize>().prop_map(Change::Remove),
        ]
    }

    /// Fills each block with a byte of its own, and checks that no other block changed it.
    fn apply_changes(changes: &[Change]) -> Result<(), TestCaseError> {
        let mut blocks: Vec<Vec<u8>> = Vec::new();
        for (change, byte) in changes.iter().zip((0_u8..=255).cycle()) {
            match change {
                Change::Add(size) => blocks.push(vec![byte; *size]),
                _ if blocks.is_empty() => {}
                Change::Resize(at, size) => {
                    let at = at % blocks.len();
                    let own = blocks[at][0];
                    blocks[at].resize(*size, own);
                    blocks[at].shrink_to_fit();
                }
                Change::Remove(at) => drop(blocks.swap_remove(at % blocks.len())),
            }
            for block in &blocks {
                prop_assert!(block.iter().all(|found| *found == block[0]));
            }
        }
        Ok(())
    }

    // The only test that takes blocks from the region: it has no locks.
    #[test]
    fn blocks_never_overlap_and_are_used_again() {
        enable();
        let before = FREE_SPACE.end.get();
        // More than the region has, if nothing were used again.
        for _ in 0..100_000 {
            let text = std::hint::black_box(vec![1_u8; 1_000]);
            let other = std::hint::black_box(vec![2_u8; 100]);
            drop(text);
            drop(other);
        }
        assert!(FREE_SPACE.end.get() < before + 100_000);
        let changes = prop::collection::vec(any_change(), 0..200);
        let checked = proptest::test_runner::TestRunner::default()
            .run(&changes, |changes| apply_changes(&changes));
        disable();
        assert!(!IS_FIRE_THREAD.get());
        checked.unwrap();
    }
}
