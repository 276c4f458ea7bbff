//! Threads that are ranks.

use std::cell::Cell;
use std::fmt;
use std::panic::resume_unwind;
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use super::registry::{self, Key};
use crate::fiber::Fiber;
use crate::shared::CommunicatorHandle;
use crate::topology::{Rank, SimpleCommunicator};
use crate::{CallError, done};

/// A rank as it is used by the thread that is this rank.
///
/// All of its calls are made by the thread of the rank, on stacks there and between the polls of
/// other ranks. Therefore no data is shared and no lock is held. While the thread does not call, it
/// still may, so a wait for this rank is not a deadlock.
pub struct ThreadRank<'a> {
    thread: &'a core::ThreadRank,
    key: Key,
}

impl fmt::Debug for ThreadRank<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ThreadRank");
        debug.field("rank", &self.rank());
        debug.field("size", &self.size()).finish()
    }
}

impl<'a> ThreadRank<'a> {
    pub(super) fn new(thread: &'a core::ThreadRank, key: Key) -> Self {
        ThreadRank { thread, key }
    }

    /// Returns the rank that the thread is, in the communicator of the endpoints.
    pub fn rank(&self) -> Rank {
        Rank::try_from(self.thread.rank()).unwrap_or(Rank::MAX)
    }

    /// Returns the number of ranks of the communicator.
    pub fn size(&self) -> Rank {
        Rank::try_from(self.thread.size()).unwrap_or(Rank::MAX)
    }

    /// Calls `f` with the communicator on the thread of the rank, on a new stack. Blocks until it
    /// has returned, and returns its result.
    ///
    /// Functions of this crate that wait must be called in `f`: one or many of them. Do not compute
    /// for long in it, because all ranks of that thread wait meanwhile. Attributes stay with the
    /// communicator from one call to the next.
    ///
    /// # Panics
    /// * With the payload of `f`, if `f` panics.
    /// * If the run is over, or ends meanwhile.
    /// * If it is called on the stack of a rank, and not by the thread itself.
    /// * If no stack can be allocated.
    #[track_caller]
    pub fn call<T: Send + 'static>(
        &self,
        f: impl FnOnce(&SimpleCommunicator) -> T + Send + 'static,
    ) -> T {
        let key = self.key;
        match self.thread.call(move |_| called(key, f)) {
            // Resumed without a message, because the run reports why it has ended.
            Err(CallError::Over) => resume_unwind(Box::new(CallError::Over.to_string())),
            called => done(called),
        }
    }
}

/// Runs a call on a new stack, on the thread of the rank. Returns the result of `f`.
///
/// # Errors
/// [`CallError::Over`] if the rank has ended, or [`CallError::Thread`] if `GRAPHMAP_STACK` is
/// invalid or no stack can be allocated.
async fn called<T: 'static>(
    key: Key,
    f: impl FnOnce(&SimpleCommunicator) -> T + 'static,
) -> Result<T, CallError> {
    let (rank, shared) = registry::find(key).ok_or(CallError::Over)?;
    let name = format!(
        "rank {} of {}",
        shared.known().rank(),
        shared.known().name()
    );
    let communicator = SimpleCommunicator(CommunicatorHandle(shared));
    let value = Rc::new(Cell::new(None));
    let given = Rc::clone(&value);
    let body = move || {
        given.set(Some(f(&communicator)));
        Ok(())
    };
    let ended = Fiber::named(rank, &name, body).await;
    ended.map_err(|why| CallError::Thread(why.into()))?;
    value.take().ok_or(CallError::Over)
}
