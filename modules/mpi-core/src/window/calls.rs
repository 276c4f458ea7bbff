//! Operations of a rank on the memory of other ranks.

use std::ops::Range;
use std::panic::Location;

use super::super::call::{Brought, Call, CallOutcome, Needs};
use super::super::collective::shared;
use super::super::error::Error;
use super::super::instance::begin;
use super::super::value::Value;
use super::Window;
use super::access::{self, Accessing};
use super::number::{Number, Op};
use super::operation::{Operation, OperationKind};

impl<T: Value + Copy> Window<T> {
    /// Sets elements of `target` to `values`, beginning at element `offset` (`MPI_Put`). The
    /// request completes at once, but if more than 1 MiB of values are on the way to a rank of
    /// another scheduler, it waits until these have arrived.
    ///
    /// # Errors
    /// [`Error::Rank`] if the target does not exist. [`Error::Over`] if the run has ended.
    /// [`Error::Window`] if the target does not expose the elements, has dropped its window, or is
    /// in a call of [`with`](Self::with). If the target is on another scheduler, a later
    /// [`flush`](Self::flush), [`fence`](Self::fence) or [`unlock`](super::Locked::unlock) reports
    /// that it has dropped its window, or that a dynamic window does not have the elements.
    #[track_caller]
    pub fn put(&self, values: impl Into<Vec<T>>, target: usize, offset: usize) -> Accessing<T, ()> {
        self.update(
            values.into(),
            target,
            offset,
            Op::Replace,
            Location::caller(),
        )
    }

    /// Reads the elements of `target` with the indices in `elements` (`MPI_Get`). The request waits
    /// for the answer if the target is on another scheduler.
    ///
    /// # Errors
    /// The errors of [`put`](Self::put). [`Error::Window`] if the range ends before it begins.
    /// [`Error::Unreadable`] if the bytes of the answer cannot be decoded.
    #[track_caller]
    pub fn get(&self, target: usize, elements: Range<usize>) -> Accessing<T, Vec<T>> {
        if elements.start > elements.end {
            let what = format!(
                "access to elements {elements:?} of rank {target}: the range ends before it begins"
            );
            return Accessing::failed(Error::Window(what.into()));
        }
        let count = elements.len();
        let keep = (OperationKind::Fetch, Op::Keep);
        self.fetch(
            keep,
            Vec::new(),
            count,
            target,
            elements.start,
            Location::caller(),
        )
        .map(Ok)
    }

    /// Waits until all operations of this rank on `target` have completed there (`MPI_Win_flush`).
    /// The operations on ranks of this scheduler have always completed, so the request is then
    /// complete at once.
    ///
    /// # Errors
    /// If operations of this rank on `target` may not have completed: [`Error::Over`] if the run
    /// ends first, and [`Error::Window`] if the target has dropped its window. [`Error::Rank`] if
    /// the target does not exist. For a [dynamic](super::super::Communicator::dynamic_window)
    /// window, [`Error::Window`] also reports the first operation that failed since the last
    /// report.
    #[track_caller]
    pub fn flush(&self, target: usize) -> Accessing<T, ()> {
        let at = Location::caller();
        match self.target(target) {
            Ok(target) => self.flush_one(target, at),
            Err(error) => Accessing::failed(error),
        }
    }

    /// Waits until all operations of this rank on all ranks have completed there
    /// (`MPI_Win_flush_all`).
    ///
    /// # Errors
    /// The first error of [`flush`](Self::flush). All ranks are waited for even after an error.
    #[track_caller]
    pub fn flush_all(&self) -> impl Future<Output = Result<(), Error>> {
        self.flush_those(Location::caller())
    }

    pub(super) fn flush_one(
        &self,
        target: u32,
        at: &'static Location<'static>,
    ) -> Accessing<T, ()> {
        match self.under_way.borrow_mut().remove(&target) {
            Some(_) => {
                let flush = Operation::plain(OperationKind::Flush, self.rank() as u32);
                self.access(target, flush, at).map(|_| Ok(()))
            }
            None => Accessing::done(Vec::new()).map(|_| Ok(())),
        }
    }

    fn flush_those(
        &self,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<(), Error>> + use<T> {
        let targets: Vec<u32> = self.under_way.borrow().keys().copied().collect();
        let flushed: Vec<_> = targets
            .into_iter()
            .map(|target| self.flush_one(target, at))
            .collect();
        async move {
            let mut all = Ok(());
            for one in flushed {
                all = all.and(one.await);
            }
            all
        }
    }

    /// Waits until all ranks have called it and the operations of all ranks on the window have
    /// completed (`MPI_Win_fence`). Collective.
    ///
    /// # Errors
    /// The errors of [`flush_all`](Self::flush_all). [`Error::Mismatch`] if ranks make different
    /// calls, and [`Error::Over`] if the run ends first. Also after a failed operation, the call
    /// waits for the other ranks.
    #[track_caller]
    pub fn fence(&self) -> impl Future<Output = Result<(), Error>> + use<T> {
        self.complete_all(Location::caller())
    }

    pub(super) fn complete_all(
        &self,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<(), Error>> + use<T> {
        let flushed = self.flush_those(at);
        let ranks = self.ranks.clone();
        async move {
            // The barrier also follows a failed access, so that the other ranks do not block.
            let flushed = flushed.await;
            let call = Call::new::<()>("fence", None);
            let brought = Ok(Brought::<(), ()>::Nothing);
            let all = begin(
                ranks.calling(call, at),
                brought,
                Needs::All,
                |_: Vec<()>| CallOutcome::all(()),
                shared::<(), ()>,
            );
            all.await?;
            flushed
        }
    }
}

impl<T: Number> Window<T> {
    /// Combines `values` with elements of `target` by `op`, beginning at element `offset`
    /// (`MPI_Accumulate`). The request completes like [`put`](Self::put).
    ///
    /// # Errors
    /// The errors of [`put`](Self::put). [`Error::Window`] if `values` is not empty and the
    /// operation is not defined for the type: bitwise operations on floating-point numbers, and
    /// sums, products, minima and maxima of truth values.
    #[track_caller]
    pub fn accumulate(
        &self,
        values: impl Into<Vec<T>>,
        target: usize,
        offset: usize,
        op: Op,
    ) -> Accessing<T, ()> {
        self.update(values.into(), target, offset, op, Location::caller())
    }

    /// Combines `values` with elements of `target` by `op`, beginning at element `offset`, and
    /// returns the elements from before (`MPI_Get_accumulate`). The request waits for the answer if
    /// the target is on another scheduler.
    ///
    /// # Errors
    /// The errors of [`accumulate`](Self::accumulate) and [`get`](Self::get).
    #[track_caller]
    pub fn get_accumulate(
        &self,
        values: impl Into<Vec<T>>,
        target: usize,
        offset: usize,
        op: Op,
    ) -> Accessing<T, Vec<T>> {
        let values = values.into();
        let count = values.len();
        self.fetch(
            (OperationKind::Fetch, op),
            values,
            count,
            target,
            offset,
            Location::caller(),
        )
        .map(Ok)
    }

    /// Combines `value` with the element of `target` at `offset` by `op`, and returns the element
    /// from before (`MPI_Fetch_and_op`). The request waits for the answer if the target is on
    /// another scheduler.
    ///
    /// # Errors
    /// The errors of [`get_accumulate`](Self::get_accumulate).
    #[track_caller]
    pub fn fetch_and_op(&self, value: T, target: usize, offset: usize, op: Op) -> Accessing<T, T> {
        let fetched = self.fetch(
            (OperationKind::Fetch, op),
            vec![value],
            1,
            target,
            offset,
            Location::caller(),
        );
        fetched.map(access::first)
    }

    /// Sets the element of `target` at `offset` to `value` if it equals `expected`. Returns the
    /// element from before, also if it is not changed (`MPI_Compare_and_swap`). The request waits
    /// for the answer if the target is on another scheduler.
    ///
    /// # Errors
    /// The errors of [`get`](Self::get).
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        expected: T,
        value: T,
        target: usize,
        offset: usize,
    ) -> Accessing<T, T> {
        let swap = (OperationKind::CompareAndSwap, Op::Replace);
        let fetched = self.fetch(
            swap,
            vec![value, expected],
            1,
            target,
            offset,
            Location::caller(),
        );
        fetched.map(access::first)
    }
}
