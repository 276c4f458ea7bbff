//! The keys after a host, as Open MPI and MPICH have them: by them dialects are told apart.

/// Open MPI's spellings of the number of slots.
pub(crate) const SLOTS: &[&str] = &["slots", "slot", "count", "cpu", "cpus"];
/// Open MPI's spellings of the limit.
pub(crate) const MAX_SLOTS: &[&str] = &[
    "max_slots",
    "max-slots",
    "slots_max",
    "slots-max",
    "max_cpus",
    "max-cpus",
    "cpu_max",
    "cpu-max",
    "count_max",
    "count-max",
    "max_count",
    "max-count",
];
/// Keys of Open MPI that are read and say nothing to a mapping.
pub(crate) const OTHER: &[&str] = &["username", "user_name", "user-name", "port"];

/// Keys that may follow a host in MPICH's files.
pub(crate) const MPICH: &[&str] = &["user", "binding"];
