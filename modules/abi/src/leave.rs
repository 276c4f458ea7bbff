//! The end of a rank that does not return from its `main`.

use std::rc::Rc;

use crate::rank::Rank;
use crate::singleton;

/// Ends the calling rank, whose result is known. Its stack is freed without unwinding.
pub(crate) fn leave(rank: Rc<Rank>) -> ! {
    if singleton::is_current() {
        singleton::leave(rank.take_result());
    }
    drop(rank);
    // SAFETY: the callers are functions that the program has called. They have dropped their
    // values, and the frames below belong to the program.
    let error = unsafe { graphmap_fiber::abandon() };
    eprintln!("error: a rank ended where it cannot be suspended: {error}");
    // SAFETY: this function never returns.
    unsafe { libc::_exit(1) }
}
