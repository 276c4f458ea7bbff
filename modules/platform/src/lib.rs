//! Hosts, sockets and cores, and every dialect of hostfile that describes them.
//!
//! A [`Platform`] says where OS processes can run: hosts with their [slots](Host::slots), inside
//! them sockets, groups of cores that share a cache, and cores; what each can hold and how fast it
//! is; and how far apart two slots are ([`Class`], [`Distances`]).
//!
//! Where it comes from:
//!
//! | dialect | reader | looks like |
//! |---|---|---|
//! | MPICH (hydra) | [`mpich`] | `node1:4` |
//! | Open MPI | [`openmpi`] | `node1 slots=4 max_slots=8` |
//! | Intel MPI | [`intel`] | `node1:4 ifhn=node1-ib` |
//! | Slurm | [`nodelist`], [`slurm`] | `node[01-16,20]`, `$SLURM_JOB_NODELIST` |
//! | synthetic | [`synthetic`] | `hosts=4:sockets=2:cores=8 distance=100:10:1` |
//! | hwloc | [`hwloc`] | `lstopo --of xml` |
//! | this machine | [`local`] | `/sys/devices/system/cpu` |
//!
//! [`read`] tells the dialects of a file apart. No reader stops at the first mistake: all of a file
//! are reported in one run, with their places, as
//! [`Diagnostics`](graphmap_kpn::diagnostic::Diagnostics) (codes `G0410` to `G0429` and `G0447`, listed in
//! [`codes`]), and a reader returns a platform only when there was no error.
//!
//! Who places OS processes asks for plain numbers: [`Platform::slots`] gives each slot its speed,
//! its share of memory and a path of ids, [`Platform::distances`] one number a level, and
//! [`TopologyTree::of`] turns slots into a tree.

mod access;
mod build;
pub mod codes;
pub mod dialect;
mod distance;
mod hardware;
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
mod said;
mod slot;
pub mod slurm;
pub mod synthetic;
mod text;

pub use dialect::Dialect;
pub use distance::{BadDistances, Class, Distances};
pub use graphmap_kpn::hardware::Access;
pub use model::{
    BadPlatform, CacheGroup, Core, Host, HostId, MAX_CORES, MAX_HOSTS, Platform, Run, Socket,
};
pub use read::read;
pub use slot::{Slot, TopologyTree};
