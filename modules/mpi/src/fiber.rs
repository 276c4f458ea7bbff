//! A rank's stack, and which rank's stack it is that something is called on.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::rank::Rank;

thread_local! {
    /// The rank whose stack this thread is on, if any.
    static CURRENT: RefCell<Option<Rank>> = const { RefCell::new(None) };
}

/// While it lives, a rank is the current one of its thread.
struct Entered(Option<Rank>);

impl Entered {
    fn new(rank: &Rank) -> Self {
        Entered(CURRENT.replace(Some(rank.clone())))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let left = CURRENT.replace(self.0.take());
        drop(left);
    }
}

/// The rank whose stack this is called on, if any.
pub(crate) fn current() -> Option<Rank> {
    CURRENT.with_borrow(Clone::clone)
}

/// A rank that calls a function on a stack of its own, as a future.
pub(crate) struct Fiber<T: 'static> {
    /// None while it is dropped.
    fiber: Option<Pin<Box<graphmap_stack::Fiber<T>>>>,
    rank: Rank,
}

impl<T: 'static> Fiber<T> {
    pub(crate) fn new(rank: Rank, main: impl FnOnce() -> T + 'static) -> Self {
        let fiber = Some(Box::pin(graphmap_stack::Fiber::new(main)));
        Fiber { fiber, rank }
    }
}

impl<T: 'static> Future for Fiber<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let _entered = Entered::new(&this.rank);
        match &mut this.fiber {
            Some(fiber) => fiber.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
}

impl<T: 'static> Drop for Fiber<T> {
    fn drop(&mut self) {
        // What is on the stack is dropped by its rank.
        let _entered = Entered::new(&self.rank);
        self.fiber = None;
    }
}

/// Waits for a future. While a stack is unwound, it is not given up: other ranks of the thread would be taken for panicking, too.
///
/// # Panics
/// Outside of a rank; and if it would have to wait while the stack is unwound.
#[track_caller]
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    graphmap_stack::wait(future)
}

/// Polls a future once, as the rank that this is called by.
#[track_caller]
pub(crate) fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    wait(poll_fn(|context| {
        Poll::Ready(future.as_mut().poll(context))
    }))
}
