//! Stacks side by side in one mapping, each with a guard.
//!
//! The lowest page of a stack is its guard: an access to it fails. Guards are either markers in the
//! page tables (`MADV_GUARD_INSTALL`, Linux 6.13), of which there may be any number, or pages of
//! their own rights (`mprotect`), which split the mapping.

use std::fs;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::valgrind::ValgrindStackRegistration;

use crate::system::{self, GUARD_INSTALL, Mapping};

/// Number of stacks of this OS process that `mprotect` guards.
static PROTECTED: AtomicUsize = AtomicUsize::new(0);

/// Stacks side by side in one mapping.
#[derive(Debug)]
pub(crate) struct Slab {
    /// Bytes of each stack, guard included.
    size: usize,
    /// Stacks that `mprotect` guards: all or none.
    protected: usize,
    /// Tells valgrind, if this runs on it, that these are stacks.
    known: Vec<ValgrindStackRegistration>,
    mapping: Mapping,
}

impl Slab {
    /// Maps and guards `count` stacks of `size` bytes, a multiple of a page.
    ///
    /// `mprotect` makes the guards if `MADV_GUARD_INSTALL` fails, or is not wanted.
    pub(crate) fn new(size: usize, count: usize, markers: bool) -> io::Result<Slab> {
        let page = system::page_size();
        let mapping = Mapping::reserve(size * count)?;
        // A huge page would take memory for 32 stacks when one is touched. The call fails only on
        // kernels that have no huge pages.
        // SAFETY: the mapping is new, and the advice does not change contents.
        let _ = unsafe { system::advise(mapping.start(), mapping.len(), libc::MADV_NOHUGEPAGE) };
        let mut slab = Slab {
            size,
            protected: 0,
            known: Vec::new(),
            mapping,
        };
        // SAFETY: the mapping is new, so no value is in it.
        let marker = |lowest| unsafe { system::advise(lowest, page, GUARD_INSTALL) };
        if !markers || slab.stacks().try_for_each(marker).is_err() {
            slab.protect(count, page)?;
        }
        let known = |lowest| {
            let first = ptr::with_exposed_provenance_mut(lowest + page);
            ValgrindStackRegistration::new(first, size - page)
        };
        slab.known = slab.stacks().map(known).collect();
        Ok(slab)
    }

    /// Guards all stacks by `mprotect`.
    fn protect(&mut self, count: usize, page: usize) -> io::Result<()> {
        let limit = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        let limit = limit.and_then(|limit| limit.trim().parse().ok());
        // The default of Linux.
        let limit: usize = limit.unwrap_or(65_530);
        let most = most_protected(limit);
        let add = |before: usize| Some(before + count).filter(|after| *after <= most);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        if PROTECTED.fetch_update(set, fetch, add).is_err() {
            return Err(too_many(limit));
        }
        self.protected = count;
        // SAFETY: the stacks are new, so no value is in them.
        let protect = |lowest| unsafe { system::protect(lowest, page) };
        self.stacks().try_for_each(protect)
    }

    /// Returns the lowest address of each stack, in ascending order.
    pub(crate) fn stacks(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let start = self.mapping.start();
        (start..start + self.mapping.len()).step_by(self.size)
    }

    /// Returns the number of stacks that `mprotect` guards.
    pub(crate) fn protected(&self) -> usize {
        self.protected
    }

    /// Returns the number of bytes of address space.
    pub(crate) fn bytes(&self) -> usize {
        self.mapping.len()
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        PROTECTED.fetch_sub(self.protected, Ordering::Relaxed);
    }
}

/// Returns how many stacks `mprotect` may guard where an OS process may have `limit` mappings.
///
/// Each takes two. An eighth of the mappings is left, because allocators and threads need some.
fn most_protected(limit: usize) -> usize {
    limit / 16 * 7
}

fn too_many(limit: usize) -> io::Error {
    let why = format!(
        "without MADV_GUARD_INSTALL (Linux 6.13) each stack needs two of {limit} mappings; raise \
         the limit, for example with `sysctl vm.max_map_count={}`",
        limit.saturating_mul(4)
    );
    io::Error::new(io::ErrorKind::OutOfMemory, why)
}
