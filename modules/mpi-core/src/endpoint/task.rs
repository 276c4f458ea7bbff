//! Wait for the end of a task of the same process.

use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::super::communicator::Communicator;
use super::super::erased::Erased;
use super::super::error::Error;
use super::super::request::Handle;
use super::super::state::World;
use super::thread_table::TASK;

/// Handle of a task. Dropping it marks the end of the task and completes its [`TaskEnd`].
#[must_use = "dropping it ends the task"]
pub struct Task {
    world: Rc<World>,
    /// `None` if the run was already over.
    entry: Option<u32>,
}

impl Drop for Task {
    fn drop(&mut self) {
        if let Some(entry) = self.entry {
            let unwanted = self
                .world
                .change(|matching| matching.answered(entry, Erased::one(())));
            drop(unwanted);
        }
    }
}

/// Future that completes at the end of a task. It returns [`Error::Over`] if the run ends first,
/// and [`Error::Inactive`] if it is polled again.
#[must_use = "if the task is not awaited, its caller continues before it ends"]
pub struct TaskEnd(Handle);

impl Future for TaskEnd {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll(context).map(|ended| ended.map(drop))
    }
}

impl Communicator {
    /// Creates a task of this process, in the name of this rank. Returns its handle, and a future
    /// that completes when the handle is dropped. Other tasks of the process await the future.
    ///
    /// Deadlock reports show this wait with the position of this call. Use it for synchronization
    /// of your own that such reports should include. The future returns [`Error::Over`] if the run
    /// is over, or ends before the handle is dropped.
    ///
    /// ```
    /// use graphmap_runtime::{Local, Options, join, mpi};
    ///
    /// async fn rank() -> Result<(), mpi::Error> {
    ///     let world = mpi::world()?;
    ///     let (task, end) = world.task();
    ///     let works = async {
    ///         world.barrier().await?;
    ///         drop(task);
    ///         Ok::<(), mpi::Error>(())
    ///     };
    ///     assert_eq!(join(end, works).await, (Ok(()), Ok(())));
    ///     Ok(())
    /// }
    ///
    /// let mut net = Local::new();
    /// (0..3).for_each(|_| drop(net.spawn(rank())));
    /// net.run(&Options::new()).unwrap();
    /// ```
    #[track_caller]
    pub fn task(&self) -> (Task, TaskEnd) {
        let at = Location::caller();
        let world = Rc::clone(&self.shared().world);
        let here = (self.shared().number(), self.rank() as u32);
        let member = self.member();
        let (entry, is_over) = world.change(|matching| match matching.is_over {
            true => (matching.failed(Error::Over, at), true),
            false => (matching.access(member, here, TASK, at), false),
        });
        let end = TaskEnd(Handle::new(&world, entry));
        let entry = (!is_over).then_some(entry);
        (Task { world, entry }, end)
    }
}
