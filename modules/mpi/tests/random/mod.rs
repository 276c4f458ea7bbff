//! Random MPI programs, written for rsmpi's API alone, so that they compile against ours and against rsmpi itself, and what
//! every rank of them sees can be compared.
//!
//! A program is made of its seed: steps, each of which all ranks of a communicator take together. What a step does to whom
//! is drawn alike by all ranks; what a rank sees in it (values, statuses, sizes) is a line of its log. Every program is
//! well defined: what the standard leaves open (which of several messages a wildcard takes first, the buffer of an
//! exclusive scan at rank 0) is put in order before it is logged, or not logged.

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
mod turn;
