//! The OS processes of a run on one host: the first starts the others, as copies of its own program, and sees
//! to it that all end together.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::process::{self, Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::RunError;
use crate::link::shm::child;
use crate::link::shm::control::{Control, FAILED, MOST};
use crate::link::shm::memory::Memory;
use crate::payload::{Decoder, Encoder};
use crate::prefix;
use crate::sync::lock;

/// Tells a copy what it is: the OS process that started it, the number of the memory there, its own number,
/// how many there are, and how many schedulers each has.
const VARIABLE: &str = "GRAPHMAP_OS_PROCESS";
/// How long the OS processes of a run that fails have to end by themselves, before they are killed.
const GRACE: Duration = Duration::from_millis(700);
/// How often the first looks whether the run has failed. Who fails wakes it.
const LOOK: Duration = Duration::from_secs(3600);

/// What this OS process is, if another has started it as one of several.
pub(crate) fn joined() -> Result<Option<Arc<Control>>, RunError> {
    let Some(told) = env::var_os(VARIABLE) else {
        return Ok(None);
    };
    let Some([parent, fd, me, count, each]) = numbers(&told) else {
        return Err(RunError::Options(format!(
            "{VARIABLE}={}: it is for the program itself to set",
            told.to_string_lossy()
        )));
    };
    // What a copy starts inherits the variable, and is no copy.
    if parent != child::parent() {
        return Ok(None);
    }
    let memory = Memory::open(parent, fd as i32)
        .map_err(|error| RunError::Lost(format!("OS process {me} cannot share memory: {error}")))?;
    if memory.len() < Control::size(count as usize * each as usize) {
        let message = format!("OS process {me}: what it is to share is no memory of a run");
        return Err(RunError::Lost(message));
    }
    let control = Control::new(Arc::new(memory), me as usize, count as usize, each as usize);
    Ok(Some(Arc::new(control)))
}

fn numbers(told: &OsStr) -> Option<[u32; 5]> {
    let numbers: Result<Vec<u32>, _> = told.to_str()?.split(' ').map(str::parse).collect();
    let numbers: [u32; 5] = numbers.ok()?.try_into().ok()?;
    let [_, _, me, count, each] = numbers;
    let all = count.checked_mul(each)? as usize;
    (me < count && (1..=MOST).contains(&all)).then_some(numbers)
}

/// The other OS processes of a run, to be ended with it.
pub(crate) struct Relatives {
    pub(crate) control: Arc<Control>,
    children: Vec<Arc<Mutex<Child>>>,
    /// Whether the first is through.
    finished: Arc<Mutex<bool>>,
}

/// Starts the others, each with so many schedulers. `stuck` is called if the run fails while the first cannot end it.
///
/// It has to be called by the thread that runs the network: when that ends, the kernel ends the others.
pub(crate) fn start(
    count: usize,
    each: usize,
    table: u64,
    stuck: impl Fn(RunError) + Send + 'static,
) -> Result<Relatives, RunError> {
    let fail = |what: &str, error: io::Error| RunError::Lost(format!("{what}: {error}"));
    if count * each > MOST {
        return Err(RunError::Options(format!(
            "{count} OS processes of {each} scheduler{}: on one host there may be {MOST} schedulers",
            if each == 1 { "" } else { "s" }
        )));
    }
    let memory = Memory::new(Control::size(count * each))
        .map_err(|error| fail("there is no memory to be shared", error))?;
    let fd = memory.fd();
    let control = Arc::new(Control::new(Arc::new(memory), 0, count, each));
    control.begin(table);
    let program =
        env::current_exe().map_err(|error| fail("the program does not know its file", error))?;
    let mut relatives = Relatives {
        control: Arc::clone(&control),
        children: Vec::new(),
        finished: Arc::default(),
    };
    let me = process::id();
    for other in 1..count {
        let mut command = Command::new(&program);
        command
            .args(env::args_os().skip(1))
            .env(VARIABLE, format!("{me} {fd} {other} {count} {each}"))
            .stdin(Stdio::null());
        if prefix::is_on() {
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        child::bind(&mut command, me);
        let started = command.spawn().map_err(|error| {
            fail(
                &format!("OS process {other} of {count} cannot be started"),
                error,
            )
        });
        match started {
            Ok(mut child) => {
                let adopted = prefix::adopt(other, &mut child);
                relatives.children.push(Arc::new(Mutex::new(child)));
                if let Err(error) = adopted {
                    relatives.kill();
                    return Err(fail(
                        &format!("what OS process {other} prints cannot be read"),
                        error,
                    ));
                }
            }
            Err(error) => {
                relatives.kill();
                return Err(error);
            }
        }
    }
    relatives.watch(stuck)?;
    Ok(relatives)
}

impl Relatives {
    /// Has a thread for each child that waits for its end, and one that waits for the run to fail.
    fn watch(&self, stuck: impl Fn(RunError) + Send + 'static) -> Result<(), RunError> {
        let spawn = |name: String, f: Box<dyn FnOnce() + Send>| {
            let builder = thread::Builder::new().name(name).stack_size(64 << 10);
            let spawned = builder.spawn(f).map(drop);
            spawned.map_err(|error| {
                self.kill();
                RunError::Lost(format!("a thread cannot be started: {error}"))
            })
        };
        for (at, child) in self.children.iter().enumerate() {
            let (child, control) = (Arc::clone(child), Arc::clone(&self.control));
            let wait = move || {
                let id = lock(&child).id();
                child::wait_for_end(id);
                let status = lock(&child).wait();
                if !control.is_done(at + 1) {
                    let error = RunError::Lost(lost(at + 1, status));
                    control.fail(&Encoder::to_vec(&error));
                }
            };
            spawn(format!("child {}", at + 1), Box::new(wait))?;
        }
        let (control, children) = (Arc::clone(&self.control), self.children.clone());
        let finished = Arc::clone(&self.finished);
        let watch = move || {
            while !control.wait_for_failure(LOOK) {
                if *lock(&finished) {
                    return;
                }
            }
            let end = Instant::now() + GRACE;
            while Instant::now() < end && !*lock(&finished) {
                thread::sleep(Duration::from_millis(20));
            }
            kill(&children);
            // From here on the first does not return any more, or it has.
            let finished = lock(&finished);
            if !*finished {
                stuck(cause(control.cause()));
            }
        };
        spawn("watch".into(), Box::new(watch))
    }

    fn kill(&self) {
        kill(&self.children);
    }

    /// The first is through: waits until the others have ended.
    pub(crate) fn finish(self) {
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

/// Why the run has failed, as the one who found it has written down.
pub(crate) fn cause(cause: Option<Vec<u8>>) -> RunError {
    let cause = cause.unwrap_or_default();
    Decoder::from_slice(&cause)
        .unwrap_or_else(|_| RunError::Lost("the run has failed, and nobody could say why".into()))
}

fn kill(children: &[Arc<Mutex<Child>>]) {
    for child in children {
        // One that has ended needs no killing.
        let _ = lock(child).kill();
    }
}

fn lost(which: usize, status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("OS process {which} ended before the run did: {status}"),
        Err(error) => format!("OS process {which} is lost: {error}"),
    }
}
