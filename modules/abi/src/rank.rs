//! State of a rank, and the current rank of each thread.

use std::any::{Any, TypeId};
use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use crate::error::{Class, Done, Fail};

/// Result of a rank: an error message if it has failed.
pub(crate) type Ended = Result<(), String>;

/// Phase of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Phase {
    #[default]
    Before,
    Initialized,
    Finalized,
}

/// Call that a rank makes: the name of the function, and the address in the program to which it
/// returns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) address: usize,
}

/// Part of the state of a rank, for a group of functions.
pub(crate) trait Part: Default + 'static {
    /// Index of the part.
    const SLOT: Slot;

    /// Returns the part of a rank.
    #[inline]
    fn of(rank: &Rank) -> &Self {
        let id = TypeId::of::<Self>();
        let slot = &rank.parts[Self::SLOT as usize];
        let (of, part) = slot.get_or_init(|| (id, Box::new(Self::default())));
        assert!(*of == id, "each slot belongs to one type");
        // SAFETY: the id is that of the type of the part. `downcast_ref` would call a function for
        // it, which calls of MPI have no time for.
        unsafe { &*(&raw const **part).cast() }
    }
}

/// Indices of the parts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Slot {
    Communicators,
    Datatypes,
    Requests,
    Attributes,
    Infos,
    Errhandlers,
    Groups,
    Sessions,
    Operations,
    Messages,
    Buffers,
    Lines,
    OwnImage,
    Variables,
    Iostreams,
    Library,
    Scanner,
    Calendar,
}

/// Number of parts.
const SLOTS: usize = Slot::Calendar as usize + 1;

/// Number of a thread that is not a rank.
const THREAD: usize = usize::MAX;

/// State of a rank.
#[derive(Default)]
pub(crate) struct Rank {
    /// Rank in `MPI_COMM_WORLD`.
    number: usize,
    pub(crate) phase: Cell<Phase>,
    /// The last call, for reports.
    pub(crate) call: Cell<Option<Call>>,
    /// Address at which the program is loaded, or 0 if it is not.
    pub(crate) base: Cell<usize>,
    /// Whether the rank has changed the control registers of floating-point numbers.
    pub(crate) has_floating: Cell<bool>,
    /// Result of a rank that has left its stack.
    ended: RefCell<Option<Ended>>,
    /// The parts, with the ids of their types.
    parts: [OnceCell<(TypeId, Box<dyn Any>)>; SLOTS],
}

impl Rank {
    /// Creates the state of a rank in `MPI_COMM_WORLD`.
    pub(crate) fn new(number: usize) -> Self {
        Rank {
            number,
            ..Rank::default()
        }
    }

    /// Returns true if this is the state of a thread that is not a rank.
    pub(crate) fn is_thread(&self) -> bool {
        self.number == THREAD
    }

    /// Returns the rank in `MPI_COMM_WORLD`.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Records that the rank has failed, unless its result is known already.
    pub(crate) fn fail(&self, why: String) {
        self.ended.borrow_mut().get_or_insert(Err(why));
    }

    /// Records that the rank has ended without an error, unless its result is known already.
    pub(crate) fn succeed(&self) {
        self.ended.borrow_mut().get_or_insert(Ok(()));
    }

    /// Takes the result of a rank that has left its stack.
    pub(crate) fn take_result(&self) -> Option<Ended> {
        self.ended.take()
    }
}

thread_local! {
    /// Rank whose stack this thread runs on, if any.
    static CURRENT: RefCell<Option<Rc<Rank>>> = const { RefCell::new(None) };
    /// State of this thread, if it is not a rank.
    static OF_THREAD: Rc<Rank> = Rc::new(of_thread());
}

/// Returns the state of a thread that a rank has started, which counts as initialized.
fn of_thread() -> Rank {
    let rank = Rank::new(THREAD);
    rank.phase.set(Phase::Initialized);
    rank
}

/// Returns the rank whose stack the caller is on, or `None` if the caller is not a rank.
#[inline]
pub(crate) fn current() -> Option<Rc<Rank>> {
    // Destructors of the program may run last.
    let current = CURRENT.try_with(|current| current.borrow().clone());
    current.unwrap_or_default()
}

/// Returns the rank whose stack the caller is on, or else the state of the calling thread.
pub(crate) fn current_or_thread() -> Rc<Rank> {
    let thread = || OF_THREAD.try_with(Rc::clone);
    current().unwrap_or_else(|| thread().unwrap_or_else(|_| Rc::new(of_thread())))
}

/// Makes a rank, or none, the current one of this thread. Returns the previous one.
pub(crate) fn set_current(rank: Option<Rc<Rank>>) -> Option<Rc<Rank>> {
    CURRENT.replace(rank)
}

/// Returns the error for a handle that is null or invalid.
pub(crate) fn invalid<T>(class: Class, what: &str, handle: usize) -> Done<T> {
    Err(Fail::new(
        class,
        format!("{what} {handle:#x} does not exist"),
    ))
}
