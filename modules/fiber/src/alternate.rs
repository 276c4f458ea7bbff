//! An alternate signal stack for each thread that runs fibers.
//!
//! Rust provides one for the threads that it starts, if it has handlers of its own. Threads of
//! other languages have none.

use std::cell::OnceCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::system::{self, Mapping, done};

thread_local! {
    /// `None` if the thread already had an alternate stack.
    static OWN: OnceCell<Option<Own>> = const { OnceCell::new() };
}

/// Provides this thread with an alternate signal stack, unless it has one. Does nothing in a thread
/// that has dropped its thread-locals. Returns an error if the stack cannot be mapped, guarded or
/// set.
pub(crate) fn provide() -> io::Result<()> {
    let provided = OWN.try_with(|own| {
        if own.get().is_none() {
            let _ = own.set(Own::create_if_missing()?);
        }
        Ok(())
    });
    // A thread that is ending has dropped its alternate stack. In that case the kernel ends the
    // program without a report.
    provided.unwrap_or(Ok(()))
}

/// An alternate stack. Its lowest page is a guard.
struct Own {
    mapping: Mapping,
    page: usize,
}

impl Own {
    fn create_if_missing() -> io::Result<Option<Own>> {
        if exchange(None)?.ss_flags & libc::SS_DISABLE == 0 {
            return Ok(None);
        }
        let page = system::page_size();
        // SAFETY: `getauxval` has no preconditions. It returns 0 if the kernel does not report the
        // size.
        let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) as usize };
        let len = (least.max(libc::MINSIGSTKSZ) + (32 << 10)).next_multiple_of(page);
        let mapping = Mapping::reserve(page + len)?;
        // SAFETY: the mapping is new, so it contains no value.
        unsafe { system::protect(mapping.start(), page)? };
        let own = Own { mapping, page };
        exchange(Some(libc::stack_t {
            ss_sp: ptr::with_exposed_provenance_mut(own.start()),
            ss_flags: 0,
            ss_size: len,
        }))?;
        Ok(Some(own))
    }

    fn start(&self) -> usize {
        self.mapping.start() + self.page
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if exchange(None).is_ok_and(|now| now.ss_sp.addr() == self.start()) {
            let _ = exchange(Some(libc::stack_t {
                ss_sp: ptr::null_mut(),
                ss_flags: libc::SS_DISABLE,
                ss_size: libc::SIGSTKSZ,
            }));
        }
    }
}

/// Sets the alternate stack of this thread if `new` is given. Returns the previous one, or the
/// error of `sigaltstack`.
fn exchange(new: Option<libc::stack_t>) -> io::Result<libc::stack_t> {
    let mut old = MaybeUninit::uninit();
    let new = new.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: the new stack stays mapped until it is replaced, and `old` has room for the result.
    done(unsafe { libc::sigaltstack(new, old.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, so `old` is initialised.
    Ok(unsafe { old.assume_init() })
}
