//! Buffers of calls. Their elements are packed before a call begins, and unpacked when it is done.

use std::ptr::NonNull;

use graphmap_runtime::mpi as core;

use crate::abi::{MPI_SUCCESS, MPI_Status};
use crate::datatype::equivalence::{single_datatype, slice_datatype};
use crate::datatype::layout::Layout;
use crate::datatype::traits::{
    AsDatatype, Buffer, BufferMut, Equivalence, Partitioned, PartitionedBuffer,
};
use crate::datatype::traits::{PartitionedBufferMut, Pointer};
use crate::raw::AsRaw;
use crate::shared::Messages;
use crate::{Count, Tag};

/// Returns the layout of the elements of a buffer.
pub(crate) fn layout<B: AsDatatype + ?Sized>(buffer: &B) -> &'static Layout {
    buffer.as_datatype().as_raw().0
}

/// Converts a number of elements. Negative numbers count as 0.
fn number(count: Count) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Returns the number of elements of a buffer. A negative count is treated as 0.
///
/// # Panics
/// If a slice, array or vector has more than 2^31 - 1 elements. This applies to all functions of
/// this module that take a buffer, unless the buffer is partitioned.
pub(crate) fn count<B: crate::datatype::Collection + ?Sized>(buffer: &B) -> usize {
    number(buffer.count())
}

/// Elements of a message.
pub(crate) enum Content<'a> {
    /// Elements whose memory is equal to their packed form.
    Dense(&'a [u8]),
    /// Packed copy of the elements.
    Packed(Vec<u8>),
}

impl<'a> Content<'a> {
    /// Returns the elements of a buffer. Packs them only if their memory differs from the packed
    /// form.
    ///
    /// # Panics
    /// If there is not enough memory for packed elements. This applies to all functions of this
    /// module that pack.
    #[track_caller]
    #[inline]
    pub(crate) fn of<B: Buffer + ?Sized>(buffer: &'a B) -> Self {
        let (layout, count) = (layout(buffer), count(buffer));
        // SAFETY: the traits of the buffer, which are unsafe to implement, guarantee that it
        // contains the elements. It is borrowed for `'a`.
        unsafe { Content::at(buffer.pointer().cast(), count, layout) }
    }

    /// Returns `count` elements of the layout `layout` at `from`, as [`Content::of`] returns those
    /// of a buffer, with the same panics.
    ///
    /// # Safety
    /// `count` elements must be readable at `from`, and must not be written to during `'a`.
    #[track_caller]
    #[inline]
    pub(crate) unsafe fn at(from: *const u8, count: usize, layout: &Layout) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match layout.as_packed(from, count) {
                Some(bytes) => Content::Dense(bytes),
                None => Content::Packed(packed_at(from, 0, count, layout)),
            }
        }
    }

    /// Begins to send the elements to the rank `to`, which the program has passed. The elements are
    /// copied. Errors, such as a rank that does not exist, are reported when the send is polled.
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

/// Returns a packed copy of the elements of a buffer.
#[track_caller]
pub(crate) fn packed<B: Buffer + ?Sized>(buffer: &B) -> Vec<u8> {
    packed_part(buffer, layout(buffer), 0, count(buffer))
}

/// Returns `count` elements of a buffer, packed, beginning with the element at index `first`.
#[track_caller]
fn packed_part<B: Pointer + ?Sized>(
    buffer: &B,
    layout: &Layout,
    first: usize,
    count: usize,
) -> Vec<u8> {
    // SAFETY: the traits of the buffer, which are unsafe to implement, guarantee that it contains
    // the elements.
    unsafe { packed_at(buffer.pointer().cast(), first.cast_signed(), count, layout) }
}

/// Returns a packed copy of `count` elements. `first` is the index of the first element, relative
/// to `from`, and may be negative.
///
/// # Safety
/// These elements must be readable.
#[track_caller]
pub(crate) unsafe fn packed_at(
    from: *const u8,
    first: isize,
    count: usize,
    layout: &Layout,
) -> Vec<u8> {
    let mut bytes = layout.buffer(count);
    let from = from.wrapping_offset(first * layout.extent);
    // SAFETY: guaranteed by the caller.
    unsafe { layout.pack(from, count, &mut bytes) };
    bytes
}

/// Divides a buffer into equal parts, one for each rank, and returns each part packed. Leaves out
/// the last elements if their number is not a multiple of `ranks`.
#[track_caller]
pub(crate) fn packed_equally<B: Buffer + ?Sized>(buffer: &B, ranks: usize) -> Vec<Vec<u8>> {
    let (layout, each) = (layout(buffer), count(buffer) / ranks.max(1));
    let part = |rank: usize| packed_part(buffer, layout, rank * each, each);
    (0..ranks).map(part).collect()
}

/// Returns a packed copy of each part of a partitioned buffer, in the order of the parts.
#[track_caller]
pub(crate) fn packed_parts<B: PartitionedBuffer + ?Sized>(buffer: &B) -> Vec<Vec<u8>> {
    let layout = layout(buffer);
    parts(buffer)
        .map(|(first, count)| packed_part(buffer, layout, first, count))
        .collect()
}

/// Returns the index of the first element of each part, and its number of elements. Negative
/// numbers count as 0.
fn parts<B: Partitioned + ?Sized>(buffer: &B) -> impl Iterator<Item = (usize, usize)> {
    let parts = buffer.displs().iter().zip(buffer.counts());
    parts.map(|(&displ, &count)| (number(displ), number(count)))
}

/// Memory for elements to be received. It has no lifetime. The owner of the `BufferRange` must
/// ensure that the buffer stays borrowed.
#[derive(Clone, Copy)]
pub(crate) struct BufferRange {
    to: *mut u8,
    count: usize,
    layout: &'static Layout,
}

impl BufferRange {
    /// Returns the memory of all elements of a buffer.
    pub(crate) fn of<B: BufferMut + ?Sized>(buffer: &mut B) -> Self {
        BufferRange {
            layout: layout(buffer),
            count: count(buffer),
            to: buffer.pointer_mut().cast(),
        }
    }

    /// Divides a buffer into equal parts, one for each rank. Does not include the last elements if
    /// their number is not a multiple of `ranks`.
    pub(crate) fn equal<B: BufferMut + ?Sized>(buffer: &mut B, ranks: usize) -> Vec<BufferRange> {
        let whole = BufferRange::of(buffer);
        let each = whole.count / ranks.max(1);
        (0..ranks)
            .map(|rank| whole.subrange(rank * each, each))
            .collect()
    }

    /// Returns the parts of a partitioned buffer.
    pub(crate) fn subranges<B: PartitionedBufferMut + ?Sized>(buffer: &mut B) -> Vec<BufferRange> {
        let whole = BufferRange {
            layout: layout(buffer),
            count: 0,
            to: buffer.pointer_mut().cast(),
        };
        parts(buffer)
            .map(|(first, count)| whole.subrange(first, count))
            .collect()
    }

    /// Returns the address to which the bytes of a message can be copied unchanged, and the number
    /// of bytes that fit. Returns `None` if the bytes must be unpacked or checked, or if the
    /// address is null.
    ///
    /// # Panics
    /// If the number of bytes exceeds the address space.
    #[track_caller]
    pub(crate) fn receive_buffer(&self) -> Option<(NonNull<u8>, usize)> {
        let is_plain = self.layout.is_plain(self.layout.size);
        let to = NonNull::new(self.to).filter(|_| is_plain)?;
        Some((to, self.layout.packed(self.count)))
    }

    fn subrange(&self, first: usize, count: usize) -> BufferRange {
        BufferRange::at(self.to, first.cast_signed(), count, self.layout)
    }

    /// Returns the memory of `count` elements. `first` is the index of the first element, relative
    /// to `to`, and may be negative. Accesses no memory.
    pub(crate) fn at(
        to: *mut u8,
        first: isize,
        count: usize,
        layout: &'static Layout,
    ) -> BufferRange {
        let to = to.wrapping_offset(first * layout.extent);
        BufferRange { to, count, layout }
    }

    /// Returns a packed copy of the elements in the buffer.
    ///
    /// # Safety
    /// The buffer must still be borrowed.
    #[track_caller]
    pub(crate) unsafe fn packed(&self) -> Vec<u8> {
        let mut bytes = self.layout.buffer(self.count);
        // SAFETY: the buffer is borrowed, and contains the elements.
        unsafe { self.layout.pack(self.to, self.count, &mut bytes) };
        bytes
    }

    /// Unpacks received bytes into the buffer. If there are fewer bytes than fit, the rest of the
    /// buffer stays unchanged.
    ///
    /// # Errors
    /// `Error::Truncated` if there are more bytes than fit. The buffer is then filled.
    /// `Error::Unreadable` if a byte is not a valid `bool`. Some elements may have been written
    /// then.
    ///
    /// # Safety
    /// The buffer must still be borrowed.
    pub(crate) unsafe fn fill(&self, bytes: &[u8]) -> Result<(), core::Error> {
        let mut rest = bytes;
        // SAFETY: the traits of the buffer, which are unsafe to implement, guarantee room for
        // `count` elements.
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

    /// Unpacks received bytes as [`fill`](Self::fill), but they must fill the buffer.
    ///
    /// # Errors
    /// `Error::Count` if there are too few bytes. The buffer is then unchanged. Otherwise as for
    /// [`fill`](Self::fill).
    ///
    /// # Safety
    /// As for [`fill`](Self::fill).
    pub(crate) unsafe fn fill_exactly(&self, bytes: &[u8]) -> Result<(), core::Error> {
        let wanted = self.layout.packed(self.count);
        if bytes.len() < wanted {
            let given = bytes.len() / self.layout.size.max(1);
            return Err(core::Error::Count {
                given,
                wanted: self.count,
            });
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.fill(bytes) }
    }
}

fn no_value() -> core::Error {
    core::Error::Unreadable("received a byte that is not a valid `bool`".to_string())
}

/// Returns the value that was packed into these bytes.
///
/// # Errors
/// As for [`BufferRange::fill_exactly`].
///
/// # Panics
/// If the datatype of `T` extends beyond a value.
#[track_caller]
pub(crate) fn value<T: Equivalence>(bytes: &[u8]) -> Result<T, core::Error> {
    let layout = single_datatype::<T>().as_raw().0;
    if layout.is_plain(size_of::<T>()) && bytes.len() == size_of::<T>() {
        // SAFETY: `bytes` is as long as the value. Its layout is plain, so any bytes are a valid
        // value and its memory is equal to its packed form.
        return Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() });
    }
    let mut value = std::mem::MaybeUninit::<T>::uninit();
    let range = BufferRange {
        to: value.as_mut_ptr().cast(),
        count: 1,
        layout,
    };
    // SAFETY: `range` is on the stack and has room for one element. The value is initialized
    // because `fill_exactly` has unpacked all of its bytes.
    unsafe {
        range.fill_exactly(bytes)?;
        Ok(value.assume_init())
    }
}

/// Returns the values that were packed into these bytes. Returns no values if they have a size of
/// 0.
///
/// # Errors
/// `Error::Unreadable` if the bytes are not a whole number of values, or if a byte is not a valid
/// `bool`.
///
/// # Panics
/// If the extent of the datatype of `T` is not the size of a value.
#[track_caller]
pub(crate) fn values<T: Equivalence>(bytes: &[u8]) -> Result<Vec<T>, core::Error> {
    let layout = slice_datatype::<T>().as_raw().0;
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
    let range = BufferRange {
        to: values.as_mut_ptr().cast(),
        count,
        layout,
    };
    // SAFETY: the vector has room for `count` elements, and `fill_exactly` has unpacked all of
    // their bytes.
    unsafe {
        range.fill_exactly(bytes)?;
        values.set_len(count);
    }
    Ok(values)
}

/// Converts the status of a message. `offset` is the rank in the carrying communicator that is rank
/// 0 for the program. A source that is not a valid `Count` becomes the largest `Count`.
pub(crate) fn status(status: core::Status, offset: usize) -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: Count::try_from(status.source.wrapping_sub(offset)).unwrap_or(Count::MAX),
        MPI_TAG: status.tag,
        MPI_ERROR: MPI_SUCCESS,
        bytes: status.count,
    }
}

/// Returns the status of a call that has received no message: source -2, tag -1, and no bytes.
pub(crate) fn empty_status() -> MPI_Status {
    MPI_Status {
        MPI_SOURCE: crate::abi::RSMPI_ANY_SOURCE,
        MPI_TAG: crate::abi::RSMPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
        bytes: 0,
    }
}
