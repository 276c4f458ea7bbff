//! Tests of the runtime as one program, so that their common code is compiled and linked only once.
//!
//! The tests run concurrently in one OS process. A test runs in a separate program (see
//! `common/itself.rs`) if it changes the state of its OS process (environment, signal handlers,
//! output streams), counts its resources, or ends it.

// Miri leaves out some modules, so that parts of this one are unused.
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
mod mpi_compositions;
mod mpi_create_group;
mod mpi_endpoints;
mod mpi_inter;
mod mpi_known;
mod mpi_matching;
mod mpi_message_spaces;
mod mpi_messages;
mod mpi_neighbours;
mod mpi_os_processes;
mod mpi_perverse;
mod mpi_receive_buffer;
mod mpi_remote;
mod mpi_remote_user_code;
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
mod tables;
mod task_sets;
mod timers;
mod traced;
mod user_code;
mod variables;
