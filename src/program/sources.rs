//! The sources of the runtime on this machine, and the link to them in a project.
//!
//! They are unpacked once, into a folder in the data folder whose name is the hash of their
//! contents. The folder gets its name by a rename when it is complete, so that concurrent commands
//! see all files or none. Before each use the contents are compared with those in the binary.

use crate::codes;
use graphmap_binding::shell_quoted;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_wiring::bundled;
use graphmap_wiring::project::Project;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Name of the folder of all sources in the data folder.
const FOLDER: &str = "runtime";

/// Name of the variable for the data folder.
const VARIABLE: &str = "GRAPHMAP_DATA";

/// Returns the data folder: `$GRAPHMAP_DATA`, otherwise `graphmap` in `$XDG_DATA_HOME` or in
/// `.local/share` of the home folder. The result is absolute. A relative `$XDG_DATA_HOME` is
/// ignored. The folder need not exist.
///
/// # Errors
/// Returns an error if none of these is known, or if `$GRAPHMAP_DATA` cannot be made absolute.
pub(crate) fn data_folder() -> Result<PathBuf, Box<Diagnostic>> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = variable(VARIABLE) {
        let absolute = std::path::absolute(PathBuf::from(&folder));
        return absolute.map_err(|error| cannot_write(Path::new(&folder), &error));
    }
    let xdg = variable("XDG_DATA_HOME").map(PathBuf::from);
    // The XDG specification says that relative paths are ignored.
    let xdg = xdg.filter(|folder| folder.is_absolute());
    let home = std::env::home_dir().filter(|home| home.is_absolute());
    let shared = xdg.or_else(|| Some(home?.join(".local/share")));
    shared.map(|folder| folder.join("graphmap")).ok_or_else(|| {
        let message =
            "the folder for the sources of the runtime is unknown, because there is no home folder";
        let error = Diagnostic::error(codes::NO_SOURCES, message);
        let error = error.help(format!("set {VARIABLE} to a folder"));
        Box::new(error.help(COPY))
    })
}

const COPY: &str = "or make a project that contains the sources with `graphmap new --vendor`";

fn cannot_write(folder: &Path, error: &io::Error) -> Box<Diagnostic> {
    let folder = folder.display();
    let message = format!("the sources of the runtime cannot be written to `{folder}`: {error}");
    let error = Diagnostic::error(codes::NO_SOURCES, message).help(format!(
        "set {VARIABLE} to a writable folder with enough space"
    ));
    Box::new(error.help(COPY))
}

/// Folder with the sources that this binary contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) folder: PathBuf,
    /// New path of the previous folder, if it had other contents.
    pub(crate) changed: Option<PathBuf>,
}

/// Returns the folder with the sources that this binary contains. Unpacks them if they do not
/// exist. If an existing folder has other contents, it is first renamed.
///
/// # Errors
/// Returns an error if the data folder is unknown, or if the sources cannot be written.
pub(crate) fn unpacked() -> Result<Unpacked, Box<Diagnostic>> {
    let parent = data_folder()?.join(FOLDER);
    let folder = parent.join(bundled::HASH);
    let mut changed = None;
    if is_complete(&folder) {
        return Ok(Unpacked { folder, changed });
    }
    let wrong = |error: io::Error| cannot_write(&parent, &error);
    let temporary = Temporary::new(&parent);
    unpack(&temporary.0).map_err(wrong)?;
    loop {
        let Err(error) = fs::rename(&temporary.0, &folder) else {
            return Ok(Unpacked { folder, changed });
        };
        // Another command may have unpacked them in the meantime.
        if is_complete(&folder) {
            return Ok(Unpacked { folder, changed });
        }
        if folder.symlink_metadata().is_err() {
            return Err(wrong(error));
        }
        let new_name = unused(&parent);
        match fs::rename(&folder, &new_name) {
            Ok(()) => changed = Some(new_name),
            // Another command may have renamed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(wrong(error)),
        }
    }
}

/// Returns an unused path for a folder of changed sources.
fn unused(parent: &Path) -> PathBuf {
    let names = (1..).map(|number| parent.join(format!("{}.changed-{number}", bundled::HASH)));
    let mut unused = names.filter(|path| path.symlink_metadata().is_err());
    unused.next().expect("there are more names than files")
}

/// Returns true if a folder contains exactly the files of the binary, with the same contents.
fn is_complete(folder: &Path) -> bool {
    let same = |(path, text): (&str, &str)| {
        let path = folder.join(path);
        // Reading from a named pipe would block.
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        is_file && fs::read(path).is_ok_and(|found| found == text.as_bytes())
    };
    bundled::files().all(same) && count_files(folder).is_ok_and(|n| n == bundled::files().count())
}

fn count_files(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        count += match entry.file_type()?.is_dir() {
            true => count_files(&entry.path())?,
            false => 1,
        };
    }
    Ok(count)
}

/// Folder that is deleted on drop, if it still exists.
struct Temporary(PathBuf);

impl Temporary {
    /// Returns the path of a folder that no other command uses, because its name contains the id of
    /// this OS process. Does not make the folder.
    fn new(parent: &Path) -> Temporary {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}.{}-{number}", bundled::HASH, std::process::id());
        Temporary(parent.join(name))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.0.exists() {
            // No other command uses it. Errors are ignored: the folder then stays.
            let _ = make_writable(&self.0).and_then(|()| fs::remove_dir_all(&self.0));
        }
    }
}

fn make_writable(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}

/// Writes all files into a new folder and makes them read-only. Deletes an existing folder first.
/// Returns an error if a file cannot be written or deleted.
fn unpack(folder: &Path) -> io::Result<()> {
    // An earlier command with the same process id may have been killed here.
    if folder.exists() {
        make_writable(folder)?;
        fs::remove_dir_all(folder)?;
    }
    for (path, text) in bundled::files() {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
        fs::set_permissions(&path, Permissions::from_mode(0o444))?;
    }
    make_read_only(folder)
}

fn make_read_only(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_read_only(&entry.path())?;
        }
    }
    fs::set_permissions(folder, Permissions::from_mode(0o555))
}

/// Result of linking a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Linked {
    /// The link, if it was made or changed.
    pub(crate) made: Option<PathBuf>,
    /// New path of sources that were changed.
    pub(crate) changed: Option<PathBuf>,
}

/// Makes the link of a project to the sources of the runtime, unless the project needs none.
///
/// # Errors
/// Returns an error if the project requires another version of the runtime, or if the sources or
/// the link cannot be written.
pub(crate) fn link(project: &Project) -> Result<Linked, Box<Diagnostic>> {
    fits(project)?;
    match &project.sources {
        Some(link) if !project.copied => {
            let Unpacked { folder, changed } = unpacked()?;
            let made = make_link(link, &folder)?;
            Ok(Linked { made, changed })
        }
        _ => Ok(Linked::default()),
    }
}

/// Checks that the project accepts the version of the runtime in this binary. Returns an error if
/// it requires another version, or has a copy of an older one in `vendor/`.
fn fits(project: &Project) -> Result<(), Box<Diagnostic>> {
    let update = match project.root.file_name() {
        Some(_) => format!(
            "update it with `graphmap new {} --update`",
            shell_quoted(&project.root.display().to_string())
        ),
        None => "update it with `graphmap new . --update`".to_owned(),
    };
    let update = match is_inherited(project) {
        false => update,
        true => format!(
            "in `{}`, the source of this dependency, set the path of `graphmap-runtime` to \
             `{}/graphmap-runtime`, and its version to \"{}\"",
            project.manifest.display(),
            bundled::FOLDER,
            bundled::REQUIREMENT
        ),
    };
    let root = project.root.display();
    if project.outdated {
        let message = format!("the project `{root}` has a copy of an older runtime, in `vendor/`");
        return Err(Box::new(
            Diagnostic::error(codes::OTHER_RUNTIME, message).help(update),
        ));
    }
    match &project.requirement {
        Some(required) if project.sources.is_some() && !bundled::satisfies(required) => {
            let message = format!(
                "the project `{root}` requires version {required} of the runtime, but this is version {}",
                env!("CARGO_PKG_VERSION")
            );
            let error = Diagnostic::error(codes::OTHER_RUNTIME, message);
            Err(Box::new(error.help(update)))
        }
        _ => Ok(()),
    }
}

/// Returns true if a project inherits its dependency on the runtime from a workspace above it.
fn is_inherited(project: &Project) -> bool {
    project.manifest != project.root.join("Cargo.toml")
}

/// Returns true if a path has the form `runtime/HASH` of a folder of sources, on this machine or
/// another. Otherwise the user made the link.
fn is_made(target: &Path) -> bool {
    let name = |path: Option<&Path>| Some(path?.file_name()?.to_str()?.to_owned());
    let hash = name(Some(target)).unwrap_or_default();
    let is_hash = hash.len() == bundled::HASH.len() && hash.chars().all(|c| c.is_ascii_hexdigit());
    is_hash && name(target.parent()).is_some_and(|parent| parent == FOLDER)
}

/// Makes a link to `target`, and replaces an existing link that graphmap made. Returns the link if
/// it was made or changed. Returns `None` if it leads to `target`, or if the user made it and it
/// leads to sources of the runtime.
///
/// # Errors
/// Returns an error if the link cannot be made, or if the path exists and is not a link. Also
/// returns an error if the user made the link and it does not lead to sources of the runtime.
pub(crate) fn make_link(link: &Path, target: &Path) -> Result<Option<PathBuf>, Box<Diagnostic>> {
    match fs::read_link(link) {
        Ok(there) if there == target => return Ok(None),
        Ok(there) if !is_made(&there) => {
            let runtime = link.join(bundled::RUNTIME).join("Cargo.toml");
            if runtime.is_file() {
                return Ok(None);
            }
            let message = format!(
                "the link `{}` does not lead to the sources of the runtime: `{}` does not exist",
                link.display(),
                runtime.display()
            );
            let error = Diagnostic::error(codes::NO_SOURCES, message)
                .with_note(format!("it leads to `{}`", there.display()));
            return Err(Box::new(error.help(
                "delete it, and run the same command again to make a new link",
            )));
        }
        _ => {}
    }
    let wrong = |error: io::Error| {
        let message = format!("the link `{}` cannot be made: {error}", link.display());
        let error = Diagnostic::error(codes::NO_SOURCES, message).help(
            "make its folder writable: the project needs this link to the sources of the runtime",
        );
        Box::new(error.help(COPY))
    };
    if let Ok(there) = link.symlink_metadata()
        && !there.is_symlink()
    {
        let message = format!("`{}` is not a link that graphmap made", link.display());
        let error = Diagnostic::error(codes::NO_SOURCES, message);
        return Err(Box::new(error.help("move it away")));
    }
    let temporary = link.with_extension(format!("{}", std::process::id()));
    symlink(target, &temporary).map_err(wrong)?;
    fs::rename(&temporary, link).map_err(|error| {
        let _ = fs::remove_file(&temporary);
        wrong(error)
    })?;
    Ok(Some(link.to_owned()))
}
