//! Single-threaded schedulers of processes, which are futures, and the waits between processes. The
//! schedulers do not know channels, except for the points at which processes wait
//! ([`wait_points`]).
//!
//! | what happens | entry point |
//! |---|---|
//! | a scheduler runs until the whole run ends | `Scheduler::live` in `run_loop.rs` |
//! | a process is polled | `Scheduler::step` in `poll.rs` |
//! | a process begins to wait | `Scheduler::waiter` and `Point::arm` in `wait.rs` |
//! | a process is woken on its own scheduler | `Scheduler::wake` in `wait.rs` |
//! | a process is woken from another thread | `Shared::send` in `shared.rs`; wakers: `future.rs` |
//! | a process sleeps | `Sleep::poll` in `sleep.rs` |
//! | a scheduler sleeps | `Parker::park` in `parker.rs` |
//! | no scheduler has work: deadlock or growth | `Scheduler::detect_deadlock` in `deadlock.rs` |
//! | a frame is sent to another OS process | `Remote::send_token` in `frames.rs` |
//! | a frame is received | `Scheduler::exchange` in `exchange.rs` |
//! | ends are closed, unread tokens dropped | `Scheduler::flush_deferred` in `between_polls.rs` |
//! | another thread asks for the state of processes | `Inquiry::ask` in `snapshots.rs` |

pub mod between_polls;
pub mod current;
mod deadlock;
mod deferred;
mod detection;
mod exchange;
pub mod frames;
pub mod future;
pub mod hooks;
pub mod introspection;
pub mod outcome;
mod pacing;
pub(crate) mod parker;
mod poll;
pub mod polled_waits;
pub mod report;
mod run_loop;
mod run_queue;
mod run_state;
pub mod scheduler;
pub mod shared;
pub mod sleep;
mod snapshots;
pub mod statistics;
pub mod task;
pub mod task_set;
mod timers;
pub mod upper_layer;
pub mod user_code;
mod wait;
pub mod wait_graph;
pub mod wait_points;
