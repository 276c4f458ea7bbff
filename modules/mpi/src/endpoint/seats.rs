//! By what a thread that is a rank names what only the thread of that rank has.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::rank::RankState;
use crate::shared::Shared;

/// The number of a seat, among all that there have been on the rank's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Seat(u64);

type Taken = (RankState, Rc<Shared>);

thread_local! {
    static SEATS: RefCell<HashMap<Seat, Taken>> = RefCell::default();
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// While it lives, its seat is taken.
pub(super) struct Seated(Seat);

impl Seated {
    /// For a thread that is the rank of this communicator, which this rank has.
    pub(super) fn new(rank: RankState, shared: Rc<Shared>) -> Self {
        let seat = Seat(NEXT.replace(NEXT.get() + 1));
        SEATS.with_borrow_mut(|seats| seats.insert(seat, (rank, shared)));
        Seated(seat)
    }

    pub(super) fn seat(&self) -> Seat {
        self.0
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        let left = SEATS.try_with(|seats| seats.borrow_mut().remove(&self.0));
        // With the last handle of a communicator its attributes go: code of the user, which may come here.
        drop(left);
    }
}

/// Who has a seat; none: the rank has ended.
pub(super) fn taken(seat: Seat) -> Option<Taken> {
    SEATS.with_borrow(|seats| seats.get(&seat).cloned())
}
