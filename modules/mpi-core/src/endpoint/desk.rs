//! The threads that are ranks of a scheduler, as that sees them: each has a seat.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;

use super::line::{Called, Line};

/// What the end of a thread is among that which is waited for: no access to memory has this number.
pub(in super::super) const THREAD: i32 = i32::MAX;
/// As [`THREAD`], of a task.
pub(in super::super) const TASK: i32 = i32::MAX - 1;
/// In place of a process that is waited for: nobody of the run.
pub(in super::super) const OUTSIDE: u32 = u32::MAX;

/// A thread that is a rank.
pub(in super::super) struct Seat {
    /// Its `Communicator`.
    pub(super) guest: Rc<dyn Any>,
    /// The rank in words.
    pub(super) name: String,
    /// Where it was handed to a thread.
    pub(super) at: &'static Location<'static>,
    /// The rank in the world of the process that it is of, and the id of the one that has handed it over.
    pub(super) process: u32,
    pub(super) id: u32,
    /// The thread waits in a call.
    pub(super) calls: bool,
    /// Not while it is polled.
    pub(super) call: Option<Called>,
    /// The entry of who waits for the thread's end.
    pub(super) attended: Option<u32>,
}

/// The call that is being polled.
#[derive(Clone)]
pub(super) struct Polling {
    /// The waker that it is polled with, and the one to be kept where it waits in this run.
    pub(super) given: Waker,
    pub(super) own: Waker,
    /// The id of the process whose wait it is.
    pub(super) id: u32,
}

/// All of a scheduler.
#[derive(Default)]
pub(in super::super) struct Desk {
    pub(super) line: OnceCell<Arc<Line>>,
    pub(super) seats: RefCell<Vec<Option<Seat>>>,
    pub(super) free: RefCell<Vec<u32>>,
    pub(super) polling: RefCell<Option<Polling>>,
    /// The run is over.
    pub(super) is_closed: Cell<bool>,
}

impl Desk {
    /// Gives a thread a seat: its number.
    pub(super) fn sit(&self, seat: Seat) -> u32 {
        let mut seats = self.seats.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(at) => {
                seats[at as usize] = Some(seat);
                at
            }
            None => {
                seats.push(Some(seat));
                seats.len() as u32 - 1
            }
        }
    }

    /// Calls `f` with a seat, if somebody has it.
    pub(super) fn with<R>(&self, at: u32, f: impl FnOnce(&mut Seat) -> R) -> Option<R> {
        let mut seats = self.seats.borrow_mut();
        seats.get_mut(at as usize)?.as_mut().map(f)
    }

    /// Takes a seat away.
    pub(super) fn leave(&self, at: u32) -> Option<Seat> {
        let left = self.seats.borrow_mut().get_mut(at as usize)?.take();
        if left.is_some() {
            self.free.borrow_mut().push(at);
        }
        left
    }
}
