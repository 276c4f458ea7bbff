//! What travels over the channels.

/// What the server says of a guess.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The number is smaller.
    Smaller,
    /// The number is larger.
    Larger,
    /// That is it.
    Right,
}
graphmap_runtime::payload!(
    enum Answer {
        Smaller,
        Larger,
        Right,
    }
);
