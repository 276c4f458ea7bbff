//! Positions of ports along the sides of items, and of labels beside them.
//!
//! All ports that meet at a face, the part of a gap between two items that face each other, have
//! one order and are at different positions along the gap. So the lines that leave them do not
//! overlap, and labels have space. If the sides of the items are too short for this, or if their
//! ports are fixed elsewhere, lines leave a port at its place and bend beside the item.

use super::super::scope::{CLEARANCE, LANE, STUB, Scope};
use super::grid::{Axis, Grid, fixed};
use super::routes::Routes;
use crate::geometry::Size;
use std::collections::BTreeMap;

/// Distance between a label and what is next to it.
pub(super) const PAD: f64 = 4.0;
/// Distance of a label above a line from the line.
const ABOVE: f64 = 2.0;
/// Half of the width of an arrow.
const ARROW: f64 = 4.0;
/// Least distance of a line from an item along which it bends, and the room of an arrow.
const LEAD: f64 = 12.0;
/// Preferred and least distance of a port from a corner, unless the side is shorter.
const INSET: f64 = 5.0;
const LEAST_INSET: f64 = 2.0;
/// Preferred least distance of ports on a side that is too short for [`LANE`].
const LEAST_STEP: f64 = 4.0;
/// Differences between positions that are errors of rounding.
const ROUNDING: f64 = 1e-6;

/// Position of a port. All distances along the gap are from the middle of the row or column.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pin {
    /// Position of the port along its side.
    pub(super) port: f64,
    /// Position along the gap at which its line crosses the gap.
    pub(super) line: f64,
    /// Distance from the item at which the line changes from `port` to `line`, if they differ.
    pub(super) bend: f64,
    /// Position of the label along the gap: its upper or left end.
    pub(super) label: f64,
    /// Distance of the label from the item.
    pub(super) label_distance: f64,
}

/// Positions of all ports, and the space that they need in the gaps.
pub(super) struct Pins {
    pub(super) pins: Vec<Pin>,
    /// Width of each column.
    pub(super) widths: Vec<f64>,
    /// Height of each row.
    pub(super) heights: Vec<f64>,
    /// For each axis and gap, the width needed beside each end, without the tracks.
    pub(super) zones: [Vec<[f64; 2]>; 2],
}

/// A position along a face, with a port at one end or at both.
#[derive(Clone, Copy, Debug)]
struct Slot {
    ports: [Option<usize>; 2],
    /// Preferred position.
    wish: f64,
    /// Space needed before and after the position, at each end.
    rooms: [[f64; 2]; 2],
}

impl Slot {
    /// Returns the space needed before (0) or after (1) the position.
    fn most(&self, direction: usize) -> f64 {
        self.rooms[0][direction].max(self.rooms[1][direction])
    }
}

/// Returns the least distance of each slot from the previous one. Labels are at one end of the
/// gap, and only slots with a port there must be apart from them.
fn steps(slots: &[Slot]) -> Vec<f64> {
    let mut free = [f64::NEG_INFINITY; 2];
    let mut at = 0.0_f64;
    let step = |slot: &Slot| {
        let before = at;
        at += LANE;
        let ends = || (0..2).filter(|&end| slot.ports[end].is_some());
        for end in ends() {
            at = at.max(free[end] + slot.rooms[end][0]);
        }
        for end in ends() {
            free[end] = at + slot.rooms[end][1];
        }
        at - before
    };
    slots.iter().map(step).collect()
}

/// Size of an item along a face and across it.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    along: f64,
    /// Distance from the side of the item to the end of its column or row.
    slack: f64,
    /// Distance from the side of the item that is filled by labels of its other sides.
    filled: f64,
}

struct Builder<'a> {
    scope: &'a Scope,
    grid: &'a Grid,
    routes: &'a Routes,
    /// True for each port that has lines.
    lined: Vec<bool>,
    /// True for each port at which lines end, with an arrow.
    reads: Vec<bool>,
    /// For each item, how far labels and lines at its left and right sides project above and
    /// below it.
    projection: Vec<[f64; 2]>,
    out: Pins,
}

impl Pins {
    /// Returns the positions of the ports of a scope.
    pub(super) fn new(scope: &Scope, grid: &Grid, routes: &Routes) -> Pins {
        let mut widths = vec![0.0_f64; grid.columns];
        let mut heights = vec![0.0_f64; grid.rows];
        for (i, size) in scope.items.iter().enumerate() {
            let (row, column) = (i / grid.columns, i % grid.columns);
            widths[column] = widths[column].max(size.width);
            heights[row] = heights[row].max(size.height);
        }
        let zones = |axis| {
            let gaps = grid.gaps(axis);
            let beside =
                |gap: usize, end: usize| (gap + end).checked_sub(1).is_some_and(|c| c + 1 < gaps);
            let zone = |gap| {
                if beside(gap, 0) && beside(gap, 1) {
                    [CLEARANCE / 2.0; 2]
                } else {
                    [0.0; 2]
                }
            };
            (0..gaps).map(zone).collect()
        };
        let mut lined = vec![false; scope.ports.len()];
        let mut reads = lined.clone();
        for line in &scope.lines {
            lined[line.from] = true;
            lined[line.to] = true;
            reads[line.to] = true;
        }
        let mut builder = Builder {
            scope,
            grid,
            routes,
            lined,
            reads,
            projection: vec![[0.0; 2]; scope.items.len()],
            out: Pins {
                pins: vec![Pin::default(); scope.ports.len()],
                widths,
                heights,
                zones: [zones(Axis::Corridor), zones(Axis::Lane)],
            },
        };
        // Corridors precede lanes, because labels at lanes avoid those at corridors.
        let mut faces: BTreeMap<(Axis, usize, usize), [Vec<usize>; 2]> = BTreeMap::new();
        for (port, access) in grid.access.iter().enumerate() {
            faces.entry(access.face()).or_default()[access.end].push(port);
        }
        for (face, ports) in faces {
            builder.place_face(face, &ports);
        }
        builder.out
    }
}

impl Builder<'_> {
    fn place_face(&mut self, face: (Axis, usize, usize), ports: &[Vec<usize>; 2]) {
        let (axis, gap, cell) = face;
        let items = [0, 1].map(|end| self.grid.item(face, end));
        let mut slots = self.slots(axis, items, ports);
        self.add_rooms(axis, &mut slots);
        let at = self.solve(axis, items, &slots);
        let start = [f64::INFINITY, f64::NEG_INFINITY];
        let [low, high] = slots
            .iter()
            .zip(&at)
            .fold(start, |[low, high], (slot, at)| {
                [low.min(at - slot.most(0)), high.max(at + slot.most(1))]
            });
        let across = [&self.out.heights, &self.out.widths][axis as usize][cell];
        let zones = &mut self.out.zones[1 - axis as usize];
        for (gap, end, beyond) in [(cell, 1, -low), (cell + 1, 0, high)] {
            let beyond = beyond - across / 2.0;
            if beyond > 0.0 {
                zones[gap][end] = zones[gap][end].max(beyond + PAD);
            }
        }
        for end in [0, 1] {
            let mut extent = Extent::default();
            if let Some(item) = items[end] {
                extent = self.extent(axis, item);
                let beyond = [-low, high].map(|beyond| beyond - extent.along / 2.0);
                if axis == Axis::Corridor {
                    for (known, beyond) in self.projection[item].iter_mut().zip(beyond) {
                        *known = known.max(beyond);
                    }
                } else if beyond[0] > 0.0 || beyond[1] > 0.0 {
                    extent.filled = self.projection[item][1 - end];
                }
            }
            let need = self.place_side(axis, end, extent, &slots, &at);
            let zone = &mut self.out.zones[axis as usize][gap][end];
            *zone = zone.max(need - extent.slack);
        }
    }

    fn extent(&self, axis: Axis, item: usize) -> Extent {
        let size = self.scope.items[item];
        let (row, column) = (item / self.grid.columns, item % self.grid.columns);
        let (along, slack) = match axis {
            Axis::Corridor => (size.height, self.out.widths[column] - size.width),
            Axis::Lane => (size.width, self.out.heights[row] - size.height),
        };
        Extent {
            along,
            slack: slack / 2.0,
            filled: 0.0,
        }
    }

    /// Returns the slots of a face in their order: ports whose lines lead up or left, fixed ports,
    /// pairs that are joined by straight lines, and the other ports.
    fn slots(&self, axis: Axis, items: [Option<usize>; 2], ports: &[Vec<usize>; 2]) -> Vec<Slot> {
        let fixed = |port: Option<usize>| fixed(self.scope, port?);
        let slot = |ports: [Option<usize>; 2]| {
            let wish = fixed(ports[0]).or(fixed(ports[1]));
            Slot {
                ports,
                wish: wish.unwrap_or(0.0),
                rooms: [[0.0; 2]; 2],
            }
        };
        let single = |end: usize, port: usize| {
            slot([(end == 0).then_some(port), (end == 1).then_some(port)])
        };
        let (mut fixed_pairs, mut pairs) = (Vec::new(), Vec::new());
        let (mut singles, mut fixed_singles) = (Vec::new(), [Vec::new(), Vec::new()]);
        for (end, ports) in ports.iter().enumerate() {
            for &port in ports {
                let partner = self.routes.partner[port];
                let own = slot([Some(port), partner]);
                match (partner, fixed(Some(port))) {
                    (Some(_), _) if end == 1 => {}
                    (Some(_), None) if fixed(partner).is_none() => pairs.push(own),
                    (Some(_), _) => fixed_pairs.push(own),
                    (None, Some(_)) => fixed_singles[end].push(single(end, port)),
                    (None, None) => singles.push(single(end, port)),
                }
            }
        }
        let order = |slot: &Slot| (slot.wish, fixed(slot.ports[1]));
        let compare = |a: &Slot, b: &Slot| {
            order(a)
                .partial_cmp(&order(b))
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        fixed_pairs.sort_by(compare);
        let mut chain = Vec::new();
        let mut rest = fixed_singles.map(|mut singles| {
            singles.sort_by(compare);
            singles.into_iter().peekable()
        });
        let ends = fixed_pairs.into_iter().map(Some).chain([None]);
        for pair in ends {
            let until = [0, 1].map(|end| {
                pair.map_or(f64::INFINITY, |pair| {
                    fixed(pair.ports[end]).unwrap_or(pair.wish)
                })
            });
            loop {
                let next = [0, 1].map(|end| {
                    rest[end]
                        .peek()
                        .map(|slot| slot.wish)
                        .filter(|&at| at < until[end] || pair.is_none())
                });
                let end = match next {
                    [Some(a), Some(b)] => usize::from(b < a),
                    [Some(_), None] => 0,
                    [None, Some(_)] => 1,
                    [None, None] => break,
                };
                chain.extend(rest[end].next());
            }
            chain.extend(pair);
        }

        let along = items.map(|item| item.map(|item| self.extent(axis, item).along));
        let shorter = along
            .iter()
            .flatten()
            .copied()
            .fold(f64::INFINITY, f64::min);
        let shorter = if shorter.is_finite() { shorter } else { 0.0 };
        spread(&mut pairs, shorter);
        let pull = |slot: &Slot| {
            let ports = slot.ports.iter().flatten();
            ports
                .map(|&port| self.routes.pull[port].signum())
                .sum::<i32>()
        };
        singles.sort_by_key(pull);
        let split = singles.partition_point(|slot| pull(slot) < 0);
        let after = singles.split_off(split);
        let crossing = |slot: &Slot| {
            slot.ports
                .iter()
                .flatten()
                .any(|&port| !self.routes.stays[port])
        };
        let alone = chain.is_empty() && pairs.is_empty();
        let (mut before, mut after) = if alone && !singles.iter().chain(&after).any(crossing) {
            (Vec::new(), merged([singles, after].concat()))
        } else {
            let [before, after] = [singles, after].map(|singles| {
                let (crossing, staying): (Vec<Slot>, Vec<Slot>) =
                    singles.into_iter().partition(crossing);
                [merged(staying), crossing]
            });
            let [staying, crossing] = after;
            (before.concat(), [crossing, staying].concat())
        };
        if alone {
            let split = before.len();
            before.append(&mut after);
            spread(&mut before, shorter);
            after = before.split_off(split);
        } else {
            before
                .iter_mut()
                .for_each(|slot| slot.wish = -shorter / 4.0);
            after.iter_mut().for_each(|slot| slot.wish = shorter / 4.0);
        }
        [before, chain, pairs, after].concat()
    }

    /// Computes the space that the labels of the slots need.
    fn add_rooms(&self, axis: Axis, slots: &mut [Slot]) {
        let several = slots.len() > 1;
        for (i, slot) in slots.iter_mut().enumerate() {
            for (port, rooms) in slot.ports.iter().zip(&mut slot.rooms) {
                if let &Some(port) = port {
                    *rooms = self.room(axis, port, i == 0 && several).0;
                }
            }
        }
    }

    /// Returns the space that a port and its label need before and after its line, and the
    /// position of the label relative to the line. The label is above a horizontal line. It is to
    /// the right of a vertical line, or to the left if it is the first of several.
    fn room(&self, axis: Axis, port: usize, first: bool) -> ([f64; 2], f64) {
        let arrow = if self.reads[port] { ARROW } else { 0.0 };
        let Some(label) = self.label(port) else {
            return ([0.0, arrow], 0.0);
        };
        let along = [label.height, label.width][axis as usize];
        if self.is_loop(port) {
            ([along / 2.0 + PAD; 2], -along / 2.0)
        } else if axis == Axis::Corridor {
            let before = along + ABOVE.max(arrow);
            ([before + 1.0, arrow], -before)
        } else if first {
            ([along + 2.0 * PAD, arrow], -along - PAD)
        } else {
            ([0.0, along + 2.0 * PAD], PAD)
        }
    }

    /// Returns the size of the label of a port of an item.
    fn label(&self, port: usize) -> Option<Size> {
        let port = &self.scope.ports[port];
        let size = port.label;
        (port.item.is_some() && (size.width > 0.0 || size.height > 0.0)).then_some(size)
    }

    fn is_loop(&self, port: usize) -> bool {
        !self.lined[port] && !self.scope.ports[port].stub && self.label(port).is_some()
    }

    /// Returns the interval of positions of a port on its side.
    fn interval(&self, axis: Axis, item: Option<usize>, inset: f64) -> [f64; 2] {
        item.map_or([f64::NEG_INFINITY, f64::INFINITY], |item| {
            let half = self.extent(axis, item).along / 2.0;
            let inner = half - inset.min(half);
            [-inner, inner]
        })
    }

    /// Returns the position of each slot. They are within the sides of the items if possible,
    /// and at fixed ports if possible.
    fn solve(&self, axis: Axis, items: [Option<usize>; 2], slots: &[Slot]) -> Vec<f64> {
        // Straight lines keep their places, and other lines make room for them.
        let weight = |slot: &Slot| {
            let ports = slot.ports.iter().flatten();
            let straight = ports
                .clone()
                .any(|&port| self.routes.partner[port].is_some());
            if straight { 16.0 } else { 1.0 }
        };
        let wishes: Vec<(f64, f64)> = slots.iter().map(|slot| (slot.wish, weight(slot))).collect();
        let steps = steps(slots);
        let everywhere = [f64::NEG_INFINITY, f64::INFINITY];
        let bounds = |slot: &Slot, exact: bool, inset: f64| {
            let sides = items.map(|item| self.interval(axis, item, inset));
            let mut bounds = everywhere;
            let ports = [0, 1].map(|end| slot.ports[end].map(|port| (end, port)));
            for (end, port) in ports.into_iter().flatten() {
                if self.scope.ports[port].item.is_none() {
                    continue;
                }
                match fixed(self.scope, port) {
                    Some(_) if exact => return [slot.wish; 2],
                    Some(_) => {}
                    None => bounds = [bounds[0].max(sides[end][0]), bounds[1].min(sides[end][1])],
                }
            }
            bounds
        };
        for (exact, inset) in [(true, INSET), (true, LEAST_INSET), (false, LEAST_INSET)] {
            let bounds: Vec<[f64; 2]> = slots
                .iter()
                .map(|slot| bounds(slot, exact, inset))
                .collect();
            if let Some(at) = place(&wishes, &steps, &bounds) {
                return at;
            }
        }
        place(&wishes, &steps, &vec![everywhere; slots.len()])
            .unwrap_or_else(|| slots.iter().map(|slot| slot.wish).collect())
    }

    /// Places the ports of one end of a face, and their labels. Returns the distance from the item
    /// that they fill.
    fn place_side(
        &mut self,
        axis: Axis,
        end: usize,
        extent: Extent,
        slots: &[Slot],
        at: &[f64],
    ) -> f64 {
        let side: Vec<(usize, f64, bool)> = slots
            .iter()
            .zip(at)
            .enumerate()
            .filter_map(|(i, (slot, &at))| Some((slot.ports[end]?, at, i == 0 && slots.len() > 1)))
            .collect();
        let ports = self.positions(axis, extent.along, &side);
        let bent = |i: usize| (ports[i] - side[i].1).abs() > ROUNDING;
        let stubs = side.iter().any(|&(port, ..)| self.scope.ports[port].stub);
        let start = LEAD
            .max(extent.filled + PAD)
            .max(if stubs { STUB + LANE } else { 0.0 });
        let mut bend = vec![0_usize; side.len()];
        // Of lines that lead down beside the item, the lower ones bend first, and of lines that
        // lead up, the upper ones. Then they do not cross.
        for i in (0..side.len()).rev() {
            if bent(i) && side[i].1 > ports[i] && i + 1 < side.len() {
                let free = !bent(i + 1) || side[i].1 + LANE <= ports[i + 1];
                bend[i] = if free { 0 } else { bend[i + 1] + 1 };
            }
        }
        for i in 1..side.len() {
            if bent(i) && side[i].1 < ports[i] {
                let free = !bent(i - 1) || side[i].1 - LANE >= ports[i - 1];
                bend[i] = if free { 0 } else { bend[i - 1] + 1 };
            }
        }
        let any = (0..side.len()).any(bent);
        let last = bend.iter().copied().max().unwrap_or(0);
        let distance = |bend: usize| start + LANE * bend as f64;
        let beyond = if any { distance(last) + PAD } else { 0.0 };
        let beyond = beyond.max(extent.filled);
        // Both ends of the stretches along which lines bend are ascending.
        let stretches: Vec<[f64; 2]> = (0..side.len())
            .filter(|&i| bent(i))
            .map(|i| [ports[i].min(side[i].1), ports[i].max(side[i].1)])
            .collect();
        let is_bent_within = |low: f64, high: f64| {
            let next = stretches.partition_point(|stretch| stretch[1] < low - PAD);
            stretches
                .get(next)
                .is_some_and(|stretch| stretch[0] <= high + PAD)
        };
        let mut need = 0.0_f64;
        for (i, &(port, at, first)) in side.iter().enumerate() {
            let mut pin = Pin {
                port: if bent(i) { ports[i] } else { at },
                line: at,
                bend: distance(bend[i]),
                ..Pin::default()
            };
            if self.lined[port] {
                need = need.max(beyond + LEAD);
            }
            if self.scope.ports[port].stub {
                need = need.max(STUB + PAD);
            }
            if let Some(label) = self.label(port) {
                let (along, across) = match axis {
                    Axis::Corridor => (label.height, label.width),
                    Axis::Lane => (label.width, label.height),
                };
                let pad = if self.is_loop(port) { 0.0 } else { PAD };
                pin.label = at + self.room(axis, port, first).1;
                let beside = !is_bent_within(pin.label, pin.label + along) && !bent(i);
                pin.label_distance = pad + if beside { extent.filled } else { beyond };
                need = need.max(pin.label_distance + across + PAD);
            }
            self.out.pins[port] = pin;
        }
        need
    }

    /// Returns the positions of the ports of a side of an item, in the order of their lines.
    fn positions(&self, axis: Axis, along: f64, side: &[(usize, f64, bool)]) -> Vec<f64> {
        let lines: Vec<f64> = side.iter().map(|&(_, at, ..)| at).collect();
        let border = side
            .first()
            .is_none_or(|&(port, ..)| self.scope.ports[port].item.is_none());
        if border {
            return lines;
        }
        let item = self.scope.ports[side[0].0].item;
        let [low, high] = self.interval(axis, item, LEAST_INSET);
        let exact: Vec<Option<f64>> = side
            .iter()
            .map(|&(port, ..)| fixed(self.scope, port))
            .collect();
        let good = |(&at, exact): (&f64, &Option<f64>)| match exact {
            Some(exact) => (at - exact).abs() <= ROUNDING,
            None => (low - ROUNDING..=high + ROUNDING).contains(&at),
        };
        if lines.iter().zip(&exact).all(good) {
            return lines;
        }
        if exact.iter().all(Option::is_none) {
            return squeezed(lines, low, high);
        }
        let half = along / 2.0;
        let mut step = LANE;
        let (mut run, mut from) = (1.0, -half);
        for to in exact.iter().copied().chain([Some(half)]) {
            if let Some(to) = to {
                step = step.min(((to - from) / run).max(0.0));
                (run, from) = (1.0, to);
            } else {
                run += 1.0;
            }
        }
        let bounds: Vec<[f64; 2]> = exact
            .iter()
            .map(|exact| exact.map_or([-half, half], |at| [at; 2]))
            .collect();
        let mut steps = vec![step; side.len()];
        for (i, pair) in exact.windows(2).enumerate() {
            if let &[Some(_), Some(_)] = pair {
                steps[i + 1] = 0.0;
            }
        }
        let wishes: Vec<(f64, f64)> = lines.iter().map(|&line| (line, 1.0)).collect();
        place(&wishes, &steps, &bounds).unwrap_or_else(|| {
            exact
                .iter()
                .zip(&lines)
                .map(|(exact, line)| exact.unwrap_or(line.clamp(-half, half)))
                .collect()
        })
    }
}

/// Moves the outer of ascending positions into an interval, evenly, and keeps as many of the inner
/// ones as possible.
fn squeezed(mut at: Vec<f64>, low: f64, high: f64) -> Vec<f64> {
    let count = at.len();
    let first = (0..count).find(|&i| at[i] >= low + LEAST_STEP * i as f64);
    let last = (0..count).rfind(|&i| at[i] <= high - LEAST_STEP * (count - 1 - i) as f64);
    match (first, last) {
        (Some(first), Some(last)) if first <= last => {
            let (upper, lower) = (at[first], at[last]);
            for (i, at) in at[..first].iter_mut().enumerate() {
                *at = low + (upper - low) * i as f64 / first as f64;
            }
            for (i, at) in at[last + 1..].iter_mut().rev().enumerate() {
                *at = high - (high - lower) * i as f64 / (count - 1 - last) as f64;
            }
        }
        _ => {
            for (i, at) in at.iter_mut().enumerate() {
                *at = low + (high - low) * (i as f64 + 0.5) / count as f64;
            }
        }
    }
    at
}

/// Gives slots of both ends the same positions, in their order.
fn merged(slots: Vec<Slot>) -> Vec<Slot> {
    let (low, high): (Vec<Slot>, Vec<Slot>) =
        slots.into_iter().partition(|slot| slot.ports[0].is_some());
    let (mut merged, other, end) = if low.len() < high.len() {
        (high, low, 0)
    } else {
        (low, high, 1)
    };
    for (slot, other) in merged.iter_mut().zip(other) {
        slot.ports[end] = other.ports[end];
    }
    merged
}

/// Distributes the wishes of slots evenly over a length around 0.
fn spread(slots: &mut [Slot], length: f64) {
    let parts = slots.len() as f64 + 1.0;
    for (i, slot) in slots.iter_mut().enumerate() {
        slot.wish = length * ((i as f64 + 1.0) / parts - 0.5);
    }
}

/// Returns ascending positions within the bounds, as near as possible to the wishes (by least
/// squares with their weights, apart from the bounds), each at least its step after the previous
/// one. `None` if that is impossible.
fn place(wishes: &[(f64, f64)], steps: &[f64], bounds: &[[f64; 2]]) -> Option<Vec<f64>> {
    // Without the sums of the steps, positions only have to be ascending: isotonic regression.
    let mut sum = 0.0;
    let mut sums = Vec::with_capacity(wishes.len());
    let mut blocks: Vec<(f64, f64, usize)> = Vec::new();
    for (i, (&(wish, weight), step)) in wishes.iter().zip(steps).enumerate() {
        sum += if i > 0 { *step } else { 0.0 };
        sums.push(sum);
        let (mut total, mut weights, mut count) = ((wish - sum) * weight, weight, 1);
        while let Some(&(before, weight, n)) = blocks.last()
            && before / weight > total / weights
        {
            blocks.pop();
            total += before;
            weights += weight;
            count += n;
        }
        blocks.push((total, weights, count));
    }
    let mut at: Vec<f64> = Vec::with_capacity(wishes.len());
    for (total, weights, count) in blocks {
        at.resize(at.len() + count, total / weights);
    }
    let mut upper = f64::INFINITY;
    for i in (0..at.len()).rev() {
        upper = upper.min(bounds[i][1] - sums[i]);
        at[i] = at[i].min(upper);
    }
    let mut lower = f64::NEG_INFINITY;
    for i in 0..at.len() {
        lower = lower.max(bounds[i][0] - sums[i]);
        at[i] = at[i].max(lower);
        if at[i] + sums[i] > bounds[i][1] + ROUNDING {
            return None;
        }
    }
    for (at, sum) in at.iter_mut().zip(sums) {
        *at += sum;
    }
    Some(at)
}
