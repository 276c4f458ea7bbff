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
//! Started by a launcher of MPI, OS process `i` of the mapping is rank `i` of the job; started by
//! itself, the program runs as [`graphmap_runtime::main`] has it, and MPI is not begun. One thread,
//! that which runs the network, calls MPI (`MPI_THREAD_FUNNELED`), and nothing that blocks: frames
//! are packed into messages that are sent without waiting ([`messages`]), what comes is received
//! into memory that MPI has before ([`receiving`]), that nothing moves any more is found by
//! counting ([`waves`]), and MPI is polled ever more rarely while nothing arrives ([`backoff`]).
//!
//! A program is linked to one MPI. Which, says `MPICC` when it is built; cargo does not notice that
//! it changes, so each MPI needs a target folder of its own.

mod backoff;
mod bell;
mod calls;
mod digest;
mod finalize;
mod frames;
mod launchers;
mod link;
mod messages;
mod operation;
mod pool;
mod posted;
mod printed;
mod probed;
mod receiving;
mod running;
mod same_host;
mod sockets;
mod watch;
mod waves;
mod world;

use std::process::ExitCode;
use std::rc::Rc;

use graphmap_runtime::Network;
use graphmap_runtime::between::{Copies, Job, NotJoined, OverMpi, Started};

use link::MpiLink;
use running::Running;
use world::World;

/// [`graphmap_runtime::main`], for a program that `mpiexec` may start several times: then these are the OS
/// processes of one run.
pub fn main(network: impl FnOnce() -> Network) -> ExitCode {
    let running = Running::begin();
    let code = graphmap_runtime::main_over(network, |started| connect(started, &running));
    // Of another end the launcher's code tells, or what is left of the sign.
    if code == ExitCode::SUCCESS {
        running.end();
    }
    code
}

fn connect(started: Started, running: &Running) -> Result<Rc<dyn Job>, NotJoined> {
    let world = World::join()?;
    running.joined();
    if !started.agrees(world.count() as u64) {
        return Err(not_one_world(&world, &started.told).into());
    }
    let settings = agreed(&world, started.settings)?;
    Ok(Rc::new(MpiLink::new(world, settings)))
}

/// Longest text of what is wrong in an OS process.
const WRONG: usize = 1024;

/// Returns the settings, or the error of the first OS process that has one. All OS processes call
/// it, and hear of that: the others would wait for one that ended alone. OS process 0 reports it.
fn agreed(world: &World, settings: Result<OverMpi, String>) -> Result<OverMpi, NotJoined> {
    let wrong = settings.as_ref().err().map_or("", |wrong| wrong);
    let mut cuts = 0..=WRONG.min(wrong.len());
    let cut = cuts.rfind(|&at| wrong.is_char_boundary(at));
    let mut wrong = wrong.as_bytes()[..cut.unwrap_or(0)].to_vec();
    wrong.resize(WRONG, 0);
    let told = world.gather(&wrong);
    match told.chunks_exact(WRONG).find(|wrong| wrong[0] != 0) {
        Some(wrong) => Err(NotJoined {
            why: String::from_utf8_lossy(wrong)
                .trim_end_matches('\0')
                .to_string(),
            is_told: world.me() > 0,
        }),
        // Then there is none here either.
        None => settings.map_err(NotJoined::from),
    }
}

/// The launcher and the library know nothing of each other.
fn not_one_world(world: &World, told: &[(&str, Copies)]) -> String {
    let library = calls::library();
    let launcher = match library.contains("Open MPI") {
        true => "mpiexec.openmpi",
        false if library.contains("MPICH") => "mpiexec.mpich",
        false => "the mpiexec of this MPI",
    };
    let there = match world.count() {
        1 => "each copy is alone".to_string(),
        count => format!("there are {count} OS processes"),
    };
    let times = |&(_, copies): &(_, Copies)| match copies {
        Copies::All(times) | Copies::OnHost(times) => times,
    };
    let several: Vec<_> = told.iter().filter(|one| times(one) > 1).collect();
    let (variable, times) = several.first().map_or(("", 0), |one| (one.0, times(one)));
    let names: Vec<&str> = several.iter().map(|one| one.0).collect();
    let names = names.join(" ");
    format!(
        "the launcher and the program use different MPIs: the launcher started {times} copies \
         ({variable}={times}), but for the MPI of the program {there}\n  \
         linked to: {library}\n  \
         start the program with {launcher}, or build it for the MPI of the launcher: set MPICC \
         to its compiler, and use a separate target folder to keep both builds\n  \
         if no launcher started the program: `unset {names}`"
    )
}
