//! Exact solutions of small instances, with proofs.

pub(crate) mod branch;
pub(crate) mod fill;
mod frontier;
pub(crate) mod limit;
pub(crate) mod structure;
pub(crate) mod symmetry;
