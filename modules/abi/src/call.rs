//! Entry of each function of MPI: finds the calling rank, and turns errors into codes by the error
//! handler of the communicator.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::abi::{Comm, Session};
use crate::error::{Class, Done, Fail};
use crate::host;
use crate::rank::{self, Phase, Rank};
use crate::watch;

/// Object whose error handler handles the errors of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) enum On {
    /// A communicator.
    Of(Comm),
    /// No object: `MPI_COMM_SELF`, and `MPI_COMM_WORLD` if that has the default handler (MPI-5.0,
    /// section 9.3).
    World,
    /// The object of the request that the call has completed, or no object.
    Requests,
    /// A session.
    In(Session),
    /// `MPI_FILE_NULL`, whose error handler handles the errors of files that do not exist.
    Files,
    /// No object, for functions that may be called before `MPI_Init` and after `MPI_Finalize`.
    Always,
}

impl From<Comm> for On {
    fn from(comm: Comm) -> Self {
        On::Of(comm)
    }
}

impl From<Session> for On {
    fn from(session: Session) -> Self {
        On::In(session)
    }
}

/// Call that a rank makes: the name of the function, and the address in the program to which it
/// returns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call {
    pub(crate) name: &'static str,
    pub(crate) address: usize,
}

/// Returns the return address of the exported function that this function is inlined into. The
/// library is compiled with frame pointers.
#[inline(always)]
fn return_address() -> usize {
    let address: usize;
    // SAFETY: the frame pointer of a function points to two words: the frame pointer of its caller,
    // and its return address.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!("mov {}, [rbp + 8]", out(reg) address, options(nostack, readonly));
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!("ldr {}, [x29, #8]", out(reg) address, options(nostack, readonly));
    }
    address
}

/// Runs a function of MPI and returns its error code.
#[inline(always)]
pub(crate) fn call(name: &'static str, on: On, body: impl FnOnce(&Rc<Rank>) -> Done) -> c_int {
    let address = return_address();
    let rank = rank::current().unwrap_or_else(|| host::adopt(name));
    rank.call.set(Some(Call { name, address }));
    watch::progress();
    // The frames of the program below must not be unwound.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        rank.check_phase(name, on)?;
        let done = body(&rank);
        rank.requests.progress_freed();
        done
    }));
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(fail)) => raise(rank, name, on, fail),
        Err(payload) => {
            rank.fail(format!("internal error in {name}: {}", text(&*payload)));
            drop(payload);
            rank::leave(rank)
        }
    }
}

/// Returns the message of a panic. The payload of a dropped fiber has none.
fn text(payload: &(dyn std::any::Any + Send)) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("the rank was ended")
}

/// Calls the error handler for an error, and returns the error code if the handler returns.
#[cold]
fn raise(rank: Rc<Rank>, name: &'static str, on: On, fail: Fail) -> c_int {
    let class = fail.class as c_int;
    let handled = catch_unwind(AssertUnwindSafe(|| rank.handle(name, on, &fail)));
    match handled {
        Ok(true) => class,
        Ok(false) | Err(_) => {
            rank.fail(format!("{name}: {}", fail.text));
            drop(fail);
            rank::leave(rank)
        }
    }
}

impl Rank {
    /// Returns an error if the rank is not initialized, for functions that need it.
    #[inline(always)]
    fn check_phase(&self, name: &str, on: On) -> Done {
        match (self.phase.get(), on) {
            (Phase::Initialized, _) | (_, On::Always | On::In(_)) => Ok(()),
            // The sessions model needs no MPI_Init.
            _ if self.sessions.is_open() => Ok(()),
            (phase, _) => wrong_phase(phase, name),
        }
    }
}

#[cold]
fn wrong_phase(phase: Phase, name: &str) -> Done {
    let when = match phase {
        Phase::Before => "before MPI_Init",
        _ => "after MPI_Finalize",
    };
    Err(Fail::new(Class::Other, format!("{name} was called {when}")))
}
