//! Which layered scopes are cut into rows.

/// Number of boxes from which a picture should not be a long strip.
pub(super) const LARGE: usize = 13;

/// Which layered scopes are cut into rows if they are too wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wraps {
    /// Those with many items.
    Large,
    /// These, and the whole picture. A row of modules in a matrix becomes two rows.
    Whole,
    /// All.
    All,
}

impl Wraps {
    /// Returns the number of items from which a scope may be cut into rows.
    pub(super) const fn least(self, is_whole: bool) -> usize {
        match self {
            Wraps::All => 2,
            Wraps::Whole if is_whole => 2,
            Wraps::Large | Wraps::Whole => LARGE,
        }
    }
}
