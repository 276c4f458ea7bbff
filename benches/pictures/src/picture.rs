//! Contents of a picture, as far as they are checked.

use crate::geometry::{Point, Rect};

#[derive(Debug, Default)]
pub struct Picture {
    /// `viewBox`. `None` if the picture has none.
    pub view: Option<Rect>,
    pub boxes: Vec<Shape>,
    pub frames: Vec<Shape>,
    pub edges: Vec<Edge>,
    /// Texts at edges, and titles of frames.
    pub labels: Vec<Label>,
    /// Spaces of the other texts.
    pub texts: Vec<Rect>,
}

/// A box, or a frame.
#[derive(Debug)]
pub struct Shape {
    pub rect: Rect,
    pub name: String,
    /// Spaces of the texts inside.
    pub texts: Vec<Rect>,
    /// The first of the texts inside.
    pub label: String,
    /// True for dots in place of boxes: edges end at a space around them that is not visible.
    pub dots: bool,
}

#[derive(Debug)]
pub struct Edge {
    /// The line in small straight pieces.
    pub points: Vec<Point>,
    /// Names of the writer and the reader, if the picture contains them.
    pub ends: Option<[String; 2]>,
    /// False if its ends are only near its boxes, because of the tip of an arrow.
    pub touches: bool,
}

#[derive(Debug)]
pub struct Label {
    pub rect: Rect,
    pub text: String,
    /// The edge to which it belongs, if it may be drawn over that.
    pub own: Option<usize>,
}
