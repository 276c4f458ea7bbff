//! The whole of a generated program's `main`: the only place that prints.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{self, ExitCode};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use crate::atomic_file;
use crate::chrome;
use crate::error::{Exit, RunError};
use crate::kpn::network::Network;
use crate::launcher::{self, Launched};
use crate::link::between::{Job, Started, State};
use crate::link::shm::control::Control;
use crate::options::{Link, Options};
use crate::panics;
use crate::prefix;
use crate::relatives;
use crate::run::{Transport, run, run_among, run_over};
use crate::running::Running;
use crate::say::{say, say_within};
use crate::stats::Report;
use crate::trace::Trace;
use crate::usr1;
use crate::visible::visible;

/// Runs the network with the [`Options`] in the environment, prints errors and statistics on
/// standard error, and returns one of the exit codes of [`Exit`]. The command line is the
/// program's own. A program that a launcher has started several times says so and ends.
///
/// ```no_run
/// mod wiring {
///     pub fn network() -> graphmap_runtime::Network {
///         graphmap_runtime::Network::new("farm", "farm.dot")
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     graphmap_runtime::main(wiring::network)
/// }
/// ```
pub fn main(network: impl FnOnce() -> Network) -> ExitCode {
    if let Some(launched) = launched() {
        if launched.speaks {
            say(&format!("error: {}", visible(&launched.to_string())));
        }
        return Exit::Usage.into();
    }
    panics::tell_from_here();
    usr1::catch();
    let outcome = begin(network).and_then(|(network, options)| {
        let name = network.name().to_string();
        let report = run_as_linked(network, &options);
        tell_of_trace(&name, &options);
        tell(&name, &report.map_err(panics::of_output)?, &options)
    });
    let exit = match outcome {
        Ok(()) => Exit::Ok,
        Err(error) => failed(&error),
    };
    finish(exit).into()
}

/// Runs the network with what the options say that joins its OS processes. Only the first returns.
fn run_as_linked(network: Network, options: &Options) -> Result<Report, RunError> {
    match options.link {
        Link::Threads => {
            begin_prefix(0, options)?;
            outputs(options)?;
            listen(network.name(), options, usr1::own_word());
            run(network, options)
        }
        Link::SharedMemory => run_shared(network, options),
        Link::Mpi => Err(not_started()),
    }
}

/// Says what the trace of a run does not have.
fn tell_of_trace(name: &str, options: &Options) {
    let notice = options.trace.as_ref().and_then(Trace::take_notice);
    if let Some(notice) = notice {
        say(&visible(&format!("{name}: {notice}")));
    }
}

/// From now on lines of this OS process say so, if they are to.
fn begin_prefix(me: usize, options: &Options) -> Result<(), RunError> {
    if !options.prefix {
        return Ok(());
    }
    prefix::begin(me).map_err(|error| {
        RunError::Options(format!(
            "GRAPHMAP_PREFIX=1: lines cannot be told apart: {error}"
        ))
    })
}

fn not_started() -> RunError {
    RunError::Options(
        "GRAPHMAP_LINK=mpi, and no launcher of MPI has started this program several times: `mpiexec -n N` \
         before it does, or `graphmap run --hosts`"
            .into(),
    )
}

fn launched() -> Option<Launched> {
    launcher::find(|name| env::var_os(name))
}

/// The network, and how it is to run.
fn begin(network: impl FnOnce() -> Network) -> Result<(Network, Options), RunError> {
    let mut options = Options::from_env()?;
    let network = catch_unwind(AssertUnwindSafe(network)).map_err(|_| {
        RunError::Wiring(vec![
            "the function that describes the network panicked".into(),
        ])
    })?;
    options.running = Some(Running::default());
    let of = network.name().to_string();
    let options = options.on_quiet(move |block| {
        say(&visible(&format!("{of}: {}", block.quiet())));
    });
    Ok((network, options))
}

/// How long an OS process that has failed waits for the first to tell why, before it does so itself: the first may
/// be busy in a process for long.
const GRACE: Duration = Duration::from_secs(1);

/// As [`main`], for a program that a launcher may start several times: then `connect` joins the OS
/// processes. For crates of links.
pub fn main_over(
    network: impl FnOnce() -> Network,
    connect: impl FnOnce(Started) -> Result<Rc<dyn Job>, String>,
) -> ExitCode {
    let Some(launched) = launched() else {
        return main(network);
    };
    panics::tell_from_here();
    usr1::catch();
    let job = match connect(launched.started()) {
        Ok(job) => job,
        Err(why) => {
            if launched.speaks {
                failed(&RunError::Options(why));
            }
            return Exit::Usage.into();
        }
    };
    let (me, count) = (job.me(), job.count());
    let outcome = begin(network).and_then(|(network, options)| {
        let options = options.started(count)?;
        begin_prefix(me, &options)?;
        if me == 0 {
            outputs(&options)?;
        }
        job.begin(network.digest());
        let name = network.name().to_string();
        listen(&name, &options, usr1::own_word());
        let report = run_over(network, &options, &job);
        tell_of_trace(&name, &options);
        let report = report.map_err(panics::of_output)?;
        match me {
            0 => tell(&name, &report, &options),
            _ => Ok(()),
        }
    });
    match outcome {
        Ok(()) => {
            let exit = finish(Exit::Ok);
            job.finish(exit as u8);
            exit.into()
        }
        // All others know that the run is over.
        Err(error) if me == 0 && job.state() == State::Ended => {
            let exit = finish(failed(&error));
            job.finish(exit as u8);
            exit.into()
        }
        Err(error) => {
            job.fail(&error.to_cause());
            if me > 0 {
                job.linger(GRACE);
            }
            let exit = finish(failed(&error));
            job.abort(exit as u8)
        }
    }
}

/// Says why the run does not end well; what it ends with.
fn failed(error: &RunError) -> Exit {
    say(&format!("error: {}", visible(&error.to_string())));
    error.exit()
}

/// How long who ends the run for another takes to say why: nobody may read it.
const WORDS: Duration = Duration::from_millis(500);

/// As [`failed`], whatever the others do.
fn failed_soon(error: RunError) -> Exit {
    let text = format!("error: {}", visible(&error.to_string()));
    say_within(text, WORDS);
    error.exit()
}

/// The last of the program: all that was printed is told.
fn finish(exit: Exit) -> Exit {
    let Err(error) = prefix::finish() else {
        return exit;
    };
    let error = panics::cannot_print(&error.to_string());
    match exit {
        Exit::Ok => failed(&error),
        // Of files that cannot be written one is told, mostly this.
        Exit::Usage => exit,
        exit => {
            failed(&error);
            exit
        }
    }
}

/// Has the state of the run printed when a signal asks for it, and which processes let no others run.
fn listen(name: &str, options: &Options, word: &'static AtomicU32) {
    let Some(running) = options.running.clone() else {
        return;
    };
    let (name, asked) = (name.to_string(), running.clone());
    let tell = {
        let name = name.clone();
        move || {
            if let Some(state) = asked.state() {
                say(&visible(&format!("{name}: {state}")));
            }
        }
    };
    let look = move || {
        for overlong in running.overlong() {
            say(&visible(&format!("{name}: {overlong}")));
        }
    };
    usr1::listen(word, tell, look);
}

/// As [`listen`], in each of the OS processes that share memory.
fn listen_among(name: &str, options: &Options, control: &Arc<Control>) {
    // A signal may come as long as there is the program.
    let control: &'static Arc<Control> = Box::leak(Box::new(Arc::clone(control)));
    listen(name, options, control.asked());
}

/// Runs the network in several OS processes. Only the first returns.
fn run_shared(network: Network, options: &Options) -> Result<Report, RunError> {
    let name = network.name().to_string();
    let network = Arc::new(network);
    let table = network.digest();
    if let Some(control) = relatives::joined()? {
        listen_among(&name, options, &control);
        let run = || match control.agrees(table) {
            // SAFETY: once in this OS process, which ends then.
            true => unsafe {
                run_among(
                    network,
                    options,
                    &Transport::SharedMemory(Arc::clone(&control)),
                )
            },
            false => Err(other_network(&control)),
        };
        let exit = match run() {
            Ok(_) => Exit::Ok,
            // The first tells it.
            Err(error) => error.exit(),
        };
        process::exit(exit as i32);
    }
    begin_prefix(0, options)?;
    outputs(options)?;
    let placement = options.placement(network.processes())?;
    let (count, each) = (placement.os_processes(), placement.each());
    if let Some(cores) = &options.cores
        && cores.len() != count
    {
        return Err(RunError::Options(format!(
            "GRAPHMAP_CORES names the cores of {}, and the run has {count}",
            match cores.len() {
                1 => "one OS process".into(),
                named => format!("{named} OS processes"),
            }
        )));
    }
    if count == 1 {
        listen(&name, options, usr1::own_word());
        return run(network, options);
    }
    let relatives = relatives::start(count, each, table, failed_soon)?;
    listen_among(&name, options, &relatives.control);
    let transport = Transport::SharedMemory(Arc::clone(&relatives.control));
    // SAFETY: once in this OS process: `main` does, and is done then.
    let report = unsafe { run_among(network, options, &transport) };
    relatives.finish();
    report
}

/// A copy of the program describes another network than the first: by the time, or a file that has changed.
fn other_network(control: &Control) -> RunError {
    let error = RunError::Wiring(vec![format!(
        "OS process {} has another network than OS process 0: what describes it has to be the same in all",
        control.os_process()
    )]);
    control.fail(&error.to_cause());
    error
}

/// Checks before the run that what comes of it can be written, each to a file of its own.
fn outputs(options: &Options) -> Result<(), RunError> {
    let outputs = [
        ("GRAPHMAP_STATS", STATISTICS, options.stats_file.as_deref()),
        ("GRAPHMAP_PROFILE", PROFILE, options.profile.as_deref()),
        (
            "GRAPHMAP_TRACE",
            chrome::WHAT,
            options.trace.as_ref().map(Trace::file),
        ),
    ];
    let mut before: Vec<(&str, &Path)> = Vec::new();
    for (name, what, file) in outputs {
        let Some(file) = file else { continue };
        let same = before
            .iter()
            .find(|(_, other)| atomic_file::is_same(file, other));
        if let Some((other, _)) = same {
            let file = file.display();
            return Err(RunError::Options(format!(
                "{other} and {name} name one file: {file}"
            )));
        }
        atomic_file::probe(file).map_err(|error| RunError::cannot_write(what, file, &error))?;
        before.push((name, file));
    }
    Ok(())
}

const STATISTICS: &str = "the statistics";
const PROFILE: &str = "the profile";

fn tell(name: &str, report: &Report, options: &Options) -> Result<(), RunError> {
    let write = |what: &str, file: &Path, text: String| {
        let written = atomic_file::write(file, |out| out.write_all(text.as_bytes()));
        written.map_err(|error| RunError::cannot_write(what, file, &error))
    };
    if let Some(file) = &options.stats_file {
        write(STATISTICS, file, report.json_lines())?;
    } else if options.stats {
        let said = format!("{name}: what each kind did\n{report}");
        say(&visible(&said));
    }
    if let (Some(file), Some(profile)) = (&options.profile, report.profile()) {
        write(PROFILE, file, profile)?;
    }
    Ok(())
}
