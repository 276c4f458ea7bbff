//! Endpoints: additional ranks of a process, and threads that own such ranks. J. Dinan and others,
//! "Enabling MPI interoperability through flexible communication endpoints", EuroMPI 2013.

mod block;
mod create;
mod request_queue;
mod serve;
mod task;
mod thread;
mod thread_table;

pub(super) use block::{EndpointBlock, Endpoints};
pub(super) use request_queue::RequestsQueued;
pub use task::{Task, TaskEnd};
pub use thread::{OnThread, ThreadRank};
pub(super) use thread_table::{NOT_A_PROCESS, TASK, THREAD, ThreadTable};
