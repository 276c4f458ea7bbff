//! Waits at channels between schedulers that the waiting side polls itself.
//!
//! While a scheduler is awake it looks at the channels that its processes wait at from other schedulers: the
//! other side then finds nobody armed, and pays nothing, where to wake a process of another scheduler costs several
//! times what a token costs. Before the scheduler sleeps it arms all these waits, so what is said of sleeping in `parker.rs` stays
//! true.
//!
//! Only a few waits are polled at a time, so that a turn does not take longer the more
//! processes wait: the others are armed as ever.

use std::cell::Cell;
use std::ptr;

/// Most waits that are polled at a time.
const MOST: usize = 8;

/// How an end is polled and armed: the functions belong to its type.
pub struct WaitFns {
    /// Whether there is something; told whether the scheduler has nothing else to do.
    pub poll: unsafe fn(*const (), bool) -> bool,
    /// Arms the end for the id; false: there is something after all.
    pub arm: unsafe fn(*const (), u32) -> bool,
}

/// One wait. Field by field: what was just written in parts cannot be read as a whole before it is
/// in the cache, and that may take until the token before it is where it has to go.
struct PolledWait {
    /// The channel, one end of which the process waits at.
    end: Cell<*const ()>,
    /// The process.
    id: Cell<u32>,
    fns: Cell<&'static WaitFns>,
}

/// The waits that one scheduler polls.
pub struct PolledWaits {
    list: [PolledWait; MOST],
    len: Cell<usize>,
}

/// For an entry that is not in use.
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

    /// Polls a wait of the process from now on `id`; false: there is no place for another.
    ///
    /// # Safety
    /// The functions have to fit the end, and [`PolledWaits::forget`] has to be called before it goes.
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

    /// An end goes, or nobody waits there any more: it is not to be polled. Whether it was.
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

    /// Wakes whose wait is over; true if there was one.
    #[inline]
    pub fn poll(&self, idle: bool, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        for at in (0..self.len.get()).rev() {
            let wait = &self.list[at];
            // SAFETY: what is in the list has not gone, and the function is its own.
            if unsafe { (wait.fns.get().poll)(wait.end.get(), idle) } {
                let id = wait.id.get();
                self.remove(at);
                wake(id);
                any = true;
            }
        }
        any
    }

    /// Arms all waits and forgets them; wakes those that are over, and is true if there was one.
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
        // SAFETY: the tests put nothing but cells of theirs in the list.
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
