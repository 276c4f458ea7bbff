//! A rank as a process of the run: its stack, and the state of its thread.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_fiber::{Fiber, Options, Stacks};

use crate::image::{Exceptions, Floating};
use crate::output::Lines;
use crate::rank::{self, Ended, Part as _, Rank};
use crate::{crash, report};

/// Address space of a stack by default. Only the memory that is used is allocated.
const STACK: usize = 8 << 20;

/// Address space below a stack in which an access is reported as its overflow, also one of a frame
/// that is much larger than a page. It shares the page table of the lowest page.
const GUARD: usize = 2 << 20;

thread_local! {
    /// Allocator of the stacks of the ranks of this thread.
    static STACKS: RefCell<Option<Stacks>> = const { RefCell::new(None) };
}

/// Future of a rank. It is ready when the program of the rank has ended.
pub(crate) struct Process {
    /// `None` before the first poll.
    rank: Option<Rc<Rank>>,
    exceptions: Exceptions,
    /// Control registers while the rank is suspended, if it has changed them.
    floating: Option<Floating>,
    stage: Stage,
}

type Main = Box<dyn FnOnce(&Rc<Rank>) -> Ended>;

enum Stage {
    New(Main),
    Running(Pin<Box<Fiber<Ended>>>),
    Ended,
}

impl Process {
    /// Creates a rank that calls `main` on its own stack when it is first polled.
    pub(crate) fn new(main: impl FnOnce(&Rc<Rank>) -> Ended + 'static) -> Self {
        Process {
            rank: None,
            exceptions: Exceptions::default(),
            floating: None,
            stage: Stage::New(Box::new(main)),
        }
    }
}

/// While this guard lives, a rank is the current one of its thread.
struct Entered(Option<Rc<Rank>>);

impl Entered {
    fn new(rank: &Rc<Rank>) -> Self {
        crash::set_running(Some((rank.number(), rank.base.get())));
        Entered(rank::set_current(Some(Rc::clone(rank))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        crash::set_running(None);
        rank::set_current(self.0.take());
    }
}

impl Future for Process {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let this = &mut *self;
        let rank = this
            .rank
            .get_or_insert_with(|| Rc::new(Rank::new(graphmap_runtime::me().rank)));
        let _entered = Entered::new(rank);
        if let Stage::New(_) = this.stage
            && let Stage::New(main) = std::mem::replace(&mut this.stage, Stage::Ended)
        {
            match begin(Rc::clone(rank), main) {
                Ok(fiber) => this.stage = Stage::Running(Box::pin(fiber)),
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
        let Stage::Running(fiber) = &mut this.stage else {
            return Poll::Pending;
        };
        this.exceptions.exchange();
        if let Some(floating) = this.floating {
            floating.write();
        }
        let mut outcome = fiber.as_mut().poll(context);
        if rank.has_floating.get() {
            this.floating = Some(Floating::read());
            Floating::INITIAL.write();
        }
        this.exceptions.exchange();
        if fiber.is_abandoned() {
            this.stage = Stage::Ended;
            let ended = rank.take_result();
            outcome = Poll::Ready(ended.unwrap_or_else(|| Err("the rank was ended".to_string())));
        }
        if outcome.is_ready() {
            Lines::of(rank).flush(rank.number());
        }
        outcome
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let Some(rank) = &self.rank else {
            return;
        };
        // A rank that waits unwinds to the function that the program called.
        let _entered = Entered::new(rank);
        if let (Stage::Running(_), Some(call)) = (&self.stage, rank.call.get()) {
            report::record(rank.number(), call, rank.base.get());
        }
        Lines::of(rank).flush(rank.number());
        self.stage = Stage::Ended;
    }
}

fn begin(rank: Rc<Rank>, main: Main) -> Result<Fiber<Ended>, String> {
    let options = Options::from_env_or(STACK).map_err(|error| error.to_string())?;
    let options = options.guard(GUARD);
    STACKS.with_borrow_mut(|stacks| {
        let stacks = stacks.get_or_insert_with(|| Stacks::new(options));
        let name = format_args!("rank {}", rank.number()).to_string();
        let fiber = stacks.fiber(name, move || main(&rank));
        fiber.map_err(|error| error.to_string())
    })
}
