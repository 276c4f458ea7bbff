//! Creation of endpoints, and functions and threads that run as such ranks.

use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;

use super::join_handle::JoinHandle;
use super::registry::Registration;
use super::thread::ThreadRank;
use crate::fiber::{Ended, Fiber, wait};
use crate::rank::{self, RankId, RankState};
use crate::shared::AsHandle;
use crate::topology::{Communicator, Rank, SimpleCommunicator};
use crate::{CallError, done};

/// Communicators whose ranks can create endpoints.
pub trait Endpoints: Communicator {
    /// Creates `count` endpoints for this rank. A collective call, which blocks until all ranks
    /// have made it. Each rank may pass another count, also 0.
    ///
    /// The endpoints of all ranks form a new communicator, in the order of the ranks that created
    /// them. Returns the endpoints of this rank, in order.
    ///
    /// # Panics
    /// * On an error: see [`try_endpoints`](Self::try_endpoints).
    /// * If the caller is not a rank, the rank was finalized, or the communicator is an
    ///   intercommunicator.
    #[track_caller]
    fn endpoints(&self, count: usize) -> Vec<Endpoint> {
        done(self.try_endpoints(count))
    }

    /// Creates endpoints as [`endpoints`](Self::endpoints) does, but returns errors.
    ///
    /// # Errors
    /// * [`CallError::TooManyRanks`]: all counts together exceed `i32::MAX`, or there is not enough
    ///   memory for the endpoints of this rank.
    /// * [`CallError::Mismatch`]: ranks make different calls.
    /// * [`CallError::TooMany`]: no numbers for communicators or endpoints are left.
    /// * [`CallError::Over`]: the run has ended.
    ///
    /// # Panics
    /// If the caller is not a rank, the rank was finalized, or the communicator is an
    /// intercommunicator.
    #[track_caller]
    fn try_endpoints(&self, count: usize) -> Result<Vec<Endpoint>, CallError> {
        let of = self.as_handle();
        let made = wait(of.core().endpoints(count))?;
        let owner = rank::id();
        let endpoint = |core| Endpoint {
            communicator: SimpleCommunicator::made(of.0.derived(core)),
            owner: owner.clone(),
        };
        Ok(made.into_iter().map(endpoint).collect())
    }
}

impl<C: Communicator + ?Sized> Endpoints for C {}

/// An additional rank of the rank that owns this value. After it was dropped, no calls are made as
/// this rank.
///
/// It stays on the thread of its owner:
///
/// ```compile_fail
/// fn other_thread(endpoint: mpi::endpoint::Endpoint) {
///     std::thread::spawn(move || endpoint.rank());
/// }
/// ```
#[must_use = "an endpoint makes no calls by itself, and ranks that wait for it block"]
pub struct Endpoint {
    communicator: SimpleCommunicator,
    owner: RankId,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Endpoint");
        debug.field("rank", &self.rank());
        debug.field("size", &self.size()).finish()
    }
}

impl Endpoint {
    /// Returns the rank of the endpoint in the communicator of the endpoints that were created
    /// together.
    pub fn rank(&self) -> Rank {
        self.communicator.rank()
    }

    /// Returns the number of endpoints that were created together, by all ranks.
    pub fn size(&self) -> Rank {
        self.communicator.size()
    }

    /// Returns the communicator. The calling stack makes its calls as this rank, in addition to the
    /// ranks that it already is.
    ///
    /// ```
    /// use mpi::endpoint::Endpoints;
    /// use mpi::traits::*;
    ///
    /// mpi::run(2, || {
    ///     let universe = mpi::initialize().unwrap();
    ///     let mut two = universe.world().endpoints(2);
    ///     let other = two.remove(1).start(|mine| mine.process_at_rank(mine.rank() - 1).receive::<f64>().0);
    ///     let mine = two.remove(0).into_communicator();
    ///     mine.process_at_rank(mine.rank() + 1).synchronous_send(&0.5);
    ///     assert_eq!(other.join(), 0.5);
    /// })
    /// .unwrap();
    /// ```
    pub fn into_communicator(self) -> SimpleCommunicator {
        self.communicator
    }

    /// Calls `f` as this rank on a new stack, which is as large as the stack of the rank. The
    /// result can be [joined](JoinHandle::join).
    ///
    /// Does not block: the function runs when the calling stack waits. Its properties are described
    /// in the [module](crate::endpoint). If the rank is being dropped, `f` is not called. A panic
    /// of `f` ends the run.
    ///
    /// # Panics
    /// If the caller is not the rank that created the endpoint, is finalized, or calls in
    /// [`ThreadRank::call`].
    #[track_caller]
    pub fn start<T: 'static>(
        self,
        f: impl FnOnce(SimpleCommunicator) -> T + 'static,
    ) -> JoinHandle<T> {
        let (rank, core) = self.rank_for_start();
        let name = named(&core);
        let (promise, running) = JoinHandle::new(core);
        let Some(rank) = rank else {
            return running;
        };
        let communicator = self.communicator;
        let body = move || {
            drop(promise.give(f(communicator)));
            Ok(())
        };
        let fiber = NamedFiber::new(&rank, name, Location::caller(), body);
        rank.start_task(Box::pin(fiber));
        running
    }

    /// Calls `f` in a new thread, which is this rank until `f` returns. Use it for long
    /// computations and for functions that block the thread. The rank makes the calls of the
    /// thread, on its own stacks ([`ThreadRank::call`]). Does not block. If the rank is being
    /// dropped, `f` is not called. A panic of `f` ends the run.
    ///
    /// ```
    /// use mpi::collective::SystemOperation;
    /// use mpi::endpoint::Endpoints;
    /// use mpi::traits::*;
    ///
    /// mpi::run(2, || {
    ///     let universe = mpi::initialize().unwrap();
    ///     let threads = universe.world().endpoints(2).into_iter().map(|endpoint| {
    ///         endpoint.on_thread(|rank| {
    ///             let computed = rank.rank() + 1;
    ///             let sum = rank.call(move |mine| {
    ///                 let mut sum = 0;
    ///                 mine.all_reduce_into(&computed, &mut sum, SystemOperation::sum());
    ///                 sum
    ///             });
    ///             sum - computed
    ///         })
    ///     });
    ///     let threads: Vec<_> = threads.collect();
    ///     let others: i32 = threads.into_iter().map(|thread| thread.join()).sum();
    ///     assert_eq!(others, 20 - (4 * universe.world().rank() + 3));
    /// })
    /// .unwrap();
    /// ```
    ///
    /// # Panics
    /// As for [`start`](Self::start), and if no thread can be started.
    #[track_caller]
    pub fn on_thread<T: Send + 'static>(
        self,
        f: impl FnOnce(&ThreadRank<'_>) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let (rank, core) = self.rank_for_start();
        let (promise, running) = JoinHandle::new(core.clone());
        let Some(rank) = rank else {
            return running;
        };
        // Create them here, on a stack of the rank, because the calls of the thread may ask for
        // them.
        drop((SimpleCommunicator::world(), SimpleCommunicator::self_comm()));
        let shared = Rc::clone(&self.communicator.as_handle().0);
        let registration = Registration::new(rank.clone(), shared);
        let key = registration.key();
        let (of, name, at) = (rank.clone(), named(&core), Location::caller());
        let thread = done(core.on_thread(move |thread| f(&ThreadRank::new(thread, key))));
        rank.start_task(Box::pin(async move {
            // If the thread has panicked, the run ends with its panic.
            if let Ok(value) = thread.await
                && let Some(value) = promise.give(value)
            {
                // The destructor may make calls, as any code of the rank.
                let dropping = move || {
                    drop(value);
                    Ok(())
                };
                NamedFiber::new(&of, name, at, dropping).await?;
            }
            drop(registration);
            Ok(())
        }));
        running
    }

    /// Returns the calling rank, or `None` if it may not start tasks: it is being dropped, or its
    /// stack unwinds within [`ThreadRank::call`]. Then its owner and phase are not checked. Also
    /// returns the communicator of the runtime.
    ///
    /// # Panics
    /// If the caller is not the rank that created the endpoint, is finalized, or calls in
    /// [`ThreadRank::call`].
    #[track_caller]
    fn rank_for_start(&self) -> (Option<RankState>, core::Communicator) {
        let (rank, handle) = (RankState::current_for_task(), self.communicator.as_handle());
        if rank.is_some() {
            assert!(
                self.owner.is_current(),
                "an endpoint must be started by the rank that created it"
            );
            // Panics if the rank is finalized.
            handle.core();
        }
        (rank, handle.0.known().clone())
    }
}

/// Runs `f` as each of the endpoints, on a stack for each. Blocks until all have ended, and returns
/// their results in the order of the endpoints. Returns an empty vector at once if there are no
/// endpoints.
///
/// ```
/// use mpi::collective::SystemOperation;
/// use mpi::endpoint::{self, Endpoints};
/// use mpi::traits::*;
///
/// mpi::run(3, || {
///     let universe = mpi::initialize().unwrap();
///     let sums = endpoint::each(universe.world().endpoints(2), |mine| {
///         let mut sum = 0;
///         mine.all_reduce_into(&1, &mut sum, SystemOperation::sum());
///         sum
///     });
///     assert_eq!(sums, [6, 6]);
/// })
/// .unwrap();
/// ```
///
/// # Panics
/// As for [`Endpoint::start`] and [`JoinHandle::join`].
#[track_caller]
pub fn each<T: 'static>(
    endpoints: Vec<Endpoint>,
    f: impl Fn(SimpleCommunicator) -> T + 'static,
) -> Vec<T> {
    let f = Rc::new(f);
    let mut running = Vec::with_capacity(endpoints.len());
    for endpoint in endpoints {
        let f = Rc::clone(&f);
        running.push(endpoint.start(move |mine| f(mine)));
    }
    let mut values = Vec::with_capacity(running.len());
    for running in running {
        values.push(running.join());
    }
    values
}

/// Returns the name of a rank in messages: "rank N of NAME", with the name of its communicator.
fn named(rank: &core::Communicator) -> String {
    format!("rank {} of {}", rank.rank(), rank.name())
}

/// A fiber that adds the name of its rank to the message of a panic.
struct NamedFiber {
    fiber: Fiber,
    name: String,
    at: &'static Location<'static>,
}

impl NamedFiber {
    fn new(
        of: &RankState,
        name: String,
        at: &'static Location<'static>,
        body: impl FnOnce() -> Ended + 'static,
    ) -> Self {
        let fiber = Fiber::named(of.clone(), &name, body);
        NamedFiber { fiber, name, at }
    }
}

impl Future for NamedFiber {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Ended> {
        let fiber = &mut self.fiber;
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(fiber).poll(context)));
        polled.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<&str>().copied();
            let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
            let message =
                text.map(|text| format!("{text} (as {}, started at {})", self.name, self.at));
            // Payloads that are not text are passed on unchanged.
            resume_unwind(message.map_or(panic, |message| Box::new(message)))
        })
    }
}
