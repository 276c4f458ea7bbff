//! Threads that are ranks.

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
use super::desk::{Seat, THREAD};
use super::line::{Ask, Called, Line};
use graphmap_executor::exec::current;
use graphmap_executor::exec::user_code;
use graphmap_executor::sync::lock;

const IN_A_PROCESS: Error = Error::thread(
    "a process of a run must not call as a thread, because it would block its scheduler: use its \
     communicators",
);

/// A rank of a communicator, as a thread has it that is none of the run's: whoever has this *is* that rank. It goes with its owner from
/// thread to thread, and only one thread at a time can have it; who has none cannot call at all.
///
/// Every call is made by the scheduler of the rank's process, and the thread waits until it is done. That scheduler must be free for it: a
/// process that joins the thread as threads do keeps it waiting for ever, so it waits for [`OnThread`] or for a message instead.
///
/// While the thread does not wait in a call, it may still make one, so nothing that waits for it is a deadlock. To let go of this is to be
/// the rank no more. A thread that panics meanwhile ends the run, with a report, and when the run is over all calls are [`Error::Over`].
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     let threads = world.endpoints(2).await?.into_iter().map(|endpoint| {
///         endpoint.on_thread(|rank| {
///             // All of this in a thread, which waits where others are late.
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
    line: Arc<Line>,
    seat: u32,
    /// What its thread has panicked with.
    panic: Option<String>,
    rank: usize,
    size: usize,
    name: String,
    /// One thread at a time.
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
    /// Makes whoever has what is returned this rank: it may be moved to a thread, which calls by it. Other handles of this rank
    /// stay what they are.
    #[track_caller]
    pub fn into_thread(self) -> ThreadRank {
        self.for_thread(None, Location::caller())
    }

    /// Starts a thread that is this rank while `f` runs, and returns what can be waited for: the end of `f`, and what it returns. To let
    /// go of that takes nothing back.
    ///
    /// # Errors
    /// [`Error::Thread`]: no thread can be started.
    #[track_caller]
    pub fn on_thread<R: Send + 'static>(
        self,
        f: impl FnOnce(&ThreadRank) -> R + Send + 'static,
    ) -> Result<OnThread<R>, Error> {
        let at = Location::caller();
        let world = Rc::clone(&self.shared().world);
        let here = (self.shared().number(), self.rank() as u32);
        let home = self.home();
        let entry = world.change(|matching| match matching.is_over {
            true => matching.failed(Error::Over, at),
            false => matching.access(home, here, THREAD, at),
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

    fn for_thread(self, attended: Option<u32>, at: &'static Location<'static>) -> ThreadRank {
        let world = Rc::clone(&self.shared().world);
        let (rank, size, name) = (self.rank(), self.size(), self.name().to_string());
        let line = Arc::clone(world.line());
        let seat = Seat {
            name: format!("rank {rank} of {name}"),
            at,
            process: world.process_of(self.home()).unwrap_or_default(),
            id: world.id_of_caller(),
            guest: Rc::new(self),
            calls: false,
            call: None,
            attended,
        };
        ThreadRank {
            line,
            seat: world.sit(seat),
            panic: None,
            rank,
            size,
            name,
            _not_shared: PhantomData,
        }
    }

    /// The rank of a call of a thread.
    fn called<R: Send + 'static, F: Future<Output = Result<R, Error>> + 'static>(
        self,
        make: impl FnOnce(Communicator) -> F + 'static,
        reply: mpsc::Sender<thread::Result<Result<R, Error>>>,
    ) -> Called {
        Box::pin(async move {
            // Code of the user: what it panics with is for its thread.
            let made = catch_unwind(AssertUnwindSafe(|| make(self)));
            let outcome = match made {
                Ok(made) => Caught(Box::pin(made)).await,
                Err(panic) => Err(panic),
            };
            // A thread that has called waits.
            let _ = reply.send(outcome);
        })
    }
}

/// A future whose panics come out of it.
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
    /// The rank, from 0.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks the communicator has.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The name of the communicator.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes calls as this rank, and waits until they are done: any that there are, one after the other or several at once. `make` and its
    /// future run on the scheduler of the rank's process, between the turns of its processes; what they return comes back. A panic in them
    /// is the thread's.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # let mut net = Local::new();
    /// # for _ in 0..3 { net.spawn(async {
    /// # let world = mpi::world()?;
    /// # let one = world.endpoints(1).await?.remove(0);
    /// # let thread = one.on_thread(|rank| {
    /// // A communicator that is made of this one stays on the scheduler, and a rank of it comes back.
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
    /// Those of the calls; [`Error::Over`]: the run is over, or ends before they are done; [`Error::Thread`]: it is a process of a run that
    /// calls this.
    pub fn call<R: Send + 'static, F: Future<Output = Result<R, Error>> + 'static>(
        &self,
        make: impl FnOnce(Communicator) -> F + Send + 'static,
    ) -> Result<R, Error> {
        if current::with_current(|_| ()).is_some() {
            return Err(IN_A_PROCESS);
        }
        let (reply, answer) = mpsc::channel();
        let begin = move |guest: &dyn std::any::Any| -> Called {
            match guest.downcast_ref::<Communicator>() {
                Some(rank) => rank.clone().called(make, reply),
                // There is none but that.
                None => Box::pin(async {}),
            }
        };
        let asked = self.line.ask(Ask::Call(self.seat, Box::new(begin)));
        // What was not taken is code of the user.
        drop(asked);
        match answer.recv() {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => resume_unwind(panic),
            // Whoever was to answer has gone.
            Err(mpsc::RecvError) => Err(Error::Over),
        }
    }

    /// As [`Communicator::send`], and waits until the sender may go on.
    ///
    /// # Errors
    /// As there, and as for [`call`](Self::call).
    #[track_caller]
    pub fn send<T: Value>(&self, value: T, dest: usize, tag: i32) -> Result<(), Error> {
        let at = Location::caller();
        self.call(move |rank| rank.send_at(value, dest, tag, at))
    }

    /// As [`Communicator::recv`], and waits for the message.
    ///
    /// # Errors
    /// As there, and as for [`call`](Self::call).
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

    /// As [`Communicator::barrier`].
    ///
    /// # Errors
    /// As there, and as for [`call`](Self::call).
    #[track_caller]
    pub fn barrier(&self) -> Result<(), Error> {
        let at = Location::caller();
        self.call(move |rank| rank.barrier_at(at))
    }

    /// As [`Communicator::bcast`].
    ///
    /// # Errors
    /// As there, and as for [`call`](Self::call).
    #[track_caller]
    pub fn bcast<T: Value + Clone>(&self, value: Option<T>, root: usize) -> Result<T, Error> {
        let at = Location::caller();
        self.call(move |rank| rank.bcast_at(value, root, at))
    }

    /// As [`Communicator::allreduce`]. The operation may be called on the scheduler of another rank of this OS process.
    ///
    /// # Errors
    /// As there, and as for [`call`](Self::call).
    #[track_caller]
    pub fn allreduce<T: Value + Clone>(
        &self,
        value: T,
        op: impl FnMut(T, T) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let at = Location::caller();
        self.call(move |rank| rank.allreduce_at(value, op, at))
    }

    /// The thread has panicked.
    fn panicked(mut self, message: &str) {
        self.panic = Some(format!(": {message}"));
    }
}

impl Drop for ThreadRank {
    fn drop(&mut self) {
        let panic = self.panic.take();
        let panic = panic.or_else(|| thread::panicking().then(String::new));
        // If the run is over, it does not matter.
        drop(self.line.ask(Ask::Leave(self.seat, panic)));
    }
}

/// A thread that is a rank, as its process waits for its end: what the thread's function has returned.
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
            // If the thread has panicked, the run ends with that.
            result.ok_or(Error::Over)
        })
    }
}
