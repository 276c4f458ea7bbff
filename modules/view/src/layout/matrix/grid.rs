//! Cells of a matrix, and the gaps between them: vertical corridors and horizontal lanes.
//!
//! Corridor `c` is to the left of column `c`, and lane `r` above row `r`. The last corridor is to
//! the right of the last column, and the last lane below the last row.

use super::super::scope::{Port, Scope};
use crate::geometry::Side;

/// Direction of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Axis {
    /// A vertical gap between two columns, or outside of them.
    Corridor,
    /// A horizontal gap between two rows, or outside of them.
    Lane,
}

/// The place where a port meets a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Access {
    pub(super) axis: Axis,
    /// Number of the corridor or lane.
    pub(super) gap: usize,
    /// The row, for a corridor, or the column, for a lane.
    pub(super) cell: usize,
    /// 0 if the port is at the left or upper end of the gap, 1 if it is at the other end.
    pub(super) end: usize,
}

/// Rows and columns of a scope, and the accesses of its ports.
pub(super) struct Grid {
    pub(super) columns: usize,
    pub(super) rows: usize,
    pub(super) items: usize,
    /// The access of each port.
    pub(super) access: Vec<Access>,
}

impl Access {
    /// Returns the face: the part of the gap that both ends of it at this cell share.
    pub(super) fn face(&self) -> (Axis, usize, usize) {
        (self.axis, self.gap, self.cell)
    }

    /// Returns true if both ports are at the same gap, on different ends.
    pub(super) fn is_opposite(&self, other: &Access) -> bool {
        (self.axis, self.gap) == (other.axis, other.gap) && self.end != other.end
    }
}

impl Grid {
    /// Returns the grid of a scope. A border port is at the median row or column of the items to
    /// which it has lines.
    pub(super) fn new(scope: &Scope, columns: usize) -> Grid {
        let columns = columns.clamp(1, scope.items.len().max(1));
        let mut grid = Grid {
            columns,
            rows: scope.items.len().div_ceil(columns).max(1),
            items: scope.items.len(),
            access: Vec::with_capacity(scope.ports.len()),
        };
        let mut others = vec![Vec::new(); scope.ports.len()];
        for line in &scope.lines {
            for (port, other) in [(line.from, line.to), (line.to, line.from)] {
                if let (None, Some(item)) = (scope.ports[port].item, scope.ports[other].item) {
                    others[port].push(item);
                }
            }
        }
        for (port, others) in scope.ports.iter().zip(&mut others) {
            let access = match port.item {
                Some(item) => grid.of_item(item, port.side),
                None => grid.of_border(others, port.side),
            };
            grid.access.push(access);
        }
        grid
    }

    fn of_item(&self, item: usize, side: Side) -> Access {
        let (row, column) = (item / self.columns, item % self.columns);
        let (axis, gap, cell, end) = match side {
            Side::Left => (Axis::Corridor, column, row, 1),
            Side::Right => (Axis::Corridor, column + 1, row, 0),
            Side::Top => (Axis::Lane, row, column, 1),
            Side::Bottom => (Axis::Lane, row + 1, column, 0),
        };
        Access {
            axis,
            gap,
            cell,
            end,
        }
    }

    fn of_border(&self, others: &mut [usize], side: Side) -> Access {
        let mut median = |of: &dyn Fn(usize) -> usize| {
            others.sort_unstable_by_key(|&item| (of(item), item));
            others
                .get(others.len().saturating_sub(1) / 2)
                .map_or(0, |&item| of(item))
        };
        let row = |item: usize| item / self.columns;
        let column = |item: usize| item % self.columns;
        let (axis, gap, cell, end) = match side {
            Side::Left => (Axis::Corridor, 0, median(&row), 0),
            Side::Right => (Axis::Corridor, self.columns, median(&row), 1),
            Side::Top => (Axis::Lane, 0, median(&column), 0),
            Side::Bottom => (Axis::Lane, self.rows, median(&column), 1),
        };
        Access {
            axis,
            gap,
            cell,
            end,
        }
    }

    /// Returns the item at one end of a face, if there is one.
    pub(super) fn item(
        &self,
        (axis, gap, cell): (Axis, usize, usize),
        end: usize,
    ) -> Option<usize> {
        let across = (gap + end).checked_sub(1)?;
        let (row, column) = match axis {
            Axis::Corridor => (cell, across),
            Axis::Lane => (across, cell),
        };
        let item = row * self.columns + column;
        (column < self.columns && item < self.items).then_some(item)
    }

    /// Returns the number of gaps of an axis.
    pub(super) fn gaps(&self, axis: Axis) -> usize {
        match axis {
            Axis::Corridor => self.columns + 1,
            Axis::Lane => self.rows + 1,
        }
    }

    /// Returns the number of cells along a gap of an axis.
    pub(super) fn cells(&self, axis: Axis) -> usize {
        match axis {
            Axis::Corridor => self.rows,
            Axis::Lane => self.columns,
        }
    }
}

/// Returns the position of a fixed port relative to the middle of its side.
pub(super) fn fixed(scope: &Scope, port: usize) -> Option<f64> {
    let port = &scope.ports[port];
    let size = scope.items[port.item?];
    let (axis, _) = axis_and_end(port);
    Some(port.offset? - [size.height, size.width][axis as usize] / 2.0)
}

/// Returns the axis of the gap beside a port, and the end of the gap that is at the port.
fn axis_and_end(port: &Port) -> (Axis, usize) {
    match port.side {
        Side::Right => (Axis::Corridor, 0),
        Side::Left => (Axis::Corridor, 1),
        Side::Bottom => (Axis::Lane, 0),
        Side::Top => (Axis::Lane, 1),
    }
}
