//! `memcpy` and its kin for the static build. Those of musl copy and compare byte by byte or start a
//! string instruction for a few bytes, and most copies and comparisons of a `fire` are short. They
//! use no instruction that a 64-bit processor of Intel or AMD may lack, so they need not ask it for
//! its features.

#![expect(unsafe_code, reason = "the linker finds these functions by their names")]

use std::arch::asm;
use std::arch::x86_64::{__m128i, _mm_set1_epi8};
use std::cmp::Ordering;
use std::ffi::c_int;

/// Longer ranges are left to the string instructions of the processor.
const MAX_SHORT_BYTES: usize = 128;

/// Copies a range that may overlap, if it is short. Reads everything before it writes.
///
/// # Safety
/// Both ranges must be valid for `count` bytes.
#[inline(always)]
unsafe fn copy_short(to: *mut u8, from: *const u8, count: usize) {
    /// Copies parts of a type at these offsets, which may overlap.
    macro_rules! copy_parts {
        ($type:ty, $($at:expr),+) => {
            // SAFETY: the caller has compared `count` with the size of the type.
            unsafe {
                let parts = [$(($at, from.add($at).cast::<$type>().read_unaligned())),+];
                for (at, part) in parts {
                    to.add(at).cast::<$type>().write_unaligned(part);
                }
            }
        };
    }
    let n = count;
    match count {
        0 => {}
        1 => copy_parts!(u8, 0),
        2..4 => copy_parts!(u16, 0, n - 2),
        4..8 => copy_parts!(u32, 0, n - 4),
        8..16 => copy_parts!(u64, 0, n - 8),
        16..=32 => copy_parts!(__m128i, 0, n - 16),
        33..=64 => copy_parts!(__m128i, 0, 16, n - 32, n - 16),
        _ => copy_parts!(__m128i, 0, 16, 32, 48, n - 64, n - 48, n - 32, n - 16),
    }
}

/// Copies ranges that do not overlap.
///
/// # Safety
/// Both ranges must be valid for `count` bytes.
#[inline(always)]
unsafe fn copy_apart(to: *mut u8, from: *const u8, count: usize) {
    if count <= MAX_SHORT_BYTES {
        // SAFETY: passed on.
        return unsafe { copy_short(to, from, count) };
    }
    // SAFETY: passed on. The last word is read before a copy inside one range may change it. A C
    // function is called with a cleared direction flag.
    unsafe {
        let last = from.add(count - 8).cast::<u64>().read_unaligned();
        asm!("rep movsq", inout("rcx") count / 8 => _, inout("rdi") to => _, inout("rsi") from => _,
            options(nostack, preserves_flags));
        to.add(count - 8).cast::<u64>().write_unaligned(last);
    }
}

/// Copies ranges that may overlap.
///
/// # Safety
/// Both ranges must be valid for `count` bytes.
#[inline(always)]
unsafe fn copy_any(to: *mut u8, from: *const u8, count: usize) {
    let is_backward = to.addr().wrapping_sub(from.addr()) < count;
    if count <= MAX_SHORT_BYTES || !is_backward {
        // SAFETY: passed on. Forward is right where the target does not begin inside the source.
        return unsafe { copy_apart(to, from, count) };
    }
    let head = count % 16;
    // SAFETY: passed on. Each step copies the 16 bytes before the last ones, down to the head.
    unsafe {
        asm!(
            "2:", "movdqu {block}, [{from} + {left} - 16]", "movdqu [{to} + {left} - 16], {block}",
            "sub {left}, 16", "cmp {left}, {head}", "jne 2b",
            block = out(xmm_reg) _, from = in(reg) from, to = in(reg) to,
            left = inout(reg) count => _, head = in(reg) head, options(nostack),
        );
        copy_short(to, from, head);
    }
}

/// Sets every byte of a range.
///
/// # Safety
/// The range must be valid for `count` bytes.
#[inline(always)]
unsafe fn fill(to: *mut u8, byte: u8, count: usize) {
    let word = u64::from(byte) * 0x0101_0101_0101_0101;
    // SAFETY: passed on; each arm writes inside the range.
    unsafe {
        match count {
            0 => {}
            1 => to.write(byte),
            2..4 => {
                to.cast::<u16>().write_unaligned(word as u16);
                to.add(count - 2).cast::<u16>().write_unaligned(word as u16);
            }
            4..8 => {
                to.cast::<u32>().write_unaligned(word as u32);
                to.add(count - 4).cast::<u32>().write_unaligned(word as u32);
            }
            8..16 => {
                to.cast::<u64>().write_unaligned(word);
                to.add(count - 8).cast::<u64>().write_unaligned(word);
            }
            16..=64 => {
                let block = _mm_set1_epi8(byte.cast_signed());
                let last = count - 16;
                for at in [0, last.min(16), last.saturating_sub(16), last] {
                    to.add(at).cast::<__m128i>().write_unaligned(block);
                }
            }
            _ => {
                asm!("rep stosq", inout("rcx") count / 8 => _, inout("rdi") to => _, in("rax") word,
                    options(nostack, preserves_flags));
                to.add(count - 8).cast::<u64>().write_unaligned(word);
            }
        }
    }
}

/// Compares two ranges like `memcmp`.
///
/// # Safety
/// Both ranges must be valid for `count` bytes.
#[inline(always)]
unsafe fn compare(one: *const u8, other: *const u8, count: usize) -> c_int {
    let mut at = 0;
    // SAFETY: passed on; only bytes before `count` are read.
    unsafe {
        while count - at >= 8 {
            let (a, b) = (read_word(one.add(at)), read_word(other.add(at)));
            if a != b {
                return order_of(a.cmp(&b));
            }
            at += 8;
        }
        if count >= 8 {
            let last = count - 8;
            return order_of(read_word(one.add(last)).cmp(&read_word(other.add(last))));
        }
        while at < count {
            let (a, b) = (one.add(at).read(), other.add(at).read());
            if a != b {
                return c_int::from(a) - c_int::from(b);
            }
            at += 1;
        }
    }
    0
}

/// Eight bytes as a number that sorts like them.
///
/// # Safety
/// They must be valid.
#[inline(always)]
unsafe fn read_word(at: *const u8) -> u64 {
    // SAFETY: passed on.
    u64::from_be(unsafe { at.cast::<u64>().read_unaligned() })
}

fn order_of(order: Ordering) -> c_int {
    order as c_int
}

/// The names that compilers call.
#[cfg(not(test))]
mod exported {
    use std::ffi::c_int;

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: the promise of the caller.
        unsafe { super::copy_apart(to, from, count) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, count: usize) -> *mut u8 {
        // SAFETY: the promise of the caller.
        unsafe { super::copy_any(to, from, count) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memset(to: *mut u8, byte: c_int, count: usize) -> *mut u8 {
        // SAFETY: the promise of the caller. C passes the byte as a number.
        unsafe { super::fill(to, byte as u8, count) };
        to
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn memcmp(one: *const u8, other: *const u8, count: usize) -> c_int {
        // SAFETY: the promise of the caller.
        unsafe { super::compare(one, other, count) }
    }

    #[unsafe(no_mangle)]
    unsafe extern "C" fn bcmp(one: *const u8, other: *const u8, count: usize) -> c_int {
        // SAFETY: the promise of the caller.
        unsafe { super::compare(one, other, count) }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{compare, copy_any, copy_apart, fill};

    /// Bytes that differ from each other.
    fn sample(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[test]
    fn copies_and_fills_every_short_length_and_no_byte_more() {
        let source = sample(400);
        for count in (0..300).chain([399]) {
            let mut target = vec![0xee_u8; 400];
            unsafe { copy_apart(target.as_mut_ptr(), source.as_ptr(), count) };
            assert_eq!(target[..count], source[..count], "{count}");
            assert!(target[count..].iter().all(|byte| *byte == 0xee), "{count}");
            unsafe { fill(target.as_mut_ptr(), 0x5a, count) };
            assert!(target[..count].iter().all(|byte| *byte == 0x5a), "{count}");
            assert!(target[count..].iter().all(|byte| *byte == 0xee), "{count}");
        }
    }

    #[test]
    fn moves_ranges_that_overlap_in_both_directions() {
        for count in 0..300 {
            for (from, to) in [(0, 1), (1, 0), (0, 15), (15, 0), (0, 17), (40, 3), (3, 40), (5, 5)]
            {
                let (mut moved, mut expected) = (sample(400), sample(400));
                let start = moved.as_mut_ptr();
                unsafe { copy_any(start.add(to), start.add(from), count) };
                expected.copy_within(from..from + count, to);
                assert_eq!(moved, expected, "{count} bytes from {from} to {to}");
            }
        }
    }

    #[test]
    fn compares_like_slices() {
        for count in 0..70 {
            let one = sample(count);
            assert_eq!(unsafe { compare(one.as_ptr(), one.as_ptr(), count) }, 0);
            for at in 0..count {
                let mut other = one.clone();
                other[at] = other[at].wrapping_add(100);
                let order = unsafe { compare(one.as_ptr(), other.as_ptr(), count) }.cmp(&0);
                assert_ne!(order, Ordering::Equal);
                assert_eq!(order, one.cmp(&other), "{count} bytes, the one at {at} differs");
            }
        }
    }
}
