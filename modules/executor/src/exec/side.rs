//! The sides of a channel.

/// The two sides of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Read = 0,
    Write = 1,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Read => Side::Write,
            Side::Write => Side::Read,
        }
    }
}
