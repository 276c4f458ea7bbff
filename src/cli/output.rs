//! Writes the files of a run. Refuses to overwrite inputs, and to write a file twice.

use super::args::is_standard;
use super::exit::Exit;
use super::identity::Identity;
pub(crate) use super::opening::is_from_graphmap;
use super::opening::{Opening, beginning};
use super::paths::shown;
use super::session::{Formatted, Outcome, Session};
use crate::cli::signals;
use crate::codes;
use crate::write::{self, Fate};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::{File, Files};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Like [`write()`], for files that are all by graphmap itself. Refuses to overwrite files by
/// others.
///
/// # Errors
/// As for [`write_quietly`], and [`Exit::Usage`] if a file would be overwritten that graphmap did
/// not write.
pub(crate) fn write_generated(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    no_conflicts(session, files.iter())?;
    check_owned(session, files)?;
    write(session, files)
}

/// Writes a set of files, and prints the outcome for each. The file `-` is standard output.
///
/// # Errors
/// As for [`write_quietly`].
pub(crate) fn write(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (word, path) in write_quietly(session, files)? {
        session.print(&format!("graphmap: {word} {}\n", shown(&path)));
    }
    Ok(())
}

/// Writes a set of files, and prints the name of each that was changed or created.
///
/// # Errors
/// As for [`write_quietly`].
pub(crate) fn write_changes(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (word, path) in write_quietly(session, files)? {
        if word != "unchanged" {
            session.print(&format!("graphmap: {word} {}\n", shown(&path)));
        }
    }
    Ok(())
}

/// Writes a set of files, and returns the outcome of each: `wrote`, `updated` or `unchanged`. Files
/// of the user that were kept, devices, pipes and standard output are not in the result. Blocks
/// while a pipe is full.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if a file is an input of this run or would be
/// written twice, or if a file or standard output cannot be written.
pub(crate) fn write_quietly(
    session: &mut Session<'_>,
    files: &Files,
) -> Outcome<Vec<(&'static str, PathBuf)>> {
    no_conflicts(session, files.iter())?;
    let regular = files.iter().filter(|(path, _)| !is_standard(path));
    let written = write::plan(regular).and_then(|plan| {
        // Special files come first: a device may fail, a pipe may block, and a signal may end
        // graphmap here.
        plan.write_special()?;
        // From here on, a signal takes effect only after all files are in place.
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

/// Refuses to overwrite inputs of this run, and to write different contents to one file. Files are
/// compared by identity, not by path. Existing files that are written only once are skipped.
///
/// # Errors
/// Reports the first conflict and returns [`Exit::Usage`].
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

/// Refuses to overwrite an input of this run. `identity` is the identity of `path`.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if `path` is an input.
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

/// Refuses to overwrite files by others. An existing file must have the same opening as the new
/// one, or be blank. Does not check standard output, files that are written only once, and new
/// contents without a known opening.
///
/// # Errors
/// Reports the first such file and returns [`Exit::Usage`]. Returns the status of
/// [`Session::unless_denied`] if a level makes a warning an error.
pub(crate) fn check_owned(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (path, file) in files.iter().filter(|(_, file)| !file.create_once) {
        match Opening::of(&file.content) {
            // Such files have no common opening.
            Opening::Other | Opening::Blank => {}
            _ if is_standard(path) => {}
            opening => {
                check_owned_file(session, path, &[opening])?;
                warn_of_other_picture(session, path, &file.content);
            }
        }
    }
    session.unless_denied()
}

/// Warns if a picture of a network replaces a picture of a mapping, or the reverse. Reads only the
/// beginning of the old picture, which may be large.
fn warn_of_other_picture(session: &mut Session<'_>, path: &Path, new: &[u8]) {
    const HEAD: usize = 200;
    let shows = |text: &[u8]| -> Option<&'static str> {
        let head = String::from_utf8_lossy(&text[..text.len().min(HEAD)]);
        match head.trim_start().starts_with("<svg ") {
            true if head.contains("class=\"graphmap-mapping\"") => Some("the mapping"),
            true if head.contains("class=\"graphmap\"") => Some("the network"),
            _ => None,
        }
    };
    let Some(new) = shows(new) else {
        return;
    };
    // A file that cannot be read is reported when it is written.
    let old = beginning(path, HEAD).ok();
    if let Some(old) = old.and_then(|old| shows(&old)).filter(|old| *old != new) {
        let path = path.display();
        let message = format!("`{path}` was a picture of {old}, and becomes a picture of {new}");
        session.report(
            Diagnostic::warning(codes::OTHER_PICTURE, message)
                .help("use two names, such as `farm.svg` and `farm.mapping.svg`"),
        );
    }
}

/// Refuses to overwrite a file unless it has one of these openings, is blank, or is not a regular
/// file.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] otherwise, also if the file cannot be read.
pub(crate) fn check_owned_file(
    session: &mut Session<'_>,
    path: &Path,
    openings: &[Opening<'_>],
) -> Outcome<()> {
    if is_from_graphmap(path, openings) {
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

/// Reports that two paths lead to one file, as an error. Always returns [`Exit::Usage`].
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

/// Reports the files whose contents would change, and writes nothing. Returns [`Exit::Difference`]
/// if there are any, and otherwise [`Exit::Ok`]. Standard output is ignored.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if a file is an input of this run or would be
/// written twice, or if a file could not be written.
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
        session.report(
            Diagnostic::error(codes::WOULD_CHANGE, message)
                .help("run the same command without `--check` to write it"),
        );
    }
    Ok(exit)
}

/// Returns [`Exit::Difference`] and reports an error if standard input is not formatted, and
/// otherwise returns [`Exit::Ok`]. `text` is standard input and its formatted text.
pub(crate) fn check_standard(session: &mut Session<'_>, text: &Formatted) -> Exit {
    if text.before == text.after.as_bytes() {
        return Exit::Ok;
    }
    let message = "standard input is not formatted";
    session.report(Diagnostic::error(codes::WOULD_CHANGE, message));
    Exit::Difference
}
