//! Runs a program in our place: its input, output and signals are ours.

use crate::plugins::{Guard, interrupted};
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
    /// Since we were told to end.
    Interrupted,
}

/// How long a program may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// Runs a program to its end. Ctrl-C reaches it as it reaches us; what only we are told it is told
/// by us, and it does not outlive us.
pub(crate) fn run(command: &mut Command) -> io::Result<End> {
    let _guard = Guard::new();
    let mut child = command.spawn()?;
    let id = child.id();
    let (send, ended) = channel();
    std::thread::spawn(move || send.send(child.wait()));
    let mut asked: Option<Instant> = None;
    let status = loop {
        match ended.recv_timeout(Duration::from_millis(50)) {
            Ok(status) => break status?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("it was lost")),
        }
        if interrupted() {
            match asked {
                None => {
                    end(id, false);
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => end(id, true),
                Some(_) => {}
            }
        }
    };
    if interrupted() {
        return Ok(End::Interrupted);
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ok(End::Signal(signal));
    }
    Ok(End::Code(status.code().unwrap_or(1)))
}

/// Asks a child to end when we are told to, as long as this lives; a child that does not is killed.
pub(crate) struct Watched {
    done: Option<std::sync::mpsc::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Watched {
    pub(crate) fn new(id: u32) -> Watched {
        let (done, is_done) = channel();
        let thread = std::thread::spawn(move || {
            let mut asked: Option<Instant> = None;
            let wait = Duration::from_millis(50);
            while is_done.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                match asked {
                    _ if !interrupted() => {}
                    None => {
                        end(id, false);
                        asked = Some(Instant::now());
                    }
                    Some(since) if since.elapsed() > GRACE => end(id, true),
                    Some(_) => {}
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

#[cfg(unix)]
fn end(id: u32, at_once: bool) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = if at_once { Signal::KILL } else { Signal::TERM };
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // It may have ended in this moment.
        let _ = kill_process(pid, signal);
    }
}

#[cfg(not(unix))]
fn end(_: u32, _: bool) {}
