//! The program and its private libraries, ready to be copied.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::elf::Copied;
use super::limit;
use super::refused::Refused;

/// A program whose copies can be loaded.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(super) file: Copied,
    /// Libraries of which each rank has a copy, too. A library is behind the libraries it needs.
    pub(super) libraries: Vec<Copied>,
}

impl Program {
    /// Reads a program. `private` are the names of libraries of which each rank needs a copy.
    pub(crate) fn read(path: &Path, private: &[String]) -> Result<Self, Refused> {
        let read = |path: &Path| fs::read(path).map_err(Refused::Unreadable);
        let bytes = read(path)?;
        let mut libraries = Vec::new();
        let mut names = Vec::new();
        if !private.is_empty() {
            let needed = libraries_of(path).map_err(Refused::Unreadable)?;
            for name in private {
                if !needed.iter().any(|(other, _)| other == name) {
                    return Err(Refused::NoLibrary(name.clone()));
                }
            }
            // The dynamic linker lists a library before the libraries it needs.
            for (name, path) in needed.into_iter().rev() {
                if private.contains(&name) {
                    names.push(name);
                    libraries.push(read(&path)?);
                }
            }
        }
        let file = Copied::of(bytes, &names)?;
        if file.entry == 0 {
            return Err(Refused::NotElf("it has no entry point".to_string()));
        }
        if !file.is_dynamic {
            return Err(Refused::Static);
        }
        let libraries = libraries.into_iter().map(|bytes| Copied::of(bytes, &names));
        Ok(Program {
            path: path.to_path_buf(),
            file,
            libraries: libraries.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the number of memory mappings of a copy of the program and its private libraries.
    pub(super) fn mappings(&self) -> usize {
        let libraries = self.libraries.iter().map(|library| library.mappings);
        self.file.mappings + libraries.sum::<usize>()
    }

    /// Checks that the system allows a copy of the program for each of `ranks` ranks.
    pub(crate) fn check_limit(&self, ranks: usize) -> Result<(), Refused> {
        limit::check(self.mappings(), ranks)
    }
}

/// Returns the names and paths of the libraries that a program needs, in the order in which the
/// dynamic linker loads them. The program is not run.
fn libraries_of(path: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let path = fs::canonicalize(path)?;
    let output = Command::new(path)
        .env("LD_TRACE_LOADED_OBJECTS", "1")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text.lines().filter_map(|row| {
        let (name, rest) = row.trim().split_once(" => ")?;
        let (path, _) = rest.rsplit_once(" (0x")?;
        Some((name.to_string(), PathBuf::from(path)))
    });
    Ok(rows.collect())
}
