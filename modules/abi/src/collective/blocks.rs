//! Buffers of collective calls: the elements that are sent to or received from each rank.

use std::ffi::c_void;
use std::rc::Rc;
use std::sync::Arc;

use graphmap_runtime::mpi::Packed;

use crate::abi::{Datatype, IN_PLACE};
use crate::buffer::Elements;
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::export::Number;
use crate::rank::Part as _;
use crate::rank::Rank;

/// Checks the arguments that describe elements of a collective call.
///
/// # Errors
/// The errors of [`Elements::new`], and [`Class::Buffer`](crate::error::Class::Buffer) if data is
/// at a null address or the address is `MPI_IN_PLACE`.
pub(crate) fn elements(
    this: &Rank,
    address: *const c_void,
    count: i64,
    of: Datatype,
) -> Done<Elements> {
    let elements = Elements::new(this, address, count, of)?;
    if address == IN_PLACE {
        return fail!(Buffer, "MPI_IN_PLACE is not allowed for this buffer");
    }
    // A derived datatype can have addresses relative to MPI_BOTTOM, which is null.
    if address.is_null() && elements.bytes() > 0 && elements.layout.is_contiguous() {
        return fail!(Buffer, "the buffer is null");
    }
    Ok(elements)
}

/// Checks the arguments of elements at an offset in bytes, which is absolute if the address is
/// `MPI_BOTTOM`.
///
/// # Errors
/// The errors of [`elements`].
fn elements_at(
    this: &Rank,
    address: *const c_void,
    offset: isize,
    count: i64,
    of: Datatype,
) -> Done<Elements> {
    match address == IN_PLACE {
        true => elements(this, address, count, of),
        false => elements(this, address.wrapping_byte_offset(offset), count, of),
    }
}

/// Checks that the elements that a rank sends are not at the address of the received elements.
///
/// # Errors
/// [`Class::Buffer`](crate::error::Class::Buffer).
pub(crate) fn check_alias(send: &Elements, receive: &Elements) -> Done {
    let is_data = !send.address.is_null() && send.bytes() > 0 && receive.bytes() > 0;
    match is_data && send.address == receive.address {
        true => fail!(
            Buffer,
            "the send buffer and the receive buffer are the same: pass MPI_IN_PLACE"
        ),
        false => Ok(()),
    }
}

/// Packs elements for several ranks.
///
/// # Safety
/// The elements must be readable.
pub(crate) unsafe fn pack_shared(elements: &Elements) -> Arc<[u8]> {
    // SAFETY: the caller guarantees that the elements are readable.
    match unsafe { elements.as_bytes() } {
        Some(bytes) => bytes.into(),
        // SAFETY: as above.
        None => Vec::from(unsafe { elements.pack() }).into(),
    }
}

/// Stores received data in the elements.
///
/// # Errors
/// [`Class::Truncate`](crate::error::Class::Truncate) if there is more data than fits. The elements
/// then contain the first part.
///
/// # Safety
/// The elements must be writable.
pub(crate) unsafe fn store(elements: &Elements, data: &[u8]) -> Done {
    let (room, sent) = (elements.bytes(), data.len());
    if sent > 0 {
        // SAFETY: the caller guarantees that the elements are writable.
        unsafe { elements.unpack(data) };
    }
    match sent > room {
        true => fail!(Truncate, "{sent} bytes were received into {room} bytes"),
        false => Ok(()),
    }
}

/// Elements for each of a number of ranks, in one buffer.
#[derive(Clone)]
pub(crate) enum Blocks {
    /// The same count for each rank, in a row.
    Row { first: Elements, ranks: usize },
    /// Other counts and displacements.
    Each(Rc<[Elements]>),
}

impl Blocks {
    /// Creates blocks of `count` elements for each of `ranks` ranks.
    ///
    /// # Errors
    /// The errors of [`elements`].
    pub(crate) fn row(
        this: &Rank,
        address: *const c_void,
        count: i64,
        of: Datatype,
        ranks: usize,
    ) -> Done<Self> {
        let first = elements(this, address, count, of)?;
        Ok(Blocks::Row { first, ranks })
    }

    /// Creates a block for each rank, with displacements in elements.
    ///
    /// # Errors
    /// The errors of [`elements`], and [`Class::Arg`](crate::error::Class::Arg) if an array is
    /// null.
    ///
    /// # Safety
    /// The arrays must be null or have an item for each rank.
    pub(crate) unsafe fn vector<C: Number, D: Number>(
        this: &Rank,
        address: *const c_void,
        counts: *const C,
        displacements: *const D,
        of: Datatype,
        ranks: usize,
    ) -> Done<Self> {
        check_array(counts, ranks)?;
        check_array(displacements, ranks)?;
        let extent = Datatypes::of(this).get(of)?.extent;
        let each = (0..ranks).map(|rank| {
            // SAFETY: the arrays have an item for this rank.
            let (count, at) =
                unsafe { ((*counts.add(rank)).get(), (*displacements.add(rank)).get()) };
            elements_at(this, address, at as isize * extent, count, of)
        });
        Ok(Blocks::Each(each.collect::<Done<_>>()?))
    }

    /// Creates a block for each rank, with displacements in bytes. Datatypes of empty blocks are
    /// ignored.
    ///
    /// # Errors
    /// As for [`vector`](Self::vector).
    ///
    /// # Safety
    /// The arrays must be null or have an item for each rank.
    pub(crate) unsafe fn typed<C: Number, D: Number>(
        this: &Rank,
        address: *const c_void,
        counts: *const C,
        displacements: *const D,
        of: *const Datatype,
        ranks: usize,
    ) -> Done<Self> {
        check_array(counts, ranks)?;
        check_array(displacements, ranks)?;
        check_array(of, ranks)?;
        let each = (0..ranks).map(|rank| {
            // SAFETY: the arrays have an item for this rank.
            let (count, at, of) = unsafe {
                let (count, at) = (*counts.add(rank), *displacements.add(rank));
                (count.get(), at.get(), *of.add(rank))
            };
            let of = if count == 0 { Datatype::BYTE } else { of };
            elements_at(this, address, at as isize, count, of)
        });
        Ok(Blocks::Each(each.collect::<Done<_>>()?))
    }

    /// Creates blocks in a row of `counts` elements.
    ///
    /// # Errors
    /// The errors of [`elements`].
    pub(crate) fn in_row(
        this: &Rank,
        address: *const c_void,
        counts: &[i64],
        of: Datatype,
    ) -> Done<Self> {
        let extent = Datatypes::of(this).get(of)?.extent;
        let mut before = 0;
        let each = counts.iter().map(|&count| {
            let at = before as isize * extent;
            before += count;
            elements_at(this, address, at, count, of)
        });
        Ok(Blocks::Each(each.collect::<Done<_>>()?))
    }

    /// Returns the number of ranks.
    pub(crate) fn len(&self) -> usize {
        match self {
            Blocks::Row { ranks, .. } => *ranks,
            Blocks::Each(each) => each.len(),
        }
    }

    /// Returns the elements for a rank, which must exist.
    pub(crate) fn at(&self, rank: usize) -> Elements {
        match self {
            Blocks::Row { first, .. } => {
                let by = (rank * first.count) as isize * first.layout.extent;
                Elements {
                    address: first.address.wrapping_offset(by),
                    ..first.clone()
                }
            }
            Blocks::Each(each) => each[rank].clone(),
        }
    }

    /// Checks that `other` is neither at the address of the elements for rank 0 nor of those for
    /// rank `own`.
    ///
    /// # Errors
    /// The error of [`check_alias`].
    pub(crate) fn check_alias(&self, other: &Elements, own: usize) -> Done {
        check_alias(&self.at(0), other)?;
        check_alias(&self.at(own), other)
    }

    /// Packs the elements for each rank.
    ///
    /// # Safety
    /// The elements must be readable.
    pub(crate) unsafe fn pack(&self) -> Vec<Packed> {
        let ranks = 0..self.len();
        // SAFETY: guaranteed by the caller.
        ranks.map(|rank| unsafe { self.at(rank).pack() }).collect()
    }

    /// Stores the data of all ranks but `own`, in the order of the ranks.
    ///
    /// # Errors
    /// The first error of [`store`].
    ///
    /// # Safety
    /// The elements must be writable.
    pub(crate) unsafe fn store<D: std::ops::Deref<Target = [u8]>>(
        &self,
        data: &[D],
        own: Option<usize>,
    ) -> Done {
        let mut all = Ok(());
        for (rank, data) in data.iter().enumerate().take(self.len()) {
            if Some(rank) != own {
                // SAFETY: guaranteed by the caller.
                all = all.and(unsafe { store(&self.at(rank), data) });
            }
        }
        all
    }
}

/// Checks that an array that has items is not null.
///
/// # Errors
/// [`Class::Arg`](crate::error::Class::Arg).
pub(crate) fn check_array<T>(array: *const T, items: usize) -> Done {
    match array.is_null() && items > 0 {
        true => fail!(
            Arg,
            "an array of counts, displacements or datatypes is null"
        ),
        false => Ok(()),
    }
}
