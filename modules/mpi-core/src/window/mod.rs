//! One-sided communication: windows onto the memory of other ranks (MPI standard, version 4.1,
//! chapter 12).
//!
//! The memory that a rank exposes belongs to its scheduler. Operations of other ranks are performed
//! on the thread of that scheduler, between polls of processes, one after the other. So accesses
//! are atomic per element and per call, the target rank is passive, and threads share no memory. An
//! operation on another scheduler is one frame, and frames arrive in the order in which they were
//! sent. So one answer is enough to know that all earlier operations have completed.

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
use super::instance::begin;
use super::value::Value;
use memory::WindowMemory;
use operation::{Operation, OperationKind};

pub use access::Accessing;
pub use epoch::{Locked, LockedAll, Locking};
pub(super) use lock::Asker;
pub(super) use memory::Exposed;
pub use number::{Number, Op};
pub(super) use operation::{NAMES, RECEIVERS};
pub use shared_memory::SharedWindow;

/// Memory of all ranks of a communicator, which each of them can access.
///
/// Accesses begin when they are called, and return a [`Request`](super::Request). A request that
/// fetches completes with the elements. Other requests complete locally: the operation has
/// completed at the target only after [`flush`](Self::flush), [`fence`](Self::fence) or
/// [`Locked::unlock`]. A lock excludes only ranks that request the lock. Offsets count elements,
/// not bytes.
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let window = world.window(vec![0u64; 2]).await?;
///     // Each rank increments a counter at rank 0, and writes its rank into the next rank.
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
    /// A communicator that only this window uses.
    ranks: Communicator,
    /// Number of elements that each rank exposes.
    lengths: Rc<[u64]>,
    memory: Rc<WindowMemory<T>>,
    /// For ranks of other schedulers, the number of bytes sent that may not have arrived.
    under_way: RefCell<BTreeMap<u32, usize>>,
    /// Ranks whose memory this rank has locked, or has requested to lock.
    locked: RefCell<BTreeSet<u32>>,
    /// Ranks to which this rank exposes its memory (`post`).
    posted: RefCell<Vec<u32>>,
    /// Ranks whose memory this rank accesses (`start`).
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
    /// Exposes `memory` to all ranks (`MPI_Win_create`, `MPI_Win_allocate`). Each rank chooses its
    /// own length. Collective. The other ranks wait until this rank has polled the returned future.
    ///
    /// # Errors
    /// As for [`dup`](Communicator::dup). [`Error::Mismatch`] also if the types of elements differ.
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
    /// Creates a window. The collective call begins when this function is called, and continues
    /// when the future is polled. `length` is distributed to all ranks, or is `None` for a dynamic
    /// window. `what` is the name of the call. The errors are those of [`Communicator::window`].
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
            // When all ranks have arrived, all memory is exposed.
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
        (self.ranks.shared().number(), self.ranks.member())
    }

    fn expose(&self) {
        let world = &self.ranks.shared().world;
        let memory = Rc::clone(&self.memory) as Rc<dyn Exposed>;
        world.windows.borrow_mut().insert(self.number(), memory);
    }

    /// Returns the rank of the caller, from 0.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// Returns the number of elements that `rank` exposes. Returns `None` if the rank does not
    /// exist, or if the window is [dynamic](Communicator::dynamic_window).
    pub fn len_of(&self, rank: usize) -> Option<usize> {
        self.lengths.get(rank).map(|&length| length as usize)
    }

    /// Calls `f` with the memory of this rank. No other rank has access to it meanwhile, so `f`
    /// must not block. A wait on the stack of a fiber fails in `f`.
    ///
    /// # Errors
    /// [`Error::Window`] within such a call of this rank for the same window, or if the window is
    /// [dynamic](Communicator::dynamic_window).
    pub fn with<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        self.memory.with(f)
    }

    /// Waits until all ranks have called it and their operations have completed. Then ends the
    /// window and returns the memory of this rank (`MPI_Win_free`). For a dynamic window, that is
    /// all attached pieces, in the order in which they were attached. Collective. The call begins
    /// when the returned future is first polled, and dropping the future drops the window.
    ///
    /// If a rank drops its window instead, accesses to its memory fail. The drop releases the locks
    /// of the rank.
    ///
    /// # Errors
    /// The errors of [`fence`](Self::fence). The memory of this rank is then dropped.
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
            let unlock = Operation::plain(OperationKind::Unlock, self.rank() as u32);
            // No future waits for this answer. If the memory no longer exists, there is no lock to
            // release.
            let _ = self.ask(target, unlock, NONE);
        }
    }
}
