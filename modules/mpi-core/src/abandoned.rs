//! Receives of neighbourhood calls that no rank waits for any longer.
//!
//! Neighbourhood calls are distinguished only by their order. Each receive must therefore take its
//! message even if the call was dropped or has failed. Otherwise the next call would get the
//! message.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use super::request::{Receiving, Request};
use super::value::Value;
use graphmap_executor::exec::user_code;

/// A receive of any type.
trait Receive {
    fn is_done(&self) -> bool;

    /// Takes and drops the message. The drop is user code. The receive must be done.
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

/// Number of incomplete receives that are checked in a call, in addition to two per receive of the
/// call.
const MAX_CHECKS: usize = 64;

/// The receives of a rank that must still take a message, in no particular order.
#[derive(Default)]
pub(super) struct Abandoned {
    all: RefCell<VecDeque<Box<dyn Receive>>>,
    /// True while messages are being taken, because their drops may call this again.
    taking: Cell<bool>,
}

impl fmt::Debug for Abandoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Abandoned").finish_non_exhaustive()
    }
}

impl Abandoned {
    /// Takes and drops the messages that have arrived for abandoned receives, before a call with
    /// `receives` receives of its own. Does nothing if it is called from the drop of such a
    /// message.
    ///
    /// The number of checks is limited, and the next calls continue with the other receives.
    /// Thousands of receives from a slow neighbour are therefore not all checked in each call.
    ///
    /// # Panics
    /// If the drop of a message panics. All messages that were found are still taken. It does not
    /// panic while the thread is panicking already.
    #[track_caller]
    pub(super) fn take_arrived(&self, receives: usize) {
        if self.taking.replace(true) {
            return;
        }
        let mut checks = MAX_CHECKS + 2 * receives;
        let mut panicked = None;
        let known = self.all.borrow().len();
        for _ in 0..known {
            let Some(mut one) = self.all.borrow_mut().pop_front() else {
                break;
            };
            if one.is_done() {
                let taken = user_code::caught(|| {
                    one.take();
                    drop(one);
                });
                panicked = panicked.or(taken.err());
                continue;
            }
            self.all.borrow_mut().push_back(one);
            checks -= 1;
            if checks == 0 {
                break;
            }
        }
        self.taking.set(false);
        if let Some(text) = panicked
            && !std::thread::panicking()
        {
            panic!(
                "data of an abandoned neighbourhood call panicked when it was dropped, so this \
                 call was not made: {text}"
            );
        }
    }
}

impl Drop for Abandoned {
    /// Drops all receives and catches their panics, because a second panic during unwinding would
    /// abort the OS process.
    fn drop(&mut self) {
        for one in self.all.get_mut().drain(..) {
            user_code::quietly(|| drop(one));
        }
    }
}

/// The receives of a call. If the call ends early, the incomplete ones are moved to [`Abandoned`].
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
            self.abandoned.all.borrow_mut().push_back(Box::new(one));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Abandoned, MAX_CHECKS, Rc, Receive};
    use std::cell::Cell;

    /// A receive that never completes. If the flag is set, its drop panics.
    struct Never(Rc<Cell<usize>>, bool);

    impl Receive for Never {
        fn is_done(&self) -> bool {
            self.0.set(self.0.get() + 1);
            false
        }

        fn take(&mut self) {
            unreachable!("no message has arrived");
        }
    }

    impl Drop for Never {
        fn drop(&mut self) {
            assert!(!self.1, "dropped");
        }
    }

    #[test]
    fn checks_per_call_are_limited() {
        let (checks, abandoned) = (Rc::new(Cell::new(0)), Abandoned::default());
        for number in 0..300 {
            let one = Box::new(Never(Rc::clone(&checks), number < 2));
            abandoned.all.borrow_mut().push_back(one);
        }
        abandoned.take_arrived(3);
        assert_eq!(checks.get(), MAX_CHECKS + 6);
        assert_eq!(abandoned.all.borrow().len(), 300);
    }
}
