//! Emitters, which write files from a mapped network.
//!
//! An emitter adds files to [`Files`], a set in memory. The command writes the set at the end. It
//! replaces each file by rename and does not write unchanged files. Therefore an emitter that fails
//! leaves no partial output.

use crate::diagnostic::Diagnostics;
use crate::hardware::Hardware;
use crate::mapping::Mapped;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files to write, by path.
#[derive(Clone, Debug, Default)]
pub struct Files {
    files: BTreeMap<PathBuf, File>,
}

/// A file to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Content of the file.
    pub content: Vec<u8>,
    /// Whether an existing file is kept, because it then belongs to the user.
    pub create_once: bool,
    /// Whether the file is executable.
    pub executable: bool,
}

impl Files {
    /// Creates an empty set.
    pub fn new() -> Files {
        Files::default()
    }

    /// Adds a generated file, which is not executable and overwrites an existing file. It replaces
    /// a file of the set with the same path.
    pub fn generated(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        let file = File {
            content: content.into(),
            create_once: false,
            executable: false,
        };
        self.files.insert(path.into(), file);
    }

    /// Adds a file that is written only if it does not exist, because it then belongs to the user.
    /// It replaces a file of the set with the same path.
    pub fn once(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        let file = File {
            content: content.into(),
            create_once: true,
            executable: false,
        };
        self.files.insert(path.into(), file);
    }

    /// Adds a generated file that is executable and overwrites an existing file. It replaces a file
    /// of the set with the same path.
    pub fn executable(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        let file = File {
            content: content.into(),
            create_once: false,
            executable: true,
        };
        self.files.insert(path.into(), file);
    }

    /// Adds a file with its properties. It replaces a file of the set with the same path.
    pub fn put(&mut self, path: impl Into<PathBuf>, file: File) {
        self.files.insert(path.into(), file);
    }

    /// Returns all files, in the order of their paths.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, &File)> {
        self.files.iter().map(|(path, file)| (path.as_path(), file))
    }

    /// Returns the file at a path, or `None` if the set has none there.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<&File> {
        self.files.get(path.as_ref())
    }

    /// Adds all files of `other`, which replace files of this set with the same paths.
    pub fn append(&mut self, other: Files) {
        self.files.extend(other.files);
    }
}

/// Input of an emitter apart from the network.
#[non_exhaustive]
pub struct EmitContext<'a> {
    /// Path of the main file, as the user gave it. Other files with relative paths are beside it.
    pub path: &'a Path,
    /// Options of the command line (`--set NAME=VALUE`).
    pub options: &'a BTreeMap<String, String>,
    /// Platform, if the command states one (`--hosts`, `-n`).
    pub platform: Option<&'a Hardware>,
    /// Diagnostics that do not make the emitter fail.
    pub diagnostics: &'a mut Diagnostics,
}

impl<'a> EmitContext<'a> {
    /// Creates a context for a main file, without a platform.
    pub fn new(
        path: &'a Path,
        options: &'a BTreeMap<String, String>,
        diagnostics: &'a mut Diagnostics,
    ) -> EmitContext<'a> {
        EmitContext {
            path,
            options,
            platform: None,
            diagnostics,
        }
    }
}

/// Writes one kind of file from a mapped network.
pub trait Emitter {
    /// Returns the name, as in `--emit NAME=PATH`.
    fn name(&self) -> &str;

    /// Returns a description of one line, for `graphmap passes`.
    fn about(&self) -> &str;

    /// Returns the names of the options (`--set NAME=VALUE`) that the emitter reads.
    ///
    /// A name that ends with a dot covers all options that begin with it. `None`, the default,
    /// means that the emitter may read any option.
    fn options(&self) -> Option<&[&str]> {
        None
    }

    /// Returns true if `--emit PATH` without a name selects this emitter.
    fn accepts(&self, path: &Path) -> bool;

    /// Returns the file that `--emit NAME` writes without a path, if launchers or users expect a
    /// fixed name. The default is `None`: a path is then required.
    fn usual_file(&self) -> Option<&str> {
        None
    }

    /// Adds files to the set. The main file has the path `context.path`.
    ///
    /// # Errors
    /// Returns the reasons why the emitter failed. The command then writes no file.
    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics>;
}
