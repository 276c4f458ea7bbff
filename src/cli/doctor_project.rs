//! `graphmap doctor PROJECT`: reports the state that ranks of a program that uses `mpi` would share
//! as coroutines.
//!
//! The tool `graphmap-doctor` reads the sources. It is separate because a parser of Rust takes long
//! to compile, and few users need it. The tool gets the output of `cargo metadata`, and replies
//! with one JSON object.

use super::cargo::{metadata, output};
use super::exit::Exit;
use super::paths;
use super::session::{Outcome, Session};
use crate::{codes, visible};
use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::source::{SourceMap, Span};
use serde::Deserialize;
use serde_json::json;
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Manifest in the folder of every Cargo project.
const MANIFEST: &str = "Cargo.toml";

/// Version of the format in which the tool replies.
const PROTOCOL: u32 = 1;

const INSTALL: &str =
    "install it with `cargo install --path modules/sharing` in graphmap's sources";

/// Options of `doctor PROJECT`.
#[derive(clap::Args, Debug)]
pub(crate) struct ProjectArgs {
    /// List the dependencies that do not use `mpi`, which are not checked
    #[arg(long, requires = "project")]
    dependencies: bool,
    /// Print the counts as JSON
    #[arg(long, requires = "project")]
    json: bool,
}

/// Reply of the tool.
#[derive(Deserialize)]
struct Reply {
    protocol: u32,
    no_ranks: Option<String>,
    #[serde(default)]
    without_mpi: bool,
    #[serde(default)]
    text: String,
    #[serde(default)]
    packages: serde_json::Value,
    #[serde(default)]
    others: serde_json::Value,
    #[serde(default)]
    diagnostics: Vec<Reported>,
}

/// Diagnostic in the reply.
#[derive(Deserialize)]
struct Reported {
    code: u16,
    severity: String,
    message: String,
    labels: Vec<ReportedLabel>,
    help: Vec<String>,
    notes: Vec<String>,
}

#[derive(Deserialize)]
struct ReportedLabel {
    file: String,
    start: usize,
    end: usize,
    text: String,
}

pub(crate) fn run(named: &Path, args: &ProjectArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let manifest = manifest(named, session)?;
    let Some(tool) = graphmap_plugin::find("graphmap-", "doctor") else {
        let message =
            "`graphmap doctor PROJECT` needs the tool `graphmap-doctor`, which is not on PATH";
        let missing = Diagnostic::error(codes::NO_DOCTOR, message).help(INSTALL);
        return session.fail(Exit::Usage, missing);
    };
    let mut reply = ask(&tool, &manifest, &[], args, session)?;
    if reply.without_mpi {
        // `mpi` may be behind a feature that is disabled.
        reply = ask(&tool, &manifest, &["--all-features"], args, session)?;
    }
    if let Some(why) = reply.no_ranks {
        let message = format!("`{}` has no ranks: {why}", named.display());
        let mut diagnostic = Diagnostic::error(codes::NO_RANKS, message);
        if reply.without_mpi {
            diagnostic = diagnostic.help(
                "name the project of a program that uses rsmpi (`mpi = \"0.8\"`), or make one with `graphmap new NAME --family mpi`",
            );
        }
        return session.fail(Exit::Usage, diagnostic);
    }
    // Notes name files and macros that are not checked.
    session.show_notes = true;
    let mut spans = Spans::default();
    for reported in reply.diagnostics {
        let diagnostic = spans.placed(reported, &mut session.sources);
        session.report(diagnostic);
    }
    match args.json {
        true => {
            let value = json!({ "packages": reply.packages, "others": reply.others });
            session.put((visible::json(&value, true) + "\n").as_bytes())?;
        }
        false => session.show(&reply.text)?,
    }
    session.unless_denied()?;
    Ok(Exit::Ok)
}

/// Runs the tool on a project, with these options of Cargo that select features, and returns its
/// reply. Blocks until the tool ends.
///
/// # Errors
/// As for [`metadata`] and [`output`]. Also reports an error and returns [`Exit::Usage`] if the
/// tool fails, or if its reply cannot be read or is in another version of the protocol.
fn ask(
    tool: &Path,
    manifest: &Path,
    features: &[&str],
    args: &ProjectArgs,
    session: &mut Session<'_>,
) -> Outcome<Reply> {
    let metadata = session.timed("cargo metadata", |s| metadata(manifest, features, s))?;
    let mut asked: Vec<OsString> = Vec::new();
    asked.extend(args.dependencies.then(|| "--dependencies".into()));
    // With `./`, because a name that begins with `-` would be an option.
    asked.push(Path::new(".").join(paths::plain(manifest)).into());
    let cannot_run = |error: &io::Error| {
        let message = format!("`{}` cannot be run: {error}", tool.display());
        Diagnostic::error(codes::NO_DOCTOR, message).help(INSTALL)
    };
    let output = session.timed("graphmap-doctor", |s| {
        output(tool.as_os_str(), &asked, &metadata, &cannot_run, s)
    })?;
    let reply = serde_json::from_slice::<Reply>(&output.stdout);
    match (output.status.success(), reply) {
        (true, Ok(reply)) if reply.protocol == PROTOCOL => Ok(reply),
        (success, reply) => {
            let why = match (success, reply) {
                (false, _) => format!("it failed ({})", output.status),
                (_, Ok(reply)) => format!(
                    "it uses version {} of the protocol, and this command uses version {PROTOCOL}",
                    reply.protocol
                ),
                (_, Err(why)) => format!("its reply cannot be read: {why}"),
            };
            let message = format!("`{}` cannot be used: {why}", tool.display());
            let mut diagnostic = Diagnostic::error(codes::NO_DOCTOR, message).help(INSTALL);
            let said = String::from_utf8_lossy(&output.stderr);
            if !said.trim().is_empty() {
                diagnostic = diagnostic.with_note(format!("its output:\n{}", said.trim_end()));
            }
            session.fail(Exit::Usage, diagnostic)
        }
    }
}

/// Positions in files that the tool has read.
#[derive(Default)]
struct Spans {
    /// Base and length of the text of each file; `None` for a file that cannot be read.
    files: HashMap<String, Option<(u32, usize)>>,
}

impl Spans {
    /// Converts a diagnostic of the reply. An unknown severity becomes a note. Reads the files of
    /// its labels into `sources`. Labels in files that cannot be read, or at positions that no
    /// longer exist, are dropped.
    fn placed(&mut self, reported: Reported, sources: &mut SourceMap) -> Diagnostic {
        let code = Code(reported.code);
        let mut diagnostic = match &*reported.severity {
            "error" => Diagnostic::error(code, reported.message),
            "warning" => Diagnostic::warning(code, reported.message),
            _ => Diagnostic::note(code, reported.message),
        };
        diagnostic.help = reported.help;
        diagnostic.notes = reported.notes;
        for (at, label) in reported.labels.into_iter().enumerate() {
            let Some(span) = self.span(&label, sources) else {
                continue;
            };
            diagnostic = match at {
                0 => diagnostic.at(span, label.text),
                _ => diagnostic.also(span, label.text),
            };
        }
        diagnostic
    }

    fn span(&mut self, label: &ReportedLabel, sources: &mut SourceMap) -> Option<Span> {
        let read = || {
            let text = input::text(Path::new(&label.file), Limit::SOURCE).ok()?;
            let source = sources.add(&label.file, text).ok()?;
            Some((source.base(), source.text().len()))
        };
        let file = self.files.entry(label.file.clone()).or_insert_with(read);
        let (base, length) = (*file)?;
        // The file may have changed. The casts are exact because a source is shorter than 4 GiB.
        let ordered = label.start <= label.end && label.end <= length;
        ordered.then(|| Span::new(base + label.start as u32, base + label.end as u32))
    }
}

/// Returns the manifest of a project that is named by its folder or by its manifest. Reads the
/// manifest as a check.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the manifest does not exist or cannot be read.
fn manifest(named: &Path, session: &mut Session<'_>) -> Outcome<PathBuf> {
    let is_named = named.file_name().is_some_and(|name| name == MANIFEST);
    let manifest = match is_named && !named.is_dir() {
        true => named.to_owned(),
        false => named.join(MANIFEST),
    };
    match input::text(&manifest, Limit::SOURCE) {
        Ok(_) => Ok(manifest),
        Err(why) if why.is_missing() => {
            let message = format!("`{}` contains no {MANIFEST}", named.display());
            let diagnostic = Diagnostic::error(codes::NO_RANKS, message)
                .help("name the folder of a Cargo project, or its Cargo.toml");
            session.fail(Exit::Usage, diagnostic)
        }
        Err(why) => {
            let diagnostic = codes::cannot_read(&manifest.display().to_string(), &why);
            session.fail(Exit::Usage, diagnostic)
        }
    }
}
