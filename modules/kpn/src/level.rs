//! Levels that users set for the diagnostics of a code.

use crate::source::Span;

/// Treatment of the diagnostics of a code. A stricter level is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// They are hidden.
    Allow,
    /// They are warnings.
    Warn,
    /// They are errors.
    Deny,
}

impl Level {
    /// All levels, in ascending order.
    pub const ALL: [Level; 3] = [Level::Allow, Level::Warn, Level::Deny];

    /// Returns the name, as written in the graph.
    pub fn name(self) -> &'static str {
        match self {
            Level::Allow => "allow",
            Level::Warn => "warn",
            Level::Deny => "deny",
        }
    }
}

/// `allow=`, `warn=` or `deny=` of the graph, one for each code that it lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelDecl {
    /// Level for the code.
    pub level: Level,
    /// Code as written. It is not checked here.
    pub code: String,
    /// Position of the code.
    pub span: Span,
}
