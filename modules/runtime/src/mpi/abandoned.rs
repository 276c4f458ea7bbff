//! Receives of calls of neighbours that nobody waits for any more.
//!
//! Such calls are told apart by their order alone. So each receive takes its message, also where the call was let go of or has failed:
//! else the next call would get it.

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Waker};

use std::rc::Rc;

use super::request::{Receiving, Request};
use super::value::Value;

/// A receive, of whatever type.
trait Receive {
    fn is_done(&self) -> bool;

    /// Takes what has come: to drop that is code of the user.
    fn take(&mut self);
}

impl<T: Value> Receive for Receiving<T> {
    fn is_done(&self) -> bool {
        Request::is_done(self)
    }

    fn take(&mut self) {
        let taken = Pin::new(self).poll(&mut Context::from_waker(Waker::noop()));
        drop(taken);
    }
}

/// Those of a rank that are still to take something, in no order.
#[derive(Default)]
pub(super) struct Abandoned(RefCell<Vec<Box<dyn Receive>>>);

impl fmt::Debug for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abandoned").finish_non_exhaustive()
    }
}

impl Abandoned {
    /// Has them take what has come.
    pub(super) fn take_what_came(&self) {
        let done: Vec<_> = self
            .0
            .borrow_mut()
            .extract_if(.., |one| one.is_done())
            .collect();
        for mut one in done {
            one.take();
        }
    }
}

/// The receives of a call: what they have not taken when it ends, they take later.
pub(super) struct Receives<T: Value> {
    pub(super) all: Vec<Option<Receiving<T>>>,
    abandoned: Rc<Abandoned>,
}

impl<T: Value> Receives<T> {
    pub(super) fn new(all: Vec<Option<Receiving<T>>>, abandoned: &Rc<Abandoned>) -> Self {
        Receives {
            all,
            abandoned: Rc::clone(abandoned),
        }
    }
}

impl<T: Value> Drop for Receives<T> {
    fn drop(&mut self) {
        let left = self.all.drain(..).flatten();
        for mut one in left.filter(Request::is_active) {
            one.disarm();
            self.abandoned.0.borrow_mut().push(Box::new(one));
        }
    }
}
