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
use std::ops::Range;
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
    size: usize,
    kind: usize,
    /// Whether it can be exchanged with the group before it.
    twin: bool,
}

impl Group {
    fn cells(&self) -> Range<usize> {
        self.first..self.first + self.size
    }
}

/// The programme, for one relaxation at one set of prices.
pub(crate) struct Frontier<'a> {
    relaxation: &'a Relaxation,
    /// Groups of each layer; those of the lowest have one cell each.
    layers: Vec<Vec<Group>>,
    /// The first block of the lowest group that each cell is.
    block: Vec<usize>,
    /// Prices of the vertices from each place on.
    left: Vec<i64>,
}

/// What a pass found.
pub(crate) struct Pass {
    /// The first block of the lowest group of each vertex, in the cheapest mapping met.
    pub(crate) found: Option<Vec<u32>>,
    /// Twice the scaled cost that every mapping has at least, unless it is no better than the best known.
    pub(crate) bound: Option<i64>,
    /// Beginnings looked at.
    pub(crate) work: u64,
}

/// What a beginning costs.
#[derive(Clone, Copy, Default)]
struct Beginning {
    paid: i64,
    bound: i64,
    /// The beginning before, and the cell that the last vertex went to.
    from: (u32, u16),
}

/// Beginnings of one length.
#[derive(Default)]
struct Beginnings {
    list: Vec<Beginning>,
    /// The cells of each.
    cells: Vec<u32>,
    /// Each by its cells.
    seen: HashTable<u32>,
}

impl<'a> Frontier<'a> {
    /// `relaxation` has its tables filled for these prices.
    pub(crate) fn new(relaxation: &'a Relaxation, prices: &Prices<i32>) -> Self {
        let lowest = &relaxation.layers[0];
        let first = |g: u32| lowest.group_of.iter().position(|&x| x == g).unwrap_or(0);
        let mut block: Vec<usize> = (0..lowest.kind_of.len() as u32).map(first).collect();
        // What lies in one group stands in a row.
        let path = |&b: &usize| -> Vec<u32> {
            let groups = relaxation.layers.iter().rev().map(|l| l.group_of[b]);
            groups.collect()
        };
        block.sort_by_cached_key(path);
        // Equal for groups of the same capacity and the same inside, in the same order.
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

    /// Sorts what can be exchanged; `order` goes along.
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

    /// Cells after a vertex went to one.
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

    /// Goes through all beginnings that may end below `limit` (twice the scaled cost), at most
    /// `width` of each length. `None` when there is no time for it.
    pub(crate) fn pass(&self, limit: i64, width: usize, stop_at: Option<Instant>) -> Option<Pass> {
        let count = self.block.len();
        let mut history: Vec<Vec<(u32, u16)>> = Vec::new();
        let mut now = Beginnings {
            list: vec![Beginning::default()],
            cells: vec![0; count],
            ..Beginnings::default()
        };
        // Of what was dropped, and of what is there in the end.
        let mut bounds: Vec<i64> = Vec::new();
        let mut work = 0;
        for place in 0..self.relaxation.sweep.steps.len() {
            let mut next = Beginnings::default();
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

    /// All ways to place the next vertex.
    fn extend(
        &self,
        place: usize,
        (now, s): (&Beginnings, usize),
        limit: i64,
        next: &mut Beginnings,
    ) {
        let count = self.block.len();
        let step = &self.relaxation.sweep.steps[place];
        let cells = &now.cells[s * count..(s + 1) * count];
        let mask = (1 << PATTERN) - 1;
        // What each group can add without the vertex, and how that changes with it.
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
        // What it pays to the open vertices.
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
            let child = Beginning {
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

    /// Where each vertex lies at the end of a beginning that is an end.
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

/// Machines of more blocks are not tried.
pub(crate) const MOST_CELLS: usize = 64;

impl Beginnings {
    /// Keeps the `width` of the lowest bounds; returns the lowest bound that is lost.
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
