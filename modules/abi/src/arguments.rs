//! Pointers that programs pass for results and texts, and the name of the host.

use std::ffi::{c_char, c_int};
use std::ptr;

use crate::abi::MAX_PROCESSOR_NAME;
use crate::error::{Done, fail};

/// Writes a result of a call.
///
/// # Safety
/// `to` must be null or valid for writing.
///
/// # Errors
/// [`Class::Arg`](crate::error::Class::Arg) if the pointer is null.
pub(crate) unsafe fn put<T>(to: *mut T, value: T) -> Done {
    if to.is_null() {
        return fail!(Arg, "the argument for a result is null");
    }
    // SAFETY: the pointer is valid, as the caller guarantees.
    unsafe { to.write(value) };
    Ok(())
}

/// Reads a handle that the call may change.
///
/// # Safety
/// `from` must be null or valid for reading.
///
/// # Errors
/// [`Class::Arg`](crate::error::Class::Arg) if the pointer is null.
pub(crate) unsafe fn get<T: Copy>(from: *const T) -> Done<T> {
    // SAFETY: guaranteed by the caller.
    match unsafe { from.as_ref() } {
        Some(value) => Ok(*value),
        None => fail!(Arg, "the pointer to a handle is null"),
    }
}

/// Writes a string and its length. Does nothing with a null pointer. The buffer has `size` bytes.
///
/// # Safety
/// The buffer must have `size` bytes, and `length` must be null or valid for writing.
pub(crate) unsafe fn write_text(value: &[u8], size: usize, to: *mut c_char, length: *mut c_int) {
    let value = &value[..value.len().min(size - 1)];
    if to.is_null() {
        return;
    }
    // SAFETY: the text and its end fit the buffer.
    unsafe {
        ptr::copy_nonoverlapping(value.as_ptr(), to.cast(), value.len());
        to.add(value.len()).write(0);
        if !length.is_null() {
            length.write(value.len() as c_int);
        }
    }
}

/// Returns the name of the host.
pub(crate) fn host() -> Vec<u8> {
    let mut name = vec![0u8; MAX_PROCESSOR_NAME];
    // SAFETY: the buffer has this size.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&byte| byte == 0);
    name.truncate(end.unwrap_or(0));
    name
}
