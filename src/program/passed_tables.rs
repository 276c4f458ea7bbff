//! Passes the tables of a network to a program that was built for other sizes.

use super::temporary_file::TemporaryFile;
use std::io;
use std::process::Command;

/// Tables in the form that the runtime reads.
pub(crate) struct PassedTables(TemporaryFile);

impl PassedTables {
    /// Writes tables, as [`graphmap_wiring::tables::tables`] returns them, to a temporary file,
    /// which is deleted on drop.
    ///
    /// # Errors
    /// Returns the error of the operating system if the file cannot be written.
    pub(crate) fn new(tables: &str) -> io::Result<PassedTables> {
        TemporaryFile::new("tables", tables).map(PassedTables)
    }

    /// Sets the environment variable by which the runtime of a program finds the tables:
    /// `GRAPHMAP_TABLES`.
    pub(crate) fn set_environment(&self, command: &mut Command) {
        command.env("GRAPHMAP_TABLES", self.0.path());
    }
}
