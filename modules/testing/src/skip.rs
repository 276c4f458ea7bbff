//! Reports the parts of tests that are skipped.
//!
//! Some tests need more than a Rust toolchain: Graphviz, launchers, the right to mount. A test
//! without what it needs calls [`skip`], which prints the test, the need and the reason. Two
//! environment variables control it:
//!
//! * `GRAPHMAP_TEST_WITHOUT` has the names of the [`Need`]s that this machine lacks, separated by
//!   spaces. If it is set, even to an empty string, a skip for another need fails the test.
//! * `GRAPHMAP_TEST_SKIPPED` names a file to which each skip appends a line, so that they can be
//!   counted.

use std::env;
use std::fmt::{Display, Formatter, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;

/// Requirements that some tests have on the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A C compiler, `cc`.
    C,
    /// The solver `cbc`.
    Cbc,
    /// The browser `chromium`.
    Chromium,
    /// More than one core.
    Cores,
    /// The solver `glpsol`.
    Glpk,
    /// The `go` command.
    Go,
    /// Graphviz: `dot`, `nop`, `gc`.
    Graphviz,
    /// Graphviz's own graphs: Debian's source package.
    GraphvizSources,
    /// hwloc's `lstopo-no-graphics`.
    Hwloc,
    /// Intel MPI, given by the variable `INTEL_MPIEXEC`.
    IntelMpi,
    /// A second MPICH beside the system's, given by the variable `MPICH_MPIEXEC`.
    LaterMpich,
    /// A second Open MPI beside the system's, given by the variable `OPENMPI_MPIEXEC`.
    LaterOpenMpi,
    /// `mpiexec.mpich`.
    Mpich,
    /// The right to mount, and to create mount and host name namespaces (`unshare`).
    Namespaces,
    /// `mpiexec.openmpi`.
    OpenMpi,
    /// `python3`.
    Python,
    /// A Slurm controller that answers, given by the variable `SLURM_CONF`.
    Slurm,
    /// Slurm's commands, `scontrol` and `srun`.
    SlurmCommands,
    /// Linux's `/sys/devices/system/cpu`.
    Sysfs,
}

impl Need {
    /// All needs.
    pub const ALL: [Need; 19] = [
        Need::C,
        Need::Cbc,
        Need::Chromium,
        Need::Cores,
        Need::Glpk,
        Need::Go,
        Need::Graphviz,
        Need::GraphvizSources,
        Need::Hwloc,
        Need::IntelMpi,
        Need::LaterMpich,
        Need::LaterOpenMpi,
        Need::Mpich,
        Need::Namespaces,
        Need::OpenMpi,
        Need::Python,
        Need::Slurm,
        Need::SlurmCommands,
        Need::Sysfs,
    ];

    /// Returns the name of the need in `GRAPHMAP_TEST_WITHOUT`.
    pub fn name(self) -> &'static str {
        match self {
            Need::C => "cc",
            Need::Cbc => "cbc",
            Need::Chromium => "chromium",
            Need::Cores => "cores",
            Need::Glpk => "glpk",
            Need::Go => "go",
            Need::Graphviz => "graphviz",
            Need::GraphvizSources => "graphviz-sources",
            Need::Hwloc => "hwloc",
            Need::IntelMpi => "intel-mpi",
            Need::LaterMpich => "later-mpich",
            Need::LaterOpenMpi => "later-open-mpi",
            Need::Mpich => "mpich",
            Need::Namespaces => "namespaces",
            Need::OpenMpi => "open-mpi",
            Need::Python => "python",
            Need::Slurm => "slurm",
            Need::SlurmCommands => "slurm-commands",
            Need::Sysfs => "sysfs",
        }
    }
}

impl Display for Need {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(self.name())
    }
}

/// Reports that a part of a test is skipped, because the machine does not have `need`.
///
/// # Panics
///
/// If `GRAPHMAP_TEST_WITHOUT` is set and does not name `need`, or if the file of
/// `GRAPHMAP_TEST_SKIPPED` cannot be written.
#[track_caller]
pub fn skip(need: Need, why: impl Display) {
    let without = env::var("GRAPHMAP_TEST_WITHOUT").ok();
    assert!(
        may_skip(without.as_deref(), need),
        "not to be skipped, as GRAPHMAP_TEST_WITHOUT does not name `{need}`: {why}"
    );
    let place = Location::caller();
    let line = format!(
        "skipped without {need}, {}:{}: {why}",
        place.file(),
        place.line()
    );
    print_line(&line);
    if let Some(file) = env::var_os("GRAPHMAP_TEST_SKIPPED") {
        let opened = OpenOptions::new().append(true).create(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

/// Returns whether a test may be skipped: `without` is not set, or it names the need.
///
/// # Panics
///
/// If `without` has an unknown name.
fn may_skip(without: Option<&str>, need: Need) -> bool {
    let Some(without) = without else {
        return true;
    };
    for name in without.split_whitespace() {
        assert!(
            Need::ALL.iter().any(|n| n.name() == name),
            "GRAPHMAP_TEST_WITHOUT: nothing is called `{name}`"
        );
    }
    without.split_whitespace().any(|name| name == need.name())
}

/// Prints a line to stderr, also in a test that passes. The test harness captures the output of
/// `eprintln!`, but not this.
pub fn print_line(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_needs_may_be_skipped() {
        assert!(may_skip(None, Need::Go));
        assert!(!may_skip(Some(""), Need::Go));
        assert!(!may_skip(Some("graphviz-sources"), Need::Graphviz));
        assert!(may_skip(Some(" slurm go\n"), Need::Go));
    }

    #[test]
    #[should_panic(expected = "nothing is called `slrum`")]
    fn a_name_of_nothing_is_refused() {
        may_skip(Some("go slrum"), Need::Go);
    }

    #[test]
    fn names_are_different() {
        let mut names: Vec<_> = Need::ALL.iter().map(|need| need.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Need::ALL.len());
    }
}
