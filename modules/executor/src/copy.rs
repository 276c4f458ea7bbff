//! Copies of some kilobytes, into shared memory and out of it.
//!
//! What another core is going to read is written best by `rep movsb`, as the C library does from some size on: whole lines are written
//! without a look at what was there, which the other core would have to give away first. What another core has written is read best by plain
//! loads and stores. On AMD's Zen 3 and 4 both are: there `rep movsb` takes three times as long if source and destination lie alike
//! within their pages, as the frames of a ring and what they carry do again and again (glibc, bug 30994).

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::{__cpuid, _MM_HINT_T0, _mm_prefetch};
use std::ptr;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::LazyLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// From so many bytes on a copy is ours.
const OURS: usize = 2 << 10;
/// From this many bytes on the C library copies, if the copy is for another core. Both were fitted
/// by `benches/runtime/run one shm bytes 8192 50000` and other sizes, on cores that are near and
/// far.
const MOVED: usize = 4 << 10;
/// How many are copied at a time: a cache line.
const LINE: usize = 64;

/// Copies bytes that do not overlap for another core, which is going to read them.
///
/// # Safety
/// `from` is good for reading and `to` for writing so many bytes, and they do not overlap.
#[inline]
pub(crate) unsafe fn copy_for_others(from: *const u8, to: *mut u8, len: usize) {
    if len < MOVED || is_zen_3_or_4() {
        // SAFETY: the caller's promise.
        unsafe { copy(from, to, len) };
    } else {
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
    }
}

/// Copies bytes that do not overlap.
///
/// # Safety
/// As for [`copy_for_others`].
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

/// Has the line come from which is going to be read, wherever that is: nothing is read.
#[inline(always)]
pub(crate) fn fetch(from: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every processor of 64 bits has the instruction, to which any address is good.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(from.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = from;
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

/// Whether the processor is one of AMD's of the family of Zen 3 and 4.
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_zen_3_or_4() -> bool {
    // In a virtual machine to ask takes as long as some copies.
    static IS: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: every processor of 64 bits has the instruction. (Safe to call in later compilers than the oldest that this is for.)
        #[allow(unused_unsafe)]
        let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1)) };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        // The family: what does not fit into four bits is in eight more.
        let family = (version.eax >> 8 & 0xf) + (version.eax >> 20 & 0xff);
        name.concat() == b"AuthenticAMD" && family == 0x19
    });
    *IS
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
fn is_zen_3_or_4() -> bool {
    false
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_bytes_are_copied_and_no_others() {
        let from: Vec<u8> = (0..5000_u32).map(|n| (n * 7 + n / 256) as u8).collect();
        let ways = [super::copy, super::copy_for_others];
        for (len, way) in [0, 1, 2047, 2048, 2049, 2175, 2176, 2177, 4096, 4900]
            .into_iter()
            .flat_map(|len| ways.map(|way| (len, way)))
        {
            for skip in [0, 1, 33] {
                let mut to = vec![255; len + 2];
                // SAFETY: there are so many bytes in both.
                unsafe { way(from[skip..].as_ptr(), to[1..].as_mut_ptr(), len) };
                assert_eq!(to[1..=len], from[skip..skip + len], "{len} {skip}");
                assert_eq!((to[0], to[len + 1]), (255, 255), "{len} {skip}");
            }
        }
    }
}
