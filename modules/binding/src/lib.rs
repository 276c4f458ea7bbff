//! Writes input files of launchers: hostfiles, configfiles, rankfiles, `mapping.json`.
//!
//! A mapping assigns each process to an OS process, and each OS process to a host and cores. Each
//! launcher has its own file formats, and a directive that one launcher obeys is ignored by
//! another. Therefore each file has its own [`Emitter`], and the emitter `mpiexec` writes a script
//! with the files that it needs.
//!
//! | emitter | writes | for |
//! |---|---|---|
//! | `hostfile`, `configfile` | [`mpich`] | `mpiexec -f hostfile -configfile configfile` of MPICH |
//! | `openmpi-hostfile`, `rankfile`, `appfile` | [`openmpi`] | `mpiexec` of Open MPI |
//! | `machinefile`, `intel-configfile` | [`intel`] | `mpiexec` of Intel MPI |
//! | `multi-prog`, `slurm-hostfile` | [`slurm`] | `srun -m arbitrary --multi-prog` |
//! | `fgmpi` | [`fgmpi`] | `-nfg` sections of FG-MPI, and its mapping function in C |
//! | `mapping` | [`mapping_json`] | `graphmap` itself, and any program |
//! | `mpiexec` | [`command`] | a script that starts the launcher |
//!
//! In all files, OS process `i` of the mapping is rank `i` of the launcher. There are two
//! exceptions: FG-MPI has a rank for each process, and in some programs each process is an OS
//! process ([`ranks`]). The functions work on a [`Launch`], which is plain data, and need no
//! network.
//!
//! Options that the emitters read:
//!
//! * `program`: the program to start (default: `./NAME` of the network). Processes with `program=`
//!   in the graph have their own.
//! * `program.NAME`: the path of the program `NAME` of the graph (default: `NAME`)
//! * `args`: its arguments, which may be quoted as for a shell
//! * `env.NAME`: a variable that is set for all OS processes
//! * `agent`: the command that the launcher calls instead of ssh
//! * `label`: `yes` to label each line of output with its rank (default: `no`)
//! * `launcher`: `mpich`, `openmpi`, `intel`, `slurm` or `fgmpi`, for `mpiexec` (default: `mpich`)
//! * `fgmpi`: the file that contains FG-MPI's mapping function, which the script then does not
//!   write
//! * `first_rank` and `main`: see [`ranks`]

pub mod codes;
pub mod command;
mod emitters;
mod facts;
pub mod fgmpi;
pub mod intel;
mod launch;
mod loops;
pub mod mapping_json;
pub mod mpich;
pub mod openmpi;
mod os_process;
pub mod ranks;
pub mod slurm;
mod start;

#[cfg(doc)]
use graphmap_kpn::emit::Emitter;

pub use emitters::{MAPPING_FUNCTION, describes_launch, emitters};
pub use facts::HostFacts;
pub use launch::{Launch, Run, shell_quoted};
pub use os_process::OsProcess;
