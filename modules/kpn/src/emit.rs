//! Emitters: what writes a file from a mapped network.
//!
//! An emitter fills [`Files`], a set in memory. The command writes the set at the end, each file by
//! rename, and leaves alone what did not change: an emitter that fails leaves nothing behind.

use crate::diagnostic::Diagnostics;
use crate::hardware::Hardware;
use crate::mapping::Mapped;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files to be written, by path.
#[derive(Clone, Debug, Default)]
pub struct Files {
    files: BTreeMap<PathBuf, File>,
}

/// One file to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What it holds.
    pub content: Vec<u8>,
    /// Whether it belongs to the user once it exists: then it is never written again.
    pub create_once: bool,
    /// Whether it may be run.
    pub executable: bool,
}

impl Files {
    /// An empty set.
    pub fn new() -> Files {
        Files::default()
    }

    /// Adds a generated file, which replaces what stands at its path.
    pub fn generated(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        let file = File {
            content: content.into(),
            create_once: false,
            executable: false,
        };
        self.files.insert(path.into(), file);
    }

    /// Adds a file that is the user's: written only where there is none.
    pub fn once(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        let file = File {
            content: content.into(),
            create_once: true,
            executable: false,
        };
        self.files.insert(path.into(), file);
    }

    /// Adds a generated file that may be run.
    pub fn executable(&mut self, path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) {
        let file = File {
            content: content.into(),
            create_once: false,
            executable: true,
        };
        self.files.insert(path.into(), file);
    }

    /// Adds a file as it is.
    pub fn put(&mut self, path: impl Into<PathBuf>, file: File) {
        self.files.insert(path.into(), file);
    }

    /// All files, in the order of their paths.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Path, &File)> {
        self.files.iter().map(|(path, file)| (path.as_path(), file))
    }

    /// The file at a path.
    pub fn get(&self, path: impl AsRef<Path>) -> Option<&File> {
        self.files.get(path.as_ref())
    }

    /// Adds all files of another set, which win.
    pub fn append(&mut self, other: Files) {
        self.files.extend(other.files);
    }
}

/// What an emitter is told besides the network.
#[non_exhaustive]
pub struct EmitContext<'a> {
    /// Where the main file goes, as the user gave it; relative paths of other files are beside it.
    pub path: &'a Path,
    /// Options of the command line, `name` to `value`, for the emitter to read.
    pub options: &'a BTreeMap<String, String>,
    /// What it is to run on, where the command says so (`--hosts`, `-n`).
    pub platform: Option<&'a Hardware>,
    /// Findings that do not keep the emitter from its work.
    pub diagnostics: &'a mut Diagnostics,
}

impl<'a> EmitContext<'a> {
    /// For a main file; what the network is to run on is not known.
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
    /// Its name, as in `--emit NAME=PATH`.
    fn name(&self) -> &str;

    /// One line for `graphmap passes`.
    fn about(&self) -> &str;

    /// Names of the options (`--set NAME=VALUE`) that it reads; a name that ends with a dot stands for
    /// all that begin so. `None`: any option may be for it.
    fn options(&self) -> Option<&[&str]> {
        None
    }

    /// Whether `--emit PATH` without a name means this emitter.
    fn accepts(&self, path: &Path) -> bool;

    /// The file that `--emit NAME` without a path writes, if launchers or people expect it by one name.
    fn usual_file(&self) -> Option<&str> {
        None
    }

    /// Fills the set of files; the main one at `context.path`.
    ///
    /// # Errors
    /// All that keeps it from its work; nothing is written then.
    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics>;
}
