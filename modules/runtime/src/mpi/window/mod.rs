//! One-sided communication: windows onto the memory of other ranks (the MPI standard, version 4.1, chapter 12).
//!
//! The memory that a rank exposes is its scheduler's: what other ranks do to it is done there, by the thread that runs
//! that rank, between turns of processes, one after the other. So accesses are atomic, element by element and call by
//! call, no rank takes part in what others do to its memory, and nothing of it is shared between threads. What goes to
//! another scheduler is one frame, and arrives in the order in which it was sent; so to know that all has been done that was asked
//! for before, one answer is enough.

mod access;
mod epoch;
mod lock;
mod memory;
mod number;
mod operation;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, Needs, Outcome};
use super::collective::shared;
use super::communicator::Communicator;
use super::entry::NONE;
use super::error::Error;
use super::round::begin;
use super::value::Value;
use memory::Memory;
use operation::{Operation, What};

pub use access::Accessing;
pub use epoch::{Locked, LockedAll, Locking};
pub(super) use lock::Asker;
pub(super) use memory::Exposed;
pub use number::{Number, Op};
pub(super) use operation::NAMES;

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
    memory: Rc<Memory<T>>,
    /// How many bytes went to ranks of other schedulers of which it is not known that they have arrived.
    under_way: RefCell<BTreeMap<u32, usize>>,
    /// Whose memory this rank has locked, or wants to.
    locked: RefCell<BTreeSet<u32>>,
    /// To whom this rank has opened its memory, and whose it works on (`post` and `start`).
    posted: RefCell<Vec<usize>>,
    started: RefCell<Vec<usize>>,
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
        let ranks = self.copy("window", at);
        async move {
            let ranks = ranks.await?;
            let length = memory.len() as u64;
            let memory = Rc::new(Memory::new(memory));
            let mut window = Window {
                ranks,
                lengths: Rc::default(),
                memory,
                under_way: RefCell::default(),
                locked: RefCell::default(),
                posted: RefCell::default(),
                started: RefCell::default(),
            };
            window.expose();
            // When all have come, all memory is there.
            let ranks = window.ranks.clone();
            let lengths = begin(
                ranks.calling(Call::new::<T>("window", None), at),
                Ok(Brought::Part(length)),
                Needs::All,
                |all: Vec<u64>| Outcome::all(Rc::<[u64]>::from(all)),
                shared::<u64, Rc<[u64]>>,
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

    /// How many elements a rank exposes; `None`: there is no such rank.
    pub fn len_of(&self, rank: usize) -> Option<usize> {
        self.lengths.get(rank).map(|&length| length as usize)
    }

    /// Calls `f` with the memory of this rank. While it runs, nobody else has access to that.
    ///
    /// # Errors
    /// [`Error::Window`] within such a call, of the same window.
    pub fn with<R>(&self, f: impl FnOnce(&mut [T]) -> R) -> Result<R, Error> {
        self.memory.with(f)
    }

    /// Waits for all ranks, and until all that they have asked for has been done: ends the window, and gives back the memory
    /// (`MPI_Win_free`). A collective call. Who lets go of a window instead has it fail for the others.
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

    /// Sets elements of a rank (`MPI_Put`), from `offset` on.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Window`], [`Error::Over`].
    #[track_caller]
    pub fn put(&self, values: impl Into<Vec<T>>, target: usize, offset: usize) -> Accessing<T, ()> {
        self.update(
            values.into(),
            target,
            offset,
            Op::Replace,
            Location::caller(),
        )
    }

    /// Reads elements of a rank (`MPI_Get`).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn get(&self, target: usize, elements: Range<usize>) -> Accessing<T, Vec<T>> {
        let count = elements.len();
        let keep = (What::Fetch, Op::Keep);
        self.fetch(
            keep,
            Vec::new(),
            count,
            target,
            elements.start,
            Location::caller(),
        )
        .map(Ok)
    }

    /// Waits until all that this rank has asked of another has been done (`MPI_Win_flush`).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn flush(&self, target: usize) -> Accessing<T, ()> {
        let at = Location::caller();
        match self.target(target) {
            Ok(target) => self.flush_one(target, at),
            Err(error) => Accessing::failed(error),
        }
    }

    /// As [`flush`](Self::flush), of all ranks.
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn flush_all(&self) -> impl Future<Output = Result<(), Error>> {
        self.flush_those(Location::caller())
    }

    fn flush_one(&self, target: u32, at: &'static Location<'static>) -> Accessing<T, ()> {
        match self.under_way.borrow_mut().remove(&target) {
            Some(_) => {
                let flush = Operation::plain(What::Flush, self.rank() as u32);
                self.access(target, flush, at).map(|_| Ok(()))
            }
            None => Accessing::done(Vec::new()).map(|_| Ok(())),
        }
    }

    fn flush_those(
        &self,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<(), Error>> + use<T> {
        let targets: Vec<u32> = self.under_way.borrow().keys().copied().collect();
        let flushed: Vec<_> = targets
            .into_iter()
            .map(|target| self.flush_one(target, at))
            .collect();
        async move {
            let mut all = Ok(());
            for one in flushed {
                all = all.and(one.await);
            }
            all
        }
    }

    /// Waits for all ranks, and until all that they have asked for has been done (`MPI_Win_fence`). A collective call.
    ///
    /// # Errors
    /// As for [`put`](Self::put), and for all collective calls.
    #[track_caller]
    pub fn fence(&self) -> impl Future<Output = Result<(), Error>> + use<T> {
        self.complete_all(Location::caller())
    }

    fn complete_all(
        &self,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<(), Error>> + use<T> {
        let flushed = self.flush_those(at);
        let ranks = self.ranks.clone();
        async move {
            // The others are not to wait for one that has failed.
            let flushed = flushed.await;
            let call = Call::new::<()>("fence", None);
            let brought = Ok(Brought::<(), ()>::Nothing);
            let all = begin(
                ranks.calling(call, at),
                brought,
                Needs::All,
                |_: Vec<()>| Outcome::all(()),
                shared::<(), ()>,
            );
            all.await?;
            flushed
        }
    }
}

impl<T: Number> Window<T> {
    /// Combines values with elements of a rank (`MPI_Accumulate`).
    ///
    /// # Errors
    /// As for [`put`](Self::put), and if the operation is not for such numbers: bits of floating point numbers, sums of
    /// truth values.
    #[track_caller]
    pub fn accumulate(
        &self,
        values: impl Into<Vec<T>>,
        target: usize,
        offset: usize,
        op: Op,
    ) -> Accessing<T, ()> {
        self.update(values.into(), target, offset, op, Location::caller())
    }

    /// The same, and what was there before (`MPI_Get_accumulate`).
    ///
    /// # Errors
    /// As for [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn get_accumulate(
        &self,
        values: impl Into<Vec<T>>,
        target: usize,
        offset: usize,
        op: Op,
    ) -> Accessing<T, Vec<T>> {
        let values = values.into();
        let count = values.len();
        self.fetch(
            (What::Fetch, op),
            values,
            count,
            target,
            offset,
            Location::caller(),
        )
        .map(Ok)
    }

    /// The same with one element (`MPI_Fetch_and_op`).
    ///
    /// # Errors
    /// As for [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn fetch_and_op(&self, value: T, target: usize, offset: usize, op: Op) -> Accessing<T, T> {
        let fetched = self.fetch(
            (What::Fetch, op),
            vec![value],
            1,
            target,
            offset,
            Location::caller(),
        );
        fetched.map(access::first)
    }

    /// Sets an element of a rank to `value` if it equals `expected`: what it was before (`MPI_Compare_and_swap`).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        expected: T,
        value: T,
        target: usize,
        offset: usize,
    ) -> Accessing<T, T> {
        let swap = (What::CompareAndSwap, Op::Replace);
        let fetched = self.fetch(
            swap,
            vec![value, expected],
            1,
            target,
            offset,
            Location::caller(),
        );
        fetched.map(access::first)
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
