//! One file for each kind of process.

pub mod collect;
pub mod generate;
pub mod sieve;
