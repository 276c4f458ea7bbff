//! Ports of arcs at boxes, and lanes of the gaps between columns.

use super::contents::{Arc, Level};
use super::grid::{Cell, Corridor, Grid, LEFT_SHIFT, PITCH, Vertical};
use super::place::Class;
use super::route::{Route, middle, stacked};
use std::collections::BTreeMap;

/// Space between a lane and the border of a frame.
const MARGIN: f64 = 8.0;
/// Width of a gap between two columns without lanes, and of one with lanes, which may have labels.
const LEAST: f64 = 24.0;
const LABELLED: f64 = 60.0;
/// Strip of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Strip {
    /// Beside the boxes on the left, within the frames of this level: cache, socket, host, or
    /// outside of all frames.
    Left(usize),
    /// Between both columns.
    Middle,
    /// Beside the boxes on the right.
    Right(usize),
}

/// Number of lanes in each strip of a gap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gap {
    /// Distance between two lanes.
    pitch: f64,
    left: [usize; 4],
    middle: usize,
    right: [usize; 4],
    /// Whether an arc crosses the gap without a lane.
    crossed: bool,
}

/// Way of an arc: its ports, and its lanes in the gaps and the corridor.
#[derive(Clone, Debug)]
pub(crate) struct Way {
    pub(crate) gaps: [usize; 2],
    /// Vertical positions of the ports at the writer and the reader.
    pub(crate) ports: [f64; 2],
    /// Vertical position of the corridor, if there is one.
    pub(crate) corridor: f64,
    /// Lanes: none for a straight arc, one without a corridor, otherwise two.
    pub(crate) lanes: Vec<(Strip, usize)>,
}

/// An end of an arc at a side of a box.
struct Port {
    arc: usize,
    end: usize,
    order: (u8, f64),
}

/// A vertical part of an arc in a strip.
struct Segment {
    arc: usize,
    /// Index among the lanes of its way.
    index: usize,
    interval: (f64, f64),
    /// Lanes are assigned in ascending order.
    order: f64,
}

/// Returns the lanes of all gaps, and the ways of the arcs. `pitch` is the distance between lanes.
pub(crate) fn gaps(
    grid: &Grid<'_>,
    vertical: &Vertical,
    arcs: &[Arc],
    routes: &[Route],
    corridor_lanes: &[usize],
    pitch: f64,
) -> (Vec<Gap>, Vec<Way>) {
    let corridor = |arc: usize| {
        let corridor = routes[arc].corridor?;
        Some(vertical.corridor(corridor, corridor_lanes[arc]))
    };
    let ports = ports(grid, vertical, arcs, routes, &corridor);
    let gap = Gap {
        pitch,
        ..Gap::default()
    };
    let mut gaps = vec![gap; grid.gaps()];
    let mut ways = Vec::with_capacity(arcs.len());
    let mut strips: BTreeMap<(usize, Strip), Vec<Segment>> = BTreeMap::new();
    for (i, (arc, route)) in arcs.iter().zip(routes).enumerate() {
        let cells = [arc.from, arc.to].map(|b| grid.cells[b]);
        let mut way = Way {
            gaps: route.gaps,
            ports: ports[i],
            corridor: corridor(i).unwrap_or_default(),
            lanes: Vec::new(),
        };
        let [a, b] = way.ports;
        let level = level(arc, cells, route.corridor);
        let attached = |end: usize| match route.gaps[end] == cells[end].column {
            true => Strip::Right(level),
            false => Strip::Left(level),
        };
        let mut add = |gap, strip, from: f64, to: f64, order: f64| {
            strips.entry((gap, strip)).or_default().push(Segment {
                arc: i,
                index: way.lanes.len(),
                interval: (from.min(to), from.max(to)),
                order,
            });
            way.lanes.push((strip, 0));
        };
        let [from, to] = route.gaps;
        if route.corridor.is_some() {
            add(from, attached(0), a, way.corridor, (a - way.corridor).abs());
            add(to, attached(1), way.corridor, b, (b - way.corridor).abs());
        } else if cells[0].column == cells[1].column {
            add(from, attached(0), a, b, (a - b).abs());
        } else if a == b {
            gaps[from].crossed = true;
        } else {
            let (left, right) = if cells[0].column < from {
                (a, b)
            } else {
                (b, a)
            };
            // The order in which arcs between the same columns do not cross.
            let order = if left < right { -left } else { left };
            add(from, Strip::Middle, a, b, order);
        }
        ways.push(way);
    }
    for ((gap, strip), mut segments) in strips {
        segments.sort_by(|a, b| a.order.total_cmp(&b.order));
        let intervals: Vec<_> = segments.iter().map(|s| s.interval).collect();
        let lanes = stacked(&intervals, PITCH / 2.0 - 0.5);
        let count = lanes.iter().max().map_or(0, |most| most + 1);
        match strip {
            Strip::Left(level) => gaps[gap].left[level] = count,
            Strip::Middle => gaps[gap].middle = count,
            Strip::Right(level) => gaps[gap].right[level] = count,
        }
        for (segment, lane) in segments.into_iter().zip(lanes) {
            ways[segment.arc].lanes[segment.index].1 = lane;
        }
    }
    (gaps, ways)
}

/// Returns the level of the frames that contain an arc.
fn level(arc: &Arc, cells: [Cell; 2], corridor: Option<Corridor>) -> usize {
    if cells[0].root != cells[1].root || matches!(corridor, Some(Corridor::Top | Corridor::Bottom))
    {
        return 3;
    }
    match arc.class {
        Class::Cache => 0,
        Class::Socket => 1,
        _ => 2,
    }
}

/// Returns the vertical positions of the ports of each arc.
///
/// From top to bottom, a side has the arcs that lead up in this gap (the shortest first), the arcs
/// to the other column, and the arcs that lead down (the longest first). In this order, arcs of one
/// box seldom cross.
fn ports(
    grid: &Grid<'_>,
    vertical: &Vertical,
    arcs: &[Arc],
    routes: &[Route],
    corridor: &impl Fn(usize) -> Option<f64>,
) -> Vec<[f64; 2]> {
    let mut sides: BTreeMap<(usize, bool), Vec<Port>> = BTreeMap::new();
    for (i, (arc, route)) in arcs.iter().zip(routes).enumerate() {
        let blocks = [arc.from, arc.to];
        for end in 0..2 {
            let column = grid.cells[blocks[end]].column;
            let other = grid.cells[blocks[1 - end]].column;
            let own = middle(vertical, blocks[end]);
            let target = corridor(i).unwrap_or(middle(vertical, blocks[1 - end]));
            let far = (target - own).abs();
            let order = match route.corridor.is_none() && column != other {
                true => (1, target),
                false if target < own => (0, far),
                false => (2, -far),
            };
            let side = (blocks[end], route.gaps[end] != column);
            let port = Port { arc: i, end, order };
            sides.entry(side).or_default().push(port);
        }
    }
    let mut all = vec![[0.0; 2]; arcs.len()];
    for ((block, right), mut ports) in sides {
        ports.sort_by(|a, b| (a.order.0.cmp(&b.order.0)).then(a.order.1.total_cmp(&b.order.1)));
        let (top, bottom) = vertical.blocks[block];
        let slots = (((bottom - top) / PITCH) as usize).saturating_sub(1);
        // Two slots apart, a number has room.
        let stride = if 2 * ports.len() <= slots { 2 } else { 1 };
        let used = stride * ports.len().saturating_sub(1) + 1;
        let first = slots.saturating_sub(used) / 2 + 1;
        let shift = if right { 0.0 } else { LEFT_SHIFT };
        for (slot, port) in ports.iter().enumerate() {
            all[port.arc][port.end] = top + (first + slot * stride) as f64 * PITCH - shift;
        }
    }
    // Arcs between neighbours in a row are straight, unless only one is high enough.
    for (i, (arc, route)) in arcs.iter().zip(routes).enumerate() {
        let cells = [arc.from, arc.to].map(|b| grid.cells[b]);
        if route.corridor.is_none() && cells[0].row == cells[1].row {
            let left = usize::from(cells[1].column < cells[0].column);
            let right = if left == 0 { arc.to } else { arc.from };
            let (top, bottom) = vertical.blocks[right];
            let y = all[i][left];
            if top < y && y < bottom {
                all[i] = [y; 2];
            }
        }
    }
    all
}

impl Gap {
    /// Returns the distance between the boxes and the border of the frames of a level, or between
    /// the boxes and the middle without one. `levels` has the levels of the frames on this side.
    fn inset(&self, left: bool, level: Option<usize>, levels: [bool; 3]) -> f64 {
        let lanes = if left { &self.left } else { &self.right };
        let mut x = 0.0;
        for (l, &count) in lanes.iter().enumerate() {
            if count > 0 {
                x += count as f64 * self.pitch + 2.0;
            }
            if l < 3 && levels[l] {
                x += MARGIN;
            }
            if level == Some(l) {
                return x;
            }
        }
        x
    }

    /// Returns the distance between the boxes and the border of the frames of a level.
    pub(crate) fn border(&self, left: bool, level: Level, levels: [bool; 3]) -> f64 {
        let level = match level {
            Level::Cache => 0,
            Level::Socket => 1,
            Level::Host => 2,
        };
        self.inset(left, Some(level), levels)
    }

    /// Returns the width of the gap between frames with these levels.
    pub(crate) fn width(&self, left: [bool; 3], right: [bool; 3], outside: bool) -> f64 {
        let inset = self.inset(true, None, left) + self.inset(false, None, right);
        if outside {
            return inset + 2.0;
        }
        let middle = match self.middle {
            0 if left[2] || right[2] => MARGIN,
            0 => 0.0,
            lanes => (lanes + 1) as f64 * self.pitch,
        };
        let least = match self.middle > 0 || self.crossed {
            true => LABELLED,
            false => LEAST,
        };
        (inset + middle).max(least)
    }

    /// Returns the horizontal position of a lane in a gap from `ends.0` to `ends.1`.
    pub(crate) fn lane(
        &self,
        strip: Strip,
        lane: usize,
        left: [bool; 3],
        right: [bool; 3],
        ends: (f64, f64),
    ) -> f64 {
        let off = (lane + 1) as f64 * self.pitch;
        let before = |side: bool, level: usize, levels| match level {
            0 => 0.0,
            _ => self.inset(side, Some(level - 1), levels),
        };
        match strip {
            Strip::Left(level) => ends.0 + before(true, level, left) + off,
            Strip::Right(level) => ends.1 - before(false, level, right) - off,
            Strip::Middle => {
                let from = ends.0 + self.inset(true, None, left);
                let to = ends.1 - self.inset(false, None, right);
                let used = (self.middle + 1) as f64 * self.pitch;
                from + (to - from - used) / 2.0 + off
            }
        }
    }
}
