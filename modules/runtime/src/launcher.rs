//! Whether a launcher of parallel programs (`mpiexec`, `srun`) has started this program several times.
//!
//! Each copy would run the whole network: until the OS processes of a launcher can share one, that is
//! never what is meant.

use std::ffi::OsString;
use std::fmt;

use crate::link::between::Started;

/// What launchers tell each copy: how many there are, and which it is. Innermost launchers first, since
/// one of MPI is often started by one of a cluster. `SLURM_NTASKS` is not among them: a batch script,
/// which runs once, has it too.
const VARIABLES: &[(&str, &[&str])] = &[
    ("OMPI_COMM_WORLD_SIZE", &["OMPI_COMM_WORLD_RANK"]),
    ("MV2_COMM_WORLD_SIZE", &["MV2_COMM_WORLD_RANK"]),
    // MPICH, Intel MPI, and what else speaks PMI; the latter where it listens at a port.
    ("PMI_SIZE", &["PMI_RANK", "PMI_ID"]),
    ("MPI_LOCALNRANKS", &["MPI_LOCALRANKID"]),
    ("JSM_NAMESPACE_SIZE", &["JSM_NAMESPACE_RANK"]),
    ("FLUX_JOB_SIZE", &["FLUX_TASK_RANK"]),
    // Of srun, for what it starts.
    ("SLURM_STEP_NUM_TASKS", &["SLURM_PROCID"]),
];

/// PMIx says which copy it is, and the number of copies only when asked.
const PMIX_RANK: &str = "PMIX_RANK";

/// One of several copies of this program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Launched {
    /// The variable that tells.
    variable: &'static str,
    value: u64,
    /// How many copies there are, if it is known.
    copies: Option<u64>,
    /// Whether it is the one that speaks for all.
    pub(crate) speaks: bool,
}

/// Whether this is one of several, by the variables of the environment.
pub(crate) fn find(get: impl Fn(&str) -> Option<OsString>) -> Option<Launched> {
    let number = |name: &str| get(name)?.to_str()?.trim().parse::<u64>().ok();
    let told = VARIABLES.iter().find_map(|(size, ranks)| {
        let copies = number(size)?;
        let rank = ranks.iter().find_map(|name| number(name));
        Some((*size, copies, rank))
    });
    if let Some((variable, copies, rank)) = told {
        return (copies > 1).then_some(Launched {
            variable,
            value: copies,
            copies: Some(copies),
            // One that does not know which it is cannot know that another speaks.
            speaks: rank.is_none_or(|rank| rank == 0),
        });
    }
    // The first cannot know that there is a second.
    let rank = number(PMIX_RANK).filter(|rank| *rank > 0)?;
    Some(Launched {
        variable: PMIX_RANK,
        value: rank,
        copies: None,
        speaks: rank == 1,
    })
}

impl Launched {
    /// What links are told of it.
    pub(crate) fn started(&self) -> Started {
        Started {
            times: self.copies,
            variable: self.variable,
        }
    }
}

impl fmt::Display for Launched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Launched {
            variable, value, ..
        } = self;
        let times = match self.copies {
            Some(copies) => format!("{copies} times"),
            None => "several times".to_string(),
        };
        write!(
            f,
            "a launcher has started this program {times} ({variable}={value}), and each copy would \
             run the whole network\n  \
             for one network in all of them the program needs the MPI link: `graphmap_link_mpi::main` \
             instead of `graphmap_runtime::main`, as `graphmap new --link mpi` writes it\n  \
             without it, start the program once, with GRAPHMAP_OS_PROCESSES=N for N schedulers, and with \
             GRAPHMAP_LINK=shm for OS processes of their own on this host\n  \
             where {variable} is only left over from something else, `env -u {variable}` before the \
             program takes it away"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<(Option<u64>, bool)> {
        let get = |name: &str| {
            let mut of_name = variables.iter().filter(|(other, _)| *other == name);
            of_name.next().map(|(_, value)| OsString::from(value))
        };
        find(get).map(|launched| (launched.copies, launched.speaks))
    }

    #[test]
    fn each_launcher_is_known_and_one_copy_speaks() {
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
            (&[("PMIX_RANK", "1")], Some((None, true))),
            (&[("PMIX_RANK", "2")], Some((None, false))),
        ] {
            assert_eq!(found(variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn a_program_that_is_started_once_is_let_alone() {
        for variables in [
            &[][..],
            &[("PMI_SIZE", "1"), ("PMI_RANK", "0")],
            &[("PMIX_RANK", "0")],
            // In a batch script of four tasks.
            &[
                ("SLURM_NTASKS", "4"),
                ("SLURM_NPROCS", "4"),
                ("SLURM_PROCID", "0"),
            ],
            // One rank of MPI in a job step of many.
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
}
