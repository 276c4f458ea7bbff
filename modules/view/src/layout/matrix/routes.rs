//! The way of each line: straight to a neighbour, or along segments in corridors and lanes.

use super::super::scope::{Line, Scope};
use super::grid::{Access, Axis, Grid, fixed};
use std::collections::BTreeMap;

/// The way of a line.
#[derive(Clone, Debug)]
pub(super) enum Way {
    /// Both ends are the same port.
    Loop,
    /// Across a gap, perpendicular to it.
    Straight,
    /// Across a gap to a diagonal neighbour.
    Slant,
    /// Along segments, in the order from the writer to the reader.
    Segments(Vec<(Axis, usize)>),
}

/// A stretch of a net along a corridor or lane.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    /// Number of the corridor or lane.
    pub(super) gap: usize,
    /// What joins it, and the end of the gap from which that comes: -1 for the left or upper end,
    /// 1 for the other, 0 for both.
    pub(super) taps: Vec<(Tap, i32)>,
    /// The end of the gap near which its track is: -1, 1, or 0 for neither.
    pub(super) side: i32,
    /// True for a branch that leads to ports at one end of the gap.
    branch: bool,
}

/// What joins a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tap {
    /// A port, at the gap of the segment.
    Port(usize),
    /// A segment of the other axis.
    Segment(usize),
}

/// Ways of all lines.
pub(super) struct Routes {
    /// The way of each line.
    pub(super) ways: Vec<Way>,
    /// The port at the other end of the straight line of a port.
    pub(super) partner: Vec<Option<usize>>,
    /// Segments of each axis.
    pub(super) segments: [Vec<Segment>; 2],
    /// For each axis and gap, whether a slanted line crosses it.
    pub(super) slanted: [Vec<bool>; 2],
    /// Direction along the gap into which the lines of a port lead, negative for up or left.
    pub(super) pull: Vec<i32>,
    /// True for each port whose lines keep to its end of the gap: tracks of lines that cross the gap
    /// or keep to the other end are farther from the port.
    pub(super) stays: Vec<bool>,
}

/// Coarse coordinates: gap `g` has `2 g`, and the cell after it `2 g + 1`.
type Coarse = (usize, usize);

impl Routes {
    /// Returns the ways of the lines of a scope.
    pub(super) fn new(scope: &Scope, grid: &Grid) -> Routes {
        let partner = partners(scope, grid);
        let gaps = |axis| vec![false; grid.gaps(axis)];
        let mut routes = Routes {
            ways: vec![Way::Loop; scope.lines.len()],
            partner,
            segments: [Vec::new(), Vec::new()],
            slanted: [gaps(Axis::Corridor), gaps(Axis::Lane)],
            pull: vec![0; scope.ports.len()],
            stays: vec![true; scope.ports.len()],
        };
        let lines = degrees(scope);
        let mut remaining = Vec::new();
        for (i, line) in scope.lines.iter().enumerate() {
            let ends = [line.from, line.to];
            let [a, b] = ends.map(|port| grid.access[port]);
            let inner = ends.map(|port| lines[port] == 1 && scope.ports[port].item.is_some());
            if line.from == line.to {
                continue;
            } else if routes.partner[line.from] == Some(line.to) {
                routes.ways[i] = Way::Straight;
            } else if a.is_opposite(&b) && a.cell.abs_diff(b.cell) == 1 && inner == [true; 2] {
                routes.ways[i] = Way::Slant;
                routes.slanted[a.axis as usize][a.gap] = true;
                let down = if b.cell > a.cell { 1 } else { -1 };
                routes.pull[line.from] += down;
                routes.pull[line.to] -= down;
                for port in ends {
                    routes.stays[port] = false;
                }
            } else {
                remaining.push(i);
            }
        }
        let crossed = Crossed::new(grid, &routes.partner);
        for (centre, members) in stars(scope, &remaining) {
            routes.add_net(scope, grid, &crossed, centre, &members);
        }
        routes.finish(grid);
        routes
    }

    /// Adds the net of the lines that have a port in common.
    fn add_net(
        &mut self,
        scope: &Scope,
        grid: &Grid,
        crossed: &Crossed,
        centre: usize,
        lines: &[usize],
    ) {
        let other = |line: &Line| line.from + line.to - centre;
        if let &[line] = lines {
            let leaf = other(&scope.lines[line]);
            let (centre, leaf, plan) = plan_of_pair(grid, crossed, centre, leaf);
            let way = self.way(grid, &mut BTreeMap::new(), centre, leaf, plan);
            self.set(scope, line, centre, way);
            return;
        }
        let at = grid.access[centre];
        let leaves = || lines.iter().map(|&line| other(&scope.lines[line]));
        let trunk = match at.axis {
            Axis::Corridor => at.gap,
            Axis::Lane => {
                let sum: usize = leaves().map(|leaf| coarse(&grid.access[leaf]).0).sum();
                at.cell + usize::from(sum > lines.len() * (2 * at.cell + 1))
            }
        };
        let mut known = BTreeMap::new();
        for (&line, leaf) in lines.iter().zip(leaves()) {
            let to = grid.access[leaf];
            let near = [to.cell, to.cell + 1];
            let lane = match to.axis {
                Axis::Lane => to.gap,
                Axis::Corridor if at.axis == Axis::Lane && near.contains(&at.gap) => at.gap,
                Axis::Corridor => near[1 - to.end],
            };
            let way = self.way(grid, &mut known, centre, leaf, Plan { trunk, lane });
            if let [.., (Axis::Lane, _), (Axis::Corridor, branch)] = way[..]
                && to.gap != trunk
            {
                self.segments[Axis::Corridor as usize][branch].branch = true;
            }
            self.set(scope, line, centre, way);
        }
    }

    fn set(&mut self, scope: &Scope, line: usize, centre: usize, mut way: Vec<(Axis, usize)>) {
        if scope.lines[line].from != centre {
            way.reverse();
        }
        self.ways[line] = Way::Segments(way);
    }

    /// Returns the segments of a net from its centre to a leaf. `known` has its segments so far,
    /// by axis, gap and the lane from which they branch.
    fn way(
        &mut self,
        grid: &Grid,
        known: &mut BTreeMap<(Axis, usize, Option<usize>), usize>,
        centre: usize,
        leaf: usize,
        plan: Plan,
    ) -> Vec<(Axis, usize)> {
        let [from, to] = [centre, leaf].map(|port| grid.access[port]);
        let trunk = (Axis::Corridor, plan.trunk, None);
        let lane = (Axis::Lane, plan.lane, None);
        let mut keys = Vec::with_capacity(4);
        if from.axis == Axis::Lane {
            keys.push((Axis::Lane, from.gap, None));
        }
        let on_trunk = to.axis == Axis::Corridor && to.gap == plan.trunk;
        if on_trunk {
            keys.push(trunk);
        } else {
            if keys.first() != Some(&lane) {
                keys.extend([trunk, lane]);
            }
            if to.axis == Axis::Corridor {
                keys.push((Axis::Corridor, to.gap, Some(plan.lane)));
            }
        }
        let way: Vec<(Axis, usize)> = keys
            .into_iter()
            .map(|key| {
                let segments = &mut self.segments[key.0 as usize];
                let segment = *known.entry(key).or_insert_with(|| {
                    segments.push(Segment {
                        gap: key.1,
                        taps: Vec::new(),
                        side: 0,
                        branch: false,
                    });
                    segments.len() - 1
                });
                (key.0, segment)
            })
            .collect();
        for pair in way.windows(2) {
            for (&(axis, segment), &(_, tap)) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
                self.segments[axis as usize][segment]
                    .taps
                    .push((Tap::Segment(tap), 0));
            }
        }
        for (end, port) in [(way.first(), centre), (way.last(), leaf)] {
            if let Some(&(axis, segment)) = end {
                self.segments[axis as usize][segment]
                    .taps
                    .push((Tap::Port(port), 0));
            }
        }
        way
    }

    /// Removes duplicates of taps, and computes their ends and the directions of the ports.
    fn finish(&mut self, grid: &Grid) {
        for segment in self.segments.iter_mut().flatten() {
            segment.taps.sort_unstable();
            segment.taps.dedup();
        }
        let extents = [Axis::Corridor, Axis::Lane].map(|axis| {
            let others = &self.segments[1 - axis as usize];
            let of = |segment: &Segment| extent(grid, segment, others);
            self.segments[axis as usize].iter().map(of).collect()
        });
        let extents: [Vec<[usize; 2]>; 2] = extents;
        for axis in [Axis::Corridor, Axis::Lane] {
            let own = self.segments[axis as usize].iter_mut();
            for (segment, [low, high]) in own.zip(&extents[axis as usize]) {
                let at = 2 * segment.gap;
                for (tap, end) in &mut segment.taps {
                    *end = match *tap {
                        Tap::Port(port) => [-1, 1][grid.access[port].end],
                        Tap::Segment(other) => {
                            let [low, high] = extents[1 - axis as usize][other];
                            i32::from(high > at) - i32::from(low < at)
                        }
                    };
                }
                let of = |&&(tap, _): &&(Tap, i32)| !segment.branch || matches!(tap, Tap::Port(_));
                let ends = segment.taps.iter().filter(of).map(|&(_, end)| end);
                segment.side = ends.sum::<i32>().signum();
                for &(tap, end) in &segment.taps {
                    if let Tap::Port(port) = tap {
                        let cell = 2 * grid.access[port].cell + 1;
                        self.pull[port] += i32::from(*high > cell) - i32::from(*low < cell);
                        self.stays[port] &= end == segment.side;
                    }
                }
            }
        }
    }
}

/// Returns the coarse coordinates of both ends of a segment. `others` are the segments of the
/// other axis.
fn extent(grid: &Grid, segment: &Segment, others: &[Segment]) -> [usize; 2] {
    let of = |(tap, _): &(Tap, i32)| match *tap {
        Tap::Port(port) => 2 * grid.access[port].cell + 1,
        Tap::Segment(other) => 2 * others[other].gap,
    };
    let at = segment.taps.iter().map(of);
    at.fold([usize::MAX, 0], |[low, high], at| {
        [low.min(at), high.max(at)]
    })
}

/// Corridor and lane of a way.
#[derive(Clone, Copy)]
struct Plan {
    /// The corridor of the centre of the net.
    trunk: usize,
    /// The lane from which the leaf is reached.
    lane: usize,
}

/// Numbers of straight lines that are crossed by going along a gap.
struct Crossed<'a> {
    grid: &'a Grid,
    /// For each axis, the sums of straight lines before each cell of each gap.
    before: [Vec<u32>; 2],
}

impl Crossed<'_> {
    fn new<'a>(grid: &'a Grid, partner: &[Option<usize>]) -> Crossed<'a> {
        let before = [Axis::Corridor, Axis::Lane].map(|axis| {
            let stride = grid.cells(axis) + 1;
            let mut before = vec![0; stride * grid.gaps(axis)];
            for (access, partner) in grid.access.iter().zip(partner) {
                if partner.is_some() && access.axis == axis && access.end == 0 {
                    before[stride * access.gap + access.cell + 1] += 1;
                }
            }
            for gap in before.chunks_mut(stride) {
                for cell in 1..stride {
                    gap[cell] += gap[cell - 1];
                }
            }
            before
        });
        Crossed { grid, before }
    }

    /// Returns the number of straight lines that an orthogonal way crosses.
    fn count(&self, way: &[Coarse]) -> u32 {
        let count = |pair: &[Coarse]| {
            let ((x1, y1), (x2, y2)) = (pair[0], pair[1]);
            let (axis, gap, a, b) = if x1 == x2 {
                (Axis::Corridor, x1, y1, y2)
            } else {
                (Axis::Lane, y1, x1, x2)
            };
            let before = &self.before[axis as usize][(self.grid.cells(axis) + 1) * (gap / 2)..];
            let (first, last) = (a.min(b).div_ceil(2), a.max(b) / 2);
            before[last.max(first)] - before[first]
        };
        way.windows(2).map(count).sum()
    }
}

fn coarse(access: &Access) -> Coarse {
    match access.axis {
        Axis::Corridor => (2 * access.gap, 2 * access.cell + 1),
        Axis::Lane => (2 * access.cell + 1, 2 * access.gap),
    }
}

/// Returns the centre, the leaf and the plan of a net of two ports: the first of a few plans that
/// crosses the fewest straight lines.
fn plan_of_pair(grid: &Grid, crossed: &Crossed, from: usize, to: usize) -> (usize, usize, Plan) {
    let [a, b] = [from, to].map(|port| grid.access[port]);
    let plans: Vec<(usize, usize, Plan)> = match (a.axis, b.axis) {
        (Axis::Corridor, Axis::Corridor) => [
            (from, to, a.gap, b.cell),
            (to, from, b.gap, a.cell + 1),
            (from, to, a.gap, b.cell + 1),
            (to, from, b.gap, a.cell),
        ]
        .map(|(centre, leaf, trunk, lane)| (centre, leaf, Plan { trunk, lane }))
        .to_vec(),
        (Axis::Lane, Axis::Lane) => {
            let towards = usize::from(b.cell >= a.cell);
            [
                a.cell + towards,
                b.cell + 1 - towards,
                a.cell + 1 - towards,
                b.cell + towards,
            ]
            .map(|trunk| (from, to, Plan { trunk, lane: b.gap }))
            .to_vec()
        }
        (Axis::Corridor, Axis::Lane) => vec![(
            from,
            to,
            Plan {
                trunk: a.gap,
                lane: b.gap,
            },
        )],
        (Axis::Lane, Axis::Corridor) => vec![(
            to,
            from,
            Plan {
                trunk: b.gap,
                lane: a.gap,
            },
        )],
    };
    let crossings = |&(centre, leaf, plan): &(usize, usize, Plan)| {
        let [from, to] = [centre, leaf].map(|port| grid.access[port]);
        let [start, end] = [coarse(&from), coarse(&to)];
        let (trunk, lane) = (2 * plan.trunk, 2 * plan.lane);
        if to.axis == Axis::Corridor && end.0 == trunk || from.axis == Axis::Lane && start.1 == lane
        {
            return crossed.count(&[start, end]);
        }
        let first = match from.axis {
            Axis::Corridor => start,
            Axis::Lane => (trunk, start.1),
        };
        crossed.count(&[start, first, (trunk, lane), (end.0, lane), end])
    };
    let best = plans.iter().min_by_key(|plan| crossings(plan));
    *best.unwrap_or(&plans[0])
}

fn degrees(scope: &Scope) -> Vec<usize> {
    let mut degrees = vec![0; scope.ports.len()];
    for line in &scope.lines {
        degrees[line.from] += 1;
        degrees[line.to] += 1;
    }
    degrees
}

/// Groups lines by a port that they share: the end that more of them have. Ordered by the first
/// line.
fn stars(scope: &Scope, lines: &[usize]) -> Vec<(usize, Vec<usize>)> {
    let mut degree = vec![0_usize; scope.ports.len()];
    for line in lines.iter().map(|&line| scope.lines[line]) {
        degree[line.from] += 1;
        degree[line.to] += 1;
    }
    let mut star = vec![None; scope.ports.len()];
    let mut stars: Vec<(usize, Vec<usize>)> = Vec::new();
    for &i in lines {
        let line = scope.lines[i];
        let centre = if degree[line.to] > degree[line.from] {
            line.to
        } else {
            line.from
        };
        let at = *star[centre].get_or_insert(stars.len());
        if at == stars.len() {
            stars.push((centre, Vec::new()));
        }
        stars[at].1.push(i);
    }
    stars
}

/// Returns the port to which each port has a straight line.
///
/// A line is straight if its ports face each other across a gap. At most one of them may have
/// other lines, because a line from each side would seem to be joined.
fn partners(scope: &Scope, grid: &Grid) -> Vec<Option<usize>> {
    let degrees = degrees(scope);
    let facing = |line: &Line| {
        let [a, b] = [line.from, line.to].map(|port| grid.access[port]);
        let ends = if a.end == 0 {
            (line.from, line.to)
        } else {
            (line.to, line.from)
        };
        (a.is_opposite(&b) && a.cell == b.cell).then_some(ends)
    };
    let mut times: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for ends in scope.lines.iter().filter_map(facing) {
        *times.entry(ends).or_default() += 1;
    }
    let mut partner: Vec<Option<usize>> = vec![None; scope.ports.len()];
    let mut faces: BTreeMap<(Axis, usize, usize), Vec<(usize, usize)>> = BTreeMap::new();
    for (a, b) in scope.lines.iter().filter_map(facing) {
        let others = [a, b].map(|port| degrees[port] - times[&(a, b)]);
        if others.contains(&0) && partner[a].is_none() && partner[b].is_none() {
            partner[a] = Some(b);
            partner[b] = Some(a);
            faces.entry(grid.access[a].face()).or_default().push((a, b));
        }
    }
    for pairs in faces.values_mut() {
        for (a, b) in crossing(scope, pairs) {
            partner[a] = None;
            partner[b] = None;
        }
    }
    partner
}

/// Returns the pairs of fixed ports that must be given up, so that the other pairs have the same
/// order on both ends: all that are not in the longest increasing subsequence.
fn crossing(scope: &Scope, pairs: &mut [(usize, usize)]) -> Vec<(usize, usize)> {
    let key = |&(a, b): &(usize, usize)| [fixed(scope, a).or(fixed(scope, b)), fixed(scope, b)];
    let mut order: Vec<(usize, usize)> = pairs.to_vec();
    order.sort_by(|x, y| {
        key(x)
            .partial_cmp(&key(y))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let seconds: Vec<(f64, (usize, usize))> = order
        .into_iter()
        .filter_map(|pair| Some((fixed(scope, pair.1)?, pair)))
        .collect();
    let mut ends: Vec<usize> = Vec::new();
    let mut previous = vec![None; seconds.len()];
    for (i, &(at, _)) in seconds.iter().enumerate() {
        let length = ends.partition_point(|&end| seconds[end].0 <= at);
        previous[i] = length.checked_sub(1).map(|last| ends[last]);
        if length == ends.len() {
            ends.push(i);
        } else {
            ends[length] = i;
        }
    }
    let mut kept = vec![false; seconds.len()];
    let mut at = ends.last().copied();
    while let Some(i) = at {
        kept[i] = true;
        at = previous[i];
    }
    let dropped = seconds.into_iter().zip(kept).filter(|(_, kept)| !kept);
    dropped.map(|((_, pair), _)| pair).collect()
}
