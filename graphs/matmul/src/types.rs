//! Types of the tokens on the channels.

/// A square block of a matrix.
pub type Block = crate::matrix::Matrix;

/// The blocks of both factors with which a cell starts.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Pair {
    pub left: Block,
    pub right: Block,
}
