//! What travels over the channels.

use std::ops::Range;

/// A strip of the picture that is to be drawn.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Task {
    pub width: usize,
    pub height: usize,
    pub rows: Range<usize>,
}

/// "I have nothing to do."
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Request;

/// A strip that has been drawn.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Strip {
    pub rows: Range<usize>,
    /// Red, green and blue of each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Which of the workers drew it.
    pub worker: usize,
}
