//! How large a network may become by expansion.

/// The most processes, and the most channels, that expansion makes. Ids end at 2^32; a typing error
/// in `replicas=` should end sooner.
pub const LIMIT: u64 = 1 << 28;
