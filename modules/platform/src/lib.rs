//! Hosts, sockets and cores, and readers and writers for the formats of host descriptions.
//!
//! A [`Platform`] lists the hosts that can run OS processes, with their [slots](Host::slots). A
//! host contains sockets, groups of cores that share a cache, and cores, each with its speed. The
//! platform also contains the distance between slots ([`Class`], [`Distances`]).
//!
//! | format | reader | example |
//! |---|---|---|
//! | MPICH (hydra) | [`mpich`] | `node1:4` |
//! | Open MPI | [`openmpi`] | `node1 slots=4 max_slots=8` |
//! | Intel MPI | [`intel`] | `node1:4 ifhn=node1-ib` |
//! | Slurm | [`nodelist`], [`slurm`] | `node[01-16,20]`, `$SLURM_JOB_NODELIST` |
//! | synthetic | [`synthetic`] | `hosts=4:sockets=2:cores=8 distance=100:10:1` |
//! | hwloc | [`hwloc`] | `lstopo --of xml` |
//! | this machine | [`local`] | `/sys/devices/system/cpu` |
//!
//! [`read`] detects the format of a file. A reader does not stop at the first error: it reports the
//! errors of a file with their positions, as [`Diagnostics`](graphmap_kpn::diagnostic::Diagnostics)
//! with the codes `G0410` to `G0429`, `G0447` and `G0448` ([`codes`]). For more than 50 diagnostics
//! it reports the first 50, and the number of the others. It returns a platform only if it found no
//! error.
//!
//! A partitioner reads the platform as plain numbers. [`Platform::slots`] returns the speed, the
//! share of memory and a path of ids for each slot. [`Platform::distances`] returns one number per
//! class of distance. [`TopologyTree::of`] groups slots into a tree.

mod access;
mod build;
pub mod codes;
mod distance;
mod hardware;
mod host_access;
pub mod hosts_format;
pub mod hwloc;
pub mod intel;
mod keys;
pub mod local;
mod model;
pub mod mpich;
pub mod nodelist;
pub mod openmpi;
mod read;
mod report;
mod slot;
pub mod slurm;
pub mod synthetic;
mod text;

pub use distance::{BadDistances, Class, Distances};
pub use graphmap_kpn::hardware::Access;
pub use hosts_format::HostsFormat;
pub use model::{
    BadPlatform, CacheGroup, Core, Host, HostId, MAX_CORES, MAX_HOSTS, Platform, Run, Socket,
};
pub use read::read;
pub use slot::{Slot, TopologyTree};
