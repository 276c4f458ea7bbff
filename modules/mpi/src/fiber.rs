//! Stacks of ranks.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use graphmap_fiber::{Options, Stacks, WaitError};

use crate::rank::{Entered, NO_RANK, RankState};

/// Default size of a stack in bytes. It is as large as plain functions may expect, because it
/// reserves only address space.
const SIZE: usize = 1 << 20;

thread_local! {
    /// Allocator of the stacks of the ranks of this thread.
    static STACKS: OnceCell<Stacks> = const { OnceCell::new() };
}

/// Result of a rank: an error message if it has failed.
pub(crate) type Ended = Result<(), String>;

/// Creates a fiber of this thread, with the given name or the number of the calling rank.
///
/// # Errors
/// A description, if `GRAPHMAP_STACK` is invalid or no stack can be allocated.
fn fiber(
    name: Option<&str>,
    body: impl FnOnce() -> Ended + 'static,
) -> Result<graphmap_fiber::Fiber<Ended>, String> {
    let options = Options::from_env_or(SIZE).map_err(|error| error.to_string())?;
    STACKS.with(|stacks| {
        let stacks = stacks.get_or_init(|| Stacks::new(options));
        let fiber = match name {
            Some(name) => stacks.fiber(name, body),
            None => stacks.fiber(format_args!("rank {}", graphmap_runtime::me().rank), body),
        };
        fiber.map_err(|error| error.to_string())
    })
}

/// A function that a rank calls on its own stack, as a future.
pub(crate) struct Fiber {
    stage: Stage,
    rank: RankState,
    /// Name in the report of a stack overflow. `None` means the number of the rank.
    name: Option<Box<str>>,
}

enum Stage {
    /// The function that will be called.
    New(Box<dyn FnOnce() -> Ended>),
    Running(Pin<Box<graphmap_fiber::Fiber<Ended>>>),
    Ended,
}

impl Fiber {
    pub(crate) fn new(rank: RankState, main: impl FnOnce() -> Ended + 'static) -> Self {
        let stage = Stage::New(Box::new(main));
        let name = None;
        Fiber { stage, rank, name }
    }

    /// Creates a fiber as [`new`](Self::new) does, with a name for reports.
    pub(crate) fn named(
        rank: RankState,
        name: &str,
        main: impl FnOnce() -> Ended + 'static,
    ) -> Self {
        let mut fiber = Fiber::new(rank, main);
        fiber.name = Some(name.into());
        fiber
    }

    /// Allocates a stack for the function. It must not have one yet: otherwise the fiber is dropped
    /// and ends.
    ///
    /// # Errors
    /// As for [`fiber`]. The function is then dropped without a call.
    #[inline(never)]
    fn begin(&mut self) -> Result<(), String> {
        if let Stage::New(main) = std::mem::replace(&mut self.stage, Stage::Ended) {
            let fiber = fiber(self.name.as_deref(), main)?;
            self.stage = Stage::Running(Box::pin(fiber));
        }
        Ok(())
    }
}

impl Future for Fiber {
    type Output = Ended;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let this = &mut *self;
        let _entered = Entered::new(&this.rank);
        if let Stage::New(_) = this.stage
            && let Err(why) = this.begin()
        {
            return Poll::Ready(Err(why));
        }
        match &mut this.stage {
            Stage::Running(fiber) => fiber.as_mut().poll(context),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // The destructors of values on the stack run as the rank.
        let _entered = Entered::new(&self.rank);
        self.stage = Stage::Ended;
    }
}

/// Blocks the calling rank until a future is ready, while other ranks of the thread run.
///
/// Does not suspend a stack that is unwinding, because `std::thread::panicking` would then be true
/// for the other ranks of the thread.
///
/// # Panics
/// If the caller is not a rank, may not suspend here (see [`WaitError`]), or would have to wait
/// while its stack is unwinding.
#[track_caller]
pub(crate) fn wait<F: Future>(future: F) -> F::Output {
    match graphmap_fiber::try_wait(future) {
        Ok(output) => output,
        Err(error) => cannot(error),
    }
}

#[cold]
#[track_caller]
fn cannot(error: WaitError) -> ! {
    match error {
        WaitError::NoFiber => panic!("{NO_RANK}"),
        error => panic!("{error}"),
    }
}

/// Polls a future once, with the waker of the calling rank, and returns the result. Does not block.
///
/// # Panics
/// If the caller is not a rank, or may not suspend here (see [`WaitError`]).
#[track_caller]
pub(crate) fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    wait(poll_fn(|context| {
        Poll::Ready(future.as_mut().poll(context))
    }))
}
