//! Builds a project with cargo.

use super::compiler::CompilerMessage;
use super::supervise::Supervise;
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use serde::Deserialize;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Description of a build.
pub(crate) struct CargoBuild<'a> {
    /// Folder of the project's `Cargo.toml`.
    pub(crate) project: &'a Path,
    /// Name of its package. If it has several programs, also the name of the one to run.
    pub(crate) name: &'a str,
    /// Whether to build with optimization.
    pub(crate) release: bool,
    /// For a build with MPI: its compiler, and a separate target folder.
    pub(crate) mpi: Option<(&'a str, &'a Path)>,
    /// Folder for intermediate files [default: the target folder].
    pub(crate) build_folder: Option<&'a Path>,
    /// Whether cargo may print its progress on standard error.
    pub(crate) talk: bool,
    /// Receives messages about a build that takes long. It is called only if `talk` is false.
    pub(crate) progress: fn(&str),
    /// First of these messages, for when cargo starts to compile.
    pub(crate) building: &'a str,
    /// Supervision of the OS processes of the build.
    pub(crate) supervise: &'a dyn Supervise,
}

/// Result of a build.
pub(crate) struct Built {
    /// Path of the program.
    pub(crate) program: PathBuf,
    /// Warnings of the compiler, except those in the runtime.
    pub(crate) warnings: Vec<CompilerMessage>,
}

/// Why a build failed.
pub(crate) enum Failed {
    /// Cargo could not be run, or failed for a reason other than the code.
    Cargo(Box<Diagnostic>),
    /// This signal interrupted the build.
    Interrupted(i32),
    /// The code does not compile.
    Code(Vec<CompilerMessage>),
}

#[derive(Deserialize)]
struct CargoMessage {
    reason: String,
    message: Option<CompilerMessage>,
    executable: Option<PathBuf>,
    target: Option<CargoTarget>,
}

#[derive(Deserialize)]
struct CargoTarget {
    name: String,
}

/// Name of the runtime's library in messages of the compiler.
const RUNTIME: &str = "graphmap_runtime";

/// First word of a line that cargo prints when it compiles a package.
const COMPILING: &str = "Compiling";

/// Start of a line that cargo prints when it waits for another cargo.
const BLOCKING: &str = "Blocking waiting for";

/// Duration after which a wait for another cargo is reported.
const SHORT: Duration = Duration::from_secs(3);

/// Interval between reports about a build that takes long.
const OFTEN: Duration = Duration::from_secs(30);

/// Collects the standard error of cargo in a thread, which returns it when cargo closes it. Reports
/// `building` to `progress` at the first package. Then reports every 30 seconds which package is
/// compiled. Also reports that cargo has waited for another cargo for 3 seconds.
fn listen(stderr: ChildStderr, building: String, progress: fn(&str)) -> JoinHandle<Vec<u8>> {
    let (send, lines) = channel();
    std::thread::spawn(move || {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while let Ok(1..) = stderr.read_until(b'\n', &mut line) {
            if send.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        let start = Instant::now();
        let mut said = Vec::new();
        let (mut compiles, mut waits) = (None, None);
        let mut next_report = OFTEN;
        loop {
            let wait = match &waits {
                Some(_) => SHORT,
                None => next_report.saturating_sub(start.elapsed()),
            };
            match lines.recv_timeout(wait) {
                Ok(line) => {
                    said.extend_from_slice(&line);
                    let line = String::from_utf8_lossy(&line).trim().to_owned();
                    waits = line.starts_with(BLOCKING).then(|| line.clone());
                    if let Some(package) = line.strip_prefix(COMPILING) {
                        let name = package.split_whitespace().next().unwrap_or_default();
                        if compiles.replace(name.to_owned()).is_none() {
                            progress(&building);
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return said,
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(line) = waits.take() {
                        progress(&format!("cargo: {line}"));
                        continue;
                    }
                    let seconds = next_report.as_secs();
                    next_report += OFTEN;
                    if let Some(name) = &compiles {
                        progress(&format!("{building}: compiling {name} ({seconds} s)"));
                    }
                }
            }
        }
    })
}

/// Builds a project with cargo. Blocks until cargo ends.
///
/// # Errors
/// Returns [`Failed::Interrupted`] if a signal interrupted the build. Returns [`Failed::Code`] with
/// the errors of the compiler if it reported any with a position. Otherwise returns
/// [`Failed::Cargo`], also if the project has no program.
pub(crate) fn build(build: &CargoBuild<'_>) -> Result<Built, Failed> {
    let supervise = build.supervise;
    // USR1 requests a report of the program. It must not end graphmap while there is no program
    // yet.
    let _attention = supervise.attend();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let cannot_run = |error: io::Error| Failed::Cargo(Box::new(not_there(&error)));
    let mut command = supervise.tree(&cargo).map_err(cannot_run)?;
    command
        .args(["build", "--message-format=json", "--manifest-path"])
        .arg(build.project.join("Cargo.toml"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(if build.talk {
            Stdio::inherit()
        } else {
            Stdio::piped()
        });
    if build.release {
        command.arg("--release");
    }
    if let Some((compiler, folder)) = build.mpi {
        command
            .env("MPICC", compiler)
            .arg("--target-dir")
            .arg(folder);
    }
    if let Some(folder) = build.build_folder {
        command.env("CARGO_BUILD_BUILD_DIR", folder);
    }
    let mut child = command.spawn().map_err(cannot_run)?;
    // Reads both pipes at the same time, so that neither fills up while the other is read.
    let said = child.stderr.take();
    let said = said.map(|stderr| listen(stderr, build.building.into(), build.progress));
    let watched = supervise.watch(child.id());
    let mut program = None;
    let mut messages = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            // Ignores lines that cargo did not write.
            let Ok(message) = serde_json::from_str::<CargoMessage>(&line) else {
                continue;
            };
            match message.reason.as_str() {
                "compiler-message" => {
                    let of_runtime = message.target.is_some_and(|target| target.name == RUNTIME);
                    let said = message
                        .message
                        .filter(|m| !of_runtime || m.level == "error");
                    messages.extend(said);
                }
                // A package may have several programs, in any order. The one with the name of the
                // package takes precedence.
                "compiler-artifact" => {
                    let is_own = message
                        .target
                        .is_some_and(|target| target.name == build.name);
                    let better = is_own || !matches!(program, Some((_, true)));
                    if let Some(executable) = message.executable.filter(|_| better) {
                        program = Some((executable, is_own));
                    }
                }
                _ => {}
            }
        }
    }
    // Must be dropped before `wait`: afterwards the id may belong to another process.
    drop(watched);
    let status = child.wait().map_err(cannot_run)?;
    if let Some(signal) = supervise.interrupted() {
        return Err(Failed::Interrupted(signal));
    }
    if status.success()
        && let Some((program, _)) = program
    {
        messages.retain(|m| m.level == "warning" && !m.spans.is_empty());
        return Ok(Built {
            program,
            warnings: messages,
        });
    }
    messages.retain(|m| m.level == "error" && !m.spans.is_empty());
    if !messages.is_empty() {
        return Err(Failed::Code(messages));
    }
    let project = build.project.display();
    let message = match status.success() {
        true => format!("the project `{project}` has no program"),
        false => format!("cargo could not build `{project}`"),
    };
    let mut diagnostic = Diagnostic::error(codes::BUILD, message);
    let said = said
        .and_then(|thread| thread.join().ok())
        .unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    if !said.trim().is_empty() {
        diagnostic = diagnostic.with_note(format!("output of cargo:\n{}", said.trim_end()));
    }
    Err(Failed::Cargo(Box::new(diagnostic)))
}

/// Returns true if a file belongs to a package that cargo has downloaded, or to Rust's libraries.
/// Only the path is examined.
pub(crate) fn is_foreign(file: &Path) -> bool {
    let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo"));
    let fetched = own.or_else(home).is_some_and(|cargo| {
        let folders = ["registry", "git"].map(|name| cargo.join(name));
        folders.iter().any(|folder| file.starts_with(folder))
    });
    fetched || file.to_string_lossy().contains("/rustlib/src/")
}

pub(crate) fn not_there(error: &io::Error) -> Diagnostic {
    Diagnostic::error(codes::NO_CARGO, format!("cargo cannot be run: {error}"))
        .help("install Rust from https://rustup.rs to build the programs of networks")
        .help("`graphmap doctor` lists the installed tools")
}
