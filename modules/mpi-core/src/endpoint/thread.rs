//! Threads that own ranks.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll};
use std::thread;

use super::super::communicator::Communicator;
use super::super::envelope::{Source, Status, TagOf};
use super::super::error::Error;
use super::super::request::Handle;
use super::super::value::Value;
use super::request_queue::{Called, RequestQueue, ThreadRequest};
use super::thread_table::{THREAD, ThreadState};
use graphmap_executor::exec::current;
use graphmap_executor::exec::user_code;
use graphmap_executor::sync::lock;

const IN_A_PROCESS: Error = Error::thread(
    "a process of a run must not call as a thread, because it would block its scheduler: use its \
     communicators",
);

/// A rank of a communicator that a thread outside the run owns. It can move from thread to thread,
/// but only one thread at a time can own it.
///
/// The scheduler of the rank's process makes every call, and the thread blocks until the call
/// completes. That scheduler must not be blocked. If a process joins the thread with
/// [`std::thread::JoinHandle::join`], both wait forever. Await [`OnThread`] or receive a message
/// instead.
///
/// While the thread is not in a call it can still make one, so waiting for it is not a deadlock.
/// Dropping this value gives up the rank. If the owning thread panics, the run fails and reports
/// the panic. After the run, all calls return [`Error::Over`].
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let threads = world.endpoints(2).await?.into_iter().map(|endpoint| {
///         endpoint.on_thread(|rank| {
///             // This runs on a thread, which blocks until the other ranks have called.
///             let sum = rank.allreduce(rank.rank(), |a, b| a + b)?;
///             let next = (rank.rank() + 1) % rank.size();
///             let came = rank.call(move |rank| async move {
///                 rank.sendrecv::<usize, usize>(sum, next, 0, mpi::ANY_SOURCE, 0).await
///             })?;
///             Ok::<usize, mpi::Error>(came.0)
///         })
///     });
///     for thread in threads.collect::<Result<Vec<_>, _>>()? {
///         assert_eq!(thread.await??, 15);
///     }
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..3).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
pub struct ThreadRank {
    queue: Arc<RequestQueue>,
    thread: u32,
    /// Message of the panic of the thread.
    panic: Option<String>,
    rank: usize,
    size: usize,
    name: String,
    /// Makes the type `!Sync`: one thread at a time.
    _not_shared: PhantomData<Cell<()>>,
}

impl fmt::Debug for ThreadRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ThreadRank");
        debug.field("name", &self.name).field("rank", &self.rank);
        debug.field("size", &self.size).finish()
    }
}

impl Communicator {
    /// Converts this handle into a rank that a thread can own. Other handles of this rank are not
    /// affected. After the run, the calls of the returned rank return [`Error::Over`].
    #[track_caller]
    pub fn into_thread(self) -> ThreadRank {
        self.for_thread(None, Location::caller())
    }

    /// Starts a thread that owns this rank and runs `f`. Returns a future that completes with the
    /// result of `f`, or with [`Error::Over`] if the run ends first or `f` panics. A panic of `f`
    /// fails the run. Dropping the future does not stop the thread.
    ///
    /// # Errors
    /// [`Error::Thread`] if the thread cannot be started. The rank is then given up.
    #[track_caller]
    pub fn on_thread<R: Send + 'static>(
        self,
        f: impl FnOnce(&ThreadRank) -> R + Send + 'static,
    ) -> Result<OnThread<R>, Error> {
        let at = Location::caller();
        let world = Rc::clone(&self.shared().world);
        let here = (self.shared().number(), self.rank() as u32);
        let member = self.member();
        let entry = world.change(|matching| match matching.is_over {
            true => matching.failed(Error::Over, at),
            false => matching.access(member, here, THREAD, at),
        });
        let end = Handle::new(&world, entry);
        let rank = self.for_thread(Some(entry), at);
        let result = Arc::new(Mutex::new(None));
        let given = Arc::clone(&result);
        let body = move || {
            let mut returned = None;
            match user_code::caught(|| returned = Some(f(&rank))) {
                Ok(()) => *lock(&given) = returned,
                Err(message) => rank.panicked(&message),
            }
        };
        let started = thread::Builder::new().spawn(body);
        match started {
            Ok(_) => Ok(OnThread { end, result }),
            Err(why) => Err(Error::Thread(
                format!("cannot start a thread for a rank: {why}").into(),
            )),
        }
    }

    fn for_thread(self, end_entry: Option<u32>, at: &'static Location<'static>) -> ThreadRank {
        let world = Rc::clone(&self.shared().world);
        let (rank, size, name) = (self.rank(), self.size(), self.name().to_string());
        let queue = Arc::clone(world.queue());
        let state = ThreadState {
            name: format!("rank {rank} of {name}"),
            at,
            process: world.process_of(self.member()).unwrap_or_default(),
            id: world.id_of_caller(),
            communicator: Rc::new(self),
            is_calling: false,
            call: None,
            end_entry,
        };
        ThreadRank {
            queue,
            thread: world.add_thread(state),
            panic: None,
            rank,
            size,
            name,
            _not_shared: PhantomData,
        }
    }

    /// Creates the call of a thread. When it completes, it sends to `reply` the result of the
    /// future that `make` returns, or the panic of one of them.
    fn called<R: Send + 'static, F: Future<Output = Result<R, Error>> + 'static>(
        self,
        make: impl FnOnce(Communicator) -> F + 'static,
        reply: mpsc::Sender<thread::Result<Result<R, Error>>>,
    ) -> Called {
        Box::pin(async move {
            // `make` is user code. Its panic is resumed on the thread.
            let made = catch_unwind(AssertUnwindSafe(|| make(self)));
            let outcome = match made {
                Ok(made) => Caught(Box::pin(made)).await,
                Err(panic) => Err(panic),
            };
            // The thread waits for the reply in `call`.
            let _ = reply.send(outcome);
        })
    }
}

/// Future that returns panics of the inner future.
struct Caught<F>(Pin<Box<F>>);

impl<F: Future> Future for Caught<F> {
    type Output = thread::Result<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

impl ThreadRank {
    /// Returns the rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of ranks of the communicator.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Returns the name of the communicator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes calls as this rank, one after the other or concurrently, and blocks until they
    /// complete. `make` and its future run on the scheduler of the rank's process, between polls of
    /// its processes. Returns the result of the future. A panic in them resumes on this thread.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # let mut net = Local::new();
    /// # for _ in 0..3 { net.spawn(async {
    /// # let world = mpi::world()?;
    /// # let one = world.endpoints(1).await?.remove(0);
    /// # let thread = one.on_thread(|rank| {
    /// // The new communicator stays on the scheduler. A rank of it is returned.
    /// let half = rank.call(|rank| async move {
    ///     let half = rank.split(Some(rank.rank() as u32 % 2), 0).await?;
    ///     Ok(half.map(mpi::Communicator::into_thread))
    /// })?;
    /// # let half = half.unwrap();
    /// # assert_eq!(half.size(), 2 - rank.rank() % 2);
    /// # half.barrier()
    /// # })?;
    /// # thread.await??;
    /// # Ok::<(), mpi::Error>(()) }); }
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// * The error that the future returns.
    /// * [`Error::Over`] if the run is over, or ends before the calls complete.
    /// * [`Error::Thread`] if this is called on the thread of a running scheduler, as by a process
    ///   of a run. It would block that scheduler.
    ///
    /// # Panics
    /// If `make` or its future panics.
    pub fn call<R: Send + 'static, F: Future<Output = Result<R, Error>> + 'static>(
        &self,
        make: impl FnOnce(Communicator) -> F + Send + 'static,
    ) -> Result<R, Error> {
        if current::with_current(|_| ()).is_some() {
            return Err(IN_A_PROCESS);
        }
        let (reply, answer) = mpsc::channel();
        let begin = move |communicator: &dyn std::any::Any| -> Called {
            match communicator.downcast_ref::<Communicator>() {
                Some(rank) => rank.clone().called(make, reply),
                // `communicator` is always a `Communicator`.
                None => Box::pin(async {}),
            }
        };
        let asked = self
            .queue
            .request(ThreadRequest::Call(self.thread, Box::new(begin)));
        // A rejected request is user code. Its drop disconnects the channel.
        drop(asked);
        match answer.recv() {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => resume_unwind(panic),
            // The call was dropped without a reply.
            Err(mpsc::RecvError) => Err(Error::Over),
        }
    }

    /// Sends a message as [`Communicator::send`], and blocks until that request completes.
    ///
    /// # Errors
    /// The errors of [`Communicator::send`] and [`call`](Self::call).
    ///
    /// # Panics
    /// As for [`call`](Self::call).
    #[track_caller]
    pub fn send<T: Value>(&self, value: T, dest: usize, tag: i32) -> Result<(), Error> {
        let at = Location::caller();
        self.call(move |rank| rank.send_at(value, dest, tag, at))
    }

    /// Receives a message as [`Communicator::recv`], and blocks until it arrives.
    ///
    /// # Errors
    /// The errors of [`Communicator::recv`] and [`call`](Self::call).
    ///
    /// # Panics
    /// As for [`call`](Self::call).
    #[track_caller]
    pub fn recv<T: Value>(
        &self,
        source: impl Into<Source>,
        tag: impl Into<TagOf>,
    ) -> Result<(T, Status), Error> {
        let at = Location::caller();
        let (source, tag) = (source.into(), tag.into());
        self.call(move |rank| rank.recv_at(source, tag, at))
    }

    /// Blocks until all ranks have called it, as [`Communicator::barrier`].
    ///
    /// # Errors
    /// The errors of [`Communicator::barrier`] and [`call`](Self::call).
    #[track_caller]
    pub fn barrier(&self) -> Result<(), Error> {
        let at = Location::caller();
        self.call(move |rank| rank.barrier_at(at))
    }

    /// Broadcasts a value as [`Communicator::bcast`], and blocks until this rank has it.
    ///
    /// # Errors
    /// The errors of [`Communicator::bcast`] and [`call`](Self::call).
    ///
    /// # Panics
    /// As for [`call`](Self::call).
    #[track_caller]
    pub fn bcast<T: Value + Clone>(&self, value: Option<T>, root: usize) -> Result<T, Error> {
        let at = Location::caller();
        self.call(move |rank| rank.bcast_at(value, root, at))
    }

    /// Reduces the values of all ranks as [`Communicator::allreduce`], and blocks until this rank
    /// has the result. `op` may run on the scheduler of another rank of this OS process.
    ///
    /// # Errors
    /// The errors of [`Communicator::allreduce`] and [`call`](Self::call).
    ///
    /// # Panics
    /// As for [`call`](Self::call). A panic of `op` fails the run. The panic resumes on this thread
    /// only if `op` runs in the call of this rank.
    #[track_caller]
    pub fn allreduce<T: Value + Clone>(
        &self,
        value: T,
        op: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let at = Location::caller();
        self.call(move |rank| rank.allreduce_at(value, op, at))
    }

    /// Gives up the rank, because its thread has panicked with this message.
    fn panicked(mut self, message: &str) {
        self.panic = Some(format!(": {message}"));
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        let panic = self.panic.take();
        let panic = panic.or_else(|| thread::panicking().then(String::new));
        // After the run, the request has no effect.
        drop(self.queue.request(ThreadRequest::Leave(self.thread, panic)));
    }
}

/// Future that completes with the result of the function of a thread that owns a rank. It returns
/// [`Error::Over`] if the run ends first or the function panics, and [`Error::Inactive`] if it is
/// polled again.
#[must_use = "if the thread is not awaited, its result is lost"]
pub struct OnThread<R> {
    end: Handle,
    result: Arc<Mutex<Option<R>>>,
}

impl<R> Future for OnThread<R> {
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let ended = self.end.poll(context);
        ended.map(|ended| {
            ended?;
            let result = lock(&self.result).take();
            // If the thread panicked, the run fails with that panic.
            result.ok_or(Error::Over)
        })
    }
}
