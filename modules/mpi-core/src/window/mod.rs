//! One-sided communication: windows onto the memory of other ranks (the MPI standard, version 4.1, chapter 12).
//!
//! The memory that a rank exposes is its scheduler's: what other ranks do to it is done there, by the thread that runs
//! that rank, between turns of processes, one after the other. So accesses are atomic, element by element and call by
//! call, no rank takes part in what others do to its memory, and nothing of it is shared between threads. What goes to
//! another scheduler is one frame, and arrives in the order in which it was sent; so to know that all has been done that was asked
//! for before, one answer is enough.

mod access;
mod calls;
mod dynamic;
mod epoch;
mod lock;
mod memory;
mod number;
mod operation;
mod regions;
mod shared_memory;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Needs};
use super::collective::shared;
use super::communicator::Communicator;
use super::entry::NONE;
use super::error::Error;
use super::round::begin;
use super::value::Value;
use memory::WindowMemory;
use operation::{Operation, What};

pub use access::Accessing;
pub use epoch::{Locked, LockedAll, Locking};
pub(super) use lock::Asker;
pub(super) use memory::Exposed;
pub use number::{Number, Op};
pub(super) use operation::{NAMES, RECEIVERS};
pub use shared_memory::SharedWindow;

/// Memory of all ranks of a communicator, to which each has access.
///
/// Accesses begin when they are called, and what they return is a [`Request`](super::Request): of one that fetches,
/// the elements; of others, that the memory they came from may be used again, not that they have been done. They have
/// been when the origin has called [`flush`](Self::flush), [`fence`](Self::fence) or [`Locked::unlock`]. A lock keeps those out
/// that ask for it, and no others.
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let window = world.window(vec![0u64; 2]).await?;
///     // All count themselves at rank 0, and each tells the next who is before it.
///     let before = window.fetch_and_op(1, 0, 0, mpi::Op::Sum).await?;
///     assert!(before < world.size() as u64);
///     let next = (world.rank() + 1) % world.size();
///     window.put([world.rank() as u64], next, 1).await?;
///     window.fence().await?;
///     let mine = window.free().await?;
///     assert_eq!(mine[1] as usize, (world.rank() + world.size() - 1) % world.size());
///     assert_eq!(mine[0], if world.rank() == 0 { world.size() as u64 } else { 0 });
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..5).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
pub struct Window<T: Value + Copy> {
    /// Of its own: nobody else sends there.
    ranks: Communicator,
    /// How many elements each rank exposes.
    lengths: Rc<[u64]>,
    memory: Rc<WindowMemory<T>>,
    /// How many bytes went to ranks of other schedulers of which it is not known that they have arrived.
    under_way: RefCell<BTreeMap<u32, usize>>,
    /// Whose memory this rank has locked, or wants to.
    locked: RefCell<BTreeSet<u32>>,
    /// The ranks to which this one has opened its memory (`post`).
    posted: RefCell<Vec<u32>>,
    /// The ranks whose memory this one has access to (`start`).
    started: RefCell<Vec<u32>>,
}

impl<T: Value + Copy> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Window");
        debug
            .field("ranks", &self.ranks)
            .field("lengths", &self.lengths);
        debug.finish_non_exhaustive()
    }
}

impl Communicator {
    /// Exposes memory to all ranks, of as many elements as each likes (`MPI_Win_create`, `MPI_Win_allocate`). A collective call.
    ///
    /// # Errors
    /// [`Error::Mismatch`], also where the types of elements differ; [`Error::TooMany`].
    #[track_caller]
    pub fn window<T: Value + Copy>(
        &self,
        memory: Vec<T>,
    ) -> impl Future<Output = Result<Window<T>, Error>> + use<T> {
        let at = Location::caller();
        let length = memory.len() as u64;
        Window::create(self, "window", WindowMemory::new(memory), Some(length), at)
    }
}

impl<T: Value + Copy> Window<T> {
    /// One of such memory, of a length that all are to know, by a call that is called so.
    fn create(
        of: &Communicator,
        what: &'static str,
        memory: WindowMemory<T>,
        length: Option<u64>,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<Window<T>, Error>> + use<T> {
        let ranks = of.copy(what, at);
        async move {
            let ranks = ranks.await?;
            let mut window = Window {
                ranks,
                lengths: Rc::default(),
                memory: Rc::new(memory),
                under_way: RefCell::default(),
                locked: RefCell::default(),
                posted: RefCell::default(),
                started: RefCell::default(),
            };
            window.expose();
            // When all have come, all memory is there.
            let ranks = window.ranks.clone();
            let lengths = begin(
                ranks.calling(Call::new::<T>(what, None), at),
                Ok(Brought::Part(length)),
                Needs::All,
                |all: Vec<Option<u64>>| {
                    let lengths: Option<Rc<[u64]>> = all.into_iter().collect();
                    CallOutcome::all(lengths.unwrap_or_default())
                },
                shared::<Option<u64>, Rc<[u64]>>,
            );
            window.lengths = lengths.await?;
            Ok(window)
        }
    }
}

impl<T: Value + Copy> Window<T> {
    fn number(&self) -> (u32, u32) {
        (self.ranks.shared().number(), self.ranks.home())
    }

    fn expose(&self) {
        let world = &self.ranks.shared().world;
        let memory = Rc::clone(&self.memory) as Rc<dyn Exposed>;
        world.windows.borrow_mut().insert(self.number(), memory);
    }

    /// The rank of who has this.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// How many ranks there are.
    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// How many elements a rank exposes; `None`: there is no such rank, or the window is
    /// [dynamic](Communicator::dynamic_window).
    pub fn len_of(&self, rank: usize) -> Option<usize> {
        self.lengths.get(rank).map(|&length| length as usize)
    }

    /// Calls `f` with the memory of this rank. While it runs, nobody else has access to that, so nothing can wait in it, not on the stack
    /// of a fiber either.
    ///
    /// # Errors
    /// [`Error::Window`] within such a call, of the same window; or the window is
    /// [dynamic](Communicator::dynamic_window).
    pub fn with<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        self.memory.with(f)
    }

    /// Waits for all ranks, and until all that they have asked for has been done: ends the window, and gives back the memory
    /// (`MPI_Win_free`), of a dynamic one all that is attached, in the order in which it was. A collective call. Who lets go of a window instead has it fail for the others.
    ///
    /// # Errors
    /// As for [`fence`](Self::fence).
    #[track_caller]
    pub fn free(self) -> impl Future<Output = Result<Vec<T>, Error>> {
        let at = Location::caller();
        async move {
            self.complete_all(at).await?;
            Ok(self.memory.take())
        }
    }
}

impl<T: Value + Copy> Drop for Window<T> {
    fn drop(&mut self) {
        let world = Rc::clone(&self.ranks.shared().world);
        let gone = world.windows.borrow_mut().remove(&self.number());
        for asker in gone.into_iter().flat_map(|memory| memory.close()) {
            world.answer_gone(asker);
        }
        for target in self.locked.take() {
            let unlock = Operation::plain(What::Unlock, self.rank() as u32);
            // Nobody waits: if there is no such memory any more, nothing is locked.
            let _ = self.ask(target, unlock, NONE);
        }
    }
}
