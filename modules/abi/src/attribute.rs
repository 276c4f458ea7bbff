//! Attributes: keys with functions that copy and delete values (MPI-5.0, section 7.7).

/// All of them that a rank has.
#[derive(Default)]
pub(crate) struct Attributes {}
