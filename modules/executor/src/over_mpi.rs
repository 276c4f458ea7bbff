//! Settings of a link over MPI, which the runtime reads with all others.

use std::time::Duration;

/// Settings that only a link over MPI uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverMpi {
    /// How long another host may not answer; none: for ever.
    pub unreachable: Option<Duration>,
    /// Whether OS processes of one host share memory.
    pub shared_memory: bool,
}

impl Default for OverMpi {
    fn default() -> Self {
        OverMpi {
            unreachable: Some(Duration::from_secs(30)),
            shared_memory: true,
        }
    }
}
