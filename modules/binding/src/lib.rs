//! Writes what launchers read: hostfiles, configfiles, rankfiles, mapping.json.
//!
//! A mapping says which OS process each process is in, and on which host and cores each OS process
//! runs. Every launcher wants that said in its own way, and what one obeys another ignores; so there
//! is an [`Emitter`] for each file, and `mpiexec` writes a script with the files it needs.
//!
//! | emitter | writes | for |
//! |---|---|---|
//! | `hostfile`, `configfile` | [`mpich`] | `mpiexec -f hostfile -configfile configfile` of MPICH |
//! | `openmpi-hostfile`, `rankfile`, `appfile` | [`openmpi`] | `mpiexec` of Open MPI |
//! | `machinefile`, `intel-configfile` | [`intel`] | `mpiexec` of Intel MPI |
//! | `multi-prog`, `slurm-hostfile` | [`slurm`] | `srun -m arbitrary --multi-prog` |
//! | `fgmpi` | [`fgmpi`] | `-nfg` sections of FG-MPI, and its mapping function in C |
//! | `mapping` | [`mapping_json`] | `graphmap` itself, and any program |
//! | `mpiexec` | [`command`] | a script that starts it all |
//!
//! In all of them OS process `i` of the mapping is rank `i` of the launcher (but for FG-MPI, which
//! has a rank for each process, and for programs whose processes are OS processes: [`ranks`]). The functions work on a [`Launch`], plain data, and need no network.
//!
//! Options the emitters read: `program` (what to start; `./NAME` of the network unless given),
//! `args` (words for it, which may be quoted as for a shell), `env.NAME` (variables that the script gives to all OS processes), `agent` (what the launcher calls instead of ssh), `launcher` (of `mpiexec`: `mpich`, `openmpi`, `intel`, `slurm`, `fgmpi`;
//! `mpich` unless given), `fgmpi` (the file with FG-MPI's mapping function: the script then brings none), `first_rank` and `main` ([`ranks`]).

pub mod codes;
pub mod command;
mod emitters;
mod facts;
pub mod fgmpi;
pub mod intel;
mod launch;
pub mod mapping_json;
pub mod mpich;
pub mod openmpi;
mod os_process;
pub mod ranks;
pub mod slurm;
mod start;

#[cfg(doc)]
use graphmap_kpn::emit::Emitter;

pub use emitters::{MAPPING_FUNCTION, emitters, starts};
pub use facts::HostFacts;
pub use launch::{Launch, Run, shell_quoted};
pub use os_process::OsProcess;
