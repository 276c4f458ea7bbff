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

/// A requested lock. Dropping it withdraws the request.
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

    /// Locks the memory of `target` for this rank alone (`MPI_LOCK_EXCLUSIVE`). Requests are
    /// granted in order.
    ///
    /// # Errors
    /// [`Error::Rank`] or [`Error::Over`]. [`Error::Window`] if this rank already has the lock, or
    /// if the target has dropped its window.
    #[track_caller]
    pub fn lock(&self, target: usize) -> Locking<'_, T> {
        self.want(target, OperationKind::Exclude, Location::caller())
    }

    /// Locks the memory of `target` for this rank and others that share it (`MPI_LOCK_SHARED`).
    /// Requests are granted in order, with one exception. If this rank has or requests other locks
    /// of the window, its request precedes waiting requests for an exclusive lock.
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_shared(&self, target: usize) -> Locking<'_, T> {
        self.want(target, OperationKind::Share, Location::caller())
    }

    /// Requests shared locks of the memory of all ranks at once (`MPI_Win_lock_all`).
    ///
    /// # Errors
    /// The errors of [`lock`](Self::lock).
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

    /// Releases the lock of the memory of `target`, and waits for the operations on it.
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
    /// [`start`](Self::start). Waits only if many messages to an origin are unread.
    ///
    /// # Errors
    /// [`Error::Over`] if the run has ended. [`Error::Rank`] if a rank does not exist. Then the
    /// memory is exposed to none of the ranks.
    pub async fn post(&self, origins: &[usize]) -> Result<(), Error> {
        let origins = self.targets(origins)?;
        self.posted.borrow_mut().extend_from_slice(&origins);
        self.send_to_each(&origins, OPENED).await
    }

    /// Waits until all `targets` have exposed their memory to this rank (`MPI_Win_start`).
    ///
    /// # Errors
    /// [`Error::Over`]. [`Error::Rank`] if a rank does not exist. Then no access epoch begins.
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

    /// Ends the accesses that [`start`](Self::start) began (`MPI_Win_complete`). Waits until all
    /// accesses of this rank to those ranks have been performed, and reports that to them.
    ///
    /// # Errors
    /// The first error of an access, as for [`put`](Self::put). The end of the accesses is reported
    /// to all ranks in any case, because their [`wait`](Self::wait) would not return otherwise.
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

    /// Ends the exposure that [`post`](Self::post) began (`MPI_Win_wait`). Waits until all
    /// `origins` have called [`complete`](Self::complete).
    ///
    /// # Errors
    /// [`Error::Over`].
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = Result<(), Error>> + use<T> {
        self.receive_from_each(&self.posted.take(), COMPLETED, Location::caller())
    }

    /// Returns `ranks` as ranks of the window, if all of them exist.
    fn targets(&self, ranks: &[usize]) -> Result<Vec<u32>, Error> {
        ranks.iter().map(|&rank| self.target(rank)).collect()
    }

    /// Sends a message to each of `ranks`. Returns the first error.
    async fn send_to_each(&self, ranks: &[u32], tag: i32) -> Result<(), Error> {
        let send = |&rank: &u32| self.ranks.bsend((), rank as usize, tag);
        wait_for(ranks.iter().map(send).collect()).await
    }

    /// Receives a message from each of `ranks`. Returns the first error.
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

/// Waits for all futures, even after an error. Returns the first error.
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

    /// Waits until all operations of this rank on that memory have completed, and releases the lock
    /// (`MPI_Win_unlock`).
    ///
    /// # Errors
    /// [`Error::Over`]. [`Error::Window`] if the target has dropped its window.
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
    /// Releases all locks as [`Locked::unlock`].
    ///
    /// # Errors
    /// The errors of [`Locked::unlock`].
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
