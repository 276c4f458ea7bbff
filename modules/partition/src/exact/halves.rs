//! Few vertices on three or four blocks: every way to halve them, cheapest first.
//!
//! When the blocks are two sides with one distance `far` between them, a mapping costs `far` times
//! the cut between the sides, plus the best split of each side. All cuts between the sides are
//! listed (two to the number of vertices), those that fit are taken in order of their cut, and
//! each side of up to three blocks is split by a search on its own. The search ends when the cut
//! alone is too expensive: with four blocks on two hosts that is soon. Where branch and bound is best on
//! graphs that fall apart, this does not mind how dense the graph is.

use super::limit::{Limit, NEVER, Outcome};
use crate::clusters::add;
use crate::instance::Instance;
use crate::tuning::proofs::{HALVED, SIDE};

/// Searches for the optimum like [`super::branch::solve`]; `known` is the cost of a feasible
/// mapping. `None` when the machine or the graph is not of the kind.
pub(crate) fn solve(inst: &Instance, known: Option<i64>, limit: Limit<'_>) -> Option<Outcome> {
    let (sides, far) = sides(inst)?;
    if inst.len() > HALVED || inst.len() < 2 || inst.shared.has_places() {
        return None;
    }
    let mut search = Search::new(inst, limit);
    let mut best = known.unwrap_or(NEVER);
    let mut found: Option<(u32, [Sets; 2])> = None;
    let cuts = search.cuts(&sides, far, best);
    // Where not all cuts were listed nothing is known.
    let mut bound = search.stopped.then_some(0);
    let everyone = (1_u32 << inst.len()) - 1;
    for (cut, here) in cuts {
        let cut = cut * far;
        if cut >= best {
            break;
        }
        let mut cost = cut;
        let mut split = [[0; SIDE]; 2];
        for (i, members) in [here, everyone & !here].into_iter().enumerate() {
            match search.split(&sides[i], members, best - cost) {
                Some((paid, first)) => {
                    cost += paid;
                    split[i] = first;
                }
                None => cost = NEVER,
            }
            if cost >= best {
                break;
            }
        }
        if search.stopped {
            // Cuts come in order: what is left costs this much at least.
            bound = Some(cut);
            break;
        }
        if cost < best {
            best = cost;
            found = Some((here, split));
        }
    }
    let better = found.map(|(here, split)| {
        let mut block = vec![0; inst.len()];
        for (i, &v) in search.order.iter().enumerate() {
            let side = usize::from(here >> i & 1 == 0);
            let place = split[side].iter().position(|set| set >> i & 1 == 1);
            let place = place.expect("every vertex of a side lies in one of its blocks");
            block[v as usize] = sides[side].blocks[place];
        }
        let cost = inst.cost(&block);
        (block, cost)
    });
    Some(Outcome {
        better,
        bound: bound.unwrap_or(best),
        complete: bound.is_none(),
    })
}

/// Members of each block of a side, as bits.
type Sets = [u32; SIDE];

/// One to three blocks and what is between any two of them.
struct Side {
    blocks: Vec<u32>,
    near: i64,
}

/// Two sides with the same distance between any block of one and any of the other; the nearer
/// the blocks of a side, the better.
fn sides(inst: &Instance) -> Option<([Side; 2], i64)> {
    let ways: &[[&[u32]; 2]] = match inst.k() {
        3 => &[[&[0, 1], &[2]], [&[0, 2], &[1]], [&[1, 2], &[0]]],
        4 => &[
            [&[0, 1], &[2, 3]],
            [&[0, 2], &[1, 3]],
            [&[0, 3], &[1, 2]],
            [&[0, 1, 2], &[3]],
            [&[0, 1, 3], &[2]],
            [&[0, 2, 3], &[1]],
            [&[1, 2, 3], &[0]],
        ],
        _ => return None,
    };
    let mut best: Option<([Side; 2], i64)> = None;
    for way in ways {
        let far = inst.distance(way[0][0], way[1][0]);
        let mut pairs = way[0]
            .iter()
            .flat_map(|&a| way[1].iter().map(move |&b| (a, b)));
        if !pairs.all(|(a, b)| inst.distance(a, b) == far && inst.distance(b, a) == far) {
            continue;
        }
        let side = |blocks: &[u32]| Side {
            blocks: blocks.to_vec(),
            near: blocks.get(1).map_or(0, |&b| inst.distance(blocks[0], b)),
        };
        let sides = way.map(side);
        let even = |s: &Side| {
            let pairs = s
                .blocks
                .iter()
                .flat_map(|&a| s.blocks.iter().map(move |&b| (a, b)));
            let mut apart = pairs.filter(|(a, b)| a != b);
            apart.all(|(a, b)| inst.distance(a, b) == s.near)
        };
        if sides.iter().all(even)
            && sides.iter().all(|s| s.near <= far)
            && best.as_ref().is_none_or(|b| far > b.1)
        {
            best = Some((sides, far));
        }
    }
    best
}

/// Vertices are numbered anew, the heaviest tied first, and sets of them are bits.
struct Search<'a> {
    inst: &'a Instance,
    order: Vec<u32>,
    rows: Vec<Vec<(usize, i64)>>,
    apart: Vec<u32>,
    /// For each block the vertices that may lie in it.
    allowed: Vec<u32>,
    total: Vec<i64>,
    limit: Limit<'a>,
    nodes: u64,
    stopped: bool,
}

impl<'a> Search<'a> {
    fn new(inst: &'a Instance, limit: Limit<'a>) -> Self {
        let n = inst.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        let ties = |v: u32| inst.row(v).map(|e| e.1).sum::<i64>();
        order.sort_by_key(|&v| (std::cmp::Reverse(ties(v)), v));
        let mut place = vec![0; n];
        order
            .iter()
            .enumerate()
            .for_each(|(i, &v)| place[v as usize] = i);
        let row = |&v: &u32| inst.row(v).map(|(u, w)| (place[u as usize], w)).collect();
        let bits = |list: &Vec<(u32, u32)>| {
            list.iter()
                .fold(0, |set, &(u, _)| set | 1 << place[u as usize])
        };
        let open = |b: u32| {
            let fits = |&i: &usize| inst.may_lie(order[i], b);
            (0..n).filter(fits).fold(0, |set, i| set | 1 << i)
        };
        let mut total = vec![0; inst.dims()];
        for &v in &order {
            add(&mut total, inst.size_of(v), 1);
        }
        Self {
            inst,
            rows: order.iter().map(row).collect(),
            apart: order
                .iter()
                .map(|&v| inst.apart.get(v as usize).map_or(0, bits))
                .collect(),
            allowed: (0..inst.k() as u32).map(open).collect(),
            order,
            total,
            limit,
            nodes: 0,
            stopped: false,
        }
    }

    fn count(&mut self, nodes: u64) {
        let before = self.nodes;
        self.nodes += nodes;
        if self.nodes >= self.limit.nodes
            || (before >> 12 != self.nodes >> 12 && self.limit.is_over())
        {
            self.stopped = true;
        }
    }

    fn upper(&self, block: u32, dim: usize) -> i64 {
        self.inst.shared.upper[block as usize * self.inst.dims() + dim]
    }

    fn lower(&self, block: u32, dim: usize) -> i64 {
        let at = block as usize * self.inst.dims() + dim;
        self.inst.shared.lower.get(at).copied().unwrap_or(0)
    }

    /// Whether blocks cannot be told apart by what they hold.
    fn alike(&self, a: u32, b: u32) -> bool {
        let d = self.inst.dims();
        self.allowed[a as usize] == self.allowed[b as usize]
            && (0..d).all(|i| {
                self.upper(a, i) == self.upper(b, i) && self.lower(a, i) == self.lower(b, i)
            })
    }

    /// All cuts below `best` whose sides may fit: the weight cut and the first side, cheapest
    /// first. When the sides are alike, one of each two.
    fn cuts(&mut self, sides: &[Side; 2], far: i64, best: i64) -> Vec<(i64, u32)> {
        let (n, d) = (self.order.len(), self.inst.dims());
        let first = sides[0].blocks[0];
        let mut blocks = sides.iter().flat_map(|s| &s.blocks);
        let alike = blocks.all(|&b| self.alike(first, b))
            && sides[0].blocks.len() == sides[1].blocks.len()
            && sides[0].near == sides[1].near;
        // Four blocks all alike and equally far make three pairs of sides, and each channel cut is
        // cut by two of them: one of the three pays no more than two thirds of the cost.
        let flat = alike && sides[0].blocks.len() == 2 && sides[0].near == far;
        let too_costly = |cut: i64| match flat {
            true => 3 * cut * far > 2 * (best - 1),
            false => cut * far >= best,
        };
        let sum = |side: &Side, of: &dyn Fn(u32, usize) -> i64, dim: usize| -> i64 {
            let each = side.blocks.iter().map(|&b| of(b, dim));
            each.fold(0, i64::saturating_add)
        };
        let upper = |b, i| self.upper(b, i);
        let lower = |b, i| self.lower(b, i);
        let range = |i: usize| {
            let most = sum(&sides[0], &upper, i).min(self.total[i] - sum(&sides[1], &lower, i));
            let least = sum(&sides[0], &lower, i)
                .max(self.total[i].saturating_sub(sum(&sides[1], &upper, i)));
            least..=most
        };
        let ranges: Vec<_> = (0..d).map(range).collect();
        let open = |side: &Side| {
            let sets = side.blocks.iter().map(|&b| self.allowed[b as usize]);
            sets.fold(0, |a, b| a | b)
        };
        let (left, right) = (open(&sides[0]), open(&sides[1]));
        let mut load = vec![0; d];
        let (mut here, mut cut) = (0_u32, 0_i64);
        let mut cuts = Vec::new();
        let ways = 1_u32 << if alike { n - 1 } else { n };
        for step in 1..=ways {
            let fits = load.iter().zip(&ranges).all(|(l, r)| r.contains(l));
            if fits && !too_costly(cut) && here & !left == 0 && !here & (ways - 1) & !right == 0 {
                cuts.push((cut, here));
            }
            if step == ways {
                break;
            }
            if step.is_multiple_of(1 << 12) && self.limit.is_over() {
                self.stopped = true;
                return Vec::new();
            }
            // Gray code: one vertex changes sides.
            let v = step.trailing_zeros() as usize;
            let was = here >> v & 1;
            for &(u, w) in &self.rows[v] {
                cut += if here >> u & 1 == was { w } else { -w };
            }
            here ^= 1 << v;
            let sign = if was == 1 { -1 } else { 1 };
            let size = self.inst.size_of(self.order[v]);
            add(&mut load, size, sign);
        }
        cuts.sort_unstable();
        self.count(u64::from(ways / 64));
        cuts
    }

    /// The cheapest split of the members of a side below `limit`: its cost and the members in each
    /// of its blocks.
    fn split(&mut self, side: &Side, members: u32, limit: i64) -> Option<(i64, Sets)> {
        let blocks: [Option<u32>; SIDE] = std::array::from_fn(|i| side.blocks.get(i).copied());
        // In units of weight; any split of a side without distance costs nothing.
        let limit = match side.near {
            0 => i64::from(limit > 0),
            near => (limit + near - 1) / near,
        };
        let dims = self.inst.dims();
        let room = |b: Option<u32>, s: &Self| -> Vec<i64> {
            (0..dims).map(|i| b.map_or(0, |b| s.upper(b, i))).collect()
        };
        let mut halves = Halves {
            blocks,
            room: blocks.map(|b| room(b, self)),
            inside: [0; SIDE],
            ties: [[0; SIDE]; HALVED],
            open: members,
            floor: 0,
            best: limit,
            found: None,
            weighs: side.near > 0,
            alike: std::array::from_fn(|i| {
                let earlier = blocks[..i].iter().rposition(|&b| match (b, blocks[i]) {
                    (Some(a), Some(b)) => self.alike(a, b),
                    _ => false,
                });
                earlier.unwrap_or(SIDE)
            }),
        };
        self.descend(&mut halves, 0);
        halves.found.map(|set| (halves.best * side.near, set))
    }

    fn descend(&mut self, halves: &mut Halves, paid: i64) {
        self.count(1);
        if self.stopped || paid + halves.floor >= halves.best {
            return;
        }
        if halves.open == 0 {
            if self.enough(halves) {
                halves.best = paid;
                halves.found = Some(halves.inside);
            }
            return;
        }
        let v = halves.open.trailing_zeros() as usize;
        let ties = halves.ties[v];
        let size = self.inst.size_of(self.order[v]);
        let all: i64 = ties.iter().sum();
        // The cheaper block is the one it is tied to more.
        let mut order: [usize; SIDE] = std::array::from_fn(|i| i);
        order.sort_by_key(|&i| -ties[i]);
        for half in order {
            let Some(block) = halves.blocks[half] else {
                continue;
            };
            // Of empty blocks that are alike only the first is tried.
            let earlier = halves.alike[half];
            let empty = |i: usize| halves.inside[i] == 0;
            if (earlier < SIDE && empty(half) && empty(earlier))
                || self.allowed[block as usize] >> v & 1 == 0
                || self.apart[v] & halves.inside[half] != 0
                || halves.room[half]
                    .iter()
                    .zip(size)
                    .any(|(r, s)| *s > 0 && s > r)
            {
                continue;
            }
            let before = halves.floor;
            halves.open &= !(1 << v);
            halves.inside[half] |= 1 << v;
            add(&mut halves.room[half], size, -1);
            let price = if halves.weighs { all - ties[half] } else { 0 };
            halves.floor -= if halves.weighs { least(&ties) } else { 0 };
            self.tie(halves, v, half, 1);
            self.descend(halves, paid + price);
            self.tie(halves, v, half, -1);
            add(&mut halves.room[half], size, 1);
            halves.inside[half] &= !(1 << v);
            halves.open |= 1 << v;
            halves.floor = before;
            if self.stopped {
                return;
            }
        }
    }

    /// Books the ties of the open neighbours of a vertex, and what they pay at least.
    fn tie(&self, halves: &mut Halves, v: usize, half: usize, sign: i64) {
        for &(u, w) in &self.rows[v] {
            if halves.open >> u & 1 == 1 {
                let ties = &mut halves.ties[u];
                let before = least(ties);
                ties[half] += sign * w;
                if halves.weighs {
                    halves.floor += least(ties) - before;
                }
            }
        }
    }

    fn enough(&self, halves: &Halves) -> bool {
        self.inst.shared.lower.is_empty()
            || (0..SIDE).all(|half| {
                let Some(block) = halves.blocks[half] else {
                    return true;
                };
                (0..self.inst.dims())
                    .all(|i| self.upper(block, i) - halves.room[half][i] >= self.lower(block, i))
            })
    }
}

/// What a vertex pays at least: all ties but the strongest.
fn least(ties: &[i64; SIDE]) -> i64 {
    ties.iter().sum::<i64>() - ties.iter().max().expect("there are blocks")
}

/// A side while it is split.
struct Halves {
    blocks: [Option<u32>; SIDE],
    room: [Vec<i64>; SIDE],
    inside: Sets,
    /// Weight from each open vertex to the blocks.
    ties: [[i64; SIDE]; HALVED],
    open: u32,
    /// What the open vertices pay at least to those that lie.
    floor: i64,
    best: i64,
    found: Option<Sets>,
    /// Whether the blocks have a distance at all.
    weighs: bool,
    /// The last block before each that cannot be told from it; `SIDE` when there is none.
    alike: [usize; SIDE],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::branch;
    use crate::{Block, Constraint, Graph, Machine, Problem, Tree};
    use crate::{Channel, random::Random};

    /// Up to two rules: pins, kept apart, kept together, least and most of some.
    fn rules(n: usize, k: usize, random: &mut Random) -> Vec<Constraint> {
        let mut some = |most: usize| -> Vec<u32> {
            (0..=random.below(most))
                .map(|_| random.below(n) as u32)
                .collect()
        };
        let (one, few) = (some(1), some(3));
        let mut rules = vec![
            Constraint::Apart {
                vertices: few.clone(),
                places: Vec::new(),
            },
            Constraint::Together { vertices: some(2) },
            Constraint::Count {
                vertices: few,
                places: vec![vec![random.below(k) as u32]],
                least: random.below(2) as u32,
                most: 2,
            },
            Constraint::Pin {
                vertex: one[0],
                blocks: (0..2).map(|_| random.below(k) as u32).collect(),
            },
        ];
        random.shuffle(&mut rules);
        rules.truncate(random.below(3));
        rules
    }

    /// Both searches are complete and are written differently: they must agree.
    #[test]
    fn agrees_with_branch_and_bound() {
        let endless = Limit {
            nodes: u64::MAX,
            stop_at: None,
            watch: None,
        };
        let host = |near, speeds: &[u32]| Tree::Group {
            distance: near,
            members: speeds
                .iter()
                .map(|&speed| {
                    Tree::Block(Block {
                        speed,
                        ..Block::default()
                    })
                })
                .collect(),
        };
        let machines = [
            host(5, &[1, 1, 1, 1]),
            host(5, &[1, 2, 1]),
            Tree::Group {
                distance: 10,
                members: vec![host(1, &[1, 1]), host(1, &[1, 1])],
            },
            Tree::Group {
                distance: 10,
                members: vec![host(1, &[1, 3]), host(4, &[2, 1])],
            },
            Tree::Group {
                distance: 10,
                members: vec![host(0, &[1, 1]), host(0, &[1])],
            },
            Tree::Group {
                distance: 10,
                members: vec![host(1, &[1, 1, 1]), host(1, &[1])],
            },
            Tree::Group {
                distance: 10,
                members: vec![host(0, &[2]), host(2, &[1, 3, 1])],
            },
        ];
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let n = 2 + random.below(9);
            let loads: Vec<u64> = (0..n).map(|_| 1 + random.below(4) as u64).collect();
            let mut channels = Vec::new();
            for a in 0..n as u32 {
                for b in 0..a {
                    if random.below(3) > 0 {
                        channels.push(Channel {
                            from: a,
                            to: b,
                            traffic: random.below(6) as u64,
                        });
                    }
                }
            }
            let graph = Graph::new(loads, &channels).unwrap();
            for tree in &machines {
                let machine = Machine::new(tree, 0).unwrap();
                let constraints = rules(n, machine.len(), &mut random);
                let mut problem = Problem::new(&graph, &machine);
                problem.imbalance = 0.4;
                problem.constraints = &constraints;
                // A contradiction is found before any search.
                let Ok((inst, _)) = Instance::new(&problem) else {
                    continue;
                };
                if inst.len() < 2 {
                    continue;
                }
                let here = solve(&inst, None, endless).expect("of the kind");
                let there = branch::solve(&inst, None, endless);
                assert!(here.complete && there.complete);
                assert_eq!(here.bound, there.bound, "seed {seed}, {tree:?}");
                if let Some((block, cost)) = here.better {
                    assert_eq!(cost, here.bound);
                    assert_eq!(inst.cost(&block), cost);
                }
                // Cut short, the bound must still hold.
                for nodes in [1, 10, 100] {
                    let short = Limit {
                        nodes,
                        stop_at: None,
                        watch: None,
                    };
                    let part = solve(&inst, None, short).expect("of the kind");
                    assert!(part.bound <= there.bound);
                }
            }
        }
    }
}
