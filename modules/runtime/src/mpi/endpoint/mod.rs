//! Endpoints: further ranks of processes (J. Dinan and others, "Enabling MPI interoperability through flexible communication
//! endpoints", EuroMPI 2013), and threads that are such ranks.

mod block;
mod create;

pub(super) use block::{EndpointBlock, Endpoints};
