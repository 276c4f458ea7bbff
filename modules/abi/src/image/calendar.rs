//! Functions of the C library that return calendar times in static memory. Each rank has its own.

use std::cell::UnsafeCell;
use std::ffi::c_char;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{time_t, tm};

use crate::rank::{self, Part, Slot};

/// Results of the last calls of a rank.
struct Calendar {
    time: UnsafeCell<MaybeUninit<tm>>,
    /// Text of a time, which has 26 bytes for years of four digits.
    text: UnsafeCell<[c_char; 32]>,
}

impl Default for Calendar {
    fn default() -> Self {
        Calendar {
            time: UnsafeCell::new(MaybeUninit::zeroed()),
            text: UnsafeCell::default(),
        }
    }
}

impl Part for Calendar {
    const SLOT: Slot = Slot::Calendar;
}

unsafe extern "C" {
    fn tzset();
    fn asctime_r(time: *const tm, text: *mut c_char) -> *mut c_char;
}

/// Returns the function that replaces a function, or `None` if it is not replaced.
pub(super) fn replacement(name: &[u8]) -> Option<*const ()> {
    Some(match name {
        b"gmtime" => gmtime as *const (),
        b"localtime" => localtime as *const (),
        b"asctime" => asctime as *const (),
        b"ctime" => ctime as *const (),
        _ => return None,
    })
}

/// Calls `f` with the places for the results of the calling rank.
fn with<R>(f: impl FnOnce(*mut tm, *mut c_char) -> R) -> R {
    let rank = rank::current_or_thread();
    let calendar = Calendar::of(&rank);
    f(calendar.time.get().cast(), calendar.text.get().cast())
}

unsafe extern "C" fn gmtime(time: *const time_t) -> *mut tm {
    // SAFETY: guaranteed by the caller.
    with(|result, _| unsafe { libc::gmtime_r(time, result) })
}

unsafe extern "C" fn localtime(time: *const time_t) -> *mut tm {
    // SAFETY: guaranteed by the caller. Unlike `localtime_r`, this function reads the variable `TZ`
    // each time.
    with(|result, _| unsafe {
        tzset();
        libc::localtime_r(time, result)
    })
}

unsafe extern "C" fn asctime(time: *const tm) -> *mut c_char {
    // SAFETY: guaranteed by the caller. The text has room for all years that `asctime_r` accepts.
    with(|_, text| unsafe { asctime_r(time, text) })
}

unsafe extern "C" fn ctime(time: *const time_t) -> *mut c_char {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let time = localtime(time);
        match time.is_null() {
            true => ptr::null_mut(),
            false => asctime(time),
        }
    }
}
