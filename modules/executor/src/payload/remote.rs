//! Values with large slices in the memory of another OS process. The slices are read directly into
//! their destination, with one copy. Shared memory takes more than one.

use std::alloc::Layout;
use std::cell::OnceCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Maximum size of a value in bytes, including its remote parts. No value is larger, so memory for
/// a larger announced one is not even requested.
const MOST: usize = 1 << 40;

/// The memory of another OS process.
#[doc(hidden)]
pub trait RemoteMemory {
    /// Fills all of `to` with the bytes at an address there.
    ///
    /// # Errors
    /// The memory cannot be read, or only in part.
    fn read(&self, address: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), String>;

    /// Gives away memory of the global allocator, with exactly this layout, that contains the bytes
    /// at an address there. The caller owns that memory. This is possible only if the bytes have
    /// already been received and have no other reader. Otherwise, and by default, returns `None`.
    fn take_over(&self, _address: u64, _layout: Layout) -> Option<NonNull<u8>> {
        None
    }
}

/// A slice in the memory of another OS process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct RemoteSlice {
    /// Number of bytes of the value between the slice before it and this one.
    #[doc(hidden)]
    pub gap: usize,
    #[doc(hidden)]
    pub address: u64,
    #[doc(hidden)]
    pub len: usize,
    /// Alignment of its elements.
    #[doc(hidden)]
    pub align: usize,
}

crate::payload!(RemoteSlice {
    gap,
    address,
    len,
    align
});

/// Bytes that were read for a borrower. They are kept as long as they may be borrowed.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Fetched(OnceCell<(Vec<u8>, Box<Fetched>)>);

impl Drop for Fetched {
    /// Drops the list iteratively. Each entry contains the next one, and recursion could overflow
    /// the stack.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some((_, mut rest)) = next {
            next = rest.0.take();
        }
    }
}

/// The positions of the large slices of a value, and access to their memory.
#[derive(Clone, Copy)]
#[doc(hidden)]
pub struct Remotely<'a> {
    #[doc(hidden)]
    pub slices: &'a [RemoteSlice],
    #[doc(hidden)]
    pub memory: &'a dyn RemoteMemory,
    #[doc(hidden)]
    pub fetched: &'a Fetched,
}

/// The part of a value after the current part, which the decoder reads.
#[doc(hidden)]
pub struct Remote<'a> {
    /// The local bytes of the value.
    here: &'a [u8],
    /// The rest of the next slice. `slices` contains those after it.
    next: Option<RemoteSlice>,
    slices: &'a [RemoteSlice],
    memory: &'a dyn RemoteMemory,
    fetched: &'a Fetched,
    remaining: usize,
    passed: usize,
}

impl<'a> Remote<'a> {
    /// Creates the rest of a value from its local bytes and the positions of its slices. Returns
    /// `None` if these cannot belong to one value: the gaps between the slices are longer than the
    /// local bytes, or the value would be larger than [`MOST`].
    pub(super) fn new(here: &'a [u8], remotely: Remotely<'a>) -> Option<Self> {
        let Remotely {
            slices,
            memory,
            fetched,
        } = remotely;
        let (mut gaps, mut remaining) = (0usize, here.len());
        for slice in slices {
            gaps = gaps.checked_add(slice.gap)?;
            remaining = remaining.checked_add(slice.len)?;
        }
        if gaps > here.len() || remaining > MOST {
            return None;
        }
        let mut remote = Remote {
            here,
            next: None,
            slices,
            memory,
            fetched,
            remaining,
            passed: 0,
        };
        remote.step();
        Some(remote)
    }

    /// Returns the number of bytes after the current part, local or remote.
    pub(super) fn remaining(&self) -> usize {
        self.remaining
    }

    /// Returns the number of bytes before the current part.
    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// Records that a part of `bytes` local or fetched bytes has been read, so that
    /// [`Remote::passed`] includes it.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.passed += bytes;
    }

    /// Returns the local bytes before the next slice, or all remaining local bytes if no slice is
    /// left, and skips them. Returns `None` if no local bytes come next.
    pub(super) fn here(&mut self) -> Option<&'a [u8]> {
        let gap = match &mut self.next {
            Some(next) => std::mem::take(&mut next.gap),
            None => self.here.len(),
        };
        let (now, later) = self.here.split_at(gap);
        self.here = later;
        self.remaining -= gap;
        (gap > 0).then_some(now)
    }

    /// Returns all bytes of the next slice, read from the other OS process, and continues after the
    /// slice. No local bytes may be left before the slice. Returns `None` if no slice is left. The
    /// bytes do not count as passed yet.
    ///
    /// # Errors
    /// Memory for the bytes cannot be allocated, or the memory of the other OS process cannot be
    /// read.
    pub(super) fn fetch(&mut self) -> Result<Option<&'a [u8]>, String> {
        let Some(RemoteSlice { len, .. }) = self.next else {
            return Ok(None);
        };
        let mut all = Vec::new();
        let room = all.try_reserve_exact(len);
        room.map_err(|_| format!("at most as many bytes as memory can hold, not {len}"))?;
        self.fill(&mut all.spare_capacity_mut()[..len])?;
        // SAFETY: `fill` has initialised all `len` bytes, because no local bytes are before the
        // slice.
        unsafe { all.set_len(len) };
        self.passed -= len;
        Ok(Some(self.keep(all)))
    }

    /// Keeps `bytes` for as long as the value is being read, and returns a reference to them.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) -> &'a [u8] {
        let (bytes, next) = self.fetched.0.get_or_init(|| (bytes, Box::default()));
        self.fetched = next;
        bytes
    }

    /// Reads as much of the next slice as fits into `to`, skips that part, and returns its number
    /// of bytes. Returns 0 without reading if local bytes come first, or if no slice is left.
    ///
    /// # Errors
    /// The memory of the other OS process cannot be read.
    pub(super) fn fill(&mut self, to: &mut [MaybeUninit<u8>]) -> Result<usize, String> {
        let Some(next) = self.next.as_mut().filter(|next| next.gap == 0) else {
            return Ok(0);
        };
        let count = next.len.min(to.len());
        self.memory.read(next.address, &mut to[..count])?;
        next.address = next.address.wrapping_add(count as u64);
        next.len -= count;
        if next.len == 0 {
            self.step();
        }
        self.remaining -= count;
        self.passed += count;
        Ok(count)
    }

    /// Takes over the memory of the next slice, and skips the slice. Its size and alignment must be
    /// those of `layout`, no local bytes may come first, and it must be possible to take the
    /// memory. Otherwise returns `None` and changes nothing.
    pub(super) fn take_over(&mut self, layout: Layout) -> Option<NonNull<u8>> {
        let next = self.next?;
        if (next.gap, next.len, next.align) != (0, layout.size(), layout.align()) {
            return None;
        }
        let start = self.memory.take_over(next.address, layout)?;
        self.remaining -= next.len;
        self.passed += next.len;
        self.step();
        Some(start)
    }

    /// Continues with the next slice that is not empty, or with none. The gaps before empty slices
    /// are added to the gap before that slice.
    fn step(&mut self) {
        let mut gap = 0usize;
        self.next = None;
        while let Some((first, rest)) = self.slices.split_first() {
            self.slices = rest;
            gap += first.gap;
            if first.len > 0 {
                self.next = Some(RemoteSlice { gap, ..*first });
                return;
            }
        }
    }
}

impl fmt::Debug for Remote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Remote");
        all.field("remaining", &self.remaining)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_fetched_in_parts_is_freed() {
        let first = Fetched::default();
        let mut last = &first;
        for _ in 0..if cfg!(miri) { 1000 } else { 1_000_000 } {
            last = &last.0.get_or_init(|| (vec![7], Box::default())).1;
        }
        assert!(last.0.get().is_none());
    }
}
