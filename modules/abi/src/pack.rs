//! Packing of elements to buffers of the program (MPI-5.0, section 5.2).

use std::ffi::{CStr, c_char, c_void};

use crate::abi::{Aint, Comm, Datatype};
use crate::buffer::Elements;
use crate::communicator::Communicators;
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::export::Number;
use crate::rank::Part as _;
use crate::rank::Rank;

/// Part of a packed buffer behind a position.
struct Room<N> {
    at: *mut u8,
    /// Number of bytes to the end of the buffer.
    bytes: usize,
    position: *mut N,
}

impl<N: Number> Room<N> {
    /// Checks the arguments of a buffer.
    ///
    /// # Safety
    /// The position must be null or valid.
    unsafe fn new(buffer: *const c_void, size: i64, position: *mut N) -> Done<Self> {
        if position.is_null() {
            return fail!(Arg, "the pointer to the position is null");
        }
        // SAFETY: the position is valid.
        let at = unsafe { position.read() }.get();
        let (Ok(begin), Ok(bytes)) = (usize::try_from(at), usize::try_from(size - at)) else {
            return fail!(Arg, "position {at} is not in a buffer of {size} bytes");
        };
        Ok(Room {
            at: buffer.cast_mut().cast::<u8>().wrapping_add(begin),
            bytes,
            position,
        })
    }

    /// Takes bytes, and moves the position behind them.
    ///
    /// # Errors
    /// [`Class::Arg`](crate::error::Class::Arg) if the buffer has less.
    ///
    /// # Safety
    /// The position must be valid.
    unsafe fn take(&self, bytes: usize) -> Done<*mut u8> {
        if bytes > self.bytes {
            let room = self.bytes;
            return fail!(
                Arg,
                "the buffer has {room} of {bytes} bytes behind the position"
            );
        }
        // SAFETY: guaranteed by the caller.
        let at = unsafe { self.position.read() }.get();
        let Some(end) = N::of(at + bytes as i64) else {
            return fail!(
                ValueTooLarge,
                "the position does not fit the type of the argument"
            );
        };
        if bytes > 0 && self.at.is_null() {
            return fail!(Buffer, "the packed buffer is null");
        }
        // SAFETY: as above.
        unsafe { self.position.write(end) };
        Ok(self.at)
    }
}

/// Returns the bytes of elements, multiplied.
fn total(count: usize, size: usize) -> Done<usize> {
    match count
        .checked_mul(size)
        .filter(|&all| isize::try_from(all).is_ok())
    {
        Some(all) => Ok(all),
        None => fail!(Count, "{count} elements of {size} bytes are too many"),
    }
}

/// Checks the name of a data representation.
///
/// # Safety
/// The name must be null or a string.
unsafe fn check_representation(name: *const c_char) -> Done {
    // SAFETY: guaranteed by the caller.
    if !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes() == b"external32" {
        return Ok(());
    }
    fail!(
        UnsupportedDatarep,
        "the data representation is not external32"
    )
}

/// Packs elements.
///
/// # Safety
/// The elements must be readable, and the room writable.
unsafe fn pack<N: Number>(from: &Elements, room: &Room<N>) -> Done {
    let bytes = total(from.count, from.layout.size)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let to = room.take(bytes)?;
        from.layout.pack_to(from.address, from.count, to);
    }
    Ok(())
}

/// Unpacks elements.
///
/// # Safety
/// The elements must be writable, and the room readable.
unsafe fn unpack<N: Number>(room: &Room<N>, to: &Elements) -> Done {
    let bytes = total(to.count, to.layout.size)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let from = room.take(bytes)?;
        if bytes > 0 {
            to.unpack(std::slice::from_raw_parts(from, bytes));
        }
    }
    Ok(())
}

/// Packs elements in the representation `external32`.
///
/// # Safety
/// The elements must be readable, and the room writable.
unsafe fn pack_external<N: Number>(from: &Elements, room: &Room<N>) -> Done {
    let bytes = total(from.count, from.layout.external)?;
    total(from.count, from.layout.size)?;
    if bytes > room.bytes {
        return fail!(
            Arg,
            "the buffer has {} of {bytes} bytes behind the position",
            room.bytes
        );
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let external = from.layout.packed_to_external(from.count, &from.pack())?;
        let to = room.take(bytes)?;
        std::ptr::copy_nonoverlapping(external.as_ptr(), to, bytes);
    }
    Ok(())
}

/// Unpacks elements that are given in the representation `external32`.
///
/// # Safety
/// The elements must be writable, and the room readable.
unsafe fn unpack_external<N: Number>(room: &Room<N>, to: &Elements) -> Done {
    let bytes = total(to.count, to.layout.external)?;
    total(to.count, to.layout.size)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        let from = room.take(bytes)?;
        if bytes > 0 {
            let external = std::slice::from_raw_parts(from, bytes);
            to.unpack(&to.layout.external_to_packed(to.count, external)?);
        }
    }
    Ok(())
}

/// Returns the size of a packed buffer for elements.
fn size<N: Number>(count: i64, of: usize) -> Done<N> {
    let Ok(count) = usize::try_from(count) else {
        return fail!(Count, "the count {count} is negative");
    };
    match N::of(total(count, of)? as i64) {
        Some(bytes) => Ok(bytes),
        None => fail!(
            ValueTooLarge,
            "the size does not fit the type of the argument"
        ),
    }
}

/// Checks the arguments that describe elements that are read or written at once.
///
/// # Errors
/// As [`Elements::new`], and [`Class::Buffer`](crate::error::Class::Buffer) if the address is null.
pub(crate) fn elements(
    this: &Rank,
    at: *const c_void,
    count: i64,
    datatype: Datatype,
) -> Done<Elements> {
    let elements = Elements::new(this, at, count, datatype)?;
    if at.is_null() && elements.count > 0 && elements.layout.is_contiguous() {
        return fail!(Buffer, "the buffer of {count} elements is null");
    }
    Ok(elements)
}

export! {
    fn MPI_Pack, MPI_Pack_c<C>(
        from: *const c_void, count: C, datatype: Datatype, to: *mut c_void, size: C,
        position: *mut C, comm: Comm,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        let from = elements(this, from, count.get(), datatype)?;
        pack(&from, &Room::new(to, size.get(), position)?)
    };
    fn MPI_Unpack, MPI_Unpack_c<C>(
        from: *const c_void, size: C, position: *mut C, to: *mut c_void, count: C,
        datatype: Datatype, comm: Comm,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        let to = elements(this, to, count.get(), datatype)?;
        unpack(&Room::new(from, size.get(), position)?, &to)
    };
    fn MPI_Pack_size, MPI_Pack_size_c<C>(
        count: C, datatype: Datatype, comm: Comm, bytes: *mut C,
    ) on comm => |this| {
        Communicators::of(this).get(comm)?;
        bytes.write(size(count.get(), Datatypes::of(this).get(datatype)?.size)?);
        Ok(())
    };
    fn MPI_Pack_external, MPI_Pack_external_c<C>(
        representation: *const c_char, from: *const c_void, count: C, datatype: Datatype,
        to: *mut c_void, size: Aint, position: *mut Aint,
    ) on World => |this| {
        check_representation(representation)?;
        let from = elements(this, from, count.get(), datatype)?;
        pack_external(&from, &Room::new(to, size.get(), position)?)
    };
    fn MPI_Unpack_external, MPI_Unpack_external_c<C>(
        representation: *const c_char, from: *const c_void, size: Aint, position: *mut Aint,
        to: *mut c_void, count: C, datatype: Datatype,
    ) on World => |this| {
        check_representation(representation)?;
        let to = elements(this, to, count.get(), datatype)?;
        unpack_external(&Room::new(from, size.get(), position)?, &to)
    };
    fn MPI_Pack_external_size, MPI_Pack_external_size_c<C>(
        representation: *const c_char, count: C, datatype: Datatype, bytes: *mut Aint,
    ) on World => |this| {
        check_representation(representation)?;
        bytes.write(size(count.get(), Datatypes::of(this).get(datatype)?.external)?);
        Ok(())
    };
}
