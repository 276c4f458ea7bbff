//! Functions that the program calls instead of those of the C library.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

use super::library::{Destructor, Library, OnExit};
use super::load::Image;
use super::own::OwnImage;
use super::refused::FORK;
use super::{calendar, floating, getopt, iostreams, library, pause, plugins, streams, wide};
use crate::leave::leave;
use crate::rank::{self, Part as _, Rank};
use crate::{crash, report, singleton};

/// Returns the function that replaces a function of the C library, or `None` if it is not replaced.
pub(crate) fn replacement(name: &CStr) -> Option<usize> {
    let name = name.to_bytes();
    let function: *const () = match name {
        b"__libc_start_main" => start as *const (),
        b"exit" => exit as *const (),
        b"_exit" | b"_Exit" => exit_at_once as *const (),
        b"on_exit" => on_exit as *const (),
        b"quick_exit" => quick_exit as *const (),
        b"__cxa_at_quick_exit" => at_quick_exit as *const (),
        b"pthread_exit" => exit_thread as *const (),
        b"abort" => abort as *const (),
        b"__cxa_thread_atexit" | b"__cxa_thread_atexit_impl" => at_thread_exit as *const (),
        _ => refused(name)
            .or_else(|| streams::replacement(name))
            .or_else(|| wide::replacement(name))
            .or_else(|| iostreams::replacement(name))
            .or_else(|| getopt::replacement(name))
            .or_else(|| library::replacement(name))
            .or_else(|| floating::replacement(name))
            .or_else(|| pause::replacement(name))
            .or_else(|| calendar::replacement(name))
            .or_else(|| plugins::replacement(name))?,
    };
    Some(function as usize)
}

/// Prepares the variables of the C library for a rank that begins.
pub(crate) fn begin(rank: &Rank) {
    streams::begin(rank);
    getopt::begin(rank);
}

type Main = unsafe extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;

/// `__libc_start_main`: runs the constructors of the program, calls `main`, and ends the rank with
/// its result.
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
    if let Some(image) = own_image() {
        // SAFETY: the caller is the program of this rank, which has just begun.
        unsafe { image.construct((count, arguments, environment)) };
    }
    // SAFETY: this is the `main` of the program.
    let status = unsafe { main(count, arguments, environment) };
    exit(status)
}

fn own_image() -> Option<&'static Image> {
    OwnImage::of(&current()).0.get()
}

/// Returns the calling rank. Ends the OS process if the caller is not a rank.
fn current() -> Rc<Rank> {
    rank::current().unwrap_or_else(|| singleton::not_a_rank("exit"))
}

/// `exit`: runs the destructors of the program, flushes all streams, and ends the rank. The
/// functions of `on_exit` run first, then the functions of `atexit`.
extern "C" fn exit(status: c_int) -> ! {
    while let Some((function, object)) = last(|library| &library.destructors) {
        // SAFETY: the program has registered the function with its argument.
        unsafe { function(object) };
    }
    while let Some((function, argument)) = last(|library| &library.on_exit) {
        // SAFETY: as above.
        unsafe { function(status, argument) };
    }
    let image = OwnImage::of(&current()).0.take();
    if let Some(image) = image {
        // SAFETY: the caller is the program of this rank.
        unsafe { image.destruct() };
    }
    iostreams::flush();
    // The streams of other ranks are flushed, too, which they cannot observe: the C library may
    // write a buffer at any time. A list of the streams of a rank would miss those that libraries
    // open and close.
    // SAFETY: the call has no preconditions.
    unsafe { libc::fflush(ptr::null_mut()) };
    exit_at_once(status)
}

/// Takes the function of the calling rank that was registered last. Nothing is borrowed while it
/// runs, because it may register others or end the rank.
fn last<T>(of: impl Fn(&Library) -> &RefCell<Vec<T>>) -> Option<T> {
    of(Library::of(&current())).borrow_mut().pop()
}

/// `on_exit`. Other threads than ranks cannot register functions.
unsafe extern "C" fn on_exit(function: OnExit, argument: *mut c_void) -> c_int {
    let Some(rank) = rank::current() else {
        return -1;
    };
    let mut functions = Library::of(&rank).on_exit.borrow_mut();
    functions.push((function, argument));
    0
}

/// `__cxa_at_quick_exit`, which `at_quick_exit` calls. Other threads than ranks cannot register
/// functions.
unsafe extern "C" fn at_quick_exit(function: Destructor, _library: *mut c_void) -> c_int {
    let Some(rank) = rank::current() else {
        return -1;
    };
    let mut functions = Library::of(&rank).at_quick_exit.borrow_mut();
    functions.push(function);
    0
}

/// `quick_exit`: runs the functions of `at_quick_exit`, and ends the rank.
extern "C" fn quick_exit(status: c_int) -> ! {
    while let Some(function) = last(|library| &library.at_quick_exit) {
        // SAFETY: the program has registered the function, which has no argument.
        unsafe { function(ptr::null_mut()) };
    }
    exit_at_once(status)
}

/// `__cxa_thread_atexit`: registers a destructor of a thread-local object. It runs at the end of
/// the rank.
unsafe extern "C" fn at_thread_exit(
    function: Destructor,
    object: *mut c_void,
    library: *mut c_void,
) -> c_int {
    unsafe extern "C" {
        fn __cxa_thread_atexit_impl(
            function: Destructor,
            object: *mut c_void,
            library: *mut c_void,
        ) -> c_int;
    }
    let Some(rank) = rank::current() else {
        // SAFETY: guaranteed by the caller.
        return unsafe { __cxa_thread_atexit_impl(function, object, library) };
    };
    let mut destructors = Library::of(&rank).destructors.borrow_mut();
    destructors.push((function, object));
    0
}

/// `_exit`: ends the rank.
extern "C" fn exit_at_once(status: c_int) -> ! {
    let rank = current();
    // The system keeps the low byte of a status.
    match status & 0xff {
        0 => rank.succeed(),
        _ => {
            report::record_status(status);
            rank.fail(format!("exited with status {status}"));
        }
    }
    leave(rank)
}

/// `pthread_exit`: ends the rank as `exit(0)` does, because its thread runs other ranks, too. Other
/// threads of the program do not continue the rank.
extern "C" fn exit_thread(value: *mut c_void) -> ! {
    unsafe extern "C" {
        fn pthread_exit(value: *mut c_void) -> !;
    }
    match rank::current() {
        Some(rank) if !singleton::is_current() => {
            drop(rank);
            exit(0)
        }
        // SAFETY: the caller is a thread that the program has created, or the thread of its `main`.
        _ => unsafe { pthread_exit(value) },
    }
}

/// `abort`: ends the rank with an error.
extern "C" fn abort() -> ! {
    let rank = current();
    rank.fail(format!("called abort{}", crash::caller(rank.base.get())));
    leave(rank)
}

/// Defines functions that end the rank with an error, because they would replace or duplicate the
/// OS process of all ranks.
macro_rules! refused {
    ($($name:ident)*) => {
        /// Returns the function that replaces a refused function.
        pub(super) fn refused(name: &[u8]) -> Option<*const ()> {
            $(
                if name == stringify!($name).as_bytes() {
                    extern "C" fn $name() -> c_int {
                        refuse(stringify!($name))
                    }
                    return Some($name as *const ());
                }
            )*
            None
        }
    };
}

refused! {
    fork vfork _Fork daemon
    execv execve execvp execvpe execveat fexecve execl execle execlp
}

/// Ends the rank with an error.
fn refuse(name: &str) -> ! {
    let rank = current();
    rank.fail(format!(
        "called {name}, which ranks of one OS process cannot do ({FORK})"
    ));
    leave(rank)
}
