//! Waits at channels between schedulers that the waiting side looks after itself.
//!
//! Who waits armed has to be woken, and to wake somebody of another scheduler costs several times
//! what a token costs. While a scheduler is awake anyway it can as well look at the channel: the
//! other side then finds nobody armed, and pays nothing. Before the scheduler sleeps it arms them
//! all, so what is said of sleeping in `doze.rs` stays true.
//!
//! Only a few waits are looked after at a time, so that a turn does not take longer the more
//! processes wait: the others are armed as ever.

use std::cell::Cell;
use std::ptr;

/// Most waits that are looked after at a time.
const MOST: usize = 8;

/// One wait. The functions belong to the type behind `end`.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    /// The channel, one end of which the process waits at.
    pub(crate) end: *const (),
    /// The process.
    pub(crate) id: u32,
    /// Whether there is something; told whether the scheduler has nothing else to do.
    pub(crate) look: unsafe fn(*const (), bool) -> bool,
    /// Arms the end for the id; false: there is something after all.
    pub(crate) arm: unsafe fn(*const (), u32) -> bool,
}

/// What a scheduler has yet to do at an end: see `link/spsc.rs` about settling.
#[derive(Clone, Copy)]
struct Debt {
    end: *const (),
    settle: unsafe fn(*const ()),
}

/// What the process whose turn it is owes: for the channel it took from last, and for the one it
/// put into last.
pub(crate) struct Debts {
    some: Cell<bool>,
    debts: [Cell<Debt>; 2],
}

const NO_DEBT: Debt = Debt {
    end: ptr::null(),
    settle: |_| {},
};

impl Debts {
    pub(crate) const fn new() -> Self {
        Debts {
            some: Cell::new(false),
            debts: [const { Cell::new(NO_DEBT) }; 2],
        }
    }

    /// Notes a debt at an end, and settles the one before it if that was at another.
    ///
    /// # Safety
    /// The function has to fit the end, and [`Debts::forget`] has to be called before it goes.
    #[inline]
    pub(crate) unsafe fn owe(&self, way: usize, end: *const (), settle: unsafe fn(*const ())) {
        let debt = &self.debts[way];
        if ptr::eq(debt.get().end, end) {
            return;
        }
        self.some.set(true);
        let before = debt.replace(Debt { end, settle });
        // SAFETY: what is noted has not gone, and the function is its own.
        unsafe { (before.settle)(before.end) };
    }

    /// Settles all.
    #[inline(always)]
    pub(crate) fn settle(&self) {
        if self.some.get() {
            self.settle_now();
        }
    }

    #[inline(never)]
    fn settle_now(&self) {
        self.some.set(false);
        for debt in &self.debts {
            let debt = debt.replace(NO_DEBT);
            // SAFETY: what is noted has not gone, and the function is its own.
            unsafe { (debt.settle)(debt.end) };
        }
    }

    /// An end goes, which settles by itself.
    pub(crate) fn forget(&self, end: *const ()) {
        for debt in &self.debts {
            if ptr::eq(debt.get().end, end) {
                debt.set(NO_DEBT);
            }
        }
    }
}

/// The waits that one scheduler looks after.
pub(crate) struct Watches {
    list: [Cell<Watch>; MOST],
    len: Cell<usize>,
}

impl Watches {
    pub(crate) fn new() -> Self {
        let none = Watch {
            end: ptr::null(),
            id: 0,
            look: |_, _| false,
            arm: |_, _| true,
        };
        Watches {
            list: [none; MOST].map(Cell::new),
            len: Cell::new(0),
        }
    }

    /// Looks after a wait; false: there is no place for another.
    ///
    /// # Safety
    /// The functions have to fit the end, and [`Watches::forget`] has to be called before it goes.
    pub(crate) unsafe fn add(&self, watch: Watch) -> bool {
        let len = self.len.get();
        for known in &self.list[..len] {
            if ptr::eq(known.get().end, watch.end) {
                known.set(watch);
                return true;
            }
        }
        let Some(free) = self.list.get(len) else {
            return false;
        };
        free.set(watch);
        self.len.set(len + 1);
        true
    }

    /// An end goes, or nobody waits there any more: it is not to be looked at. Whether it was.
    pub(crate) fn forget(&self, end: *const ()) -> bool {
        let before = self.len.get();
        for at in (0..before).rev() {
            if ptr::eq(self.list[at].get().end, end) {
                self.remove(at);
            }
        }
        self.len.get() < before
    }

    /// Wakes whose wait is over; true if there was one.
    #[inline]
    pub(crate) fn look(&self, idle: bool, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        for at in (0..self.len.get()).rev() {
            let watch = self.list[at].get();
            // SAFETY: what is in the list has not gone, and the function is its own.
            if unsafe { (watch.look)(watch.end, idle) } {
                self.remove(at);
                wake(watch.id);
                any = true;
            }
        }
        any
    }

    /// Arms all waits and forgets them; wakes those that are over, and is true if there was one.
    pub(crate) fn arm(&self, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        while let Some(last) = self.len.get().checked_sub(1) {
            let watch = self.list[last].get();
            self.len.set(last);
            // SAFETY: as above.
            if !unsafe { (watch.arm)(watch.end, watch.id) } {
                wake(watch.id);
                any = true;
            }
        }
        any
    }

    fn remove(&self, at: usize) {
        let last = self.len.get() - 1;
        self.list[at].set(self.list[last].get());
        self.len.set(last);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn watch(end: &Cell<bool>, id: u32) -> Watch {
        Watch {
            end: (&raw const *end).cast(),
            id,
            // SAFETY: the tests put nothing but cells of theirs in the list.
            look: |end, _| unsafe { (*end.cast::<Cell<bool>>()).get() },
            // SAFETY: as above.
            arm: |end, _| unsafe { !(*end.cast::<Cell<bool>>()).get() },
        }
    }

    #[test]
    fn looks_at_a_few_and_forgets() {
        let ends = [const { Cell::new(false) }; MOST + 1];
        let watches = Watches::new();
        let (last, ids) = (MOST as u32, RefCell::new(Vec::new()));
        // SAFETY: the cells outlive the list.
        let add = |id: u32| unsafe { watches.add(watch(&ends[id as usize], id)) };
        assert!((0..last).all(add));
        assert!(!add(last) && add(3));
        assert!(!watches.look(false, |_| unreachable!()));
        watches.forget((&raw const ends[1]).cast());
        assert!(add(last));
        for ready in [0, 1, 5] {
            ends[ready].set(true);
        }
        assert!(watches.look(true, |id| ids.borrow_mut().push(id)));
        ids.borrow_mut().sort_unstable();
        assert_eq!(*ids.borrow(), [0, 5]);
        assert!(!watches.look(true, |_| unreachable!()));
        ends[7].set(true);
        assert!(watches.arm(|id| assert_eq!(id, 7)));
        assert!(!watches.arm(|_| unreachable!()) && add(1));
    }
}
