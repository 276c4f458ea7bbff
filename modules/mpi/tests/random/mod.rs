//! Random MPI programs. They use only rsmpi's API, so they compile with this crate and with rsmpi
//! itself, and the logs of their ranks can be compared.
//!
//! A seed determines a program: a sequence of steps, each of which all ranks of a communicator take
//! together. All ranks draw the same random numbers. The observations of a rank in a step (values,
//! statuses, sizes) become lines of its log.
//!
//! Every program is well defined. The standard leaves some results open, such as the message that a
//! wildcard receives first, or the buffer of an exclusive scan at rank 0. They are sorted before
//! they are logged, or they are not logged.

mod chance;
mod collective;
mod communicators;
mod datatypes;
mod element;
pub(crate) mod job;
mod messages;
mod probes;
pub(crate) mod program;
mod reductions;
mod requests;
mod step_context;
