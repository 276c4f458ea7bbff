//! The whole of a generated program's `main`: the only place that prints.

use std::env;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::chrome::{self, Unwritten};
use crate::kpn::network::Network;
use crate::launcher::{self, Launched};
use crate::outputs;
use crate::panics;
use crate::relatives;
use crate::run::{Over, Transport, run_among, run_until_over};
use crate::signals;
use crate::visible::visible;
use graphmap_executor::error::{Exit, RunError};
use graphmap_executor::link::between::RunState;
use graphmap_executor::link::job::{Job, NotJoined, Started};
use graphmap_executor::link::shm::control::ControlPage;
use graphmap_executor::options::{Link, Options};
use graphmap_executor::running::Running;
use graphmap_executor::say::{say, within};
use graphmap_executor::sync::lock;
use graphmap_executor::trace::Trace;

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
        match launched.speaks {
            true => say(&format!("error: {}", visible(&launched.to_string()))),
            // Some launchers kill all copies when the first one exits.
            false => std::thread::sleep(GRACE),
        }
        return Exit::Usage.into();
    }
    panics::set_hook();
    signals::handle();
    let begun = Options::from_env().and_then(|options| begin(network, options));
    let ended = begun.and_then(|(network, options)| {
        placed(&network, &options)?;
        run_as_linked(network, &options)
    });
    let exit = ended.unwrap_or_else(|error| failed(&error));
    finish(exit).into()
}

/// Runs the network with what the options say that joins its OS processes, and writes what comes of it. Only the first returns.
///
/// # Errors
/// What keeps the run from beginning.
fn run_as_linked(network: Network, options: &Options) -> Result<Exit, RunError> {
    match options.link {
        Link::Threads => {
            outputs::check(options)?;
            run_alone(network, options)
        }
        Link::SharedMemory => run_shared(network, options),
        Link::Mpi => Err(not_started()),
    }
}

/// Runs the network in this OS process.
fn run_alone(network: impl Into<Arc<Network>>, options: &Options) -> Result<Exit, RunError> {
    let network = network.into();
    let name = network.name().to_string();
    listen(&name, options, None);
    Ok(conclude(&name, run_until_over(network, options)?, options))
}

/// How long the trace of a run that has failed may take to be written: nobody may read it.
const WRITING: Duration = Duration::from_secs(60);

/// A run is over: says why it has failed, before all else, and writes what comes of it.
fn conclude(name: &str, over: Over, options: &Options) -> Exit {
    let Over { result, trace } = over;
    match result {
        Ok(report) => {
            let mut errors = outputs::write(&report, options, trace.as_ref());
            if options.stats && options.stats_file.is_none() {
                let said = format!("{name}: statistics\n{report}");
                errors.extend(outputs::say(&visible(&said)).err());
            }
            tell_of_trace(name, options);
            errors.iter().fold(Exit::Ok, |_, error| failed(error))
        }
        Err(error) => {
            let told = panics::of_output(error);
            IS_PRINT_TOLD.store(panics::is_of_output(&told), Ordering::SeqCst);
            let exit = failed(&told);
            IS_TOLD.store(true, Ordering::SeqCst);
            if let Some(trace) = trace {
                write_soon(name, trace);
                tell_of_trace(name, options);
            }
            exit
        }
    }
}

/// Why the run has failed was told.
static IS_TOLD: AtomicBool = AtomicBool::new(false);

/// Writes the trace of a run that has failed, and says so if that cannot be done.
fn write_soon(name: &str, trace: Unwritten) {
    let file = trace.trace().file().to_path_buf();
    let written = within(WRITING, move || trace.write()).unwrap_or_else(|| {
        let seconds = WRITING.as_secs();
        let late = io::Error::other(format!("no reader has read it for {seconds} s"));
        Err(RunError::cannot_write(chrome::WHAT, &file, &late))
    });
    if let Err(error) = written {
        say(&visible(&format!("{name}: {error}")));
    }
}

/// Says what the trace of a run does not have.
fn tell_of_trace(name: &str, options: &Options) {
    let notice = options.trace.as_ref().and_then(Trace::take_notice);
    if let Some(notice) = notice {
        say(&visible(&format!("{name}: {notice}")));
    }
}

fn not_started() -> RunError {
    RunError::Options(
        "GRAPHMAP_LINK=mpi, but no MPI launcher has started this program: start it with `mpiexec \
         -n N` or `graphmap run --hosts`"
            .into(),
    )
}

fn launched() -> Option<Launched> {
    launcher::find(|name| env::var_os(name))
}

/// The network, and how it is to run.
fn begin(
    network: impl FnOnce() -> Network,
    mut options: Options,
) -> Result<(Network, Options), RunError> {
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

/// Whether the network is the one that a mapping was made for, as far as is known: ranks of another may be other
/// processes.
fn placed(network: &Network, options: &Options) -> Result<(), RunError> {
    match options.placed {
        Some(hash) if hash != network.processes_digest() => Err(RunError::Options(format!(
            "GRAPHMAP_PLACED={hash:016x}: the mapping was made for another graph file than {file}, \
             from which this program was built\n  \
             map it again with `graphmap partition {file} --hosts HOSTS -o DIR`, or build the \
             program again",
            file = network.file
        ))),
        _ => Ok(()),
    }
}

/// How long an OS process that has failed waits for the first to tell why, before it does so itself: the first may
/// be busy in a process for long.
const GRACE: Duration = Duration::from_secs(1);

/// As [`main`], for a program that a launcher may start several times: then `connect` joins the OS
/// processes. For crates of links.
pub fn main_over(
    network: impl FnOnce() -> Network,
    connect: impl FnOnce(Started) -> Result<Rc<dyn Job>, NotJoined>,
) -> ExitCode {
    let Some(launched) = launched() else {
        return main(network);
    };
    panics::set_hook();
    signals::handle();
    let options = Options::from_env();
    let settings = options.as_ref().map(|options| options.over_mpi);
    // A wrong option is an error of `connect`: all OS processes hear of it.
    let settings = settings.map_err(RunError::to_string);
    let job = match connect(launched.started(settings)) {
        Ok(job) => job,
        Err(NotJoined { why, is_told }) => {
            // One tells it for all, which a launcher that ends all with the first to end is to leave time for. Who is still there
            // then is the only one that has failed, as far as it knows.
            if is_told || !launched.speaks {
                std::thread::sleep(GRACE);
            }
            let error = RunError::Options(why);
            return match is_told {
                true => error.exit(),
                false => failed(&error),
            }
            .into();
        }
    };
    let (me, count) = (job.me(), job.count());
    let begun = options.and_then(|options| begin(network, options));
    let ended = begun.and_then(|(network, options)| {
        let options = options.started(count)?;
        placed(&network, &options)?;
        if me == 0 {
            outputs::check(&options)?;
        }
        job.begin(network.digest());
        let name = network.name().to_string();
        listen(&name, &options, None);
        let transport = Transport::Job(Rc::clone(&job));
        // SAFETY: what it asks for is about shared memory.
        let over = unsafe { run_among(Arc::new(network), &options, &transport) };
        Ok((name, options, over))
    });
    let error = match &ended {
        Ok((_, _, over)) => over.result.as_ref().err(),
        Err(error) => Some(error),
    };
    // Then all others know that the run is over.
    let is_over = error.is_none() || (me == 0 && job.state() == RunState::Ended);
    // The first has said why, and the launcher has not ended this one yet.
    let mut is_told = false;
    if let Some(error) = error.filter(|_| !is_over) {
        job.fail(&error.to_cause());
        is_told = me > 0 && job.linger(GRACE);
    }
    let exit = match ended {
        // The first tells what all have done.
        Ok((_, _, over)) if me > 0 && over.result.is_ok() => Exit::Ok,
        Ok((
            _,
            _,
            Over {
                result: Err(error), ..
            },
        ))
        | Err(error)
            if is_told =>
        {
            error.exit()
        }
        Ok((name, options, over)) => conclude(&name, over, &options),
        Err(error) => failed(&error),
    };
    let exit = finish(exit);
    if !is_over {
        job.abort(exit as u8)
    }
    job.finish();
    exit.into()
}

/// Says why the run does not end well; what it ends with. That a reader has left is no error, and not said.
fn failed(error: &RunError) -> Exit {
    if panics::is_unread(error) {
        return Exit::Unread;
    }
    say(&format!("error: {}", visible(&error.to_string())));
    error.exit()
}

/// How long who ends the run for another takes to say why: nobody may read it.
const WORDS: Duration = Duration::from_millis(500);

/// As [`failed`], whatever the others do, if it was not told before.
fn failed_soon(error: RunError) -> Exit {
    if !IS_TOLD.load(Ordering::SeqCst) {
        let text = format!("error: {}", visible(&error.to_string()));
        let _ = within(WORDS, move || say(&text));
    }
    error.exit()
}

/// Returns the exit code of the program, which is not 0 if something printed could not be written.
fn finish(exit: Exit) -> Exit {
    let Some(why) = panics::unwritten() else {
        return exit;
    };
    let error = panics::cannot_print(&why);
    if !IS_PRINT_TOLD.load(Ordering::SeqCst) {
        failed(&error);
    }
    match exit {
        Exit::Ok if panics::is_unread(&error) => Exit::Unread,
        Exit::Ok => Exit::Usage,
        exit => exit,
    }
}

/// That what is printed cannot be written was told.
static IS_PRINT_TOLD: AtomicBool = AtomicBool::new(false);

/// Has the state of the run printed when a signal asks for it, and which processes let no others run.
fn listen(name: &str, options: &Options, shared: Option<&'static AtomicU32>) {
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
    signals::listen(shared, tell, look);
}

/// As [`listen`], in each of the OS processes that share memory.
fn listen_among(name: &str, options: &Options, control: &Arc<ControlPage>) {
    // A signal may come as long as there is the program. What only a reference into shared memory keeps would be a
    // leak to whoever looks for some.
    static KEPT: Mutex<Vec<&Arc<ControlPage>>> = Mutex::new(Vec::new());
    let control: &'static Arc<ControlPage> = Box::leak(Box::new(Arc::clone(control)));
    lock(&KEPT).push(control);
    listen(name, options, Some(control.asked()));
}

/// As [`run_as_linked`], in several OS processes.
fn run_shared(network: Network, options: &Options) -> Result<Exit, RunError> {
    let name = network.name().to_string();
    let network = Arc::new(network);
    let table = network.digest();
    if let Some(control) = relatives::joined()? {
        listen_among(&name, options, &control);
        let run = || match control.agrees(table) {
            true => {
                let transport = Transport::SharedMemory(Arc::clone(&control));
                // SAFETY: once in this OS process, as it is told once that it has joined, and it ends then.
                unsafe { run_among(network, options, &transport) }.result
            }
            false => Err(other_network(&control)),
        };
        let exit = match run() {
            Ok(_) => Exit::Ok,
            // The first tells it.
            Err(error) => error.exit(),
        };
        process::exit(exit as i32);
    }
    outputs::check(options)?;
    let placement = options.placement(network.processes())?;
    let (count, each) = (placement.os_processes(), placement.each());
    if let Some(cores) = &options.cores
        && cores.len() != count
    {
        return Err(RunError::Options(format!(
            "GRAPHMAP_CORES names the cores of {}, but the run has {count}",
            match cores.len() {
                1 => "one OS process".into(),
                named => format!("{named} OS processes"),
            }
        )));
    }
    if count == 1 {
        return run_alone(network, options);
    }
    let relatives = relatives::start(count, each, table, &options.streams, failed_soon)?;
    listen_among(&name, options, &relatives.control);
    let transport = Transport::SharedMemory(Arc::clone(&relatives.control));
    // SAFETY: once with this memory, which was made for it.
    let over = unsafe { run_among(network, options, &transport) };
    let exit = conclude(&name, over, options);
    relatives.finish();
    Ok(exit)
}

/// A copy of the program describes another network than the first: by the time, or a file that has changed.
fn other_network(control: &ControlPage) -> RunError {
    let error = RunError::Wiring(vec![format!(
        "the network of OS process {} differs from that of OS process 0: all must build the same \
         network",
        control.os_process()
    )]);
    control.fail(&error.to_cause());
    error
}
