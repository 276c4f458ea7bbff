//! What is kept for each rank: whether it has been initialized, and its communicators of all and of itself; and which rank calls.

use std::cell::{Cell, OnceCell, RefCell};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use graphmap_runtime::{TaskSet, mpi as core};

use crate::attribute::Panicked;
use crate::life::{Life, Phase};
use crate::shared::{Kind, Shared};
use crate::threading::Threading;

/// How many ranks of this OS process are initialized, and how many of them for threads of any number.
static INITIALIZED: AtomicUsize = AtomicUsize::new(0);
static MULTIPLE: AtomicUsize = AtomicUsize::new(0);

/// Who a rank of this OS process is, of all that there have been in its runs. It says whether that has ended.
#[derive(Debug, Clone)]
pub(crate) struct RankId(Arc<AtomicBool>);

impl RankId {
    fn new() -> Self {
        RankId(Arc::default())
    }

    /// Whether that rank calls this.
    pub(crate) fn is_current(&self) -> bool {
        with(|state| Arc::ptr_eq(&state.id.0, &self.0)) == Some(true)
    }

    /// Whether that rank has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a rank does beside its function, until that is over or has failed.
pub(crate) type Part = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Who may begin something beside a rank's function.
#[derive(Clone, Copy)]
enum Beginning {
    /// Nobody just now: the process of the rank is not being polled, so it would not hear of it.
    NotNow,
    /// The rank.
    Now,
    /// Nobody any more.
    Never,
}

/// What a rank has.
#[derive(Clone)]
pub(crate) struct RankState(Rc<State>);

struct State {
    id: RankId,
    phase: Rc<Cell<Phase>>,
    #[cfg(feature = "derive")]
    thread: std::thread::ThreadId,
    world: OnceCell<Rc<Shared>>,
    itself: OnceCell<Rc<Shared>>,
    beginning: Cell<Beginning>,
    /// What was begun and has not had a turn yet.
    begun: RefCell<Vec<Part>>,
}

impl RankState {
    pub(crate) fn new() -> Self {
        RankState(Rc::new(State {
            id: RankId::new(),
            phase: Rc::new(Cell::new(Phase::Before)),
            #[cfg(feature = "derive")]
            thread: std::thread::current().id(),
            world: OnceCell::new(),
            itself: OnceCell::new(),
            beginning: Cell::new(Beginning::NotNow),
            begun: RefCell::default(),
        }))
    }

    /// The process of the rank is being polled.
    pub(crate) fn polled(&self) -> Polled<'_> {
        self.0.beginning.set(Beginning::Now);
        Polled(&self.0)
    }

    /// The rank that calls this, which may begin something beside its function; `None`: something is being dropped, and it may not.
    ///
    /// # Panics
    /// If no rank calls it, or one that is not on a stack of its process.
    #[track_caller]
    pub(crate) fn beginning() -> Option<RankState> {
        let rank = current().expect("the caller is not a rank: only ranks start endpoints");
        match rank.0.beginning.get() {
            Beginning::Now => Some(rank),
            // In a destructor a second panic would end the OS process.
            Beginning::NotNow if std::thread::panicking() => None,
            Beginning::NotNow => panic!(
                "an endpoint must be started on the stack of its rank, not from `ThreadRank::call`"
            ),
            Beginning::Never => None,
        }
    }

    /// Begins something beside its function.
    pub(crate) fn begin(&self, part: Part) {
        self.0.begun.borrow_mut().push(part);
    }

    /// Puts what was begun since this was last asked among the others.
    pub(crate) fn take_begun(&self, all: &mut TaskSet<'static, Result<(), String>>) {
        for part in self.0.begun.borrow_mut().drain(..) {
            all.push(part);
        }
    }

    /// Whether anything was begun since.
    pub(crate) fn has_begun(&self) -> bool {
        !self.0.begun.borrow().is_empty()
    }

    /// Nothing more is begun: what was, and has not had a turn.
    pub(crate) fn close(&self) -> Vec<Part> {
        self.0.beginning.set(Beginning::Never);
        self.0.begun.take()
    }
}

/// While it lives, the process of a rank is being polled.
pub(crate) struct Polled<'a>(&'a State);

impl Drop for Polled<'_> {
    fn drop(&mut self) {
        self.0.beginning.set(Beginning::NotNow);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.id.0.store(true, Ordering::Relaxed);
        finalize(self);
    }
}

/// What is told where a rank is asked for.
pub(crate) const NO_RANK: &str = "the caller is not a rank: `mpi::run` calls ranks on their own \
                                  stacks, not on other threads";

thread_local! {
    /// The rank whose stack this thread is on, if any. Whoever puts one there takes it away again, so there is nothing to be dropped with the
    /// thread, which all who look would have to ask for.
    static CURRENT: RefCell<ManuallyDrop<Option<RankState>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// While it lives, a rank is the current one of its thread.
pub(crate) struct Entered(Option<RankState>);

impl Entered {
    pub(crate) fn new(rank: &RankState) -> Self {
        let before = CURRENT.replace(ManuallyDrop::new(Some(rank.clone())));
        Entered(ManuallyDrop::into_inner(before))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let left = CURRENT.replace(ManuallyDrop::new(self.0.take()));
        drop(ManuallyDrop::into_inner(left));
    }
}

/// The rank whose stack this is called on, if any.
fn current() -> Option<RankState> {
    CURRENT.with_borrow(|current| Option::clone(current))
}

fn with<R>(f: impl FnOnce(&Rc<State>) -> R) -> Option<R> {
    current().map(|rank| f(&rank.0))
}

/// Who the rank is that calls this.
///
/// # Panics
/// If none does.
#[track_caller]
pub(crate) fn id() -> RankId {
    with(|state| state.id.clone()).expect("the caller is not a rank")
}

/// Where the rank that calls this is in its life; `None`: no rank does.
pub(crate) fn phase() -> Option<Phase> {
    with(|state| state.phase.get())
}

/// Initializes the rank that calls this, if it is not yet.
pub(crate) fn initialize(threading: Threading) -> Option<RankId> {
    let fresh = with(|state| {
        let fresh = state.phase.get() == Phase::Before;
        if fresh {
            state.phase.set(Phase::Initialized(threading));
            INITIALIZED.fetch_add(1, Ordering::Relaxed);
            if threading == Threading::Multiple {
                MULTIPLE.fetch_add(1, Ordering::Relaxed);
            }
        }
        fresh.then(|| state.id.clone())
    });
    fresh.expect(
        "the caller is not a rank: start ranks with `mpi::run(n, main)`; they run on their own \
         stacks, not on other threads",
    )
}

/// Ends the communication of the rank that calls this.
pub(crate) fn finalize_current() {
    let state = with(Rc::clone);
    if let Some(state) = state {
        finalize(&state);
    }
}

fn finalize(state: &State) {
    let Phase::Initialized(threading) = state.phase.get() else {
        return;
    };
    let mut panicked = Panicked::NO;
    for shared in [state.itself.get(), state.world.get()]
        .into_iter()
        .flatten()
    {
        // Whoever still has a handle may have borrowed attributes: they go with the last one.
        if Rc::strong_count(shared) == 1 {
            panicked = panicked.or(shared.attributes.clear(shared.handle()));
        }
    }
    state.phase.set(Phase::Finalized(threading));
    INITIALIZED.fetch_sub(1, Ordering::Relaxed);
    if threading == Threading::Multiple {
        MULTIPLE.fetch_sub(1, Ordering::Relaxed);
    }
    panicked.go_on();
}

/// Whether ranks of this OS process are initialized, and whether one is for any number of threads.
#[cfg(feature = "derive")]
pub(crate) fn elsewhere() -> (bool, bool) {
    let any = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
    (any(&INITIALIZED), any(&MULTIPLE))
}

/// Whether a thread is that of the rank.
#[cfg(feature = "derive")]
pub(crate) fn is_own_thread() -> bool {
    with(|state| state.thread == std::thread::current().id()).unwrap_or(false)
}

/// The communicator of all ranks, or of the one that calls this.
///
/// # Panics
/// If no rank calls it, or it is not initialized.
#[track_caller]
pub(crate) fn communicator(kind: Kind) -> Rc<Shared> {
    let state = with(Rc::clone).expect("the caller is not a rank: only ranks have a world");
    match state.phase.get() {
        Phase::Before => panic!("the rank is not initialized: call `mpi::initialize` first"),
        Phase::Finalized(_) => panic!("the rank is finalized: its `Universe` was dropped"),
        Phase::Initialized(_) => {}
    }
    let world = || core::world().unwrap_or_else(|error| panic!("{error}"));
    let life = Life::new(&state.phase);
    let (cell, name) = match kind {
        Kind::Itself => (&state.itself, "MPI_COMM_SELF"),
        _ => (&state.world, "MPI_COMM_WORLD"),
    };
    let shared = cell.get_or_init(|| {
        let communicator = match kind {
            Kind::Itself => world().alone().unwrap_or_else(|error| panic!("{error}")),
            _ => world(),
        };
        Rc::new(Shared::new(communicator, name.to_string(), life))
    });
    Rc::clone(shared)
}
