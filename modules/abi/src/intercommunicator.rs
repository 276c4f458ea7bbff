//! Intercommunicators (MPI-5.0, section 7.6).
