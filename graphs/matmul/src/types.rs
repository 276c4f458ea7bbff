//! What travels over the channels.

/// A square block of a matrix.
pub type Block = crate::matrix::Matrix;

/// A block of each factor: what a cell starts with.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Pair {
    pub left: Block,
    pub right: Block,
}
