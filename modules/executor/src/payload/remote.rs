//! Values of which large slices are in the memory of another OS process, from which they are read at once to where they
//! belong: one copy, where the way through shared memory takes more.

use std::alloc::Layout;
use std::cell::OnceCell;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Most bytes that a value may have elsewhere, more than any has: what is announced beyond that is not even asked memory for.
const MOST: usize = 1 << 40;

/// The memory of another OS process.
#[doc(hidden)]
pub trait RemoteMemory {
    /// Fills `to` with what is at an address there.
    ///
    /// # Errors
    /// It cannot be read, or not all of it.
    fn read(&self, address: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), String>;

    /// Memory of the global allocator, of just this size and alignment, which has what is at an address there and is the caller's
    /// from now on: where it has been received already, and nobody else is to read it.
    fn take_over(&self, _address: u64, _layout: Layout) -> Option<NonNull<u8>> {
        None
    }
}

/// A slice in the memory of another OS process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct RemoteSlice {
    /// How many bytes of the value come before it, behind the slice before it.
    #[doc(hidden)]
    pub gap: usize,
    #[doc(hidden)]
    pub address: u64,
    #[doc(hidden)]
    pub len: usize,
    /// What of its elements.
    #[doc(hidden)]
    pub align: usize,
}

crate::payload!(RemoteSlice {
    gap,
    address,
    len,
    align
});

/// What was read for who wanted to look at it, as long as it may be looked at.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Fetched(OnceCell<(Vec<u8>, Box<Fetched>)>);

impl Drop for Fetched {
    /// One after the other: each has the next in it, and there may be more than a stack has room for.
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some((_, mut rest)) = next {
            next = rest.0.take();
        }
    }
}

/// Where large slices of a value are, and how they are read.
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

/// What of a value comes after the bytes that are being read.
#[doc(hidden)]
pub struct Remote<'a> {
    /// The bytes of the value that are here.
    here: &'a [u8],
    /// What is left of the next slice, once those before it are passed by.
    next: Option<RemoteSlice>,
    slices: &'a [RemoteSlice],
    memory: &'a dyn RemoteMemory,
    fetched: &'a Fetched,
    remaining: usize,
    passed: usize,
}

impl<'a> Remote<'a> {
    /// None: these cannot be the slices of a value of which these bytes are here.
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

    /// How many bytes there are behind those that are being read.
    pub(super) fn remaining(&self) -> usize {
        self.remaining
    }

    /// How many bytes were before those that are being read.
    pub(super) fn passed(&self) -> usize {
        self.passed
    }

    /// So many bytes that were being read are no more.
    pub(super) fn pass(&mut self, bytes: usize) {
        self.passed += bytes;
    }

    /// The bytes up to the next slice, if there are some.
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

    /// The next slice, which no bytes are before: all of it.
    pub(super) fn fetch(&mut self) -> Result<Option<&'a [u8]>, String> {
        let Some(RemoteSlice { len, .. }) = self.next else {
            return Ok(None);
        };
        let mut all = Vec::new();
        let room = all.try_reserve_exact(len);
        room.map_err(|_| format!("at most as many bytes as memory can hold, not {len}"))?;
        self.fill(&mut all.spare_capacity_mut()[..len])?;
        // SAFETY: `fill` has filled as many as there are of the slice.
        unsafe { all.set_len(len) };
        self.passed -= len;
        Ok(Some(self.keep(all)))
    }

    /// Keeps bytes for as long as the value is being read.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) -> &'a [u8] {
        let (bytes, next) = self.fetched.0.get_or_init(|| (bytes, Box::default()));
        self.fetched = next;
        bytes
    }

    /// Reads of the next slice, where no bytes are before it, as much as there is room for; how much.
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

    /// The memory of the next slice, if that is of this layout, no bytes are before it, and it may be had.
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

    /// On to the next slice with anything in it.
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
    fn what_was_fetched_in_many_parts_is_freed() {
        let first = Fetched::default();
        let mut last = &first;
        for _ in 0..if cfg!(miri) { 1000 } else { 1_000_000 } {
            last = &last.0.get_or_init(|| (vec![7], Box::default())).1;
        }
        assert!(last.0.get().is_none());
    }
}
