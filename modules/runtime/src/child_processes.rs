//! The OS processes of a run on one host. The first one starts the others as copies of its own
//! program, and ensures that all end together.

use std::env;
use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use graphmap_executor::error::{Exit, RunError};
use graphmap_executor::link::shm::child;
use graphmap_executor::link::shm::cma;
use graphmap_executor::link::shm::control::{ControlPage, FAILED, MAX_SCHEDULERS};
use graphmap_executor::link::shm::memory::SharedMemory;
use graphmap_executor::sync::lock;

/// Environment variable of a copy. It contains the id of the OS process that started it, the file
/// descriptor of the shared memory, the number of this OS process, the number of all OS processes,
/// the number of schedulers of each, and a key that the memory begins with.
const VARIABLE: &str = "GRAPHMAP_OS_PROCESS";
/// File of the running program, even if it has been renamed or removed.
const ITSELF: &str = "/proc/self/exe";
/// Time that the OS processes of a failed run have to end by themselves, before they are killed.
const GRACE: Duration = Duration::from_millis(1500);
/// Time that the first OS process has to report the failure of a run and to write its files. It is
/// longer than the time limit for writing the trace.
const WRITING: Duration = Duration::from_secs(75);
/// Timeout of one wait for a failure of the run. A failure ends the wait at once.
const WAIT_TIMEOUT: Duration = Duration::from_secs(3600);

/// True when the first OS process runs no more processes and writes the results of the run.
static ENDED: AtomicBool = AtomicBool::new(false);

/// Records that this OS process runs no more processes.
pub(crate) fn processes_have_ended() {
    ENDED.store(true, Ordering::Relaxed);
}

/// True when this OS process has joined the run for which it was started.
static JOINED: AtomicBool = AtomicBool::new(false);

/// Returns the control page, if this OS process was started as one of several of a run. From then
/// on, the kernel kills this OS process when the OS process that started it ends. Returns `None`
/// otherwise, also in a program that such an OS process has started and that has inherited the
/// environment variable.
///
/// # Errors
/// Returns [`RunError::Options`] if the environment variable is invalid. Also returns it on a
/// second call, because two threads with the same position in the run would read the same messages.
/// Returns [`RunError::Lost`] if the memory cannot be shared or is not that of a run, or if the OS
/// process that started this one has ended.
pub(crate) fn joined() -> Result<Option<Arc<ControlPage>>, RunError> {
    let Some(value) = env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let Some(([parent, fd, me, count, each], key)) = numbers(&value) else {
        return Err(RunError::Options(format!(
            "{VARIABLE}={}: this variable is internal; unset it",
            value.to_string_lossy()
        )));
    };
    let memory = i32::try_from(fd)
        .map_err(io::Error::other)
        .and_then(|fd| SharedMemory::inherit(fd, key));
    let memory = match memory {
        Ok(memory) => memory,
        // A program that a copy starts inherits the variable, but is not a copy.
        Err(_) if parent != child::parent() => return Ok(None),
        Err(error) => {
            let message = format!("OS process {me} cannot share memory: {error}");
            return Err(RunError::Lost(message));
        }
    };
    if memory.len() < ControlPage::size(count as usize * each as usize) {
        let message = format!("OS process {me}: the inherited memory is not that of a run");
        return Err(RunError::Lost(message));
    }
    let control = ControlPage::new(Arc::new(memory), me as usize, count as usize, each as usize);
    // A program that a copy starts before this point also inherits the memory.
    if !control.is_of(process::id()) {
        return Ok(None);
    }
    if JOINED.swap(true, Ordering::Relaxed) {
        return Err(RunError::Options(format!(
            "OS process {me} has already joined its run: a program must call `main` of the runtime \
             only once"
        )));
    }
    child::die_with(parent).map_err(|_| {
        RunError::Lost(format!(
            "OS process {me}: OS process 0, which started it, has ended"
        ))
    })?;
    Ok(Some(Arc::new(control)))
}

/// Parses the value of [`VARIABLE`]: the five numbers in its order, and the key. Returns `None` if
/// it is malformed. Also returns `None` if the number of this OS process is not below the number of
/// all, or if the schedulers of all are 0 or more than [`MAX_SCHEDULERS`].
fn numbers(value: &OsStr) -> Option<([u32; 5], u64)> {
    let (numbers, key) = value.to_str()?.rsplit_once(' ')?;
    let numbers: Result<Vec<u32>, _> = numbers.split(' ').map(str::parse).collect();
    let numbers: [u32; 5] = numbers.ok()?.try_into().ok()?;
    let [_, _, me, count, each] = numbers;
    let all = count.checked_mul(each)? as usize;
    let fits = me < count && (1..=MAX_SCHEDULERS).contains(&all);
    fits.then_some(numbers).zip(key.parse().ok())
}

/// Allows the other OS processes of the run to read the memory of this one. All are descendants of
/// the first OS process, or that process itself. `first` is true in the first OS process.
pub(crate) fn permit_to_read(first: bool) {
    cma::permit(if first {
        process::id()
    } else {
        child::parent()
    });
}

/// The other OS processes of a run, which end with it.
pub(crate) struct ChildProcesses {
    pub(crate) control: Arc<ControlPage>,
    children: Vec<Arc<Mutex<Child>>>,
    /// True when the first OS process has finished.
    finished: Arc<Mutex<bool>>,
}

/// Starts the other OS processes of a run of `count` OS processes, each with `each` schedulers, and
/// the threads that wait for their ends. Also registers an exit handler in this OS process. `table`
/// is the digest of the network, with which each OS process compares its own.
///
/// If `streams` is not empty, the standard output and standard error of OS process `i` are the
/// files at index `i - 1`. `report` is called if the run fails and the first OS process does not
/// end it within a time limit, or if code in the first OS process calls `exit` during the run.
/// `report` prints the error and returns the exit code, with which the first OS process then ends.
///
/// The thread that runs the network must call this, because the kernel kills the other OS processes
/// when that thread ends.
///
/// # Errors
/// Returns [`RunError::Options`] if there are too few streams or too many schedulers. Returns
/// [`RunError::Lost`] if the file of the program is not found, or if the shared memory, a stream,
/// an OS process or a thread cannot be opened or created. The OS processes that were started are
/// then killed.
pub(crate) fn start(
    count: usize,
    each: usize,
    table: u64,
    streams: &[[PathBuf; 2]],
    report: fn(RunError) -> Exit,
) -> Result<ChildProcesses, RunError> {
    if !streams.is_empty() && streams.len() + 1 < count {
        return Err(RunError::Options(format!(
            "GRAPHMAP_STREAMS names the streams of {} OS processes, but the run has {count}",
            streams.len() + 1
        )));
    }
    let open = |file: &Path| {
        let opened = File::options().write(true).open(file);
        opened.map_err(|error| {
            let what = format!("GRAPHMAP_STREAMS: {}: {error}", file.display());
            io::Error::new(error.kind(), what)
        })
    };
    let fail = |what: &str, error: io::Error| RunError::Lost(format!("{what}: {error}"));
    if count * each > MAX_SCHEDULERS {
        return Err(RunError::Options(format!(
            "{count} OS processes of {each} scheduler{}: one host can have at most {MAX_SCHEDULERS} \
             schedulers",
            if each == 1 { "" } else { "s" }
        )));
    }
    let memory = SharedMemory::new(ControlPage::size(count * each)).map_err(|error| {
        let help = match error.kind() {
            io::ErrorKind::FileTooLarge => " (`ulimit -f` limits it)",
            _ => "",
        };
        fail(&format!("cannot allocate shared memory{help}"), error)
    })?;
    let key = RandomState::new().hash_one(process::id());
    let fd = memory.fd();
    let control = Arc::new(ControlPage::new(Arc::new(memory), 0, count, each));
    control.begin(key, table);
    child::can_be_waited_for();
    let program =
        env::current_exe().map_err(|error| fail("cannot find the file of the program", error))?;
    let mut child_processes = ChildProcesses {
        control: Arc::clone(&control),
        children: Vec::new(),
        finished: Arc::default(),
    };
    let me = process::id();
    for other in 1..count {
        let command = |program: &Path| {
            let mut command = Command::new(program);
            command
                .args(env::args_os().skip(1))
                .env(VARIABLE, format!("{me} {fd} {other} {count} {each} {key}"))
                .stdin(Stdio::null());
            if let Some([out, error]) = streams.get(other - 1) {
                command.stdout(open(out)?).stderr(open(error)?);
            }
            child::bind(&mut command, &control, other);
            Ok(command)
        };
        let spawn = |program: &Path| command(program).and_then(|mut command| command.spawn());
        let started = match spawn(&program) {
            // The file was removed or replaced. The kernel still has the running program.
            Err(error) if error.kind() == io::ErrorKind::NotFound => spawn(Path::new(ITSELF)),
            started => started,
        };
        let started = started.map_err(|error| {
            fail(
                &format!("cannot start OS process {other} of {count}"),
                error,
            )
        });
        match started {
            Ok(child) => child_processes.children.push(Arc::new(Mutex::new(child))),
            Err(error) => {
                child_processes.kill();
                return Err(error);
            }
        }
    }
    child_processes.watch(report)?;
    let children = child_processes.children.clone();
    *lock(&BY_EXIT) = Some(ByExit { children, report });
    child::at_exit(at_exit);
    Ok(child_processes)
}

impl ChildProcesses {
    /// Spawns a thread for each child that waits for its end, and a thread that waits for a failure
    /// of the run. If a child ends before it is done, its thread makes the run fail. After a
    /// failure, the other thread gives the first OS process [`GRACE`], or [`WRITING`] if its
    /// processes have ended. Then it kills the children. If the first OS process has not finished
    /// by then, the thread calls `report` and exits.
    ///
    /// # Errors
    /// Returns [`RunError::Lost`] if a thread cannot be started. The children are then killed.
    fn watch(&self, report: fn(RunError) -> Exit) -> Result<(), RunError> {
        let spawn = |name: String, f: Box<dyn FnOnce() + Send>| {
            let builder = thread::Builder::new().name(name).stack_size(64 << 10);
            let spawned = builder.spawn(f).map(drop);
            spawned.map_err(|error| {
                self.kill();
                RunError::Lost(format!("cannot start a thread: {error}"))
            })
        };
        for (at, child) in self.children.iter().enumerate() {
            let (child, control) = (Arc::clone(child), Arc::clone(&self.control));
            let wait = move || {
                let id = lock(&child).id();
                child::wait_for_end(id);
                let status = lock(&child).wait();
                if !control.is_done(at + 1) {
                    control.has_gone(at + 1);
                    let error = RunError::Lost(lost(at + 1, status));
                    control.fail(&error.to_cause());
                }
            };
            spawn(format!("child {}", at + 1), Box::new(wait))?;
        }
        let (control, children) = (Arc::clone(&self.control), self.children.clone());
        let finished = Arc::clone(&self.finished);
        let watch = move || {
            while !control.wait_for_failure(WAIT_TIMEOUT) {
                if *lock(&finished) {
                    return;
                }
            }
            let start = Instant::now();
            let patience = || match ENDED.load(Ordering::Relaxed) {
                true => WRITING,
                false => GRACE,
            };
            while start.elapsed() < patience() && !*lock(&finished) {
                thread::sleep(Duration::from_millis(20));
            }
            kill(&children);
            // While this lock is held, the first OS process cannot finish.
            let finished = lock(&finished);
            if !*finished {
                // The exit below is not an exit by a process of the network.
                lock(&BY_EXIT).take();
                let exit = report(cause(control.cause()));
                process::exit(exit as i32);
            }
        };
        spawn("watch".into(), Box::new(watch))
    }

    fn kill(&self) {
        kill(&self.children);
    }

    /// Blocks until the other OS processes have ended. If the run has failed, kills those that do
    /// not end within [`GRACE`] (1.5 s). Called when the first one has finished. From then on, an
    /// exit of the first one no longer ends the run.
    pub(crate) fn finish(self) {
        lock(&BY_EXIT).take();
        *lock(&self.finished) = true;
        if self.control.state() == FAILED {
            let end = Instant::now() + GRACE;
            let alive = || {
                self.children
                    .iter()
                    .any(|c| matches!(lock(c).try_wait(), Ok(None)))
            };
            while alive() && Instant::now() < end {
                thread::sleep(Duration::from_millis(5));
            }
            self.kill();
        }
        for child in &self.children {
            let id = lock(child).id();
            child::wait_for_end(id);
        }
    }
}

/// Returns the error of a failed run, as decoded from the recorded cause. Returns
/// [`RunError::Lost`] without a valid cause.
pub(crate) fn cause(cause: Option<Vec<u8>>) -> RunError {
    RunError::from_cause(&cause.unwrap_or_default())
}

/// The OS processes that an exit of the first one also ends, while the run is active.
static BY_EXIT: Mutex<Option<ByExit>> = Mutex::new(None);

struct ByExit {
    children: Vec<Arc<Mutex<Child>>>,
    /// Reports the error and returns the exit code.
    report: fn(RunError) -> Exit,
}

/// Exit handler of the first OS process. If one of its processes calls `exit` during the run, kills
/// the other OS processes, reports the error, and ends at once with the exit code of that error.
/// Does nothing if no run is active.
extern "C" fn at_exit() {
    let Some(ByExit { children, report }) = lock(&BY_EXIT).take() else {
        return;
    };
    kill(&children);
    let why = "OS process 0 ended before the run did: one of its processes called `exit`";
    let exit = report(RunError::Lost(why.into()));
    child::leave(exit as u8);
}

fn kill(children: &[Arc<Mutex<Child>>]) {
    for child in children {
        // Fails if the child has already ended, which is not an error.
        let _ = lock(child).kill();
    }
}

fn lost(which: usize, status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("OS process {which} ended before the run did: {status}"),
        Err(error) => format!("lost OS process {which}: {error}"),
    }
}
