//! Runs a graphmap network in the OS processes that `mpiexec` has started, on one or more hosts.
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
//! Under an MPI launcher, OS process `i` of the mapping is rank `i` of the job. Without a launcher
//! the program runs as with [`graphmap_runtime::main`], and MPI is not initialised.
//!
//! Only the thread that runs the network calls MPI (`MPI_THREAD_FUNNELED`), and it makes no
//! blocking call while processes run:
//!
//! * Frames are packed into messages that are sent by nonblocking sends (`messages.rs`).
//! * Messages are received into memory that is posted before they arrive (`receiving.rs`).
//! * Quiescence is detected by counting frames (`waves.rs`).
//! * The interval between polls of MPI grows while no message arrives (`backoff.rs`).
//!
//! A program is linked to one MPI. `MPICC` selects it at build time. Cargo does not detect a change
//! of `MPICC`, so each MPI needs a target folder of its own.

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

/// Runs the network as [`graphmap_runtime::main`] does. If `mpiexec` has started the program
/// several times, these are the OS processes of one run. Returns the exit code of this OS process.
/// If the run fails, usually ends all OS processes of the job instead of returning.
///
/// Must be called at most once, because MPI can be initialised only once in an OS process.
pub fn main(network: impl FnOnce() -> Network) -> ExitCode {
    let running = Running::begin();
    let code = graphmap_runtime::main_over(network, |started| connect(started, &running));
    // Otherwise the end is detected by the exit code of the launcher, or by the file that remains.
    if code == ExitCode::SUCCESS {
        running.end();
    }
    code
}

/// Joins the OS processes of the job, and returns the link. Blocks until all OS processes have
/// called it.
///
/// # Errors
/// Returns an error if MPI cannot be initialised or does not support threads, if launcher and
/// library are of different MPIs, or if an OS process has a wrong setting. If MPI was initialised,
/// it is finalized before.
fn connect(started: Started, running: &Running) -> Result<Rc<dyn Job>, NotJoined> {
    let mut world = World::join()?;
    running.joined();
    let settings = match started.agrees(world.count() as u64) {
        true => agreed(&world, started.settings),
        false => Err(not_one_world(&world, &started.told).into()),
    };
    match settings {
        Ok(settings) => Ok(Rc::new(MpiLink::new(world, settings))),
        Err(error) => {
            finalize::end(&mut world);
            Err(error)
        }
    }
}

/// Largest size in bytes of an error text that is exchanged.
const WRONG: usize = 1024;

/// Returns the settings. If an OS process has an error, returns the error of the first one that has
/// one, cut to [`WRONG`] bytes.
///
/// All OS processes must call this function, so that all of them learn of an error. Otherwise the
/// others would wait for the OS process that ended. The call blocks until all have called it. The
/// error counts as reported on all OS processes except 0.
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
            is_reported: world.me() > 0,
        }),
        // No OS process has an error, including this one.
        None => settings.map_err(NotJoined::from),
    }
}

/// Returns the error text for a launcher and a library of different MPIs. `told` contains the
/// number of copies by each variable of the launcher.
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
