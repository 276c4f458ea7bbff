//! Ports: the two ends of a channel, as a process sees them.

mod borrowed;
mod input;
mod output;

pub use input::{Empty, Input, Read};
pub use output::{Output, TryWriteError, Write};
