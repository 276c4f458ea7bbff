//! Writes sets of files: either all files of a set or none, and never a part of a file.

use crate::codes;
use crate::identity::{Identity, target};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::File;
use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Outcome of writing a file: the actual one, or the one that is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// It exists, with the content that would be written.
    Unchanged,
    /// It exists, belongs to the user, and is not changed.
    Kept,
    /// It did not exist.
    Created,
    /// It existed with other content or without permission to execute.
    Replaced,
    /// It is not a regular file (a device, a pipe), and was written in place.
    Special,
}

/// Error of a file that cannot be written.
pub(crate) struct Failed {
    path: PathBuf,
    error: io::Error,
}

impl Failed {
    fn at(path: &Path) -> impl FnOnce(io::Error) -> Failed {
        let path = path.to_owned();
        move |error| Failed { path, error }
    }

    pub(crate) fn diagnostic(&self) -> Diagnostic {
        let message = format!(
            "`{}` cannot be written: {}",
            self.path.display(),
            self.error
        );
        Diagnostic::error(codes::CANNOT_WRITE, message).with_note("no file was changed")
    }
}

/// Files to write, with the planned outcome of each.
pub(crate) struct Plan<'f>(Vec<(&'f Path, &'f File, Fate)>);

/// Plans the outcome for each file of a set, without writing.
///
/// # Errors
/// Returns an error if a path is a folder or its file cannot be read, or if two paths with
/// different content refer to the same file.
pub(crate) fn plan<'f>(
    files: impl Iterator<Item = (&'f Path, &'f File)>,
) -> Result<Plan<'f>, Failed> {
    let mut plan = Plan(Vec::new());
    let mut known: HashMap<Identity, (&Path, &File)> = HashMap::new();
    for (path, file) in files {
        let fate = fate(path, file).map_err(Failed::at(path))?;
        if matches!(fate, Fate::Created | Fate::Replaced | Fate::Unchanged)
            && let Some((other, earlier)) = known.insert(Identity::of_file(path), (path, file))
            && earlier.content != file.content
        {
            let other = other.display();
            let why = format!("`{other}` is the same file, with different content");
            return Err(Failed::at(path)(io::Error::other(why)));
        }
        plan.0.push((path, file, fate));
    }
    Ok(plan)
}

impl Plan<'_> {
    /// Returns the path and the outcome of each file, in the order of the set.
    pub(crate) fn fates(&self) -> impl Iterator<Item = (&Path, Fate)> {
        self.0.iter().map(|(path, _, fate)| (*path, *fate))
    }

    fn files(&self, which: impl Fn(Fate) -> bool) -> impl Iterator<Item = (&Path, &File)> {
        let found = self.0.iter().filter(move |(_, _, fate)| which(*fate));
        found.map(|(path, file, _)| (*path, *file))
    }

    /// Writes devices and pipes, in place. Blocks while a pipe is full or has no reader. Returns
    /// the first error of writing, and the files before that one stay written.
    pub(crate) fn write_special(&self) -> Result<(), Failed> {
        self.files(|fate| fate == Fate::Special)
            .try_for_each(|(path, file)| {
                write_in_place(path, &file.content).map_err(Failed::at(path))
            })
    }

    /// Writes the regular files that are new or have changed: all of them, or none if there is an
    /// error. Makes missing folders. Returns an error for the first file that cannot be written, or
    /// is read-only.
    pub(crate) fn replace(&self) -> Result<(), Failed> {
        let mut transaction = Transaction::default();
        for (path, file) in self.files(|fate| matches!(fate, Fate::Created | Fate::Replaced)) {
            transaction.stage(path, file).map_err(Failed::at(path))?;
        }
        transaction
            .commit()
            .map_err(|(path, error)| Failed { path, error })
    }
}

fn write_in_place(path: &Path, content: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(path)?
        .write_all(content)
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
            "it is a folder",
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

fn is_executable(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

/// Files that are written under temporary names and then renamed to their targets. Drop removes the
/// temporary files. Without [`Transaction::commit`] it also removes the folders that were made.
#[derive(Default)]
struct Transaction {
    staged: Vec<Staged>,
    folders: Vec<PathBuf>,
}

struct Staged {
    temporary: PathBuf,
    target: PathBuf,
    /// Previous file at the target, under a temporary name, until the transaction ends.
    before: Option<PathBuf>,
}

/// Returns a new path in the folder of another file. Threads get different paths, but a killed run
/// may have left a file there.
fn beside(target: &Path) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // The name does not contain the name of the file, which may have the maximum length.
    target.with_file_name(format!(".graphmap-{}-{number}", std::process::id()))
}

/// Makes a new file in the folder of another one, and returns its path and the result of `make`.
/// Tries other names while the name is in use. Returns all other errors of `make`.
fn with_new<T>(target: &Path, make: impl Fn(&Path) -> io::Result<T>) -> io::Result<(PathBuf, T)> {
    loop {
        let path = beside(target);
        match make(&path) {
            Ok(made) => return Ok((path, made)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

impl Transaction {
    fn stage(&mut self, path: &Path, file: &File) -> io::Result<()> {
        // Replaces the target of a symbolic link, not the link.
        let target = target(path);
        if let Some(folder) = target.parent() {
            self.make_folder(folder)?;
        }
        let (temporary, mut out) = with_new(&target, |path| {
            let mut options = fs::OpenOptions::new();
            options.write(true).create_new(true).open(path)
        })?;
        self.staged.push(Staged {
            temporary: temporary.clone(),
            target: target.clone(),
            before: None,
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
        match fs::create_dir(folder) {
            Ok(()) => self.folders.push(folder.to_owned()),
            // Another process or thread has made the folder.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn commit(mut self) -> Result<(), (PathBuf, io::Error)> {
        let last = self.staged.len().saturating_sub(1);
        for done in 0..self.staged.len() {
            let staged = &mut self.staged[done];
            // The last file needs no copy, because no error can follow its rename.
            let placed = match done < last {
                true => staged.keep(),
                false => Ok(()),
            };
            let placed = placed.and_then(|()| fs::rename(&staged.temporary, &staged.target));
            if let Err(error) = placed {
                let failed = staged.target.clone();
                for earlier in &mut self.staged[..done] {
                    let _ = match earlier.before.take() {
                        Some(before) => fs::rename(before, &earlier.target),
                        None => fs::remove_file(&earlier.target),
                    };
                }
                return Err((failed, error));
            }
        }
        self.folders.clear();
        Ok(())
    }
}

impl Staged {
    /// Keeps the previous file under another name, so that restoring it needs no disk space.
    /// Without hard links, it is copied. Has no effect if there is no previous file. Returns an
    /// error if the file cannot be copied.
    fn keep(&mut self) -> io::Result<()> {
        let linked = with_new(&self.target, |path| fs::hard_link(&self.target, path));
        self.before = match linked {
            Ok((path, ())) => Some(path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            // The rename to a folder will fail, so there is nothing to restore.
            Err(_) if self.target.is_dir() => None,
            // Some file systems have no hard links, and some files can be linked only by their
            // owner.
            Err(_) => {
                let path = beside(&self.target);
                self.before = Some(path.clone());
                fs::copy(&self.target, &path)?;
                Some(path)
            }
        };
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        for staged in &self.staged {
            let _ = fs::remove_file(&staged.temporary);
            if let Some(before) = &staged.before {
                let _ = fs::remove_file(before);
            }
        }
        for folder in self.folders.iter().rev() {
            let _ = fs::remove_dir(folder);
        }
    }
}

fn make_executable(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut permissions = fs::metadata(path)?.permissions();
    permissions.set_mode(permissions.mode() | 0o111);
    fs::set_permissions(path, permissions)
}
