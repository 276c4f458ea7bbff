//! What travels over the channels.

use crate::complex::Complex;

/// A value, and the row of the butterfly it belongs to.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub row: usize,
    pub value: Complex,
}
graphmap_runtime::payload!(Sample { row, value });
