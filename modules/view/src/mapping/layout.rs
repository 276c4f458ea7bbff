//! Positions of frames and boxes, and ways of arcs.
//!
//! Boxes are in columns. Frames of hosts are stacked in *groups* of columns. Arcs lead from the
//! side of a box into the *gap* beside its column. If both boxes are at one gap, the arc has one
//! vertical segment there. Otherwise a *corridor*, which is above a row of boxes or outside of all
//! frames, leads to the gap of the other box. Therefore arcs do not cross boxes or labels of
//! frames.
//!
//! The steps are: routes on estimated positions, lanes of the corridors, vertical positions, lanes
//! of the gaps, horizontal positions. No step changes the result of an earlier one.

use super::block::WIDTH;
use super::contents::{Arc, Contents, Frame};
use super::gap::gaps;
use super::grid::{Grid, Needs, Piece, Shape, levels};
use super::numbers::pitch;
use super::route::{Route, corridor_lanes, routes};
use crate::geometry::{Point, Rect, Size};

/// Positions of all elements.
#[derive(Clone, Debug)]
pub(crate) struct Laid<'a> {
    pub(crate) size: Size,
    /// Frames, outer ones first.
    pub(crate) frames: Vec<(Rect, &'a Frame)>,
    /// Left side of the label of each frame.
    pub(crate) labels: Vec<f64>,
    pub(crate) blocks: Vec<Rect>,
    /// Points of the arcs, as many as were asked for.
    pub(crate) arcs: Vec<Vec<Point>>,
    /// Number of frames that arcs cross and that contain neither of their boxes.
    pub(crate) foreign: usize,
}

/// Returns the positions of all frames and boxes, and of the first `arcs` arcs.
pub(crate) fn layout<'a>(contents: &'a Contents, shape: Shape, arcs: usize) -> Laid<'a> {
    let grid = Grid::of(contents, shape);
    let arcs = &contents.arcs[..arcs.min(contents.arcs.len())];
    let estimate = grid.vertical(&Needs::default());
    let routes: Vec<Route> = routes(&grid, &estimate, arcs);
    let mut needs = Needs {
        ports: vec![0; contents.blocks.len()],
        rows: vec![0; grid.rows.len()],
        ..Needs::default()
    };
    let lanes = corridor_lanes(&routes, &mut needs);
    count_ports(&grid, &routes, arcs, &mut needs.ports);
    let vertical = grid.vertical(&needs);
    let (gaps, ways) = gaps(&grid, &vertical, arcs, &routes, &lanes, pitch(contents));
    // Left sides of the columns, and of the gaps.
    let mut x = 0.0;
    let mut columns = Vec::new();
    let mut lefts = Vec::new();
    let levels = grid.groups.iter().map(|pieces| levels(pieces));
    let levels: Vec<[bool; 3]> = levels.collect();
    let borders = |gap: usize| {
        let edge = gap.is_multiple_of(shape.columns);
        let group = gap / shape.columns;
        let left = group.checked_sub(1).filter(|_| edge).map(|g| levels[g]);
        let right = levels.get(group).filter(|_| edge).copied();
        (left.unwrap_or_default(), right.unwrap_or_default())
    };
    for (i, gap) in gaps.iter().enumerate() {
        lefts.push(x);
        let (left, right) = borders(i);
        x += gap.width(left, right, i == 0 || i + 1 == gaps.len());
        columns.push(x);
        if i + 1 < gaps.len() {
            x += WIDTH;
        }
    }
    let lane = |gap: usize, strip, lane| {
        let (left, right) = borders(gap);
        gaps[gap].lane(strip, lane, left, right, (lefts[gap], columns[gap]))
    };
    let side = |block: usize, gap: usize| {
        let column = grid.cells[block].column;
        columns[column] + if gap == column { 0.0 } else { WIDTH }
    };
    let arcs = arcs.iter().zip(&ways).map(|(arc, way)| {
        let ends = [arc.from, arc.to];
        let mut points = Vec::new();
        let start = side(ends[0], way.gaps[0]);
        points.push(Point::new(start, way.ports[0]));
        for (i, &(strip, l)) in way.lanes.iter().enumerate() {
            let x = lane(way.gaps[i], strip, l);
            let (from, to) = match (way.lanes.len(), i) {
                (1, _) => (way.ports[0], way.ports[1]),
                (_, 0) => (way.ports[0], way.corridor),
                _ => (way.corridor, way.ports[1]),
            };
            points.push(Point::new(x, from));
            points.push(Point::new(x, to));
        }
        points.push(Point::new(side(ends[1], way.gaps[1]), way.ports[1]));
        points.dedup();
        points
    });
    let arcs = arcs.collect();
    let blocks = grid.cells.iter().zip(&vertical.blocks);
    let blocks = blocks.map(|(cell, &(top, bottom))| {
        let at = Point::new(columns[cell.column], top);
        Rect::new(at, Size::new(WIDTH, bottom - top))
    });
    let blocks = blocks.collect();
    let (mut frames, mut labels) = (Vec::new(), Vec::new());
    for (group, pieces) in grid.groups.iter().enumerate() {
        let first = group * shape.columns;
        let last = first + shape.columns;
        for piece in pieces {
            if let Piece::Open(frame) = piece {
                let (top, bottom) = vertical.frames[frames.len()];
                let left =
                    columns[first] - gaps[first].border(false, frame.level, borders(first).1);
                let right = lefts[last] + gaps[last].border(true, frame.level, borders(last).0);
                let size = Size::new(right - left, bottom - top);
                frames.push((Rect::new(Point::new(left, top), size), *frame));
                labels.push(columns[first]);
            }
        }
    }
    Laid {
        size: Size::new(x, vertical.height),
        frames,
        labels,
        blocks,
        arcs,
        foreign: routes.iter().map(|route| route.foreign).sum(),
    }
}

impl Laid<'_> {
    /// Returns the number of crossings of arcs. Compares all segments with each other: few arcs are
    /// drawn.
    pub(crate) fn crossings(&self) -> usize {
        let segments: Vec<[Point; 2]> = self
            .arcs
            .iter()
            .flat_map(|points| points.windows(2).map(|s| [s[0], s[1]]))
            .collect();
        let level = |s: &&[Point; 2]| s[0].y == s[1].y;
        let (across, down): (Vec<_>, Vec<_>) = segments.iter().partition(level);
        let inside = |x: f64, [a, b]: [f64; 2]| a.min(b) < x && x < a.max(b);
        let crossed = |[a, b]: &[Point; 2]| {
            let crosses =
                |[c, d]: &&&[Point; 2]| inside(c.x, [a.x, b.x]) && inside(a.y, [c.y, d.y]);
            down.iter().filter(crosses).count()
        };
        across.into_iter().map(crossed).sum()
    }
}

/// Counts the ports on the fuller side of each box.
fn count_ports(grid: &Grid<'_>, routes: &[Route], arcs: &[Arc], most: &mut [usize]) {
    let mut ports = vec![[0; 2]; most.len()];
    for (arc, route) in arcs.iter().zip(routes) {
        for (block, gap) in [arc.from, arc.to].into_iter().zip(route.gaps) {
            ports[block][usize::from(gap != grid.cells[block].column)] += 1;
        }
    }
    for (most, ports) in most.iter_mut().zip(ports) {
        *most = ports[0].max(ports[1]);
    }
}
