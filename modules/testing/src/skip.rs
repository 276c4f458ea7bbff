//! A test that leaves something out says so.
//!
//! Some tests need more of a machine than a Rust toolchain: Graphviz to compare with, launchers, the
//! right to mount. [`skip`] is the one way to do without: it prints what is skipped, where and why.
//! Two variables tell it more:
//!
//! * `GRAPHMAP_TEST_WITHOUT` holds names of [`Need`]s, separated by spaces: what this machine lacks.
//!   Once it is set, even to nothing, to skip for the lack of anything else is a failure.
//! * `GRAPHMAP_TEST_SKIPPED` names a file to which every skip adds its line, so that they can be counted.

use std::env;
use std::fmt::{Display, Formatter, Result};
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;

/// What some tests need of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// A C compiler, `cc`.
    C,
    /// The solver `cbc`.
    Cbc,
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
    /// Intel MPI, by the variable `INTEL_MPIEXEC`.
    IntelMpi,
    /// Another MPICH than the system's, by the variable `MPICH_MPIEXEC`.
    LaterMpich,
    /// Another Open MPI than the system's, by the variable `OPENMPI_MPIEXEC`.
    LaterOpenMpi,
    /// `mpiexec.mpich`.
    Mpich,
    /// The right to mount, and to have mounts and host names of one's own (`unshare`).
    Namespaces,
    /// `mpiexec.openmpi`.
    OpenMpi,
    /// `python3`.
    Python,
    /// A Slurm that answers, by the variable `SLURM_CONF`.
    Slurm,
    /// Slurm's commands, `scontrol` and `srun`.
    SlurmCommands,
    /// Linux's `/sys/devices/system/cpu`.
    Sysfs,
}

impl Need {
    /// All of them.
    pub const ALL: [Need; 18] = [
        Need::C,
        Need::Cbc,
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

    /// Its name in `GRAPHMAP_TEST_WITHOUT`.
    pub fn name(self) -> &'static str {
        match self {
            Need::C => "cc",
            Need::Cbc => "cbc",
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

/// Says that a test leaves something out for want of `need`, and why that is so.
///
/// # Panics
///
/// If `GRAPHMAP_TEST_WITHOUT` is set and does not name `need`: the machine is said to have it.
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
    tell(&line);
    if let Some(file) = env::var_os("GRAPHMAP_TEST_SKIPPED") {
        let opened = OpenOptions::new().append(true).create(true).open(&file);
        let written = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
        written.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    }
}

/// Whether a need may be missing: where nobody said what this machine lacks, or this was named.
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

/// Prints a line of a test, also of one that passes: the harness holds back what `eprintln!` prints,
/// but not this.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_named_may_be_missing_once_anything_is_said() {
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
