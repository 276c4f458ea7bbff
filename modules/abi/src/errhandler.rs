//! Error handlers (MPI-5.0, section 9.3).

/// All of them that a rank has.
#[derive(Default)]
pub(crate) struct Errhandlers {}
