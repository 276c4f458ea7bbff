//! One of what a launcher starts.

/// One OS process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsProcess {
    /// Its host; `None` leaves the choice to the launcher.
    pub host: Option<String>,
    /// Cores it is bound to, as the operating system numbers them; empty: not bound.
    pub cores: Vec<u32>,
    /// How many processes of the network it holds.
    pub processes: u32,
}
