//! Types of the tokens on the channels.

use std::ops::Range;

/// A strip of the picture to draw.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Task {
    pub width: usize,
    pub height: usize,
    pub rows: Range<usize>,
}

/// A request for a task.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Request;

/// A drawn strip.
#[derive(Clone, Debug, graphmap_runtime::Payload)]
pub struct Strip {
    pub rows: Range<usize>,
    /// Red, green and blue of each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Index of the worker that drew the strip.
    pub worker: usize,
}
