//! How findings of a code are to be taken, where somebody says so.

use crate::source::Span;

/// How findings of a code are to be taken. Of two the stricter is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// They are not shown.
    Allow,
    /// They are warnings.
    Warn,
    /// They are errors.
    Deny,
}

impl Level {
    /// All levels.
    pub const ALL: [Level; 3] = [Level::Allow, Level::Warn, Level::Deny];

    /// The word that says it.
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
    /// The level.
    pub level: Level,
    /// The code as it is written; whether there is such a one is not known here.
    pub code: String,
    /// Where it is written.
    pub span: Span,
}
