//! Writes a file at the end of a run, either completely or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process;

/// Checks before a run that the file can be written. An existing file is opened for appending. If
/// the file does not exist, its temporary file is created and removed. Streams ([`is_stream`]) are
/// not checked.
///
/// # Errors
/// Returns an error if the file cannot be opened or created.
pub(crate) fn check(file: &Path) -> io::Result<()> {
    if is_stream(file) {
        return Ok(());
    }
    if file.exists() {
        return File::options().append(true).open(file).map(drop);
    }
    let part = part(&target(file));
    File::create(&part)?;
    fs::remove_file(part)
}

/// Writes the file under a temporary name, and renames it when it is complete. The new file gets
/// the permissions of the file that it replaces. A stream ([`is_stream`]) is written in place. If
/// it is a pipe, this may block until the text is read.
///
/// # Errors
/// Returns an error if `contents` returns one, or if the file cannot be written. A file that
/// existed before is then unchanged, unless it was written in place.
pub(crate) fn write(
    file: &Path,
    contents: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let whole = |out: File| {
        let mut out = BufWriter::new(out);
        contents(&mut out)?;
        out.flush()
    };
    if is_stream(file) {
        // Standard output is not opened again, because it would then be written from its beginning.
        let out = standard(file).map_or_else(|| File::options().append(true).open(file), Ok);
        return whole(out?);
    }
    let target = target(file);
    let part = part(&target);
    let create = || {
        let out = File::create(&part)?;
        if let Ok(before) = fs::metadata(&target) {
            out.set_permissions(before.permissions())?;
        }
        Ok(out)
    };
    let written = create().and_then(whole);
    let written = written.and_then(|()| fs::rename(&part, &target));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

/// Returns true if the file cannot be replaced: it is a pipe, a device, a path inside `/proc` (an
/// open file of a process, such as `/dev/fd/3`), or standard output or standard error of this
/// process.
pub(crate) fn is_stream(file: &Path) -> bool {
    let folder = file.parent().map(fs::canonicalize);
    let is_open = matches!(folder, Some(Ok(folder)) if folder.starts_with("/proc"));
    let is_special = file.exists() && !file.is_file() && !file.is_dir();
    is_open || is_special || standard(file).is_some()
}

/// Returns a duplicate of standard output or standard error if the file is one of them. Returns
/// `None` otherwise.
fn standard(file: &Path) -> Option<File> {
    let file = fs::metadata(file).ok()?;
    let streams = [
        io::stdout().as_fd().try_clone_to_owned(),
        io::stderr().as_fd().try_clone_to_owned(),
    ];
    let mut streams = streams.into_iter().flatten().map(File::from);
    streams.find(|stream| {
        let stream = stream.metadata();
        stream.is_ok_and(|stream| (stream.dev(), stream.ino()) == (file.dev(), file.ino()))
    })
}

/// Returns the path to which the links at `file` lead, so that a link is not replaced. Returns
/// `file` itself if it is not a link. Follows at most 40 links.
fn target(file: &Path) -> PathBuf {
    let mut target = file.to_path_buf();
    // Linux follows at most 40 links.
    for _ in 0..40 {
        match fs::read_link(&target) {
            Ok(link) => target = target.with_file_name(link),
            Err(_) => break,
        }
    }
    target
}

fn part(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", process::id()));
    target.with_file_name(name)
}
