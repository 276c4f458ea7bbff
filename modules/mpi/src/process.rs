//! A rank as a process of a run: its function, and what it has begun beside that.

use std::pin::Pin;
use std::task::{Context, Poll};

use graphmap_runtime::TaskSet;

use crate::fiber::{Ended, Fiber};
use crate::rank::RankState;

/// A rank as a future, which is over when its function and all that it has begun are.
pub(crate) struct Process {
    rank: RankState,
    /// Before the function, which has the rank's `Universe`: what it is dropped with finds the rank as it has left it.
    beside: TaskSet<'static, Ended>,
    /// None: it has returned.
    main: Option<Fiber>,
}

impl Process {
    /// A rank that calls this.
    pub(crate) fn new(main: impl FnOnce() -> Ended + 'static) -> Self {
        let rank = RankState::new();
        let main = Some(Fiber::new(rank.clone(), main));
        let beside = TaskSet::new();
        Process { rank, beside, main }
    }
}

impl Future for Process {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let Process { rank, beside, main } = &mut *self;
        let _polled = rank.polled();
        if let Some(fiber) = main
            && let Poll::Ready(ended) = Pin::new(fiber).poll(context)
        {
            *main = None;
            if ended.is_err() {
                return Poll::Ready(ended);
            }
        }
        // Nearly always.
        if main.is_some() && beside.is_empty() && !rank.has_begun() {
            return Poll::Pending;
        }
        loop {
            // What has been begun meanwhile has its first turn in this one, as nobody would wake the process for it.
            rank.take_begun(beside);
            match beside.poll_join_next(context) {
                Poll::Ready(Some(Ok(()))) => {}
                Poll::Ready(Some(ended)) => return Poll::Ready(ended),
                Poll::Ready(None) | Poll::Pending if rank.has_begun() => {}
                Poll::Ready(None) if main.is_none() => return Poll::Ready(Ok(())),
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // What is dropped here, and with the stacks, begins nothing more.
        drop(self.rank.close());
    }
}
