//! Types of the tokens on the channels.

/// A block of the plate.
pub type Block = crate::plate::Plate;

/// The temperatures along one side of a block.
pub type Rim = Vec<f64>;
