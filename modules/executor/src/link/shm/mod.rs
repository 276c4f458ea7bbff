//! Shared memory between OS processes of a run. [`memory`] allocates it, a `frame_ring` is a byte
//! ring that passes frames between two schedulers, and [`byte_rings`] contains all byte rings of
//! a scheduler. The [`control`] page records which schedulers are awake, and how the run ends.
//!
//! Large slices are read directly from the memory of the sender ([`cma`]), if the kernel permits
//! that and it takes less time (`rates`).
//!
//! The OS processes of a run are one program, and trust each other as its threads do. A frame is
//! read in place. Other OS processes could write there, but do not before it has been read. Invalid
//! frames are reported nevertheless.
//!
//! No file remains after a run. The memory has no name, and the kernel frees it with the last OS
//! process that has it.

pub mod byte_rings;
pub mod child;
pub mod cma;
pub mod control;
pub(crate) mod frame_ring;
pub mod host;
pub mod memory;
mod messages;
mod rates;
mod ring;
