//! Tests of fibers that abandon their stacks. Not under Miri, which cannot switch stacks.

#![cfg(not(miri))]

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use graphmap_fiber::{Options, Stacks, WaitError, abandon, wait};

fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Value that increments a counter when it is dropped.
struct Counts(Rc<Cell<u32>>);

impl Drop for Counts {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn an_abandoned_stack_is_freed_without_destructors() {
    let stacks = Stacks::new(Options::new());
    let drops = Rc::new(Cell::new(0));
    let on_stack = Counts(drops.clone());
    let body = move || {
        let _on_stack = on_stack;
        // SAFETY: no value on the stack is used again.
        let error = unsafe { abandon() };
        unreachable!("{error}");
    };
    let mut fiber = stacks.fiber("", body).unwrap();
    assert!(poll(&mut fiber).is_pending());
    assert!(fiber.is_abandoned());
    assert_eq!(stacks.counts().live, 1);
    drop(fiber);
    assert_eq!((stacks.counts().live, drops.get()), (0, 0));

    // The stack can be used again.
    let mut fiber = stacks.fiber("", || 7).unwrap();
    assert_eq!(poll(&mut fiber), Poll::Ready(7));
}

#[test]
fn polls_of_an_abandoned_fiber_stay_pending() {
    let stacks = Stacks::new(Options::new());
    let resumed = Rc::new(Cell::new(0));
    let inside = resumed.clone();
    let body = move || {
        inside.set(inside.get() + 1);
        // SAFETY: no value on the stack is used again.
        let error = unsafe { abandon() };
        inside.set(inside.get() + 1);
        unreachable!("{error}");
    };
    let mut fiber = stacks.fiber("", body).unwrap();
    assert!(!fiber.is_abandoned());
    for _ in 0..3 {
        assert!(poll(&mut fiber).is_pending());
        assert!(fiber.is_abandoned());
        assert_eq!(resumed.get(), 1);
    }
}

#[test]
fn an_abandon_inside_of_a_poll_is_an_error() {
    let stacks = Stacks::new(Options::new());
    let body = || {
        // SAFETY: the call returns, because a future of the fiber is being polled.
        wait(poll_fn(|_| Poll::Ready(unsafe { abandon() })))
    };
    let mut fiber = stacks.fiber("", body).unwrap();
    assert_eq!(poll(&mut fiber), Poll::Ready(WaitError::InPoll));
    assert!(!fiber.is_abandoned());
    // SAFETY: the call returns, because the caller is not on a fiber.
    assert_eq!(unsafe { abandon() }, WaitError::NoFiber);
}
