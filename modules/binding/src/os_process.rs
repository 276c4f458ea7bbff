//! An OS process that a launcher starts.

/// An OS process of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsProcess {
    /// Host. If it is `None`, the launcher chooses.
    pub host: Option<String>,
    /// Cores to which it is bound, as the operating system numbers them. Empty if it is not bound.
    pub cores: Vec<u32>,
    /// Executable that runs in it. If it is `None`, this is the program of the launch.
    pub program: Option<String>,
    /// Number of processes of the network that it runs.
    pub processes: u32,
}
