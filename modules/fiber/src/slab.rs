//! Adjacent stacks in one mapping, each with a guard.
//!
//! The lowest pages of a stack are its guard: an access to them faults. A guard is either a marker in
//! the page tables (`MADV_GUARD_INSTALL`, Linux 6.13), or pages with rights of their own
//! (`mprotect`). The number of markers is not limited. Pages with rights of their own split the
//! mapping.

use std::fs;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::valgrind::ValgrindStackRegistration;

use crate::system::{self, GUARD_INSTALL, Mapping};

/// Number of stacks of this OS process that `mprotect` guards.
static PROTECTED: AtomicUsize = AtomicUsize::new(0);

/// Adjacent stacks in one mapping.
#[derive(Debug)]
pub(crate) struct Slab {
    /// Size of each stack in bytes, guard included.
    size: usize,
    /// Number of stacks that `mprotect` guards: all or none.
    protected: usize,
    /// Registrations of the stacks with valgrind, which are effective if the program runs on it.
    known: Vec<ValgrindStackRegistration>,
    mapping: Mapping,
}

impl Slab {
    /// Maps and guards `count` stacks of `size` bytes, of which the lowest `guard` bytes are the
    /// guard. Both are multiples of the page size.
    ///
    /// Guards are made by `mprotect` if `markers` is false or `MADV_GUARD_INSTALL` fails. Returns
    /// an error if the mapping fails, or if the guards fail or would need too many mappings.
    pub(crate) fn new(size: usize, guard: usize, count: usize, markers: bool) -> io::Result<Slab> {
        let mapping = Mapping::reserve(size * count)?;
        // A huge page would take memory for 32 stacks when one of them is touched. The call fails
        // only on kernels without huge pages.
        // SAFETY: the mapping is new, and the advice does not change its contents.
        let _ = unsafe { system::advise(mapping.start(), mapping.len(), libc::MADV_NOHUGEPAGE) };
        let mut slab = Slab {
            size,
            protected: 0,
            known: Vec::new(),
            mapping,
        };
        // SAFETY: the mapping is new, so it contains no value.
        let marker = |lowest| unsafe { system::advise(lowest, guard, GUARD_INSTALL) };
        if !markers || slab.stacks().try_for_each(marker).is_err() {
            slab.protect(count, guard)?;
        }
        let known = |lowest| {
            let first = ptr::with_exposed_provenance_mut(lowest + guard);
            ValgrindStackRegistration::new(first, size - guard)
        };
        slab.known = slab.stacks().map(known).collect();
        Ok(slab)
    }

    /// Guards all `count` stacks by `mprotect`: the lowest `guard` bytes of each.
    /// Counts them as guarded until the slab is dropped. Returns an error if `mprotect` fails, or
    /// if the guards of the OS process would need too many mappings ([`most_protected`]).
    fn protect(&mut self, count: usize, guard: usize) -> io::Result<()> {
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
        // SAFETY: the stacks are new, so they contain no value.
        let protect = |lowest| unsafe { system::protect(lowest, guard) };
        self.stacks().try_for_each(protect)
    }

    /// Returns the lowest address of each stack, in ascending order.
    pub(crate) fn stacks(&self) -> impl DoubleEndedIterator<Item = usize> + use<> {
        let start = self.mapping.start();
        (start..start + self.mapping.len()).step_by(self.size)
    }

    /// Returns the number of stacks that `mprotect` guards: all of this slab or none.
    pub(crate) fn protected(&self) -> usize {
        self.protected
    }

    /// Returns the number of bytes of address space, guards included.
    pub(crate) fn bytes(&self) -> usize {
        self.mapping.len()
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        PROTECTED.fetch_sub(self.protected, Ordering::Relaxed);
    }
}

/// Returns how many stacks `mprotect` may guard if an OS process may have `limit` mappings.
///
/// Each stack takes two mappings. An eighth of the mappings is left for allocators and threads. A
/// limit below 16 allows no stacks.
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
