//! Buffers of buffered sends (MPI-5.0, section 3.6).

/// All of them that a rank has.
#[derive(Default)]
pub(crate) struct Buffers {}
