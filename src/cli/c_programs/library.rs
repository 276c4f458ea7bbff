//! The MPI library for programs in C and C++, and the program that hosts their ranks.
//!
//! Both are built once from the sources that this binary contains, into the data folder. The folder
//! gets its name by a rename when it is complete, so that concurrent commands see all files or none.

use crate::cli::cargo;
use crate::cli::exit::Exit;
use crate::cli::paths;
use crate::cli::session::{Outcome, Session};
use crate::cli::talk;
use crate::codes;
use crate::program::data_folder;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_wiring::bundled;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Variable that names the folder of a library that was built elsewhere.
const VARIABLE: &str = "GRAPHMAP_MPI";
/// Folder of all built libraries in the data folder.
const FOLDER: &str = "mpi";

const HOST: &str = "graphmap-mpi";
const LIBRARY: &str = "libmpi_abi.so.1";
const HEADER: &str = "mpi.h";
/// Source that names the dynamic linker in programs.
pub(crate) const INTERPRETER: &str = "interpreter.S";

/// Compiler wrappers and launcher, for build systems that need one file for each.
const SCRIPTS: [(&str, &str); 4] = [
    ("mpicc", "cc"),
    ("mpicxx", "cxx"),
    ("mpic++", "cxx"),
    ("mpiexec", "mpiexec"),
];

/// Folder with the library, the host program, the header, and scripts.
pub(crate) struct Library(PathBuf);

impl Library {
    /// Returns the path of the program that hosts ranks.
    pub(crate) fn host(&self) -> PathBuf {
        self.0.join("lib").join(HOST)
    }

    /// Returns the folder of `libmpi_abi.so.1`.
    pub(crate) fn libraries(&self) -> PathBuf {
        self.0.join("lib")
    }

    /// Returns the folder of `mpi.h`.
    pub(crate) fn headers(&self) -> PathBuf {
        self.0.join("include")
    }

    /// Returns the folder of `mpicc`, `mpicxx` and `mpiexec`.
    pub(crate) fn scripts(&self) -> PathBuf {
        self.0.join("bin")
    }

    fn is_complete(&self) -> bool {
        let header = self.headers().join(HEADER);
        let interpreter = self.libraries().join(INTERPRETER);
        [
            self.host(),
            self.libraries().join(LIBRARY),
            header,
            interpreter,
        ]
        .iter()
        .all(|path| path.is_file())
    }
}

/// Returns the library. It is `$GRAPHMAP_MPI`, or the library in the data folder, which is built
/// if it does not exist. Blocks until it is built.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if `$GRAPHMAP_MPI` is not the folder of a library,
/// or if the library cannot be built. Returns the exit status of the signal if a signal asked
/// graphmap to end.
pub(crate) fn find(session: &mut Session<'_>) -> Outcome<Library> {
    if let Some(folder) = std::env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        let library = Library(PathBuf::from(folder));
        if library.is_complete() {
            return Ok(library);
        }
        let message = format!(
            "{VARIABLE}={} is not a folder with `lib/{HOST}`, `lib/{LIBRARY}` and `include/{HEADER}`",
            library.0.display()
        );
        let error = Diagnostic::error(codes::NO_LIBRARY, message).help(format!(
            "unset {VARIABLE}: graphmap then builds the library itself"
        ));
        return session.fail(Exit::Usage, error);
    }
    let parent = match data_folder() {
        Ok(folder) => folder.join(FOLDER),
        Err(error) => return session.fail(Exit::Usage, *error),
    };
    let library = Library(parent.join(bundled::HASH));
    if library.is_complete() {
        return Ok(library);
    }
    let folder = parent.join(format!("{}.{}", bundled::HASH, std::process::id()));
    let built = build(&folder, &library.0, session);
    // The folder exists only after an error.
    let _ = fs::remove_dir_all(&folder);
    built.map(|()| library)
}

/// Builds the library in a new folder, and then moves it to `to`.
fn build(folder: &Path, to: &Path, session: &mut Session<'_>) -> Outcome<()> {
    if session.prints_messages() {
        talk::say("graphmap: building the MPI library for C programs, once (about two minutes)\n");
    }
    let package = folder.join("source");
    let target = folder.join("target");
    if let Err(error) = write_package(&package) {
        return cannot_write(folder, &error, session);
    }
    let mut arguments: Vec<OsString> = ["build", "--release", "--quiet", "--color=never"]
        .map(OsString::from)
        .into();
    arguments.extend(["--manifest-path".into(), package.join("Cargo.toml").into()]);
    arguments.extend(["--target-dir".into(), target.clone().into()]);
    // The library finds the callers of its functions by their frame pointers.
    arguments.push("--config=build.rustflags=['-Cforce-frame-pointers=yes']".into());
    let output = session.timed("build of the MPI library", |s| cargo::run(&arguments, s))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let error = Diagnostic::error(codes::NO_LIBRARY, "the MPI library cannot be built")
            .with_note(format!("output of cargo:\n{}", said.trim_end()))
            .help(format!(
                "or set {VARIABLE} to the folder of a library that was built elsewhere"
            ));
        return session.fail(Exit::Usage, error);
    }
    let installed = install(folder, &package, &target, to);
    match installed {
        Ok(()) => Ok(()),
        // Another command may have built it in the meantime.
        Err(_) if Library(to.to_path_buf()).is_complete() => Ok(()),
        Err(error) => cannot_write(to, &error, session),
    }
}

fn cannot_write(folder: &Path, error: &io::Error, session: &mut Session<'_>) -> Outcome<()> {
    let message = format!(
        "the MPI library cannot be written to `{}`: {error}",
        folder.display()
    );
    let error = Diagnostic::error(codes::NO_LIBRARY, message)
        .help("set GRAPHMAP_DATA to a writable folder with enough space");
    session.fail(Exit::Usage, error)
}

/// End of the manifest of the library: it is not part of a workspace around the data folder, and is
/// built as the library is that the book measures.
const MANIFEST: &str = "\n[workspace]\n\n[profile.release]\nlto = \"thin\"\n";

/// Writes the sources of the library and of the packages that it depends on.
fn write_package(folder: &Path) -> io::Result<()> {
    for (path, text) in bundled::files() {
        let (package, rest) = path.split_once('/').unwrap_or((path, ""));
        let path = match package == bundled::ABI {
            true => folder.join(rest),
            // The manifest of the library names the other packages by `../NAME`.
            false => folder.with_file_name(package).join(rest),
        };
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, text)?;
    }
    let manifest = folder.join("Cargo.toml");
    let text = fs::read_to_string(&manifest)?;
    fs::write(manifest, text + MANIFEST)
}

/// Returns a script that calls a verb of the command with the library in a folder. The command need
/// not be on PATH.
fn script(command: &Path, library: &Path, verb: &str) -> String {
    let (command, library) = (paths::word(command), paths::word(library));
    format!(
        "#!/bin/sh\n\
         graphmap={command}\n\
         [ -x \"$graphmap\" ] || graphmap=graphmap\n\
         [ -n \"${VARIABLE}\" ] || {VARIABLE}={library}\n\
         export {VARIABLE}\n\
         exec \"$graphmap\" {verb} \"$@\"\n"
    )
}

/// Moves the built files to their folders, and their folder to `to`.
fn install(folder: &Path, package: &Path, target: &Path, to: &Path) -> io::Result<()> {
    let installed = folder.join("installed");
    let library = Library(installed.clone());
    for folder in [library.libraries(), library.headers(), library.scripts()] {
        fs::create_dir_all(folder)?;
    }
    let release = target.join("release");
    fs::rename(release.join(HOST), library.host())?;
    fs::rename(
        release.join("libmpi_abi.so"),
        library.libraries().join(LIBRARY),
    )?;
    symlink(LIBRARY, library.libraries().join("libmpi_abi.so"))?;
    fs::copy(
        package.join("src").join(HEADER),
        library.headers().join(HEADER),
    )?;
    fs::copy(
        package.join("src").join(INTERPRETER),
        library.libraries().join(INTERPRETER),
    )?;
    let (command, own) = (std::env::current_exe()?, std::path::absolute(to)?);
    for (name, verb) in SCRIPTS {
        let path = library.scripts().join(name);
        fs::write(&path, script(&command, &own, verb))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    fs::rename(installed, to)
}
