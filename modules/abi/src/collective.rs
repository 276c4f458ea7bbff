//! Collective calls on intracommunicators (MPI-5.0, chapter 6).
