//! One level of a picture: items, which are boxes of nodes or frames of inner scopes, and lines
//! between their ports.
//!
//! A scope is laid out on its own, after the scopes of its items. Lines to items of other scopes
//! end at ports on the border of the scope; the scope around it continues them from there. So a
//! line is never drawn through what lies inside of another scope.
//!
//! The main direction of a layout is to the right: most lines leave a port on the right side and
//! arrive at a port on the left side. For pictures from top to bottom, sizes are transposed before
//! the layout, and positions after it.

use crate::geometry::{Point, Side, Size};

/// Contents of one level.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// Sizes of the boxes and frames. Labels and stubs of ports are outside of them.
    pub(crate) items: Vec<Size>,
    /// Ports of the items, and ports on the border of the scope.
    pub(crate) ports: Vec<Port>,
    /// Lines between ports.
    pub(crate) lines: Vec<Line>,
    /// Least positions of the columns of a matrix, so that rows in several scopes are aligned.
    pub(crate) least: Columns,
}

/// Positions of the columns of a matrix.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    /// Middle of each column. Empty if there are no wishes.
    pub(crate) middles: Vec<f64>,
    /// Width of the scope.
    pub(crate) width: f64,
}

/// A place where lines meet an item or the border.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port {
    /// The item. `None` for a port on the border of the scope.
    pub(crate) item: Option<usize>,
    /// Side of the item, or of the scope, on which the port is.
    pub(crate) side: Side,
    /// Distance of the port from the upper end (or left end) of its side, if it is fixed because
    /// the item is a frame whose inside has been laid out. Otherwise the layout chooses it. Always
    /// `None` for ports on the border.
    pub(crate) offset: Option<f64>,
    /// Size of the label beside the port, zero without a label. The label is outside of the item,
    /// at the beginning of the lines. Ports on the border have none.
    pub(crate) label: Size,
    /// True for a port joined to the environment: it has a stub of length [`STUB`] and no lines.
    pub(crate) stub: bool,
}

/// A line from a port to a port, in the direction of the tokens. Lines that share a port may share
/// their way from it, as a trunk with branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// Port of the writer.
    pub(crate) from: usize,
    /// Port of the reader.
    pub(crate) to: usize,
}

/// Positions in a scope, relative to its upper left corner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Laid {
    /// Size of the scope, with all items, labels, stubs and lines inside.
    pub(crate) size: Size,
    /// Upper left corner of each item.
    pub(crate) items: Vec<Point>,
    /// Position of each port: on a side of its item, or on the border.
    pub(crate) ports: Vec<Point>,
    /// Upper left corner of the label of each port. Irrelevant if there is none.
    pub(crate) labels: Vec<Point>,
    /// Points of each line, from the port of the writer to the port of the reader, both included.
    pub(crate) lines: Vec<Vec<Point>>,
}

impl Laid {
    /// Returns a layout in which nothing has a position yet.
    pub(crate) fn of(scope: &Scope) -> Laid {
        Laid {
            size: Size::default(),
            items: vec![Point::default(); scope.items.len()],
            ports: vec![Point::default(); scope.ports.len()],
            labels: vec![Point::default(); scope.ports.len()],
            lines: vec![Vec::new(); scope.lines.len()],
        }
    }
}

/// Length of the stub of a port that is joined to the environment.
pub(crate) const STUB: f64 = 16.0;
/// Least distance between two boxes, and between a box and a line that passes it.
pub(crate) const CLEARANCE: f64 = 10.0;
/// Least distance between two parallel lines.
pub(crate) const LANE: f64 = 7.0;
