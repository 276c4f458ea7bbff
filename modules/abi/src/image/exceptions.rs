//! Exceptions of C++ that a rank handles while other ranks run.
//!
//! The runtime of C++ keeps the exceptions that are being handled for each thread
//! (`__cxa_eh_globals`, Itanium C++ ABI, Exception Handling, section 2.2.2). All ranks of a thread
//! would share them, so each rank has its own, which are exchanged when the rank is resumed and
//! suspended.

use std::ffi::{CStr, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// `__cxa_get_globals` of the runtime of C++, or null if no program uses one.
static GET_GLOBALS: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// `__cxa_eh_globals`: the stack of exceptions that are being handled, and the number of exceptions
/// that are not handled yet.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Exceptions {
    caught: *mut c_void,
    uncaught: c_uint,
}

impl Default for Exceptions {
    fn default() -> Self {
        Exceptions {
            caught: ptr::null_mut(),
            uncaught: 0,
        }
    }
}

impl Exceptions {
    /// Exchanges the exceptions of the thread with these.
    #[inline]
    pub(crate) fn exchange(&mut self) {
        let function = GET_GLOBALS.load(Ordering::Relaxed);
        if function.is_null() {
            return;
        }
        // SAFETY: the function has this type, and returns a pointer to the globals of the thread.
        // Nothing else uses them, because no code of C++ runs meanwhile.
        unsafe {
            let function: extern "C" fn() -> *mut Exceptions = std::mem::transmute(function);
            ptr::swap(self, function());
        }
    }
}

/// Name of the function of the runtime that returns the globals of the thread.
pub(super) const RUNTIME: &CStr = c"__cxa_get_globals";

/// Returns true if this is the function of the runtime that is used.
pub(super) fn is_used(function: usize) -> bool {
    GET_GLOBALS.load(Ordering::Relaxed) as usize == function
}

/// Uses the runtime of C++ with this function. All programs share one. A program with its own
/// runtime has its own globals already.
///
/// # Safety
/// The function must be [`RUNTIME`].
pub(super) unsafe fn use_runtime(function: usize) {
    GET_GLOBALS.store(function as *mut c_void, Ordering::Relaxed);
}
