//! Functions that the program calls instead of those of the C library.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::rc::Rc;

use super::own::OwnImage;
use super::refused::FORK;
use crate::leave::leave;
use crate::rank::{self, Part as _, Rank};
use crate::{crash, report, singleton, wait};

/// Returns the function that replaces a function of the C library, or `None` if it is not replaced.
pub(crate) fn replacement(name: &CStr) -> Option<usize> {
    let function: *const () = match name.to_bytes() {
        b"__libc_start_main" => start as *const (),
        b"exit" => exit as *const (),
        b"_exit" | b"_Exit" | b"quick_exit" => exit_at_once as *const (),
        b"abort" => abort as *const (),
        b"fork" | b"vfork" => fork as *const (),
        b"sched_yield" => sched_yield as *const (),
        _ => return None,
    };
    Some(function as usize)
}

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// `__libc_start_main`: calls `main`, and ends the rank with its result.
unsafe extern "C" fn start(
    main: Main,
    count: c_int,
    arguments: *mut *mut c_char,
    _init: *const c_void,
    _fini: *const c_void,
    _loader_fini: *const c_void,
    _stack: *const c_void,
) -> c_int {
    // SAFETY: the environment is behind the arguments and their null pointer.
    let environment = unsafe { arguments.add(count as usize + 1) };
    // SAFETY: this is the `main` of the program.
    let status = unsafe { main(count, arguments, environment) };
    exit(status)
}

fn current() -> Rc<Rank> {
    rank::current().unwrap_or_else(|| singleton::not_a_rank("exit"))
}

/// `exit`: runs the destructors of the program, and ends the rank.
extern "C" fn exit(status: c_int) -> ! {
    let rank = current();
    let image = OwnImage::of(&rank).0.take();
    drop(rank);
    if let Some(image) = &image {
        // SAFETY: the caller is the program of this rank. The image has no destructor.
        unsafe { image.destruct() };
    }
    drop(image);
    exit_at_once(status)
}

/// `_exit`: ends the rank.
extern "C" fn exit_at_once(status: c_int) -> ! {
    let rank = current();
    match status {
        0 => rank.succeed(),
        _ => {
            report::record_status(status);
            rank.fail(format!("exited with status {status}"));
        }
    }
    leave(rank)
}

/// `abort`: ends the rank with an error.
extern "C" fn abort() -> ! {
    let rank = current();
    rank.fail(format!("called abort{}", crash::caller(rank.base.get())));
    leave(rank)
}

/// `fork`: fails, because the child process would have all ranks.
extern "C" fn fork() -> c_int {
    // SAFETY: the location of `errno` is valid.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    let rank = current();
    rank.fail(format!(
        "called fork, which ranks of one OS process cannot do ({FORK})"
    ));
    leave(rank)
}

/// `sched_yield`: lets other ranks run.
extern "C" fn sched_yield() -> c_int {
    let yielded = std::panic::catch_unwind(wait::yield_now);
    match yielded {
        Ok(()) => 0,
        Err(_) => leave(current()),
    }
}
