//! Questions about a status (MPI-5.0, sections 3.2.5 and 3.8.4).

use std::ffi::c_int;

use crate::abi::{Count, Datatype, Status, UNDEFINED};
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::export::Number;
use crate::rank::Part as _;
use crate::rank::Rank;

/// Returns the number of elements of a datatype in a message, or `None` if the last element is not
/// complete.
fn count(this: &Rank, status: &Status, datatype: Datatype) -> Done<Option<usize>> {
    let of = Datatypes::of(this).any(datatype)?;
    let bytes = usize::try_from(status.bytes()).unwrap_or(0);
    Ok(match bytes {
        0 => Some(0),
        bytes if of.size > 0 && bytes % of.size == 0 => Some(bytes / of.size),
        _ => None,
    })
}

/// Returns the number of predefined elements in a message, or `None` if the last element is not
/// complete.
fn elements(this: &Rank, status: &Status, datatype: Datatype) -> Done<Option<usize>> {
    let of = Datatypes::of(this).any(datatype)?;
    Ok(of.elements_of(usize::try_from(status.bytes()).unwrap_or(0)))
}

/// Returns the value of an argument, which is `MPI_UNDEFINED` if there is none or it does not fit.
fn or_undefined<C: Number>(value: Option<usize>) -> C {
    let undefined = || C::of(UNDEFINED.into());
    let value = value
        .and_then(|value| C::of(value as i64))
        .or_else(undefined);
    // The constant fits all types of arguments.
    value.unwrap_or_else(|| unreachable!())
}

/// Sets the number of bytes of a status to the size of predefined elements.
fn set_elements(this: &Rank, status: &mut Status, datatype: Datatype, count: i64) -> Done {
    let of = Datatypes::of(this).any(datatype)?;
    let Ok(elements) = usize::try_from(count) else {
        return fail!(Count, "the number of elements {count} is negative");
    };
    let bytes = of
        .bytes_of(elements)
        .and_then(|bytes| i64::try_from(bytes).ok());
    match bytes {
        Some(bytes) => status.set_bytes(bytes),
        None => return fail!(Count, "{count} elements of the datatype are too many"),
    }
    Ok(())
}

export! {
    fn MPI_Get_count, MPI_Get_count_c<C>(
        status: *const Status, datatype: Datatype, to: *mut C,
    ) on World => |this| {
        to.write(or_undefined(count(this, &*status, datatype)?));
        Ok(())
    };
    fn MPI_Get_elements, MPI_Get_elements_c<C>(
        status: *const Status, datatype: Datatype, to: *mut C,
    ) on World => |this| {
        to.write(or_undefined(elements(this, &*status, datatype)?));
        Ok(())
    };
    fn MPI_Get_elements_x(
        status: *const Status, datatype: Datatype, to: *mut Count,
    ) on World => |this| {
        to.write(or_undefined(elements(this, &*status, datatype)?));
        Ok(())
    };
    fn MPI_Status_set_elements, MPI_Status_set_elements_c<C>(
        status: *mut Status, datatype: Datatype, count: C,
    ) on World => |this| set_elements(this, &mut *status, datatype, count.get());
    fn MPI_Status_set_elements_x(
        status: *mut Status, datatype: Datatype, count: Count,
    ) on World => |this| set_elements(this, &mut *status, datatype, count);
}

export! {
    fn MPI_Test_cancelled(status: *const Status, flag: *mut c_int) on Always => |_| {
        flag.write((*status).is_cancelled().into());
        Ok(())
    };
    fn MPI_Status_set_cancelled(status: *mut Status, flag: c_int) on Always => |_| {
        (*status).set_cancelled(flag != 0);
        Ok(())
    };
    fn MPI_Status_get_source(status: *const Status, source: *mut c_int) on Always => |_| {
        source.write((*status).source);
        Ok(())
    };
    fn MPI_Status_set_source(status: *mut Status, source: c_int) on Always => |_| {
        (*status).source = source;
        Ok(())
    };
    fn MPI_Status_get_tag(status: *const Status, tag: *mut c_int) on Always => |_| {
        tag.write((*status).tag);
        Ok(())
    };
    fn MPI_Status_set_tag(status: *mut Status, tag: c_int) on Always => |_| {
        (*status).tag = tag;
        Ok(())
    };
    fn MPI_Status_get_error(status: *const Status, error: *mut c_int) on Always => |_| {
        error.write((*status).error);
        Ok(())
    };
    fn MPI_Status_set_error(status: *mut Status, error: c_int) on Always => |_| {
        (*status).error = error;
        Ok(())
    };
}
