//! Runs Cargo for its output, such as the metadata of a project.

use super::exit::Exit;
use super::session::{Outcome, Session};
use super::supervised::Supervised;
use crate::codes;
use crate::program::{Supervise, cargo_not_there};
use graphmap_kpn::diagnostic::Diagnostic;
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Output, Stdio};

/// Returns the output of `cargo metadata`, which is JSON: the packages of a project, their files,
/// and their dependencies on this machine. `manifest` is the path of its `Cargo.toml`, and
/// `features` are options of Cargo that select features. Blocks until Cargo ends.
///
/// # Errors
/// As for [`output`]. Also reports an error and returns [`Exit::Usage`] if Cargo cannot read the
/// metadata.
pub(super) fn metadata(
    manifest: &Path,
    features: &[&str],
    session: &mut Session<'_>,
) -> Outcome<Vec<u8>> {
    let mut asked: Vec<OsString> = ["metadata", "--format-version=1", "--color=never"]
        .map(OsString::from)
        .into();
    // Packages for other platforms may not have been downloaded.
    let version = run(&["-vV".into()], session)?;
    let version = String::from_utf8_lossy(&version.stdout);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    asked.extend(host.map(|host| format!("--filter-platform={host}").into()));
    asked.extend(features.iter().map(OsString::from));
    asked.extend(["--manifest-path".into(), manifest.into()]);
    let output = run(&asked, session)?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let message = format!("cargo cannot read the metadata of `{}`", manifest.display());
            let said = String::from_utf8_lossy(&output.stderr);
            let diagnostic = Diagnostic::error(codes::BUILD, message);
            let diagnostic = diagnostic.with_note(format!("output of cargo:\n{}", said.trim_end()));
            session.fail(Exit::Usage, diagnostic)
        }
    }
}

/// Runs Cargo to its end and returns its output, also if it exits with a failure. Cargo is the
/// program of the variable `CARGO`, or `cargo`.
///
/// # Errors
/// As for [`output`].
pub(super) fn run(arguments: &[OsString], session: &mut Session<'_>) -> Outcome<Output> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    output(&cargo, arguments, &[], &cargo_not_there, session)
}

/// Runs a program with `input` on its standard input to its end, and returns its output, also if it
/// exits with a failure. `cannot_run` makes the diagnostic for a program that does not start.
///
/// # Errors
/// Returns the exit status of the signal if a signal asked graphmap to end. Returns [`Exit::Usage`]
/// and reports the diagnostic if the program does not start or cannot be waited for.
pub(super) fn output(
    program: &OsStr,
    arguments: &[OsString],
    input: &[u8],
    cannot_run: &dyn Fn(&io::Error) -> Diagnostic,
    session: &mut Session<'_>,
) -> Outcome<Output> {
    let supervise = &Supervised;
    let _attention = supervise.attend();
    let started = supervise.tree(program).and_then(|mut command| {
        let command = command.args(arguments).stdin(Stdio::piped());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    });
    let output = started.and_then(|mut child| {
        let _watched = supervise.watch(child.id());
        let stdin = child.stdin.take();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                // A program that does not read all input reports errors by its status.
                let _ = stdin.map(|mut stdin| stdin.write_all(input));
            });
            child.wait_with_output()
        })
    });
    match (supervise.interrupted(), output) {
        (Some(signal), _) => Err(Exit::signal(signal)),
        (None, Ok(output)) => Ok(output),
        (None, Err(error)) => session.fail(Exit::Usage, cannot_run(&error)),
    }
}
