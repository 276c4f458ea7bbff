//! Info objects (MPI-5.0, chapter 10).

/// All of them that a rank has.
#[derive(Default)]
pub(crate) struct Infos {}
