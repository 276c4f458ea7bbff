//! Entry of each function of MPI: finds the calling rank, and turns errors into codes by the error
//! handler of the communicator.

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use crate::communicator::Communicators;
use crate::errhandler::Errhandlers;
use crate::error::{Class, Done, Fail};
use crate::leave::leave;
use crate::on::On;
use crate::rank::{self, Call, Part, Phase, Rank};
use crate::request::Requests;
use crate::session::Sessions;
use crate::singleton;
use crate::wait::CannotWait;

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
    let rank = rank::current().unwrap_or_else(|| singleton::adopt(name, on));
    rank.call.set(Some(Call { name, address }));
    // The frames of the program below must not be unwound.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        check_phase(&rank, name, on)?;
        let done = body(&rank);
        Requests::of(&rank).progress_freed();
        done
    }));
    match outcome {
        Ok(Ok(())) => 0,
        Ok(Err(fail)) => raise(rank, name, on, fail),
        Err(payload) => {
            rank.fail(match payload.is::<CannotWait>() {
                true => format!("{name} cannot wait in a function that MPI has called"),
                false => format!("internal error in {name}: {}", text(&*payload)),
            });
            drop(payload);
            leave(rank)
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
    let handled = catch_unwind(AssertUnwindSafe(|| handle(&rank, name, on, &fail)));
    match handled {
        Ok(true) => fail.code,
        Ok(false) | Err(_) => {
            rank.fail(format!("{name}: {}", fail.text));
            drop(fail);
            leave(rank)
        }
    }
}

/// Calls the error handler for an error of a call. Returns false if the error is fatal.
fn handle(rank: &Rc<Rank>, name: &str, on: On, fail: &Fail) -> bool {
    let communicators = Communicators::of(rank);
    match on {
        On::Of(comm) => communicators.handle(comm, fail),
        On::Requests => handle(rank, name, Requests::of(rank).failing(), fail),
        On::In(session) => match Sessions::of(rank).handler(session) {
            Ok(handler) => handler.call(session.0, fail.code),
            Err(_) => communicators.handle_without(fail),
        },
        On::Files => Errhandlers::of(rank).handle_file(name, fail),
        On::World | On::Always | On::Thread => communicators.handle_without(fail),
    }
}

/// Returns an error if the rank is not initialized, for functions that need it.
#[inline(always)]
fn check_phase(rank: &Rank, name: &str, on: On) -> Done {
    match (rank.phase.get(), on) {
        (Phase::Initialized, _) | (_, On::Always | On::Thread | On::In(_)) => Ok(()),
        // The sessions model needs no MPI_Init.
        _ if Sessions::of(rank).is_open() => Ok(()),
        (phase, _) => wrong_phase(phase, name),
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
