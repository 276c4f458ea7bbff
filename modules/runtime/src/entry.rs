//! The `main` function of generated programs. No other entry point of the crate prints.

use std::env;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::child_processes;
use crate::chrome::{self, Unwritten};
use crate::kpn::network::Network;
use crate::launcher::{self, Launched};
use crate::outputs;
use crate::panics;
use crate::run::{EndedRun, Transport, run_among, run_to_end};
use crate::signals;
use crate::visible::visible;
use graphmap_executor::error::{Exit, RunError};
use graphmap_executor::link::between::RunState;
use graphmap_executor::link::job::{Job, NotJoined, Started};
use graphmap_executor::link::shm::control::ControlPage;
use graphmap_executor::options::{Link, Options};
use graphmap_executor::running::{Overlong, Running};
use graphmap_executor::say::{say, within};
use graphmap_executor::sync::lock;
use graphmap_executor::trace::Trace;

/// Runs a network with the [`Options`] in the environment, and blocks until the run has ended.
///
/// Writes the files that the options name. Prints errors on standard error, and the statistics if
/// the options ask for them there. Returns one of the exit codes of [`Exit`]. Does not read the
/// command line, which belongs to the program. If the run has several OS processes that share
/// memory, only the first returns: the others exit here.
///
/// If a launcher has started the program several times, returns [`Exit::Usage`] without a run.
/// Usually, only one copy then prints the error.
///
/// Installs a panic hook, and handlers of `SIGUSR1` and `SIGXFSZ` if these signals have the default
/// action. Must be called at most once in an OS process.
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
    main_with(network, |_| (), None).into()
}

/// Messages about a running program in another language, whose calls have no positions in Rust
/// code.
#[derive(Debug, Clone, Copy)]
pub struct Messages {
    /// Reports a process that keeps others from running for long.
    pub overlong: fn(&Overlong),
    /// Changes the description of the state of the run before it is printed.
    pub state: fn(&str) -> String,
}

/// Runs a network as [`main`] does, and returns the exit code. `explain` may change the error of a
/// run in this OS process alone before it is printed. Intended for crates that run programs in
/// other languages.
pub fn main_with(
    network: impl FnOnce() -> Network,
    explain: impl FnOnce(&mut RunError),
    messages: Option<Messages>,
) -> Exit {
    if let Some(launched) = launched() {
        match launched.reports {
            true => say(&format!("error: {}", visible(&launched.to_string()))),
            // Some launchers kill all copies when the first one exits.
            false => std::thread::sleep(GRACE),
        }
        return Exit::Usage;
    }
    panics::set_hook();
    signals::handle();
    let begun = Options::from_env().and_then(|options| begin(network, options));
    let ended = begun.and_then(|(network, options)| {
        placed(&network, &options)?;
        run_as_linked(network, &options, explain, messages)
    });
    let exit = ended.unwrap_or_else(|error| failed(&error));
    finish(exit)
}

/// Runs the network over the link that the options name, and writes its results. Returns the exit
/// code. The reason of a failed run has then been printed. Returns only in the first OS process,
/// and exits in the others.
///
/// # Errors
/// Returns the error of a run that cannot begin, which is not printed yet. This is always
/// [`RunError::Options`] for [`Link::Mpi`], because a launcher must start such a run.
fn run_as_linked(
    network: Network,
    options: &Options,
    explain: impl FnOnce(&mut RunError),
    messages: Option<Messages>,
) -> Result<Exit, RunError> {
    match options.link {
        Link::Threads => {
            outputs::check(options)?;
            run_alone(network, options, explain, messages)
        }
        Link::SharedMemory => run_shared(network, options),
        Link::Mpi => Err(not_started()),
    }
}

/// Runs the network in this OS process alone, and writes its results. Returns the exit code. Errors
/// of the run itself are printed.
///
/// # Errors
/// Returns the error of a run that cannot begin, as [`run_to_end`] does. It is not printed.
fn run_alone(
    network: impl Into<Arc<Network>>,
    options: &Options,
    explain: impl FnOnce(&mut RunError),
    messages: Option<Messages>,
) -> Result<Exit, RunError> {
    let network = network.into();
    let name = network.name().to_string();
    listen(&name, options, None, messages);
    let mut over = run_to_end(network, options)?;
    if let Err(error) = &mut over.result {
        explain(error);
    }
    Ok(conclude(&name, over, options))
}

/// Time limit for writing the trace of a failed run. Its file may be a pipe that is not read.
const WRITING: Duration = Duration::from_secs(60);

/// Reports the outcome of a finished run, and returns the exit code. After a success, writes the
/// output files and the statistics, and prints each error in doing so. The exit code is then that
/// of the last error, or [`Exit::Ok`]. After a failure, prints the reason first, then writes the
/// trace.
fn conclude(name: &str, over: EndedRun, options: &Options) -> Exit {
    let EndedRun { result, trace } = over;
    match result {
        Ok(report) => {
            let mut errors = outputs::write(&report, options, trace.as_ref());
            if options.stats && options.stats_file.is_none() {
                let said = format!("{name}: statistics\n{report}");
                errors.extend(outputs::say(&visible(&said)).err());
            }
            print_trace_notice(name, options);
            errors.iter().fold(Exit::Ok, |_, error| failed(error))
        }
        Err(error) => {
            let reported = panics::of_output(error);
            IS_OUTPUT_ERROR_REPORTED.store(panics::is_of_output(&reported), Ordering::SeqCst);
            let exit = failed(&reported);
            IS_REPORTED.store(true, Ordering::SeqCst);
            if let Some(trace) = trace {
                write_soon(name, trace);
                print_trace_notice(name, options);
            }
            exit
        }
    }
}

/// Set when the reason of a failed run has been printed.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// Writes the trace of a failed run. Blocks for at most [`WRITING`] (60 s). Prints an error if the
/// trace cannot be written within that time.
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

/// Takes the notice about missing events out of the trace, and prints it. Has no effect if the run
/// was not traced or no events are missing.
fn print_trace_notice(name: &str, options: &Options) {
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

/// Returns an error if a launcher of another MPI has started this program several times, as
/// `VARIABLE=VALUE`. Only one copy returns at once. The others wait, because some launchers end all
/// copies when the first one exits. Intended for crates that run programs in other languages.
pub fn started_once() -> Result<(), String> {
    let Some(launched) = launched() else {
        return Ok(());
    };
    if !launched.reports {
        std::thread::sleep(GRACE);
    }
    Err(launched.shown())
}

fn launched() -> Option<Launched> {
    launcher::find(|name| env::var_os(name))
}

/// Calls `network`, and replaces its tables if the options have others. Completes the options: the
/// state of the run can be queried, and a notice is printed when the run is quiet.
///
/// # Errors
/// Returns [`RunError::Wiring`] if the function that describes the network panics, and
/// [`RunError::Options`] if the tables of the options are not for this program.
fn begin(
    network: impl FnOnce() -> Network,
    mut options: Options,
) -> Result<(Network, Options), RunError> {
    let mut network = catch_unwind(AssertUnwindSafe(network)).map_err(|_| {
        RunError::Wiring(vec![
            "the function that describes the network panicked".into(),
        ])
    })?;
    if let Some(tables) = options.tables.take() {
        network.read_tables(&tables)?;
        network.publish_sizes();
    }
    lock(&AFTER_RUN).append(&mut network.after_run);
    options.running = Some(Running::default());
    let of = network.name().to_string();
    let options = options.on_quiet(move |block| {
        say(&visible(&format!("{of}: {}", block.quiet())));
    });
    Ok((network, options))
}

/// Checks that the mapping was made for this network, if the options contain the digest of the
/// mapping's network. In another network, the same ranks may be other processes.
///
/// # Errors
/// Returns [`RunError::Options`] if the digest of this network differs.
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

/// Time that a failed OS process leaves the first one to report the reason, before it reports the
/// reason itself. The first may be busy in a long poll.
const GRACE: Duration = Duration::from_secs(1);

/// Runs a network as [`main`] does, in a program that a launcher may start several times. In that
/// case, `connect` joins the OS processes, and each of them runs its part. If `connect` fails,
/// returns the exit code of a wrong option without a run. If this run fails later, this ends all OS
/// processes and does not return, except in OS process 0 when all others know that the run is over.
/// Without a launcher, `connect` is not called. Intended for crates that implement a link.
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
    // `connect` reports a wrong option, so that all OS processes learn of it.
    let settings = settings.map_err(RunError::to_string);
    let job = match connect(launched.started(settings)) {
        Ok(job) => job,
        Err(NotJoined { why, is_reported }) => {
            // Another copy may report the reason, and some launchers end all copies when the first
            // one exits. Waiting leaves time for that report. If this copy still runs afterwards,
            // and knows of no other report, it prints the reason itself.
            if is_reported || !launched.reports {
                std::thread::sleep(GRACE);
            }
            let error = RunError::Options(why);
            return match is_reported {
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
        listen(&name, &options, None, None);
        let transport = Transport::Job(Rc::clone(&job));
        // SAFETY: the contract concerns OS processes that share memory, and these are joined by a
        // job.
        let over = unsafe { run_among(Arc::new(network), &options, &transport) };
        Ok((name, options, over))
    });
    let error = match &ended {
        Ok((_, _, over)) => over.result.as_ref().err(),
        Err(error) => Some(error),
    };
    // If true, all other OS processes know that the run is over.
    let is_over = error.is_none() || (me == 0 && job.state() == RunState::Ended);
    // OS process 0 has reported the reason, and the launcher has not ended this one yet.
    let mut is_reported = false;
    if let Some(error) = error.filter(|_| !is_over) {
        job.fail(&error.to_cause());
        is_reported = me > 0 && job.wait_for_abort(GRACE);
    }
    let exit = match ended {
        // OS process 0 reports the results of all.
        Ok((_, _, over)) if me > 0 && over.result.is_ok() => Exit::Ok,
        Ok((
            _,
            _,
            EndedRun {
                result: Err(error), ..
            },
        ))
        | Err(error)
            if is_reported =>
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

/// Prints why the run failed, and returns the exit code. Prints no message if the cause is a closed
/// output pipe.
fn failed(error: &RunError) -> Exit {
    if panics::is_unread(error) {
        return Exit::Unread;
    }
    say(&format!("error: {}", visible(&error.to_string())));
    error.exit()
}

/// Time limit for the message of [`failed_soon`]. Standard error may be a pipe that is not read.
const WORDS: Duration = Duration::from_millis(500);

/// Prints the reason of a failure, unless a reason was printed before. Blocks for at most
/// [`WORDS`]. Returns the exit code of `error`. It is for the thread that ends a run while OS
/// process 0 is busy.
fn failed_soon(error: RunError) -> Exit {
    if !IS_REPORTED.load(Ordering::SeqCst) {
        let text = format!("error: {}", visible(&error.to_string()));
        let _ = within(WORDS, move || say(&text));
    }
    error.exit()
}

/// Calls the functions for the time after the run. Returns the exit code of the program: `exit`, or
/// another than 0 if `exit` is 0 and something printed could not be written. Prints the error about
/// that, unless it was printed before or the cause is a closed output pipe.
fn finish(exit: Exit) -> Exit {
    call_after_run();
    let Some(why) = panics::unwritten() else {
        return exit;
    };
    let error = panics::cannot_print(&why);
    if !IS_OUTPUT_ERROR_REPORTED.load(Ordering::SeqCst) {
        failed(&error);
    }
    match exit {
        Exit::Ok if panics::is_unread(&error) => Exit::Unread,
        Exit::Ok => Exit::Usage,
        exit => exit,
    }
}

/// Functions to call after the run ([`Network::after_run`]).
static AFTER_RUN: Mutex<Vec<fn()>> = Mutex::new(Vec::new());

/// Calls the functions that the network has for the time after the run.
fn call_after_run() {
    let functions = std::mem::take(&mut *lock(&AFTER_RUN));
    for function in functions {
        function();
    }
}

/// Set when an error about unwritable output has been printed.
static IS_OUTPUT_ERROR_REPORTED: AtomicBool = AtomicBool::new(false);

/// Spawns the thread that prints the state of the run when a signal asks for it. The thread also
/// prints the names of processes that do not let others run. `shared` is the request counter of OS
/// processes that share memory. `messages` replace the texts. Does nothing if the options have no
/// [`Running`].
fn listen(
    name: &str,
    options: &Options,
    shared: Option<&'static AtomicU32>,
    messages: Option<Messages>,
) {
    let Some(running) = options.running.clone() else {
        return;
    };
    let (name, asked) = (name.to_string(), running.clone());
    let report = {
        let name = name.clone();
        move || {
            if let Some(state) = asked.state() {
                let state = messages.map_or(state.clone(), |messages| (messages.state)(&state));
                say(&visible(&format!("{name}: {state}")));
            }
        }
    };
    let check = move || {
        for process in running.overlong() {
            match messages {
                Some(messages) => (messages.overlong)(&process),
                None => say(&visible(&format!("{name}: {}", process.text))),
            }
        }
    };
    signals::listen(shared, report, check);
}

/// Spawns the thread of [`listen`] in each of the OS processes that share memory. Never frees the
/// control page.
fn listen_among(name: &str, options: &Options, control: &Arc<ControlPage>) {
    // The page is never freed, because a signal may come until the program ends. `KEPT` refers to
    // it for leak detectors: the handler has only a pointer into the shared memory.
    static KEPT: Mutex<Vec<&Arc<ControlPage>>> = Mutex::new(Vec::new());
    let control: &'static Arc<ControlPage> = Box::leak(Box::new(Arc::clone(control)));
    lock(&KEPT).push(control);
    listen(name, options, Some(control.asked()), None);
}

/// Runs the network as [`run_as_linked`] does, in several OS processes that share memory. The first
/// one starts the others, in which this function exits instead of returning. If the placement has
/// only one OS process, runs the network in this one.
///
/// # Errors
/// Returns the error of a run that cannot begin, which is not printed yet: the placement or the
/// number of cores is invalid, an output file cannot be written, or an OS process cannot be started
/// or cannot join.
fn run_shared(network: Network, options: &Options) -> Result<Exit, RunError> {
    let name = network.name().to_string();
    let network = Arc::new(network);
    let table = network.digest();
    if let Some(control) = child_processes::joined()? {
        listen_among(&name, options, &control);
        let run = || match control.agrees(table) {
            true => {
                let transport = Transport::SharedMemory(Arc::clone(&control));
                // SAFETY: this is called once in this OS process, because `joined` returns a page
                // at most once and the OS process exits afterwards.
                unsafe { run_among(network, options, &transport) }.result
            }
            false => Err(other_network(&control)),
        };
        let exit = match run() {
            Ok(_) => Exit::Ok,
            // OS process 0 reports the error.
            Err(error) => error.exit(),
        };
        call_after_run();
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
        return run_alone(network, options, |_| (), None);
    }
    let child_processes =
        child_processes::start(count, each, table, &options.streams, failed_soon)?;
    listen_among(&name, options, &child_processes.control);
    let transport = Transport::SharedMemory(Arc::clone(&child_processes.control));
    // SAFETY: this is the only call with this memory, which was created for this run.
    let over = unsafe { run_among(network, options, &transport) };
    let exit = conclude(&name, over, options);
    child_processes.finish();
    Ok(exit)
}

/// Fails the run because this OS process has built another network than OS process 0. The
/// construction may depend on the time, or on a file that has changed. Returns the error.
fn other_network(control: &ControlPage) -> RunError {
    let error = RunError::Wiring(vec![format!(
        "the network of OS process {} differs from that of OS process 0: all must build the same \
         network",
        control.os_process()
    )]);
    control.fail(&error.to_cause());
    error
}
