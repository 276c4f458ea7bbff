//! Collective calls, which all ranks of a communicator make together.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Data, Needs, Reduction, Taker};
use super::communicator::Communicator;
use super::error::Error;
use super::instance::{Calling, Collective, begin};
use super::value::Value;

fn nothing<R>(_: &mut dyn Any, _: Taker) -> Option<Option<R>> {
    Some(None)
}

pub(super) fn shared<T: 'static, R: Clone + 'static>(
    data: &mut dyn Any,
    taker: Taker,
) -> Option<R> {
    data.downcast_mut::<Data<T, R>>()?.shared(taker)
}

pub(super) fn part<T: 'static, R: 'static>(data: &mut dyn Any, taker: Taker) -> Option<R> {
    data.downcast_mut::<Data<T, R>>()?.part(taker.rank)
}

fn at_root<T: 'static, R: 'static>(data: &mut dyn Any, _: Taker) -> Option<Option<R>> {
    Some(Some(data.downcast_mut::<Data<T, R>>()?.root()?))
}

/// For calls with a root: the values that this rank waits for, and the function that takes its
/// result.
type Rooted<R> = (Needs, fn(&mut dyn Any, Taker) -> Option<Option<R>>);

/// # Collective calls
///
/// All ranks of a communicator must make the same collective calls in the same order. A call begins
/// when it is made, so several calls may be in progress. Await the returned value, at once or
/// later, for the result. A rank that does not await its calls can be at most 65,535 calls ahead of
/// the others. A later call then returns [`Error::Inactive`], and its contribution is lost. Work
/// and memory are linear in the number of ranks and in the size of the results.
///
/// If ranks make different calls, or the same call with another root or type, every rank that has
/// not completed its call gets [`Error::Mismatch`]. Names of calls, roots and types are compared,
/// but not operations or lengths. An error in the call of one rank is also reported to every rank
/// that has not completed its call. If the run ends before the call completes, the call returns
/// [`Error::Over`].
///
/// Results are computed in the order of ranks, not in the order of arrival. Operations therefore
/// need not be commutative, and sums of floating-point numbers are reproducible. All ranks must
/// pass the same operation. An operation must not wait. A panic in an operation ends the run even
/// if the rank catches it, because the other ranks wait for the result.
impl Communicator {
    pub(super) fn calling(&self, call: Call, at: &'static Location<'static>) -> Calling<'_> {
        Calling {
            shared: self.shared(),
            rank: self.rank() as u32,
            call,
            at,
        }
    }

    /// Checks that the communicator has the rank `root`. Returns [`Error::Rank`] otherwise.
    fn root(&self, root: usize) -> Result<(), Error> {
        let size = self.size();
        match root < size {
            true => Ok(()),
            false => Err(Error::Rank { rank: root, size }),
        }
    }

    fn is_root(&self, root: usize) -> bool {
        self.rank() == root
    }

    /// Returns the needs of this rank in a call whose result only the root gets, and the function
    /// that takes the result. At the other ranks, the function returns `None` as the result.
    fn rooted<T: 'static, R: 'static>(&self, root: usize) -> Rooted<R> {
        match self.is_root(root) {
            true => (Needs::All, at_root::<T, R>),
            false => (Needs::Nothing, nothing),
        }
    }

    /// Returns the values if there is one for each rank, and [`Error::Count`] otherwise.
    fn one_each<T>(&self, values: Vec<T>) -> Result<Vec<T>, Error> {
        let (given, wanted) = (values.len(), self.size());
        match given == wanted {
            true => Ok(values),
            false => Err(Error::Count { given, wanted }),
        }
    }

    /// Waits until all ranks have called it (`MPI_Barrier`).
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # let mut net = Local::new();
    /// # for _ in 0..3 { net.spawn(async {
    /// let world = mpi::world()?;
    /// let all_here = world.barrier(); // MPI_Ibarrier
    /// // ... other work ...
    /// all_here.await?;
    /// # Ok::<(), mpi::Error>(()) }); }
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for all collective calls.
    #[track_caller]
    pub fn barrier(&self) -> Collective<()> {
        self.barrier_at(Location::caller())
    }

    pub(super) fn barrier_at(&self, at: &'static Location<'static>) -> Collective<()> {
        let call = Call::new::<()>("barrier", None);
        let brought = Ok(Brought::<(), ()>::Nothing);
        let make = move |_| CallOutcome::all(());
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            shared::<(), ()>,
        )
    }

    /// Sends a copy of the root's value to all ranks (`MPI_Bcast`). The values of other ranks are
    /// dropped. A rank waits only for the root, and for other ranks only if it is eight collective
    /// calls ahead.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Rank`] if the root
    /// does not exist, and [`Error::Count`] if the root has no value.
    #[track_caller]
    pub fn bcast<T: Value + Clone>(&self, value: Option<T>, root: usize) -> Collective<T> {
        self.bcast_at(value, root, Location::caller())
    }

    pub(super) fn bcast_at<T: Value + Clone>(
        &self,
        value: Option<T>,
        root: usize,
        at: &'static Location<'static>,
    ) -> Collective<T> {
        let call = Call::new::<T>("bcast", Some(root));
        let brought = self
            .root(root)
            .and_then(|()| match (self.is_root(root), value) {
                (true, Some(value)) => Ok(Brought::Outcome(CallOutcome::all(value))),
                (true, None) => Err(Error::Count {
                    given: 0,
                    wanted: 1,
                }),
                (false, _) => Ok(Brought::<(), T>::Nothing),
            });
        let make = move |_| CallOutcome::None;
        begin(
            self.calling(call, at),
            brought,
            Needs::Root,
            make,
            shared::<(), T>,
        )
    }

    /// Gathers the values of all ranks at the root, in the order of ranks (`MPI_Gather`). The other
    /// ranks get `None`, and wait only if they are eight collective calls ahead. Values may differ
    /// in length, so this is also `MPI_Gatherv`.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Rank`] if the root does not exist.
    #[track_caller]
    pub fn gather<T: Value>(&self, value: T, root: usize) -> Collective<Option<Vec<T>>> {
        let (call, at) = (Call::new::<T>("gather", Some(root)), Location::caller());
        let (needs, take) = self.rooted::<T, Vec<T>>(root);
        let brought = self.root(root).map(|()| Brought::Part(value));
        begin(
            self.calling(call, at),
            brought,
            needs,
            CallOutcome::Root,
            take,
        )
    }

    /// Sends the n-th value of the root to rank n (`MPI_Scatter`). The values of other ranks are
    /// dropped. A rank waits only for the root, and for other ranks only if it is eight collective
    /// calls ahead. Values may differ in length, so this is also `MPI_Scatterv`.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Rank`] if the root does not exist.
    /// [`Error::Count`] if the root does not pass one value for each rank. `None` counts as no
    /// values.
    #[track_caller]
    pub fn scatter<T: Value>(&self, values: Option<Vec<T>>, root: usize) -> Collective<T> {
        let (call, at) = (Call::new::<T>("scatter", Some(root)), Location::caller());
        let brought = self.root(root).and_then(|()| match self.is_root(root) {
            true => {
                let values = self.one_each(values.unwrap_or_default())?;
                let each = values.into_iter().map(Some).collect();
                Ok(Brought::Outcome(CallOutcome::Each(each)))
            }
            false => Ok(Brought::<(), T>::Nothing),
        });
        let make = move |_| CallOutcome::None;
        begin(
            self.calling(call, at),
            brought,
            Needs::Root,
            make,
            part::<(), T>,
        )
    }

    /// Gathers the values of all ranks at all ranks, in the order of ranks (`MPI_Allgather`). The
    /// ranks of a scheduler share one slice, so memory does not grow with the square of their
    /// number.
    ///
    /// # Errors
    /// As for all collective calls.
    #[track_caller]
    pub fn allgather<T: Value>(&self, value: T) -> Collective<Rc<[T]>> {
        let (call, at) = (Call::new::<T>("allgather", None), Location::caller());
        let brought = Ok(Brought::Part(value));
        let make = move |all: Vec<T>| CallOutcome::all(Rc::<[T]>::from(all));
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            shared::<T, Rc<[T]>>,
        )
    }

    /// Exchanges values between all ranks (`MPI_Alltoall`). The n-th value is sent to rank n, and
    /// the n-th value of the result is from rank n.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Count`] if a rank does not have one value for each
    /// rank.
    #[track_caller]
    pub fn alltoall<T: Value>(&self, values: Vec<T>) -> Collective<Vec<T>> {
        let (call, at) = (Call::new::<Vec<T>>("alltoall", None), Location::caller());
        let brought = self.one_each(values).map(Brought::Part);
        let size = self.size();
        let make = move |all: Vec<Vec<T>>| {
            let mut rows: Vec<_> = all.into_iter().map(Vec::into_iter).collect();
            let column = |_: usize| {
                Some(
                    rows.iter_mut()
                        .filter_map(Iterator::next)
                        .collect::<Vec<T>>(),
                )
            };
            CallOutcome::Each((0..size).map(column).collect())
        };
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<Vec<T>, Vec<T>>,
        )
    }

    /// Sends values to some ranks, and returns the values for this rank with the ranks that sent
    /// them. They are in the order of these ranks, and then in the order in which a rank passed
    /// them. Work and memory are linear in the number of values. MPI has no such call, but
    /// exchanges with few ranks, such as those of neighbours, are made of it.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # async fn rank() -> Result<(), mpi::Error> {
    /// let world = mpi::world()?;
    /// let me = world.rank();
    /// // Each rank sends two values to rank 0, and the last rank gets one from itself.
    /// let mut values = vec![(0, 10 * me), (0, 10 * me + 1)];
    /// values.extend((me + 1 == world.size()).then_some((me, 7)));
    /// let received = world.exchange(values).await?;
    /// match me {
    ///     0 => assert_eq!(received, [(0, 0), (0, 1), (1, 10), (1, 11), (2, 20), (2, 21)]),
    ///     1 => assert_eq!(received, []),
    ///     _ => assert_eq!(received, [(2, 7)]),
    /// }
    /// // A rank that does not exist is an error of all ranks.
    /// assert!(world.exchange(vec![(me + 1, 0)]).await.is_err());
    /// # Ok(())
    /// # }
    /// # let mut net = Local::new();
    /// # (0..3).for_each(|_| drop(net.spawn(rank())));
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Rank`] if a rank sends to a rank that does not
    /// exist.
    #[track_caller]
    pub fn exchange<T: Value>(&self, values: Vec<(usize, T)>) -> Collective<Vec<(usize, T)>> {
        type Parts<T> = Vec<(usize, T)>;
        let (call, at) = (Call::new::<Parts<T>>("exchange", None), Location::caller());
        let size = self.size();
        let mut ranks = values.iter().map(|&(rank, _)| rank);
        let brought = match ranks.find(|&rank| rank >= size) {
            Some(rank) => Err(Error::Rank { rank, size }),
            None => Ok(Brought::Part(values)),
        };
        let make = move |all: Vec<Parts<T>>| {
            let mut each: Vec<Parts<T>> = Vec::new();
            each.resize_with(size, Vec::new);
            for (source, values) in all.into_iter().enumerate() {
                for (rank, value) in values {
                    each[rank].push((source, value));
                }
            }
            CallOutcome::Each(each.into_iter().map(Some).collect())
        };
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<Parts<T>, Parts<T>>,
        )
    }

    /// Combines the values of all ranks with `op` and returns the result at the root
    /// (`MPI_Reduce`). The other ranks get `None`, and wait only if they are eight collective calls
    /// ahead.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Rank`] if the root does not exist.
    #[track_caller]
    pub fn reduce<T: Value>(
        &self,
        value: T,
        op: impl FnMut(T, T) -> T + 'static,
        root: usize,
    ) -> Collective<Option<T>> {
        let (call, at) = (Call::new::<T>("reduce", Some(root)), Location::caller());
        let (needs, take) = self.rooted::<T, T>(root);
        let brought = self.root(root).map(|()| Brought::Part(value));
        let make = Reduction {
            op,
            outcome: CallOutcome::Root,
        };
        begin(self.calling(call, at), brought, needs, make, take)
    }

    /// Combines the values of all ranks with `op` and returns the result at all ranks
    /// (`MPI_Allreduce`).
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # let mut net = Local::new();
    /// # for _ in 0..4 { net.spawn(async {
    /// let world = mpi::world()?;
    /// let sum = world.allreduce(world.rank() as u64, |a, b| a + b).await?;
    /// assert_eq!(sum, 0 + 1 + 2 + 3);
    /// # Ok::<(), mpi::Error>(()) }); }
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for all collective calls.
    #[track_caller]
    pub fn allreduce<T: Value + Clone>(
        &self,
        value: T,
        op: impl FnMut(T, T) -> T + 'static,
    ) -> Collective<T> {
        self.allreduce_at(value, op, Location::caller())
    }

    pub(super) fn allreduce_at<T: Value + Clone>(
        &self,
        value: T,
        op: impl FnMut(T, T) -> T + 'static,
        at: &'static Location<'static>,
    ) -> Collective<T> {
        let call = Call::new::<T>("allreduce", None);
        let make = Reduction {
            op,
            outcome: |value| CallOutcome::all(value),
        };
        let brought = Ok(Brought::Part(value));
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            shared::<T, T>,
        )
    }

    /// Combines the n-th values of all ranks with `op` and returns the result at rank n. The n-th
    /// value may be a vector with all elements for rank n, so this is `MPI_Reduce_scatter` and
    /// `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// As for all collective calls, and [`Error::Count`] if a rank does not have one value for each
    /// rank.
    #[track_caller]
    pub fn reduce_scatter<T: Value>(
        &self,
        values: Vec<T>,
        mut op: impl FnMut(T, T) -> T + 'static,
    ) -> Collective<T> {
        let (call, at) = (
            Call::new::<Vec<T>>("reduce_scatter", None),
            Location::caller(),
        );
        let brought = self.one_each(values).map(Brought::Part);
        let size = self.size();
        let make = move |all: Vec<Vec<T>>| {
            let mut rows: Vec<_> = all.into_iter().map(Vec::into_iter).collect();
            let mut column = |_: usize| {
                let column = rows.iter_mut().filter_map(Iterator::next);
                column.reduce(&mut op)
            };
            CallOutcome::Each((0..size).map(&mut column).collect())
        };
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<Vec<T>, T>,
        )
    }

    /// Inclusive prefix reduction (`MPI_Scan`). Returns the values of the ranks up to and including
    /// this one, combined with `op`.
    ///
    /// # Errors
    /// As for all collective calls.
    #[track_caller]
    pub fn scan<T: Value + Clone>(
        &self,
        value: T,
        mut op: impl FnMut(T, T) -> T + 'static,
    ) -> Collective<T> {
        let (call, at) = (Call::new::<T>("scan", None), Location::caller());
        let make = move |all: Vec<T>| {
            let mut sum: Option<T> = None;
            let each = all.into_iter().map(|value| {
                sum = Some(match sum.take() {
                    Some(sum) => op(sum, value),
                    None => value,
                });
                sum.clone()
            });
            CallOutcome::Each(each.collect())
        };
        let brought = Ok(Brought::Part(value));
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<T, T>,
        )
    }

    /// Exclusive prefix reduction (`MPI_Exscan`). Returns the values of the ranks before this one,
    /// combined with `op`. The first rank gets `None`.
    ///
    /// # Errors
    /// As for all collective calls.
    #[track_caller]
    pub fn exscan<T: Value + Clone>(
        &self,
        value: T,
        mut op: impl FnMut(T, T) -> T + 'static,
    ) -> Collective<Option<T>> {
        let (call, at) = (Call::new::<T>("exscan", None), Location::caller());
        let make = move |all: Vec<T>| {
            let mut sum: Option<T> = None;
            let each = all.into_iter().map(|value| {
                let before = sum.clone();
                sum = Some(match sum.take() {
                    Some(sum) => op(sum, value),
                    None => value,
                });
                Some(before)
            });
            CallOutcome::Each(each.collect())
        };
        let brought = Ok(Brought::Part(value));
        begin(
            self.calling(call, at),
            brought,
            Needs::All,
            make,
            part::<T, Option<T>>,
        )
    }
}
