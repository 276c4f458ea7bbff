//! When ranks have access to each other's memory: locks, and exposure to some.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::super::entry::NONE;
use super::super::error::Error;
use super::super::value::Value;
use super::Window;
use super::access::Accessing;
use super::operation::{COMPLETED, OPENED, Operation, What};

const TWICE: Error = Error::window("this rank has already locked the memory of that rank");

/// A lock that is asked for. To let go of it is to want it no more.
#[must_use = "if the lock is not awaited, it is not acquired"]
pub struct Locking<'w, T: Value + Copy> {
    window: &'w Window<T>,
    target: u32,
    /// None: it is held, or refused.
    asked: Option<Accessing<T, Vec<T>>>,
    error: Option<Error>,
}

/// The lock of a rank's memory (`MPI_Win_lock`), given back by [`unlock`](Self::unlock), which waits until all has been
/// done; or when it is dropped, which does not.
#[must_use = "a lock is released when it is dropped"]
#[derive(Debug)]
pub struct Locked<'w, T: Value + Copy> {
    window: &'w Window<T>,
    target: u32,
}

/// The locks of all ranks' memory, shared (`MPI_Win_lock_all`).
#[must_use = "locks are released when they are dropped"]
#[derive(Debug)]
pub struct LockedAll<'w, T: Value + Copy>(Vec<Locked<'w, T>>);

impl<T: Value + Copy> Window<T> {
    fn want(&self, target: usize, what: What, at: &'static Location<'static>) -> Locking<'_, T> {
        // Who holds one lock and waits for another must not wait for who waits for the first.
        let what = match what {
            What::Share if !self.locked.borrow().is_empty() => What::ShareToo,
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

    /// Locks the memory of a rank for this one alone (`MPI_LOCK_EXCLUSIVE`), in the order in which ranks ask for it.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Over`]; [`Error::Window`]: this rank has the lock already, or that one has let go of its window.
    #[track_caller]
    pub fn lock(&self, target: usize) -> Locking<'_, T> {
        self.want(target, What::Exclude, Location::caller())
    }

    /// Locks the memory of a rank for this one and others that share it (`MPI_LOCK_SHARED`): in the order in which ranks ask
    /// for it, but before those who wait to be alone if this rank has or wants other locks of the window.
    ///
    /// # Errors
    /// As for [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_shared(&self, target: usize) -> Locking<'_, T> {
        self.want(target, What::Share, Location::caller())
    }

    /// The same of all ranks, asked for at once.
    ///
    /// # Errors
    /// As for [`lock`](Self::lock).
    #[track_caller]
    pub fn lock_all(&self) -> impl Future<Output = Result<LockedAll<'_, T>, Error>> {
        let at = Location::caller();
        let wanted = (0..self.size()).map(|target| self.want(target, What::Share, at));
        let wanted: Vec<_> = wanted.collect();
        async move {
            let mut all = Vec::with_capacity(wanted.len());
            for one in wanted {
                all.push(one.await?);
            }
            Ok(LockedAll(all))
        }
    }

    /// Gives the lock of a rank's memory back.
    fn unlock(&self, target: u32, at: &'static Location<'static>) -> Accessing<T, Vec<T>> {
        self.locked.borrow_mut().remove(&target);
        self.under_way.borrow_mut().remove(&target);
        self.access(
            target,
            Operation::plain(What::Unlock, self.rank() as u32),
            at,
        )
    }

    /// Opens the memory of this rank to some others (`MPI_Win_post`), which wait for that by
    /// [`start`](Self::start).
    ///
    /// # Errors
    /// [`Error::Over`]; [`Error::Rank`]: the memory is opened to none of the ranks.
    pub async fn post(&self, origins: &[usize]) -> Result<(), Error> {
        let origins = self.targets(origins)?;
        self.posted.borrow_mut().extend_from_slice(&origins);
        self.say(&origins, OPENED).await
    }

    /// Waits until some ranks have opened their memory to this one (`MPI_Win_start`).
    ///
    /// # Errors
    /// [`Error::Over`]; [`Error::Rank`]: it waits for none of the ranks, and begins nothing.
    #[track_caller]
    pub fn start(&self, targets: &[usize]) -> impl Future<Output = Result<(), Error>> + use<T> {
        let at = Location::caller();
        let opened = self.targets(targets).map(|targets| {
            let opened = self.hear(&targets, OPENED, at);
            self.started.borrow_mut().extend(targets);
            opened
        });
        async move { opened?.await }
    }

    /// Ends the accesses that [`start`](Self::start) began (`MPI_Win_complete`). Waits until all
    /// accesses of this rank to those ranks have been performed, and reports that to them.
    ///
    /// # Errors
    /// As for [`put`](Self::put): the first error of an access. It is reported to all ranks that
    /// the accesses have ended, as their [`wait`](Self::wait) would not return otherwise.
    #[track_caller]
    pub fn complete(&self) -> impl Future<Output = Result<(), Error>> {
        let (targets, at) = (self.started.take(), Location::caller());
        let flush = |&target: &u32| self.flush_one(target, at);
        let flushed: Vec<_> = targets.iter().map(flush).collect();
        async move {
            let flushed = wait_for(flushed).await;
            flushed.and(self.say(&targets, COMPLETED).await)
        }
    }

    /// Ends the exposure that [`post`](Self::post) began (`MPI_Win_wait`). Waits until all of those
    /// ranks have called [`complete`](Self::complete).
    ///
    /// # Errors
    /// [`Error::Over`].
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = Result<(), Error>> + use<T> {
        self.hear(&self.posted.take(), COMPLETED, Location::caller())
    }

    /// Returns ranks of the window, if it has all of them.
    fn targets(&self, ranks: &[usize]) -> Result<Vec<u32>, Error> {
        ranks.iter().map(|&rank| self.target(rank)).collect()
    }

    /// Sends a message to each of some ranks. Returns the first error.
    async fn say(&self, ranks: &[u32], tag: i32) -> Result<(), Error> {
        let send = |&rank: &u32| self.ranks.bsend((), rank as usize, tag);
        wait_for(ranks.iter().map(send).collect()).await
    }

    /// Receives a message from each of some ranks. Returns the first error.
    fn hear(
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

/// Waits for all of these, also after one has failed. Returns the first error.
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
    /// Whose memory is locked.
    pub fn target(&self) -> usize {
        self.target as usize
    }

    /// Waits until all that this rank has asked for of that memory has been done, and gives the lock back (`MPI_Win_unlock`).
    ///
    /// # Errors
    /// [`Error::Over`]; [`Error::Window`]: the rank has let go of its window.
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
        let unlock = Operation::plain(What::Unlock, self.window.rank() as u32);
        // Nobody waits: what can be wrong is that there is no such memory any more.
        let _ = self.window.ask(self.target, unlock, NONE);
    }
}

impl<T: Value + Copy> LockedAll<'_, T> {
    /// As [`Locked::unlock`], of all.
    ///
    /// # Errors
    /// As there.
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
