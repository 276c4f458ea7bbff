//! Sets aside heavy vertices and blocks that must hold more than their share of the load. The other
//! blocks share the remaining load.

use crate::instance::Instance;
use crate::quota::NO_LIMIT;

/// Largest number of sets of blocks that are compared pairwise.
const COMPARED: usize = 200;

/// Returns the load bound of a block with the given share of the load: the share rounded up to an
/// integer, times `1 + imbalance`, rounded down. A part of 10^-12 of the share does not count,
/// because it may be a rounding error. Rounds `imbalance` to millionths. The result is at least 1
/// and at most [`NO_LIMIT`].
pub(crate) fn bound(share: f64, imbalance: f64) -> i64 {
    let whole = (share * (1.0 - 1e-12)).ceil();
    let millionths = 1_000_000 + (imbalance * 1e6).round() as i128;
    (whole as i128 * millionths / 1_000_000).clamp(1, NO_LIMIT.into()) as i64
}

/// Vertices that are allowed in the same blocks.
#[derive(Default)]
struct Confined {
    open: Vec<bool>,
    /// Vertices in ascending order of load.
    vertices: Vec<u32>,
    load: i64,
    /// Indices of the sets of which all blocks are in this one, including itself.
    within: Vec<usize>,
}

/// State of blocks and vertices while some are set aside.
pub(crate) struct Aside<'a> {
    inst: &'a Instance,
    pub(crate) imbalance: f64,
    pub(crate) speed: Vec<f64>,
    free: Vec<bool>,
    sets: Vec<Confined>,
    /// Load that rules force into a block beyond its share, or 0.
    pub(crate) forced: Vec<f64>,
    /// True if the forced load of the block cannot be in another block.
    pub(crate) alone: Vec<bool>,
    /// Most load that limits other than load allow in each block.
    most: Vec<f64>,
    /// Vertices set aside: the vertex, its block, and the overfull blocks that it is confined to,
    /// if any.
    pub(crate) heavy: Vec<(u32, u32, Option<Vec<bool>>)>,
    /// Load that remains for the free blocks.
    rest: f64,
    pub(crate) total: i64,
}

impl<'a> Aside<'a> {
    pub(crate) fn new(inst: &'a Instance, imbalance: f64, held: Option<(&[bool], &[u32])>) -> Self {
        let k = inst.k();
        let mut aside = Self {
            inst,
            imbalance,
            speed: (inst.shared.machine.blocks().iter())
                .map(|b| f64::from(b.speed))
                .collect(),
            free: vec![true; k],
            sets: Vec::new(),
            forced: vec![0.0; k],
            alone: vec![false; k],
            most: vec![f64::INFINITY; k],
            heavy: Vec::new(),
            rest: 0.0,
            total: inst.total_load(),
        };
        aside.rest = aside.total as f64;
        if let Some((held, block)) = held {
            for (b, load) in inst
                .loads(block)
                .into_iter()
                .enumerate()
                .filter(|e| held[e.0])
            {
                aside.free[b] = false;
                aside.forced[b] = load as f64;
                aside.alone[b] = true;
                aside.rest -= load as f64;
            }
        }
        let is_held = |v: u32| held.is_some_and(|(held, block)| held[block[v as usize] as usize]);
        aside.sets = confined(inst, is_held);
        aside
    }

    pub(crate) fn is_shaped(&self) -> bool {
        self.free.contains(&false)
    }

    /// Returns the load per unit of speed if the free blocks share the remaining load as evenly as
    /// their limits other than load allow. Ignores these limits if together they allow less than
    /// the remaining load. If no block is free, returns the remaining load.
    pub(crate) fn level(&self) -> f64 {
        let mut open: Vec<usize> = (0..self.free.len()).filter(|&b| self.free[b]).collect();
        let speed = |open: &[usize]| open.iter().map(|&b| self.speed[b]).sum::<f64>();
        let even = self.rest.max(0.0) / speed(&open).max(1.0);
        let (mut rest, mut level) = (self.rest.max(0.0), even);
        loop {
            let (above, full): (Vec<usize>, Vec<usize>) =
                (open.iter()).partition(|&&b| self.most[b] >= level * self.speed[b]);
            match (full.is_empty(), above.is_empty()) {
                (true, _) => return level,
                // The existence of a mapping is decided by packing and search.
                (false, true) => return even,
                _ => {}
            }
            rest -= full.iter().map(|&b| self.most[b]).sum::<f64>();
            level = rest / speed(&above);
            open = above;
        }
    }

    /// Sets aside what exceeds its room by the largest factor. It is either the heaviest vertex of
    /// a set, with its fastest free block, or a set of blocks with the load confined to it. A
    /// vertex that is allowed in one block only counts only in the set of that block. Returns
    /// false, without a change, if there is no such excess.
    pub(crate) fn next(&mut self) -> bool {
        let level = self.level();
        let room = |b: usize| bound(level * self.speed[b], self.imbalance) as f64;
        let (mut most, mut found) = (1.0, None);
        let mut meets = |factor: f64, what: Overload| {
            if factor > most {
                (most, found) = (factor, Some(what));
            }
        };
        // Load that is allowed in this block alone.
        let mut pinned = vec![0; self.free.len()];
        for set in &self.sets {
            let mut open = (0..self.free.len()).filter(|&b| set.open[b]);
            if let (Some(b), None) = (open.next(), open.next()) {
                pinned[b] += set.load;
            }
        }
        for (s, set) in self.sets.iter().enumerate() {
            let open = || (0..self.free.len()).filter(|&b| set.open[b]);
            let free = || open().filter(|&b| self.free[b]);
            // Of equally fast blocks, the one with the least pinned load.
            let fastest = free().max_by(|&a, &b| {
                let speeds = self.speed[a].total_cmp(&self.speed[b]);
                speeds.then(pinned[b].cmp(&pinned[a])).then(b.cmp(&a))
            });
            if let (Some(&v), Some(b)) = (set.vertices.last(), fastest)
                && open().nth(1).is_some()
            {
                meets(self.inst.load(v) as f64 / room(b), Overload::Vertex(s, b));
            }
            // A set of all blocks need not be checked while a block is free, because all remaining
            // load fits into the free blocks.
            if set.open.contains(&false) || fastest.is_none() {
                let rooms: f64 = free().map(room).sum();
                meets(self.held(s) / rooms, Overload::Set(s));
            }
        }
        match found {
            None => return false,
            Some(Overload::Vertex(s, b)) => {
                let v = self.sets[s].vertices.pop().expect("it has a heaviest");
                let load = self.inst.load(v);
                self.sets[s].load -= load;
                self.rest -= load as f64;
                self.free[b] = false;
                self.heavy.push((v, b as u32, None));
            }
            Some(Overload::Set(s)) => self.set_aside(s),
        }
        true
    }

    /// Returns the load, of vertices not set aside, that must be in the blocks of the set with
    /// index `s`. With more than `COMPARED` sets, vertices of sets inside this one do not count.
    fn held(&self, s: usize) -> f64 {
        let inside = self.sets[s].within.iter();
        inside.map(|&s| self.sets[s].load).sum::<i64>() as f64
    }

    /// Sets aside the blocks of the set with index `s`, together with the load confined to them. A
    /// set of one block is marked as `alone`. The load is distributed over the free blocks of the
    /// set in proportion to their speed. If no block of the set is free, the load is added to the
    /// forced load of each of them. Then heavy vertices in these blocks are no longer set aside,
    /// and count as forced load. Otherwise heavy vertices that are allowed only in the set are
    /// confined to it.
    fn set_aside(&mut self, s: usize) {
        let open = self.sets[s].open.clone();
        let held = self.held(s);
        for inside in self.sets[s].within.clone() {
            self.sets[inside].load = 0;
            self.sets[inside].vertices.clear();
        }
        self.rest -= held;
        let blocks: Vec<usize> = (0..open.len()).filter(|&b| open[b]).collect();
        if let [b] = blocks[..] {
            self.alone[b] = true;
        }
        let free: Vec<usize> = blocks.iter().copied().filter(|&b| self.free[b]).collect();
        if free.is_empty() {
            // All blocks of the set are set aside already, so the load is added to each of them.
            let inst = self.inst;
            let forced = &mut self.forced;
            let there = |b: u32| open[b as usize];
            for (v, b, _) in self.heavy.iter().filter(|e| there(e.1)) {
                forced[*b as usize] = inst.load(*v) as f64;
            }
            self.heavy.retain(|e| !there(e.1));
            blocks.into_iter().for_each(|b| forced[b] += held);
            return;
        }
        let level = held / free.iter().map(|&b| self.speed[b]).sum::<f64>();
        for b in free {
            self.free[b] = false;
            self.forced[b] = level * self.speed[b];
        }
        let inside =
            |v: u32| (0..open.len()).all(|b| open[b] || !self.inst.is_allowed(v, b as u32));
        for (v, b, own) in &mut self.heavy {
            if open[*b as usize] && own.is_none() && inside(*v) {
                // All blocks of the set have the same level, so the vertex may be in any of them.
                self.forced[*b as usize] = level * self.speed[*b as usize];
                *own = Some(open.clone());
            }
        }
    }

    /// Applies limits other than load, such as memory: reduces the load that each block can take,
    /// and then calls [`Aside::trade`]. Limits that several blocks share are ignored. Returns false
    /// if load is the only dimension.
    pub(crate) fn bound_by_limits(&mut self) -> bool {
        let (inst, d) = (self.inst, self.inst.dims());
        let mut heavy = vec![false; inst.len()];
        self.heavy.iter().for_each(|e| heavy[e.0 as usize] = true);
        for i in 1..d {
            let own = |b: usize| {
                let shares = |other: usize| inst.shared.at(other, i) == inst.shared.at(b, i);
                !inst.shared.has_places() || (0..inst.k()).filter(|&o| shares(o)).count() == 1
            };
            // Finds the most load within a limit, in descending order of load per size. Vertices
            // may be divided.
            let mut order: Vec<u32> = (0..inst.len() as u32).collect();
            order.retain(|v| inst.load(*v) > 0 && !heavy[*v as usize]);
            let (load, size) = (
                |v: u32| inst.load(v) as f64,
                |v: u32| inst.size_of(v)[i] as f64,
            );
            order.sort_by(|&a, &b| (load(b) * size(a)).total_cmp(&(load(a) * size(b))));
            let mut sums = vec![(0.0, 0.0)];
            for &v in &order {
                let last = sums[sums.len() - 1];
                sums.push((last.0 + size(v), last.1 + load(v)));
            }
            for b in (0..inst.k()).filter(|&b| own(b)) {
                let upper = inst.shared.upper[inst.shared.at(b, i)] as f64;
                let whole = sums.partition_point(|sum| sum.0 <= upper) - 1;
                let (taken, mut most) = sums[whole];
                if let Some(&v) = order.get(whole) {
                    most += load(v) * (upper - taken) / size(v);
                }
                self.most[b] = self.most[b].min(most);
            }
        }
        self.trade();
        d > 1
    }

    /// Exchanges the block set aside for each heavy vertex for a free block of the same speed, if
    /// limits other than load leave that block less room. Of these blocks, chooses the one with the
    /// least room that the vertex fits into. The vertex then wastes the least capacity for load.
    /// Vertices confined to overfull blocks and blocks with forced load are not exchanged.
    fn trade(&mut self) {
        let (inst, d) = (self.inst, self.inst.dims());
        for i in 0..self.heavy.len() {
            let (v, own, ref confined) = self.heavy[i];
            let own = own as usize;
            if confined.is_some() || self.forced[own] > 0.0 {
                continue;
            }
            let fits = |b: usize| {
                let upper = |i: usize| inst.shared.upper[inst.shared.at(b, i)];
                inst.is_allowed(v, b as u32) && (1..d).all(|i| inst.size_of(v)[i] <= upper(i))
            };
            let others = (0..self.free.len()).filter(|&b| {
                self.free[b] && self.speed[b] == self.speed[own] && self.most[b] < self.most[own]
            });
            let least = others
                .filter(|&b| fits(b))
                .min_by(|&a, &b| self.most[a].total_cmp(&self.most[b]));
            if let Some(b) = least {
                (self.free[own], self.free[b]) = (true, false);
                self.heavy[i].1 = b as u32;
            }
        }
    }
}

/// A vertex or set of blocks that exceeds its share.
enum Overload {
    /// The heaviest vertex of a set, and a block for it.
    Vertex(usize, usize),
    /// The load confined to a set of blocks.
    Set(usize),
}

/// Groups the vertices by the blocks that rules and their own sizes allow. Omits vertices without
/// load and vertices for which `is_held` returns true. Also finds, for each group, the groups whose
/// blocks are among its own. With more than [`COMPARED`] groups, that is the group alone.
fn confined(inst: &Instance, is_held: impl Fn(u32) -> bool) -> Vec<Confined> {
    let (k, d) = (inst.k(), inst.dims());
    let upper = |b: usize, i: usize| inst.shared.upper[inst.shared.at(b, i)];
    let narrowest = |i: usize| (0..k).map(|b| upper(b, i)).min().unwrap_or(0);
    let narrowest: Vec<i64> = (0..d).map(narrowest).collect();
    let mut number = std::collections::BTreeMap::new();
    let mut sets: Vec<Confined> = Vec::new();
    for v in (0..inst.len() as u32).filter(|&v| inst.load(v) > 0 && !is_held(v)) {
        let size = inst.size_of(v);
        let fits_all = (1..d).all(|i| size[i] <= narrowest[i]);
        let own = inst.set.get(v as usize).copied().unwrap_or(0);
        let unfit = match fits_all {
            true => Vec::new(),
            false => (0..k)
                .map(|b| (1..d).any(|i| size[i] > upper(b, i)))
                .collect(),
        };
        let open = |b: usize| inst.is_allowed(v, b as u32) && !unfit.get(b).is_some_and(|&u| u);
        let next = sets.len();
        let at = *number.entry((own, unfit.clone())).or_insert(next);
        if at == next {
            sets.push(Confined {
                open: (0..k).map(open).collect(),
                ..Confined::default()
            });
        }
        sets[at].vertices.push(v);
        sets[at].load += inst.load(v);
    }
    for set in &mut sets {
        set.vertices
            .sort_by_key(|&v| (inst.load(v), std::cmp::Reverse(v)));
    }
    let all = sets.len() <= COMPARED;
    for s in 0..sets.len() {
        let inside = |&o: &usize| {
            let mut pairs = sets[o].open.iter().zip(&sets[s].open);
            o == s || all && pairs.all(|(&o, &s)| s || !o)
        };
        sets[s].within = (0..sets.len()).filter(inside).collect();
    }
    sets
}
