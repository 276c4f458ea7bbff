//! What libraries name of rsmpi's own binding to MPI's C interface, where they call it past rsmpi: [`mpi::ffi`], under the name of
//! that crate. It is patched in beside `mpi`, so that a handle is the same type in both.

pub use mpi::ffi::*;
