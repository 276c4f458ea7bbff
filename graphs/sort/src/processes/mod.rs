//! One file for each kind of process.

pub mod merge;
pub mod sink;
pub mod sort;
pub mod source;
pub mod split;
