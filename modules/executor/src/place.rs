//! Positions in the graph file, or in the program.

use std::fmt;
use std::panic::Location;

/// A position in the graph file, or in the source of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the file, as the network names it.
    pub file: String,
    /// Line, from 1. 0 if it is unknown.
    pub line: u64,
    /// Column, from 1. 0 if only the line is known.
    pub column: u64,
}

impl From<&Location<'_>> for Place {
    fn from(at: &Location<'_>) -> Self {
        Place {
            file: at.file().to_string(),
            line: at.line().into(),
            column: at.column().into(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}
