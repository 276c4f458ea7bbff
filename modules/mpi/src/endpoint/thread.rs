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

/// A rank, as the thread has it that is this rank.
///
/// All of its calls are made by the rank's own thread, on stacks there, between the turns of ranks, so nothing is shared and nothing locked. While the
/// thread does not call, it still may, so nothing that waits for it is a deadlock.
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

    /// Which rank it is.
    pub fn rank(&self) -> Rank {
        Rank::try_from(self.thread.rank()).unwrap_or(Rank::MAX)
    }

    /// How many ranks there are.
    pub fn size(&self) -> Rank {
        Rank::try_from(self.thread.size()).unwrap_or(Rank::MAX)
    }

    /// Calls `f` with the communicator on the thread of the rank, on a stack of its own, and waits until it has returned: what it returns. Whatever
    /// of this crate waits goes in there, one call or many; what computes for long does not, as all ranks of that thread wait then. Attributes stay
    /// with the communicator from one call to the next.
    ///
    /// # Panics
    /// With what `f` panics with. If the run is over, or ends meanwhile; if it is a rank's stack that calls this, and not the thread.
    #[track_caller]
    pub fn call<T: Send + 'static>(
        &self,
        f: impl FnOnce(&SimpleCommunicator) -> T + Send + 'static,
    ) -> T {
        let key = self.key;
        match self.thread.call(move |_| called(key, f)) {
            // Not told as a panic: whatever has ended the run is.
            Err(CallError::Over) => resume_unwind(Box::new(CallError::Over.to_string())),
            called => done(called),
        }
    }
}

/// A call, on the thread of the rank.
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
