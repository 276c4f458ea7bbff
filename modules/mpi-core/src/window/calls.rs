//! What a rank asks of the memory of others.

use std::ops::Range;
use std::panic::Location;

use super::super::call::{Brought, Call, CallOutcome, Needs};
use super::super::collective::shared;
use super::super::error::Error;
use super::super::round::begin;
use super::super::value::Value;
use super::Window;
use super::access::{self, Accessing};
use super::number::{Number, Op};
use super::operation::{Operation, What};

impl<T: Value + Copy> Window<T> {
    /// Sets elements of a rank (`MPI_Put`), from `offset` on.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Window`], [`Error::Over`].
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

    /// Reads elements of a rank (`MPI_Get`).
    ///
    /// # Errors
    /// As for [`put`](Self::put); [`Error::Window`], too, if the range ends before it begins.
    #[track_caller]
    pub fn get(&self, target: usize, elements: Range<usize>) -> Accessing<T, Vec<T>> {
        if elements.start > elements.end {
            let what = format!(
                "access to elements {elements:?} of rank {target}: the range ends before it begins"
            );
            return Accessing::failed(Error::Window(what.into()));
        }
        let count = elements.len();
        let keep = (What::Fetch, Op::Keep);
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

    /// Waits until all that this rank has asked of another has been done (`MPI_Win_flush`).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn flush(&self, target: usize) -> Accessing<T, ()> {
        let at = Location::caller();
        match self.target(target) {
            Ok(target) => self.flush_one(target, at),
            Err(error) => Accessing::failed(error),
        }
    }

    /// As [`flush`](Self::flush), of all ranks.
    ///
    /// # Errors
    /// As there.
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
                let flush = Operation::plain(What::Flush, self.rank() as u32);
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

    /// Waits for all ranks, and until all that they have asked for has been done (`MPI_Win_fence`). A collective call.
    ///
    /// # Errors
    /// As for [`put`](Self::put), and for all collective calls.
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
            // The others are not to wait for one that has failed.
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
    /// Combines values with elements of a rank (`MPI_Accumulate`).
    ///
    /// # Errors
    /// As for [`put`](Self::put), and if the operation is not for such numbers: bits of floating point numbers, sums of
    /// truth values.
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

    /// The same, and what was there before (`MPI_Get_accumulate`).
    ///
    /// # Errors
    /// As for [`accumulate`](Self::accumulate).
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
            (What::Fetch, op),
            values,
            count,
            target,
            offset,
            Location::caller(),
        )
        .map(Ok)
    }

    /// The same with one element (`MPI_Fetch_and_op`).
    ///
    /// # Errors
    /// As for [`accumulate`](Self::accumulate).
    #[track_caller]
    pub fn fetch_and_op(&self, value: T, target: usize, offset: usize, op: Op) -> Accessing<T, T> {
        let fetched = self.fetch(
            (What::Fetch, op),
            vec![value],
            1,
            target,
            offset,
            Location::caller(),
        );
        fetched.map(access::first)
    }

    /// Sets an element of a rank to `value` if it equals `expected`: what it was before (`MPI_Compare_and_swap`).
    ///
    /// # Errors
    /// As for [`put`](Self::put).
    #[track_caller]
    pub fn compare_and_swap(
        &self,
        expected: T,
        value: T,
        target: usize,
        offset: usize,
    ) -> Accessing<T, T> {
        let swap = (What::CompareAndSwap, Op::Replace);
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
