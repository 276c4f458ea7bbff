//! Detects whether a launcher of parallel programs (`mpiexec`, `srun`) has started several copies
//! of this program.
//!
//! Without a link over MPI, each copy would run the whole network. That is never intended, so it is
//! reported as an error.

use std::ffi::OsString;
use std::fmt;

use graphmap_executor::link::job::{Copies, Started};
use graphmap_executor::over_mpi::OverMpi;

/// Environment variables that a launcher sets for each copy.
struct Variables {
    /// Variable with the number of copies.
    size: &'static str,
    /// Variables with the number of this copy.
    ranks: &'static [&'static str],
    copies: fn(u64) -> Copies,
}

const fn variables(size: &'static str, ranks: &'static [&'static str]) -> Variables {
    Variables {
        size,
        ranks,
        copies: Copies::All,
    }
}

/// Variables of MPI launchers.
const OF_MPI: &[Variables] = &[
    variables("OMPI_COMM_WORLD_SIZE", &["OMPI_COMM_WORLD_RANK"]),
    variables("MV2_COMM_WORLD_SIZE", &["MV2_COMM_WORLD_RANK"]),
    // MPICH, Intel MPI, and other launchers with PMI. `PMI_ID` is set if the launcher listens on a
    // port.
    variables("PMI_SIZE", &["PMI_RANK", "PMI_ID"]),
    Variables {
        size: "MPI_LOCALNRANKS",
        ranks: &["MPI_LOCALRANKID"],
        copies: Copies::OnHost,
    },
];

/// Variables of cluster launchers. They count only if no variable of an MPI launcher is set,
/// because a cluster launcher often starts an MPI launcher. `SLURM_NTASKS` is not in the list,
/// because a batch script, which runs once, has it as well.
const OF_CLUSTERS: &[Variables] = &[
    variables("JSM_NAMESPACE_SIZE", &["JSM_NAMESPACE_RANK"]),
    variables("FLUX_JOB_SIZE", &["FLUX_TASK_RANK"]),
    // Set by `srun` for the programs that it starts.
    variables("SLURM_STEP_NUM_TASKS", &["SLURM_PROCID"]),
];

/// PMIx sets the number of this copy, but gives the number of copies only on request.
const PMIX_RANK: &str = "PMIX_RANK";

/// The launcher variables of one of several copies of this program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    /// Variable that shows that there are several copies.
    variable: &'static str,
    value: u64,
    /// Number of copies, by each variable that contains it.
    copies: Vec<(&'static str, Copies)>,
    /// True if this copy prints the error for all copies.
    pub(crate) reports: bool,
    /// All variables that show that there are several copies. If only the first were unset, the
    /// next one would still show it. MPICH sets `MPI_LOCALNRANKS` in addition to `PMI_SIZE`, and
    /// sets only `MPI_LOCALNRANKS` if it listens on a port. Open MPI also sets `PMIX_RANK`.
    variables: Vec<&'static str>,
}

/// Returns a value if this is one of several copies, according to the environment variables that
/// `get` returns. Returns `None` otherwise. Variables of cluster launchers count only if no MPI
/// launcher has set the number of copies, and [`PMIX_RANK`] only if neither has. With only
/// [`PMIX_RANK`], copy 0 also gets `None`, because it cannot know whether there are others.
///
/// The variables of one MPI launcher may be left in the environment of a program that another one
/// has started. So one variable with several copies is enough.
pub(crate) fn find(get: impl Fn(&str) -> Option<OsString>) -> Option<Launched> {
    let number = |name: &str| get(name)?.to_str()?.trim().parse::<u64>().ok();
    let set = |all: &'static [Variables]| -> Vec<(&'static Variables, u64)> {
        let set = all.iter().filter_map(|one| Some((one, number(one.size)?)));
        set.collect()
    };
    let mut sizes = set(OF_MPI);
    if sizes.is_empty() {
        sizes = set(OF_CLUSTERS);
        sizes.truncate(1);
    }
    let all = OF_MPI.iter().chain(OF_CLUSTERS);
    let variables = all.map(|one| (one.size, 1)).chain([(PMIX_RANK, 0)]);
    let variables = variables.filter(|(name, least)| number(name).is_some_and(|n| n > *least));
    let variables = variables.map(|(name, _)| name).collect();
    let copies = sizes
        .iter()
        .map(|(one, size)| (one.size, (one.copies)(*size)));
    let copies = copies.collect();
    let mut several = sizes.iter().filter(|(_, size)| *size > 1).peekable();
    if let Some(&&(first, value)) = several.peek() {
        // A copy that does not know its number cannot rely on another copy to print the error.
        let reports = several.any(|(one, _)| {
            let rank = one.ranks.iter().find_map(|name| number(name));
            rank.is_none_or(|rank| rank == 0)
        });
        return Some(Launched {
            variable: first.size,
            value,
            copies,
            reports,
            variables,
        });
    }
    if !sizes.is_empty() {
        return None;
    }
    // Copy 0 cannot know whether there is a copy 1.
    let rank = number(PMIX_RANK).filter(|rank| *rank > 0)?;
    Some(Launched {
        variable: PMIX_RANK,
        value: rank,
        copies,
        reports: rank == 1,
        variables,
    })
}

impl Launched {
    /// Returns the variable that shows that there are several copies, with its value.
    pub(crate) fn shown(&self) -> String {
        format!("{}={}", self.variable, self.value)
    }

    /// Returns the data about the start that a link needs, with the link's settings or the error of
    /// a wrong option.
    pub(crate) fn started(&self, settings: Result<OverMpi, String>) -> Started {
        Started {
            told: self.copies.clone(),
            settings,
        }
    }
}

impl fmt::Display for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launched {
            variable, value, ..
        } = self;
        let times = match self.copies.is_empty() {
            false => format!("{value} times"),
            true => "several times".to_string(),
        };
        let (named, without) = (self.variables.join(", "), self.variables.join(" -u "));
        write!(
            f,
            "a launcher has started this program {times} ({variable}={value}), and each copy would \
             run the whole network\n  \
             to run one network in all copies, add the MPI link: `graphmap_link_mpi::main` \
             instead of `graphmap_runtime::main`, as `graphmap new --link mpi` writes it\n  \
             without the MPI link, start the program once: GRAPHMAP_OS_PROCESSES=N gives N \
             schedulers, and with GRAPHMAP_LINK=shm they are OS processes on this host\n  \
             if no launcher started this program, unset {named} with `env -u {without}`"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of copies, and whether this copy prints the error.
    fn found(variables: &[(&str, &str)]) -> Option<(Option<u64>, bool)> {
        let get = |name: &str| {
            let mut of_name = variables.iter().filter(|(other, _)| *other == name);
            of_name.next().map(|(_, value)| OsString::from(value))
        };
        let told = |launched: Launched| {
            let times = (!launched.copies.is_empty()).then_some(launched.value);
            (times, launched.reports)
        };
        find(get).map(told)
    }

    #[test]
    fn one_copy_of_each_launcher_reports() {
        for (variables, expected) in [
            (
                &[("PMI_SIZE", "4"), ("PMI_RANK", "0")][..],
                Some((Some(4), true)),
            ),
            (
                &[("PMI_SIZE", "4"), ("PMI_RANK", "3")],
                Some((Some(4), false)),
            ),
            (
                &[("PMI_SIZE", "4"), ("PMI_ID", "3")],
                Some((Some(4), false)),
            ),
            (&[("PMI_SIZE", "4")], Some((Some(4), true))),
            (
                &[
                    ("OMPI_COMM_WORLD_SIZE", "2"),
                    ("OMPI_COMM_WORLD_RANK", "1"),
                    ("PMIX_RANK", "1"),
                ],
                Some((Some(2), false)),
            ),
            (
                &[("MPI_LOCALNRANKS", "2"), ("MPI_LOCALRANKID", "0")],
                Some((Some(2), true)),
            ),
            (
                &[("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_PROCID", "0")],
                Some((Some(2), true)),
            ),
            // Variables that another launcher has left: one copy, and several copies.
            (
                &[
                    ("OMPI_COMM_WORLD_SIZE", "1"),
                    ("PMI_SIZE", "4"),
                    ("PMI_RANK", "0"),
                ],
                Some((Some(4), true)),
            ),
            (
                &[
                    ("OMPI_COMM_WORLD_SIZE", "3"),
                    ("OMPI_COMM_WORLD_RANK", "2"),
                    ("PMI_SIZE", "4"),
                    ("PMI_RANK", "0"),
                ],
                Some((Some(3), true)),
            ),
            (&[("PMIX_RANK", "1")], Some((None, true))),
            (&[("PMIX_RANK", "2")], Some((None, false))),
        ] {
            assert_eq!(found(variables), expected, "{variables:?}");
        }
    }

    /// The advice must be sufficient. MPICH sets two variables, and each of them shows several
    /// copies.
    #[test]
    fn unsetting_all_named_variables_is_enough() {
        for (variables, advice) in [
            (
                &[
                    ("PMI_SIZE", "4"),
                    ("PMI_RANK", "0"),
                    ("MPI_LOCALNRANKS", "4"),
                    ("MPI_LOCALRANKID", "0"),
                ][..],
                "unset PMI_SIZE, MPI_LOCALNRANKS with `env -u PMI_SIZE -u MPI_LOCALNRANKS`",
            ),
            (
                &[("OMPI_COMM_WORLD_SIZE", "2"), ("PMIX_RANK", "1")],
                "unset OMPI_COMM_WORLD_SIZE, PMIX_RANK with `env -u OMPI_COMM_WORLD_SIZE -u \
                 PMIX_RANK`",
            ),
            (
                &[("PMI_SIZE", "2"), ("SLURM_STEP_NUM_TASKS", "1")],
                "unset PMI_SIZE with `env -u PMI_SIZE`",
            ),
        ] {
            let get = |name: &str, gone: &[&str]| {
                let there = !gone.contains(&name);
                let mut all = variables
                    .iter()
                    .filter(|(other, _)| *other == name && there);
                all.next().map(|(_, value)| OsString::from(value))
            };
            let launched = find(|name| get(name, &[])).unwrap();
            assert!(launched.to_string().ends_with(advice), "{launched}");
            assert_eq!(
                find(|name| get(name, &launched.variables)),
                None,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn a_single_copy_is_not_reported() {
        for variables in [
            &[][..],
            &[("PMI_SIZE", "1"), ("PMI_RANK", "0")],
            &[("PMIX_RANK", "0")],
            // A batch script of four tasks.
            &[
                ("SLURM_NTASKS", "4"),
                ("SLURM_NPROCS", "4"),
                ("SLURM_PROCID", "0"),
            ],
            // One MPI rank in a job step of many.
            &[
                ("PMI_SIZE", "1"),
                ("PMI_RANK", "0"),
                ("SLURM_STEP_NUM_TASKS", "4"),
            ],
            &[("PMI_SIZE", "many"), ("PMI_RANK", "")],
        ] {
            assert_eq!(found(variables), None, "{variables:?}");
        }
    }

    /// The size of the world may be that of any of the variables.
    #[test]
    fn one_variable_that_fits_the_world_is_enough() {
        let agrees = |variables: &[(&str, &str)], count| {
            let get = |name: &str| {
                let mut of_name = variables.iter().filter(|(other, _)| *other == name);
                of_name.next().map(|(_, value)| OsString::from(value))
            };
            let started = find(get).unwrap().started(Ok(OverMpi::default()));
            started.agrees(count)
        };
        let stale = &[("OMPI_COMM_WORLD_SIZE", "2"), ("PMI_SIZE", "4")];
        assert!(agrees(stale, 4) && agrees(stale, 2) && !agrees(stale, 3));
        // Each copy would be alone, although one of the launchers has started several.
        let alone = &[("OMPI_COMM_WORLD_SIZE", "2"), ("PMI_SIZE", "1")];
        assert!(!agrees(alone, 1));
        // Two hosts.
        let local = &[("MPI_LOCALNRANKS", "2")];
        assert!(agrees(local, 4) && agrees(local, 2) && !agrees(local, 1));
        assert!(agrees(&[("PMIX_RANK", "1")], 7));
    }
}
