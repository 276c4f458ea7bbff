//! One file for each kind of process.

pub mod block;
pub mod sink;
pub mod source;
