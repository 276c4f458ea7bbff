//! Positions in the graph file.

use std::fmt;

/// A position in the graph file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the file, as the network names it.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1. 0 if only the line is known.
    pub column: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}
