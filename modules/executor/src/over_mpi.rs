//! Settings of a link over MPI. The runtime reads them together with all other settings.

use std::time::Duration;

/// Settings that only a link over MPI uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverMpi {
    /// Time within which another host must answer. `None`: no limit.
    pub unreachable: Option<Duration>,
    /// True if OS processes of one host share memory.
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
