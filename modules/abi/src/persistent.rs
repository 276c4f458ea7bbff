//! Persistent requests (MPI-5.0, section 3.9).
