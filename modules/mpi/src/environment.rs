//! The life of a rank: it is initialized, and finalized when its [`Universe`] is dropped.

use std::os::raw::c_int;
use std::string::FromUtf8Error;
use std::sync::OnceLock;
use std::time::Instant;

use crate::life::Phase;
use crate::rank::{NO_RANK, RankId, finalize_current, phase};
pub use crate::threading::Threading;
use crate::topology::SimpleCommunicator;
use crate::topology::traits::Communicator;

/// A rank that is initialized. To drop it finalizes the rank.
///
/// As rsmpi's, it may be kept in a `static`, as libraries do that let their users call [`initialize`] by a function of theirs. A `static` is
/// one for all ranks of an OS process, so these have to have [one rank each](crate::main).
#[derive(Debug)]
pub struct Universe {
    buffer: usize,
    /// Which rank it is of.
    rank: RankId,
}

impl Universe {
    /// The communicator of all ranks.
    ///
    /// # Panics
    /// If another rank calls it, or none.
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

    /// How many ranks there may be: as many as there are.
    ///
    /// # Panics
    /// As [`world`](Self::world).
    #[track_caller]
    pub fn size(&self) -> Option<usize> {
        usize::try_from(self.world().size()).ok()
    }

    /// Which program of several this is: the only one.
    pub fn appnum(&self) -> Option<isize> {
        Some(0)
    }

    /// How large the buffer for buffered sends was said to be, in bytes.
    pub fn buffer_size(&self) -> usize {
        self.buffer
    }

    /// Says how large the buffer for buffered sends is to be. They take what memory they need, whatever is said.
    pub fn set_buffer_size(&mut self, size: usize) {
        self.buffer = size;
    }

    /// Takes the buffer away.
    pub fn detach_buffer(&mut self) {
        self.buffer = 0;
    }

    /// Leaves the ranks that have spawned this one: no rank is spawned here.
    pub fn disconnect_parent(&mut self) {}
}

impl Drop for Universe {
    fn drop(&mut self) {
        match self.rank.is_current() {
            true => finalize_current(),
            // The end of a rank finalizes it, too.
            false => assert!(
                self.rank.has_ended() || phase().is_none() || std::thread::panicking(),
                "a rank dropped the `Universe` of another rank: all ranks of an OS process share a \
                 `static`"
            ),
        }
    }
}

/// Whether the rank that calls this has been initialized.
pub fn is_initialized() -> bool {
    phase().is_some_and(|phase| phase != Phase::Before)
}

/// Whether the rank that calls this has been finalized.
pub fn is_finalized() -> bool {
    matches!(phase(), Some(Phase::Finalized(_)))
}

/// Initializes the rank that calls this; `None`: it has been before.
///
/// # Panics
/// If no rank calls it, but a program that has not been started by [`run`](crate::run), or a thread of its own.
#[track_caller]
pub fn initialize() -> Option<Universe> {
    initialize_with_threading(Threading::Single).map(|(universe, _)| universe)
}

/// As [`initialize`], and says which threads may use what belongs to no rank, as datatypes. It is what was asked for.
/// Communicators stay with their ranks.
///
/// # Panics
/// As there.
#[track_caller]
pub fn initialize_with_threading(threading: Threading) -> Option<(Universe, Threading)> {
    let rank = crate::rank::initialize(threading)?;
    Some((Universe { buffer: 0, rank }, threading))
}

/// What [`initialize_with_threading`] has given the rank that calls this; `Single` if it was not called.
pub fn threading_support() -> Threading {
    match phase() {
        Some(Phase::Initialized(threading) | Phase::Finalized(threading)) => threading,
        Some(Phase::Before) | None => Threading::Single,
    }
}

/// The version of the MPI standard that names and meanings are from.
pub fn version() -> (c_int, c_int) {
    (4, 1)
}

/// What this is.
///
/// # Errors
/// None.
pub fn library_version() -> Result<String, FromUtf8Error> {
    Ok(format!("graphmap {}", env!("CARGO_PKG_VERSION")))
}

/// The name of the host.
///
/// # Errors
/// It is no UTF-8.
pub fn processor_name() -> Result<String, FromUtf8Error> {
    let name = rustix::system::uname().nodename().to_bytes().to_vec();
    String::from_utf8(name)
}

/// When time began here.
fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

/// Seconds since some moment, the same for all ranks of an OS process.
pub fn time() -> f64 {
    epoch().elapsed().as_secs_f64()
}

/// How exact [`time`] is, in seconds.
pub fn time_resolution() -> f64 {
    1e-9
}
