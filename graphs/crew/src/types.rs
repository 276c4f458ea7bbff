//! Types of the tokens on the channels.

/// The number of Collatz steps from a number to 1, and the shift in which it was computed.
#[derive(Clone, Debug, Default, PartialEq, graphmap_runtime::Payload)]
pub struct Answer {
    /// The number.
    pub number: u64,
    /// Number of Collatz steps to 1.
    pub steps: u64,
    /// Shift of the helper that answers, from 1.
    pub shift: u64,
}

/// Signal to the helpers that they may start.
#[derive(Clone, Debug, Default, PartialEq, graphmap_runtime::Payload)]
pub struct Start;
