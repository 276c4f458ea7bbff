//! Collective calls: what all ranks of a communicator do together.

use std::any::Any;
use std::panic::Location;
use std::rc::Rc;

use super::call::{Brought, Call, CallOutcome, Data, Needs, Reduction, Taker};
use super::communicator::Communicator;
use super::error::Error;
use super::round::{Calling, Collective, begin};
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

/// Of calls with a root: what this rank needs, and how it takes it.
type Rooted<R> = (Needs, fn(&mut dyn Any, Taker) -> Option<Option<R>>);

/// # Collective calls
///
/// All ranks make the same ones in the same order. Each begins when it is called, as all calls here, so several may be
/// under way: what is returned is to be awaited for the result, at once or later. Work and memory are in proportion to the
/// number of ranks, and so is what is returned. Where ranks make different calls in the same place, or with another root
/// or type, all of them are told [`Error::Mismatch`] that
/// have not gone on before; what is wrong with one rank's call is told to all, too.
///
/// Results are made of the values in the order of ranks, whoever comes first: so operations need not commute, and
/// sums of floating point numbers are the same each time. All ranks have to bring the same operation. A panic in an operation ends the
/// run, even if the rank catches it, because the other ranks wait for the result. Nothing can wait in an operation.
impl Communicator {
    pub(super) fn calling(&self, call: Call, at: &'static Location<'static>) -> Calling<'_> {
        Calling {
            shared: self.shared(),
            rank: self.rank() as u32,
            call,
            at,
        }
    }

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

    fn rooted<T: 'static, R: 'static>(&self, root: usize) -> Rooted<R> {
        match self.is_root(root) {
            true => (Needs::All, at_root::<T, R>),
            false => (Needs::Nothing, nothing),
        }
    }

    /// As many as there are ranks.
    fn one_each<T>(&self, values: Vec<T>) -> Result<Vec<T>, Error> {
        let (given, wanted) = (values.len(), self.size());
        match given == wanted {
            true => Ok(values),
            false => Err(Error::Count { given, wanted }),
        }
    }

    /// Waits until all ranks have called it.
    ///
    /// ```
    /// # use graphmap_runtime::{Local, Options, mpi};
    /// # let mut net = Local::new();
    /// # for _ in 0..3 { net.spawn(async {
    /// let world = mpi::world()?;
    /// let all_here = world.barrier(); // MPI_Ibarrier
    /// // ... something else ...
    /// all_here.await?;
    /// # Ok::<(), mpi::Error>(()) }); }
    /// # net.run(&Options::new()).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`Error::Mismatch`], [`Error::Over`], as for all collective calls.
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

    /// Gives all ranks a copy of the root's value; what others bring is dropped. A rank goes on when the root has called.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Count`]: the root brings nothing.
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

    /// Gives the root the values of all, in the order of ranks; the others get `None`, and go on. Values may be of different
    /// lengths, so this is `MPI_Gatherv` too.
    ///
    /// # Errors
    /// [`Error::Rank`].
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

    /// Gives each rank one of the root's values, in the order of ranks; what others bring is dropped. Values may be of
    /// different lengths, so this is `MPI_Scatterv` too.
    ///
    /// # Errors
    /// [`Error::Rank`]; [`Error::Count`]: the root has not as many values as there are ranks.
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

    /// Gives all ranks the values of all, in the order of ranks: one and the same slice, so that a million ranks have it once.
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

    /// Gives each rank what each has for it: the n-th of the values is for rank n, and the n-th that comes is from rank n.
    ///
    /// # Errors
    /// [`Error::Count`]: a rank has not as many values as there are ranks.
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

    /// Gives the root the values of all, combined by an operation; the others get `None`, and go on.
    ///
    /// # Errors
    /// [`Error::Rank`].
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

    /// Gives all ranks the values of all, combined by an operation.
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

    /// Gives the n-th rank the n-th value of all, combined by an operation. Values may themselves be vectors, of as many
    /// elements as each rank is to get: so it is `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    ///
    /// # Errors
    /// [`Error::Count`]: a rank has not as many values as there are ranks.
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

    /// Gives each rank the values of the ranks up to and with its own, combined by an operation.
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

    /// Gives each rank the values of the ranks before it, combined by an operation; `None` to the first.
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
