//! When ranks have access to each other's memory: locks, and exposure to some.

use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::super::entry::NONE;
use super::super::error::Error;
use super::super::value::Value;
use super::Window;
use super::access::Accessing;
use super::operation::{Operation, What};

const TWICE: Error = Error::window("a rank locks the memory of another once at a time");

/// Tags of the messages by which ranks open memory to others, and say that they have done with it.
const OPENED: i32 = 0;
const COMPLETED: i32 = 1;

/// A lock that is asked for. To let go of it is to want it no more.
#[must_use = "a lock that nobody waits for is not held"]
pub struct Locking<'w, T: Value + Copy> {
    window: &'w Window<T>,
    target: u32,
    /// None: it is held, or refused.
    asked: Option<Accessing<T, Vec<T>>>,
    error: Option<Error>,
}

/// The lock of a rank's memory (`MPI_Win_lock`), given back by [`unlock`](Self::unlock), which waits until all has been
/// done; or when it is dropped, which does not.
#[must_use = "a lock that is dropped is given back"]
#[derive(Debug)]
pub struct Locked<'w, T: Value + Copy> {
    window: &'w Window<T>,
    target: u32,
}

/// The locks of all ranks' memory, shared (`MPI_Win_lock_all`).
#[must_use = "locks that are dropped are given back"]
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

    /// Opens the memory of this rank to some others (`MPI_Win_post`), which wait for that by [`start`](Self::start).
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Over`].
    pub async fn post(&self, origins: &[usize]) -> Result<(), Error> {
        self.posted.borrow_mut().extend_from_slice(origins);
        for &origin in origins {
            self.ranks.bsend((), origin, OPENED).await?;
        }
        Ok(())
    }

    /// Waits until some ranks have opened their memory to this one (`MPI_Win_start`).
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[track_caller]
    pub fn start(&self, targets: &[usize]) -> impl Future<Output = Result<(), Error>> + use<T> {
        self.started.borrow_mut().extend_from_slice(targets);
        let opened = targets
            .iter()
            .map(|&target| self.ranks.recv::<()>(target, OPENED));
        let opened: Vec<_> = opened.collect();
        async move {
            for one in opened {
                one.await?;
            }
            Ok(())
        }
    }

    /// Ends what [`start`](Self::start) began: waits until all that this rank has asked of those ranks has been done, and tells
    /// them (`MPI_Win_complete`).
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[track_caller]
    pub fn complete(&self) -> impl Future<Output = Result<(), Error>> {
        let (targets, at) = (self.started.take(), Location::caller());
        let flushed: Vec<_> = targets
            .iter()
            .map(|&target| match self.target(target) {
                Ok(target) => self.flush_one(target, at),
                Err(error) => Accessing::failed(error),
            })
            .collect();
        async move {
            for one in flushed {
                one.await?;
            }
            for target in targets {
                self.ranks.bsend((), target, COMPLETED).await?;
            }
            Ok(())
        }
    }

    /// Ends what [`post`](Self::post) began: waits until all of those ranks have done with the memory of this one
    /// (`MPI_Win_wait`).
    ///
    /// # Errors
    /// As for [`post`](Self::post).
    #[track_caller]
    pub fn wait(&self) -> impl Future<Output = Result<(), Error>> + use<T> {
        let origins = self.posted.take();
        let completed = origins
            .into_iter()
            .map(|origin| self.ranks.recv::<()>(origin, COMPLETED));
        let completed: Vec<_> = completed.collect();
        async move {
            for one in completed {
                one.await?;
            }
            Ok(())
        }
    }
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
        async move {
            let mut outcome = Ok(());
            for one in all {
                outcome = outcome.and(one.await.map(drop));
            }
            outcome
        }
    }
}
