//! Single-threaded schedulers of processes that are futures, and the waits between them. They know
//! nothing of channels except the wait queues at their ends ([`wait_queues`]).
//!
//! | what happens | entry point |
//! |---|---|
//! | a scheduler runs until the whole run ends | `run_loop.rs`, `Scheduler::live` |
//! | a process is polled | `poll.rs`, `Scheduler::poll` |
//! | a process begins to wait at a channel, and is woken there | `wait.rs`; `wait_queues.rs` has the queues |
//! | a wake-up from another thread, or of a foreign future | `hooks.rs`, `future.rs`, `parker.rs` |
//! | all schedulers are idle: which processes are in a deadlock, and which channels grow | `deadlock.rs`; `wait_graph.rs` has the search |
//! | a frame goes to another scheduler or OS process | `frames.rs`, `exchange.rs` |
//! | a report on processes that wait | `inspect.rs`, `inquiry.rs`, `report.rs` |

pub mod current;
mod deadlock;
mod deferred;
pub mod discovery;
pub mod exchange;
pub mod frames;
pub mod future;
pub mod hooks;
mod inquiry;
mod inspect;
pub mod outcome;
mod pacing;
pub(crate) mod parker;
mod poll;
pub mod polled;
pub mod report;
mod run_loop;
pub mod scheduler;
pub mod shared;
pub mod statistics;
pub mod task;
pub mod tasks;
pub mod user_code;
mod wait;
pub mod wait_graph;
pub mod wait_queues;
