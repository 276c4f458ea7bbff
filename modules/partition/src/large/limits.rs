//! Limits of parts other than the load, derived from the limits of their blocks. A part is open to
//! a vertex if one of its blocks is, and its capacity is the sum over its blocks.

use super::constrained::VertexConstraints;
use super::level::Level;
use crate::clusters::add;
use crate::instance::{Instance, NO_LIMIT};
use crate::union::{find, join};

const NONE: u32 = u32::MAX;

/// Limits of an instance as a whole.
#[derive(Debug)]
pub(crate) struct Totals {
    /// Blocks of each set.
    sets: Vec<Vec<u32>>,
    /// Total size of all vertices, by dimension.
    total: Vec<i64>,
    /// Total capacity of all blocks, by dimension.
    room: Vec<i64>,
    /// Total size of the vertices that are pinned to each set, by set and dimension. The row of the
    /// set of all blocks is zero.
    pinned: Vec<Vec<i64>>,
}

impl Totals {
    /// Returns the totals, or `None` if only loads are limited.
    pub(crate) fn of(inst: &Instance) -> Option<Self> {
        let held = VertexConstraints::of(inst)?;
        let (k, d, shared) = (inst.k(), inst.dims(), &inst.shared);
        let blocks = |marks: &Vec<bool>| (0..k as u32).filter(|&b| marks[b as usize]).collect();
        let sets: Vec<Vec<u32>> = shared.sets.iter().map(blocks).collect();
        let mut total = vec![0; d];
        let mut pinned = vec![vec![0; d]; sets.len()];
        for v in 0..inst.len() as u32 {
            let size = inst.size_of(v);
            add(&mut total, size, 1);
            if held.set(v) != 0 {
                add(&mut pinned[held.set(v) as usize], size, 1);
            }
        }
        let sum = |dim| {
            let own = |b: &usize| shared.at(*b, dim) == b * d + dim;
            let uppers = (0..k).filter(own).map(|b| shared.upper[b * d + dim]);
            uppers.fold(0, i64::saturating_add)
        };
        Some(Self {
            sets,
            room: (0..d).map(sum).collect(),
            total,
            pinned,
        })
    }
}

/// Joint limit of some parts in one dimension.
#[derive(Debug)]
pub(crate) struct Sum {
    /// Index of the dimension, without the load.
    pub(crate) further: usize,
    /// Largest and smallest permitted sum.
    upper: i64,
    lower: i64,
    /// Total size of the vertices that are pinned here. The reduced upper limit is never below it.
    must: i64,
    /// Exponent of the slack that the sum may use.
    slack: f64,
    /// Mean load divided by mean size, so that the excess of each dimension has the same weight.
    scale: f64,
}

/// Limits of some parts.
#[derive(Debug)]
pub(crate) struct Limits {
    parts: usize,
    dims: usize,
    /// True if a vertex with the set may be in the part, by set and part.
    open: Vec<bool>,
    /// True if only one part is open, by set.
    settled: Vec<bool>,
    /// Index of the sum that applies, by part and further dimension.
    at: Vec<u32>,
    pub(crate) sums: Vec<Sum>,
    /// Place that contains the whole part, by layer and part.
    place: Vec<u32>,
}

impl Limits {
    /// Creates the limits. `parts` contains the blocks of each part, and the exponent of the slack
    /// that the part may use. Every part must have a block.
    pub(crate) fn new(inst: &Instance, totals: &Totals, parts: &[(&[u32], f64)]) -> Self {
        let (count, shared) = (parts.len(), &inst.shared);
        let mut part_of = vec![0; inst.k()];
        for (p, (blocks, _)) in (0..).zip(parts) {
            blocks.iter().for_each(|&b| part_of[b as usize] = p);
        }
        let mut open = vec![false; totals.sets.len() * count];
        for (row, blocks) in open.chunks_exact_mut(count).zip(&totals.sets) {
            let parts = blocks.iter().map(|&b| part_of[b as usize]);
            parts.for_each(|p| row[p as usize] = true);
        }
        let rows = open.chunks_exact(count);
        let settled = rows.map(|row| row.iter().filter(|o| **o).count() == 1);
        let place = |layer: usize| {
            parts.iter().map(move |(blocks, _)| {
                let mut places = blocks.iter().map(|&b| shared.place(layer, b));
                let first = places.next().expect("a block");
                first.filter(|_| places.all(|p| p == first)).unwrap_or(NONE)
            })
        };
        let mut limits = Self {
            parts: count,
            dims: inst.dims(),
            settled: settled.collect(),
            open,
            at: vec![0; count * (inst.dims() - 1)],
            sums: Vec::new(),
            place: (0..shared.layers()).flat_map(place).collect(),
        };
        for dim in 1..inst.dims() {
            limits.sum(inst, totals, (parts, &part_of), dim);
        }
        limits
    }

    /// Adds the sums of a dimension. If blocks of several parts share a limit, the parts share one
    /// sum. If a part spans several such places, their capacities are added.
    fn sum(
        &mut self,
        inst: &Instance,
        totals: &Totals,
        (parts, part_of): (&[(&[u32], f64)], &[u32]),
        dim: usize,
    ) {
        let (d, shared) = (inst.dims(), &inst.shared);
        let mut root: Vec<u32> = (0..self.parts as u32).collect();
        for (b, &part) in part_of.iter().enumerate() {
            join(&mut root, part, part_of[shared.at(b, dim) / d]);
        }
        let first = self.sums.len();
        let mut sum_of: Vec<usize> = Vec::with_capacity(self.parts);
        for (p, &(_, slack)) in parts.iter().enumerate() {
            // The first of the parts that share a sum is their root.
            let root = find(&mut root, p as u32) as usize;
            if root == p {
                sum_of.push(self.sums.len());
                self.sums.push(Sum {
                    further: dim - 1,
                    upper: 0,
                    lower: 0,
                    must: 0,
                    slack: 1.0,
                    scale: totals.total[0] as f64 / totals.total[dim].max(1) as f64,
                });
            } else {
                sum_of.push(sum_of[root]);
            }
            let sum = &mut self.sums[sum_of[p]];
            sum.slack = sum.slack.min(slack);
            self.at[p * (d - 1) + dim - 1] = sum_of[p] as u32;
        }
        for (b, &part) in part_of.iter().enumerate() {
            let own = b * d + dim;
            if shared.at(b, dim) == own {
                let sum = &mut self.sums[sum_of[part as usize]];
                sum.upper = sum.upper.saturating_add(shared.upper[own]);
                sum.lower += shared.lower.get(own).copied().unwrap_or(0);
            }
        }
        for (blocks, pinned) in totals.sets.iter().zip(&totals.pinned) {
            let sums = blocks.iter().map(|&b| sum_of[part_of[b as usize] as usize]);
            let mut sums: Vec<usize> = sums.collect();
            sums.dedup();
            if let [only] = sums[..] {
                self.sums[only].must += pinned[dim];
            }
        }
        if totals.room[dim] >= NO_LIMIT {
            return;
        }
        let (total, room) = (totals.total[dim] as f64, totals.room[dim].max(1) as f64);
        let all = (room / total.max(1.0)).max(1.0);
        for sum in self.sums[first..].iter_mut().filter(|sum| sum.slack < 1.0) {
            let share = total * sum.upper as f64 / room;
            let bound = (share * all.powf(sum.slack)).max(share.ceil()) as i64;
            sum.upper = bound.max(sum.must).min(sum.upper);
        }
    }

    #[inline]
    pub(crate) fn is_open(&self, set: u32, part: u32) -> bool {
        self.open[set as usize * self.parts + part as usize]
    }

    fn at(&self, part: u32) -> &[u32] {
        let further = self.dims - 1;
        &self.at[part as usize * further..(part as usize + 1) * further]
    }

    #[inline]
    fn same(&self, layer: u32, a: u32, b: u32) -> bool {
        let row = layer as usize * self.parts;
        let place = self.place[row + a as usize];
        place == self.place[row + b as usize] && place != NONE
    }
}

/// State of the constraints of a mapping other than load bounds.
pub(crate) struct ConstraintState<'a> {
    pub(crate) held: &'a VertexConstraints,
    pub(crate) limits: &'a Limits,
    /// Current size of each sum of [`Limits`].
    pub(crate) sum: Vec<i64>,
}

impl<'a> ConstraintState<'a> {
    pub(crate) fn new(level: &'a Level, limits: &'a Limits, part: &[u32]) -> Option<Self> {
        let held = level.held.as_ref()?;
        let mut kept = Self {
            held,
            limits,
            sum: vec![0; limits.sums.len()],
        };
        for (v, &p) in (0..).zip(part).filter(|_| held.dims > 1) {
            kept.put(v, p, 1);
        }
        Some(kept)
    }

    fn put(&mut self, v: u32, part: u32, sign: i64) {
        for (&at, size) in self.limits.at(part).iter().zip(self.held.further(v)) {
            self.sum[at as usize] += sign * size;
        }
    }

    #[inline(never)]
    pub(crate) fn shift(&mut self, v: u32, from: u32, to: u32) {
        self.put(v, from, -1);
        self.put(v, to, 1);
    }

    /// Returns true if only one part is open to a vertex, even if the vertex is not there.
    #[inline]
    pub(crate) fn stays(&self, v: u32) -> bool {
        self.limits.settled[self.held.set(v) as usize]
    }

    /// Returns true if moving a vertex to part `to` violates no constraint. Load bounds are not
    /// checked. `part` contains the part of each vertex. It is not inlined, because that would slow
    /// down the moves of instances without constraints.
    #[inline(never)]
    pub(crate) fn allows(&self, v: u32, to: u32, part: &[u32]) -> bool {
        self.limits.is_open(self.held.set(v), to)
            && self.has_room(v, part[v as usize], to)
            && !self.meets(v, to, part)
    }

    fn has_room(&self, v: u32, from: u32, to: u32) -> bool {
        let limits = self.limits;
        let sums = limits.at(from).iter().zip(limits.at(to));
        let mut each = self.held.further(v).iter().zip(sums);
        each.all(|(&size, (&out, &into))| {
            let (out, into) = (out as usize, into as usize);
            if size == 0 {
                return true;
            }
            // A move within one sum does not change it. If the sum is too large, the vertex should
            // leave it.
            if out == into {
                return self.sum[out] <= limits.sums[out].upper;
            }
            let least = limits.sums[out].lower;
            let leaves = least == 0 || self.sum[out] - size >= least;
            self.sum[into] + size <= limits.sums[into].upper && leaves
        })
    }

    /// Returns true if the part `there`, or another part in the same place, contains a vertex from
    /// which `v` must be kept apart.
    pub(crate) fn meets(&self, v: u32, there: u32, part: &[u32]) -> bool {
        let mut list = self.held.apart(v).iter();
        list.any(|&(u, layer)| u != v && self.limits.same(layer, there, part[u as usize]))
    }

    /// Returns the index of the sum that applies to a part in a further dimension.
    #[inline]
    pub(crate) fn at(&self, part: u32, further: usize) -> usize {
        self.limits.at(part)[further] as usize
    }

    #[inline]
    pub(crate) fn over(&self, at: usize) -> i64 {
        (self.sum[at] - self.limits.sums[at].upper).max(0)
    }

    #[inline]
    pub(crate) fn under(&self, at: usize) -> i64 {
        (self.limits.sums[at].lower - self.sum[at]).max(0)
    }

    /// Returns the total violation in units of load. It is 0 if all constraints are satisfied.
    pub(crate) fn excess(&self, level: &Level, part: &[u32]) -> i64 {
        let mut excess = 0.0_f64;
        for at in 0..self.sum.len() {
            excess += (self.over(at) + self.under(at)) as f64 * self.limits.sums[at].scale;
        }
        let mut violation = 0;
        for v in 0..part.len() as u32 {
            let here = part[v as usize];
            let closed = !self.limits.is_open(self.held.set(v), here);
            violation += i64::from(closed || self.meets(v, here, part));
        }
        let mean = level.total_load() / level.len().max(1) as i64;
        excess.ceil() as i64 + violation * mean.max(1)
    }
}
