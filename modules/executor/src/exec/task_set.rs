//! Several futures of one process that run concurrently: two ([`join`]), or any number, of which
//! only those that were woken are polled ([`TaskSet`]).
//!
//! Each task has a hook, and the hook is the current id while the task is polled. So a wait of a
//! task names the hook, as a wait of a process names the process, and costs the same. A hook that
//! fires puts its task on a list and wakes the process.

use super::current;
use super::hooks::Woken;
use super::scheduler::Scheduler;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

/// Waits until both futures have ended, and returns both outputs. Each poll polls both futures,
/// except for a future that has ended. It is for a process that writes at one end of a network and
/// reads at the other end, if neither may wait for the other. The first future is polled before the
/// second.
///
/// # Examples
///
/// ```
/// use graphmap_runtime::{Local, Options, join};
///
/// let mut net = Local::new();
/// let (mut there, mut input) = net.channel(1);
/// let (mut output, mut back) = net.channel(1);
/// net.spawn(async move {
///     while let Some(n) = input.read().await {
///         output.write(n * n).await?;
///     }
///     Ok::<(), graphmap_runtime::Stopped>(())
/// });
/// net.spawn(async move {
///     let put = async move {
///         for n in 1..=10 {
///             there.write(n).await?;
///         }
///         Ok::<(), graphmap_runtime::Stopped>(())
///     };
///     let get = async {
///         let mut sum = 0;
///         while let Some(square) = back.read().await {
///             sum += square;
///         }
///         sum
///     };
///     assert_eq!(join(put, get).await, (Ok(()), 385));
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub async fn join<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut a, mut b) = (None, None);
    poll_fn(|context| {
        if a.is_none()
            && let Poll::Ready(output) = first.as_mut().poll(context)
        {
            a = Some(output);
        }
        if b.is_none()
            && let Poll::Ready(output) = second.as_mut().poll(context)
        {
            b = Some(output);
        }
        match (a.take(), b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            // At most one has ended. Its output is kept.
            (one, other) => {
                (a, b) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// Hooks of the tasks of a set, in the run in which the set was last polled.
#[derive(Default)]
struct TaskHooks {
    ids: Vec<u32>,
    /// Number of the run, or 0 before the first poll.
    run: u64,
}

impl TaskHooks {
    /// Empties the list of hooks. Frees the hooks in their scheduler if this thread is still in
    /// their run. Otherwise they have been freed with that run, or there are none.
    fn remove(&mut self) {
        let ids = std::mem::take(&mut self.ids);
        current::with_run(self.run, |scheduler| {
            ids.iter().for_each(|&id| scheduler.hooks().remove(id));
        });
    }
}

impl Drop for TaskHooks {
    fn drop(&mut self) {
        self.remove();
    }
}

type Task<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Many futures of one process that run concurrently. Each is polled only when an event that it
/// waits for has occurred. So a process may have thousands of them, while [`join`](crate::join)
/// polls both of its futures each time.
///
/// If the set is polled with a waker of another library, such as a combinator, all its futures are
/// polled each time. After a set has been dropped, it wakes no process. A future that the set
/// borrowed must then be polled again in another way.
///
/// # Examples
///
/// ```
/// use graphmap_runtime::{Local, Options, TaskSet};
///
/// let mut net = Local::new();
/// let (mut squares, mut sum) = (TaskSet::new(), 0);
/// for number in 1..=100 {
///     let (mut output, mut input) = net.channel(1);
///     net.spawn(async move { output.write(number).await });
///     squares.push(async move { input.read().await.map(|number: u64| number * number) });
/// }
/// net.spawn(async move {
///     while let Some(square) = squares.join_next().await {
///         sum += square.unwrap();
///     }
///     assert_eq!(sum, 338_350);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
#[must_use = "tasks do nothing unless they are waited for"]
pub struct TaskSet<'a, T> {
    // Declared before the hooks, so that tasks are dropped first: their waits name the hooks.
    tasks: Vec<Option<Task<'a, T>>>,
    /// Free indices.
    free: Vec<u32>,
    hooks: TaskHooks,
    woken: Rc<Woken>,
    /// Whether the set was last polled with a foreign waker or in another process, or was never
    /// polled. Then the waits of its tasks do not wake the process that polls it now.
    is_stale: bool,
}

impl<T> Default for TaskSet<'_, T> {
    fn default() -> Self {
        TaskSet::new()
    }
}

impl<T> fmt::Debug for TaskSet<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskSet").field("len", &self.len()).finish()
    }
}

impl<'a, T, F: Future<Output = T> + 'a> Extend<F> for TaskSet<'a, T> {
    fn extend<I: IntoIterator<Item = F>>(&mut self, tasks: I) {
        tasks.into_iter().for_each(|task| self.push(task));
    }
}

impl<'a, T, F: Future<Output = T> + 'a> FromIterator<F> for TaskSet<'a, T> {
    fn from_iter<I: IntoIterator<Item = F>>(tasks: I) -> Self {
        let mut set = TaskSet::new();
        set.extend(tasks);
        set
    }
}

impl<'a, T> TaskSet<'a, T> {
    /// Creates an empty set.
    pub fn new() -> Self {
        TaskSet {
            tasks: Vec::new(),
            free: Vec::new(),
            hooks: TaskHooks::default(),
            woken: Rc::default(),
            is_stale: true,
        }
    }

    /// Returns the number of tasks in the set. A task leaves the set when it ends or panics.
    pub fn len(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// Returns true if the set contains no task.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a task. It is not polled before the set is waited for. Does not wake a process that
    /// already waits for the set.
    ///
    /// # Panics
    /// Panics if the set would have more than 2^32 tasks.
    pub fn push(&mut self, task: impl Future<Output = T> + 'a) {
        let task: Task<'a, T> = Box::pin(task);
        let at = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.woken.list.grow(self.tasks.len());
            u32::try_from(self.tasks.len() - 1).expect("fewer than 2^32 tasks")
        });
        self.tasks[at as usize] = Some(task);
        self.woken.list.push(at);
    }

    /// Waits until a task has ended, removes it from the set, and returns its output. Tasks end in
    /// any order. Returns `None` if the set is empty. If the returned future is dropped before it
    /// is ready, no output is lost.
    ///
    /// # Panics
    /// The returned future panics as [`poll_join_next`](Self::poll_join_next) does.
    pub fn join_next(&mut self) -> impl Future<Output = Option<T>> {
        poll_fn(|context| self.poll_join_next(context))
    }

    /// Polls like [`join_next`](Self::join_next), for futures that are written by hand. Polls the
    /// tasks that were woken, until one ends. All tasks count as woken if `context` has a waker of
    /// another library. The same applies if the previous poll had one, or was in another process or
    /// run.
    ///
    /// Returns `Pending` if no polled task has ended. If it returns an output, other tasks that
    /// were woken may not have been polled yet.
    ///
    /// # Panics
    /// Panics if the scheduler has no free hook for a task. A scheduler can have 2^28 - 1 hooks.
    /// Also panics if a task panics, and that task is removed from the set.
    pub fn poll_join_next(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        let is_own = current::with_current(|scheduler| self.enter(scheduler, context));
        let is_own = is_own == Some(true);
        if !is_own {
            self.woken.clear_poller();
        }
        if !is_own || self.is_stale {
            (0..self.tasks.len()).for_each(|at| self.woken.list.push(at as u32));
        }
        self.is_stale = !is_own;
        // Tasks that are woken meanwhile are polled in the next call, for which they wake the
        // process. A task may wake itself each time.
        for _ in 0..self.woken.list.len() {
            let Some(at) = self.woken.list.pop() else {
                break;
            };
            if let Poll::Ready(output) = self.poll_task(at, is_own, context) {
                return Poll::Ready(Some(output));
            }
        }
        match self.is_empty() {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    }

    /// Gets a hook from `scheduler` for each task that has none, and makes the hooks wake the
    /// process or task that polls the set. Frees hooks of an earlier run first. Sets `is_stale` if
    /// the run or the polling process has changed. Returns false, without a change, if `context`
    /// has a foreign waker, which hooks cannot wake.
    ///
    /// # Panics
    /// Panics if the scheduler has no free hook for a task.
    fn enter(&mut self, scheduler: &Scheduler, context: &Context<'_>) -> bool {
        if !scheduler.is_own(context) {
            return false;
        }
        if self.hooks.run != scheduler.run() {
            self.hooks.remove();
            self.hooks.run = scheduler.run();
            self.is_stale = true;
        }
        for at in self.hooks.ids.len()..self.tasks.len() {
            let hook = scheduler.hooks().task(&self.woken, at as u32);
            self.hooks.ids.push(hook);
        }
        let running = &scheduler.core.running;
        if !self.woken.set_poller(running.process(), running.id()) {
            // The waits of the tasks may have been reported for the previous process, so all tasks
            // must wait again.
            self.is_stale = true;
        }
        true
    }

    /// Polls the task at index `at`. If `is_own` is true, the hook of the task is the id to wake
    /// meanwhile. Otherwise its waits use the waker of `context`. Returns `Pending` if no task is
    /// there. A task that ends or panics is removed from the set.
    fn poll_task(&mut self, at: u32, is_own: bool, context: &mut Context<'_>) -> Poll<T> {
        let Some(mut task) = self.tasks[at as usize].take() else {
            return Poll::Pending;
        };
        let _entered = is_own.then(|| Entered::new(self.hooks.ids[at as usize]));
        self.free.push(at);
        let polled = task.as_mut().poll(context);
        if polled.is_pending() {
            self.free.pop();
            self.tasks[at as usize] = Some(task);
        }
        polled
    }
}

/// Marks a task as being polled until it is dropped.
struct Entered {
    /// The id that was current before.
    before: Option<u32>,
}

impl Entered {
    fn new(hook: u32) -> Self {
        let before = current::with_current(|scheduler| scheduler.core.running.set_task(hook));
        Entered { before }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            current::with_current(|scheduler| scheduler.core.running.set(before));
        }
    }
}
