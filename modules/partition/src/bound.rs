//! Lower bounds on the cost of every feasible mapping, without search.
//!
//! The distance of two blocks is the sum of the steps of the levels that separate them. So the cost
//! is a sum over levels of the step times the traffic that the groups of this level cut. A bound on
//! each cut gives a bound on the cost. A group can hold no more load than its blocks. Four bounds
//! on a cut are computed, and the best one is used:
//!
//! - Edge-disjoint spanning forests, the heaviest first. In each of them, the edges that are not
//!   cut join vertices into trees, each of which must fit into a group. There are at least as many
//!   groups as the load needs. Dynamic programming finds the cheapest such cut of a tree. It uses
//!   loads that are rounded down, which can only make the cut cheaper.
//! - Only some neighbours of a vertex fit into its group. The traffic to the others is cut. It
//!   counts in full over vertices that are not adjacent, or half over all vertices.
//! - Flows along trees around a few vertices with very many neighbours, see [`hubs`].
//! - Flows between vertices that cannot all be in one group, see [`flow`].
//!
//! If the network has an order of narrow fronts, [`relaxation`] bounds all levels together. Its
//! bound is usually much better.

use std::cell::OnceCell;
use std::time::Instant;

use crate::clusters::Members;
use crate::instance::Instance;
use crate::union::find;

mod edges;
mod flow;
mod hubs;
pub(crate) mod levels;
mod lightest;
pub(crate) mod master;
pub(crate) mod relaxation;
pub(crate) mod sweep;
pub(crate) mod table;
#[cfg(test)]
pub(crate) mod tests;

use crate::tuning::bounds::{ONE_FOREST, PROMPT};
use flow::Flow;
use hubs::Hubs;
use levels::{Level, levels};
use lightest::Lightest;

/// Limit for the search for flows: work, in visited channels, and a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    pub(crate) work: u64,
    pub(crate) stop_at: Option<Instant>,
}

/// Returns a lower bound on the search cost ([`Instance::cost`]) of all feasible mappings. Flows
/// are skipped if `effort.work` is 0, or if the bound without them is at least `enough`. In a large
/// network, other parts are skipped too after `effort.stop_at`. Returns 0 without vertices or with
/// fewer than two blocks.
///
/// The time is nearly linear in edges times levels times load units, beside the given effort. Large
/// instances use fewer units, and none if their vertices are light.
pub(crate) fn lower_bound(inst: &Instance, enough: i64, effort: Effort) -> i64 {
    let n = inst.len();
    if n == 0 || inst.k() < 2 {
        return 0;
    }
    let levels = levels(inst);
    // In a large network, parts that have not begun in time are skipped. The result is still a
    // bound.
    let large = inst.arcs() > PROMPT;
    let late = || large && effort.stop_at.is_some_and(|t| Instant::now() >= t);
    let around = Stars::new(inst, &levels);
    let hubs = (!late()).then(|| Hubs::new(inst));
    let total = inst.total_load();
    let trees: Vec<i64> = if late() {
        vec![0; levels.len()]
    } else if n > ONE_FOREST && levels.iter().all(|l| is_fine(inst, l)) {
        let fewest: Vec<i64> = levels.iter().map(|l| l.fewest(total)).collect();
        let most = fewest.iter().max().map_or(0, |&f| f as usize);
        let lightest = Lightest::new(inst, most);
        fewest.into_iter().map(|f| lightest.cut(f)).collect()
    } else {
        let forests = forests(inst, if n > ONE_FOREST { 1 } else { 3 });
        let cut = |l: &Level| {
            let open = forests.iter().filter(|_| !late());
            open.map(|f| f.cut(inst, l)).sum::<i64>()
        };
        // The uppermost level first, because its cuts cost the most.
        let mut cuts: Vec<i64> = levels.iter().rev().map(cut).collect();
        cuts.reverse();
        cuts
    };
    let cut = |(level, &trees): (&Level, &i64)| {
        let around = around.cut(inst, level);
        let hubs = hubs.as_ref().map_or(0, |hubs| hubs.cut(level.most()));
        trees.max(around).max(hubs)
    };
    let mut cuts: Vec<i64> = levels.iter().zip(&trees).map(cut).collect();
    let sum = |cuts: &[i64]| -> i64 { cuts.iter().zip(&levels).map(|(c, l)| c * l.step).sum() };
    if effort.work == 0 || sum(&cuts) >= enough {
        return sum(&cuts);
    }
    let flow = Flow::new(inst);
    // Upper levels get a larger share, because they cost more and their flows are longer.
    let shares: usize = (1..=levels.len()).sum();
    let start = Instant::now();
    let time = effort.stop_at.map(|t| t.saturating_duration_since(start));
    let mut passed = 0;
    for (i, level) in levels.iter().enumerate() {
        let part = (i + 1) as f64 / shares as f64;
        passed += i + 1;
        let until = time.map(|t| start + t.mul_f64(passed as f64 / shares as f64));
        let most = (effort.work as f64 * part) as u64;
        let more = |work: u64| work < most && until.is_none_or(|t| Instant::now() < t);
        cuts[i] = cuts[i].max(flow.cut(level.most(), &more));
    }
    sum(&cuts)
}

/// Returns a lower bound on the traffic between the children of the machine's root, or 0 if they do
/// not form a level. They form one if the distances inside each child are smaller than the distance
/// of the root.
pub(crate) fn between_hosts(inst: &Instance) -> i64 {
    let nodes = inst.shared.machine.nodes();
    let root = nodes[0].distance;
    let nearer = |&c: &u32| nodes[c as usize].distance < root;
    let levels = levels(inst);
    let (Some(top), true) = (levels.last(), nodes[0].children.iter().all(nearer)) else {
        return 0;
    };
    let trees: i64 = forests(inst, 3).iter().map(|f| f.cut(inst, top)).sum();
    let around = Stars::new(inst, &levels).cut(inst, top);
    trees.max(around).max(Hubs::new(inst).cut(top.most()))
}

/// A spanning forest.
struct Forest {
    /// Edges with their weights, the heaviest first.
    edges: Vec<(i64, u32, u32)>,
    /// Nodes of the rooted trees, parents first: vertex, index of its parent (or `NONE`), and the
    /// weight between them. Computed on demand, because large networks seldom need it.
    nodes: OnceCell<Vec<(u32, u32, i64)>>,
}

const NONE: u32 = u32::MAX;

/// Returns up to `count` spanning forests without common edges. Takes the heaviest edges first,
/// each into the first forest in which it closes no cycle. Ignores edges without positive weight.
/// Returns fewer forests if no edges are left.
fn forests(inst: &Instance, count: usize) -> Vec<Forest> {
    let n = inst.len();
    let mut edges: Vec<(i64, u32, u32)> = Vec::new();
    for v in 0..n as u32 {
        edges.extend(
            inst.row(v)
                .filter(|e| e.0 < v && e.1 > 0)
                .map(|(u, w)| (w, v, u)),
        );
    }
    // The stable sort is linear if all weights are equal, and nearly linear if few differ.
    edges.sort_by_key(|e| std::cmp::Reverse(e.0));
    let mut result = Vec::new();
    for _ in 0..count {
        let mut root: Vec<u32> = (0..n as u32).collect();
        let mut taken: Vec<(i64, u32, u32)> = Vec::new();
        edges.retain(|&(w, a, b)| {
            let (x, y) = (find(&mut root, a), find(&mut root, b));
            if x != y {
                root[x as usize] = y;
                taken.push((w, a, b));
            }
            x == y
        });
        if taken.is_empty() {
            break;
        }
        result.push(Forest {
            edges: taken,
            nodes: OnceCell::new(),
        });
    }
    result
}

impl Forest {
    /// Returns a lower bound on the weight of the edges of the forest that any grouping at this
    /// level cuts.
    fn cut(&self, inst: &Instance, level: &Level) -> i64 {
        let trees = (inst.len() - self.edges.len()) as i64;
        let least = usize::try_from(level.fewest(inst.total_load()) - trees).unwrap_or(0);
        let by_number = self.edges.iter().rev().take(least).map(|e| e.0).sum();
        self.by_load(inst, level).max(by_number)
    }

    /// Returns the weight of the cheapest cut into pieces that each fit into the largest group,
    /// with loads rounded down to units. Returns 0 if all rounded loads are 0, or if a vertex alone
    /// does not fit.
    ///
    /// Computes in floating point, because processors take the minimum of several pairs at once.
    /// Sums below 2^53 are exact. Returns 0 if the weights of the forest sum to 2^53 or more.
    fn by_load(&self, inst: &Instance, level: &Level) -> i64 {
        let n = inst.len();
        let unit = unit(inst, level);
        let most = (level.most() / unit) as usize;
        let total: i64 = self.edges.iter().map(|e| e.0).sum();
        if is_fine(inst, level) || total >= EXACT {
            return 0;
        }
        let nodes = self.nodes.get_or_init(|| rooted(n, &self.edges));
        // For each vertex, from the last to the first: cheapest cut below it by the load of its own
        // piece, in units. A list is dropped once it is merged into the list of the parent.
        let mut table: Vec<Vec<f64>> = vec![Vec::new(); n];
        let mut sum = 0.0;
        for at in (0..n).rev() {
            let (v, parent, w) = nodes[at];
            let own = (inst.load(v) / unit) as usize;
            let mut mine = std::mem::take(&mut table[at]);
            if mine.is_empty() {
                mine.push(0.0);
            }
            // Lists contain only the children. The own load is added later. If it alone is too
            // heavy, there is no bound.
            if own > most {
                return 0;
            }
            mine.truncate(most - own + 1);
            let cheapest = mine.iter().copied().fold(f64::INFINITY, f64::min);
            if parent == NONE {
                sum += cheapest;
                continue;
            }
            let above = &mut table[parent as usize];
            if above.is_empty() {
                above.push(0.0);
            }
            *above = merge(above, &mine, own, cheapest + w as f64, most);
        }
        sum as i64
    }
}

/// Up to this number, all integers can be represented in floating point.
const EXACT: i64 = 1 << f64::MANTISSA_DIGITS;

/// Returns the unit that loads are rounded down to: the largest load of a group, divided by 16, 64
/// or 256, and at least 1. Small instances have small units.
fn unit(inst: &Instance, level: &Level) -> i64 {
    let units = match inst.len() {
        0..=5_000 => 256,
        5_001..=200_000 => 64,
        _ => 16,
    };
    (level.most() / units).max(1)
}

/// Returns true if all vertices are lighter than the [`unit`] of this level, so that their rounded
/// loads are 0.
fn is_fine(inst: &Instance, level: &Level) -> bool {
    let unit = unit(inst, level);
    (0..inst.len() as u32).all(|v| inst.load(v) < unit)
}

/// Returns the nodes of a forest of `n` vertices, parents first: each vertex, the index of its
/// parent in the list, and the weight of the edge between them. The parent of a root is [`NONE`],
/// with the weight 0. `edges` contains the weight and both ends of each edge.
fn rooted(n: usize, edges: &[(i64, u32, u32)]) -> Vec<(u32, u32, i64)> {
    // Each edge appears at both ends.
    let from: Vec<u32> = edges.iter().flat_map(|&(_, a, b)| [a, b]).collect();
    let places = Members::new(&from, n);
    let mut seen = vec![false; n];
    let mut nodes = Vec::with_capacity(n);
    for root in 0..n as u32 {
        if std::mem::replace(&mut seen[root as usize], true) {
            continue;
        }
        let mut next = nodes.len();
        nodes.push((root, NONE, 0));
        while let Some(&(v, _, _)) = nodes.get(next) {
            for &at in places.of(v as usize) {
                let ((w, ..), u) = (edges[at as usize / 2], from[at as usize ^ 1]);
                if !std::mem::replace(&mut seen[u as usize], true) {
                    nodes.push((u, next as u32, w));
                }
            }
            next += 1;
        }
    }
    nodes
}

/// Returns the costs of the cheapest cuts below a vertex, including one more child than in `above`.
/// Lists are indexed by the load of the open piece in units, without the load of the vertex itself.
/// The piece of the child is either cut off at the cost `apart`, or joined at the cost in `child`.
/// A joined piece also adds `own`, the load of the child. Loads that cannot occur cost infinity.
/// Joined loads above `most` are omitted.
fn merge(above: &[f64], child: &[f64], own: usize, apart: f64, most: usize) -> Vec<f64> {
    let longest = (above.len() + child.len() + own - 1).min(most + 1);
    let mut result = vec![f64::INFINITY; longest.max(above.len())];
    for (a, &x) in above.iter().enumerate() {
        if x == f64::INFINITY {
            continue;
        }
        result[a] = result[a].min(x + apart);
        let joined = result.get_mut(a + own..longest).unwrap_or_default();
        for (least, &y) in joined.iter_mut().zip(child) {
            // Faster than `min`, which also checks for NaN.
            *least = if x + y < *least { x + y } else { *least };
        }
    }
    result
}

/// Neighbours of vertices, by traffic per load.
struct Stars {
    /// Vertices that do not fit into the smallest group together with all their neighbours. Each
    /// has its edges in descending order of weight per load of the neighbour.
    rows: Vec<(u32, Vec<(i64, i64)>)>,
}

impl Stars {
    fn new(inst: &Instance, levels: &[Level]) -> Self {
        let least = levels.iter().map(Level::most).min().unwrap_or(0);
        let all = 0..inst.len() as u32;
        let widest = all.clone().map(|v| inst.degree(v)).max().unwrap_or(0) as i64;
        let heaviest = all.map(|v| inst.load(v)).max().unwrap_or(0);
        if heaviest.saturating_mul(widest + 1) <= least {
            return Self { rows: Vec::new() };
        }
        let crowded = |v: &u32| {
            let around = inst.row(*v).map(|(u, _)| inst.load(u));
            around.fold(inst.load(*v), i64::saturating_add) > least
        };
        let sorted = |v: u32| {
            let mut row: Vec<(i64, i64)> = inst.row(v).map(|(u, w)| (w, inst.load(u))).collect();
            row.sort_by(|a, b| {
                (i128::from(b.0) * i128::from(a.1)).cmp(&(i128::from(a.0) * i128::from(b.1)))
            });
            row
        };
        Self {
            rows: (0..inst.len() as u32)
                .filter(crowded)
                .map(|v| (v, sorted(v)))
                .collect(),
        }
    }

    fn cut(&self, inst: &Instance, level: &Level) -> i64 {
        // Computed once, because it visits all blocks.
        let most = level.most();
        let one = |(v, row): &(u32, Vec<_>)| (cut_around(row, most - inst.load(*v)), *v);
        let mut order: Vec<(i64, u32)> = self.rows.iter().map(one).collect();
        order.retain(|&(cut, _)| cut > 0);
        let half = (order.iter().map(|o| o.0).sum::<i64>() + 1) / 2;
        order.sort_unstable_by_key(|&(cut, v)| (std::cmp::Reverse(cut), v));
        let mut blocked = vec![false; if order.is_empty() { 0 } else { inst.len() }];
        let mut full = 0;
        for (cut, v) in order {
            if !blocked[v as usize] {
                full += cut;
                inst.row(v).for_each(|(u, _)| blocked[u as usize] = true);
            }
        }
        half.max(full)
    }
}

/// Returns a lower bound on the traffic of a vertex that is cut if a load of `room` fits into its
/// group beside it. `row` contains the weight of each edge and the load of the neighbour, in
/// descending order of weight per load. Panics if `room` is negative and the first neighbour has no
/// load.
fn cut_around(row: &[(i64, i64)], mut room: i64) -> i64 {
    let mut cut = 0;
    for &(w, load) in row {
        if load <= room {
            room -= load;
        } else {
            // The part that does not fit, rounded down. No room is left for later neighbours.
            let part = i128::from(w) * i128::from(load - room.max(0)) / i128::from(load);
            cut += part as i64;
            room = 0;
        }
    }
    cut
}
