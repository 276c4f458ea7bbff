//! A dynamic programme over the front, with the relaxation as completion bound.
//!
//! Vertices are placed in the order of a [`Sweep`](crate::bound::sweep::Sweep). The state of a
//! partial mapping is the load of each block, and the blocks of the open vertices. Of all partial
//! mappings with equal states, up to exchanges of equal blocks and equal hosts, only the cheapest
//! is kept.
//!
//! The tables of the relaxation contain the most that each group can still add. So the least cost
//! of the remaining vertices is a table lookup. A partial mapping that cannot cost less than the
//! best known mapping is dropped (state space relaxation as completion bound, after Christofides,
//! Mingozzi and Toth 1981). If more are left than permitted, the worst are dropped too. The lowest
//! bound among these then limits the bound for the whole, and the search becomes a guided beam
//! search.

use std::hash::BuildHasher;
use std::ops::Range;
use std::time::Instant;

use hashbrown::hash_table::{Entry, HashTable};
use rustc_hash::FxBuildHasher;

use crate::bound::relaxation::{Prices, Relaxation};
use crate::bound::table::NEVER;
use crate::clusters::number;

/// Number of bits of a cell for the pattern. The other bits are the load in units.
const PATTERN: u32 = 12;
/// Loads in units are below this limit.
pub(crate) const HEAVIEST: usize = 1 << (32 - PATTERN);

/// A group of a layer, as a range of cells.
struct Group {
    first: usize,
    size: usize,
    kind: usize,
    /// True if the group can be exchanged with the group before it.
    twin: bool,
}

impl Group {
    fn cells(&self) -> Range<usize> {
        self.first..self.first + self.size
    }
}

/// The dynamic programme for one relaxation and one set of prices.
pub(crate) struct Frontier<'a> {
    relaxation: &'a Relaxation,
    /// Groups of each layer. Each group of the lowest layer has one cell.
    layers: Vec<Vec<Group>>,
    /// First block of the lowest group of each cell.
    block: Vec<usize>,
    /// Sum of the prices of the vertices from each step on.
    left: Vec<i64>,
}

/// Result of a pass.
pub(crate) struct Pass {
    /// The cheapest mapping found: for each vertex, the first block of its lowest group.
    pub(crate) found: Option<Vec<u32>>,
    /// Lower bound on twice the scaled cost of each mapping. It is `None` if no mapping is below
    /// the limit of the pass.
    pub(crate) bound: Option<i64>,
    /// Number of partial mappings extended.
    pub(crate) work: u64,
}

/// Costs of a partial mapping.
#[derive(Clone, Copy, Default)]
struct PartialMapping {
    paid: i64,
    bound: i64,
    /// Index of the shorter partial mapping, and the cell of the last vertex.
    from: (u32, u16),
}

/// Partial mappings of one length.
#[derive(Default)]
struct PartialMappings {
    list: Vec<PartialMapping>,
    /// Cells of each partial mapping.
    cells: Vec<u32>,
    /// Index of the partial mappings by their cells.
    seen: HashTable<u32>,
}

impl<'a> Frontier<'a> {
    /// Creates the dynamic program. The tables of `relaxation` must be filled for `prices`. Panics
    /// if the relaxation has no layer.
    pub(crate) fn new(relaxation: &'a Relaxation, prices: &Prices<i32>) -> Self {
        let lowest = &relaxation.layers[0];
        let first = |g: u32| lowest.group_of.iter().position(|&x| x == g).unwrap_or(0);
        let mut block: Vec<usize> = (0..lowest.kind_of.len() as u32).map(first).collect();
        // Sorted so that the blocks of a group are consecutive.
        let path = |&b: &usize| -> Vec<u32> {
            let groups = relaxation.layers.iter().rev().map(|l| l.group_of[b]);
            groups.collect()
        };
        block.sort_by_cached_key(path);
        // Equal for groups of the same capacity and the same contents, in the same order.
        let mut alike = vec![0; block.len()];
        let mut layers: Vec<Vec<Group>> = Vec::new();
        for (l, layer) in relaxation.layers.iter().enumerate() {
            let mut known: Vec<(usize, Vec<usize>)> = Vec::new();
            let mut groups: Vec<Group> = Vec::new();
            for run in block.chunk_by(|&a, &b| layer.group_of[a] == layer.group_of[b]) {
                let (first, size) = (groups.last().map_or(0, |g| g.cells().end), run.len());
                let kind = layer.kind_of[layer.group_of[run[0]] as usize];
                let inside = &mut alike[first..first + size];
                let own = number(&mut known, (kind, inside.to_vec()));
                inside.fill(own);
                let above = relaxation.layers.get(l + 1);
                let beside = |a, b| above.is_none_or(|l| l.group_of[a] == l.group_of[b]);
                let twin = first > 0 && alike[first - 1] == own && beside(block[first - 1], run[0]);
                groups.push(Group {
                    first,
                    size,
                    kind,
                    twin,
                });
            }
            layers.push(groups);
        }
        let mut left = vec![0; relaxation.sweep.steps.len() + 1];
        for (i, step) in relaxation.sweep.steps.iter().enumerate().rev() {
            let own = |p: &Vec<i32>| i64::from(p[step.vertex as usize]);
            left[i] = left[i + 1] + prices.iter().map(own).sum::<i64>();
        }
        Self {
            relaxation,
            layers,
            block,
            left,
        }
    }

    /// Sorts exchangeable groups into a canonical order, and permutes `order` in the same way.
    fn settle(&self, cells: &mut [u32], mut order: Option<&mut [u16]>) {
        for groups in &self.layers {
            for g in 1..groups.len() {
                let mut at = g;
                while groups[at].twin {
                    let (a, b, size) = (groups[at - 1].first, groups[at].first, groups[at].size);
                    if cells[a..a + size] <= cells[b..b + size] {
                        break;
                    }
                    for i in 0..size {
                        cells.swap(a + i, b + i);
                        if let Some(order) = order.as_deref_mut() {
                            order.swap(a + i, b + i);
                        }
                    }
                    at -= 1;
                }
            }
        }
    }

    /// Updates all cells for the placement of the vertex of step `place` in cell `to`.
    fn place(&self, place: usize, cells: &mut [u32], to: usize) {
        let step = &self.relaxation.sweep.steps[place];
        for (c, cell) in cells.iter_mut().enumerate() {
            let mut pattern = *cell & ((1 << PATTERN) - 1);
            let mut load = *cell >> PATTERN;
            if c == to {
                pattern |= 1 << step.width;
                load += step.load as u32;
            }
            *cell = load << PATTERN | step.after(pattern);
        }
    }

    /// Extends all partial mappings whose bound is below `limit` (twice the scaled cost), with at
    /// most `width` of each length. Returns `None` if the time ends.
    pub(crate) fn pass(&self, limit: i64, width: usize, stop_at: Option<Instant>) -> Option<Pass> {
        let count = self.block.len();
        let mut history: Vec<Vec<(u32, u16)>> = Vec::new();
        let mut now = PartialMappings {
            list: vec![PartialMapping::default()],
            cells: vec![0; count],
            ..PartialMappings::default()
        };
        // Bounds of the dropped partial mappings, and the cost of the best complete one.
        let mut bounds: Vec<i64> = Vec::new();
        let mut work = 0;
        for place in 0..self.relaxation.sweep.steps.len() {
            let mut next = PartialMappings::default();
            for s in 0..now.list.len() {
                work += 1;
                if s % 256 == 0 && stop_at.is_some_and(|t| Instant::now() >= t) {
                    return None;
                }
                self.extend(place, (&now, s), limit, &mut next);
            }
            if next.list.len() > width {
                bounds.push(next.keep(width, count));
            }
            history.push(next.list.iter().map(|b| b.from).collect());
            now = next;
        }
        let cheapest = now.list.iter().map(|b| b.paid).zip(0..).min();
        bounds.extend(cheapest.map(|(paid, _)| paid));
        Some(Pass {
            found: cheapest.map(|(_, s)| self.replay(&history, s)),
            bound: bounds.into_iter().min(),
            work,
        })
    }

    /// Adds to `next` the extensions of the partial mapping with index `s` in `now` by the vertex
    /// of step `place`. Omits extensions whose bound is not below `limit`, or that no complete
    /// mapping continues. Of extensions with equal states, keeps only the cheapest. Panics if there
    /// are more than [`MOST_CELLS`] cells.
    fn extend(
        &self,
        place: usize,
        (now, s): (&PartialMappings, usize),
        limit: i64,
        next: &mut PartialMappings,
    ) {
        let count = self.block.len();
        let step = &self.relaxation.sweep.steps[place];
        let cells = &now.cells[s * count..(s + 1) * count];
        let mask = (1 << PATTERN) - 1;
        // Bound on the rest if no group gets the vertex, and its change if a group does.
        let mut rest = self.left[place + 1];
        let mut change = [0_i64; MOST_CELLS];
        for (layer, groups) in self.relaxation.layers.iter().zip(&self.layers) {
            for group in groups {
                let (mut pattern, mut load) = (0, 0);
                for cell in &cells[group.cells()] {
                    pattern |= cell & mask;
                    load += (cell >> PATTERN) as usize;
                }
                let table = &layer.kinds[group.kind].table;
                let without = i64::from(table.value(place + 1, step.after(pattern), load));
                let with = table.value(
                    place + 1,
                    step.after(pattern | 1 << step.width),
                    load + step.load,
                );
                rest -= without;
                for c in &mut change[group.cells()] {
                    *c += without - i64::from(with);
                }
            }
        }
        // Cost of the edges to the open vertices, by cell.
        let mut pays = [0_i64; MOST_CELLS];
        for &(at, edge) in &step.back {
            let there = cells.iter().position(|c| c >> at & 1 == 1).unwrap_or(0);
            for (layer, groups) in self.relaxation.layers.iter().zip(&self.layers) {
                let weight = 2 * i64::from(layer.weight[edge as usize]);
                let own = groups.partition_point(|g| g.first <= there) - 1;
                pays[..count].iter_mut().for_each(|pay| *pay += weight);
                pays[groups[own].cells()]
                    .iter_mut()
                    .for_each(|pay| *pay -= weight);
            }
        }
        for to in 0..count {
            let paid = now.list[s].paid + pays[to];
            let bound = paid + rest + change[to];
            if bound >= limit || bound > -i64::from(NEVER) / 2 {
                continue;
            }
            if self.layers[0][to].twin && cells[to] == cells[to - 1] {
                continue;
            }
            let child = PartialMapping {
                paid,
                bound,
                from: (s as u32, to as u16),
            };
            let at = next.cells.len();
            next.cells.extend_from_slice(cells);
            self.place(place, &mut next.cells[at..], to);
            self.settle(&mut next.cells[at..], None);
            let own = &next.cells[at..];
            let of = |&s: &u32| &next.cells[s as usize * count..][..count];
            let hash = |cells: &[u32]| FxBuildHasher.hash_one(cells);
            match next
                .seen
                .entry(hash(own), |s| of(s) == own, |s| hash(of(s)))
            {
                Entry::Occupied(known) => {
                    let known = &mut next.list[*known.get() as usize];
                    next.cells.truncate(at);
                    if paid < known.paid {
                        *known = child;
                    }
                }
                Entry::Vacant(place) => {
                    place.insert(next.list.len() as u32);
                    next.list.push(child);
                }
            }
        }
    }

    /// Returns the complete mapping with index `s` among those of full length: for each vertex, the
    /// first block of its lowest group.
    fn replay(&self, history: &[Vec<(u32, u16)>], mut s: usize) -> Vec<u32> {
        let mut choices = Vec::new();
        for from in history.iter().rev() {
            choices.push(from[s].1);
            s = from[s].0 as usize;
        }
        let count = self.block.len();
        let mut cells = vec![0; count];
        let mut order: Vec<u16> = (0..count as u16).collect();
        let mut block = vec![0; self.relaxation.sweep.steps.len()];
        for (place, &to) in choices.iter().rev().enumerate() {
            let v = self.relaxation.sweep.steps[place].vertex;
            block[v as usize] = self.block[order[to as usize] as usize] as u32;
            self.place(place, &mut cells, to as usize);
            self.settle(&mut cells, Some(&mut order));
        }
        block
    }
}

/// Largest number of cells. Larger machines are not tried.
pub(crate) const MOST_CELLS: usize = 64;

impl PartialMappings {
    /// Keeps the `width` partial mappings with the lowest bounds, in their order. `count` is the
    /// number of cells of each. Returns the lowest bound that is dropped. The index by cells
    /// becomes invalid. Panics if there are not more than `width`.
    fn keep(&mut self, width: usize, count: usize) -> i64 {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.select_nth_unstable_by_key(width, |&s| (self.list[s as usize].bound, s));
        let least = self.list[order[width] as usize].bound;
        order.truncate(width);
        order.sort_unstable();
        for (to, &from) in order.iter().enumerate() {
            let from = from as usize;
            self.list[to] = self.list[from];
            self.cells
                .copy_within(from * count..(from + 1) * count, to * count);
        }
        self.list.truncate(width);
        self.cells.truncate(width * count);
        least
    }
}
