//! Runs a network of graphmap in the OS processes that `mpiexec` has started, on one host or many.
//!
//! ```no_run
//! # mod wiring {
//! #     pub fn network() -> graphmap_runtime::Network {
//! #         graphmap_runtime::Network::new("farm", "farm.dot")
//! #     }
//! # }
//! fn main() -> std::process::ExitCode {
//!     graphmap_link_mpi::main(wiring::network)
//! }
//! ```
//!
//! Started by a launcher of MPI, OS process `i` of the mapping is rank `i` of the job; started by itself, the program runs
//! as [`graphmap_runtime::main`] has it, and MPI is not begun. One thread, that which runs the network, calls
//! MPI (`MPI_THREAD_FUNNELED`), and nothing that blocks: frames are packed into messages that are sent without
//! waiting ([`messages`]), what comes is received into memory that MPI has before ([`receiving`]), that nothing moves any more is found
//! by counting ([`waves`]), and who has nothing to do sleeps ([`nap`]) until something arrives ([`arrivals`]).
//!
//! A program is linked to one MPI. Which, says `MPICC` when it is built; cargo does not notice that it
//! changes, so each MPI needs a target folder of its own.

mod arrivals;
mod bell;
mod calls;
mod digest;
mod finalize;
mod finding;
mod frames;
mod launchers;
mod link;
mod messages;
mod nap;
mod operation;
mod orphaned;
mod pool;
mod posted;
mod printed;
mod probed;
mod receiving;
mod rings;
mod running;
mod same_host;
mod sockets;
mod unreachable;
mod waves;
mod world;

use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use graphmap_runtime::Network;
use graphmap_runtime::between::{Job, Started};

use bell::Bell;
use link::MpiLink;
use world::World;

/// [`graphmap_runtime::main`], for a program that `mpiexec` may start several times: then these are the OS
/// processes of one run.
pub fn main(network: impl FnOnce() -> Network) -> ExitCode {
    let code = graphmap_runtime::main_over(network, connect);
    running::end();
    code
}

fn connect(started: Started) -> Result<Rc<dyn Job>, String> {
    let world = World::join()?;
    if world.me() == 0 {
        running::begin();
    }
    if let Some(times) = started.times
        && world.count() as u64 != times
    {
        return Err(not_one_world(&world, times, started.variable));
    }
    let (bell, limit, shares) = prepare(&world)?;
    Ok(Rc::new(MpiLink::new(world, bell, limit, shares)))
}

/// Longest text of what is wrong in an OS process.
const WRONG: usize = 256;

/// The bell of this OS process, and what its variables say, or what is wrong in the first where something is. All OS processes call it, and
/// hear of that: who ended alone would be waited for.
fn prepare(world: &World) -> Result<(Bell, Option<Duration>, bool), String> {
    let bell = || Bell::new().map_err(|error| format!("no unix socket can be had: {error}"));
    let own = unreachable::limit().and_then(|limit| Ok((bell()?, limit, same_host::wanted()?)));
    let wrong = own.as_ref().err().map_or("", |wrong| wrong);
    let mut wrong = wrong.as_bytes().to_vec();
    wrong.resize(WRONG, 0);
    let told = world.gather(&wrong);
    match told.chunks_exact(WRONG).find(|wrong| wrong[0] != 0) {
        Some(wrong) => Err(String::from_utf8_lossy(wrong)
            .trim_end_matches('\0')
            .to_string()),
        None => own,
    }
}

/// The launcher and the library know nothing of each other.
fn not_one_world(world: &World, times: u64, variable: &str) -> String {
    let library = calls::library();
    let launcher = match library.contains("Open MPI") {
        true => "mpiexec.openmpi",
        false if library.contains("MPICH") => "mpiexec.mpich",
        false => "the mpiexec of that MPI",
    };
    let there = match world.count() {
        1 => "each is alone".to_string(),
        count => format!("there are {count}"),
    };
    format!(
        "a launcher has started this program {times} times ({variable}={times}), and to its MPI {there}: the \
         launcher is of another MPI than the one that the program is linked to\n  \
         linked to: {library}\n  \
         start it by {launcher}, or build it for the MPI of the launcher: MPICC names its compiler, and a target folder of \
         its own keeps both; where no launcher has started it, `unset {variable}`: one has left it behind"
    )
}
