//! Waiting for readers to leave.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::ports::Output;
use super::select::Source;
use crate::exec::hooks::Ready;

/// The future of [`Output::stopped`] and of its like in bundles: ready when all readers have left.
///
/// In a [`select!`](crate::select!) it does not count as a port that may still have something: when
/// all others are at their end, the `else` arm runs though the readers are there.
#[must_use = "this does nothing unless it is awaited"]
pub struct Stop<'a, T> {
    outputs: &'a mut [Output<T>],
    /// The one that is waited for.
    waits: usize,
    /// The list of a share bundle, whose members may be waited for by hooks.
    ready: Option<&'a Rc<Ready>>,
}

impl<'a, T> Stop<'a, T> {
    #[inline]
    pub(crate) fn one(output: &'a mut Output<T>) -> Self {
        Stop::all(std::slice::from_mut(output))
    }

    #[inline]
    pub(crate) fn all(outputs: &'a mut [Output<T>]) -> Self {
        Stop {
            outputs,
            waits: 0,
            ready: None,
        }
    }

    pub(crate) fn shared(outputs: &'a mut [Output<T>], ready: &'a Rc<Ready>) -> Self {
        Stop {
            outputs,
            waits: 0,
            ready: Some(ready),
        }
    }

    /// All have left when one after the other has, so it is enough to wait for the first that is
    /// there. Those before it have left for ever.
    #[inline]
    fn poll_all(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for (member, output) in self.outputs.iter_mut().enumerate().skip(self.waits) {
            if output.poll_stopped(context).is_pending() {
                self.waits = member;
                if let Some(ready) = self.ready {
                    // Its hook is not in the channel any more: the next write has to look at it.
                    ready.push(member as u32);
                }
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    }
}

impl<T> Future for Stop<'_, T> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().poll_all(context)
    }
}

impl<T> Source for Stop<'_, T> {
    type Item = ();
    const STREAM: bool = false;

    #[inline]
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        self.poll_all(context).map(Some)
    }

    #[inline]
    fn turn_away(&mut self) {
        if let Some(output) = self.outputs.get_mut(self.waits) {
            output.turn_away();
        }
    }
}

impl<T> Drop for Stop<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.turn_away();
    }
}

impl<T> fmt::Debug for Stop<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop")
            .field("outputs", &self.outputs)
            .finish()
    }
}
