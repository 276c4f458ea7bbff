//! Runs an executable: sends the request and receives the reply, within a time limit.

use crate::codes::{CANNOT_START, DIED, TIMED_OUT};
use crate::external::{CANNOT_RUN, External, cannot_run};
use crate::reply::bad;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use std::io::{self, Read, Write};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Number of lines of standard error that are shown. The last lines usually contain the cause.
const LINES: usize = 20;
/// Number of bytes of standard error that are kept.
const LAST_WORDS: usize = 16 << 10;
/// Maximum length of a reply: a constant, and a multiple of the length of the request.
///
/// A pass may make a network many times larger, but an executable that never stops to write must be
/// stopped before it fills the memory.
const LONGEST: u64 = 64 << 20;
const TIMES: u64 = 16;
/// Interval at which the end of the executable, the time and the interrupt are checked.
const TICK: Duration = Duration::from_millis(10);
/// Time to wait for the rest of the output of an executable that has exited, because its child
/// processes may hold the pipe open.
const PATIENCE: Duration = Duration::from_millis(200);
/// Time that an executable gets to end after TERM.
///
/// A launching program that ends all descendants ([`External::launch`]) needs milliseconds, or up
/// to a second on a loaded machine. If it were killed earlier, the descendants would survive.
const GRACE: Duration = Duration::from_secs(3);

/// Runs an executable with a request and returns its reply, which is UTF-8. Blocks until the
/// executable has ended. Its whole process group is then killed.
///
/// # Errors
/// Returns an error in these cases: the executable cannot be started, exceeds its time limit, is
/// interrupted, or exits with a failure. Also if its reply is too long or is not UTF-8, or if
/// standard output is still open after the process group was killed. Most errors after the start
/// contain the end of its standard error. A run that is ended early takes up to [`GRACE`] longer.
pub(crate) fn ask(plugin: &External, request: Vec<u8>) -> Result<String, Diagnostics> {
    let who = format!("`{}`", plugin.path.display());
    let failed = |what: &str, error: io::Error| {
        let message = format!("{who} cannot be {what}: {error}");
        Diagnostics::from(Diagnostic::error(CANNOT_START, message))
    };
    let mut child = start(plugin).map_err(|error| failed("started", error))?;
    let longest = LONGEST + TIMES * request.len() as u64;
    let (out, err) = converse(&mut child, request, longest);
    let mut end = wait(plugin, &child, &out, longest);
    if !matches!(end, End::Ended(_)) {
        terminate(&child);
    }
    // In all cases the whole process group is killed, so that child processes do not survive.
    kill(&mut child);
    let status = child.wait().map_err(|error| failed("waited for", error))?;
    if let End::Ended(output @ None) = &mut end {
        // A child process held the pipe open until it was killed.
        *output = out.recv_timeout(PATIENCE).ok();
    }
    let diagnostic = match end {
        End::Late => {
            let seconds = plugin.timeout.as_secs_f64();
            let message = format!("{who} did not end within {seconds} s and was killed");
            Diagnostic::error(TIMED_OUT, message)
                .help("use `--plugin-timeout SECONDS` to give it more time")
        }
        End::Interrupted => Diagnostic::error(DIED, format!("{who} was interrupted")),
        End::Unwatched(error) => return Err(failed("watched", error)),
        End::Endless => {
            let mebibytes = longest >> 20;
            let message = format!("it is longer than {mebibytes} MiB, the limit");
            bad(plugin, &message)
        }
        End::Ended(_) if !status.success() => {
            let message = format!("{who} {}", describe(status));
            let help = "report errors in a network as `diagnostics` of the reply; a status other \
                        than 0 means that the plug-in itself failed";
            Diagnostic::error(DIED, message).help(help)
        }
        End::Ended(Some(Ok(bytes))) => match String::from_utf8(bytes) {
            Ok(reply) => return Ok(reply),
            Err(_) => bad(plugin, "it is not UTF-8"),
        },
        End::Ended(Some(Err(error))) => bad(plugin, &error.to_string()),
        End::Ended(None) => bad(
            plugin,
            "its standard output was still open after the plug-in exited",
        ),
    };
    let stderr = err.recv_timeout(PATIENCE).unwrap_or_default();
    if status.code() == Some(i32::from(CANNOT_RUN)) {
        let stderr = String::from_utf8_lossy(&stderr);
        let before = cannot_run(&plugin.path, "");
        if let Some(error) = stderr.strip_prefix(before.trim_end_matches('\n')) {
            return Err(failed("started", io::Error::other(error.trim_end())));
        }
    }
    Err(with_last_words(diagnostic, &stderr).into())
}

fn start(plugin: &External) -> io::Result<Child> {
    let mut command = (plugin.launch)(&plugin.path)?;
    // A separate process group, so that its child processes can be killed together with it.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
}

/// Starts separate threads that write the request and read the output, so that none blocks another.
///
/// Returns two receivers. The first receives standard output when it has ended, or only its first
/// `longest + 1` bytes if there are more. The second receives at least the last [`LAST_WORDS`]
/// bytes of standard error, or all of it, when it has ended. Errors of writing are ignored.
fn converse(
    child: &mut Child,
    request: Vec<u8>,
    longest: u64,
) -> (Receiver<io::Result<Vec<u8>>>, Receiver<Vec<u8>>) {
    if let Some(mut stdin) = child.stdin.take() {
        // An executable that does not read the whole request may still reply, so errors are
        // ignored.
        std::thread::spawn(move || stdin.write_all(&request));
    }
    let (send_out, out) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let result = stdout.take(longest + 1).read_to_end(&mut bytes);
            send(&send_out, result.map(|_| bytes));
        });
    }
    let (send_err, err) = channel();
    if let Some(mut stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let (mut kept, mut chunk) = (Vec::new(), [0; 4096]);
            while let Ok(n @ 1..) = stderr.read(&mut chunk) {
                kept.extend_from_slice(&chunk[..n]);
                if kept.len() > 2 * LAST_WORDS {
                    kept.drain(..kept.len() - LAST_WORDS);
                }
            }
            send(&send_err, kept);
        });
    }
    (out, err)
}

fn send<T>(sender: &Sender<T>, value: T) {
    // The receiver no longer exists if the output came too late.
    let _ = sender.send(value);
}

enum End {
    /// Exited, with its output if that has ended, too.
    Ended(Option<io::Result<Vec<u8>>>),
    /// Wrote more than the limit.
    Endless,
    Late,
    Interrupted,
    /// The state of the process could not be determined.
    Unwatched(io::Error),
}

fn wait(
    plugin: &External,
    child: &Child,
    out: &Receiver<io::Result<Vec<u8>>>,
    longest: u64,
) -> End {
    let start = Instant::now();
    let mut output = None;
    loop {
        if plugin.interrupt.load(Ordering::Relaxed) {
            return End::Interrupted;
        }
        if output.is_none() {
            match out.recv_timeout(TICK) {
                Ok(Ok(bytes)) if bytes.len() as u64 > longest => return End::Endless,
                Ok(result) => output = Some(result),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
            }
        }
        match has_ended(child) {
            Ok(true) => return End::Ended(output),
            Ok(false) => {}
            Err(error) => return End::Unwatched(error),
        }
        if start.elapsed() >= plugin.timeout {
            return End::Late;
        }
        if output.is_some() {
            std::thread::sleep(TICK / 10);
        }
    }
}

/// Returns true if the child has exited. It is not reaped, so that the id of its group cannot be
/// reused. Does not block.
///
/// # Errors
/// Returns an error if the state of the child cannot be determined.
fn has_ended(child: &Child) -> io::Result<bool> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(pid(child)?), options)?.is_some())
}

/// Sends TERM to the child and blocks until it has exited, at most for [`GRACE`]. Returns at once
/// if TERM cannot be sent.
fn terminate(child: &Child) {
    let start = Instant::now();
    let sent = pid(child).and_then(|pid| {
        Ok(rustix::process::kill_process(
            pid,
            rustix::process::Signal::TERM,
        )?)
    });
    while sent.is_ok() && start.elapsed() < GRACE && !has_ended(child).unwrap_or(true) {
        std::thread::sleep(TICK / 10);
    }
}

fn pid(child: &Child) -> io::Result<rustix::process::Pid> {
    let id = i32::try_from(child.id()).map_err(io::Error::other)?;
    rustix::process::Pid::from_raw(id).ok_or_else(|| io::Error::other("no process id"))
}

fn kill(child: &mut Child) {
    if let Ok(group) = pid(child) {
        // An error only means that all members of the group have exited.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

fn describe(status: ExitStatus) -> String {
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("was killed by signal {signal}");
    }
    match status.code() {
        Some(code) => format!("exited with status {code}"),
        None => "ended abnormally".to_owned(),
    }
}

/// Adds the last [`LINES`] lines of the executable's standard error to a diagnostic, as a note.
/// Does not change it if `stderr` is empty. Bytes that are not UTF-8 are replaced.
fn with_last_words(diagnostic: Diagnostic, stderr: &[u8]) -> Diagnostic {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().collect();
    if lines.is_empty() {
        return diagnostic;
    }
    let last = lines[lines.len().saturating_sub(LINES)..].join("\n");
    diagnostic.with_note(format!("end of its standard error:\n{last}"))
}
