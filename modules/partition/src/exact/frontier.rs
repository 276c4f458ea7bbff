//! A dynamic programme over the frontier, with the relaxation as the bound on what is to come.
//!
//! Vertices are placed in the order of a [`Sweep`](crate::bound::sweep::Sweep). What matters of a
//! beginning is the load of each block and where the open vertices lie; of beginnings alike in
//! that, up to exchanges of equal blocks and equal hosts, the cheapest counts. The tables of the
//! relaxation say what each group can add at most, so what the vertices to come cost at least is
//! looked up, not computed, and a beginning that cannot undercut the best known mapping is dropped
//! (state space relaxation as completion bound, after Christofides, Mingozzi and Toth 1981). When
//! more are left than is allowed, the worst are dropped all the same: then the cheapest bound
//! among these holds for the whole, and what remains is a beam search that knows where it goes.

use std::hash::BuildHasher;
use std::time::Instant;

use hashbrown::hash_table::{Entry, HashTable};
use rustc_hash::FxBuildHasher;

use crate::bound::relaxation::{Prices, Relaxation};
use crate::bound::table::NEVER;
use crate::clusters::number;

/// Bits of a cell that are the pattern; the rest is its load in units.
const PATTERN: u32 = 12;
/// Loads in units are below this.
pub(crate) const HEAVIEST: usize = 1 << (32 - PATTERN);

/// A group of some layer, as cells see it.
struct Group {
    first: usize,
    cells: usize,
    kind: usize,
    /// Equal for groups that can be exchanged.
    alike: u32,
    /// Group of the layer above that it lies in.
    above: usize,
}

/// The programme, for one relaxation at one set of prices.
pub(crate) struct Frontier<'a> {
    relaxation: &'a Relaxation,
    /// Groups of each layer; those of the lowest have one cell each.
    layers: Vec<Vec<Group>>,
    /// Group of each layer that a cell lies in: `layer * cells + cell`.
    group_of: Vec<usize>,
    /// The lowest group (by its number in the relaxation) that each cell is.
    name: Vec<u32>,
    /// Prices of the vertices from each place on.
    left: Vec<i64>,
}

/// What a pass found.
pub(crate) struct Pass {
    /// Group of the lowest level of each vertex, in the cheapest mapping met.
    pub(crate) found: Option<Vec<u32>>,
    /// Twice the scaled cost that every mapping has at least, unless it is no better than the best known.
    pub(crate) bound: Option<i64>,
    /// Beginnings looked at.
    pub(crate) looks: u64,
    /// It was given up for lack of time: nothing is known.
    pub(crate) stopped: bool,
}

/// Beginnings of one length by their cells.
type Seen = HashTable<u32>;

/// Beginnings of one length.
#[derive(Default)]
struct Beginnings {
    cells: Vec<u32>,
    paid: Vec<i64>,
    bound: Vec<i64>,
    /// The beginning before, and the cell that the last vertex went to.
    from: Vec<(u32, u16)>,
}

impl<'a> Frontier<'a> {
    /// `relaxation` has its tables filled for these prices.
    pub(crate) fn new(relaxation: &'a Relaxation, prices: &Prices<i32>) -> Self {
        let count = relaxation.layers[0].kind_of.len();
        // For each lowest group its group at each layer, from the top.
        let mut name: Vec<u32> = (0..count as u32).collect();
        let path = |g: u32| -> Vec<u32> {
            let block = relaxation.layers[0].group_of.iter().position(|&x| x == g);
            let block = block.unwrap_or(0);
            relaxation
                .layers
                .iter()
                .rev()
                .map(|l| l.group_of[block])
                .collect()
        };
        name.sort_by_key(|&g| path(g));
        let paths: Vec<Vec<u32>> = name.iter().map(|&g| path(g)).collect();
        let tall = relaxation.layers.len();
        let mut layers: Vec<Vec<Group>> = Vec::new();
        let mut group_of = vec![0; tall * count];
        for l in 0..tall {
            let mut groups: Vec<Group> = Vec::new();
            for cell in 0..count {
                let own = paths[cell][tall - 1 - l];
                let new = cell == 0 || paths[cell - 1][tall - 1 - l] != own;
                if new {
                    groups.push(Group {
                        first: cell,
                        cells: 0,
                        kind: relaxation.layers[l].kind_of[own as usize],
                        alike: 0,
                        above: 0,
                    });
                }
                group_of[l * count + cell] = groups.len() - 1;
                if let Some(last) = groups.last_mut() {
                    last.cells += 1;
                }
            }
            layers.push(groups);
        }
        // Alike: the same capacity and the same inside, in the same order.
        for l in 0..tall {
            let mut known: Vec<Vec<u32>> = Vec::new();
            for g in 0..layers[l].len() {
                let group = &layers[l][g];
                let mut key = vec![group.kind as u32];
                if l > 0 {
                    let inside = layers[l - 1]
                        .iter()
                        .filter(|x| (group.first..group.first + group.cells).contains(&x.first));
                    key.extend(inside.map(|x| x.alike));
                }
                let at = number(&mut known, key);
                let first = group.first;
                let above = if l + 1 < tall {
                    group_of[(l + 1) * count + first]
                } else {
                    0
                };
                layers[l][g].alike = at as u32;
                layers[l][g].above = above;
            }
        }
        let mut left = vec![0; relaxation.sweep.steps.len() + 1];
        for (i, step) in relaxation.sweep.steps.iter().enumerate().rev() {
            let own = |p: &Vec<i32>| i64::from(p[step.vertex as usize]);
            left[i] = left[i + 1] + prices.iter().map(own).sum::<i64>();
        }
        Self {
            relaxation,
            layers,
            group_of,
            name,
            left,
        }
    }

    fn cells(&self) -> usize {
        self.name.len()
    }

    /// Sorts what can be exchanged; `order` goes along.
    fn settle(&self, cells: &mut [u32], mut order: Option<&mut [u16]>) {
        for groups in &self.layers {
            for g in 1..groups.len() {
                let mut at = g;
                while at > 0
                    && groups[at - 1].alike == groups[at].alike
                    && groups[at - 1].above == groups[at].above
                {
                    let (a, b) = (groups[at - 1].first, groups[at].first);
                    let size = groups[at].cells;
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

    /// Cells after a vertex went to one.
    fn place(&self, place: usize, cells: &mut [u32], to: usize) {
        let step = &self.relaxation.sweep.steps[place];
        for (c, cell) in cells.iter_mut().enumerate() {
            let mut pattern = *cell & ((1 << PATTERN) - 1);
            let mut load = *cell >> PATTERN;
            if c == to {
                pattern |= 1 << step.width;
                load += self.relaxation.layers[0].loads.of[step.vertex as usize];
            }
            *cell = load << PATTERN | step.after(pattern);
        }
    }

    /// Goes through all beginnings that may end below `limit` (twice the scaled cost), at most
    /// `width` of each length.
    pub(crate) fn pass(&self, limit: i64, width: usize, stop_at: Option<Instant>) -> Pass {
        let count = self.cells();
        let mut history: Vec<Vec<(u32, u16)>> = Vec::new();
        let mut now = Beginnings {
            cells: vec![0; count],
            paid: vec![0],
            bound: vec![0],
            from: vec![(0, 0)],
        };
        let (mut lost, mut looks) = (None::<i64>, 0);
        for place in 0..self.relaxation.sweep.steps.len() {
            let mut next = Beginnings::default();
            let mut seen = Seen::new();
            for s in 0..now.paid.len() {
                looks += 1;
                if s % 256 == 0 && stop_at.is_some_and(|t| Instant::now() >= t) {
                    return Pass {
                        found: None,
                        bound: None,
                        looks,
                        stopped: true,
                    };
                }
                self.extend(place, &now, s, limit, &mut next, &mut seen);
            }
            if next.paid.len() > width {
                let least = next.keep(width, count);
                lost = Some(lost.map_or(least, |l| l.min(least)));
            }
            history.push(std::mem::take(&mut next.from));
            now = next;
        }
        let cheapest = (0..now.paid.len()).min_by_key(|&s| now.paid[s]);
        let found = cheapest.map(|s| self.replay(&history, s));
        let paid = cheapest.map(|s| now.paid[s]);
        Pass {
            found,
            bound: paid.into_iter().chain(lost).min(),
            looks,
            stopped: false,
        }
    }

    /// All ways to place the next vertex.
    fn extend(
        &self,
        place: usize,
        now: &Beginnings,
        s: usize,
        limit: i64,
        next: &mut Beginnings,
        seen: &mut Seen,
    ) {
        let count = self.cells();
        let step = &self.relaxation.sweep.steps[place];
        let cells = &now.cells[s * count..(s + 1) * count];
        let mask = (1 << PATTERN) - 1;
        // What each group can add without the vertex, and how that changes with it.
        let mut rest = self.left[place + 1];
        let mut change = [0_i64; MOST_CELLS];
        for (l, groups) in self.layers.iter().enumerate() {
            let layer = &self.relaxation.layers[l];
            let own = layer.loads.of[step.vertex as usize] as usize;
            for group in groups {
                let (mut pattern, mut load) = (0, 0);
                for cell in &cells[group.first..group.first + group.cells] {
                    pattern |= cell & mask;
                    load += (cell >> PATTERN) as usize;
                }
                let table = &layer.kinds[group.kind].table;
                let without = i64::from(table.value(place + 1, step.after(pattern), load));
                let with =
                    table.value(place + 1, step.after(pattern | 1 << step.width), load + own);
                rest -= without;
                for c in &mut change[group.first..group.first + group.cells] {
                    *c += without - i64::from(with);
                }
            }
        }
        // What it pays to the open vertices.
        let mut pays = [0_i64; MOST_CELLS];
        for &(at, edge) in &step.back {
            let there = cells.iter().position(|c| c >> at & 1 == 1).unwrap_or(0);
            for (l, layer) in self.relaxation.layers.iter().enumerate() {
                let weight = 2 * i64::from(layer.weight[edge as usize]);
                let group = self.group_of[l * count + there];
                for (pay, own) in pays
                    .iter_mut()
                    .zip(&self.group_of[l * count..(l + 1) * count])
                {
                    *pay += if *own == group { 0 } else { weight };
                }
            }
        }
        for to in 0..count {
            let paid = now.paid[s] + pays[to];
            let bound = paid + rest + change[to];
            if bound >= limit || bound > -i64::from(NEVER) / 2 {
                continue;
            }
            let twin = to > 0
                && cells[to] == cells[to - 1]
                && self.layers[0][to].alike == self.layers[0][to - 1].alike
                && self.layers[0][to].above == self.layers[0][to - 1].above;
            if twin {
                continue;
            }
            let at = next.cells.len();
            next.cells.extend_from_slice(cells);
            let child = &mut next.cells[at..];
            self.place(place, child, to);
            self.settle(child, None);
            let own = &next.cells[at..];
            let of = |&s: &u32| &next.cells[s as usize * count..][..count];
            let hash = |cells: &[u32]| FxBuildHasher.hash_one(cells);
            match seen.entry(hash(own), |s| of(s) == own, |s| hash(of(s))) {
                Entry::Occupied(known) => {
                    let known = *known.get() as usize;
                    next.cells.truncate(at);
                    if paid < next.paid[known] {
                        next.paid[known] = paid;
                        next.bound[known] = bound;
                        next.from[known] = (s as u32, to as u16);
                    }
                }
                Entry::Vacant(place) => {
                    place.insert(next.paid.len() as u32);
                    next.paid.push(paid);
                    next.bound.push(bound);
                    next.from.push((s as u32, to as u16));
                }
            }
        }
    }

    /// Where each vertex lies at the end of a beginning that is an end.
    fn replay(&self, history: &[Vec<(u32, u16)>], mut s: usize) -> Vec<u32> {
        let mut choices = Vec::new();
        for from in history.iter().rev() {
            choices.push(from[s].1);
            s = from[s].0 as usize;
        }
        let mut cells = vec![0; self.cells()];
        let mut order: Vec<u16> = (0..self.cells() as u16).collect();
        let mut group = vec![0; self.relaxation.sweep.steps.len()];
        for (place, &to) in choices.iter().rev().enumerate() {
            let v = self.relaxation.sweep.steps[place].vertex;
            group[v as usize] = self.name[order[to as usize] as usize];
            self.place(place, &mut cells, to as usize);
            self.settle(&mut cells, Some(&mut order));
        }
        group
    }
}

/// Machines of more blocks are not tried.
pub(crate) const MOST_CELLS: usize = 64;

impl Beginnings {
    /// Keeps the `width` of the lowest bounds; returns the lowest bound that is lost.
    fn keep(&mut self, width: usize, count: usize) -> i64 {
        let mut order: Vec<u32> = (0..self.paid.len() as u32).collect();
        order.select_nth_unstable_by_key(width, |&s| (self.bound[s as usize], s));
        let least = self.bound[order[width] as usize];
        order.truncate(width);
        order.sort_unstable();
        for (to, &from) in order.iter().enumerate() {
            let from = from as usize;
            self.paid[to] = self.paid[from];
            self.bound[to] = self.bound[from];
            self.from[to] = self.from[from];
            self.cells
                .copy_within(from * count..(from + 1) * count, to * count);
        }
        self.paid.truncate(width);
        self.bound.truncate(width);
        self.from.truncate(width);
        self.cells.truncate(width * count);
        least
    }
}
