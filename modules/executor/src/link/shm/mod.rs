//! Shared memory between the OS processes of one run: [`memory`] is the memory, a `lane` passes
//! frames from one OS process to another, the [`lanes`] are all that one has, the [`control`] page
//! says who is awake and how the run ends.
//!
//! What is large is read where it lies ([`cma`]), if the kernel permits that and it takes less time
//! (`rates`).
//!
//! The OS processes of a run are one program, and trust each other as its threads do: a frame is
//! read where it lies, which the others could write and do not until it has been read. What is
//! garbled in it is told all the same.
//!
//! Nothing is left behind: the memory has no name, and goes with the last who has it.

pub mod child;
pub mod cma;
pub mod control;
pub mod host;
pub(crate) mod lane;
pub mod lanes;
pub mod memory;
mod messages;
mod rates;
mod ring;
