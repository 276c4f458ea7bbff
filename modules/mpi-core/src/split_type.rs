//! Communicators of ranks with a common property that the run knows.

use super::communicator::Communicator;
use super::error::Error;

/// Property that the ranks of a communicator share (`MPI_Comm_split_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitType {
    /// The kind of process.
    Kind,
    /// The scheduler, which runs its ranks on one thread.
    Scheduler,
    /// The OS process: values move between its ranks without a copy (`MPI_COMM_TYPE_SHARED`).
    OsProcess,
    /// The host, or the OS process if the name of the host is not known.
    Host,
}

impl Communicator {
    /// Creates a communicator of the ranks that share the property `by` with this rank
    /// (`MPI_Comm_split_type`). The ranks of the new communicator are ordered by key, and by their
    /// rank in this communicator if keys are equal. Collective.
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
    /// [`Error::Mismatch`] if ranks make different calls, [`Error::Over`] if the run ends first,
    /// and the other errors of [`Communicator::split`].
    #[track_caller]
    pub fn split_type(
        &self,
        by: SplitType,
        key: i64,
    ) -> impl Future<Output = Result<Communicator, Error>> + use<> {
        let made = self.split(Some(self.colour(by)), key);
        async move { made.await?.ok_or(Error::Inactive) }
    }

    /// Returns the number of the property `by` of this rank: of its kind, of its scheduler, of its
    /// OS process, or of the first OS process on its host. It is equal for the ranks that share the
    /// property.
    fn colour(&self, by: SplitType) -> u32 {
        let world = &self.shared().world;
        // The process of a rank of this scheduler is known, so the default is not used.
        world.lowest(by, world.process_of(self.member()).unwrap_or_default())
    }
}
