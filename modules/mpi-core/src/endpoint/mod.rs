//! Endpoints: additional ranks of a process, and threads that own such ranks. J. Dinan and others,
//! "Enabling MPI interoperability through flexible communication endpoints", EuroMPI 2013.

mod block;
mod create;
mod desk;
mod line;
mod serve;
mod task;
mod thread;

pub(super) use block::{EndpointBlock, Endpoints};
pub(super) use desk::{Desk, OUTSIDE, TASK, THREAD};
pub(super) use line::Knock;
pub use task::{Task, TaskEnd};
pub use thread::{OnThread, ThreadRank};
