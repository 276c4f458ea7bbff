//! Waits at channels between schedulers that the waiting side polls.
//!
//! While a scheduler is awake, it checks the channels to other schedulers at which its processes
//! wait. Then the other side finds no armed wait and has no cost. To wake a process of another
//! scheduler costs several times as much as a token. Before the scheduler sleeps, it arms all these
//! waits, so the argument in `parker.rs` holds.
//!
//! Only a few waits are polled at a time, so that the time of a poll does not depend on the number
//! of waiting processes. All others are armed.

use std::cell::Cell;
use std::ptr;

/// Maximum number of waits that are polled at a time.
const MOST: usize = 8;

/// Functions that poll and arm an end. They depend on its type.
pub struct WaitFns {
    /// Returns true if the wait is over. The arguments are the end, and true if the scheduler is
    /// idle.
    pub poll: unsafe fn(*const (), bool) -> bool,
    /// Arms the end for the id. Returns false if the wait is over.
    pub arm: unsafe fn(*const (), u32) -> bool,
}

/// A wait. The fields are separate cells, because a value that was just written in parts cannot be
/// read as a whole before it is in the cache. That may take until the store of the preceding token
/// has completed.
struct PolledWait {
    /// End of the channel at which the process waits.
    end: Cell<*const ()>,
    /// Id of the process.
    id: Cell<u32>,
    fns: Cell<&'static WaitFns>,
}

/// Waits that a scheduler polls.
pub struct PolledWaits {
    list: [PolledWait; MOST],
    len: Cell<usize>,
}

/// Functions of an unused entry.
static NEVER: WaitFns = WaitFns {
    poll: |_, _| false,
    arm: |_, _| true,
};

impl PolledWaits {
    #[inline]
    pub(crate) fn new() -> Self {
        let none = || PolledWait {
            end: Cell::new(ptr::null()),
            id: Cell::new(0),
            fns: Cell::new(&NEVER),
        };
        PolledWaits {
            list: std::array::from_fn(|_| none()),
            len: Cell::new(0),
        }
    }

    /// Adds the wait of process `id` at `end`, or replaces the wait at this end. Returns false,
    /// without adding it, if there are already 8 waits at other ends.
    ///
    /// # Safety
    /// The functions must be sound to call with `end`, and [`PolledWaits::forget`] must be called
    /// before `end` becomes invalid.
    pub unsafe fn add(&self, end: *const (), id: u32, fns: &'static WaitFns) -> bool {
        let len = self.len.get();
        let known = self.list[..len]
            .iter()
            .find(|known| ptr::eq(known.end.get(), end));
        let Some(place) = known.or_else(|| self.list.get(len)) else {
            return false;
        };
        if known.is_none() {
            self.len.set(len + 1);
        }
        place.end.set(end);
        place.id.set(id);
        place.fns.set(fns);
        true
    }

    /// Removes the wait at an end, because the end is dropped or the wait is over. Returns true if
    /// there was one.
    #[inline]
    pub fn forget(&self, end: *const ()) -> bool {
        let before = self.len.get();
        for at in (0..before).rev() {
            if ptr::eq(self.list[at].end.get(), end) {
                self.remove(at);
            }
        }
        self.len.get() < before
    }

    /// Removes the waits that are over, and calls `wake` with the id of each, which is that of its
    /// process. Returns true if a wait was over. `idle` is true if the scheduler has nothing else
    /// to do.
    #[inline]
    pub fn poll(&self, idle: bool, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        for at in (0..self.len.get()).rev() {
            let wait = &self.list[at];
            // SAFETY: `forget` is called before an end becomes invalid, so the end is valid. The
            // function was added with it.
            if unsafe { (wait.fns.get().poll)(wait.end.get(), idle) } {
                let id = wait.id.get();
                self.remove(at);
                wake(id);
                any = true;
            }
        }
        any
    }

    /// Arms and removes all waits, and calls `wake` with the id of each wait that is over. Returns
    /// true if a wait was over.
    #[inline]
    pub fn arm(&self, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        while let Some(last) = self.len.get().checked_sub(1) {
            let wait = &self.list[last];
            let id = wait.id.get();
            self.len.set(last);
            // SAFETY: as above.
            if !unsafe { (wait.fns.get().arm)(wait.end.get(), id) } {
                wake(id);
                any = true;
            }
        }
        any
    }

    fn remove(&self, at: usize) {
        let last = self.len.get() - 1;
        if at != last {
            let (gap, last) = (&self.list[at], &self.list[last]);
            gap.end.set(last.end.get());
            gap.id.set(last.id.get());
            gap.fns.set(last.fns.get());
        }
        self.len.set(last);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const CELL: WaitFns = WaitFns {
        // SAFETY: the tests add only cells to the list.
        poll: |end, _| unsafe { (*end.cast::<Cell<bool>>()).get() },
        // SAFETY: as above.
        arm: |end, _| unsafe { !(*end.cast::<Cell<bool>>()).get() },
    };

    #[test]
    fn polls_a_few_and_forgets() {
        let ends = [const { Cell::new(false) }; MOST + 1];
        let waits = PolledWaits::new();
        let (last, ids) = (MOST as u32, RefCell::new(Vec::new()));
        // SAFETY: the cells outlive the list.
        let add = |id: u32| unsafe {
            let end: *const Cell<bool> = &raw const ends[id as usize];
            waits.add(end.cast(), id, &CELL)
        };
        assert!((0..last).all(add));
        assert!(!add(last) && add(3));
        assert!(!waits.poll(false, |_| unreachable!()));
        waits.forget((&raw const ends[1]).cast());
        assert!(add(last));
        for ready in [0, 1, 5] {
            ends[ready].set(true);
        }
        assert!(waits.poll(true, |id| ids.borrow_mut().push(id)));
        ids.borrow_mut().sort_unstable();
        assert_eq!(*ids.borrow(), [0, 5]);
        assert!(!waits.poll(true, |_| unreachable!()));
        ends[7].set(true);
        assert!(waits.arm(|id| assert_eq!(id, 7)));
        assert!(!waits.arm(|_| unreachable!()) && add(1));
    }
}
