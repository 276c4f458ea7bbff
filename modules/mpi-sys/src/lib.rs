//! The names of `mpi-sys`, rsmpi's bindings to the C interface of MPI: a re-export of [`mpi::ffi`].
//!
//! Some libraries use these bindings beside rsmpi. This crate is patched in together with `mpi`, so
//! that a handle has the same type in both.

pub use mpi::ffi::*;
