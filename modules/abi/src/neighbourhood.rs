//! Neighbourhood collective calls (MPI-5.0, section 8.6).
