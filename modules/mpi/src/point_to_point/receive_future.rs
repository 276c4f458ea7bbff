//! Receives of single values that were started.

use std::marker::PhantomData;
use std::pin::Pin;
use std::task::Poll;

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::Request as _;

use crate::buffer_range::{status, value};
use crate::datatype::traits::Equivalence;
use crate::done;
use crate::fiber::{poll_once, wait};
use crate::request::yield_to_ranks;
use crate::status::Status;

/// A value that is to be received. If this is dropped, the receive is cancelled.
#[must_use]
pub struct ReceiveFuture<T> {
    receiving: core::Receiving<core::Packed>,
    /// Rank in the carrying communicator that is rank 0 for the program.
    offset: usize,
    value: PhantomData<fn() -> T>,
}

impl<T: Equivalence> ReceiveFuture<T> {
    pub(super) fn new(receiving: core::Receiving<core::Packed>, offset: usize) -> Self {
        ReceiveFuture {
            receiving,
            offset,
            value: PhantomData,
        }
    }

    #[track_caller]
    fn opened(
        received: Result<(core::Packed, core::Status), core::Error>,
        offset: usize,
    ) -> (T, Status) {
        let (bytes, core_status) = done(received);
        (
            done(value(&bytes)),
            Status::from_raw(status(core_status, offset)),
        )
    }

    /// Blocks until the value has arrived, and returns the value and the status of its message.
    ///
    /// # Panics
    /// On the errors of [`try_receive_with_tag`](super::source::Source::try_receive_with_tag), or
    /// if the datatype of `T` extends beyond a value. Also if the caller is not on the stack of a
    /// rank, is inside an operation of a reduction or the poll of a future, or would have to block
    /// while its stack is unwinding.
    #[track_caller]
    pub fn get(self) -> (T, Status) {
        Self::opened(wait(self.receiving), self.offset)
    }

    /// Returns the value and the status of its message if the value has arrived. Otherwise lets all
    /// other ranks run once and returns the future.
    ///
    /// # Errors
    /// The future itself, if the value has not arrived.
    ///
    /// # Panics
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn r#try(mut self) -> Result<(T, Status), Self> {
        if !self.receiving.is_done() {
            yield_to_ranks();
            return Err(self);
        }
        match poll_once(Pin::new(&mut self.receiving)) {
            Poll::Ready(received) => Ok(Self::opened(received, self.offset)),
            Poll::Pending => Err(self),
        }
    }
}
