//! Runtime for process networks: runs the processes of a Kahn network as futures, many of them on
//! one thread.
//!
//! A *process* is an `async fn`. It reads from [`Input`]s and writes to [`Output`]s. Each of them
//! is one end of a typed, bounded channel. Ports that join several channels are bundles:
//! [`Select`], [`Switch`], [`Share`], [`Broadcast`], [`Scatter`], [`Gather`], [`Reduce`]. Channels
//! that both ends open and close are flow-controlled: [`FlowInput`], [`FlowOutput`],
//! [`FlowSelect`], [`FlowShare`].
//!
//! A *scheduler* runs many processes on one thread. A run has one scheduler or several, and each
//! process stays on its scheduler. Between two processes of one scheduler, a token moves without a
//! lock, an atomic operation or a system call. Between schedulers, it goes through a lock-free
//! ring.
//!
//! # A program
//!
//! Generated wiring code describes a [`Network`] in tables. Their size grows with the number of
//! kinds, not with the number of processes. You write the functions of the processes:
//!
//! ```
//! use graphmap_runtime as rt;
//! use rt::{Channels, Input, Names, Output, Stopped};
//!
//! struct Count { out: Output<u64> }
//! impl rt::Ports for Count {
//!     fn connect(ends: &mut rt::Ends<'_>) -> Self { Count { out: ends.output() } }
//! }
//!
//! struct Filter { numbers: Input<u64>, rest: Output<u64> }
//! impl rt::Ports for Filter {
//!     fn connect(ends: &mut rt::Ends<'_>) -> Self {
//!         Filter { numbers: ends.input(), rest: ends.output() }
//!     }
//! }
//!
//! async fn count(mut p: Count) -> Result<(), Stopped> {
//!     for n in 2.. {
//!         p.out.write(n).await?; // Stopped when the first filter has left
//!     }
//!     Ok(())
//! }
//!
//! async fn filter(mut p: Filter) -> Result<(), Stopped> {
//!     let Some(prime) = p.numbers.read().await else { return Ok(()) };
//!     assert!([2, 3, 5, 7, 11].contains(&prime));
//!     if !p.rest.is_connected() {
//!         return Ok(()); // the last one has its prime: all others are asked to stop
//!     }
//!     while let Some(n) = p.numbers.read().await {
//!         if n % prime != 0 {
//!             p.rest.write(n).await?;
//!         }
//!     }
//!     Ok(())
//! }
//!
//! fn network() -> rt::Network {
//!     let mut net = rt::Network::new("sieve", "sieve.dot");
//!     let counter = net.kind("count", Names::Listed(&["count"]), "0", &["out"], count);
//!     let filters = net.kind(
//!         "filter", Names::Numbered("filter", "1+1*5"), "1+1*5", &["numbers", "rest"], filter,
//!     );
//!     net.channels::<u64>(Channels::new((counter, 0), (filters, 0), "0", "0"));
//!     net.channels::<u64>(Channels {
//!         capacity: 16,
//!         line: "7+1*4",
//!         ..Channels::new((filters, 1), (filters, 0), "0+1*4", "1+1*4")
//!     });
//!     net
//! }
//!
//! // A generated program does this with `graphmap_runtime::main(network)`.
//! for schedulers in [1, 2] {
//!     rt::run(network(), &rt::Options::new().os_processes(schedulers)).unwrap();
//! }
//! ```
//!
//! # Rules
//!
//! * *End of a stream.* An input is at its end (`None`) when its writer has finished and all tokens
//!   have been read. A write returns [`Stopped`] when the reader has finished. Ports close when
//!   they are dropped, so both conditions propagate through a network as its processes end.
//! * *Unconnected ports* (joined to the environment) are at their end, or stopped, from the start.
//! * *Bounds.* A write waits while the channel is full. If the whole network is blocked and full
//!   channels are on a cycle of waiting processes, the runtime doubles the smallest of these
//!   channels, and the run continues ([`Report::growths`]). [`Options::memory`] limits the growth.
//!   Any other deadlock ends the run with [`RunError::Blocked`]. Deadlocks are detected without
//!   timeouts, at the moment at which they arise.
//! * *Timers* ([`sleep`], [`sleep_until`], [`interval`]) let a process wait for a time. Its
//!   scheduler runs other processes meanwhile. While a timer is set, quiescence is not a deadlock.
//! * *Foreign futures* (timers, sockets of another library) may be awaited, and ports may be used
//!   under combinators of other libraries. While code outside the runtime holds a waker of a
//!   process, quiescence is not a deadlock if no channel can grow: [`Options::on_quiet`] reports
//!   it.
//! * *Failures.* A process that returns an error or panics ends the run. The run reports the first
//!   failure.
//! * *Determinism.* A network produces the same tokens on each channel, in any order of execution,
//!   under these conditions. Its processes use no select and share bundles, and no
//!   [`select!`](crate::select!) or [`any`]. Their tokens do not depend on the time. They
//!   call no `try_` functions, and no `state` or `closing` of flow-controlled ports. A process ends
//!   when it gets [`Stopped`], and makes no other use of [`Stopped`], because its time depends on
//!   the order of execution. A writer can also continue without its reader
//!   ([`Output::write_or_discard`]). [`Options::shuffle`] tests determinism.
//!
//! # Your code inside calls of the runtime
//!
//! Besides processes, the runtime calls destructors and clones of tokens, operations of reductions,
//! encoders of payloads, and wakers of other libraries. It calls them when a change of its state is
//! complete, or restores the state if they panic. Therefore they may use any port or communicator.
//!
//! * When an input is dropped, it first closes its end of the channel and then drops its unread
//!   tokens. A destructor that writes to that channel therefore gets [`Stopped`]. The tokens are
//!   usually dropped at once. They are dropped after the poll of the process, where nothing can
//!   wait, in two cases: if 32 such drops are in progress in the run (tokens hold ports, or fibers
//!   wait in destructors), or if the channel is between schedulers.
//! * A panic in the operation of a reduction ends the run, even if it is caught, because the other
//!   ranks wait for the result.
//! * A panic in the fold of a [`Reduce`] port loses that row of tokens. The next read folds the
//!   next row.
//! * On the stack of a fiber, these must not wait: the operation of a reduction, the clone of a
//!   value for all ranks, the closure of `Window::with`, destructors of unread tokens outside a
//!   run, and anything inside a run that the fiber has started. A wait there returns
//!   `WaitError::InPoll`.
//!
//! # Features
//!
//! * `derive`: `#[derive(Payload)]`. Projects that `graphmap new` creates enable it.
//! * `mpi`, enabled by default: processes are also ranks of MPI ([`mpi`]). It is a third of the
//!   code to compile, so new projects disable it.

// Without `mpi`, code that only ranks use is dead, and links to the documentation of `mpi` are
// broken.
#![cfg_attr(
    not(feature = "mpi"),
    allow(dead_code, rustdoc::broken_intra_doc_links)
)]

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
compile_error!("graphmap runs on Linux on x86-64 and aarch64 only");

mod child_processes;
mod chrome;
mod entry;
mod kpn;
mod launcher;
mod local;
mod output_file;
mod outputs;
mod panics;
mod room_waits;
mod run;
mod signals;
mod stats;
mod visible;

pub use entry::main;
#[doc(hidden)]
pub use entry::{Messages, main_over, main_with, started_once};
#[cfg(feature = "derive")]
pub use graphmap_derive::Payload;
#[doc(hidden)]
pub use graphmap_executor::running::Overlong;
pub use graphmap_executor::{
    Block, BlockedProcess, BlockedWait, Connection, Connections, DecodeError, Decoder, Direction,
    Encoder, Exit, Failure, Format, FullName, Interval, Me, Module, Options, OsProcess, Outcome,
    Overgrown, Payload, Place, Process, Processes, Quiet, RunError, Sequence, SequenceError, Sleep,
    Stopped, TaskSet, collocated, connections, default_of, format_of, full_name, full_name_of_rank,
    in_os_process, interval, join, me, modules, of_full_name, of_kind, os_processes, payload,
    process, process_of_rank, processes, sleep, sleep_until, uninterrupted, uninterrupted_depth,
    yield_now,
};
#[cfg(feature = "mpi")]
pub use graphmap_mpi_core as mpi;
pub use kpn::arguments::Values;
pub use kpn::bundle::{Broadcast, Gather, ReadOrEnd, Reduce, Scatter, Select, Share, Switch};
pub use kpn::connect::{Ends, Ports};
pub use kpn::flow::{Closing, FlowInput, FlowOutput, FlowSelect, FlowShare, State};
pub use kpn::network::{Channels, Kind, Names, Network};
pub use kpn::ports::{Empty, Input, Output, Read, TryWriteError, Write};
pub use kpn::select::{Any, OneOf, Source, Sources, any};
pub use kpn::stop::Stop;
pub use kpn::tables::size;
pub use local::Local;
pub use run::run;
#[doc(hidden)]
pub use run::run_over;
pub use stats::{EarlyLeave, Growth, KindStats, Report, SchedulerStats};

/// Transport between the OS processes of a run, for links in crates of their own.
#[doc(hidden)]
pub mod between {
    pub use graphmap_executor::link::between::{
        Doorbell, Header, Link, ReceivedSlices, RunState, SentValue, SliceMemory, SlicedMessage,
    };
    pub use graphmap_executor::link::job::{Copies, Job, NotJoined, Started};
    pub use graphmap_executor::link::shm::host::{HostRings, Invitation};
    pub use graphmap_executor::over_mpi::OverMpi;
}
