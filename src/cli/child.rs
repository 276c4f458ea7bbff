//! Runs a program with the input and output of graphmap, and forwards signals to it.

use crate::cli::signals::{self, Guard, interrupted};
use std::io;
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Outcome of a program.
pub(crate) enum End {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// This signal asked graphmap to end.
    Interrupted(i32),
}

/// Time that a program has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);
/// Interval at which signals are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs a program to its end, and returns how it ended. If a signal has asked graphmap to end, that
/// is [`End::Interrupted`], even if the program exited by itself.
///
/// Forwards the signals that ask graphmap to end, and the signal that asks for a report. On Ctrl-C
/// the terminal also signals the program itself. If the program still runs 3 seconds after the
/// first signal, it is killed.
///
/// # Errors
/// Returns an error if the program cannot be started or waited for.
pub(crate) fn run(command: &mut Command) -> io::Result<End> {
    run_with(command, Termination::end)
}

/// Like [`run`], but calls `end` to end the program: once after the first signal, and repeatedly
/// from [`GRACE`] after it.
///
/// # Errors
/// As for [`run`].
pub(crate) fn run_with(
    command: &mut Command,
    mut end: impl FnMut(&Termination),
) -> io::Result<End> {
    let asked = signals::report_request();
    let _guard = Guard::new();
    let mut child = command.spawn()?;
    let mut termination = Termination::new(child.id());
    let (told, ended) = channel();
    std::thread::spawn(move || told.send(child.wait()));
    let status = loop {
        match ended.recv_timeout(POLL_INTERVAL) {
            Ok(status) => break status?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("it was lost")),
        }
        if termination.is_time() {
            end(&termination);
        }
        if let Some(signal) = asked.as_ref().and_then(signals::ReportRequest::take) {
            send(termination.id, signal, false);
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

/// Ends a program: forwards the signal that asks graphmap to end, and kills the program if it is
/// still running after [`GRACE`].
pub(crate) struct Termination {
    id: u32,
    signal: Option<i32>,
    since: Option<Instant>,
    at_once: bool,
}

impl Termination {
    fn new(id: u32) -> Termination {
        Termination {
            id,
            signal: None,
            since: None,
            at_once: false,
        }
    }

    /// Polls the signals that ask graphmap to end, and returns true if the program must be
    /// signalled now: once after the first signal, and at each call later than [`GRACE`] after
    /// that.
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

    /// Sends the program the signal that [`Termination::is_time`] saw, or kills it after [`GRACE`].
    /// Does nothing before a signal.
    fn end(&self) {
        if let Some(signal) = self.signal {
            send(self.id, signal, self.at_once);
        }
    }
}

/// Ends a child process if a signal asks graphmap to end. Active until it is dropped.
pub(crate) struct Watched {
    done: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watched {
    /// Watches the process `id` in a thread. After a signal that asks graphmap to end, the process
    /// gets `signal` or, if that is `None`, the signal that graphmap received. It is killed if it
    /// still runs 3 seconds later.
    pub(crate) fn new(id: u32, signal: Option<i32>) -> Watched {
        let (done, is_done) = channel();
        let thread = std::thread::spawn(move || {
            let mut termination = Termination::new(id);
            while is_done.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if termination.is_time() {
                    termination.signal = signal.or(termination.signal);
                    termination.end();
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
            // The thread does not panic.
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
        // The process may just have ended.
        let _ = kill_process(pid, signal);
    }
}
