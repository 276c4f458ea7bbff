//! Runs a program in our place: its input, output and signals are ours.

use crate::cli::signals::{self, Guard, interrupted};
use std::io;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How a program ended.
pub(crate) enum End {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Since this signal told us to end.
    Interrupted(i32),
}

/// How long a program may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);
/// How often it is looked whether we were told to end.
const LOOK: Duration = Duration::from_millis(50);

/// Runs a program to its end. What the terminal tells us (Ctrl-C) it tells the program, too; what only
/// we are told it is told by us, questions too.
pub(crate) fn run(command: &mut Command) -> io::Result<End> {
    run_with(command, Asking::end)
}

/// The same, with a way of one's own to end it.
pub(crate) fn run_with(command: &mut Command, mut end: impl FnMut(&Asking)) -> io::Result<End> {
    let asked = signals::question();
    let _guard = Guard::new();
    let mut child = command.spawn()?;
    let mut asking = Asking::new(child.id());
    let (told, ended) = channel();
    std::thread::spawn(move || told.send(child.wait()));
    let status = loop {
        match ended.recv_timeout(LOOK) {
            Ok(status) => break status?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("it was lost")),
        }
        if asking.is_time() {
            end(&asking);
        }
        if let Some(signal) = asked.as_ref().and_then(signals::Question::take) {
            send(asking.id, signal, false);
        }
    };
    if let Some(signal) = interrupted() {
        return Ok(End::Interrupted(signal));
    }
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ok(End::Signal(signal));
    }
    Ok(End::Code(status.code().unwrap_or(1)))
}

/// What it takes to end a program: it is asked when we are told to end, and killed when it does not.
pub(crate) struct Asking {
    id: u32,
    signal: Option<i32>,
    since: Option<Instant>,
    at_once: bool,
}

impl Asking {
    fn new(id: u32) -> Asking {
        Asking {
            id,
            signal: None,
            since: None,
            at_once: false,
        }
    }

    /// Whether there is something to be done now.
    fn is_time(&mut self) -> bool {
        self.signal = interrupted();
        match (self.signal, self.since) {
            (None, _) => false,
            (Some(_), None) => {
                self.since = Some(Instant::now());
                true
            }
            (Some(_), Some(since)) => {
                self.at_once = since.elapsed() > GRACE;
                self.at_once
            }
        }
    }

    /// Passes on what we were told, or kills.
    fn end(&self) {
        if let Some(signal) = self.signal {
            send(self.id, signal, self.at_once);
        }
    }
}

/// Ends a build when we are told to end, as long as this lives.
pub(crate) struct Watched {
    done: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watched {
    /// Its process is sent this signal, else the one that we were told by.
    pub(crate) fn new(id: u32, signal: Option<i32>) -> Watched {
        let (done, is_done) = channel();
        let thread = std::thread::spawn(move || {
            let mut asking = Asking::new(id);
            while is_done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if asking.is_time() {
                    asking.signal = signal.or(asking.signal);
                    asking.end();
                }
            }
        });
        Watched {
            done: Some(done),
            thread: Some(thread),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.done = None;
        if let Some(thread) = self.thread.take() {
            // It does nothing that panics.
            let _ = thread.join();
        }
    }
}

fn send(id: u32, signal: i32, at_once: bool) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match at_once {
        true => Signal::KILL,
        false => Signal::from_named_raw(signal).unwrap_or(Signal::TERM),
    };
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // It may have ended in this moment.
        let _ = kill_process(pid, signal);
    }
}
