//! Persistent requests (MPI standard, version 4.1, sections 3.9 and 6.13).

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::error::Error;
use super::request::Request;

/// A call that is made again each time it is started (`MPI_Send_init`, `MPI_Recv_init`,
/// `MPI_Barrier_init` and so on). It is a [`Request`] that is inactive at first, and again after
/// each outcome.
#[must_use = "a persistent request does nothing until it is started"]
pub struct Persistent<F, R> {
    begin: F,
    started: Option<R>,
}

/// Creates a persistent request. Each start calls `begin`, which makes the call with the current
/// data. This function itself makes no call.
///
/// ```
/// use std::cell::Cell;
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let (me, size) = (world.rank(), world.size());
///     let value = Cell::new(me);
///     let mut to_next = mpi::persistent(|| world.send(value.get(), (me + 1) % size, 0));
///     let mut of_last = mpi::persistent(|| world.recv::<usize>((me + size - 1) % size, 0));
///     for _ in 0..size {
///         of_last.start()?;
///         to_next.start()?;
///         value.set((&mut of_last).await?.0);
///         (&mut to_next).await?;
///     }
///     assert_eq!(value.get(), me);
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..5).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
pub fn persistent<F: FnMut() -> R, R: Request>(begin: F) -> Persistent<F, R> {
    Persistent {
        begin,
        started: None,
    }
}

/// Starts all requests, in order (`MPI_Startall`).
///
/// # Errors
/// The error of [`Persistent::start`] for the first request that cannot be started. Requests before
/// it have been started.
pub fn start_all<'a, F: FnMut() -> R + 'a, R: Request + 'a>(
    requests: impl IntoIterator<Item = &'a mut Persistent<F, R>>,
) -> Result<(), Error> {
    requests.into_iter().try_for_each(Persistent::start)
}

// `begin` is never pinned.
impl<F, R> Unpin for Persistent<F, R> {}

impl<F: FnMut() -> R, R: Request> Persistent<F, R> {
    /// Starts the call (`MPI_Start`): calls the function that was passed to [`persistent`]. The
    /// request then completes with the outcome of that call.
    ///
    /// # Errors
    /// [`Error::Active`] if the outcome of the previous call has not been returned. An error of the
    /// call itself is the outcome of the request.
    pub fn start(&mut self) -> Result<(), Error> {
        if self.is_active() {
            return Err(Error::Active);
        }
        self.started = Some((self.begin)());
        Ok(())
    }

    /// Cancels the started call, as [`Request::cancel`]. Returns true if the call was cancelled,
    /// and false if it was too late to cancel it, if the call cannot be cancelled, or if no call is
    /// started. In each case the request can be started again, and the outcome of a call that was
    /// not cancelled is lost.
    pub fn take_back(&mut self) -> bool {
        self.started.take().is_some_and(Request::cancel)
    }
}

impl<F, R: Request> Future for Persistent<F, R> {
    type Output = Result<R::Outcome, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(started) = &mut self.started else {
            return Poll::Ready(Err(Error::Inactive));
        };
        let outcome = ready!(Pin::new(started).poll(context));
        self.started = None;
        Poll::Ready(outcome)
    }
}

impl<F, R: Request> Request for Persistent<F, R> {
    type Outcome = R::Outcome;

    fn is_active(&self) -> bool {
        self.started.as_ref().is_some_and(Request::is_active)
    }

    fn is_done(&self) -> bool {
        self.started.as_ref().is_none_or(Request::is_done)
    }

    fn cancel(self) -> bool {
        self.started.is_some_and(Request::cancel)
    }

    fn disarm(&mut self) {
        if let Some(started) = &mut self.started {
            started.disarm();
        }
    }
}
