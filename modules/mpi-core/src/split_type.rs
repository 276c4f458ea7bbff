//! Communicators of ranks that have something in common, as the run knows it.

use super::communicator::Communicator;
use super::error::Error;

/// What the ranks of a communicator have in common (`MPI_Comm_split_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitType {
    /// The kind of process that they are.
    Kind,
    /// The scheduler: they take turns on one thread.
    Scheduler,
    /// The OS process: values move between them without a copy (`MPI_COMM_TYPE_SHARED`).
    OsProcess,
    /// The host. Where its name is not known, the OS process.
    Host,
}

impl Communicator {
    /// The communicator of those ranks that have this in common with the one that asks, in the order of their keys, and
    /// of their ranks where keys are equal. A collective call.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # let mut net = Local::new();
    /// # for _ in 0..3 { net.spawn(async {
    /// let world = mpi::world()?;
    /// let here = world.split_type(mpi::SplitType::OsProcess, 0).await?;
    /// // Combined here first, and then between the first ranks of all OS processes.
    /// let sum = here.reduce(1, |a, b| a + b, 0).await?;
    /// # assert_eq!(sum, (here.rank() == 0).then_some(3));
    /// # Ok::<(), mpi::Error>(()) }); }
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for [`Communicator::split`].
    #[track_caller]
    pub fn split_type(
        &self,
        by: SplitType,
        key: i64,
    ) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        let made = self.split(Some(self.colour(by)), key);
        async move { made.await?.ok_or(Error::Inactive) }
    }

    /// The lowest number of those that have this in common with the rank that asks.
    fn colour(&self, by: SplitType) -> u32 {
        let world = &self.shared().world;
        // Who has a rank knows whose it is.
        world.lowest(by, world.process_of(self.home()).unwrap_or_default())
    }
}
