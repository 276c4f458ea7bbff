//! Functions of attributes (MPI-5.0, section 7.7).

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::abi::{ANY_SOURCE, Comm, Datatype, PROC_NULL, TAG_UB, Win};
use crate::attribute::{
    Attributes, Copying, Delete, KEY_APPNUM, KEY_HOST, KEY_IO, KEY_LASTUSEDCODE, KEY_TAG_UB,
    KEY_UNIVERSE_SIZE, KEY_WTIME_IS_GLOBAL, Kind, PREDEFINED,
};
use crate::communicator::Communicators;
use crate::datatype::Datatypes;
use crate::errhandler::{Errhandlers, no_window};
use crate::error::{Done, fail};
use crate::rank::{Part as _, Rank};

/// Returns the address of the value of a predefined attribute of communicators.
fn predefined(this: &Rank, key: c_int) -> Done<*mut c_void> {
    let value = match key {
        KEY_TAG_UB => TAG_UB,
        KEY_IO => ANY_SOURCE,
        KEY_HOST => PROC_NULL,
        KEY_WTIME_IS_GLOBAL => 1,
        KEY_APPNUM => 0,
        KEY_LASTUSEDCODE => Errhandlers::of(this).last_code(),
        KEY_UNIVERSE_SIZE => Communicators::of(this).get(Comm::WORLD)?.size() as c_int,
        _ => return fail!(Keyval, "the attribute key {key} is for windows"),
    };
    let cell = &Attributes::of(this).predefined[(key - PREDEFINED.start()) as usize];
    cell.set(value);
    Ok(cell.as_ptr().cast())
}

/// Writes an attribute and whether it exists.
///
/// # Safety
/// The pointers must be valid for writing a pointer and an integer.
unsafe fn write(found: Option<*mut c_void>, value: *mut c_void, flag: *mut c_int) -> Done {
    if value.is_null() || flag.is_null() {
        return fail!(Arg, "the argument for the attribute or the flag is null");
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        flag.write(found.is_some().into());
        if let Some(found) = found {
            value.cast::<*mut c_void>().write(found);
        }
    }
    Ok(())
}

fn get_comm(this: &Rank, comm: Comm, key: c_int) -> Done<Option<*mut c_void>> {
    let by = Communicators::of(this).get(comm)?;
    if PREDEFINED.contains(&key) {
        return predefined(this, key).map(Some);
    }
    Attributes::of(this).key(Kind::Comm, key)?;
    Ok(by.attributes.get(key))
}

fn set_comm(this: &Rank, comm: Comm, key: c_int, value: *mut c_void) -> Done {
    let by = Communicators::of(this).get(comm)?;
    let attributes = &Attributes::of(this);
    attributes.set(Kind::Comm, comm.0, &by.attributes, key, value)
}

fn delete_comm(this: &Rank, comm: Comm, key: c_int) -> Done {
    let by = Communicators::of(this).get(comm)?;
    Attributes::of(this).delete(Kind::Comm, comm.0, &by.attributes, key)
}

/// Creates a key. The functions are constants of the ABI or functions of the program.
///
/// # Safety
/// The functions must be valid, and `to` must be valid for writing.
unsafe fn create(
    this: &Rank,
    kind: Kind,
    copy: usize,
    delete: Option<Delete>,
    to: *mut c_int,
    state: *mut c_void,
) -> Done {
    if to.is_null() {
        return fail!(Arg, "the argument for the attribute key is null");
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        let copy = Copying::new(copy);
        to.write(Attributes::of(this).create(kind, copy, delete, state)?);
    }
    Ok(())
}

/// Frees a key, and sets it to `MPI_KEYVAL_INVALID`.
///
/// # Safety
/// `key` must be null or valid.
unsafe fn free(this: &Rank, kind: Kind, key: *mut c_int) -> Done {
    // SAFETY: guaranteed by the caller.
    match unsafe { key.as_mut() } {
        Some(key) => Attributes::of(this).free(kind, key),
        None => fail!(Arg, "the argument for the attribute key is null"),
    }
}

export! {
    fn MPI_Comm_create_keyval(
        copy: usize, delete: Option<Delete>, key: *mut c_int, state: *mut c_void,
    ) on World => |this| create(this, Kind::Comm, copy, delete, key, state);
    fn MPI_Keyval_create(
        copy: usize, delete: Option<Delete>, key: *mut c_int, state: *mut c_void,
    ) on World => |this| create(this, Kind::Comm, copy, delete, key, state);
    fn MPI_Type_create_keyval(
        copy: usize, delete: Option<Delete>, key: *mut c_int, state: *mut c_void,
    ) on World => |this| create(this, Kind::Type, copy, delete, key, state);
    fn MPI_Win_create_keyval(
        copy: usize, delete: Option<Delete>, key: *mut c_int, state: *mut c_void,
    ) on World => |this| create(this, Kind::Win, copy, delete, key, state);
    fn MPI_Comm_free_keyval(key: *mut c_int) on World => |this| free(this, Kind::Comm, key);
    fn MPI_Keyval_free(key: *mut c_int) on World => |this| free(this, Kind::Comm, key);
    fn MPI_Type_free_keyval(key: *mut c_int) on World => |this| free(this, Kind::Type, key);
    fn MPI_Win_free_keyval(key: *mut c_int) on World => |this| free(this, Kind::Win, key);
    fn MPI_Comm_set_attr(comm: Comm, key: c_int, value: *mut c_void) on comm => |this| {
        set_comm(this, comm, key, value)
    };
    fn MPI_Attr_put(comm: Comm, key: c_int, value: *mut c_void) on comm => |this| {
        set_comm(this, comm, key, value)
    };
    fn MPI_Comm_get_attr(
        comm: Comm, key: c_int, value: *mut c_void, flag: *mut c_int,
    ) on comm => |this| write(get_comm(this, comm, key)?, value, flag);
    fn MPI_Attr_get(
        comm: Comm, key: c_int, value: *mut c_void, flag: *mut c_int,
    ) on comm => |this| write(get_comm(this, comm, key)?, value, flag);
    fn MPI_Comm_delete_attr(comm: Comm, key: c_int) on comm => |this| {
        delete_comm(this, comm, key)
    };
    fn MPI_Attr_delete(comm: Comm, key: c_int) on comm => |this| delete_comm(this, comm, key);
    fn MPI_Type_set_attr(datatype: Datatype, key: c_int, value: *mut c_void) on World => |this| {
        Datatypes::of(this).any(datatype)?;
        let values = Rc::clone(Attributes::of(this).types.borrow_mut().entry(datatype).or_default());
        Attributes::of(this).set(Kind::Type, datatype.0, &values, key, value)
    };
    fn MPI_Type_get_attr(
        datatype: Datatype, key: c_int, value: *mut c_void, flag: *mut c_int,
    ) on World => |this| {
        Datatypes::of(this).any(datatype)?;
        Attributes::of(this).key(Kind::Type, key)?;
        let values = Attributes::of(this).values_of_type(datatype);
        write(values.and_then(|values| values.get(key)), value, flag)
    };
    fn MPI_Type_delete_attr(datatype: Datatype, key: c_int) on World => |this| {
        Datatypes::of(this).any(datatype)?;
        let values = Attributes::of(this).values_of_type(datatype).unwrap_or_default();
        Attributes::of(this).delete(Kind::Type, datatype.0, &values, key)
    };
    fn MPI_Win_set_attr(win: Win, _key: c_int, _value: *mut c_void) on World => |_| no_window(win);
    fn MPI_Win_get_attr(
        win: Win, _key: c_int, _value: *mut c_void, _flag: *mut c_int,
    ) on World => |_| no_window(win);
    fn MPI_Win_delete_attr(win: Win, _key: c_int) on World => |_| no_window(win);
}
