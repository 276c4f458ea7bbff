//! A program that was started directly, as the only rank of its run.
//!
//! Its `main` keeps the stack of the thread. The scheduler runs on a stack of its own. When the
//! program waits for a future, it resumes the scheduler, which polls the future, and suspends
//! itself when the future is ready.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, OsStr, c_void};
use std::future::poll_fn;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::Pin;
use std::process;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use graphmap_runtime::{Exit, Local, Options, RunError};

use crate::on::On;
use crate::rank::{self, Ended, Rank};
use crate::report;

/// Stack of the scheduler, in bytes.
const STACK: usize = 8 << 20;

/// A future that the program waits for. It is on the stack of the program, which is suspended until
/// the future is ready.
type Awaited = *mut dyn FnMut(&mut Context<'_>) -> Poll<()>;

/// The suspended scheduler. It is never dropped, because its frames belong to the run.
type Scheduler = Coroutine<Awaited, (), Result<(), RunError>, DefaultStack>;

thread_local! {
    static SCHEDULER: RefCell<Option<Scheduler>> = const { RefCell::new(None) };
    /// Whether the thread is the only rank of its run.
    static IS_SINGLETON: Cell<bool> = const { Cell::new(false) };
}

/// Set if no thread can become a rank any more: this OS process hosts ranks, or it has a rank.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Makes this OS process the host of ranks, so that no thread becomes a rank by a call of MPI.
pub(crate) fn forbid() {
    IS_TAKEN.store(true, Ordering::Relaxed);
}

/// Makes the calling thread the only rank of its run, if the program was started directly and this
/// is its first call of MPI. Otherwise ends the OS process, unless any thread may call the
/// function.
#[cold]
pub(crate) fn adopt(name: &str, on: On) -> Rc<Rank> {
    if IS_TAKEN.swap(true, Ordering::Relaxed) {
        match on {
            On::Thread => return rank::current_or_thread(),
            _ => not_a_rank(name),
        }
    }
    report::require_one_copy();
    begin().unwrap_or_else(|why| {
        eprintln!("error: {why}");
        process::exit(Exit::Usage as i32)
    })
}

/// Ends the OS process, because a function of MPI was called by a thread that is not a rank.
#[cold]
pub(crate) fn not_a_rank(name: &str) -> ! {
    eprintln!("error: {name} was called by a thread that is not a rank");
    // SAFETY: this function never returns.
    unsafe { libc::_exit(1) }
}

/// Returns true if the calling thread is the only rank of its run.
#[inline]
pub(crate) fn is_current() -> bool {
    IS_SINGLETON.get()
}

/// Makes the calling thread the only rank of a run.
///
/// # Errors
/// A description, if the run cannot begin.
fn begin() -> Result<Rc<Rank>, String> {
    let options = Options::from_env().map_err(|error| error.to_string())?;
    let stack = DefaultStack::new(STACK).map_err(|error| error.to_string())?;
    let body = move |yielder: &Yielder<Awaited, ()>, first: Awaited| run(yielder, first, &options);
    let scheduler = Coroutine::with_stack(stack, body);
    SCHEDULER.set(Some(scheduler));
    IS_SINGLETON.set(true);
    let rank = Rc::new(Rank::new(0));
    rank::set_current(Some(Rc::clone(&rank)));
    // Starts the scheduler.
    wait(std::future::ready(()));
    Ok(rank)
}

/// Runs the scheduler, whose only process polls the futures of the program.
fn run(yielder: &Yielder<Awaited, ()>, first: Awaited, options: &Options) -> Result<(), RunError> {
    // SAFETY: the process below ends only with the run, which ends in this function.
    let yielder: &'static Yielder<Awaited, ()> = unsafe { &*std::ptr::from_ref(yielder) };
    let mut awaited = first;
    let process = poll_fn(move |context| -> Poll<Result<(), String>> {
        loop {
            // SAFETY: the program is suspended, and keeps the future until it is ready.
            let poll = unsafe { &mut *awaited };
            if poll(context).is_pending() {
                return Poll::Pending;
            }
            awaited = yielder.suspend(());
        }
    });
    let mut network = Local::new();
    network.spawn(process);
    network.run(options).map(drop)
}

/// Blocks the program until a future is ready. If the run ends, prints the reason and ends the OS
/// process.
pub(crate) fn wait<F: Future>(mut future: F) -> F::Output {
    // SAFETY: the future is not moved below.
    let mut future = unsafe { Pin::new_unchecked(&mut future) };
    let mut output = None;
    let mut poll = |context: &mut Context<'_>| {
        future
            .as_mut()
            .poll(context)
            .map(|ready| output = Some(ready))
    };
    let awaited: &mut dyn FnMut(&mut Context<'_>) -> Poll<()> = &mut poll;
    // SAFETY: only the lifetime changes. The scheduler uses the pointer only until the future is
    // ready, and this function returns only then.
    let awaited: Awaited = unsafe { std::mem::transmute(std::ptr::from_mut(awaited)) };
    let scheduler = SCHEDULER.take();
    let Some(mut scheduler) = scheduler else {
        not_a_rank("a call of MPI");
    };
    let result = scheduler.resume(awaited);
    match result {
        CoroutineResult::Yield(()) => {
            SCHEDULER.set(Some(scheduler));
            // The scheduler suspends itself only when the future is ready.
            output.unwrap_or_else(|| unreachable!("the future is ready"))
        }
        CoroutineResult::Return(ended) => {
            let exit = match ended {
                Ok(()) => Exit::Failed,
                Err(mut error) => {
                    explain(&mut error);
                    eprintln!("error: {error}");
                    error.exit()
                }
            };
            process::exit(i32::from(exit as u8))
        }
    }
}

/// Replaces the positions in a report of a deadlock by that of the call in the program.
fn explain(error: &mut RunError) {
    let call = rank::current().and_then(|rank| rank.call.get());
    let Some(call) = call else {
        return;
    };
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the function fills the struct if it returns another number than 0.
    let found = unsafe {
        match libc::dladdr(call.address as *const c_void, found.as_mut_ptr()) {
            0 => return,
            _ => found.assume_init(),
        }
    };
    report::record(0, call, found.dli_fbase as usize);
    // SAFETY: the name of an object is a string.
    let path = unsafe { CStr::from_ptr(found.dli_fname) };
    report::explain(error, Path::new(OsStr::from_bytes(path.to_bytes())));
}

/// Ends the OS process, because the rank has ended with an error.
pub(crate) fn leave(ended: Option<Ended>) -> ! {
    if let Some(Err(why)) = ended {
        eprintln!("error: {why}");
    }
    process::exit(report::status().unwrap_or(Exit::Failed as u8).into())
}
