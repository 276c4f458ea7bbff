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

/// How an end is looked after: the functions belong to its type.
pub(crate) struct Ways {
    /// Whether there is something; told whether the scheduler has nothing else to do.
    pub(crate) look: unsafe fn(*const (), bool) -> bool,
    /// Arms the end for the id; false: there is something after all.
    pub(crate) arm: unsafe fn(*const (), u32) -> bool,
}

/// One wait. Field by field: what was just written in parts cannot be read as a whole before it is
/// in the cache, and that may take until the token before it is where it has to go.
struct Watch {
    /// The channel, one end of which the process waits at.
    end: Cell<*const ()>,
    /// The process.
    id: Cell<u32>,
    ways: Cell<&'static Ways>,
}

/// What a scheduler has yet to do at an end: see `link/spsc.rs` about settling. Field by field, as a
/// watch.
struct Debt {
    end: Cell<*const ()>,
    settle: Cell<unsafe fn(*const ())>,
}

/// What the process whose turn it is owes: for the channel it took from last, and for the one it
/// put into last.
pub(crate) struct Debts {
    some: Cell<bool>,
    debts: [Debt; 2],
}

impl Debt {
    const fn new() -> Self {
        Debt {
            end: Cell::new(ptr::null()),
            settle: Cell::new(|_| {}),
        }
    }

    fn settle(&self) {
        let end = self.end.replace(ptr::null());
        if !end.is_null() {
            // SAFETY: what is noted has not gone, and the function is its own.
            unsafe { (self.settle.get())(end) };
        }
    }
}

impl Debts {
    pub(crate) const fn new() -> Self {
        Debts {
            some: Cell::new(false),
            debts: [const { Debt::new() }; 2],
        }
    }

    /// Notes a debt at an end, and settles the one before it if that was at another.
    ///
    /// # Safety
    /// The function has to fit the end, and [`Debts::forget`] has to be called before it goes.
    #[inline]
    pub(crate) unsafe fn owe(&self, way: usize, end: *const (), settle: unsafe fn(*const ())) {
        let debt = &self.debts[way];
        if ptr::eq(debt.end.get(), end) {
            return;
        }
        self.some.set(true);
        debt.settle();
        debt.end.set(end);
        debt.settle.set(settle);
    }

    /// Notes that there is something to be done elsewhere.
    #[inline(always)]
    pub(crate) fn note(&self) {
        self.some.set(true);
    }

    /// Whether there is anything.
    #[inline(always)]
    pub(crate) fn are_some(&self) -> bool {
        self.some.get()
    }

    /// Settles all.
    pub(crate) fn settle(&self) {
        self.some.set(false);
        self.debts.iter().for_each(Debt::settle);
    }

    /// An end goes, which settles by itself.
    pub(crate) fn forget(&self, end: *const ()) {
        for debt in &self.debts {
            if ptr::eq(debt.end.get(), end) {
                debt.end.set(ptr::null());
            }
        }
    }
}

/// The waits that one scheduler looks after.
pub(crate) struct Watches {
    list: [Watch; MOST],
    len: Cell<usize>,
}

/// For an entry that is not in use.
static NEVER: Ways = Ways {
    look: |_, _| false,
    arm: |_, _| true,
};

impl Watches {
    pub(crate) fn new() -> Self {
        let none = || Watch {
            end: Cell::new(ptr::null()),
            id: Cell::new(0),
            ways: Cell::new(&NEVER),
        };
        Watches {
            list: std::array::from_fn(|_| none()),
            len: Cell::new(0),
        }
    }

    /// Looks after a wait of the process `id`; false: there is no place for another.
    ///
    /// # Safety
    /// The ways have to fit the end, and [`Watches::forget`] has to be called before it goes.
    pub(crate) unsafe fn add(&self, end: *const (), id: u32, ways: &'static Ways) -> bool {
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
        place.ways.set(ways);
        true
    }

    /// An end goes, or nobody waits there any more: it is not to be looked at. Whether it was.
    pub(crate) fn forget(&self, end: *const ()) -> bool {
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
    pub(crate) fn look(&self, idle: bool, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        for at in (0..self.len.get()).rev() {
            let watch = &self.list[at];
            // SAFETY: what is in the list has not gone, and the function is its own.
            if unsafe { (watch.ways.get().look)(watch.end.get(), idle) } {
                let id = watch.id.get();
                self.remove(at);
                wake(id);
                any = true;
            }
        }
        any
    }

    /// Arms all waits and forgets them; wakes those that are over, and is true if there was one.
    pub(crate) fn arm(&self, wake: impl Fn(u32)) -> bool {
        let mut any = false;
        while let Some(last) = self.len.get().checked_sub(1) {
            let watch = &self.list[last];
            let id = watch.id.get();
            self.len.set(last);
            // SAFETY: as above.
            if !unsafe { (watch.ways.get().arm)(watch.end.get(), id) } {
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
            gap.ways.set(last.ways.get());
        }
        self.len.set(last);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const CELL: Ways = Ways {
        // SAFETY: the tests put nothing but cells of theirs in the list.
        look: |end, _| unsafe { (*end.cast::<Cell<bool>>()).get() },
        // SAFETY: as above.
        arm: |end, _| unsafe { !(*end.cast::<Cell<bool>>()).get() },
    };

    #[test]
    fn looks_at_a_few_and_forgets() {
        let ends = [const { Cell::new(false) }; MOST + 1];
        let watches = Watches::new();
        let (last, ids) = (MOST as u32, RefCell::new(Vec::new()));
        // SAFETY: the cells outlive the list.
        let add = |id: u32| unsafe {
            let end: *const Cell<bool> = &raw const ends[id as usize];
            watches.add(end.cast(), id, &CELL)
        };
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
