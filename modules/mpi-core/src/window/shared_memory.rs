//! Memory that the ranks of one OS process share (MPI standard, version 4.1, section 12.2.3).
//!
//! In MPI, ranks load and store there directly. Ranks of an OS process may run on several threads,
//! and data races are undefined behaviour, in Rust as in C. So the elements are of a `Sync` type,
//! which defines the operations: atomic numbers are loaded and stored, mutexes are locked.
//! References to the elements are ordinary references.

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::super::call::{Brought, Call, CallOutcome, Needs};
use super::super::collective::shared;
use super::super::communicator::Communicator;
use super::super::error::Error;
use super::super::instance::{Collective, begin};
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};
use graphmap_executor::placement::SchedulerId;

const APART: Error = Error::window(
    "the ranks of a shared window must be in one OS process, but these are in several: \
     `split_type(SplitType::OsProcess, 0)` returns the ranks of each, in blocking code \
     `split_shared(0)`",
);

/// Memory of all ranks of a communicator within one OS process, which each of them can reference.
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let here = mpi::of_os_process()?;
///     let window = here.shared_window(vec![AtomicU64::new(0)]).await?;
///     let next = (here.rank() + 1) % here.size();
///     window.of(next).ok_or(mpi::Error::Inactive)?[0].store(here.rank() as u64, Ordering::Relaxed);
///     window.fence().await?;
///     let before = (here.rank() + here.size() - 1) % here.size();
///     assert_eq!(window.own()[0].load(Ordering::Relaxed), before as u64);
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..5).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
pub struct SharedWindow<T> {
    /// A communicator that only this window uses.
    ranks: Communicator,
    parts: Arc<[Arc<[T]>]>,
}

impl<T> fmt::Debug for SharedWindow<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("SharedWindow");
        debug.field("ranks", &self.ranks).finish_non_exhaustive()
    }
}

/// Memory of one rank, or of all, in a message within an OS process. It is passed as a value, never
/// as bytes.
struct InHere<T: ?Sized>(Arc<T>);

impl<T: ?Sized> Payload for InHere<T> {
    fn size(&self) -> usize {
        1
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&[0]);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Err(from.error("memory that ranks of one OS process share"))
    }
}

impl Communicator {
    /// Creates memory that all ranks can reference (`MPI_Win_allocate_shared`). The elements must
    /// be `Sync`, such as atomic numbers and `Mutex`es. Each rank chooses its own length. All ranks
    /// must be in one OS process. Collective. The other ranks wait until this rank has polled the
    /// returned future.
    ///
    /// # Errors
    /// As for [`dup`](Communicator::dup). [`Error::Window`] at all ranks if they are in several OS
    /// processes. [`Error::Mismatch`] also if the types of elements differ.
    #[track_caller]
    pub fn shared_window<T: Send + Sync + 'static>(
        &self,
        memory: Vec<T>,
    ) -> impl Future<Output = Result<SharedWindow<T>, Error>> + use<T> {
        let at = Location::caller();
        // All ranks get the same result here.
        let ranks = self.is_together().then(|| self.copy("shared_window", at));
        let memory: Arc<[T]> = memory.into();
        async move {
            let ranks = ranks.ok_or(APART)?.await?;
            let same = begin(
                ranks.calling(Call::new::<T>("shared_window", None), at),
                Ok(Brought::<(), ()>::Nothing),
                Needs::All,
                |_| CallOutcome::all(()),
                shared::<(), ()>,
            );
            same.await?;
            ranks.bsend(InHere(memory), 0, 0).await?;
            if ranks.rank() == 0 {
                let mut parts = Vec::with_capacity(ranks.size());
                for rank in 0..ranks.size() {
                    let (InHere(part), _) = ranks.recv::<InHere<[T]>>(rank, 0).await?;
                    parts.push(part);
                }
                let parts: Arc<[Arc<[T]>]> = parts.into();
                for rank in 0..ranks.size() {
                    ranks.bsend(InHere(Arc::clone(&parts)), rank, 0).await?;
                }
            }
            let (InHere(parts), _) = ranks.recv::<InHere<[Arc<[T]>]>>(0, 0).await?;
            Ok(SharedWindow { ranks, parts })
        }
    }

    /// Returns true if all ranks are in this OS process.
    fn is_together(&self) -> bool {
        let shared = self.shared();
        let run = shared.world.run();
        let others = shared.distribution.iter().flat_map(|of| &of.others);
        let mut others = others.map(|&other| SchedulerId(other));
        others.all(|other| run.here(other).is_some())
    }
}

impl<T> SharedWindow<T> {
    /// Returns the rank of the caller.
    pub fn rank(&self) -> usize {
        self.ranks.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> usize {
        self.ranks.size()
    }

    /// Returns the memory of `rank`, or `None` if the communicator does not have this rank
    /// (`MPI_Win_shared_query`).
    pub fn of(&self, rank: usize) -> Option<&[T]> {
        self.parts.get(rank).map(|part| &**part)
    }

    /// Returns the memory of this rank.
    pub fn own(&self) -> &[T] {
        // The rank of the caller exists, so the default is not used.
        self.of(self.rank()).unwrap_or_default()
    }

    /// Waits until all ranks have called it (`MPI_Win_fence`). The accesses of all ranks before the
    /// call happen before all accesses after it. Collective.
    ///
    /// A message and the release of a lock also order earlier accesses, so these need no fence.
    ///
    /// # Errors
    /// The errors of [`Communicator::barrier`]: [`Error::Mismatch`] or [`Error::Over`].
    #[track_caller]
    pub fn fence(&self) -> Collective<()> {
        self.ranks.barrier_at(Location::caller())
    }
}
