//! What parts may hold beyond the load, from what their blocks may: a part is open to whoever may
//! lie in one of its blocks, and holds what they hold together.

use std::sync::Arc;

use super::constrained::Constrained;
use super::level::Level;
use crate::clusters::add;
use crate::instance::{Instance, NO_LIMIT};
use crate::union::{find, join};

const NONE: u32 = u32::MAX;

/// What is limited in an instance as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Totals {
    /// By set, its blocks; none for the set of all.
    sets: Vec<Vec<u32>>,
    /// By dimension: what all vertices have, and what all blocks hold.
    total: Vec<i64>,
    room: Vec<i64>,
    /// By set and dimension: what is pinned there.
    pinned: Vec<Vec<i64>>,
}

impl Totals {
    /// `None` where loads are all there is to keep.
    pub(crate) fn of(inst: &Instance) -> Option<Arc<Self>> {
        let held = Constrained::of(inst)?;
        let (k, d, shared) = (inst.k(), inst.dims(), &inst.shared);
        let blocks = |marks: &Vec<bool>| (0..k as u32).filter(|&b| marks[b as usize]).collect();
        let sets: Vec<Vec<u32>> = std::iter::once(Vec::new())
            .chain(shared.sets[1..].iter().map(blocks))
            .collect();
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
        Some(Arc::new(Self {
            sets,
            room: (0..d).map(sum).collect(),
            total,
            pinned,
        }))
    }
}

/// The limits of some parts.
#[derive(Debug)]
pub(crate) struct Limits {
    parts: usize,
    dims: usize,
    /// By set and part: whether one that is held to the set may lie there.
    open: Vec<bool>,
    /// By set: whether only one part is open.
    settled: Vec<bool>,
    /// By part and further dimension: the sum that counts.
    at: Vec<u32>,
    /// By sum: most and least of it, and its dimension.
    pub(crate) upper: Vec<i64>,
    pub(crate) lower: Vec<i64>,
    pub(crate) dim: Vec<u32>,
    /// Mean load over mean size, by dimension: so that excess of one counts as much as of another.
    scale: Vec<f64>,
    /// By layer and part the place that it lies in as a whole.
    place: Vec<u32>,
}

/// A part: its blocks, and the exponent of the slack that it may use up.
pub(crate) struct Part<'a> {
    pub(crate) blocks: &'a [u32],
    pub(crate) slack: f64,
}

impl Limits {
    pub(crate) fn new(inst: &Instance, totals: &Totals, parts: &[Part<'_>]) -> Self {
        let (k, count, shared) = (inst.k(), parts.len(), &inst.shared);
        let mut part_of = vec![0; k];
        for (p, part) in parts.iter().enumerate() {
            part.blocks.iter().for_each(|&b| part_of[b as usize] = p);
        }
        let mut open = vec![false; totals.sets.len() * count];
        open[..count].fill(true);
        for (s, blocks) in totals.sets.iter().enumerate() {
            for &b in blocks {
                open[s * count + part_of[b as usize]] = true;
            }
        }
        let rows = open.chunks_exact(count);
        let settled = rows.map(|row| row.iter().filter(|o| **o).count() == 1);
        let place = |layer: usize| {
            parts.iter().map(move |part| {
                let first = shared.place(layer, part.blocks[0]);
                let mut rest = part.blocks.iter();
                let whole = rest.all(|&b| shared.place(layer, b) == first);
                first.filter(|_| whole).unwrap_or(NONE)
            })
        };
        let each = |dim: usize| totals.total[0] as f64 / totals.total[dim].max(1) as f64;
        let mut limits = Self {
            parts: count,
            dims: inst.dims(),
            settled: settled.collect(),
            open,
            at: vec![0; count * (inst.dims() - 1)],
            upper: Vec::new(),
            lower: Vec::new(),
            dim: Vec::new(),
            scale: (0..inst.dims()).map(each).collect(),
            place: (0..shared.layers()).flat_map(place).collect(),
        };
        for dim in 1..inst.dims() {
            limits.sum(inst, totals, parts, dim);
        }
        limits
    }

    /// The sums of a dimension. Where blocks of several parts share a limit these parts share one;
    /// a part of several such places may hold what they may together.
    fn sum(&mut self, inst: &Instance, totals: &Totals, parts: &[Part<'_>], dim: usize) {
        let (count, d, shared) = (parts.len(), inst.dims(), &inst.shared);
        // Parts, then places by their first blocks.
        let mut root: Vec<u32> = (0..(count + inst.k()) as u32).collect();
        for (p, part) in parts.iter().enumerate() {
            for &b in part.blocks {
                let place = shared.at(b as usize, dim) / d;
                join(&mut root, p as u32, (count + place) as u32);
            }
        }
        let mut sum = vec![NONE; count];
        let first = self.upper.len();
        let mut slack = Vec::new();
        for (p, part) in parts.iter().enumerate() {
            let r = find(&mut root, p as u32) as usize;
            if sum[r] == NONE {
                sum[r] = self.upper.len() as u32;
                self.upper.push(0);
                self.lower.push(0);
                self.dim.push(dim as u32);
                slack.push(1.0_f64);
            }
            let at = sum[r];
            slack[at as usize - first] = slack[at as usize - first].min(part.slack);
            self.at[p * (d - 1) + dim - 1] = at;
        }
        for b in 0..inst.k() {
            let own = b * d + dim;
            if shared.at(b, dim) == own {
                let at = sum[find(&mut root, (count + b) as u32) as usize] as usize;
                self.upper[at] = self.upper[at].saturating_add(shared.upper[own]);
                if let Some(least) = shared.lower.get(own) {
                    self.lower[at] += least;
                }
            }
        }
        // What must lie here whatever the shares say.
        let mut must = vec![0; self.upper.len() - first];
        for (blocks, pinned) in totals.sets.iter().zip(&totals.pinned) {
            let place = |&b: &u32| find(&mut root, (count + shared.at(b as usize, dim) / d) as u32);
            let mut roots: Vec<u32> = blocks.iter().map(place).collect();
            roots.dedup();
            if let [only] = roots[..] {
                must[sum[only as usize] as usize - first] += pinned[dim];
            }
        }
        if totals.room[dim] >= NO_LIMIT {
            return;
        }
        let (total, room) = (totals.total[dim] as f64, totals.room[dim].max(1) as f64);
        let all = (room / total.max(1.0)).max(1.0);
        for (i, upper) in self.upper[first..].iter_mut().enumerate() {
            let share = total * *upper as f64 / room;
            let bound = (share * all.powf(slack[i])).max(share.ceil()) as i64;
            if slack[i] < 1.0 {
                *upper = bound.max(must[i]).min(*upper);
            }
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

/// What is kept of a mapping beyond the load.
pub(crate) struct ConstraintState<'a> {
    pub(crate) held: &'a Constrained,
    pub(crate) limits: &'a Limits,
    /// By sum, see [`Limits`].
    pub(crate) sum: Vec<i64>,
}

impl<'a> ConstraintState<'a> {
    pub(crate) fn new(level: &'a Level, limits: &'a Limits, part: &[u32]) -> Option<Self> {
        let held = level.held.as_deref()?;
        let mut kept = Self {
            held,
            limits,
            sum: vec![0; limits.upper.len()],
        };
        if held.dims > 1 {
            for (v, &p) in part.iter().enumerate() {
                kept.put(v as u32, p, 1);
            }
        }
        Some(kept)
    }

    fn put(&mut self, v: u32, part: u32, sign: i64) {
        let further = &self.held.size(v)[1..];
        for (&at, size) in self.limits.at(part).iter().zip(further) {
            self.sum[at as usize] += sign * size;
        }
    }

    #[inline(never)]
    pub(crate) fn shift(&mut self, v: u32, from: u32, to: u32) {
        if self.held.dims > 1 {
            self.put(v, from, -1);
            self.put(v, to, 1);
        }
    }

    /// Whether there is no other part for a vertex.
    #[inline]
    pub(crate) fn stays(&self, v: u32) -> bool {
        self.limits.settled[self.held.set(v) as usize]
    }

    /// Whether nothing that is kept gets worse when a vertex moves. (In line it would slow down
    /// those who keep nothing.)
    #[inline(never)]
    pub(crate) fn allows(&self, v: u32, to: u32, part: &[u32]) -> bool {
        self.limits.is_open(self.held.set(v), to)
            && (self.held.dims == 1 || self.has_room(v, part[v as usize], to))
            && !(self.held.has_apart() && self.meets(v, to, part))
    }

    fn has_room(&self, v: u32, from: u32, to: u32) -> bool {
        let limits = self.limits;
        let sums = limits.at(from).iter().zip(limits.at(to));
        let mut each = self.held.size(v)[1..].iter().zip(sums);
        each.all(|(&size, (&out, &into))| {
            let (out, into) = (out as usize, into as usize);
            if size == 0 {
                return true;
            }
            // Inside a place nothing changes; what is too full is to be left.
            if out == into {
                return self.sum[out] <= limits.upper[out];
            }
            let leaves = limits.lower[out] == 0 || self.sum[out] - size >= limits.lower[out];
            self.sum[into] + size <= limits.upper[into] && leaves
        })
    }

    /// Whether a vertex meets one in a part that it is to keep apart from.
    pub(crate) fn meets(&self, v: u32, there: u32, part: &[u32]) -> bool {
        let mut list = self.held.apart(v).iter();
        list.any(|&(u, layer)| u != v && self.limits.same(layer, there, part[u as usize]))
    }

    /// Sum of a dimension that a part counts for.
    #[inline]
    pub(crate) fn at(&self, part: u32, dim: usize) -> usize {
        self.limits.at(part)[dim - 1] as usize
    }

    #[inline]
    pub(crate) fn over(&self, at: usize) -> i64 {
        (self.sum[at] - self.limits.upper[at]).max(0)
    }

    #[inline]
    pub(crate) fn under(&self, at: usize) -> i64 {
        (self.limits.lower[at] - self.sum[at]).max(0)
    }

    /// All that is broken, in units of load; 0 when nothing is.
    pub(crate) fn excess(&self, level: &Level, part: &[u32]) -> i64 {
        let mut excess = 0.0_f64;
        for at in 0..self.sum.len() {
            let scale = self.limits.scale[self.limits.dim[at] as usize];
            excess += (self.over(at) + self.under(at)) as f64 * scale;
        }
        let mut broken = 0;
        for v in 0..part.len() as u32 {
            let here = part[v as usize];
            let closed = !self.limits.is_open(self.held.set(v), here);
            broken += i64::from(closed || self.meets(v, here, part));
        }
        let mean = level.total_load() / level.len().max(1) as i64;
        excess.ceil() as i64 + broken * mean.max(1)
    }
}
