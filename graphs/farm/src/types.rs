//! What travels over the channels.

use std::ops::Range;

/// A strip of the picture that is to be drawn.
#[derive(Clone, Debug)]
pub struct Task {
    pub width: usize,
    pub height: usize,
    pub rows: Range<usize>,
}
graphmap_runtime::payload!(Task {
    width,
    height,
    rows
});

/// "I have nothing to do."
#[derive(Clone, Debug)]
pub struct Request;
graphmap_runtime::payload!(Request);

/// A strip that has been drawn.
#[derive(Clone, Debug)]
pub struct Strip {
    pub rows: Range<usize>,
    /// Red, green and blue of each pixel, row by row.
    pub pixels: Vec<u8>,
    /// Which of the workers drew it.
    pub worker: usize,
}
graphmap_runtime::payload!(Strip {
    rows,
    pixels,
    worker
});
