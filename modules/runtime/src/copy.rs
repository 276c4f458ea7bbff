//! Copies of some kilobytes, into shared memory and out of it.
//!
//! The C library copies from 4 KiB on by `rep movsb` where the processor says that it is good at that. On AMD's Zen 3 and 4
//! it is not, if source and destination lie alike within their pages, as the frames of a ring and what they carry do again
//! and again (glibc, bug 30994): 8 KiB then take three times as long. Plain loads and stores depend on nothing, and
//! are as fast as the other where that is good: between two cores the lines that move are what takes time.

use std::ptr;
use std::sync::atomic::{Ordering, compiler_fence};

/// From so many bytes on a copy is ours.
const OURS: usize = 2 << 10;
/// How many are copied at a time: a cache line.
const LINE: usize = 64;

/// Copies bytes that do not overlap.
///
/// # Safety
/// `from` is good for reading and `to` for writing so many bytes, and they do not overlap.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    if len < OURS {
        // SAFETY: the caller's promise.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
    } else {
        // SAFETY: as above.
        unsafe { copy_many(from, to, len) };
    }
}

/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn copy_many(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has them, and the caller's promise.
        return unsafe { copy_wide(from, to, len) };
    }
    // SAFETY: the caller's promise.
    unsafe { copy_lines(from, to, len) };
}

/// As [`copy_lines`], by loads and stores of half a line.
///
/// # Safety
/// As for [`copy`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn copy_wide(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; what is inlined here is compiled for these instructions.
    unsafe { copy_lines(from, to, len) };
}

/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn copy_lines(from: *const u8, to: *mut u8, len: usize) {
    // Up to the beginning of a line of the destination: no store is to touch two of them.
    let mut at = to.align_offset(LINE).min(len);
    // SAFETY: the first of them.
    unsafe { ptr::copy_nonoverlapping(from, to, at) };
    while at + LINE <= len {
        // SAFETY: within the bytes that the caller speaks of; any bytes are bytes.
        unsafe {
            let line = from.add(at).cast::<[u8; LINE]>().read();
            to.add(at).cast::<[u8; LINE]>().write(line);
        }
        at += LINE;
        // Without it the compiler sees what the loop does, and calls the C library.
        compiler_fence(Ordering::SeqCst);
    }
    // SAFETY: the rest of them.
    unsafe { ptr::copy_nonoverlapping(from.add(at), to.add(at), len - at) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_bytes_are_copied_and_no_others() {
        let from: Vec<u8> = (0..5000_u32).map(|n| (n * 7 + n / 256) as u8).collect();
        for len in [0, 1, 2047, 2048, 2049, 2175, 2176, 2177, 4096, 4900] {
            for skip in [0, 1, 33] {
                let mut to = vec![255; len + 2];
                // SAFETY: there are so many bytes in both.
                unsafe { super::copy(from[skip..].as_ptr(), to[1..].as_mut_ptr(), len) };
                assert_eq!(to[1..=len], from[skip..skip + len], "{len} {skip}");
                assert_eq!((to[0], to[len + 1]), (255, 255), "{len} {skip}");
            }
        }
    }
}
