//! Writes files: all of a set or none, each whole or not at all.

use super::args::is_standard;
use super::exit::Exit;
use super::identity::Identity;
use super::paths::shown;
use super::session::{Formatted, Outcome, Session};
use crate::{codes, signals};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::{File, Files};
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What became, or would become, of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unchanged,
    /// It exists and is the user's.
    Kept,
    Created,
    Replaced,
    /// Not a regular file (a device, a pipe): written in place.
    Special,
}

/// Writes a set of files and tells what became of them. The file `-` is standard output.
pub(crate) fn write(session: &mut Session<'_>, files: &Files) -> Outcome<()> {
    for (word, path) in write_quietly(session, files)? {
        session.tell(&format!("graphmap: {word} {}\n", shown(&path)));
    }
    Ok(())
}

/// Writes a set of files, and gives what became of each: `wrote`, `updated` or `unchanged`.
pub(crate) fn write_quietly(
    session: &mut Session<'_>,
    files: &Files,
) -> Outcome<Vec<(&'static str, PathBuf)>> {
    no_conflicts(session, files.iter())?;
    let mut plan = Vec::new();
    for (path, file) in files.iter().filter(|(path, _)| !is_standard(path)) {
        match fate(path, file) {
            Ok(fate) => plan.push((path, file, fate)),
            Err(error) => return cannot_write(session, path, &error),
        }
    }
    // First, since a device may fail, and a pipe keep us waiting; we may be ended here.
    for (path, file, _) in plan.iter().filter(|(_, _, fate)| *fate == Fate::Special) {
        if let Err(error) = write_in_place(path, &file.content) {
            return cannot_write(session, path, &error);
        }
    }
    // From here on, who tells us to end waits until all is in its place.
    let guard = signals::Guard::new();
    let mut transaction = Transaction::default();
    let replaced = |fate: &Fate| matches!(fate, Fate::Created | Fate::Replaced);
    for (path, file, _) in plan.iter().filter(|(_, _, fate)| replaced(fate)) {
        if let Err(error) = transaction.stage(path, file) {
            return cannot_write(session, path, &error);
        }
    }
    if let Err((path, error)) = transaction.commit() {
        return cannot_write(session, &path, &error);
    }
    drop(guard);
    let mut told = Vec::new();
    for (path, _, fate) in plan {
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
    let Some(input) = session.inputs.named(identity) else {
        return Ok(());
    };
    let what = match is_standard(path) {
        true => "standard output".to_owned(),
        false => format!("`{}`", path.display()),
    };
    let message = format!("{what} is read in this run, and would be written over");
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

/// Ends the command: two paths lead to one file.
pub(crate) fn written_twice<T>(session: &mut Session<'_>, one: &Path, other: &Path) -> Outcome<T> {
    let message = format!("`{}` is to be written twice", other.display());
    let mut diagnostic = Diagnostic::error(codes::USAGE, message);
    if one != other {
        diagnostic = diagnostic.with_note(format!("`{}` is the same file", one.display()));
    }
    session.fail(Exit::Usage, diagnostic)
}

fn write_in_place(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(content)
}

/// Tells which files are not as they would be written.
pub(crate) fn check(session: &mut Session<'_>, files: &Files) -> Outcome<Exit> {
    no_conflicts(session, files.iter())?;
    let mut exit = Exit::Ok;
    for (path, file) in files.iter().filter(|(path, _)| !is_standard(path)) {
        let message = match fate(path, file) {
            Ok(Fate::Created) => format!("`{}` is not there", path.display()),
            Ok(Fate::Replaced) => format!("`{}` is out of date", path.display()),
            Ok(Fate::Unchanged | Fate::Kept | Fate::Special) => continue,
            Err(error) => return cannot_write(session, path, &error),
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
    let message = "standard input is not laid out";
    session.find(Diagnostic::error(codes::WOULD_CHANGE, message));
    Exit::Difference
}

fn cannot_write<T>(session: &mut Session<'_>, path: &Path, error: &io::Error) -> Outcome<T> {
    let message = format!("`{}` cannot be written: {error}", path.display());
    session.fail(
        Exit::Usage,
        Diagnostic::error(codes::CANNOT_WRITE, message).with_note("no file was changed"),
    )
}

fn fate(path: &Path, file: &File) -> io::Result<Fate> {
    let found = match fs::metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Fate::Created),
        Err(error) => return Err(error),
    };
    if found.is_dir() {
        return Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "there is a folder of that name",
        ));
    }
    if !found.is_file() {
        return Ok(Fate::Special);
    }
    if file.create_once {
        return Ok(Fate::Kept);
    }
    let same = found.len() == file.content.len() as u64
        && is_executable(&found) >= file.executable
        && fs::read(path)? == file.content;
    Ok(if same {
        Fate::Unchanged
    } else {
        Fate::Replaced
    })
}

#[cfg(unix)]
fn is_executable(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}

/// Files written beside their places, which they take all at once. Dropped without
/// [`Transaction::commit`], it leaves nothing behind, the folders that it made included.
#[derive(Default)]
struct Transaction {
    staged: Vec<Staged>,
    folders: Vec<PathBuf>,
}

struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    /// What stood at the target.
    before: Option<Vec<u8>>,
}

impl Transaction {
    fn stage(&mut self, path: &Path, file: &File) -> io::Result<()> {
        // A link stays a link: what it points to is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        self.make_folder(folder)?;
        let before = match fs::read(&target) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let temporary = folder.join(format!(
            ".{name}.graphmap-{}-{}",
            std::process::id(),
            self.staged.len()
        ));
        let mut out = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)?;
        self.staged.push(Staged {
            temporary: temporary.clone(),
            target: target.clone(),
            before,
        });
        out.write_all(&file.content)?;
        if let Ok(found) = fs::metadata(&target) {
            if found.permissions().readonly() {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    "the file is read-only",
                ));
            }
            fs::set_permissions(&temporary, found.permissions())?;
        }
        if file.executable {
            make_executable(&temporary)?;
        }
        Ok(())
    }

    fn make_folder(&mut self, folder: &Path) -> io::Result<()> {
        if folder.as_os_str().is_empty() || folder.is_dir() {
            return Ok(());
        }
        if let Some(parent) = folder.parent() {
            self.make_folder(parent)?;
        }
        fs::create_dir(folder)?;
        self.folders.push(folder.to_owned());
        Ok(())
    }

    fn commit(mut self) -> Result<(), (PathBuf, io::Error)> {
        for (done, staged) in self.staged.iter().enumerate() {
            if let Err(error) = fs::rename(&staged.temporary, &staged.target) {
                let failed = staged.target.clone();
                for earlier in &self.staged[..done] {
                    let _ = match &earlier.before {
                        Some(before) => fs::write(&earlier.target, before),
                        None => fs::remove_file(&earlier.target),
                    };
                }
                return Err((failed, error));
            }
        }
        self.staged.clear();
        self.folders.clear();
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        for staged in &self.staged {
            let _ = fs::remove_file(&staged.temporary);
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | 0o111);
    fs::set_permissions(path, permissions)
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> io::Result<()> {
    Ok(())
}
