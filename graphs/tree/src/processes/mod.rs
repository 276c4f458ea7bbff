//! One file for each kind of process.

pub mod do_task;
pub mod in_result;
pub mod in_task;
pub mod manager;
pub mod out_result;
pub mod out_task;
