//! Proofs: the optimum of small instances.

pub(crate) mod branch;
pub(crate) mod symmetry;
