//! Invalid values of the environment variables of a run, for tests of the runtime and of the MPI
//! link.
#![allow(unreachable_pub)]

/// Name of an environment variable, and invalid values.
pub struct Bad(pub &'static str, pub &'static [&'static str]);

/// All environment variables of a run that can have invalid values.
pub const BAD: &[Bad] = &[
    Bad("GRAPHMAP_OS_PROCESSES", &["two", "0", "-1", "4097", "1.5"]),
    Bad("GRAPHMAP_SCHEDULERS", &["some", "0", "5000", "\u{ff11}"]),
    Bad("GRAPHMAP_THREADS", &["many", "0", "99999999999999999999"]),
    Bad("GRAPHMAP_LINK", &["wire", "SHM", "threads,shm", "shm\nshm"]),
    Bad("GRAPHMAP_SHUFFLE", &["-1", "0x10", "18446744073709551616"]),
    Bad("GRAPHMAP_MEMORY", &["much", "-1", "1.5G", "99999999T"]),
    Bad("GRAPHMAP_STREAMS", &["/dev/null"]),
    Bad("GRAPHMAP_PIN", &["2", "no"]),
    Bad(
        "GRAPHMAP_CORES",
        &["0 -1", "0, 1", "0-3", "4294967296", " "],
    ),
    Bad("GRAPHMAP_SINGLE_COPY", &["always"]),
    Bad("GRAPHMAP_STATS", &["yes", "json:", "2"]),
    Bad("GRAPHMAP_PROFILE", &["/nowhere/at/all", "/"]),
    Bad("GRAPHMAP_TRACE", &["/nowhere/at/all", "/"]),
    Bad("GRAPHMAP_TRACE_EVENTS", &["0", "16777217", "few"]),
    Bad(
        "GRAPHMAP_PLACEMENT",
        &["0 one", "0+", "0 0 0 0 0 0 0", "0+0*4294967295"],
    ),
    Bad("GRAPHMAP_PLACED", &["zz", "+f", "10000000000000000"]),
    Bad("GRAPHMAP_MAPPING", &["/nowhere/at/all", "/"]),
    Bad("GRAPHMAP_TABLES", &["/nowhere/at/all", "/"]),
    Bad(
        "GRAPHMAP_STACK",
        &["0", "1", "1k", "-5", "99999999999g", "k"],
    ),
    Bad("GRAPHMAP_UNREACHABLE", &["-1", "1", "86401", "2s"]),
    Bad("GRAPHMAP_SHARED_MEMORY", &["yes"]),
];
