//! Where the elements of a call are: what is packed before it begins, and unpacked when it is done.

use std::ptr::NonNull;

use graphmap_runtime::mpi as core;

use crate::abi::{MPI_SUCCESS, MPI_Status};
use crate::datatype::equivalence::{alone, in_a_row};
use crate::datatype::layout::Layout;
use crate::datatype::traits::{
    AsDatatype, Buffer, BufferMut, Equivalence, Partitioned, PartitionedBuffer,
};
use crate::datatype::traits::{PartitionedBufferMut, Pointer};
use crate::raw::AsRaw;
use crate::shared::Messages;
use crate::{Count, Tag};

/// The layout of the elements of a buffer.
pub(crate) fn layout<B: AsDatatype + ?Sized>(buffer: &B) -> &'static Layout {
    buffer.as_datatype().as_raw().0
}

/// A number of elements; one less than 0 is none.
fn number(count: Count) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// How many elements a buffer has.
pub(crate) fn count<B: crate::datatype::Collection + ?Sized>(buffer: &B) -> usize {
    number(buffer.count())
}

/// What a message is made of.
pub(crate) enum Content<'a> {
    /// Elements that lie as they are packed.
    Dense(&'a [u8]),
    /// A copy of them.
    Packed(Vec<u8>),
}

impl<'a> Content<'a> {
    /// The elements of a buffer.
    #[track_caller]
    #[inline]
    pub(crate) fn of<B: Buffer + ?Sized>(buffer: &'a B) -> Self {
        let (layout, count) = (layout(buffer), count(buffer));
        // SAFETY: the elements are in the buffer, as its traits, which are unsafe to implement, say, and it is borrowed.
        unsafe { Content::at(buffer.pointer().cast(), count, layout) }
    }

    /// So many elements.
    ///
    /// # Safety
    /// They have to be there, and nobody may write to them in `'a`.
    #[track_caller]
    #[inline]
    pub(crate) unsafe fn at(from: *const u8, count: usize, layout: &Layout) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            match layout.as_packed(from, count) {
                Some(bytes) => Content::Dense(bytes),
                None => Content::Packed(packed_at(from, 0, count, layout)),
            }
        }
    }

    /// Begins to send it.
    #[track_caller]
    #[inline]
    pub(crate) fn send(
        self,
        by: Messages<'_>,
        to: usize,
        tag: Tag,
        mode: core::SendMode,
    ) -> core::Sending {
        let (communicator, to) = (by.communicator, by.peer(to));
        match self {
            Content::Dense(bytes) => communicator.send_bytes(bytes, to, tag, mode),
            Content::Packed(bytes) => communicator.send_packed(bytes.into(), to, tag, mode),
        }
    }
}

/// The elements of a buffer, packed.
#[track_caller]
pub(crate) fn packed<B: Buffer + ?Sized>(buffer: &B) -> Vec<u8> {
    packed_part(buffer, layout(buffer), 0, count(buffer))
}

/// So many elements of a buffer from one on, packed.
#[track_caller]
fn packed_part<B: Pointer + ?Sized>(
    buffer: &B,
    layout: &Layout,
    first: usize,
    count: usize,
) -> Vec<u8> {
    // SAFETY: the elements are in the buffer, as its traits, which are unsafe to implement, say.
    unsafe { packed_at(buffer.pointer().cast(), first.cast_signed(), count, layout) }
}

/// So many elements, of which the first is at a distance from there that is counted in elements, packed.
///
/// # Safety
/// They have to be there.
#[track_caller]
pub(crate) unsafe fn packed_at(
    from: *const u8,
    first: isize,
    count: usize,
    layout: &Layout,
) -> Vec<u8> {
    let mut bytes = layout.buffer(count);
    let from = from.wrapping_offset(first * layout.extent);
    // SAFETY: as the caller says.
    unsafe { layout.pack(from, count, &mut bytes) };
    bytes
}

/// The parts of a buffer, one for each of so many ranks, each packed.
#[track_caller]
pub(crate) fn packed_equally<B: Buffer + ?Sized>(buffer: &B, ranks: usize) -> Vec<Vec<u8>> {
    let (layout, each) = (layout(buffer), count(buffer) / ranks.max(1));
    let part = |rank: usize| packed_part(buffer, layout, rank * each, each);
    (0..ranks).map(part).collect()
}

/// The parts of a buffer, each packed.
#[track_caller]
pub(crate) fn packed_parts<B: PartitionedBuffer + ?Sized>(buffer: &B) -> Vec<Vec<u8>> {
    let layout = layout(buffer);
    parts(buffer)
        .map(|(first, count)| packed_part(buffer, layout, first, count))
        .collect()
}

/// Where the parts of a buffer begin, and how many elements they have.
fn parts<B: Partitioned + ?Sized>(buffer: &B) -> impl Iterator<Item = (usize, usize)> {
    let parts = buffer.displs().iter().zip(buffer.counts());
    parts.map(|(&displ, &count)| (number(displ), number(count)))
}

/// Elements that are to be received. Whoever has it borrows the buffer, by a lifetime somewhere else.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    to: *mut u8,
    count: usize,
    layout: &'static Layout,
}

impl Place {
    /// The elements of a buffer.
    pub(crate) fn of<B: BufferMut + ?Sized>(buffer: &mut B) -> Self {
        Place {
            layout: layout(buffer),
            count: count(buffer),
            to: buffer.pointer_mut().cast(),
        }
    }

    /// Equal parts of a buffer, one for each of so many ranks.
    pub(crate) fn equal<B: BufferMut + ?Sized>(buffer: &mut B, ranks: usize) -> Vec<Place> {
        let whole = Place::of(buffer);
        let each = whole.count / ranks.max(1);
        (0..ranks)
            .map(|rank| whole.part(rank * each, each))
            .collect()
    }

    /// The parts of a buffer.
    pub(crate) fn parts<B: PartitionedBufferMut + ?Sized>(buffer: &mut B) -> Vec<Place> {
        let whole = Place {
            layout: layout(buffer),
            count: 0,
            to: buffer.pointer_mut().cast(),
        };
        parts(buffer)
            .map(|(first, count)| whole.part(first, count))
            .collect()
    }

    /// Where the bytes of a message may be put as they are, and how many have room there; `None`: they have to be unpacked.
    #[track_caller]
    pub(crate) fn receive_buffer(&self) -> Option<(NonNull<u8>, usize)> {
        let is_plain = self.layout.is_plain(self.layout.size);
        let to = NonNull::new(self.to).filter(|_| is_plain)?;
        Some((to, self.layout.packed(self.count)))
    }

    fn part(&self, first: usize, count: usize) -> Place {
        Place::at(self.to, first.cast_signed(), count, self.layout)
    }

    /// So many elements, of which the first is at a distance from there that is counted in elements.
    pub(crate) fn at(to: *mut u8, first: isize, count: usize, layout: &'static Layout) -> Place {
        let to = to.wrapping_offset(first * layout.extent);
        Place { to, count, layout }
    }

    /// The elements that are there, packed.
    ///
    /// # Safety
    /// The buffer has to be borrowed still.
    #[track_caller]
    pub(crate) unsafe fn packed(&self) -> Vec<u8> {
        let mut bytes = self.layout.buffer(self.count);
        // SAFETY: the elements are in the buffer.
        unsafe { self.layout.pack(self.to, self.count, &mut bytes) };
        bytes
    }

    /// Puts what has come into its place. If it is more than there is room for, as much as there is room for.
    ///
    /// # Safety
    /// The buffer has to be borrowed still.
    pub(crate) unsafe fn fill(&self, bytes: &[u8]) -> Result<(), core::Error> {
        let mut rest = bytes;
        // SAFETY: there is room for as many elements, as the traits of buffers, which are unsafe to implement, say.
        let all = unsafe { self.layout.unpack(self.to, self.count, &mut rest) };
        all.ok_or_else(no_value)?;
        match rest.is_empty() {
            true => Ok(()),
            false => Err(core::Error::Truncated {
                sent: bytes.len().div_ceil(self.layout.size.max(1)),
                room: self.count,
            }),
        }
    }

    /// As [`fill`](Self::fill), with as much as there is room for, no less.
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn fill_exactly(&self, bytes: &[u8]) -> Result<(), core::Error> {
        let wanted = self.layout.packed(self.count);
        if bytes.len() < wanted {
            let given = bytes.len() / self.layout.size.max(1);
            return Err(core::Error::Count {
                given,
                wanted: self.count,
            });
        }
        // SAFETY: as the caller says.
        unsafe { self.fill(bytes) }
    }
}

fn no_value() -> core::Error {
    core::Error::Unreadable("received a byte that is not a valid `bool`".to_string())
}

/// The value of which these are the bytes.
#[track_caller]
pub(crate) fn value<T: Equivalence>(bytes: &[u8]) -> Result<T, core::Error> {
    let layout = alone::<T>().as_raw().0;
    if layout.is_plain(size_of::<T>()) && bytes.len() == size_of::<T>() {
        // SAFETY: these are the bytes of an element, as it lies in memory, and whatever they are, they are one.
        return Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() });
    }
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let place = Place {
        to: value.as_mut_ptr().cast(),
        count: 1,
        layout,
    };
    // SAFETY: it is on the stack, and has room for an element; and it is one if all of its bytes have come.
    unsafe {
        place.fill_exactly(bytes)?;
        Ok(value.assume_init())
    }
}

/// The values of which these are the bytes.
#[track_caller]
pub(crate) fn values<T: Equivalence>(bytes: &[u8]) -> Result<Vec<T>, core::Error> {
    let layout = in_a_row::<T>().as_raw().0;
    if layout.size == 0 {
        return Ok(Vec::new());
    }
    let count = bytes.len() / layout.size;
    if count * layout.size != bytes.len() {
        let why = format!(
            "{} bytes are not a whole number of elements of {} bytes",
            bytes.len(),
            layout.size
        );
        return Err(core::Error::Unreadable(why));
    }
    let mut values = Vec::<T>::with_capacity(count);
    let place = Place {
        to: values.as_mut_ptr().cast(),
        count,
        layout,
    };
    // SAFETY: there is room for as many elements, and all of their bytes have come.
    unsafe {
        place.fill_exactly(bytes)?;
        values.set_len(count);
    }
    Ok(values)
}

/// The status of a message of so many bytes. Ranks begin at `offset` in the communicator that has
/// carried it.
pub(crate) fn status(status: core::Status, offset: usize) -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: Count::try_from(status.source.wrapping_sub(offset)).unwrap_or(Count::MAX),
        MPI_TAG: status.tag,
        MPI_ERROR: MPI_SUCCESS,
        bytes: status.count,
    }
}

/// What is told of a call that has received no message.
pub(crate) fn empty_status() -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: crate::abi::RSMPI_ANY_SOURCE,
        MPI_TAG: crate::abi::RSMPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
        bytes: 0,
    }
}
