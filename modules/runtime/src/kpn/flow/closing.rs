//! Waiting until the readers ask for the end.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::{FlowOutput, FlowShare};
use crate::kpn::select::Source;

/// Future of [`FlowOutput::closing`] and [`FlowShare::closing`]. It is ready when the last reader
/// has asked for the end, or when the channel is closed. It panics if it must wait outside of a
/// process of a run.
///
/// In a [`select!`](crate::select!), it does not count as a port that may still have tokens.
#[must_use = "this does nothing unless it is awaited"]
pub struct Closing<'a, T>(Writer<'a, T>);

/// Writing end that waits.
enum Writer<'a, T> {
    One(&'a mut FlowOutput<T>),
    Share(&'a mut FlowShare<T>),
}

impl<T> FlowOutput<T> {
    /// Waits until the reader has asked for the end, or the channel is closed, without writing.
    /// Opens the end if it was never open. The future is ready at once if this end is closed.
    ///
    /// A writer that reads for a long time between two writes learns of the request at once if it
    /// has this in a [`select!`](crate::select!).
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    pub fn closing(&mut self) -> Closing<'_, T> {
        Closing(Writer::One(self))
    }
}

impl<T> FlowShare<T> {
    /// Waits until the last reader has asked for the end, or the channel is closed, without
    /// writing. Opens the end if it was never open. Readers can open and leave during the wait.
    ///
    /// A writer that waits for other ports should have this future in the same
    /// [`select!`](crate::select!), so that readers that open or leave need not wait.
    ///
    /// # Panics
    /// The future panics if it is polled outside of a run, unless the channel is closed.
    pub fn closing(&mut self) -> Closing<'_, T> {
        Closing(Writer::Share(self))
    }
}

impl<T> Source for Closing<'_, T> {
    type Item = ();
    const STREAM: bool = false;

    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        match &mut self.0 {
            Writer::One(output) => output.poll_closing(context),
            Writer::Share(share) => share.poll_closing(context),
        }
        .map(Some)
    }

    fn turn_away(&mut self) {
        match &mut self.0 {
            Writer::One(output) => output.turn_away(),
            Writer::Share(share) => share.turn_away(),
        }
    }
}

impl<T> Future for Closing<'_, T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.get_mut().poll_next(context).map(|_| ())
    }
}

impl<T> Drop for Closing<'_, T> {
    fn drop(&mut self) {
        self.turn_away();
    }
}

impl<T> fmt::Debug for Closing<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Closing").finish_non_exhaustive()
    }
}
