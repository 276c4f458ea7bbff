//! Several futures of one process at the same time: two ([`join`]), or any number, of which those
//! are polled that were woken ([`TaskSet`]).
//!
//! Each task has a hook and is polled in its name. So the wait of a task names the hook, as that of
//! a process names the process, and costs no more. A hook that fires puts its task on a list and
//! wakes the process.

use super::current;
use super::hooks::Woken;
use super::scheduler::Scheduler;
use std::fmt;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

/// Goes on with both futures in turn until both are done: for a process that writes at one end of
/// a network and reads at the other, where neither may wait for the other.
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
            // Not both yet: what is there is kept.
            (one, other) => {
                (a, b) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}

/// The hooks of a set's tasks, in the run in which it was polled last.
#[derive(Default)]
struct TaskHooks {
    ids: Vec<u32>,
    /// The number of the run; 0: none.
    run: u64,
}

impl TaskHooks {
    /// Lets go of all.
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

/// Many futures of one process, which go on at the same time. Each is polled when something that it waits for has come, and no other is: so
/// a process may have thousands of them, where [`join`](crate::join) polls all that it has.
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
///
/// Under a waker of another library, such as a combinator of one, all of them are polled each time. A set that is dropped wakes nobody any more: who
/// has borrowed futures in it polls them by another way from then on.
#[must_use = "tasks do nothing unless they are waited for"]
pub struct TaskSet<'a, T> {
    // Before the hooks, which their waits name.
    tasks: Vec<Option<Task<'a, T>>>,
    /// The places that have none.
    free: Vec<u32>,
    hooks: TaskHooks,
    woken: Rc<Woken>,
    /// It was polled last by a foreign waker, or in another process, or never: what tasks wait for does not wake who polls it now.
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
    /// None yet.
    pub fn new() -> Self {
        TaskSet {
            tasks: Vec::new(),
            free: Vec::new(),
            hooks: TaskHooks::default(),
            woken: Rc::default(),
            is_stale: true,
        }
    }

    /// How many have not ended.
    pub fn len(&self) -> usize {
        self.tasks.len() - self.free.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One more. It has its first turn when the set is waited for next.
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

    /// Goes on with all until one has ended, in whatever order they do: what has come of it. `None`: there are none.
    pub fn join_next(&mut self) -> impl Future<Output = Option<T>> {
        poll_fn(|context| self.poll_join_next(context))
    }

    /// As [`join_next`](Self::join_next), for who writes a future by hand. Who has been given one has not yet polled all that were woken.
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
        // Those that are woken meanwhile have their turn in the next one, as the process is woken for them: one may wake itself for ever.
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

    /// Makes sure that the hooks are those of the run that is on, and that who polls is woken by them; false: by a foreign waker it cannot be.
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
            // What tasks wait for was told of the other.
            self.is_stale = true;
        }
        true
    }

    /// Polls a task, if there is one at this place, by its hook or by the waker that is given. One that panics is gone.
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

/// While it lives, a task is being polled.
struct Entered {
    /// Who was before.
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
