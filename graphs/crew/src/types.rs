//! What travels on the channels.

/// How many steps of Collatz a number takes to 1, and in which shift that was found.
#[derive(Clone, Debug, Default, PartialEq, graphmap_runtime::Payload)]
pub struct Answer {
    /// The number.
    pub number: u64,
    /// Halved if even, else tripled and one more, so many times.
    pub steps: u64,
    /// The shift of the helper that answers; the first is 1.
    pub shift: u64,
}

/// The helpers may come.
#[derive(Clone, Debug, Default, PartialEq, graphmap_runtime::Payload)]
pub struct Start;
