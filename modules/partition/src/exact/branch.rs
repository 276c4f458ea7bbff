//! Branch and bound that proves optimality.
//!
//! Vertices are placed in a fixed order. The bound is the sum of three terms. The first is the cost
//! so far. The second is the least cost of the edges of each open vertex to placed ones, over the
//! blocks with space for it. The third is the least cost among the open vertices. It is the optimum
//! of the problem restricted to them, which the same search has found before, from the last vertex
//! backwards (Russian doll search, Verfaillie, Lemaitre and Schiex 1996).
//!
//! Equivalent blocks and equivalent vertices are tried in one order only.

use super::fill::{Fit, fill};
use super::limit::{Limit, NEVER, Outcome};
use super::symmetry::{Blocks, twins};
use crate::budget::{Clock, partway};
use crate::instance::Instance;

struct Search<'a> {
    inst: &'a Instance,
    /// Vertex at each position, and position of each vertex.
    order: Vec<u32>,
    position: Vec<u32>,
    /// True if the vertex at a position is a twin of the one before.
    twin: Vec<bool>,
    /// Optimum of the vertices from each position on.
    optimum_from: Vec<i64>,
    /// Load of the vertices from each position on, by dimension.
    rest: Vec<i64>,
    block: Vec<u32>,
    load: Vec<i64>,
    /// Cost to the placed vertices, at `position * k + block`.
    table: Vec<i64>,
    blocks: Blocks<'a>,
    best: i64,
    found: Option<Vec<u32>>,
    nodes: u64,
    /// Clock that counts the table entries visited, because nodes take longer with many blocks.
    clock: Clock,
    limit: Limit<'a>,
    stopped: bool,
    /// Position of the first vertex of the current subproblem.
    start: usize,
}

const NONE: u32 = u32::MAX;

/// Searches for the optimum. `known` is a feasible mapping, if there is one. Only a mapping that
/// costs less is returned. If the limit is reached, the outcome is not complete, but its bound
/// still holds.
pub(crate) fn solve(inst: &Instance, known: Option<&[u32]>, limit: Limit<'_>) -> Outcome {
    let (n, k, d) = (inst.len(), inst.k(), inst.dims());
    let class = twins(inst);
    let order = ordering(inst, &class);
    let mut position = vec![0; n];
    order
        .iter()
        .enumerate()
        .for_each(|(i, &v)| position[v as usize] = i as u32);
    let twin = |i| i > 0 && class[order[i] as usize] == class[order[i - 1] as usize];
    let twin = (0..n).map(twin).collect();
    let mut rest = vec![0; (n + 1) * d];
    for i in (0..n).rev() {
        for (j, s) in inst.size_of(order[i]).iter().enumerate() {
            rest[i * d + j] = rest[(i + 1) * d + j] + s;
        }
    }
    let mut search = Search {
        inst,
        order,
        position,
        twin,
        optimum_from: vec![0; n + 1],
        rest,
        block: vec![NONE; n],
        load: vec![0; k * d],
        table: vec![0; n * k],
        blocks: Blocks::new(inst),
        best: 0,
        found: None,
        nodes: 0,
        clock: Clock::new(limit.stop_at),
        limit,
        stopped: false,
        start: 0,
    };
    let mut bound = 0;
    for start in (0..n).rev() {
        search.start = start;
        // The search accepts only mappings that cost less than the known mapping on these vertices.
        search.best = known.map_or(NEVER, |block| search.among(block));
        search.found = None;
        if search.best > bound {
            search.place(start, 0);
        }
        // The bound of the last complete subproblem holds for the whole.
        if search.stopped {
            break;
        }
        bound = search.best;
        search.optimum_from[start] = bound;
        // These vertices have no feasible mapping, so the whole has none.
        if bound >= NEVER {
            break;
        }
    }
    let found = search.found.filter(|_| search.start == 0);
    Outcome {
        better: found.map(|block| (block, search.best)),
        bound,
        complete: !search.stopped,
    }
}

/// Searches for a feasible mapping, ignoring costs. Returns [`Fit::Open`] if the limit is reached
/// first. May use five times as many nodes as `limit` has.
pub(crate) fn feasible(inst: &Instance, limit: Limit<'_>) -> Fit {
    // It may take more nodes, because they are cheaper.
    let brief = Limit {
        nodes: limit.nodes.saturating_mul(4),
        stop_at: partway(limit.stop_at, 0.5),
        ..limit
    };
    let filled = fill(inst, brief);
    if filled != Fit::Open {
        return filled;
    }
    let outcome = solve(&inst.edgeless(), None, limit);
    match outcome.better {
        Some((block, _)) => Fit::Found(block),
        None if outcome.complete => Fit::Never,
        None => Fit::Open,
    }
}

/// Returns the search order. It starts with the vertex of the most traffic, and continues with the
/// vertex that has the most traffic to those before it. `class` contains the class of twins of each
/// vertex.
///
/// Twins are consecutive. Classes of more than four vertices come last, because their placement is
/// then only a matter of numbers.
fn ordering(inst: &Instance, class: &[u32]) -> Vec<u32> {
    let n = inst.len();
    let weight: Vec<i64> = (0..n as u32)
        .map(|v| inst.row(v).map(|e| e.1).sum())
        .collect();
    let mut copies = vec![0; n];
    class.iter().for_each(|&c| copies[c as usize] += 1);
    let many = |v: usize| copies[class[v] as usize] > 4;
    let mut tie = vec![0_i64; n];
    let mut done = vec![false; n];
    let mut order = Vec::with_capacity(n);
    while order.len() < n {
        let open = (0..n).filter(|&v| !done[v]);
        let first = |&v: &usize| {
            (
                !many(v),
                tie[v],
                weight[v],
                inst.load(v as u32),
                std::cmp::Reverse(v),
            )
        };
        let Some(next) = open.max_by_key(first) else {
            break;
        };
        let alike: Vec<usize> = (0..n).filter(|&v| class[v] == class[next]).collect();
        for v in alike {
            done[v] = true;
            order.push(v as u32);
            for (u, w) in inst.row(v as u32) {
                tie[u as usize] += w;
            }
        }
    }
    order
}

impl Search<'_> {
    /// Returns the cost of a mapping within the current subproblem: of the edges between vertices
    /// from position `start` on.
    fn among(&self, block: &[u32]) -> i64 {
        let mut sum = 0;
        for &v in &self.order[self.start..] {
            for (u, w) in self.inst.row(v) {
                if self.position[u as usize] as usize >= self.start && u < v {
                    sum += w * self.inst.distance(block[v as usize], block[u as usize]);
                }
            }
        }
        sum
    }

    fn fits(&self, v: u32, b: u32) -> bool {
        let inst = self.inst;
        let room = |(i, s): (usize, &i64)| {
            let at = inst.shared.at(b as usize, i);
            *s == 0 || self.load[at] + s <= inst.shared.upper[at]
        };
        inst.size_of(v).iter().enumerate().all(room)
            && inst.is_allowed(v, b)
            && inst.clashes(v, b, &self.block) == 0
    }

    /// Returns the number of vertices with the sizes of this one that still fit into a block, by
    /// the upper limits alone. Returns `usize::MAX` if all sizes are 0.
    fn copies(&self, v: u32, b: u32) -> usize {
        let room = |(i, &s): (usize, &i64)| {
            let at = self.inst.shared.at(b as usize, i);
            (s > 0).then(|| ((self.inst.shared.upper[at] - self.load[at]).max(0) / s) as usize)
        };
        self.inst
            .size_of(v)
            .iter()
            .enumerate()
            .filter_map(room)
            .min()
            .unwrap_or(usize::MAX)
    }

    /// Returns a lower bound on the cost of the edges between the vertices from position `at` on
    /// and the placed vertices. Returns `None` if one of them does not fit into any block. Twins
    /// share the space: the cheapest block takes as many as fit, and the next block the rest.
    fn ties(&self, at: usize) -> Option<i64> {
        let k = self.inst.k();
        let mut sum = 0;
        let mut i = at;
        while i < self.order.len() {
            let row = &self.table[i * k..(i + 1) * k];
            let v = self.order[i];
            let mut alike = 1;
            while self.twin.get(i + alike) == Some(&true) {
                alike += 1;
            }
            i += alike;
            if alike == 1 {
                let mut least = NEVER;
                for (b, &cost) in row.iter().enumerate() {
                    if cost < least && self.fits(v, b as u32) {
                        least = cost;
                    }
                }
                if least == NEVER {
                    return None;
                }
                sum += least;
                continue;
            }
            let mut open: Vec<(i64, u32)> = (0..k as u32)
                .filter(|&b| self.fits(v, b))
                .map(|b| (row[b as usize], b))
                .collect();
            open.sort_unstable();
            for (cost, b) in open {
                let here = self.copies(v, b).min(alike);
                sum += cost * here as i64;
                alike -= here;
            }
            if alike > 0 {
                return None;
            }
        }
        Some(sum)
    }

    /// Returns true if the blocks together have space for the sizes of the vertices from position
    /// `at` on, and these suffice for the lower limits. Lower limits are checked only if the
    /// subproblem is the whole problem.
    fn has_room(&self, at: usize) -> bool {
        let (inst, d) = (self.inst, self.inst.dims());
        let shared = &inst.shared;
        (0..d).all(|i| {
            let (mut room, mut want) = (0_i64, 0_i64);
            for b in 0..inst.k() {
                let load = self.load[b * d + i];
                room = room.saturating_add(shared.upper[b * d + i] - load);
                if self.start == 0 && !shared.lower.is_empty() {
                    want += (shared.lower[b * d + i] - load).max(0);
                }
            }
            (want..=room).contains(&self.rest[at * d + i])
        })
    }

    fn place(&mut self, at: usize, paid: i64) {
        self.nodes += 1;
        let k = self.inst.k();
        if self.nodes >= self.limit.nodes
            || self.clock.is_late((self.order.len() - at + k) * k)
            || (self.nodes.is_multiple_of(2048) && self.limit.is_over())
        {
            self.stopped = true;
            return;
        }
        if at == self.order.len() {
            if paid < self.best && self.has_room(at) {
                self.best = paid;
                self.found = Some(self.block.clone());
            }
            return;
        }
        if !self.has_room(at) {
            return;
        }
        let Some(ties) = self.ties(at) else { return };
        if paid + ties + self.optimum_from[at] >= self.best && at > self.start {
            return;
        }
        let (v, k) = (self.order[at], self.inst.k());
        let lowest = if at > self.start && self.twin[at] {
            self.block[self.order[at - 1] as usize]
        } else {
            0
        };
        let mut choices: Vec<(i64, u32)> = (lowest..k as u32)
            .filter(|&b| self.fits(v, b) && !self.blocks.has_earlier_equivalent(b))
            .map(|b| (self.table[at * k + b as usize], b))
            .collect();
        choices.sort_unstable();
        for (cost, b) in choices {
            if paid + cost >= self.best {
                break;
            }
            self.put(at, b, 1);
            self.place(at + 1, paid + cost);
            self.put(at, b, -1);
            // No mapping can cost less than the vertices after the first do alone.
            if self.stopped || self.best <= self.optimum_from[self.start + 1] {
                return;
            }
        }
    }

    fn put(&mut self, at: usize, b: u32, sign: i64) {
        let (v, inst) = (self.order[at], self.inst);
        let k = inst.k();
        inst.count(&mut self.load, v, b, sign);
        self.block[v as usize] = if sign > 0 { b } else { NONE };
        self.blocks.count(b, sign);
        for (u, w) in inst.row(v) {
            let i = self.position[u as usize] as usize;
            if i > at {
                for c in 0..k as u32 {
                    self.table[i * k + c as usize] += sign * w * inst.distance(b, c);
                }
            }
        }
    }
}
