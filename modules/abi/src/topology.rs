//! Virtual topologies (MPI-5.0, chapter 8).
