//! Schedulers of processes that are futures, the waits between them, and the links that carry
//! messages between schedulers, OS processes and hosts.
//!
//! [`graphmap-runtime`](https://docs.rs/graphmap-runtime) builds channels on this crate, and
//! `graphmap-mpi-core` builds the ranks of MPI. Both use its modules, which are hidden in the
//! documentation because they may change with any version. Programs use the names that
//! `graphmap-runtime` re-exports.

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("graphmap runs on Linux on x86-64 and aarch64 only");

#[doc(hidden)]
pub mod block;
mod clock;
mod copy;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod exec;
#[doc(hidden)]
pub mod finally;
mod host;
#[cfg(all(test, loom))]
mod interleavings;
#[doc(hidden)]
pub mod link;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod os_signal;
#[doc(hidden)]
#[doc(hidden)]
pub mod over_mpi;
#[doc(hidden)]
pub mod overgrown;
#[doc(hidden)]
#[macro_use]
pub mod payload;
#[doc(hidden)]
pub mod pin;
#[doc(hidden)]
pub mod place;
#[doc(hidden)]
pub mod placement;
#[doc(hidden)]
#[doc(hidden)]
pub mod quote;
#[doc(hidden)]
pub mod running;
#[doc(hidden)]
pub mod say;
#[doc(hidden)]
pub mod sequence;
#[doc(hidden)]
pub mod sync;
#[doc(hidden)]
pub mod trace;
mod variables;

pub use block::{Block, BlockedProcess, BlockedWait, Quiet};
pub use error::{Exit, Failure, RunError};
pub use exec::introspection::{
    Connection, Connections, Direction, FullName, Module, OsProcess, Process, Processes,
    collocated, connections, full_name, full_name_of_rank, in_os_process, modules, of_full_name,
    of_kind, os_processes, process, process_of_rank, processes,
};
pub use exec::introspection::{Me, me, yield_now};
pub use exec::outcome::{Outcome, Stopped};
pub use exec::sleep::{Interval, Sleep, interval, sleep, sleep_until};
pub use exec::task_set::TaskSet;
pub use exec::task_set::join;
pub use exec::user_code::{uninterrupted, uninterrupted_depth};
pub use options::Options;
pub use overgrown::Overgrown;
pub use payload::{DecodeError, Decoder, Encoder, Format, Payload};
#[doc(hidden)]
pub use payload::{Defaulted, Known, Probe, Undefaulted, Unknown};
pub use place::Place;
pub use sequence::{Sequence, SequenceError};
#[doc(hidden)]
pub use variables::bytes;
