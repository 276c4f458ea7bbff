//! Files that exist as long as a run.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of files that this OS process has made. Several runs may be active at the same time.
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// File that is deleted on drop.
pub(super) struct TemporaryFile(PathBuf);

impl TemporaryFile {
    /// Writes a text to a new file. Its name contains `what`.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub(super) fn new(what: &str, text: &str) -> io::Result<TemporaryFile> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("graphmap-{what}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // Deletes a file of an earlier run. `create_new` does not follow a link made by another
        // user.
        let _ = fs::remove_file(&path);
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)?;
        let file_of_ours = TemporaryFile(path);
        file.write_all(text.as_bytes())?;
        Ok(file_of_ours)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
