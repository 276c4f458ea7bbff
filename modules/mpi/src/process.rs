//! A rank as a process of a run: its function, and what it has begun beside that.

use std::pin::Pin;
use std::task::{Context, Poll};

use crate::fiber::{Ended, Fiber};
use crate::rank::{Part, RankState};

/// A rank as a future, which is over when its function and all that it has begun are. They share the polls of the process, as
/// schedulers know of nothing below that.
pub(crate) struct Process {
    rank: RankState,
    /// Before the function, which has the rank's `Universe`: what it is dropped with finds the rank as it has left it.
    beside: Vec<Part>,
    /// None: it has returned.
    main: Option<Fiber>,
}

impl Process {
    /// A rank that calls this.
    pub(crate) fn new(main: impl FnOnce() -> Ended + 'static) -> Self {
        let rank = RankState::new();
        let main = Some(Fiber::new(rank.clone(), main));
        let beside = Vec::new();
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
        let mut at = 0;
        loop {
            // What has been begun meanwhile has its first turn in this one, as nobody would wake the process for it.
            rank.take_begun(beside);
            let Some(part) = beside.get_mut(at) else {
                break;
            };
            match part.as_mut().poll(context) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(())) => drop(beside.swap_remove(at)),
                Poll::Ready(ended) => return Poll::Ready(ended),
            }
        }
        match main.is_none() && beside.is_empty() {
            true => Poll::Ready(Ok(())),
            false => Poll::Pending,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // What is dropped here, and with the stacks, begins nothing more.
        drop(self.rank.close());
    }
}
