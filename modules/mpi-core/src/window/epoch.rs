//! Access epochs: locks, and exposure to a group of ranks.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::super::entry::NONE;
use super::super::error::Error;
use super::super::value::Value;
use super::Window;
use super::access::Accessing;
use super::operation::{COMPLETED, OPENED, Operation, OperationKind};

const TWICE: Error = Error::window("this rank has already locked the memory of that rank");

/// A requested lock. Dropping it withdraws the request, or releases the lock if it is held already.
#[must_use = "if the lock is not awaited, it is not acquired"]
pub struct Locking<'w, T: Value + Copy> {
    window: &'w Window<T>,
    target: u32,
    /// `None` if the lock is held, or was refused.
    asked: Option<Accessing<T, Vec<T>>>,
    error: Option<Error>,
}

/// The lock of a rank's memory (`MPI_Win_lock`). [`unlock`](Self::unlock) releases it, and waits
/// for the operations on that memory. Dropping it also releases it, but does not wait.
#[must_use = "a lock is released when it is dropped"]
#[derive(Debug)]
pub struct Locked<'w, T: Value + Copy> {
    window: &'w Window<T>,
    target: u32,
}

/// The shared locks of all ranks' memory (`MPI_Win_lock_all`).
#[must_use = "locks are released when they are dropped"]
#[derive(Debug)]
pub struct LockedAll<'w, T: Value + Copy>(Vec<Locked<'w, T>>);

impl<T: Value + Copy> Window<T> {
    fn want(
        &self,
        target: usize,
        what: OperationKind,
        at: &'static Location<'static>,
    ) -> Locking<'_, T> {
        // A rank that holds one lock must not wait for a second one behind a rank that waits for
        // the first.
        let what = match what {
            OperationKind::Share if !self.locked.borrow().is_empty() => OperationKind::ShareToo,
            what => what,
        };
        let found =
            self.target(target)
                .and_then(|target| match self.locked.borrow_mut().insert(target) {
                    true => Ok(target),
                    false => Err(TWICE),
                });
        let (target, error) = match found {
            Ok(target) => (target, None),
            Err(error) => (NONE, Some(error)),
        };
        let wanted = || self.access(target, Operation::plain(what, self.rank() as u32), at);
        Locking {
            window: self,
            target,
            asked: error.is_none().then(wanted),
            error,
        }
    }

    /// Requests the lock of the memory of `target` for this rank alone (`MPI_LOCK_EXCLUSIVE`). The
    /// returned future completes when the lock is held. Requests are granted in order. A shared
    /// request of a rank with other locks may precede, as described for
    /// [`lock_shared`](Self::lock_shared).
    ///
    /// # Errors
    /// [`Error::Rank`] if the target does not exist. [`Error::Over`] if the run ends first.
    /// [`Error::Window`] if this rank already has or requests a lock of this memory, or if the
    /// target has dropped its window.
    #[track_caller]
    pub fn lock(&self, target: usize) -> Locking<'_, T> {
        self.want(target, OperationKind::Exclude, Location::caller())
    }

    /// Requests the lock of the memory of `target` for this rank and others that share the lock
    /// (`MPI_LOCK_SHARED`). The returned future completes when the lock is held. Requests are
    /// granted in order, with one exception. If this rank has or requests other locks of the
    /// window, its request precedes all waiting requests except shared requests of other such
    /// ranks.
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_shared(&self, target: usize) -> Locking<'_, T> {
        self.want(target, OperationKind::Share, Location::caller())
    }

    /// Requests shared locks of the memory of all ranks at once (`MPI_Win_lock_all`). The future
    /// completes when all of them are held.
    ///
    /// # Errors
    /// The first error of [`lock`](Self::lock). The locks that this call acquired are then
    /// released, and its waiting requests are withdrawn.
    #[track_caller]
    pub fn lock_all(&self) -> impl Future<Output = Result<LockedAll<'_, T>, Error>> {
        let at = Location::caller();
        let wanted = (0..self.size()).map(|target| self.want(target, OperationKind::Share, at));
        let wanted: Vec<_> = wanted.collect();
        async move {
            let mut all = Vec::with_capacity(wanted.len());
            for one in wanted {
                all.push(one.await?);
            }
            Ok(LockedAll(all))
        }
    }

    /// Releases the lock of the memory of `target` at once. The returned request waits for the
    /// operations of this rank on that memory. Its errors are the errors of [`Locked::unlock`].
    /// Does not check that this rank holds the lock.
    fn unlock(&self, target: u32, at: &'static Location<'static>) -> Accessing<T, Vec<T>> {
        self.locked.borrow_mut().remove(&target);
        self.under_way.borrow_mut().remove(&target);
        self.access(
            target,
            Operation::plain(OperationKind::Unlock, self.rank() as u32),
            at,
        )
    }

    /// Exposes the memory of this rank to `origins` (`MPI_Win_post`). The origins wait for this in
    /// [`start`](Self::start). The exposure begins when the future is first polled, not by this
    /// call. The future does not wait for the origins.
    ///
    /// # Errors
    /// [`Error::Over`] if the run has ended. [`Error::Rank`] if a rank does not exist. Then the
    /// memory is exposed to none of the ranks.
    pub async fn post(&self, origins: &[usize]) -> Result<(), Error> {
        let origins = self.targets(origins)?;
        self.posted.borrow_mut().extend_from_slice(&origins);
        self.send_to_each(&origins, OPENED).await
    }

    /// Begins accesses to the memory of `targets`, and waits until all of them have exposed their
    /// memory to this rank (`MPI_Win_start`). Each exposure by [`post`](Self::post) serves one
    /// call.
    ///
    /// # Errors
    /// [`Error::Over`] if the run ends first. [`Error::Rank`] if a rank does not exist. Then no
    /// access epoch begins.
    #[track_caller]
    pub fn start(&self, targets: &[usize]) -> impl Future<Output = Result<(), Error>> + use<T> {
        let at = Location::caller();
        let opened = self.targets(targets).map(|targets| {
            let opened = self.receive_from_each(&targets, OPENED, at);
            self.started.borrow_mut().extend(targets);
            opened
        });
        async move { opened?.await }
    }

    /// Ends the accesses that all earlier calls of [`start`](Self::start) began
    /// (`MPI_Win_complete`). Waits until all accesses of this rank to those ranks have been
    /// performed, and reports that to them.
    ///
    /// # Errors
    /// The first error of a target, as for [`flush`](Self::flush). If the future is awaited, the
    /// end of the accesses is reported to all ranks even after an error, because their
    /// [`wait`](Self::wait) would not return otherwise.
    #[track_caller]
    pub fn complete(&self) -> impl Future<Output = Result<(), Error>> {
        let (targets, at) = (self.started.take(), Location::caller());
        let flush = |&target: &u32| self.flush_one(target, at);
        let flushed: Vec<_> = targets.iter().map(flush).collect();
        async move {
            let flushed = wait_for(flushed).await;
            flushed.and(self.send_to_each(&targets, COMPLETED).await)
        }
    }

    /// Ends the exposure that all earlier calls of [`post`](Self::post) began (`MPI_Win_wait`).
    /// Waits until all their `origins` have called [`complete`](Self::complete).
    ///
    /// # Errors
    /// [`Error::Over`] if the run ends first.
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = Result<(), Error>> + use<T> {
        self.receive_from_each(&self.posted.take(), COMPLETED, Location::caller())
    }

    /// Returns `ranks` as ranks of the window, or [`Error::Rank`] for the first one that does not
    /// exist.
    fn targets(&self, ranks: &[usize]) -> Result<Vec<u32>, Error> {
        ranks.iter().map(|&rank| self.target(rank)).collect()
    }

    /// Sends an empty buffered message with the tag `tag` to each of `ranks` when the future is
    /// polled. Returns the first error, after all sends.
    async fn send_to_each(&self, ranks: &[u32], tag: i32) -> Result<(), Error> {
        let send = |&rank: &u32| self.ranks.bsend((), rank as usize, tag);
        wait_for(ranks.iter().map(send).collect()).await
    }

    /// Receives an empty message from each of `ranks`. The receives are posted by this call, and
    /// the returned future waits for them. Returns the first error after all receives have ended.
    fn receive_from_each(
        &self,
        ranks: &[u32],
        tag: i32,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<(), Error>> + use<T> {
        let (ranks, of) = (ranks.iter(), &self.ranks);
        let receive = |&rank: &u32| of.recv_at::<()>((rank as usize).into(), tag.into(), at);
        wait_for(ranks.map(receive).collect())
    }
}

/// Waits for all futures, one after the other, even after an error. Returns the first error.
async fn wait_for<R>(them: Vec<impl Future<Output = Result<R, Error>>>) -> Result<(), Error> {
    let mut outcome = Ok(());
    for one in them {
        outcome = outcome.and(one.await.map(drop));
    }
    outcome
}

impl<'w, T: Value + Copy> Future for Locking<'w, T> {
    type Output = Result<Locked<'w, T>, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(asked) = &mut this.asked else {
            return Poll::Ready(Err(this.error.take().unwrap_or(Error::Inactive)));
        };
        let Poll::Ready(answer) = Pin::new(asked).poll(context) else {
            return Poll::Pending;
        };
        this.asked = None;
        let (window, target) = (this.window, this.target);
        if answer.is_err() {
            window.locked.borrow_mut().remove(&target);
        }
        Poll::Ready(answer.map(|_| Locked { window, target }))
    }
}

impl<T: Value + Copy> Drop for Locking<'_, T> {
    fn drop(&mut self) {
        if let Some(asked) = self.asked.take() {
            drop(asked);
            drop(Locked {
                window: self.window,
                target: self.target,
            });
        }
    }
}

impl<T: Value + Copy> Locked<'_, T> {
    /// Returns the rank whose memory is locked.
    pub fn target(&self) -> usize {
        self.target as usize
    }

    /// Releases the lock at once (`MPI_Win_unlock`). The returned future waits until all operations
    /// of this rank on that memory have completed.
    ///
    /// # Errors
    /// [`Error::Over`] if the run ends first. [`Error::Window`] if the target has dropped its
    /// window, or as for [`Window::flush`] of a dynamic window. The lock is released even if the
    /// future is dropped.
    #[track_caller]
    pub fn unlock(self) -> impl Future<Output = Result<(), Error>> + use<T> {
        let unlocked = self.window.unlock(self.target, Location::caller());
        std::mem::forget(self);
        unlocked.map(|_| Ok(()))
    }
}

impl<T: Value + Copy> Drop for Locked<'_, T> {
    fn drop(&mut self) {
        self.window.locked.borrow_mut().remove(&self.target);
        let unlock = Operation::plain(OperationKind::Unlock, self.window.rank() as u32);
        // No future waits for this answer. The only possible error is that the memory no longer
        // exists.
        let _ = self.window.ask(self.target, unlock, NONE);
    }
}

impl<T: Value + Copy> LockedAll<'_, T> {
    /// Releases all locks as [`Locked::unlock`], and waits for the operations on all ranks.
    ///
    /// # Errors
    /// The first error of [`Locked::unlock`]. All ranks are waited for even after an error.
    #[track_caller]
    pub fn unlock(self) -> impl Future<Output = Result<(), Error>> + use<T> {
        let at = Location::caller();
        let unlock = |locked: Locked<'_, T>| {
            let unlocked = locked.window.unlock(locked.target, at);
            std::mem::forget(locked);
            unlocked
        };
        let all: Vec<_> = self.0.into_iter().map(unlock).collect();
        wait_for(all)
    }
}
