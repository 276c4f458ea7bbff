//! Ports on the sides of items: their order, their positions, and the rows of their lines.
//!
//! Beside an item, in the width of its layer, the line of each port runs straight in a *row*. The
//! row is level with its port, unless ports with fixed offsets are too close for their labels. Then
//! the lines spread between the item and the labels.

use super::graph::{End, Graph, Node, Ports};
use crate::geometry::{Side, Size};
use crate::layout::scope::{CLEARANCE, LANE, STUB, Scope};
use rustc_hash::FxHashMap;

/// Distance of a label from its line and from the item.
pub(super) const PAD: f64 = 2.0;

/// Returns the least height of an item with ports that have these labels on one side, so that the
/// labels do not touch each other's lines. A zero size is a port without a label.
#[must_use]
pub(crate) fn least_height(labels: &[Size]) -> f64 {
    labels
        .iter()
        .map(|label| LANE.max(label.height + 2.0 * PAD))
        .sum::<f64>()
        + LANE
}

/// Positions on one side of an item, relative to its upper left corner.
#[derive(Clone, Debug, Default)]
pub(super) struct Flank {
    /// Ports from top to bottom.
    pub(super) ports: Vec<usize>,
    /// Width of the room in which lines spread from ports to rows.
    pub(super) fan: f64,
    /// Width of all room beside the item: spread, labels, stubs.
    pub(super) room: f64,
}

/// Ports of all items of a part.
#[derive(Clone, Debug, Default)]
pub(super) struct Sides {
    /// Left and right side of each node. Empty for border ports and dummies.
    pub(super) flanks: Vec<[Flank; 2]>,
    /// Vertical extent of each node with its rows and labels, relative to its top.
    pub(super) extent: Vec<[f64; 2]>,
}

/// Returns the room that a port needs above and below its row.
fn reach(scope: &Scope, ports: &Ports, port: usize) -> [f64; 2] {
    let Size { width, height } = scope.ports[port].label;
    if width <= 0.0 || height <= 0.0 {
        [0.0, 0.0]
    } else if ports.lines[port] == 0 && !scope.ports[port].stub {
        [height / 2.0, height / 2.0]
    } else {
        [height + PAD, 0.0]
    }
}

/// Positions of the ports of a scope, which each part sets for its items.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// Distance of each port from the left and the upper side of its item.
    pub(super) port: Vec<[f64; 2]>,
    /// Distance of the row of each port from the top of its item.
    pub(super) row: Vec<f64>,
}

impl Rows {
    /// Returns the distance of the row of an end from the top of its node.
    pub(super) fn of(&self, end: End) -> f64 {
        end.port.map_or(0.0, |port| self.row[port])
    }
}

impl Sides {
    /// Orders the ports without fixed offset by the far ends of their lines in an ordered graph,
    /// and places all ports.
    pub(super) fn new(
        scope: &Scope,
        ports: &Ports,
        graph: &Graph,
        far: &[f64],
        rows: &mut Rows,
    ) -> Sides {
        let mut sides = Sides {
            flanks: vec![[Flank::default(), Flank::default()]; graph.nodes.len()],
            extent: vec![[0.0; 2]; graph.nodes.len()],
        };
        for (node, kind) in graph.nodes.iter().enumerate() {
            let Node::Item(item) = *kind else { continue };
            for &port in &ports.of[item] {
                let side = usize::from(ports.hand[port] == Side::Right);
                sides.flanks[node][side].ports.push(port);
            }
            for side in 0..2 {
                sort(
                    scope,
                    ports,
                    far,
                    &|_| 0.0,
                    side,
                    &mut sides.flanks[node][side].ports,
                );
            }
        }
        // Ports with the same far item follow the order of its ports.
        for side in 0..2 {
            let place = sides.far_places(graph, side);
            let place = |port: usize| place.get(&port).copied().unwrap_or(0.0);
            for flanks in &mut sides.flanks {
                sort(scope, ports, far, &place, side, &mut flanks[side].ports);
            }
        }
        for (node, kind) in graph.nodes.iter().enumerate() {
            let Node::Item(item) = *kind else { continue };
            for side in 0..2 {
                sides.place(scope, [item, node, side], ports, rows);
            }
        }
        sides
    }

    /// Returns the mean place of the far ends of each port on a side among the ports of their
    /// items.
    fn far_places(&self, graph: &Graph, side: usize) -> FxHashMap<usize, f64> {
        let mut places: FxHashMap<usize, f64> = FxHashMap::default();
        for flanks in &self.flanks {
            let ports = flanks[1 - side].ports.iter().zip(0_u32..);
            places.extend(ports.map(|(&port, place)| (port, f64::from(place))));
        }
        let mut sums: FxHashMap<usize, (f64, f64)> = FxHashMap::default();
        for link in &graph.links {
            if let (Some(port), Some(far)) = (link[1 - side].port, link[side].port)
                && let Some(place) = places.get(&far)
            {
                let sum = sums.entry(port).or_default();
                *sum = (sum.0 + place, sum.1 + 1.0);
            }
        }
        sums.into_iter()
            .map(|(port, (sum, count))| (port, sum / count))
            .collect()
    }

    /// Moves free ports level with the far ends of their lines, where their order and distances
    /// allow it. `y` are the positions of the nodes.
    pub(super) fn settle(
        &self,
        scope: &Scope,
        ports: &Ports,
        graph: &Graph,
        y: &[f64],
        rows: &mut Rows,
    ) {
        for side in [1, 0] {
            let mut far = FxHashMap::default();
            for link in &graph.links {
                let (near, other) = (link[1 - side], link[side]);
                if let Some(port) = near.port {
                    let level = y[other.node] + rows.of(other) - y[near.node];
                    let sum: &mut (f64, f64) = far.entry(port).or_default();
                    *sum = (sum.0 + level, sum.1 + 1.0);
                }
            }
            for (node, kind) in graph.nodes.iter().enumerate() {
                if let Node::Item(item) = *kind {
                    let flank = &self.flanks[node][side].ports;
                    settle_side(scope, ports, flank, scope.items[item].height, &far, rows);
                }
            }
        }
    }

    fn place(&mut self, scope: &Scope, at: [usize; 3], ports: &Ports, placed: &mut Rows) {
        let [item, node, side] = at;
        let size = scope.items[item];
        let mut flank = std::mem::take(&mut self.flanks[node][side]);
        let group = |p: usize| group(scope, p);
        let count = |g: usize| flank.ports.iter().filter(|&&p| group(p) == g).count();
        let counts = [count(0), count(1), count(2)];
        // Ports at the top and bottom: lines to the right pass outside of the lines to the left.
        let beyond = |g: usize| {
            let inner = &self.flanks[node][0].ports;
            LANE * inner.iter().filter(|&&p| group(p) == g).count() as f64
        };
        let mut wished = Vec::new();
        let mut distance = Vec::new();
        let mut before = 0.0;
        for (i, &port) in flank.ports.iter().enumerate() {
            let g = group(port);
            let at = i - counts[..g].iter().sum::<usize>();
            let part = (at as f64 + 0.5) / counts[g] as f64;
            let along = |length: f64| scope.ports[port].offset.unwrap_or(part * length);
            placed.port[port] = match scope.ports[port].side {
                Side::Top => [along(size.width), 0.0],
                Side::Bottom => [along(size.width), size.height],
                Side::Left => [0.0, along(size.height)],
                Side::Right => [size.width, along(size.height)],
            };
            let outside = CLEARANCE + LANE * at as f64 + beyond(2);
            wished.push(match g {
                0 => -CLEARANCE - LANE * (counts[0] - 1 - at) as f64 - beyond(0),
                2 => size.height + outside,
                _ => placed.port[port][1],
            });
            let [above, below] = reach(scope, ports, port);
            distance.push(LANE.max(before + above + PAD));
            before = below;
        }
        let rows = spread(&wished, &distance);
        let free = |p: usize| group(p) == 1 && scope.ports[p].offset.is_none();
        let fits = |row: f64| (0.0..=size.height).contains(&row);
        let all_fit = rows.iter().all(|&r| fits(r));
        let all_free = flank.ports.iter().all(|&p| free(p));
        let mut most = 0.0_f64;
        for (&port, &row) in flank.ports.iter().zip(&rows) {
            placed.row[port] = row;
            if free(port) && (all_fit || !all_free) {
                placed.port[port][1] = row.clamp(0.0, size.height);
            }
            if group(port) == 1 {
                most = most.max((row - placed.port[port][1]).abs());
            }
            let [above, below] = reach(scope, ports, port);
            let [top, bottom] = self.extent[node];
            self.extent[node] = [top.min(row - above), bottom.max(row + below)];
        }
        self.extent[node][1] = self.extent[node][1].max(size.height);
        flank.fan = if most > 0.01 {
            (most * 0.6).clamp(8.0, 40.0)
        } else {
            0.0
        };
        for &port in &flank.ports {
            let label = scope.ports[port].label;
            if label.width > 0.0 && label.height > 0.0 {
                flank.room = flank.room.max(flank.fan + label.width + 2.0 * PAD);
            }
            if scope.ports[port].stub {
                flank.room = flank.room.max(STUB + PAD);
            }
        }
        flank.room = flank.room.max(flank.fan);
        self.flanks[node][side] = flank;
    }
}

/// Returns 0 for a port at the top of its item, 2 for one at the bottom, and otherwise 1.
fn group(scope: &Scope, port: usize) -> usize {
    match scope.ports[port].side {
        Side::Top => 0,
        Side::Bottom => 2,
        _ => 1,
    }
}

/// Sorts the ports on a side of an item from top to bottom. Free ones are ordered by the places of
/// the far items (`far`), and then by the places of the far ports (`place`).
fn sort(
    scope: &Scope,
    ports: &Ports,
    far: &[f64],
    place: &dyn Fn(usize) -> f64,
    side: usize,
    flank: &mut [usize],
) {
    flank.sort_by(|&a, &b| {
        let key = |p: usize| (group(scope, p), scope.ports[p].offset.is_none());
        let fixed = |p: usize| scope.ports[p].offset.unwrap_or(0.0);
        // The row of a port at the top must not cross what leads up from ports beyond it.
        let outward = |p: usize| match (group(scope, p), side) {
            (0, 1) | (2, 0) => fixed(p),
            (0, _) | (2, _) => -fixed(p),
            _ => fixed(p),
        };
        key(a)
            .cmp(&key(b))
            .then(outward(a).total_cmp(&outward(b)))
            .then(far[a].total_cmp(&far[b]))
            .then(place(a).total_cmp(&place(b)))
            .then(ports.first[a].cmp(&ports.first[b]))
            .then(a.cmp(&b))
    });
}

/// Moves the ports on a side towards the mean of the sums of their far ends, if all are free and
/// have room.
fn settle_side(
    scope: &Scope,
    ports: &Ports,
    flank: &[usize],
    height: f64,
    far: &FxHashMap<usize, (f64, f64)>,
    rows: &mut Rows,
) {
    let is_free = |&p: &usize| {
        scope.ports[p].offset.is_none() && matches!(scope.ports[p].side, Side::Left | Side::Right)
    };
    if flank.is_empty() || !flank.iter().all(is_free) {
        return;
    }
    let mut distance = Vec::with_capacity(flank.len());
    let mut wished = Vec::with_capacity(flank.len());
    // Least position of each port.
    let mut least = Vec::with_capacity(flank.len());
    let (mut sum, mut before) = (0.0, 0.0);
    for &port in flank {
        let [above, below] = reach(scope, ports, port);
        distance.push(LANE.max(before + above + PAD));
        sum += if least.is_empty() {
            above.max(LANE / 2.0)
        } else {
            LANE.max(before + above + PAD)
        };
        least.push(sum);
        before = below;
        let level = far.get(&port).map(|&(sum, count)| sum / count);
        let level = level.filter(|l| (0.0..=height).contains(l));
        wished.push(level.unwrap_or(rows.row[port]));
    }
    let spare = height - sum - before.max(LANE / 2.0);
    if spare < 0.0 {
        return;
    }
    let settled = spread(&wished, &distance);
    for ((&port, row), &least) in flank.iter().zip(settled).zip(&least) {
        rows.row[port] = row.clamp(least, least + spare);
        rows.port[port][1] = rows.row[port];
    }
}

/// Returns the ascending numbers closest to the wished numbers (least squares) such that each is
/// at least its distance above the number before it. Linear (pool adjacent violators).
pub(super) fn spread(wished: &[f64], distance: &[f64]) -> Vec<f64> {
    weighted_spread(wished, distance, |_| 1.0)
}

/// Like [`spread`], with a weight for each number.
pub(super) fn weighted_spread(
    wished: &[f64],
    distance: &[f64],
    weight: impl Fn(usize) -> f64,
) -> Vec<f64> {
    // Sum of weighted wishes, weight, number of members.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    let mut offset = 0.0;
    let mut offsets = Vec::with_capacity(wished.len());
    for (i, &wish) in wished.iter().enumerate() {
        if i > 0 {
            offset += distance[i];
        }
        offsets.push(offset);
        let mut pool = ((wish - offset) * weight(i), weight(i), 1);
        while let Some(&(sum, weight, members)) = pools.last() {
            if sum / weight < pool.0 / pool.1 {
                break;
            }
            pool = (sum + pool.0, weight + pool.1, members + pool.2);
            pools.pop();
        }
        pools.push(pool);
    }
    let mut result = Vec::with_capacity(wished.len());
    for (sum, weight, members) in pools {
        for _ in 0..members {
            result.push(sum / weight + offsets[result.len()]);
        }
    }
    result
}
