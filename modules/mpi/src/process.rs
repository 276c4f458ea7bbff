//! A rank as a process of a run: its function and its tasks.

use std::pin::Pin;
use std::task::{Context, Poll};

use graphmap_runtime::TaskSet;

use crate::fiber::{Ended, Fiber};
use crate::rank::RankState;

/// Future of a rank. It is ready when the function and all tasks of the rank have ended.
pub(crate) struct Process {
    rank: RankState,
    /// Tasks that the rank has started. Declared before the function, whose stack has the rank's
    /// `Universe`, so that the tasks are dropped first and find the rank initialized.
    tasks: TaskSet<'static, Ended>,
    /// Function of the rank, or `None` if it has returned.
    main: Option<Fiber>,
}

impl Process {
    /// Creates a rank that calls `main` when it is first polled.
    pub(crate) fn new(main: impl FnOnce() -> Ended + 'static) -> Self {
        let rank = RankState::new();
        let main = Some(Fiber::new(rank.clone(), main));
        let tasks = TaskSet::new();
        Process { rank, tasks, main }
    }
}

impl Future for Process {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let Process { rank, tasks, main } = &mut *self;
        let _polled = rank.polled();
        if let Some(fiber) = main
            && let Poll::Ready(ended) = Pin::new(fiber).poll(context)
        {
            *main = None;
            if ended.is_err() {
                return Poll::Ready(ended);
            }
        }
        // Fast path: the rank has no tasks.
        if main.is_some() && tasks.is_empty() && !rank.has_new_tasks() {
            return Poll::Pending;
        }
        loop {
            // New tasks are polled now, because no waker would poll the process for them.
            rank.take_new_tasks(tasks);
            match tasks.poll_join_next(context) {
                Poll::Ready(Some(Ok(()))) => {}
                Poll::Ready(Some(ended)) => return Poll::Ready(ended),
                Poll::Ready(None) | Poll::Pending if rank.has_new_tasks() => {}
                Poll::Ready(None) if main.is_none() => return Poll::Ready(Ok(())),
                Poll::Ready(None) | Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // While its tasks and stacks are dropped, the rank cannot start tasks.
        drop(self.rank.close());
    }
}
