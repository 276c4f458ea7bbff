//! Types of the tokens on the channels.

use crate::complex::Complex;

/// A value, and its row of the butterfly.
#[derive(Clone, Copy, Debug, graphmap_runtime::Payload)]
pub struct Sample {
    pub row: usize,
    pub value: Complex,
}
