//! Calls that send one message and receive another at the same time (`MPI_Sendrecv`).

use graphmap_runtime::mpi::SendMode;

use super::destination::{Destination, begin as begin_send};
use super::source::{Source, into_buffer};
use crate::abi::RSMPI_ANY_TAG;
use crate::buffer_range::{BufferRange, Content};
use crate::datatype::traits::{Buffer, BufferMut, Equivalence};
use crate::request::complete;
use crate::status::Status;
use crate::topology::{AsCommunicator, Communicator, CommunicatorRelation};
use crate::{Tag, done};

/// Checks that both processes are of the same communicator.
///
/// # Panics
/// If they are of different communicators.
#[track_caller]
fn same_communicator<D: AsCommunicator, S: AsCommunicator>(destination: &D, source: &S) {
    let relation = source
        .as_communicator()
        .compare(destination.as_communicator());
    assert_eq!(relation, CommunicatorRelation::Identical);
}

/// Sends elements and receives into a range. Blocks until both calls are done, and returns the
/// status of the received message.
///
/// # Panics
/// As [`send_receive_into_with_tags`].
///
/// # Safety
/// The buffer of `range` must be borrowed until this function returns.
#[track_caller]
unsafe fn exchange<D: Destination, S: Source>(
    content: Content<'_>,
    destination: &D,
    sendtag: Tag,
    range: BufferRange,
    source: &S,
    receivetag: Tag,
) -> Status {
    same_communicator(destination, source);
    // SAFETY: guaranteed by the caller. The receive is complete when this function returns.
    let receive = unsafe { into_buffer(source, range, receivetag) };
    let send = begin_send(destination, SendMode::Standard, content, sendtag);
    done(complete(send));
    Status::from_raw(done(complete(receive)))
}

/// Sends a value and receives another. Blocks until both calls are done. Returns the received value
/// and the status of its message.
///
/// # Panics
/// As for [`Source::receive_with_tag`] and [`Destination::send_with_tag`], for example if the
/// received message is not an `R`. All functions of this module also panic if the source and the
/// destination are of different communicators.
#[track_caller]
pub fn send_receive_with_tags<M, D, R, S>(
    msg: &M,
    destination: &D,
    sendtag: Tag,
    source: &S,
    receivetag: Tag,
) -> (R, Status)
where
    M: Equivalence,
    D: Destination,
    R: Equivalence,
    S: Source,
{
    same_communicator(destination, source);
    let received = source.immediate_receive_with_tag::<R>(receivetag);
    let send = begin_send(destination, SendMode::Standard, Content::of(msg), sendtag);
    done(complete(send));
    received.get()
}

/// Sends a value with tag 0 and receives another with any tag: see [`send_receive_with_tags`].
///
/// # Panics
/// As [`send_receive_with_tags`].
#[track_caller]
pub fn send_receive<R, M, D, S>(msg: &M, destination: &D, source: &S) -> (R, Status)
where
    M: Equivalence,
    D: Destination,
    R: Equivalence,
    S: Source,
{
    send_receive_with_tags(msg, destination, Tag::default(), source, RSMPI_ANY_TAG)
}

/// Sends the elements of a buffer and receives into another buffer, which may be longer than the
/// received message. Blocks until both calls are done, and returns the status of the received
/// message.
///
/// # Panics
/// As for [`Source::receive_into_with_tag`] and [`Destination::send_with_tag`], for example if the
/// buffer is shorter than the received message. Also if the source and the destination are of
/// different communicators.
#[track_caller]
pub fn send_receive_into_with_tags<M, D, B, S>(
    msg: &M,
    destination: &D,
    sendtag: Tag,
    buf: &mut B,
    source: &S,
    receivetag: Tag,
) -> Status
where
    M: Buffer + ?Sized,
    D: Destination,
    B: BufferMut + ?Sized,
    S: Source,
{
    let range = BufferRange::of(buf);
    // SAFETY: the buffer is borrowed.
    unsafe {
        exchange(
            Content::of(msg),
            destination,
            sendtag,
            range,
            source,
            receivetag,
        )
    }
}

/// Sends the elements of a buffer with tag 0 and receives any tag into another buffer: see
/// [`send_receive_into_with_tags`].
///
/// # Panics
/// As [`send_receive_into_with_tags`].
#[track_caller]
pub fn send_receive_into<M, D, B, S>(msg: &M, destination: &D, buf: &mut B, source: &S) -> Status
where
    M: Buffer + ?Sized,
    D: Destination,
    B: BufferMut + ?Sized,
    S: Source,
{
    send_receive_into_with_tags(msg, destination, Tag::default(), buf, source, RSMPI_ANY_TAG)
}

/// Sends the elements of a buffer and receives into the same buffer (`MPI_Sendrecv_replace`).
/// Blocks until both calls are done, and returns the status of the received message. The elements
/// are copied before the receive.
///
/// # Panics
/// As [`send_receive_into_with_tags`].
#[track_caller]
pub fn send_receive_replace_into_with_tags<B, D, S>(
    buf: &mut B,
    destination: &D,
    sendtag: Tag,
    source: &S,
    receivetag: Tag,
) -> Status
where
    B: BufferMut + ?Sized,
    D: Destination,
    S: Source,
{
    let range = BufferRange::of(buf);
    // SAFETY: the buffer is borrowed.
    unsafe {
        exchange(
            Content::Packed(range.packed()),
            destination,
            sendtag,
            range,
            source,
            receivetag,
        )
    }
}

/// Sends the elements of a buffer with tag 0 and receives any tag into the same buffer: see
/// [`send_receive_replace_into_with_tags`].
///
/// # Panics
/// As [`send_receive_into_with_tags`].
#[track_caller]
pub fn send_receive_replace_into<B, D, S>(buf: &mut B, destination: &D, source: &S) -> Status
where
    B: BufferMut + ?Sized,
    D: Destination,
    S: Source,
{
    send_receive_replace_into_with_tags(buf, destination, Tag::default(), source, RSMPI_ANY_TAG)
}
