//! Layout of items in rows and columns, with straight lines between neighbours and a channel
//! router for all other lines.
//!
//! Between columns there are vertical corridors, and between rows horizontal lanes ([`grid`]).
//! [`routes`] chooses the corridors and lanes of each line. [`pins`] places ports and labels along
//! the sides of the items. [`tracks`] chooses parallel tracks, first in the lanes and then, as all
//! vertical positions are known, in the corridors. Lines run only in the gaps, so that none is
//! drawn through an item.

use super::scope::{CLEARANCE, Columns, LANE, Laid, Scope};
use crate::geometry::{Point, Side, Size};
use grid::{Axis, Grid};
use pins::{Pin, Pins};
use routes::{Routes, Segment, Tap, Way};
use tracks::Span;

mod grid;
mod pins;
mod routes;
mod tracks;

#[cfg(test)]
mod tests;

/// Returns the sides of the ports of a line from item `from` to item `to`.
///
/// In several rows and columns, a line to an item of the same row that is not the next is an arc
/// above or below the row, and a line in a column is an arc beside it. Arcs over blocks of a
/// different power of two of items are on different sides, as far as possible, so that few of them
/// cross. The smallest are at the side that is nearer to the rim.
#[must_use]
pub(crate) fn sides(columns: usize, items: usize, from: usize, to: usize) -> [Side; 2] {
    let columns = columns.max(1);
    let rows = items.div_ceil(columns);
    let [a, b] = [from, to].map(|item| (item / columns, item % columns));
    let right_of =
        |a: usize, b: usize| b.checked_sub(a) == Some(1) && !b.is_multiple_of(columns) && b < items;
    let below = |a: usize, b: usize| b.checked_sub(a) == Some(columns) && b < items;
    // From the row above the last one, around its end, to the last item of all.
    let closes = |from: usize, to: usize| {
        to == items.wrapping_sub(1)
            && to / columns == from / columns + 1
            && to / columns + 1 == rows
            && from % columns > to % columns
    };
    if right_of(from, to) {
        [Side::Right, Side::Left]
    } else if right_of(to, from) {
        [Side::Left, Side::Right]
    } else if below(from, to) {
        [Side::Bottom, Side::Top]
    } else if below(to, from) {
        [Side::Top, Side::Bottom]
    } else if closes(from, to) {
        [Side::Bottom, Side::Right]
    } else if closes(to, from) {
        [Side::Right, Side::Bottom]
    } else if a.0.abs_diff(b.0) == 1 && a.1.checked_sub(b.1) == Some(1) {
        // A diagonal to the left.
        [Side::Left, Side::Right]
    } else if rows > 1 && columns > 1 && a.0 == b.0 && a.1 != b.1 {
        let bit = (a.1 ^ b.1).ilog2();
        match (bit % 2 == 1) == (a.0 < rows / 2) {
            true => [Side::Top; 2],
            false => [Side::Bottom; 2],
        }
    } else if rows > 1 && columns > 1 && a.1 == b.1 && a.0 != b.0 {
        let bit = (a.0 ^ b.0).ilog2();
        match (bit % 2 == 1) == (a.1 < columns / 2) {
            true => [Side::Left; 2],
            false => [Side::Right; 2],
        }
    } else {
        [Side::Right, Side::Left]
    }
}

/// Returns the positions of a scope whose items fill rows of this many columns. Takes
/// O(*n* log *n*) for *n* items, ports and lines.
///
/// # Panics
/// Panics if a port refers to an item that does not exist, or a line to such a port.
#[must_use]
pub(crate) fn layout(scope: &Scope, columns: usize) -> Laid {
    let grid = Grid::new(scope, columns);
    let routes = Routes::new(scope, &grid);
    let mut pins = Pins::new(scope, &grid, &routes);
    let lanes = lane_spans(&grid, &routes, &pins);
    let none = Columns::default();
    let lanes = Gaps::new(Axis::Lane, &grid, &routes, &mut pins, &lanes, (0.0, &none));
    let corridors = corridor_spans(&grid, &routes, &pins, &lanes);
    let corridors = Gaps::new(
        Axis::Corridor,
        &grid,
        &routes,
        &mut pins,
        &corridors,
        (LANE - 1e-6, &scope.least),
    );
    Writer {
        scope,
        grid: &grid,
        routes: &routes,
        pins: &pins.pins,
        gaps: [corridors, lanes],
    }
    .laid()
}

/// Returns the extents of the segments in lanes. Horizontal positions are not known yet, so that
/// a segment that ends in a corridor fills its width: gap `g` is at `2 g`, and the cell after it
/// at `2 g + 1`.
fn lane_spans(grid: &Grid, routes: &Routes, pins: &Pins) -> Vec<Span> {
    const HALF_CORRIDOR: f64 = 0.4;
    let most = pins
        .pins
        .iter()
        .map(|pin| pin.line.abs())
        .fold(1.0, f64::max);
    let corridors = &routes.segments[Axis::Corridor as usize];
    let at = |tap: &Tap| match *tap {
        Tap::Port(port) => {
            let cell = 2 * grid.access[port].cell + 1;
            (cell as f64 + pins.pins[port].line / most / 2.0, 0.0)
        }
        Tap::Segment(other) => ((2 * corridors[other].gap) as f64, HALF_CORRIDOR),
    };
    let lanes = &routes.segments[Axis::Lane as usize];
    lanes.iter().map(|lane| Span::new(lane, at)).collect()
}

/// Returns the extents of the segments in corridors.
fn corridor_spans(grid: &Grid, routes: &Routes, pins: &Pins, lanes: &Gaps) -> Vec<Span> {
    let at = |tap: &Tap| match *tap {
        Tap::Port(port) => {
            let middle = lanes.middles[grid.access[port].cell];
            (middle + pins.pins[port].line, 0.0)
        }
        Tap::Segment(other) => (lanes.segments[other], 0.0),
    };
    let corridors = &routes.segments[Axis::Corridor as usize];
    corridors
        .iter()
        .map(|corridor| Span::new(corridor, at))
        .collect()
}

impl Span {
    /// Returns the span of a segment whose taps are at these positions, plus and minus a distance.
    fn new(segment: &Segment, at: impl Fn(&Tap) -> (f64, f64)) -> Span {
        let mut span = Span {
            low: f64::INFINITY,
            high: f64::NEG_INFINITY,
            side: segment.side,
            taps: Vec::with_capacity(segment.taps.len()),
        };
        for (tap, end) in &segment.taps {
            let (at, half) = at(tap);
            span.low = span.low.min(at - half);
            span.high = span.high.max(at + half);
            span.taps.push((at, *end));
        }
        span
    }
}

/// Positions across the gaps of an axis.
struct Gaps {
    /// First and last track of each gap, or the ends of slanted lines.
    tracks: Vec<[f64; 2]>,
    /// Position of each segment.
    segments: Vec<f64>,
    /// Middle of each column or row.
    middles: Vec<f64>,
    /// End of the last gap.
    size: f64,
}

impl Gaps {
    fn new(
        axis: Axis,
        grid: &Grid,
        routes: &Routes,
        pins: &mut Pins,
        spans: &[Span],
        (distance, least): (f64, &Columns),
    ) -> Gaps {
        let segments = &routes.segments[axis as usize];
        let mut members = vec![Vec::new(); grid.gaps(axis)];
        for (i, segment) in segments.iter().enumerate() {
            members[segment.gap].push(i);
        }
        let sizes = [&pins.widths, &pins.heights][axis as usize];
        let mut gaps = Gaps {
            tracks: Vec::new(),
            segments: vec![0.0; segments.len()],
            middles: Vec::new(),
            size: 0.0,
        };
        for (gap, members) in members.iter().enumerate() {
            let own: Vec<Span> = members.iter().map(|&i| spans[i].clone()).collect();
            let (track, used) = tracks::assign(&own, distance);
            let last = used.saturating_sub(1);
            let slanted = routes.slanted[axis as usize][gap];
            let [before, after] = pins.zones[axis as usize][gap].map(|zone| {
                if used > 0 || slanted {
                    zone.max(CLEARANCE)
                } else {
                    zone
                }
            });
            let start = gaps.size + before;
            let width = LANE * last as f64;
            let width = if slanted {
                width.max(3.0 * LANE)
            } else {
                width
            };
            for ((&segment, track), span) in members.iter().zip(track).zip(&own) {
                gaps.segments[segment] = if span.side > 0 {
                    start + width - LANE * (last - track) as f64
                } else {
                    start + LANE * track as f64
                };
            }
            gaps.tracks.push([start, start + width]);
            gaps.size = start + width + after;
            if let Some(size) = sizes.get(gap) {
                let wished = least.middles.get(gap).copied().unwrap_or_default();
                gaps.size = gaps.size.max(wished - size / 2.0);
                gaps.middles.push(gaps.size + size / 2.0);
                gaps.size += size;
            }
        }
        gaps.size = gaps.size.max(least.width);
        gaps
    }
}

/// Writes positions that relate to rows and columns as points.
struct Writer<'a> {
    scope: &'a Scope,
    grid: &'a Grid,
    routes: &'a Routes,
    pins: &'a [Pin],
    gaps: [Gaps; 2],
}

impl Writer<'_> {
    fn laid(&self) -> Laid {
        let [corridors, lanes] = &self.gaps;
        let item = |(i, size): (usize, &Size)| {
            let (row, column) = (i / self.grid.columns, i % self.grid.columns);
            Point::new(
                corridors.middles[column] - size.width / 2.0,
                lanes.middles[row] - size.height / 2.0,
            )
        };
        let items: Vec<Point> = self.scope.items.iter().enumerate().map(item).collect();
        let ports = 0..self.scope.ports.len();
        let lines = self.scope.lines.iter().zip(&self.routes.ways);
        Laid {
            size: Size::new(corridors.size, lanes.size),
            ports: ports
                .clone()
                .map(|port| self.at(port, 0.0, self.pins[port].port))
                .collect(),
            labels: ports.map(|port| self.label(port)).collect(),
            lines: lines
                .map(|(line, way)| self.points([line.from, line.to], way))
                .collect(),
            items,
        }
    }

    /// Returns the point at a distance from the side of a port, and at a position along it.
    fn at(&self, port: usize, distance: f64, along: f64) -> Point {
        let access = self.grid.access[port];
        let side = match self.scope.ports[port].item {
            Some(item) => {
                let size = self.scope.items[item];
                let half = [size.width, size.height][access.axis as usize] / 2.0;
                let middles = &self.gaps[access.axis as usize].middles;
                match access.end {
                    0 => middles[access.gap - 1] + half,
                    _ => middles[access.gap] - half,
                }
            }
            None if access.end == 0 => 0.0,
            None => self.gaps[access.axis as usize].size,
        };
        let across = match access.end {
            0 => side + distance,
            _ => side - distance,
        };
        self.point(port, across, along)
    }

    /// Returns the point at a position across the gap of a port, and at a position along it.
    fn point(&self, port: usize, across: f64, along: f64) -> Point {
        let access = self.grid.access[port];
        let along = self.gaps[1 - access.axis as usize].middles[access.cell] + along;
        match access.axis {
            Axis::Corridor => Point::new(across, along),
            Axis::Lane => Point::new(along, across),
        }
    }

    fn label(&self, port: usize) -> Point {
        let pin = self.pins[port];
        let access = self.grid.access[port];
        let size = self.scope.ports[port].label;
        let across = [size.width, size.height][access.axis as usize] * access.end as f64;
        self.at(port, pin.label_distance + across, pin.label)
    }

    /// Returns the points from a port to where its line crosses the gap.
    fn lead(&self, port: usize) -> Vec<Point> {
        let pin = self.pins[port];
        let mut points = vec![self.at(port, 0.0, pin.port)];
        if pin.port != pin.line {
            points.push(self.at(port, pin.bend, pin.port));
            points.push(self.at(port, pin.bend, pin.line));
        }
        points
    }

    fn points(&self, ends: [usize; 2], way: &Way) -> Vec<Point> {
        let [mut points, mut last] = ends.map(|port| self.lead(port));
        match way {
            Way::Loop => last.truncate(1),
            Way::Straight => {}
            Way::Slant => points.extend(ends.map(|port| {
                let access = self.grid.access[port];
                let across = self.gaps[access.axis as usize].tracks[access.gap][access.end];
                self.point(port, across, self.pins[port].line)
            })),
            Way::Segments(way) => points.extend(self.bends(ends, way)),
        }
        if matches!(way, Way::Loop) {
            points.truncate(1);
        }
        last.reverse();
        points.append(&mut last);
        simplified(&points)
    }

    /// Returns the points at which a line changes between ports and segments.
    fn bends(&self, ends: [usize; 2], way: &[(Axis, usize)]) -> Vec<Point> {
        let position =
            |&(axis, segment): &(Axis, usize)| self.gaps[axis as usize].segments[segment];
        let mut points = Vec::with_capacity(way.len() + 1);
        points.extend(
            way.first()
                .map(|segment| self.point(ends[0], position(segment), self.pins[ends[0]].line)),
        );
        points.extend(way.windows(2).map(|pair| match pair[0].0 {
            Axis::Corridor => Point::new(position(&pair[0]), position(&pair[1])),
            Axis::Lane => Point::new(position(&pair[1]), position(&pair[0])),
        }));
        points.extend(
            way.last()
                .map(|segment| self.point(ends[1], position(segment), self.pins[ends[1]].line)),
        );
        points
    }
}

/// Removes points between others on a horizontal or vertical line.
fn simplified(points: &[Point]) -> Vec<Point> {
    let mut simple: Vec<Point> = Vec::with_capacity(points.len());
    for (i, &point) in points.iter().enumerate() {
        if simple.last() == Some(&point) && i + 1 < points.len() {
            continue;
        }
        if let [.., a, b] = simple[..]
            && (a.x == b.x && b.x == point.x || a.y == b.y && b.y == point.y)
        {
            simple.pop();
        }
        if simple.last() != Some(&point) || simple.len() < 2 {
            simple.push(point);
        }
    }
    simple
}
