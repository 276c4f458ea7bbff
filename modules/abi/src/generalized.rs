//! Generalized requests (MPI-5.0, section 13.2).
