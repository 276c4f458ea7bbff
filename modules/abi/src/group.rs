//! Groups (MPI-5.0, section 7.3).

/// All of them that a rank has.
#[derive(Default)]
pub(crate) struct Groups {}
