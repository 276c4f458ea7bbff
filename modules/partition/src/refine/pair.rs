//! Exact division of two blocks: one of the cheapest ways to divide the vertices of two blocks
//! between them, within their load bounds.
//!
//! The vertices of two blocks mostly form a forest, or a strip of a mesh. These have an order in
//! which only a few vertices are open at any time. A dynamic programme follows this order. For all
//! sides of the open vertices and all loads of the first block, it computes the least cost of the
//! vertices so far. On trees this is the knapsack over subtrees. Whole subtrees are exchanged for
//! others of equal load, which single moves and swaps do not find. Among ways of equal cost one is
//! drawn, so that the search drifts.

use crate::bound::sweep::kept;
use crate::instance::Instance;
use crate::random::Random;
use crate::tuning::divisions::{ENTRIES, UNITS, WIDEST};

const NEVER: i32 = i32::MAX / 2;

/// Step of the dynamic programme, in which one vertex gets its side.
#[derive(Default)]
struct Step {
    /// Vertex, numbered within the pair.
    v: usize,
    /// Number of open vertices before the step.
    width: u32,
    /// Mask of the open vertices that are still open after the step. The last bit is the vertex
    /// itself.
    keep: u32,
    /// Edges to open vertices: position in the front, and cost if the ends are on different sides.
    back: Vec<(u32, i32)>,
    /// Least load of the first block before the step, and number of loads from there on.
    least: i64,
    loads: usize,
    /// Start of the step's part of the tables.
    table: usize,
}

impl Step {
    /// Returns the cost of the edges to open vertices, if the vertex is on this side (0 or 1).
    /// `pattern` contains the side of each open vertex as a bit.
    fn added(&self, pattern: u32, side: u32) -> i32 {
        let apart = |b: &&(u32, i32)| pattern >> b.0 & 1 != side;
        self.back.iter().filter(apart).map(|b| b.1).sum()
    }
}

/// The vertices of two blocks.
struct Pair {
    vertices: Vec<u32>,
    /// Cost of each vertex's edges to vertices outside, for either side. `NEVER` if it may not be
    /// there.
    outside: Vec<[i32; 2]>,
    load: Vec<i64>,
    /// Neighbours inside, with the cost if they are on the other side.
    first: Vec<u32>,
    near: Vec<(u32, i32)>,
    /// Largest load of each side.
    most: [i64; 2],
}

impl Pair {
    fn new(inst: &Instance, block: &[u32], sides: [u32; 2]) -> Option<Self> {
        let mut local = vec![u32::MAX; inst.len()];
        let mut vertices = Vec::new();
        for (v, b) in block.iter().enumerate() {
            if sides.contains(b) {
                local[v] = vertices.len() as u32;
                vertices.push(v as u32);
            }
        }
        let total: i64 = vertices.iter().map(|&v| inst.load(v)).sum();
        let unit = total / UNITS + 1;
        let apart = inst.distance(sides[0], sides[1]);
        let rows = sides.map(|b| inst.distances(b));
        let mut pair = Self {
            outside: Vec::with_capacity(vertices.len()),
            load: Vec::with_capacity(vertices.len()),
            first: vec![0],
            near: Vec::new(),
            most: sides.map(|b| inst.load_bound(b as usize).min(total) / unit),
            vertices,
        };
        let mut sum = 0_i64;
        for &v in &pair.vertices {
            let mut costs = [0_i64; 2];
            for (u, w) in inst.row(v) {
                let there = local[u as usize];
                if there == u32::MAX {
                    let b = block[u as usize] as usize;
                    costs[0] += w * rows[0][b];
                    costs[1] += w * rows[1][b];
                } else if there != local[v as usize] {
                    sum += w * apart;
                    pair.near.push((there, i32::try_from(w * apart).ok()?));
                }
            }
            // A cost that both sides have in common has no influence.
            let least = costs[0].min(costs[1]);
            sum += (costs[0] - least) + (costs[1] - least);
            if sum >= i64::from(NEVER) {
                return None;
            }
            let cost = |s: usize| match inst.is_allowed(v, sides[s]) {
                true => (costs[s] - least) as i32,
                false => NEVER,
            };
            pair.outside.push([cost(0), cost(1)]);
            pair.load.push((inst.load(v) + unit / 2) / unit);
            pair.first.push(pair.near.len() as u32);
        }
        Some(pair)
    }

    /// Returns the part of the cost that depends on the sides. `side_of` contains the side of each
    /// vertex of the pair, on which it must be allowed.
    fn cost(&self, side_of: &[u8]) -> i64 {
        let mut sum = 0;
        for (v, &side) in side_of.iter().enumerate() {
            sum += i64::from(self.outside[v][usize::from(side)]);
            let apart = |e: &&(u32, i32)| (e.0 as usize) < v && side_of[e.0 as usize] != side;
            let cut = self.near(v).iter().filter(apart);
            sum += cut.map(|e| i64::from(e.1)).sum::<i64>();
        }
        sum
    }

    fn near(&self, v: usize) -> &[(u32, i32)] {
        &self.near[self.first[v] as usize..self.first[v + 1] as usize]
    }

    /// Returns an order with few open vertices, as one step for each vertex and a last step without
    /// one. The next vertex is always the one that leaves the fewest open. Returns `None` if too
    /// many are open or the tables are too large.
    fn steps(&self, random: &mut Random) -> Option<Vec<Step>> {
        let n = self.vertices.len();
        // Neighbours that are not yet placed.
        let mut left: Vec<u32> = (0..n).map(|v| self.near(v).len() as u32).collect();
        let mut placed = vec![false; n];
        let mut front: Vec<u32> = Vec::new();
        let mut steps = Vec::with_capacity(n);
        let turn = random.below(n);
        let mut roots = (turn..n).chain(0..turn);
        let (mut sum, mut table) = (0_i64, 0_u64);
        while steps.len() < n {
            let near = front.iter().flat_map(|&f| self.near(f as usize));
            let next = near.map(|e| e.0 as usize).filter(|&u| !placed[u]);
            let best = next.min_by_key(|&u| {
                let row = self.near(u).iter();
                let closed = row.filter(|e| placed[e.0 as usize] && left[e.0 as usize] == 1);
                (i32::from(left[u] > 0) - closed.count() as i32, u)
            });
            let v = best.or_else(|| roots.find(|&r| !placed[r]))?;
            let place = |u: u32| front.iter().position(|&f| f == u).map(|p| p as u32);
            let back = self.near(v).iter();
            let back = back.filter_map(|&(u, c)| Some((place(u)?, c))).collect();
            placed[v] = true;
            for &(u, _) in self.near(v) {
                left[u as usize] -= 1;
            }
            let width = front.len() as u32;
            front.push(v as u32);
            let open = |u: u32| left[u as usize] > 0;
            let bits = front.iter().enumerate();
            let keep = bits.fold(0, |mask, (i, &u)| mask | u32::from(open(u)) << i);
            front.retain(|&u| open(u));
            let (least, loads) = self.loads_of_first(sum);
            steps.push(Step {
                v,
                width,
                keep,
                back,
                least,
                loads,
                table: table as usize,
            });
            table += (loads as u64) << width;
            sum += self.load[v];
            if front.len() > WIDEST || table > ENTRIES {
                return None;
            }
        }
        // At the end no vertex is open.
        let (least, loads) = self.loads_of_first(sum);
        steps.push(Step {
            least,
            loads,
            table: table as usize,
            ..Step::default()
        });
        Some(steps)
    }

    /// Returns the least load that the first block may have if both blocks have the load `sum`
    /// together, and the number of loads that it may have from there on. All loads are in units.
    fn loads_of_first(&self, sum: i64) -> (i64, usize) {
        let least = (sum - self.most[1]).max(0);
        (least, (sum.min(self.most[0]) - least + 1).max(0) as usize)
    }

    /// Computes the least cost of all beginnings, by step, by pattern of the open vertices (a bit
    /// is set for the second side), and by load of the first side.
    fn tables(&self, steps: &[Step]) -> Vec<i32> {
        let last = &steps[steps.len() - 1];
        let mut tables = vec![NEVER; last.table + last.loads];
        if steps[0].loads > 0 {
            tables[0] = 0;
        }
        for pair in steps.windows(2) {
            let (step, next) = (&pair[0], &pair[1]);
            let (old, new) = tables[step.table..].split_at_mut(next.table - step.table);
            for pattern in 0..1_u32 << step.width {
                let from = &old[pattern as usize * step.loads..][..step.loads];
                for side in 0..2 {
                    let own = self.outside[step.v][side as usize];
                    if own == NEVER {
                        continue;
                    }
                    let added = own + step.added(pattern, side);
                    let to = kept(pattern | side << step.width, step.keep) as usize;
                    let into = &mut new[to * next.loads..][..next.loads];
                    // Loads that exist both before and after the step.
                    let shift =
                        step.least - next.least + if side == 0 { self.load[step.v] } else { 0 };
                    let skip = (-shift).max(0) as usize;
                    let start = shift.max(0) as usize;
                    let from = from.get(skip..).unwrap_or(&[]);
                    let into = into.get_mut(start..).unwrap_or(&mut []);
                    for (i, f) in into.iter_mut().zip(from) {
                        *i = (*i).min(f.saturating_add(added));
                    }
                }
            }
        }
        tables
    }

    /// Traces one of the cheapest ways back from the end. Returns the side of each vertex, or
    /// `None` if no way is within the bounds.
    fn trace(&self, steps: &[Step], tables: &[i32], random: &mut Random) -> Option<Vec<u8>> {
        let last = steps.last()?;
        let (mut cost, mut load, mut met) = (NEVER, 0, 0);
        for (here, &least) in (last.least..).zip(&tables[last.table..]) {
            if least < cost {
                (cost, load, met) = (least, here, 1);
            } else if least == cost && least < NEVER {
                met += 1;
                if random.below(met) == 0 {
                    load = here;
                }
            }
        }
        if cost >= NEVER {
            return None;
        }
        let mut side_of = vec![0; self.vertices.len()];
        let mut now = 0;
        for step in steps[..steps.len() - 1].iter().rev() {
            let mut met = 0;
            let mut found = None;
            for pattern in 0..1_u32 << step.width {
                for side in 0..2_u32 {
                    let own = self.outside[step.v][side as usize];
                    let before = load - if side == 0 { self.load[step.v] } else { 0 };
                    let at = before - step.least;
                    if own == NEVER
                        || !(0..step.loads as i64).contains(&at)
                        || kept(pattern | side << step.width, step.keep) != now
                    {
                        continue;
                    }
                    let added = own + step.added(pattern, side);
                    let paid = tables[step.table + pattern as usize * step.loads + at as usize];
                    if paid < NEVER && paid + added == cost {
                        met += 1;
                        if random.below(met) == 0 {
                            found = Some((pattern, side, before, paid));
                        }
                    }
                }
            }
            let (pattern, side, before, paid) = found?;
            side_of[step.v] = side as u8;
            (now, load, cost) = (pattern, before, paid);
        }
        Some(side_of)
    }
}

/// Divides two blocks of a feasible mapping again, for an instance that limits only loads. Returns
/// the gain, which is at least 0, and the number of annealing steps that take as long. The mapping
/// stays the same if the tables or the costs would be too large. The same applies if no division
/// within the load bounds is found that costs at most as much.
pub(crate) fn redivide(
    inst: &Instance,
    block: &mut [u32],
    sides: [u32; 2],
    random: &mut Random,
) -> (i64, u64) {
    let Some(pair) = Pair::new(inst, block, sides).filter(|p| !p.vertices.is_empty()) else {
        return (0, inst.len() as u64 / 8);
    };
    let mut spent = inst.len() as u64 / 8 + pair.vertices.len() as u64 * 12;
    let Some(steps) = pair.steps(random) else {
        return (0, spent);
    };
    let tables = pair.tables(&steps);
    spent += tables.len() as u64 / 8;
    let Some(side_of) = pair.trace(&steps, &tables, random) else {
        return (0, spent);
    };
    let old = |&v: &u32| u8::from(block[v as usize] == sides[1]);
    let old: Vec<u8> = pair.vertices.iter().map(old).collect();
    let gain = pair.cost(&old) - pair.cost(&side_of);
    // The loads in units are rounded, so the exact loads decide.
    let mut load = [0; 2];
    for (v, &s) in side_of.iter().enumerate() {
        load[usize::from(s)] += inst.load(pair.vertices[v]);
    }
    let holds = |i: usize| load[i] <= inst.load_bound(sides[i] as usize);
    if gain < 0 || !(holds(0) && holds(1)) {
        return (0, spent);
    }
    for (v, &s) in side_of.iter().enumerate() {
        block[pair.vertices[v] as usize] = sides[usize::from(s)];
    }
    (gain, spent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::tests::{instance, mappings};
    use crate::feasibility::is_feasible;

    #[test]
    fn division_of_two_blocks_is_optimal() {
        let mut random = Random::new(4);
        let mut gained = 0;
        for _ in 0..200 {
            let inst = instance(&mut random);
            let all = mappings(&inst);
            if all.is_empty() || !inst.limits_loads_alone() {
                continue;
            }
            let mut block = all[random.below(all.len())].clone();
            let a = random.below(inst.k()) as u32;
            let b = random.below(inst.k()) as u32;
            if a == b {
                continue;
            }
            let same = |m: &&Vec<u32>| {
                let stays = |v: usize| m[v] == block[v];
                (0..inst.len()).all(|v| match [a, b].contains(&block[v]) {
                    true => [a, b].contains(&m[v]),
                    false => stays(v),
                })
            };
            let least = all.iter().filter(same).map(|m| inst.cost(m)).min();
            let before = inst.cost(&block);
            let (gain, _) = redivide(&inst, &mut block, [a, b], &mut random);
            assert_eq!(before - gain, inst.cost(&block));
            assert!(gain >= 0 && is_feasible(&inst, &block));
            if inst.total_load() <= UNITS && before < 1 << 20 {
                assert_eq!(Some(inst.cost(&block)), least);
            }
            gained += usize::from(gain > 0);
        }
        assert!(gained > 5, "{gained}");
    }
}
