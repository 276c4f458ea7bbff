//! What travels over the channels.

use crate::complex::Complex;

/// A value, and the row of the butterfly it belongs to.
#[derive(Clone, Copy, Debug, graphmap_runtime::Payload)]
pub struct Sample {
    pub row: usize,
    pub value: Complex,
}
