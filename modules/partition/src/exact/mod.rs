//! Proofs: the optimum of small instances.

pub(crate) mod branch;
pub(crate) mod fill;
mod frontier;
pub(crate) mod limit;
pub(crate) mod structure;
pub(crate) mod symmetry;
