//! A stack for handlers of signals, of each thread that runs fibers.
//!
//! Rust gives one to the threads that it starts, if it has handlers of its own. Threads of others have none.

use std::cell::OnceCell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use crate::system::{Mapping, page_size};

thread_local! {
    static OWN: OnceCell<Option<Own>> = const { OnceCell::new() };
}

/// Sees to it that this thread has such a stack.
pub(crate) fn provide() -> io::Result<()> {
    let provided = OWN.try_with(|own| {
        if own.get().is_none() {
            let _ = own.set(Own::if_there_is_none()?);
        }
        Ok(())
    });
    // A thread that ends has it no more; overflows are told without a name then.
    provided.unwrap_or(Ok(()))
}

/// A stack of ours.
#[derive(Debug)]
struct Own {
    mapping: Mapping,
}

impl Own {
    fn if_there_is_none() -> io::Result<Option<Own>> {
        let now = exchange(None)?;
        if now.ss_flags & libc::SS_DISABLE == 0 {
            return Ok(None);
        }
        let len = (least() + (32 << 10)).next_multiple_of(page_size());
        let mapping = Mapping::reserve(len + page_size())?;
        // SAFETY: nobody uses it yet.
        unsafe { mapping.protect(0, page_size())? };
        exchange(Some(libc::stack_t {
            ss_sp: ptr::with_exposed_provenance_mut(mapping.start() + page_size()),
            ss_flags: 0,
            ss_size: len,
        }))?;
        Ok(Some(Own { mapping }))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let own = self.mapping.start() + page_size();
        if exchange(None).is_ok_and(|now| now.ss_sp.addr() == own) {
            let _ = exchange(Some(libc::stack_t {
                ss_sp: ptr::null_mut(),
                ss_flags: libc::SS_DISABLE,
                ss_size: libc::SIGSTKSZ,
            }));
        }
    }
}

/// What a handler needs at least.
fn least() -> usize {
    // SAFETY: it takes a number; 0 where the kernel does not say.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) as usize };
    least.max(libc::MINSIGSTKSZ)
}

/// Sets this thread's stack for handlers, if one is given, and tells what it was.
fn exchange(new: Option<libc::stack_t>) -> io::Result<libc::stack_t> {
    let mut old = MaybeUninit::uninit();
    let new = new.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: memory that is ours until this is undone, and room for the answer.
    match unsafe { libc::sigaltstack(new, old.as_mut_ptr()) } {
        // SAFETY: it was told.
        0 => Ok(unsafe { old.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}
