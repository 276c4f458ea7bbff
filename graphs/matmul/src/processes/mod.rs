//! One file for each kind of process.

pub mod cell;
pub mod sink;
pub mod source;
