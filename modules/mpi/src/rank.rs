//! State of each rank: its phase, and its communicators of all ranks and of itself. Also the
//! current rank of each thread.

use std::cell::{Cell, OnceCell, RefCell};
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use graphmap_runtime::{TaskSet, mpi as core};

use crate::attribute::PanicPayload;
use crate::phase::{Phase, PhaseHandle};
use crate::shared::{Kind, Shared};
use crate::threading::Threading;

/// Number of ranks of this OS process that are initialized. `MULTIPLE` counts those initialized
/// with [`Threading::Multiple`].
static INITIALIZED: AtomicUsize = AtomicUsize::new(0);
static MULTIPLE: AtomicUsize = AtomicUsize::new(0);

/// Identity of a rank, unique among all runs of this OS process. The flag is set when the rank has
/// ended.
#[derive(Debug, Clone)]
pub(crate) struct RankId(Arc<AtomicBool>);

impl RankId {
    fn new() -> Self {
        RankId(Arc::default())
    }

    /// Returns true if the caller is on the stack of this rank.
    pub(crate) fn is_current(&self) -> bool {
        with(|state| Arc::ptr_eq(&state.id.0, &self.0)) == Some(true)
    }

    /// Returns true if this rank has ended, which is when its state was dropped.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A task of a rank. It runs beside the rank's function until it ends or fails.
pub(crate) type Task = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// Whether a rank may start tasks.
#[derive(Clone, Copy)]
enum TaskStart {
    /// It may not now: its process is not being polled, and would not notice a new task.
    NotNow,
    /// It may.
    Now,
    /// It may not any more: its process is being dropped.
    Never,
}

/// Shared state of a rank.
#[derive(Clone)]
pub(crate) struct RankState(Rc<State>);

struct State {
    id: RankId,
    phase: Rc<Cell<Phase>>,
    #[cfg(feature = "derive")]
    thread: std::thread::ThreadId,
    world: OnceCell<Rc<Shared>>,
    self_comm: OnceCell<Rc<Shared>>,
    task_start: Cell<TaskStart>,
    /// Tasks that were started and have not been polled yet.
    new_tasks: RefCell<Vec<Task>>,
}

impl RankState {
    pub(crate) fn new() -> Self {
        RankState(Rc::new(State {
            id: RankId::new(),
            phase: Rc::new(Cell::new(Phase::Before)),
            #[cfg(feature = "derive")]
            thread: std::thread::current().id(),
            world: OnceCell::new(),
            self_comm: OnceCell::new(),
            task_start: Cell::new(TaskStart::NotNow),
            new_tasks: RefCell::default(),
        }))
    }

    /// Marks the process of the rank as being polled until the guard is dropped.
    pub(crate) fn polled(&self) -> Polled<'_> {
        self.0.task_start.set(TaskStart::Now);
        Polled(&self.0)
    }

    /// Returns the calling rank, which may start a task. Returns `None` if it may not, because its
    /// process is being dropped, or because the stack unwinds while its process is not polled.
    ///
    /// # Panics
    /// If the caller is not a rank, or if the process of the rank is not being polled.
    #[track_caller]
    pub(crate) fn current_for_task() -> Option<RankState> {
        let rank = current().expect("the caller is not a rank: only ranks start endpoints");
        match rank.0.task_start.get() {
            TaskStart::Now => Some(rank),
            // A second panic, in a destructor, would end the OS process.
            TaskStart::NotNow if std::thread::panicking() => None,
            TaskStart::NotNow => panic!(
                "an endpoint must be started on the stack of its rank, not from `ThreadRank::call`"
            ),
            TaskStart::Never => None,
        }
    }

    /// Starts a task, without polling it. The process of the rank, which must be being polled,
    /// polls the task before its own poll returns.
    pub(crate) fn start_task(&self, task: Task) {
        self.0.new_tasks.borrow_mut().push(task);
    }

    /// Moves the tasks that were started since the last call into `all`.
    pub(crate) fn take_new_tasks(&self, all: &mut TaskSet<'static, Result<(), String>>) {
        for task in self.0.new_tasks.borrow_mut().drain(..) {
            all.push(task);
        }
    }

    /// Returns true if tasks were started after the last [`take_new_tasks`](Self::take_new_tasks).
    pub(crate) fn has_new_tasks(&self) -> bool {
        !self.0.new_tasks.borrow().is_empty()
    }

    /// Prevents the rank from starting tasks from now on. Removes and returns the tasks that have
    /// not been polled.
    pub(crate) fn close(&self) -> Vec<Task> {
        self.0.task_start.set(TaskStart::Never);
        self.0.new_tasks.take()
    }
}

/// While this guard lives, the process of a rank is being polled.
pub(crate) struct Polled<'a>(&'a State);

impl Drop for Polled<'_> {
    fn drop(&mut self) {
        self.0.task_start.set(TaskStart::NotNow);
    }
}

impl Drop for State {
    fn drop(&mut self) {
        self.id.0.store(true, Ordering::Relaxed);
        finalize(self);
    }
}

/// Message of the panic of a caller that is not a rank.
pub(crate) const NO_RANK: &str = "the caller is not a rank: `mpi::run` calls ranks on their own \
                                  stacks, not on other threads";

thread_local! {
    /// Rank whose stack this thread runs on, if any. Each guard that sets it also restores it, so
    /// no value is left when the thread ends. `ManuallyDrop` avoids a destructor, because each
    /// access would have to check whether it has run.
    static CURRENT: RefCell<ManuallyDrop<Option<RankState>>> =
        const { RefCell::new(ManuallyDrop::new(None)) };
}

/// While this guard lives, a rank is the current one of its thread.
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

/// Returns the rank whose stack the caller is on, or `None` if the caller is not a rank.
fn current() -> Option<RankState> {
    CURRENT.with_borrow(|current| Option::clone(current))
}

fn with<R>(f: impl FnOnce(&Rc<State>) -> R) -> Option<R> {
    current().map(|rank| f(&rank.0))
}

/// Returns the identity of the calling rank.
///
/// # Panics
/// If the caller is not a rank.
#[track_caller]
pub(crate) fn id() -> RankId {
    with(|state| state.id.clone()).expect("the caller is not a rank")
}

/// Returns the phase of the calling rank, or `None` if the caller is not a rank.
pub(crate) fn phase() -> Option<Phase> {
    with(|state| state.phase.get())
}

/// Initializes the calling rank. Returns its identity, or `None` if it was initialized before.
///
/// # Panics
/// If the caller is not a rank.
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

/// Finalizes the calling rank. Does nothing if the caller is not a rank, or a rank that is not
/// initialized.
///
/// # Panics
/// With the first panic of the destructor of an attribute, unless the stack is unwinding.
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
    let mut panicked = PanicPayload::NO;
    for shared in [state.self_comm.get(), state.world.get()]
        .into_iter()
        .flatten()
    {
        // The owner of another handle may have borrowed attributes. The last handle drops them.
        if Rc::strong_count(shared) == 1 {
            panicked = panicked.or(shared.attributes.clear(shared.handle()));
        }
    }
    state.phase.set(Phase::Finalized(threading));
    INITIALIZED.fetch_sub(1, Ordering::Relaxed);
    if threading == Threading::Multiple {
        MULTIPLE.fetch_sub(1, Ordering::Relaxed);
    }
    panicked.resume();
}

/// Returns two values: true if ranks of this OS process are initialized, and true if one of them is
/// initialized with [`Threading::Multiple`].
#[cfg(feature = "derive")]
pub(crate) fn initialized_ranks() -> (bool, bool) {
    let any = |count: &AtomicUsize| count.load(Ordering::Relaxed) > 0;
    (any(&INITIALIZED), any(&MULTIPLE))
}

/// Returns true if the caller is on the thread of its rank. Returns false if the caller is not a
/// rank.
#[cfg(feature = "derive")]
pub(crate) fn is_own_thread() -> bool {
    with(|state| state.thread == std::thread::current().id()).unwrap_or(false)
}

/// Returns the communicator of all ranks, or of the calling rank alone. All calls of a rank return
/// the same communicator.
///
/// # Panics
/// If the caller is not a rank, or the rank is not initialized, or was finalized. On the first call
/// with this `kind`, also if the run has ended, or if no communicator number is left for the rank
/// alone.
#[track_caller]
pub(crate) fn communicator(kind: Kind) -> Rc<Shared> {
    let state = with(Rc::clone).expect("the caller is not a rank: only ranks have a world");
    match state.phase.get() {
        Phase::Before => panic!("the rank is not initialized: call `mpi::initialize` first"),
        Phase::Finalized(_) => panic!("the rank is finalized: its `Universe` was dropped"),
        Phase::Initialized(_) => {}
    }
    let world = || core::world().unwrap_or_else(|error| panic!("{error}"));
    let phase = PhaseHandle::new(&state.phase);
    let (cell, name) = match kind {
        Kind::SelfComm => (&state.self_comm, "MPI_COMM_SELF"),
        _ => (&state.world, "MPI_COMM_WORLD"),
    };
    let shared = cell.get_or_init(|| {
        let communicator = match kind {
            Kind::SelfComm => world().alone().unwrap_or_else(|error| panic!("{error}")),
            _ => world(),
        };
        Rc::new(Shared::new(communicator, name.to_string(), phase))
    });
    Rc::clone(shared)
}
