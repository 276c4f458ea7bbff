//! State of a rank, and the current rank of each thread.

use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_fiber::{Fiber, Options, Stacks};

use crate::attribute::Attributes;
use crate::buffered::Buffers;
use crate::call::{Call, On};
use crate::communicator::Communicators;
use crate::crash;
use crate::datatype::Datatypes;
use crate::errhandler::Errhandlers;
use crate::error::{Class, Done, Fail};
use crate::group::Groups;
use crate::image::{Exceptions, Image};
use crate::info::Infos;
use crate::operation::Operations;
use crate::output::Lines;
use crate::probe::Messages;
use crate::report;
use crate::request::Requests;
use crate::session::Sessions;
use crate::singleton;
use crate::watch;

/// Result of a rank: an error message if it has failed.
pub(crate) type Ended = Result<(), String>;

/// Address space of a stack by default. Only the memory that is used is allocated.
const STACK: usize = 8 << 20;

/// Phase of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Before,
    Initialized,
    Finalized,
}

/// State of a rank. Each group of functions has its own part.
pub(crate) struct Rank {
    /// Rank in `MPI_COMM_WORLD`.
    number: Cell<usize>,
    pub(crate) phase: Cell<Phase>,
    /// The last call, for reports.
    pub(crate) call: Cell<Option<Call>>,
    /// Result of a rank that has left its stack.
    ended: RefCell<Option<Ended>>,
    /// The copy of the program. It stays loaded until the OS process ends.
    pub(crate) image: RefCell<Option<Image>>,
    pub(crate) lines: RefCell<Lines>,
    pub(crate) communicators: Communicators,
    pub(crate) datatypes: Datatypes,
    pub(crate) requests: Requests,
    pub(crate) attributes: Attributes,
    pub(crate) infos: Infos,
    pub(crate) errhandlers: Errhandlers,
    pub(crate) groups: Groups,
    pub(crate) sessions: Sessions,
    pub(crate) operations: Operations,
    pub(crate) messages: Messages,
    pub(crate) buffers: Buffers,
}

impl Rank {
    fn new() -> Self {
        Rank {
            number: Cell::new(usize::MAX),
            phase: Cell::new(Phase::Before),
            call: Cell::new(None),
            ended: RefCell::new(None),
            image: RefCell::new(None),
            lines: RefCell::default(),
            communicators: Communicators::default(),
            datatypes: Datatypes::default(),
            requests: Requests::default(),
            attributes: Attributes::default(),
            infos: Infos::default(),
            errhandlers: Errhandlers::default(),
            groups: Groups::default(),
            sessions: Sessions::default(),
            operations: Operations::default(),
            messages: Messages::default(),
            buffers: Buffers::default(),
        }
    }

    /// Returns the rank in `MPI_COMM_WORLD`.
    pub(crate) fn number(&self) -> usize {
        self.number.get()
    }

    /// Returns the address at which the program is loaded, or 0 if it is not.
    pub(crate) fn base(&self) -> usize {
        self.image.borrow().as_ref().map_or(0, Image::base)
    }

    /// Records that the rank has failed, unless its result is known already.
    pub(crate) fn fail(&self, why: String) {
        self.ended.borrow_mut().get_or_insert(Err(why));
    }

    /// Records that the rank has ended without an error, unless its result is known already.
    pub(crate) fn succeed(&self) {
        self.ended.borrow_mut().get_or_insert(Ok(()));
    }

    /// Calls the error handler for an error of a call. Returns false if the error is fatal.
    pub(crate) fn handle(self: &Rc<Self>, name: &str, on: On, fail: &Fail) -> bool {
        match on {
            On::Of(comm) => self.communicators.handle(comm, fail),
            On::Requests => self.handle(name, self.requests.failing(), fail),
            On::In(session) => match self.sessions.handler(session) {
                Ok(handler) => handler.call(session.0, fail.class as c_int),
                Err(_) => self.communicators.handle_without(fail),
            },
            On::Files => self.errhandlers.handle_file(name, fail),
            On::World | On::Always => self.communicators.handle_without(fail),
        }
    }
}

thread_local! {
    /// Rank whose stack this thread runs on, if any.
    static CURRENT: RefCell<Option<Rc<Rank>>> = const { RefCell::new(None) };
    /// Allocator of the stacks of the ranks of this thread.
    static STACKS: RefCell<Option<Stacks>> = const { RefCell::new(None) };
}

/// Returns the rank whose stack the caller is on, or `None` if the caller is not a rank.
#[inline]
pub(crate) fn current() -> Option<Rc<Rank>> {
    CURRENT.with_borrow(Option::clone)
}

/// Makes the calling thread a rank, which is the only one of its run.
pub(crate) fn adopt() -> Rc<Rank> {
    let rank = Rc::new(Rank::new());
    rank.number.set(0);
    CURRENT.replace(Some(Rc::clone(&rank)));
    rank
}

/// Ends the calling rank, whose result is known. Its stack is freed without unwinding.
pub(crate) fn leave(rank: Rc<Rank>) -> ! {
    if singleton::is_current() {
        singleton::leave(rank.ended.take());
    }
    drop(rank);
    // SAFETY: the callers are functions that the program has called. They have dropped their
    // values, and the frames below belong to the program.
    let error = unsafe { graphmap_fiber::abandon() };
    crate::host::cannot_leave(error)
}

/// Future of a rank. It is ready when the program of the rank has ended.
pub(crate) struct Process {
    rank: Rc<Rank>,
    exceptions: Exceptions,
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
        let rank = Rc::new(Rank::new());
        let stage = Stage::New(Box::new(main));
        Process {
            rank,
            exceptions: Exceptions::default(),
            stage,
        }
    }
}

/// While this guard lives, a rank is the current one of its thread.
struct Entered(Option<Rc<Rank>>);

impl Entered {
    fn new(rank: &Rc<Rank>) -> Self {
        crash::set_running(Some((rank.number(), rank.base())));
        watch::set_running(Some(rank.number()));
        Entered(CURRENT.replace(Some(Rc::clone(rank))))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        crash::set_running(None);
        watch::set_running(None);
        CURRENT.replace(self.0.take());
    }
}

impl Future for Process {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let this = &mut *self;
        if this.rank.number() == usize::MAX {
            this.rank.number.set(graphmap_runtime::me().rank);
        }
        let _entered = Entered::new(&this.rank);
        if let Stage::New(_) = this.stage
            && let Stage::New(main) = std::mem::replace(&mut this.stage, Stage::Ended)
        {
            let rank = Rc::clone(&this.rank);
            match begin(rank, main) {
                Ok(fiber) => this.stage = Stage::Running(Box::pin(fiber)),
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
        let Stage::Running(fiber) = &mut this.stage else {
            return Poll::Pending;
        };
        this.exceptions.exchange();
        let mut outcome = fiber.as_mut().poll(context);
        this.exceptions.exchange();
        if fiber.is_abandoned() {
            this.stage = Stage::Ended;
            let ended = this.rank.ended.take();
            outcome = Poll::Ready(ended.unwrap_or_else(|| Err("the rank was ended".to_string())));
        }
        if outcome.is_ready() {
            this.rank.lines.borrow_mut().flush(this.rank.number());
        }
        outcome
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A rank that waits unwinds to the function that the program called.
        let _entered = Entered::new(&self.rank);
        if let (Stage::Running(_), Some(call)) = (&self.stage, self.rank.call.get()) {
            report::record(self.rank.number(), call, self.rank.base());
        }
        self.stage = Stage::Ended;
    }
}

fn begin(rank: Rc<Rank>, main: Main) -> Result<Fiber<Ended>, String> {
    let options = Options::from_env_or(STACK).map_err(|error| error.to_string())?;
    STACKS.with_borrow_mut(|stacks| {
        let stacks = stacks.get_or_insert_with(|| Stacks::new(options));
        let name = format_args!("rank {}", rank.number()).to_string();
        let fiber = stacks.fiber(name, move || main(&rank));
        fiber.map_err(|error| error.to_string())
    })
}

/// Returns the error for a handle that is null or invalid.
pub(crate) fn invalid<T>(class: Class, what: &str, handle: usize) -> Done<T> {
    Err(Fail::new(
        class,
        format!("{what} {handle:#x} does not exist"),
    ))
}
