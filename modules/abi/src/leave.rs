//! The end of a rank that does not return from its `main`.

use std::rc::Rc;

use graphmap_runtime::Exit;

use crate::rank::{self, Rank};
use crate::{report, singleton};

/// Ends the calling rank, whose result is known. Its stack is freed without unwinding.
pub(crate) fn leave(rank: Rc<Rank>) -> ! {
    if singleton::is_current() {
        singleton::leave(rank.take_result());
    }
    drop(rank);
    // SAFETY: the callers are functions that the program has called. They have dropped their
    // values, and the frames below belong to the program.
    let _error = unsafe { graphmap_fiber::abandon() };
    // The caller is a thread that the program has started, or a function that MPI has called, such
    // as an operation.
    let rank = rank::current_or_thread();
    let who = match rank.is_thread() {
        true => "a thread that is not a rank".to_string(),
        false => format!("rank {}", rank.number()),
    };
    match rank.take_result() {
        Some(Err(why)) => eprintln!("error: {who} failed: {why}"),
        _ => eprintln!("error: {who} ended in a function that MPI has called"),
    }
    let status = report::status().unwrap_or(Exit::Failed as u8);
    // SAFETY: this function never returns.
    unsafe { libc::_exit(status.into()) }
}
