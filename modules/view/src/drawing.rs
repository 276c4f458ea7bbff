//! A picture with positions: what is written as SVG.

use crate::geometry::{Point, Rect, Size};

/// All elements of a picture with their positions.
#[derive(Clone, Debug, Default)]
pub struct Drawing {
    /// Size of the picture, without title, notes and legend, which the writer adds.
    pub size: Size,
    /// Title above the picture.
    pub title: String,
    /// Sentences under the picture, such as the number of omitted labels.
    pub notes: Vec<String>,
    /// Frames around parts of the picture, outer frames first.
    pub frames: Vec<Frame>,
    /// Boxes of processes.
    pub boxes: Vec<Shape>,
    /// Lines of channels, in the order in which they are drawn.
    pub lines: Vec<Path>,
    /// Labels of lines.
    pub labels: Vec<Label>,
    /// Kinds in the order of the legend. Empty without a legend.
    pub legend: Vec<String>,
}

/// A frame: a module.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Its outline.
    pub rect: Rect,
    /// Its name, written inside at the top.
    pub label: String,
    /// Text that appears when the pointer is on it. Empty for none.
    pub title: String,
    /// Name of the element, for `data-name`.
    pub name: String,
    /// Stroke or fill colour that the user gave, in the syntax of Graphviz.
    pub color: Option<String>,
}

/// A box: a process, or several.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its outline.
    pub rect: Rect,
    /// Lines of its text.
    pub label: Vec<String>,
    /// Text that appears when the pointer is on it.
    pub title: String,
    /// Name of the process, for `data-name`.
    pub name: String,
    /// Name of its kind, which determines its colour.
    pub kind: String,
    /// What the box stands for.
    pub form: Form,
    /// Fill colour that the user gave, in the syntax of Graphviz.
    pub color: Option<String>,
    /// Colour of its outline that the user gave, in the same syntax.
    pub outline: Option<String>,
}

/// What a box stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One process.
    One,
    /// Several processes: a second box is visible behind it.
    Many,
    /// Omitted processes: dots instead of a box.
    Dots,
    /// No process, but a bar: each line to it is joined to each line from it.
    Junction,
}

/// A line: channels.
#[derive(Clone, Debug)]
pub struct Path {
    /// Its points: straight, or bent with rounded corners.
    pub points: Vec<Point>,
    /// True if consecutive points that differ in both coordinates are joined by a curve that is
    /// horizontal (or vertical, for pictures from top to bottom) at both ends.
    pub curved: bool,
    /// What is at its end.
    pub end: Tip,
    /// True for an arrow at its start, too.
    pub two_way: bool,
    /// Text that appears when the pointer is on it.
    pub title: String,
    /// Names of the writer and the reader, for `data-from` and `data-to`. `NULL` for the
    /// environment.
    pub ends: [String; 2],
    /// Dashed: flow-controlled.
    pub dashed: bool,
    /// Width, from the traffic.
    pub width: f64,
    /// Colour that the user gave, in the syntax of Graphviz.
    pub color: Option<String>,
}

/// End of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tip {
    /// An arrow.
    Arrow,
    /// A dot: the environment.
    Dot,
}

/// Text at a line.
#[derive(Clone, Debug)]
pub struct Label {
    /// Space that it fills.
    pub rect: Rect,
    /// Its text.
    pub text: String,
}
