//! Keys that may follow a host in hostfiles of Open MPI and MPICH. They also identify the format.

/// Spellings of the number of slots that Open MPI 4.1 and 5.0 accept.
pub(crate) const SLOTS: &[&str] = &["slots", "cpu", "count"];
/// Spellings of the maximum number of slots that Open MPI 4.1 and 5.0 accept.
pub(crate) const MAX_SLOTS: &[&str] = &[
    "max_slots",
    "max-slots",
    "slots_max",
    "slots-max",
    "max_cpu",
    "max-cpu",
    "cpu_max",
    "cpu-max",
    "count_max",
    "count-max",
    "max_count",
    "max-count",
];
/// Spellings of the user that Open MPI 4.1 and 5.0 accept.
pub(crate) const USER: &[&str] = &["username", "user_name", "user-name"];
/// Port of the ssh server, in Open MPI.
pub(crate) const PORT: &str = "port";
/// Misspelled keys that Open MPI rejects, each with the correct spelling.
pub(crate) const NEAR: &[(&str, &str)] = &[
    ("slot", "slots"),
    ("cpus", "cpu"),
    ("counts", "count"),
    ("max_cpus", "max_cpu"),
    ("max-cpus", "max-cpu"),
    ("cpus_max", "cpu_max"),
    ("cpus-max", "cpu-max"),
    ("max_slot", "max_slots"),
    ("max-slot", "max-slots"),
];

/// Keys that may follow a host in MPICH hostfiles.
pub(crate) const MPICH: &[&str] = &["user", "binding"];
