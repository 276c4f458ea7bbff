//! Ports: the two ends of a channel, as a process sees them.

mod input;
mod output;

pub use input::{Empty, Input, Read};
pub use output::{Output, TryWriteError, Write};

use crate::exec::scheduler;
use crate::link::waiter::is_hooked;

/// Frees the hook of an end that leaves while a foreign waker waits at it.
fn unhook(word: u32) {
    if is_hooked(word) {
        scheduler::with_current(|scheduler| scheduler.unhook(word));
    }
}
