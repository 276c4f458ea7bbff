//! The action of this OS process for a signal.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr;

/// Returns the handler of a signal, which may be `SIG_DFL` or `SIG_IGN`. Returns `None` if the
/// signal does not exist, and always under Miri. Changes nothing.
pub fn handler(signal: c_int) -> Option<libc::sighandler_t> {
    if cfg!(miri) {
        return None;
    }
    let mut action = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: a null pointer sets no action, and `action` has room for the present one.
    if unsafe { libc::sigaction(signal, ptr::null(), action.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call has succeeded, so it has initialised the action.
    Some(unsafe { action.assume_init() }.sa_sigaction)
}
