//! A rank's stack.

use std::cell::OnceCell;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use graphmap_fiber::{Options, Stacks, WaitError};

use crate::rank::{Entered, NO_RANK, RankState};

/// Of how many bytes a stack is where nothing else is said: as many as plain functions may expect, and only address space.
const SIZE: usize = 1 << 20;

thread_local! {
    /// The stacks of the ranks of this thread.
    static STACKS: OnceCell<Stacks> = const { OnceCell::new() };
}

/// What a rank has ended with.
pub(crate) type Ended = Result<(), String>;

/// A fiber of this thread, called so, or by the rank that asks.
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

/// A function that a rank calls on a stack of its own, as a future.
pub(crate) struct Fiber {
    stage: Stage,
    rank: RankState,
    /// By what its stack is told if it overflows; none: by the number of the rank.
    name: Option<Box<str>>,
}

enum Stage {
    /// What it is to call.
    New(Box<dyn FnOnce() -> Ended>),
    Begun(Pin<Box<graphmap_fiber::Fiber<Ended>>>),
    Over,
}

impl Fiber {
    pub(crate) fn new(rank: RankState, main: impl FnOnce() -> Ended + 'static) -> Self {
        let stage = Stage::New(Box::new(main));
        let name = None;
        Fiber { stage, rank, name }
    }

    /// As `new`, with a name of its own.
    pub(crate) fn named(
        rank: RankState,
        name: &str,
        main: impl FnOnce() -> Ended + 'static,
    ) -> Self {
        let mut fiber = Fiber::new(rank, main);
        fiber.name = Some(name.into());
        fiber
    }

    /// Gives what it is to call a stack.
    #[inline(never)]
    fn begin(&mut self) -> Result<(), String> {
        if let Stage::New(main) = std::mem::replace(&mut self.stage, Stage::Over) {
            let fiber = fiber(self.name.as_deref(), main)?;
            self.stage = Stage::Begun(Box::pin(fiber));
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
            Stage::Begun(fiber) => fiber.as_mut().poll(context),
            _ => Poll::Pending,
        }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        // What is on the stack is dropped by its rank.
        let _entered = Entered::new(&self.rank);
        self.stage = Stage::Over;
    }
}

/// Waits for a future. While a stack is unwound, it is not given up: other ranks of the thread would be taken for panicking, too.
///
/// # Panics
/// Outside of a rank; and if it would have to wait while the stack is unwound.
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

/// Polls a future once, as the rank that this is called by.
#[track_caller]
pub(crate) fn poll_once<F: Future>(mut future: Pin<&mut F>) -> Poll<F::Output> {
    wait(poll_fn(|context| {
        Poll::Ready(future.as_mut().poll(context))
    }))
}
