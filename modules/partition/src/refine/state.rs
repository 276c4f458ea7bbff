//! Mapping that changes, with its loads, its cost, and the cost of each vertex in each block.

use crate::instance::{Instance, NO_LIMIT};
use crate::tuning::divisions::TOGETHER;

/// A mapping with the tables that give the effect of a move in constant time. It takes 8 bytes for
/// each vertex and block, so it is used for small instances and the coarse levels of large ones. An
/// instance without edges takes only 8 bytes for each block, because all costs are 0.
#[derive(Clone)]
pub(crate) struct State<'a> {
    pub(crate) inst: &'a Instance,
    pub(crate) block: Vec<u32>,
    /// `block * dims + dim`.
    pub(crate) load: Vec<i64>,
    /// `vertex * stride + block`: cost of the vertex's edges if it were in that block.
    table: Vec<i64>,
    /// Number of blocks, or 0 if all vertices share one row because there are no edges.
    stride: usize,
    pub(crate) cost: i64,
    /// Number of broken limits, and of pairs that must be apart but are together. 0 if feasible.
    pub(crate) faults: i64,
    members: Vec<Vec<u32>>,
    place: Vec<u32>,
    k: usize,
    dims: usize,
    /// Whether blocks limit only their load.
    plain: bool,
    /// Table entries that moves have changed since the counter was last reset.
    pub(crate) work: usize,
}

impl<'a> State<'a> {
    pub(crate) fn new(inst: &'a Instance, block: Vec<u32>) -> Self {
        let (n, k, dims) = (inst.len(), inst.k(), inst.dims());
        let edgeless = inst.graph.arcs() == 0;
        let mut state = Self {
            inst,
            load: inst.sums(&block),
            table: vec![0; if edgeless { k } else { n * k }],
            stride: if edgeless { 0 } else { k },
            cost: 0,
            faults: 0,
            members: vec![Vec::new(); k],
            place: vec![0; n],
            block,
            k,
            dims,
            plain: inst.limits_loads_alone(),
            work: 0,
        };
        let nodes = inst.shared.machine.nodes().len();
        // A node of the tree takes several times as long as a block of a row. With a few blocks the
        // tree gains nothing.
        let many = match k > FEW {
            true => COSTLY * nodes / k + 1,
            false => usize::MAX,
        };
        let mut sums = vec![[0; 2]; nodes];
        let mut twice = 0;
        for v in 0..n as u32 {
            let row = &mut state.table[v as usize * state.stride..][..k];
            if inst.degree(v) >= many {
                fill_along_tree(inst, v, &state.block, &mut sums, row);
            } else {
                for (u, w) in inst.row(v) {
                    let distances = inst.distances(state.block[u as usize]);
                    row.iter_mut().zip(distances).for_each(|(c, d)| *c += w * d);
                }
            }
            let b = state.block[v as usize] as usize;
            twice += row[b];
            state.place[v as usize] = state.members[b].len() as u32;
            state.members[b].push(v);
        }
        state.cost = twice / 2;
        let faults = (0..k * dims).map(|i| state.fault(i, state.load[i]));
        state.faults = faults.sum::<i64>() + state.clashes_of_all() / 2;
        state
    }

    #[inline]
    fn fault(&self, i: usize, load: i64) -> i64 {
        i64::from(self.distress(i, load) > 0)
    }

    /// Returns the amount by which a load is above the upper limit or below the lower limit of the
    /// sum with index `i`, or 0.
    #[inline]
    fn distress(&self, i: usize, load: i64) -> i64 {
        let shared = &self.inst.shared;
        let over = (load - shared.upper[i]).max(0);
        match shared.lower.is_empty() {
            true => over,
            false => over + (shared.lower[i] - load).max(0),
        }
    }

    /// Returns twice the number of pairs that must be apart but are together.
    fn clashes_of_all(&self) -> i64 {
        let of = |v: u32| self.clashes(v, self.block[v as usize], None);
        (0..self.inst.len() as u32).map(of).sum()
    }

    #[inline]
    pub(crate) fn costs(&self, v: u32) -> &[i64] {
        &self.table[v as usize * self.stride..][..self.k]
    }

    /// Returns the change of cost if the vertex moved to block `to`.
    #[inline]
    pub(crate) fn move_cost(&self, v: u32, to: u32) -> i64 {
        let row = self.costs(v);
        row[to as usize] - row[self.block[v as usize] as usize]
    }

    /// Returns the change of excess if `v` moved to block `to`, and `back`, if given, from there to
    /// the block of `v`. The unit is the mean sum of a block in each dimension. Pairs that must be
    /// apart count too.
    #[inline]
    pub(crate) fn excess_change(&self, v: u32, to: u32, back: Option<u32>) -> f64 {
        let from = self.block[v as usize];
        if self.plain {
            let (from, to) = (from as usize, to as usize);
            let back = back.map_or(0, |u| self.inst.size[u as usize]);
            let size = self.inst.size[v as usize] - back;
            let upper = &self.inst.shared.upper;
            let over = |b: usize, load: i64| (load - upper[b]).max(0);
            let change = over(from, self.load[from] - size) - over(from, self.load[from])
                + over(to, self.load[to] + size)
                - over(to, self.load[to]);
            return change as f64 * self.inst.shared.excess[0];
        }
        self.excess_change_in_all(v, from, to, back)
    }

    fn excess_change_in_all(&self, v: u32, from: u32, to: u32, back: Option<u32>) -> f64 {
        let shared = &self.inst.shared;
        let mut change = 0.0;
        for (d, &size) in self.inst.size_of(v).iter().enumerate() {
            let size = size - back.map_or(0, |u| self.inst.size[u as usize * self.dims + d]);
            if size == 0 {
                continue;
            }
            let (i, j) = (shared.at(from as usize, d), shared.at(to as usize, d));
            if i == j {
                continue;
            }
            let after =
                self.distress(i, self.load[i] - size) + self.distress(j, self.load[j] + size);
            let now = self.distress(i, self.load[i]) + self.distress(j, self.load[j]);
            change += (after - now) as f64 * shared.excess[d];
        }
        if !self.inst.apart.is_empty() {
            // A pair that changes places has no influence on its own separation.
            let pairs = |v: u32, from: u32, to: u32, other: Option<u32>| {
                self.clashes(v, to, other) - self.clashes(v, from, other)
            };
            let more = pairs(v, from, to, back) + back.map_or(0, |u| pairs(u, to, from, Some(v)));
            change += TOGETHER * more as f64;
        }
        change
    }

    /// Returns the number of vertices in a block, or in its place, that must be apart from `v`, not
    /// counting `except`.
    fn clashes(&self, v: u32, block: u32, except: Option<u32>) -> i64 {
        let met = self.inst.clashes(v, block, &self.block) as i64;
        let Some(other) = except else { return met };
        let list = self.inst.apart[v as usize].iter();
        let there = self.block[other as usize];
        let pairs = list.filter(|e| e.0 == other && self.inst.shared.same(e.1, block, there));
        met - pairs.count() as i64
    }

    /// Returns the change of cost if the two vertices changed places.
    #[inline]
    pub(crate) fn swap_cost(&self, v: u32, u: u32) -> i64 {
        let (a, b) = (self.block[v as usize], self.block[u as usize]);
        let loose = self.move_cost(v, b) + self.move_cost(u, a);
        let (few, other) = if self.inst.degree(v) <= self.inst.degree(u) {
            (v, u)
        } else {
            (u, v)
        };
        let edge = self.inst.row(few).find(|e| e.0 == other).map_or(0, |e| e.1);
        loose + 2 * edge * self.inst.distance(a, b)
    }

    /// Returns the vertices of a block, in no particular order.
    pub(crate) fn members(&self, block: u32) -> &[u32] {
        &self.members[block as usize]
    }

    /// Returns the vertex of a block that the lowest 32 bits of `random` select, or `None` if the
    /// block is empty.
    #[inline]
    pub(crate) fn some_member(&self, block: u32, random: usize) -> Option<u32> {
        let list = &self.members[block as usize];
        let place = ((random & 0xFFFF_FFFF) * list.len()) >> 32;
        list.get(place).copied()
    }

    /// Moves a vertex, and updates all tables, the cost and the number of faults. Has no effect if
    /// the vertex is already in block `to`. The time is proportional to the degree of the vertex
    /// times the number of blocks whose distances to the two blocks can differ.
    pub(crate) fn shift(&mut self, v: u32, to: u32) {
        let from = self.block[v as usize];
        if from == to {
            return;
        }
        let inst = self.inst;
        self.cost += self.move_cost(v, to);
        for span in inst.shared.machine.spans(from, to) {
            // Instances for packing have no edges, and may have no table of distances.
            if span.is_empty() || inst.degree(v) == 0 {
                continue;
            }
            self.work += span.len() * inst.degree(v);
            let [old, new] = [from, to].map(|b| &inst.distances(b)[span.clone()]);
            for (u, w) in inst.row(v) {
                let at = u as usize * self.stride;
                let row = &mut self.table[at + span.start..at + span.end];
                for ((c, o), n) in row.iter_mut().zip(old).zip(new) {
                    *c += w * (n - o);
                }
            }
        }
        if !inst.apart.is_empty() {
            self.faults += self.clashes(v, to, None) - self.clashes(v, from, None);
        }
        for (d, &size) in inst.size_of(v).iter().enumerate() {
            for (block, change) in [(from, -size), (to, size)] {
                let i = inst.shared.at(block as usize, d);
                self.faults -= self.fault(i, self.load[i]);
                self.load[i] += change;
                self.faults += self.fault(i, self.load[i]);
            }
        }
        let place = self.place[v as usize] as usize;
        let list = &mut self.members[from as usize];
        list.swap_remove(place);
        if let Some(&moved) = list.get(place) {
            self.place[moved as usize] = place as u32;
        }
        self.place[v as usize] = self.members[to as usize].len() as u32;
        self.members[to as usize].push(v);
        self.block[v as usize] = to;
    }

    /// Returns the total excess over all limits, which is 0 if feasible. The unit is the mean sum
    /// of a block in each dimension. Each pair that must be apart but is together adds a constant.
    pub(crate) fn excess(&self) -> f64 {
        let shared = &self.inst.shared;
        let mut total = 0.0;
        for i in 0..self.k * self.dims {
            let distress = self.distress(i, self.load[i]).min(NO_LIMIT);
            total += distress as f64 * shared.excess[i % self.dims];
        }
        total + TOGETHER * self.clashes_of_all() as f64 / 2.0
    }
}

/// Time of a node of the tree relative to a block of a row, and the number of blocks up to which
/// rows are filled block by block.
const COSTLY: usize = 8;
const FEW: usize = 16;

/// Sets `row` to the cost of the edges of a vertex in each block, along the tree of the machine.
/// Takes time in its neighbours plus the nodes, instead of neighbours times blocks. `sums` is
/// scratch space: for each node, the weight of the edges into it, and the cost of the edges out of
/// it.
fn fill_along_tree(inst: &Instance, v: u32, block: &[u32], sums: &mut [[i64; 2]], row: &mut [i64]) {
    let machine = &inst.shared.machine;
    let (nodes, base) = (machine.nodes(), i64::from(machine.collocated()));
    sums.fill([0; 2]);
    for (u, w) in inst.row(v) {
        sums[machine.leaf(block[u as usize]) as usize][0] += w;
    }
    // Children have larger numbers than their parents.
    for id in (1..nodes.len()).rev() {
        sums[nodes[id].parent as usize][0] += sums[id][0];
    }
    for (id, node) in nodes.iter().enumerate().skip(1) {
        let [above, beyond] = sums[node.parent as usize];
        let step = i64::from(nodes[node.parent as usize].distance) - base;
        sums[id][1] = beyond + step * (above - sums[id][0]);
    }
    for (b, cost) in row.iter_mut().enumerate() {
        *cost = sums[machine.leaf(b as u32) as usize][1];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::{Channel, Graph, Machine, Problem};

    #[test]
    fn costs_are_those_of_all_neighbours_one_by_one() {
        let mut random = Random::new(4);
        for levels in [&[(30, 1)][..], &[(3, 1), (2, 4), (4, 9)], &[(2, 3), (3, 3)]] {
            let machine = Machine::regular(levels).unwrap();
            let (n, k) = (70, machine.len());
            // Some vertices have many neighbours, others few.
            let all = (0..n).flat_map(|v| (0..v).map(move |u| (u, v)));
            let channels = all.filter(|&(u, v)| u < 20 || u + 1 == v);
            let channels = channels.map(|(from, to)| Channel {
                from,
                to,
                traffic: 1 + u64::from(from * to % 7),
            });
            let graph = Graph::new(vec![1; 70], &channels.collect::<Vec<_>>()).unwrap();
            let (inst, _) = Instance::new(&Problem::new(&graph, &machine)).unwrap();
            let block = (0..n).map(|_| random.below(k) as u32).collect();
            let mut state = State::new(&inst, block);
            for _ in 0..50 {
                for v in 0..n {
                    let cost = |b: u32| -> i64 {
                        let row = inst.row(v);
                        let each = row.map(|(u, w)| w * inst.distance(b, state.block[u as usize]));
                        each.sum()
                    };
                    let costs: Vec<i64> = (0..k as u32).map(cost).collect();
                    assert_eq!(state.costs(v), costs);
                }
                assert_eq!(state.cost, inst.cost(&state.block));
                state.shift(random.below(n as usize) as u32, random.below(k) as u32);
            }
        }
    }
}
