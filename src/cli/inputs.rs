//! What a run has read, so that none of it is written over.

use super::identity::Identity;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The files that a run has read, each as the user named it.
#[derive(Default)]
pub(crate) struct Inputs(HashMap<Identity, PathBuf>);

impl Inputs {
    /// What the user called the file that a path leads to, where it was read.
    pub(crate) fn named(&self, file: &Identity) -> Option<&Path> {
        self.0.get(file).map(PathBuf::as_path)
    }

    /// Adds a file; the first name that a user has given it stays.
    pub(crate) fn add(&mut self, file: Identity, path: &Path) {
        self.0.entry(file).or_insert_with(|| path.to_owned());
    }

    /// Forgets a file.
    pub(crate) fn remove(&mut self, file: &Identity) {
        self.0.remove(file);
    }
}
