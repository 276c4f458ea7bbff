//! Limit on the size of an expanded network.

/// Largest number of processes, and of channels, that expansion creates.
///
/// Ids have 32 bits. The limit is smaller, so that a typing error in `replicas=` is found early.
pub const LIMIT: u64 = 1 << 28;
