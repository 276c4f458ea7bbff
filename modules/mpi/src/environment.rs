//! Initialization and finalization of ranks. A rank is finalized when its [`Universe`] is dropped.

use std::os::raw::c_int;
use std::string::FromUtf8Error;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::fiber::wait;
use crate::phase::Phase;
use crate::rank::{NO_RANK, RankId, finalize_current, phase};
pub use crate::threading::Threading;
use crate::topology::SimpleCommunicator;
use crate::topology::traits::Communicator;

/// An initialized rank. Dropping it finalizes the rank.
///
/// As with rsmpi, it may be kept in a `static`, which some libraries do so that their users call
/// [`initialize`] through them. All ranks of an OS process share a `static`, so each OS process
/// must then have [one rank](crate::main). Dropping it in another rank panics, unless its own rank
/// has ended.
#[derive(Debug)]
pub struct Universe {
    buffer: usize,
    /// The rank that this value belongs to.
    rank: RankId,
}

impl Universe {
    /// Returns the communicator of all ranks.
    ///
    /// # Panics
    /// If the caller is another rank, not a rank, or on a thread that the program started. Also if
    /// the rank of this value has ended.
    #[track_caller]
    pub fn world(&self) -> SimpleCommunicator {
        match self.rank.is_current() {
            true => SimpleCommunicator::world(),
            false if phase().is_none() => panic!("{NO_RANK}"),
            false if self.rank.has_ended() => panic!(
                "this `Universe` belongs to a rank that has ended: call `mpi::initialize` in each \
                 rank"
            ),
            false => panic!(
                "this `Universe` belongs to another rank: all ranks of an OS process share a \
                 `static`"
            ),
        }
    }

    /// Returns the number of ranks, which is fixed (`MPI_UNIVERSE_SIZE`). Never returns `None`.
    ///
    /// # Panics
    /// As for [`world`](Self::world).
    #[track_caller]
    pub fn size(&self) -> Option<usize> {
        usize::try_from(self.world().size()).ok()
    }

    /// Returns `Some(0)`, because there is only one program (`MPI_APPNUM`).
    pub fn appnum(&self) -> Option<isize> {
        Some(0)
    }

    /// Returns the size of the buffer for buffered sends in bytes, as last set. Initially 0.
    pub fn buffer_size(&self) -> usize {
        self.buffer
    }

    /// Sets the size of the buffer for buffered sends in bytes. It only changes the result of
    /// [`buffer_size`](Self::buffer_size): buffered sends allocate the memory that they need.
    pub fn set_buffer_size(&mut self, size: usize) {
        self.buffer = size;
    }

    /// Sets the size of the buffer to 0, as [`set_buffer_size`](Self::set_buffer_size). It has no
    /// other effect.
    pub fn detach_buffer(&mut self) {
        self.buffer = 0;
    }

    /// Has no effect, because no rank is spawned by others (`MPI_Comm_disconnect`).
    pub fn disconnect_parent(&mut self) {}
}

impl Drop for Universe {
    fn drop(&mut self) {
        match self.rank.is_current() {
            true => finalize_current(),
            // A rank that has ended is finalized already.
            false => assert!(
                self.rank.has_ended() || phase().is_none() || std::thread::panicking(),
                "a rank dropped the `Universe` of another rank: all ranks of an OS process share a \
                 `static`"
            ),
        }
    }
}

/// Returns true if the calling rank has been initialized, also after it was finalized. Returns
/// false if the caller is not a rank.
pub fn is_initialized() -> bool {
    phase().is_some_and(|phase| phase != Phase::Before)
}

/// Returns true if the calling rank has been finalized. Returns false if the caller is not a rank.
pub fn is_finalized() -> bool {
    matches!(phase(), Some(Phase::Finalized(_)))
}

/// Initializes the calling rank, with the level [`Threading::Single`]. Returns `None` if it was
/// initialized before, even if it was finalized since.
///
/// # Panics
/// If the caller is not a rank. Ranks are started by [`run`](crate::run) and similar functions.
/// Threads that the program starts are not ranks.
#[track_caller]
pub fn initialize() -> Option<Universe> {
    initialize_with_threading(Threading::Single).map(|(universe, _)| universe)
}

/// Initializes the calling rank as [`initialize`] does, with a threading level. Also returns the
/// level, which is always granted. Returns `None` as [`initialize`]. The level determines which
/// threads may create datatypes, because datatypes belong to no rank. Communicators stay with their
/// ranks.
///
/// # Panics
/// As for [`initialize`].
#[track_caller]
pub fn initialize_with_threading(threading: Threading) -> Option<(Universe, Threading)> {
    let rank = crate::rank::initialize(threading)?;
    Some((Universe { buffer: 0, rank }, threading))
}

/// Returns the threading level of the calling rank. Returns `Single` if it was not initialized, or
/// if the caller is not a rank.
pub fn threading_support() -> Threading {
    match phase() {
        Some(Phase::Initialized(threading) | Phase::Finalized(threading)) => threading,
        Some(Phase::Before) | None => Threading::Single,
    }
}

/// Returns the version of the MPI standard that this API follows, major and minor: (4, 1).
pub fn version() -> (c_int, c_int) {
    (4, 1)
}

/// Returns the name and version of this implementation: "graphmap" and the version of this crate.
///
/// # Errors
/// Never fails.
pub fn library_version() -> Result<String, FromUtf8Error> {
    Ok(format!("graphmap {}", env!("CARGO_PKG_VERSION")))
}

/// Returns the name of the host on which the caller runs.
///
/// # Errors
/// If the name is not UTF-8.
pub fn processor_name() -> Result<String, FromUtf8Error> {
    let name = rustix::system::uname().nodename().to_bytes().to_vec();
    String::from_utf8(name)
}

/// Returns the moment from which [`time`] counts: the first call of this function in the OS
/// process.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// Returns the seconds since an arbitrary moment, which is the same for all ranks of an OS process
/// (`MPI_Wtime`).
pub fn time() -> f64 {
    epoch().elapsed().as_secs_f64()
}

/// Blocks the calling rank for a duration, at least, while other ranks of its thread run. In
/// contrast, `std::thread::sleep` blocks all of them. Blocks the thread if the caller is on a
/// thread that the program started. While a rank sleeps, a run in which all others wait is not in a
/// deadlock.
///
/// # Panics
/// If the caller is a rank that may not suspend here: in the operation of a reduction, or in a
/// destructor that runs during unwinding.
///
/// ```
/// use std::time::Duration;
///
/// mpi::run(2, || {
///     let start = mpi::time();
///     mpi::sleep(Duration::from_millis(5));
///     assert!(mpi::time() - start >= 0.005);
/// })
/// .unwrap();
/// ```
#[track_caller]
pub fn sleep(duration: Duration) {
    match graphmap_fiber::on_fiber() {
        true => wait(graphmap_runtime::sleep(duration)),
        false => std::thread::sleep(duration),
    }
}

/// Returns the resolution of [`time`] in seconds, which is 1 ns (`MPI_Wtick`).
pub fn time_resolution() -> f64 {
    1e-9
}
