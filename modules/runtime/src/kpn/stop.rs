//! Waits for readers to leave.

use std::fmt;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::ports::Output;
use super::select::Source;
use graphmap_executor::exec::hooks::Ready;

/// The future of [`Output::stopped`] and of the same functions of bundles. It is ready when all
/// readers have left. It panics if it must wait outside of a process of a run.
///
/// In a [`select!`](crate::select!), it does not count as an open port. When all other ports have
/// ended, the `else` arm runs although the readers are still there.
#[must_use = "this does nothing unless it is awaited"]
pub struct Stop<'a, T> {
    outputs: &'a mut [Output<T>],
    /// Index of the output that the future waits for. Readers of outputs before it have left.
    waits: usize,
    /// The ready list of a share bundle, whose members may have hooks.
    ready: Option<&'a Rc<Ready>>,
}

impl<T> Output<T> {
    /// Waits until the reader has left, without writing. An unconnected output is ready at once.
    ///
    /// Otherwise, a process that reads for a long time before it writes again gets [`Stopped`] only
    /// at that write. With this future in a [`select!`](crate::select!), it learns of the departure
    /// at once.
    ///
    /// [`Stopped`]: crate::Stopped
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, Stopped, select};
    /// # let mut net = Local::new();
    /// # let (mut tx, mut numbers) = net.channel::<u64>(1);
    /// # let (mut rest, rx) = net.channel::<u64>(1);
    /// # net.spawn(async move { loop { tx.write(4).await?; } #[allow(unreachable_code)] Ok::<(), Stopped>(()) });
    /// # net.spawn(async move { drop(rx) });
    /// # net.spawn(async move {
    /// loop {
    ///     select! {
    ///         number = numbers => if number % 2 != 0 { rest.write(number).await? },
    ///         () = rest.stopped() => break,
    ///         else => break, // the end of the numbers
    ///     }
    /// }
    /// # Ok::<(), Stopped>(())
    /// # });
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Panics
    /// The future panics if it must wait outside of a process of a run.
    #[inline]
    pub fn stopped(&mut self) -> Stop<'_, T> {
        Stop::one(self)
    }
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

    /// Returns ready when the readers of all outputs have left, at once without outputs. Waits for
    /// one output after the other. A reader that has left does not come back.
    #[inline]
    fn poll_all(&mut self, context: &mut Context<'_>) -> Poll<()> {
        for (member, output) in self.outputs.iter_mut().enumerate().skip(self.waits) {
            if output.poll_stopped(context).is_pending() {
                self.waits = member;
                if let Some(ready) = self.ready {
                    // The output's hook is no longer in the channel, so the next write must check
                    // it.
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
