//! `graphmap doctor PROJECT`: what the ranks of a program that uses `mpi` would share as coroutines.

use super::check::plural;
use super::exit::Exit;
use super::session::{Outcome, Session};
use super::supervised::Supervised;
use crate::program::{Supervise, cargo_not_there};
use crate::{codes, visible};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_sharing::codes::NO_RANKS;
use graphmap_sharing::{Counts, NoRanks, Package, Project, look};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// What is in the folder of every project of Cargo's.
const MANIFEST: &str = "Cargo.toml";

/// What is told of the ranks of a project.
#[derive(clap::Args, Debug)]
pub(crate) struct ProjectArgs {
    /// List the dependencies that do not use `mpi`: into these nothing looks
    #[arg(long, requires = "project")]
    dependencies: bool,
    /// Print what was looked into, in numbers, as JSON
    #[arg(long, requires = "project")]
    json: bool,
}

pub(crate) fn run(named: &Path, args: &ProjectArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let manifest = manifest(named, session)?;
    let told_by_cargo = |features: &[&str], session: &mut Session<'_>| {
        session.timed("cargo metadata", |s| metadata(&manifest, features, s))
    };
    let mut project = Project::from_metadata(&told_by_cargo(&[], session)?);
    if matches!(project, Err(NoRanks::WithoutMpi(_))) {
        // It may be there with a feature that is off.
        let metadata = told_by_cargo(&["--all-features"], session)?;
        project = Project::from_metadata(&metadata);
    }
    let project = project.or_else(|why| {
        let message = format!("`{}` has no ranks: {why}", named.display());
        let told = Diagnostic::error(NO_RANKS, message);
        let told = match why {
            NoRanks::WithoutMpi(_) => told.help(
                "name the project of a program that uses rsmpi (`mpi = \"0.8\"`); `graphmap new NAME --family mpi` makes one",
            ),
            NoRanks::Unreadable(_) => told,
        };
        session.fail(Exit::Usage, told)
    })?;
    // What is not looked into is worth knowing here.
    session.show_notes = true;
    let shown = shown(&manifest);
    let mut looked = Vec::new();
    for package in &project.packages {
        let mut found = Diagnostics::new();
        let counts = session.timed(&package.name, |s| {
            look(package, &shown, &mut s.sources, &mut found)
        });
        session.find_all(found);
        looked.push((package, counts));
    }
    let others = &*project.others;
    match args.json {
        true => {
            let value = as_json(&looked, others);
            session.put((visible::json(&value, true) + "\n").as_bytes())?;
        }
        false => session.show(&as_text(&looked, others, args.dependencies))?,
    }
    session.unless_denied()?;
    Ok(Exit::Ok)
}

/// The manifest of the project that is named, by itself or by its folder.
fn manifest(named: &Path, session: &mut Session<'_>) -> Outcome<PathBuf> {
    let is_named = named.file_name().is_some_and(|name| name == MANIFEST);
    let manifest = match is_named && !named.is_dir() {
        true => named.to_owned(),
        false => named.join(MANIFEST),
    };
    match input::text(&manifest, Limit::SOURCE) {
        Ok(_) => Ok(manifest),
        Err(why) if why.is_missing() => {
            let message = format!("there is no {MANIFEST} in `{}`", named.display());
            let told = Diagnostic::error(NO_RANKS, message)
                .help("name the folder of a Cargo project, or its Cargo.toml");
            session.fail(Exit::Usage, told)
        }
        Err(why) => {
            let told = codes::cannot_read(&manifest.display().to_string(), &why);
            session.fail(Exit::Usage, told)
        }
    }
}

/// What Cargo tells of a project: its packages, their files, and on what they depend on this machine.
fn metadata(manifest: &Path, features: &[&str], session: &mut Session<'_>) -> Outcome<Vec<u8>> {
    let mut asked: Vec<OsString> = ["metadata", "--format-version=1", "--color=never"]
        .map(OsString::from)
        .into();
    // What other platforms need may not have been fetched.
    let version = cargo(&["-vV".into()], session)?;
    let version = String::from_utf8_lossy(&version.stdout);
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    asked.extend(host.map(|host| format!("--filter-platform={host}").into()));
    asked.extend(features.iter().map(OsString::from));
    asked.extend(["--manifest-path".into(), manifest.into()]);
    let output = cargo(&asked, session)?;
    match output.status.success() {
        true => Ok(output.stdout),
        false => {
            let message = format!("cargo cannot tell of `{}`", manifest.display());
            let said = String::from_utf8_lossy(&output.stderr);
            let told = Diagnostic::error(codes::BUILD, message);
            let told = told.with_note(format!("it said:\n{}", said.trim_end()));
            session.fail(Exit::Usage, told)
        }
    }
}

/// Runs Cargo, and takes what it says.
fn cargo(arguments: &[OsString], session: &mut Session<'_>) -> Outcome<Output> {
    let supervise = &Supervised;
    let _attention = supervise.attend();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let started = supervise.tree(&cargo).and_then(|mut command| {
        let command = command.args(arguments).stdin(Stdio::null());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    });
    let output = started.and_then(|child| {
        let _watched = supervise.watch(child.id());
        child.wait_with_output()
    });
    match (supervise.interrupted(), output) {
        (Some(signal), _) => Err(Exit::signal(signal)),
        (None, Ok(output)) => Ok(output),
        (None, Err(error)) => session.fail(Exit::Usage, cargo_not_there(&error)),
    }
}

/// How files are called: those of the project as it is named, others from the current folder where they are in it.
fn shown(manifest: &Path) -> impl Fn(&Path) -> String + use<> {
    let folder = manifest.parent().map(Path::to_owned).unwrap_or_default();
    let root = std::path::absolute(match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => &folder,
    });
    let here = std::env::current_dir();
    move |path: &Path| {
        let own = root
            .as_ref()
            .ok()
            .and_then(|root| path.strip_prefix(root).ok());
        let own = own.map(|rest| super::paths::plain(&folder.join(rest)));
        // `./src/main.rs` of the project `.`
        let own = own.map(|path| path.strip_prefix(".").map_or(path.clone(), Path::to_owned));
        let near = || {
            here.as_ref()
                .ok()
                .and_then(|here| path.strip_prefix(here).ok())
        };
        let told = own.or_else(|| near().map(Path::to_owned));
        told.as_deref().unwrap_or(path).display().to_string()
    }
}

fn as_text(looked: &[(&Package, Counts)], others: &[String], list: bool) -> String {
    let mut text = String::new();
    for (package, counts) in looked {
        let whose = match package.own {
            true => "",
            false => " (a dependency)",
        };
        text += &format!(
            "{} {}{whose}: {} looked into\n",
            package.name,
            package.version,
            plural(counts.files, "file")
        );
        for (count, what) in [
            (
                counts.statics,
                "shared by the ranks of an OS process: statics that can change (G0801)",
            ),
            (
                counts.thread_locals,
                "shared by the ranks of a thread: thread-locals (G0802)",
            ),
            (
                counts.made_once,
                "made by one rank for all: statics (G0803)",
            ),
            (
                counts.process_wide,
                "calls that concern the whole OS process (G0804)",
            ),
            (
                counts.held_up,
                "calls that hold up all ranks of a thread (G0809)",
            ),
            (
                counts.locks,
                "locks that are held while a rank waits (G0810)",
            ),
            (
                counts.other_languages,
                "places with code of another language, not looked into (G0811)",
            ),
            (
                counts.generated,
                "generated files that are not looked into (G0812)",
            ),
            (
                counts.not_judged,
                "not known to be one or the other (G0805)",
            ),
            (
                counts.macros,
                "calls of macros that are not looked into (G0807)",
            ),
            (counts.unread, "files that could not be read (G0806)"),
        ] {
            if count > 0 {
                text += &format!("  {count:>4}  {what}\n");
            }
        }
        let nothing = Counts {
            files: counts.files,
            ..Counts::default()
        };
        if *counts == nothing {
            text += "        nothing is shared\n";
        }
    }
    match (others.len(), list) {
        (0, _) => {}
        (_, true) => {
            text += "not looked into, as they do not use `mpi`:\n";
            others
                .iter()
                .for_each(|other| text += &format!("  {other}\n"));
        }
        (count, false) => {
            let count = match count {
                1 => "1 dependency".to_owned(),
                n => format!("{n} dependencies"),
            };
            text +=
                &format!("{count} without `mpi` not looked into (`--dependencies` lists them)\n");
        }
    }
    text
}

fn as_json(looked: &[(&Package, Counts)], others: &[String]) -> serde_json::Value {
    let packages = looked.iter().map(|(package, counts)| {
        json!({
            "name": package.name,
            "version": package.version,
            "own": package.own,
            "counts": counts,
        })
    });
    json!({ "packages": packages.collect::<Vec<_>>(), "others": others })
}
