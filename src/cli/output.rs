//! Writes the files of a run: none over what was read, none twice.

use super::args::is_standard;
use super::exit::Exit;
use super::identity::Identity;
use super::opening::Opening;
pub(crate) use super::opening::is_ours;
use super::paths::shown;
use super::session::{Formatted, Outcome, Session};
use crate::cli::signals;
use crate::codes;
use crate::write::{self, Fate};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::{File, Files};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The same as [`write`], of files that are all by graphmap itself: what somebody else has written stays.
pub(crate) fn write_ours(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    no_conflicts(session, files.iter())?;
    none_of_others(session, files)?;
    write(session, files)
}

/// Writes a set of files and tells what became of them. The file `-` is standard output.
pub(crate) fn write(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (word, path) in write_quietly(session, files)? {
        session.tell(&format!("graphmap: {word} {}\n", shown(&path)));
    }
    Ok(())
}

/// Writes a set of files, and prints the name of each that was changed.
pub(crate) fn write_changes(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (word, path) in write_quietly(session, files)? {
        if word != "unchanged" {
            session.tell(&format!("graphmap: {word} {}\n", shown(&path)));
        }
    }
    Ok(())
}

/// Writes a set of files, and gives what became of each: `wrote`, `updated` or `unchanged`.
pub(crate) fn write_quietly(
    session: &mut Session<'_>,
    files: &Files,
) -> Outcome<Vec<(&'static str, PathBuf)>> {
    no_conflicts(session, files.iter())?;
    let regular = files.iter().filter(|(path, _)| !is_standard(path));
    let written = write::plan(regular).and_then(|plan| {
        // First, since a device may fail, and a pipe keep us waiting; we may be ended here.
        plan.write_special()?;
        // From here on, who tells us to end waits until all is in its place.
        let _guard = signals::Guard::new();
        plan.replace()?;
        Ok(plan)
    });
    let plan = written.or_else(|failed| session.fail(Exit::Usage, failed.diagnostic()))?;
    let mut told = Vec::new();
    for (path, fate) in plan.fates() {
        let word = match fate {
            Fate::Created => "wrote",
            Fate::Replaced => "updated",
            Fate::Unchanged => "unchanged",
            Fate::Kept | Fate::Special => continue,
        };
        told.push((word, path.to_owned()));
    }
    if let Some(file) = files.get(super::args::STANDARD) {
        session.put(&file.content)?;
    }
    Ok(told)
}

/// Refuses to write what was read in this run, and to write one file twice, whatever its paths look
/// like; the same content twice is the same file.
pub(crate) fn no_conflicts<'f>(
    session: &mut Session<'_>,
    files: impl Iterator<Item = (&'f Path, &'f File)>,
) -> Outcome<()> {
    let mut written: HashMap<Identity, (&Path, &File)> = HashMap::new();
    for (path, file) in files.filter(|(path, file)| !(file.create_once && path.exists())) {
        let identity = Identity::of_output(path);
        not_an_input(session, path, &identity)?;
        match written.insert(identity, (path, file)) {
            Some((other, earlier)) if earlier.content != file.content => {
                return written_twice(session, other, path);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Refuses to write what was read in this run.
pub(crate) fn not_an_input(
    session: &mut Session<'_>,
    path: &Path,
    identity: &Identity,
) -> Outcome<()> {
    let Some(input) = session.inputs.get(identity) else {
        return Ok(());
    };
    let what = match is_standard(path) {
        true => "standard output".to_owned(),
        false => format!("`{}`", path.display()),
    };
    let message = format!("{what} is an input of this run, and would be overwritten");
    let mut diagnostic = Diagnostic::error(codes::USAGE, message);
    if input != path {
        let input = Session::display(input);
        diagnostic = diagnostic.with_note(format!("it was read as `{input}`"));
    }
    session.fail(
        Exit::Usage,
        diagnostic.help("write to another file; nothing was written"),
    )
}

/// Refuses to write over what somebody else has written: what is there has to begin as what is to be written.
pub(crate) fn none_of_others(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (path, file) in files.iter().filter(|(_, file)| !file.create_once) {
        match Opening::of(&file.content) {
            // Nothing is known of what such files look like.
            Opening::Other | Opening::Blank => {}
            _ if is_standard(path) => {}
            opening => not_of_others(session, path, &[opening])?,
        }
    }
    Ok(())
}

/// The same of one file that begins in one of these ways.
pub(crate) fn not_of_others(
    session: &mut Session<'_>,
    path: &Path,
    openings: &[Opening<'_>],
) -> Outcome<()> {
    if is_ours(path, openings) {
        return Ok(());
    }
    let message = format!(
        "`{}` exists, and does not look like a file that graphmap wrote",
        path.display()
    );
    let diagnostic = Diagnostic::error(codes::USAGE, message)
        .help("write to another file, or remove this file first; nothing was written");
    session.fail(Exit::Usage, diagnostic)
}

/// Ends the command: two paths lead to one file.
pub(crate) fn written_twice<T>(session: &mut Session<'_>, one: &Path, other: &Path) -> Outcome<T> {
    let message = format!("`{}` would be written twice", other.display());
    let mut diagnostic = Diagnostic::error(codes::USAGE, message);
    if one != other {
        diagnostic = diagnostic.with_note(format!("`{}` is the same file", one.display()));
    }
    session.fail(
        Exit::Usage,
        diagnostic.help("write one of them to another file; nothing was written"),
    )
}

/// Tells which files are not as they would be written.
pub(crate) fn check(session: &mut Session<'_>, files: &Files) -> Outcome<Exit> {
    no_conflicts(session, files.iter())?;
    let mut exit = Exit::Ok;
    let regular = files.iter().filter(|(path, _)| !is_standard(path));
    let plan = write::plan(regular);
    let plan = plan.or_else(|failed| session.fail(Exit::Usage, failed.diagnostic()))?;
    for (path, fate) in plan.fates() {
        let message = match fate {
            Fate::Created => format!("`{}` does not exist", path.display()),
            Fate::Replaced => format!("`{}` is out of date", path.display()),
            Fate::Unchanged | Fate::Kept | Fate::Special => continue,
        };
        exit = Exit::Difference;
        session.find(
            Diagnostic::error(codes::WOULD_CHANGE, message)
                .help("run the same command without `--check` to write it"),
        );
    }
    Ok(exit)
}

/// As [`check`], for what stands on standard input.
pub(crate) fn check_standard(session: &mut Session<'_>, text: &Formatted) -> Exit {
    if text.before == text.after.as_bytes() {
        return Exit::Ok;
    }
    let message = "standard input is not formatted";
    session.find(Diagnostic::error(codes::WOULD_CHANGE, message));
    Exit::Difference
}
