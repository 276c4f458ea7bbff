//! Routes of arcs through gaps and corridors, and the lanes of corridors.

use super::contents::Arc;
use super::grid::{Corridor, Grid, Needs, Vertical};
use std::collections::BTreeMap;

/// Cost of a route through a corridor, apart from its length.
const CORNERS: f64 = 60.0;
/// Estimated distance between two gaps.
const COLUMN: f64 = 260.0;

/// Cost of each frame that a route crosses and that contains neither of its boxes. A detour is
/// always cheaper.
const FOREIGN: f64 = 1e9;

/// Gaps beside the two boxes, and the corridor between the gaps if they differ.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route {
    pub(crate) gaps: [usize; 2],
    pub(crate) corridor: Option<Corridor>,
    /// Number of frames that it crosses and that contain neither of its boxes.
    pub(crate) foreign: usize,
}

/// Returns the shortest route of each arc.
pub(crate) fn routes(grid: &Grid<'_>, estimate: &Vertical, arcs: &[Arc]) -> Vec<Route> {
    let last = grid.gaps() - 1;
    let columns = grid.shape.columns;
    arcs.iter()
        .map(|arc| {
            let cells = [arc.from, arc.to].map(|b| grid.cells[b]);
            let [a, b] = [arc.from, arc.to].map(|b| middle(estimate, b));
            let mut best: Option<(f64, Route)> = None;
            let rows = cells.map(|cell| cell.row);
            let mut offer = |cost: f64, gaps, corridor| {
                let foreign = grid.foreign(gaps, corridor, rows);
                let cost = cost + foreign as f64 * FOREIGN;
                let route = Route {
                    gaps,
                    corridor,
                    foreign,
                };
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, route));
                }
            };
            // In a column, arcs lead down on the right, and up on the left.
            let right = usize::from(b > a);
            for from in [cells[0].column + right, cells[0].column + 1 - right] {
                for to in [cells[1].column + right, cells[1].column + 1 - right] {
                    let gaps = [from, to];
                    if from == to {
                        offer((a - b).abs(), gaps, None);
                        continue;
                    }
                    let (low, high) = (from.min(to), from.max(to));
                    let across = (high - low) as f64 * COLUMN + CORNERS;
                    let mut through = |corridor| {
                        let y = estimate.corridor(corridor, 0);
                        let cost = (a - y).abs() + (b - y).abs() + across;
                        offer(cost, gaps, Some(corridor));
                    };
                    through(Corridor::Top);
                    through(Corridor::Bottom);
                    for (row, group) in grid.rows.iter().enumerate() {
                        if low >= group * columns && high <= (group + 1) * columns {
                            through(Corridor::Row(row));
                        }
                    }
                }
            }
            let route = best.map(|(_, route)| route);
            route.unwrap_or(Route {
                gaps: [0, last],
                corridor: Some(Corridor::Top),
                foreign: 0,
            })
        })
        .collect()
}

/// Returns the vertical middle of a box.
pub(crate) fn middle(vertical: &Vertical, block: usize) -> f64 {
    let (top, bottom) = vertical.blocks[block];
    (top + bottom) / 2.0
}

/// Returns the lane of each route in its corridor, and adds the numbers of lanes to `needs`.
pub(crate) fn corridor_lanes(routes: &[Route], needs: &mut Needs) -> Vec<usize> {
    let mut lanes = vec![0; routes.len()];
    let mut by_corridor: BTreeMap<Corridor, Vec<usize>> = BTreeMap::new();
    for (arc, route) in routes.iter().enumerate() {
        if let Some(corridor) = route.corridor {
            by_corridor.entry(corridor).or_default().push(arc);
        }
    }
    for (corridor, mut arcs) in by_corridor {
        let span = |&arc: &usize| {
            let [a, b] = routes[arc].gaps;
            (a.min(b) as f64, a.max(b) as f64)
        };
        arcs.sort_by_key(|arc| routes[*arc].gaps[0].abs_diff(routes[*arc].gaps[1]));
        let spans: Vec<_> = arcs.iter().map(span).collect();
        let found = stacked(&spans, 0.0);
        let count = found.iter().max().map_or(0, |most| most + 1);
        match corridor {
            Corridor::Top => needs.top = count,
            Corridor::Bottom => needs.bottom = count,
            Corridor::Row(row) => needs.rows[row] = count,
        }
        arcs.iter()
            .zip(found)
            .for_each(|(&arc, lane)| lanes[arc] = lane);
    }
    lanes
}

/// Returns a lane for each interval: the first after the lanes of the earlier intervals that it
/// overlaps. Takes quadratic time, which is little because few arcs are drawn.
pub(crate) fn stacked(intervals: &[(f64, f64)], space: f64) -> Vec<usize> {
    let mut lanes: Vec<usize> = Vec::with_capacity(intervals.len());
    for (i, &(low, high)) in intervals.iter().enumerate() {
        let before = intervals[..i].iter().zip(&lanes);
        let overlapping = before.filter(|((l, h), _)| low <= h + space && *l <= high + space);
        let lane = overlapping.map(|(_, lane)| lane + 1).max();
        lanes.push(lane.unwrap_or(0));
    }
    lanes
}
