//! The program and its private libraries, ready to be copied.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::elf::{Copied, Symbols};
use super::limit;
use super::refused::Refused;

/// A program whose copies can be loaded.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(super) file: Copied,
    /// Libraries of which each rank has a copy, too. A library is behind the libraries it needs.
    pub(super) libraries: Vec<Copied>,
    /// Names of the private libraries that the program needs, in the order of `libraries`.
    names: Vec<String>,
    /// Names of libraries of which each rank has a copy if the program opens them.
    plugins: Vec<String>,
    /// Paths of the shared libraries, if the program has copies of variables of libraries. A
    /// library is behind the libraries it needs.
    shared: Vec<PathBuf>,
    /// Handles of the shared libraries.
    handles: OnceLock<Vec<usize>>,
    /// Libraries that the program has opened.
    opened: Mutex<HashMap<PathBuf, Arc<Copied>>>,
}

impl Program {
    /// Reads a program. `private` are the names of libraries of which each rank needs a copy.
    pub(crate) fn read(path: &Path, private: &[String]) -> Result<Self, Refused> {
        if let Some(name) = private.iter().find(|name| is_always_shared(name)) {
            return Err(Refused::SharedLibrary(name.clone()));
        }
        let read = |path: &Path| fs::read(path).map_err(Refused::Unreadable);
        let bytes = read(path)?;
        let mut libraries = Vec::new();
        let (mut names, mut plugins) = (Vec::new(), Vec::new());
        if !private.is_empty() {
            let needed = libraries_of(path).map_err(Refused::Unreadable)?;
            let is_needed = |name: &&String| needed.iter().any(|(other, _)| other == *name);
            plugins = private
                .iter()
                .filter(|name| !is_needed(name))
                .cloned()
                .collect();
            // The dynamic linker lists a library before the libraries it needs.
            for (name, path) in needed.into_iter().rev() {
                if private.contains(&name) {
                    names.push(name);
                    libraries.push(read(&path)?);
                }
            }
        }
        let file = Copied::of(bytes, &names, None)?;
        let mut shared = Vec::new();
        if file.has_copies {
            let all = libraries_of(path).map_err(Refused::Unreadable)?;
            let is_shared = |name: &str| {
                !private.iter().any(|other| other == name) && !name.starts_with("libmpi_abi.so")
            };
            let all = all.into_iter().rev().filter(|(name, _)| is_shared(name));
            shared = all.map(|(_, path)| path).collect();
        }
        if file.entry == 0 {
            return Err(Refused::NotElf("it has no entry point".to_string()));
        }
        if let Some(name) = plugins.first()
            && !file.opens_libraries
        {
            return Err(Refused::NoLibrary(name.clone()));
        }
        if !file.is_dynamic {
            return Err(Refused::Static);
        }
        let copied = |bytes| Copied::of(bytes, &names, Some(&file));
        let libraries = libraries
            .into_iter()
            .map(copied)
            .collect::<Result<Vec<_>, _>>()?;
        let mut all = libraries.iter().zip(&names);
        if let Some((_, name)) = all.find(|(library, _)| !library.has_name) {
            return Err(Refused::NamelessLibrary(name.clone()));
        }
        Ok(Program {
            path: path.to_path_buf(),
            file,
            libraries,
            names,
            plugins,
            shared,
            handles: OnceLock::new(),
            opened: Mutex::default(),
        })
    }

    /// Returns a shared library that uses a symbol which only the program or a private library
    /// defines, the symbol, and the file that defines it. All ranks would use one and the same.
    pub(crate) fn used_by_shared(&self) -> Option<(String, String, String)> {
        let all = libraries_of(&self.path).ok()?;
        let symbols = |path: &Path| Symbols::of(&fs::read(path).ok()?).ok();
        let shared: Vec<(String, Symbols)> = all
            .into_iter()
            .filter(|(name, _)| !self.names.contains(name))
            .filter_map(|(name, path)| Some((name, symbols(&path)?)))
            .collect();
        let is_shared = |symbol| {
            let mut all = shared.iter();
            all.any(|(_, symbols)| symbols.defined.contains(symbol))
        };
        let private = self.libraries.iter().zip(&self.names);
        let private = private.map(|(library, name)| (&library.defined, &**name));
        let owners: Vec<_> = [(&self.file.defined, "the program")]
            .into_iter()
            .chain(private)
            .collect();
        let owner = |symbol| {
            let mut owners = owners.iter();
            owners.find(|(defined, _)| defined.contains(symbol))
        };
        shared.iter().find_map(|(name, symbols)| {
            let mut needed = symbols.needed.iter();
            let (symbol, owner) = needed.find_map(|symbol| {
                let (_, owner) = owner(symbol)?;
                (!is_shared(symbol)).then_some((symbol, *owner))
            })?;
            let symbol = String::from_utf8_lossy(symbol);
            Some((name.clone(), symbol.into_owned(), owner.to_string()))
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

    /// Returns handles of the shared libraries whose variables the program may have copied. The
    /// first call loads them. If a program loaded them, they would use the copies of this program,
    /// and not their own variables.
    pub(super) fn shared(&self) -> impl Iterator<Item = *mut c_void> {
        let handles = self.handles.get_or_init(|| {
            let paths = self.shared.iter().filter_map(|path| {
                let path = CString::new(path.as_os_str().as_bytes()).ok()?;
                // SAFETY: the constructors of the library run, as if the program was started.
                let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
                (!handle.is_null()).then_some(handle as usize)
            });
            paths.collect()
        });
        handles.iter().map(|&handle| handle as *mut c_void)
    }

    /// Returns true if each rank has a copy of a library that the program opens.
    pub(super) fn is_plugin(&self, path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default();
        self.plugins.iter().any(|other| name == other.as_str())
    }

    /// Returns a library that the program opens.
    pub(super) fn plugin(&self, path: &Path) -> Result<Arc<Copied>, Refused> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = opened.get(path) {
            return Ok(Arc::clone(file));
        }
        let bytes = fs::read(path).map_err(Refused::Unreadable)?;
        let file = Arc::new(Copied::of(bytes, &self.names, Some(&self.file))?);
        opened.insert(path.to_path_buf(), Arc::clone(&file));
        Ok(file)
    }
}

/// Returns true for the name of a library of which an OS process can have one copy only.
fn is_always_shared(name: &str) -> bool {
    let always = ["libc.so", "ld-linux", "libpthread.so", "libmpi_abi.so"];
    always.iter().any(|start| name.starts_with(start))
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
