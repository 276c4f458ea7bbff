//! The runtime's tests: one program, so that what they have in common is compiled and linked once.
//!
//! They run side by side in one OS process. What changes something of that (its environment, its handlers of signals,
//! where it prints to), counts what is in it, or ends it, is done in a program of its own: see `common/itself.rs`.

// Where some files are left out, some of it has no use.
#[cfg_attr(miri, allow(dead_code))]
mod common;

mod blocks;
mod bundles;
mod carried;
mod combinators;
mod discovered;
mod ends;
mod failures;
mod flow;
mod flow_bundled;
mod flow_networks;
mod frames;
mod growth;
mod measured;
mod messages;
mod mpi_blocks;
mod mpi_cartesian;
mod mpi_collectives;
mod mpi_communicators;
mod mpi_create_group;
mod mpi_elsewhere;
mod mpi_elsewhere_perverse;
mod mpi_endpoints;
mod mpi_inter;
mod mpi_known;
mod mpi_matching;
mod mpi_messages;
mod mpi_neighbours;
mod mpi_os_processes;
mod mpi_perverse;
mod mpi_receive_buffer;
mod mpi_threads;
mod mpi_traffic;
mod mpi_windows;
mod orders;
mod os_inherited;
mod os_large;
mod os_observed;
mod os_processes;
mod outputs;
mod perverse;
mod printed;
mod random;
mod rendezvous;
mod stop;
mod task_sets;
mod traced;
mod user_code;
mod variables;
