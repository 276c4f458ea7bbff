//! One file for each kind of process.

pub mod load;
pub mod sink;
pub mod source;
pub mod stage;
