//! Probes and matched receives (MPI-5.0, section 3.8).

/// All of them that a rank has.
#[derive(Default)]
pub(crate) struct Messages {}
