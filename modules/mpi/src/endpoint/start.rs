//! Endpoints, and functions that run as such ranks.

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

/// Communicators whose ranks may have further ones.
pub trait Endpoints: Communicator {
    /// Makes so many new ranks for this one, as many as each likes, also none. They are the ranks of a new communicator, ordered by the ranks that
    /// asked for them; what is returned are those of the rank that calls this, in order. A collective call.
    ///
    /// # Panics
    /// If there are more than `i32::MAX` together, or ranks have made different calls; if no rank calls it.
    #[track_caller]
    fn endpoints(&self, count: usize) -> Vec<Endpoint> {
        done(self.try_endpoints(count))
    }

    /// As [`endpoints`](Self::endpoints).
    ///
    /// # Errors
    /// What ends the rank there.
    ///
    /// # Panics
    /// If no rank calls it.
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

/// A further rank of the rank that has this. Who has let go of it calls no more as that rank.
///
/// It stays on the thread of that rank:
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
    /// Which rank it is of the communicator of all endpoints that were made together.
    pub fn rank(&self) -> Rank {
        self.communicator.rank()
    }

    /// How many there are in that.
    pub fn size(&self) -> Rank {
        self.communicator.size()
    }

    /// The communicator, for the stack that calls this: that is this rank from now on, beside those that it is already.
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

    /// Calls `f` as this rank on a stack of its own, which is of the size of the rank's: what it returns can be [joined](JoinHandle::join). It has its
    /// first turn when the stack that calls this waits. [Above](crate::endpoint) is what it may rely on.
    ///
    /// # Panics
    /// If another rank calls it than has made the endpoint, or none, or one that is finalized; or a thread, by [`ThreadRank::call`].
    #[track_caller]
    pub fn start<T: 'static>(
        self,
        f: impl FnOnce(SimpleCommunicator) -> T + 'static,
    ) -> JoinHandle<T> {
        let (beginning, core) = self.beginning();
        let name = named(&core);
        let (promise, running) = JoinHandle::new(core);
        let Some(rank) = beginning else {
            return running;
        };
        let communicator = self.communicator;
        let body = move || {
            drop(promise.give(f(communicator)));
            Ok(())
        };
        let fiber = NamedFiber::new(&rank, name, Location::caller(), body);
        rank.begin(Box::pin(fiber));
        running
    }

    /// Calls `f` in a thread that is this rank meanwhile: for what computes for long, or blocks in another way. Its calls are made by the rank, on
    /// stacks of its own ([`ThreadRank::call`]).
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
    /// As [`start`](Self::start), and if no thread can be started.
    #[track_caller]
    pub fn on_thread<T: Send + 'static>(
        self,
        f: impl FnOnce(&ThreadRank<'_>) -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let (beginning, core) = self.beginning();
        let (promise, running) = JoinHandle::new(core.clone());
        let Some(rank) = beginning else {
            return running;
        };
        // They are made on stacks of the rank only, and its calls may ask for them.
        drop((SimpleCommunicator::world(), SimpleCommunicator::self_comm()));
        let shared = Rc::clone(&self.communicator.as_handle().0);
        let registration = Registration::new(rank.clone(), shared);
        let key = registration.key();
        let (of, name, at) = (rank.clone(), named(&core), Location::caller());
        let thread = done(core.on_thread(move |thread| f(&ThreadRank::new(thread, key))));
        rank.begin(Box::pin(async move {
            // If it has panicked, the run ends with that.
            if let Ok(value) = thread.await
                && let Some(value) = promise.give(value)
            {
                // Its destructor may call as any code of the rank does.
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

    /// The rank, if it may begin something, and the communicator of the runtime.
    #[track_caller]
    fn beginning(&self) -> (Option<RankState>, core::Communicator) {
        let (beginning, handle) = (RankState::beginning(), self.communicator.as_handle());
        if beginning.is_some() {
            assert!(
                self.owner.is_current(),
                "an endpoint must be started by the rank that created it"
            );
            // The look at the life of the rank.
            handle.core();
        }
        (beginning, handle.0.known().clone())
    }
}

/// Runs `f` as each of these endpoints, each on a stack of its own, and waits for all: what it has returned, in their order.
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
/// As [`Endpoint::start`] and [`JoinHandle::join`].
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

/// What a rank is called where it is told of.
fn named(rank: &core::Communicator) -> String {
    format!("rank {} of {}", rank.rank(), rank.name())
}

/// A stack whose panics say which rank it was.
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
            let told =
                text.map(|text| format!("{text} (as {}, started at {})", self.name, self.at));
            // What is no text goes on as it is.
            resume_unwind(told.map_or(panic, |told| Box::new(told)))
        })
    }
}
