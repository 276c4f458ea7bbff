//! Copies of a few kilobytes, into shared memory and out of it.
//!
//! Data that another core will read is best written by `rep movsb`, which the C library uses from
//! some size on. It overwrites whole lines without first fetching their contents from the other
//! core. Data that another core has written is best read by plain loads and stores.
//!
//! On AMD's Zen 3 and 4, plain loads and stores are best for both. There `rep movsb` takes three
//! times as long if source and destination have similar offsets in their pages (glibc, bug 30994).
//! This happens repeatedly with the frames of a ring and their payloads.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::arch::x86_64::{__cpuid, _MM_HINT_T0, _mm_prefetch};
use std::ptr;
#[cfg(all(target_arch = "x86_64", not(miri)))]
use std::sync::LazyLock;
use std::sync::atomic::{Ordering, compiler_fence};

/// Least number of bytes that this module copies by its own loop.
const OURS: usize = 2 << 10;
/// Least number of bytes that the C library copies if the copy is for another core. This value and
/// `OURS` were fitted by `benches/runtime/run one shm bytes 8192 50000` and other sizes, on near
/// and on distant cores.
const MOVED: usize = 4 << 10;
/// Number of bytes that are copied at a time: a cache line.
const LINE: usize = 64;

/// Copies `len` bytes that another core will read.
///
/// # Safety
/// `from` must be valid for reads and `to` for writes of `len` bytes. The ranges must not overlap.
#[inline]
pub(crate) unsafe fn copy_for_others(from: *const u8, to: *mut u8, len: usize) {
    if len < MOVED || is_zen_3_or_4() {
        // SAFETY: guaranteed by the caller.
        unsafe { copy(from, to, len) };
    } else {
        // SAFETY: guaranteed by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
    }
}

/// Copies `len` bytes.
///
/// # Safety
/// As for [`copy_for_others`].
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    if len < OURS {
        // SAFETY: guaranteed by the caller.
        unsafe { ptr::copy_nonoverlapping(from, to, len) };
    } else {
        // SAFETY: guaranteed by the caller.
        unsafe { copy_many(from, to, len) };
    }
}

/// Prefetches the cache line at `from`. The address need not be valid, because nothing is read.
/// Has no effect on processors other than x86-64, and under Miri.
#[inline(always)]
pub(crate) fn fetch(from: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every 64-bit x86 processor has the instruction, and it accepts any address.
    unsafe {
        _mm_prefetch::<_MM_HINT_T0>(from.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = from;
}

/// Copies bytes by loads and stores of half a cache line if the processor has AVX, otherwise by the
/// widest ones that every processor has.
///
/// # Safety
/// As for [`copy`].
#[inline(never)]
unsafe fn copy_many(from: *const u8, to: *mut u8, len: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX. The caller guarantees the rest.
        return unsafe { copy_wide(from, to, len) };
    }
    // SAFETY: guaranteed by the caller.
    unsafe { copy_lines(from, to, len) };
}

/// Copies as [`copy_lines`] does, by loads and stores of half a cache line.
///
/// # Safety
/// As for [`copy`]. The processor must have AVX.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
unsafe fn copy_wide(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: guaranteed by the caller. `copy_lines` is inlined here and compiled for AVX.
    unsafe { copy_lines(from, to, len) };
}

/// Copies bytes line by line.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
unsafe fn copy_lines(from: *const u8, to: *mut u8, len: usize) {
    // Aligns the destination, so that no store touches two lines.
    let mut at = to.align_offset(LINE).min(len);
    // SAFETY: `at` is at most `len`.
    unsafe { ptr::copy_nonoverlapping(from, to, at) };
    while at + LINE <= len {
        // SAFETY: the line is within the `len` bytes. `[u8; LINE]` has alignment 1 and no invalid
        // values.
        unsafe {
            let line = from.add(at).cast::<[u8; LINE]>().read();
            to.add(at).cast::<[u8; LINE]>().write(line);
        }
        at += LINE;
        // Without the fence the compiler recognises the loop as a copy and calls the C library.
        compiler_fence(Ordering::SeqCst);
    }
    // SAFETY: these are the remaining bytes of the `len` bytes.
    unsafe { ptr::copy_nonoverlapping(from.add(at), to.add(at), len - at) };
}

/// Returns true if the processor is of AMD's family of Zen 3 and 4 (family 0x19).
#[cfg(all(target_arch = "x86_64", not(miri)))]
fn is_zen_3_or_4() -> bool {
    // The result is cached, because `cpuid` in a virtual machine takes as long as several copies.
    static IS: LazyLock<bool> = LazyLock::new(|| {
        // SAFETY: every 64-bit x86 processor has the instruction. Compilers newer than the minimum
        // version declare the function as safe.
        #[allow(unused_unsafe)]
        let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1)) };
        let name = [vendor.ebx, vendor.edx, vendor.ecx].map(u32::to_le_bytes);
        // The family is a field of four bits plus an extended field of eight bits.
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
                // SAFETY: both buffers have at least `len` bytes there.
                unsafe { way(from[skip..].as_ptr(), to[1..].as_mut_ptr(), len) };
                assert_eq!(to[1..=len], from[skip..skip + len], "{len} {skip}");
                assert_eq!((to[0], to[len + 1]), (255, 255), "{len} {skip}");
            }
        }
    }
}
