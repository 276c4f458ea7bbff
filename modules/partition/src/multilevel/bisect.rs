//! Cutting a set of vertices in two: multilevel bisection with Fiduccia-Mattheyses refinement.

use std::collections::BinaryHeap;

use crate::random::Random;

/// A graph with one size per vertex, and for some vertices the side they must lie on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sub {
    pub(crate) offsets: Vec<u32>,
    pub(crate) targets: Vec<u32>,
    pub(crate) weights: Vec<i64>,
    pub(crate) size: Vec<i64>,
    /// 0 free, 1 first side, 2 second side; empty when all are free.
    pub(crate) fixed: Vec<u8>,
}

/// What the two sides should and may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// Size wanted on the first side.
    pub(crate) want: i64,
    /// Most on each side.
    pub(crate) most: [i64; 2],
}

const COARSEST: usize = 48;

impl Sub {
    pub(crate) fn len(&self) -> usize {
        self.size.len()
    }

    #[inline]
    fn row(&self, v: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize;
        self.targets[range.clone()]
            .iter()
            .copied()
            .zip(self.weights[range].iter().copied())
    }

    fn fixed(&self, v: u32) -> u8 {
        self.fixed.get(v as usize).copied().unwrap_or(0)
    }

    /// Violation of the sides and cut.
    pub(crate) fn judge(&self, side: &[u8], sides: Sides) -> (i64, i64) {
        let mut load = [0; 2];
        let mut cut = 0;
        for v in 0..self.len() as u32 {
            let here = side[v as usize];
            load[here as usize] += self.size[v as usize];
            cut += self
                .row(v)
                .filter(|e| side[e.0 as usize] != here)
                .map(|e| e.1)
                .sum::<i64>();
        }
        let over = |i: usize| (load[i] - sides.most[i]).max(0);
        (over(0) + over(1), cut / 2)
    }

    /// Matches vertices along heavy edges between light ends.
    fn matching(&self, random: &mut Random, heaviest: i64) -> (Vec<u32>, usize) {
        let n = self.len();
        let mut order: Vec<u32> = (0..n as u32).collect();
        random.shuffle(&mut order);
        let mut map = vec![u32::MAX; n];
        let mut clusters = 0;
        for &v in &order {
            if map[v as usize] != u32::MAX {
                continue;
            }
            let mut best = (0.0, v);
            for (u, w) in self.row(v) {
                let sum = self.size[v as usize] + self.size[u as usize];
                if map[u as usize] != u32::MAX || sum > heaviest || self.fixed(u) != self.fixed(v) {
                    continue;
                }
                let rate = (w as f64) * (w as f64) / (self.size[u as usize].max(1) as f64);
                if rate > best.0 {
                    best = (rate, u);
                }
            }
            map[v as usize] = clusters;
            map[best.1 as usize] = clusters;
            clusters += 1;
        }
        (map, clusters as usize)
    }

    fn contract(&self, map: &[u32], clusters: usize) -> Self {
        let mut coarse = Self {
            size: vec![0; clusters],
            ..Self::default()
        };
        let mut pair = vec![[u32::MAX; 2]; clusters];
        for (v, &c) in map.iter().enumerate() {
            let c = c as usize;
            coarse.size[c] += self.size[v];
            let slot = usize::from(pair[c][0] != u32::MAX);
            pair[c][slot] = v as u32;
        }
        if !self.fixed.is_empty() {
            coarse.fixed = pair.iter().map(|p| self.fixed[p[0] as usize]).collect();
        }
        let mut place = vec![u32::MAX; clusters];
        coarse.offsets.push(0);
        for (c, pair) in pair.iter().enumerate() {
            let first = coarse.targets.len();
            for &v in pair.iter().filter(|v| **v != u32::MAX) {
                for (u, w) in self.row(v) {
                    let t = map[u as usize];
                    let seen = place[t as usize] as usize;
                    if t as usize == c {
                    } else if seen != u32::MAX as usize && seen >= first {
                        coarse.weights[seen] += w;
                    } else {
                        place[t as usize] = coarse.targets.len() as u32;
                        coarse.targets.push(t);
                        coarse.weights.push(w);
                    }
                }
            }
            coarse.offsets.push(coarse.targets.len() as u32);
        }
        coarse
    }
}

/// Bisects; the result names the side of each vertex. `tries` starts at the coarsest level.
pub(crate) fn bisect(sub: &Sub, sides: Sides, tries: usize, random: &mut Random) -> Vec<u8> {
    let heaviest = (sides.most[0].min(sides.most[1]) / 8).max(1);
    let mut levels: Vec<(Sub, Vec<u32>)> = Vec::new();
    loop {
        let finest = levels.last().map_or(sub, |l| &l.0);
        if finest.len() <= COARSEST {
            break;
        }
        let (map, clusters) = finest.matching(random, heaviest);
        if clusters * 20 > finest.len() * 19 {
            break;
        }
        let coarse = finest.contract(&map, clusters);
        levels.push((coarse, map));
    }
    let coarsest = levels.last().map_or(sub, |l| &l.0);
    let mut best: Option<(i64, i64, Vec<u8>)> = None;
    for attempt in 0..tries.max(1) {
        let mut side = grow(coarsest, sides, attempt, random);
        let (violation, cut) = refine(coarsest, &mut side, sides, random);
        if best.as_ref().is_none_or(|b| (violation, cut) < (b.0, b.1)) {
            best = Some((violation, cut, side));
        }
    }
    let mut side = best.expect("at least one try").2;
    for level in (0..levels.len()).rev() {
        let map = &levels[level].1;
        side = map.iter().map(|&c| side[c as usize]).collect();
        let fine = if level == 0 {
            sub
        } else {
            &levels[level - 1].0
        };
        refine(fine, &mut side, sides, random);
    }
    side
}

/// Grows the first side from a random vertex, always by the vertex that adds least to the cut.
fn grow(sub: &Sub, sides: Sides, attempt: usize, random: &mut Random) -> Vec<u8> {
    let n = sub.len();
    let mut side = vec![1_u8; n];
    if n == 0 {
        return side;
    }
    let mut inside = 0;
    let mut gain: Vec<i64> = vec![0; n];
    let mut heap = BinaryHeap::new();
    for v in 0..n as u32 {
        gain[v as usize] = -sub.row(v).map(|e| e.1).sum::<i64>();
        if sub.fixed(v) == 1 {
            heap.push((i64::MAX, 0, v));
        }
    }
    let mut unseen: Vec<u32> = (0..n as u32).filter(|&v| sub.fixed(v) == 0).collect();
    if attempt % 4 != 3 {
        random.shuffle(&mut unseen);
    }
    loop {
        let Some((key, _, v)) = heap.pop() else {
            match unseen.pop() {
                Some(v) if side[v as usize] == 1 && inside < sides.want => {
                    heap.push((gain[v as usize], 0, v));
                    continue;
                }
                Some(_) => continue,
                None => break,
            }
        };
        let must = key == i64::MAX;
        if side[v as usize] == 0 || (!must && key != gain[v as usize]) {
            continue;
        }
        let size = sub.size[v as usize];
        // Past the target only when that is nearer to it than stopping here.
        if !must && inside + size - sides.want > sides.want - inside {
            if inside >= sides.want {
                break;
            }
            continue;
        }
        side[v as usize] = 0;
        inside += size;
        for (u, w) in sub.row(v) {
            gain[u as usize] += 2 * w;
            if side[u as usize] == 1 && sub.fixed(u) == 0 {
                heap.push((gain[u as usize], random.next() >> 40, u));
            }
        }
    }
    side
}

/// Passes of single moves with rollback to the best prefix; returns violation and cut.
fn refine(sub: &Sub, side: &mut [u8], sides: Sides, random: &mut Random) -> (i64, i64) {
    let n = sub.len();
    let mut load = [0_i64; 2];
    for v in 0..n {
        load[side[v] as usize] += sub.size[v];
    }
    let violation =
        |load: [i64; 2]| (load[0] - sides.most[0]).max(0) + (load[1] - sides.most[1]).max(0);
    let mut gain = vec![0_i64; n];
    let mut cut = 0;
    for v in 0..n as u32 {
        for (u, w) in sub.row(v) {
            if side[u as usize] == side[v as usize] {
                gain[v as usize] -= w;
            } else {
                gain[v as usize] += w;
                cut += w;
            }
        }
    }
    cut /= 2;
    let patience = (n / 16).clamp(40, 2000);
    let mut moved = vec![false; n];
    let mut trail: Vec<u32> = Vec::new();
    for _ in 0..6 {
        let mut heaps = [BinaryHeap::new(), BinaryHeap::new()];
        for v in 0..n as u32 {
            let boundary = sub
                .row(v)
                .any(|(u, _)| side[u as usize] != side[v as usize]);
            let over = load[side[v as usize] as usize] > sides.most[side[v as usize] as usize];
            if sub.fixed(v) == 0 && (boundary || over || n <= 64) {
                heaps[side[v as usize] as usize].push((gain[v as usize], random.next() >> 40, v));
            }
        }
        trail.clear();
        let start = (violation(load), cut);
        let mut best = (start, 0);
        while trail.len() < best.1 + patience {
            let Some(from) = next_side(&mut heaps, &gain, side, &moved, load, sides) else {
                break;
            };
            let (_, _, v) = heaps[from].pop().expect("a heap that was looked at");
            moved[v as usize] = true;
            cut -= gain[v as usize];
            gain[v as usize] = -gain[v as usize];
            side[v as usize] = 1 - from as u8;
            load[from] -= sub.size[v as usize];
            load[1 - from] += sub.size[v as usize];
            trail.push(v);
            for (u, w) in sub.row(v) {
                let other = side[u as usize] as usize;
                gain[u as usize] += if other == from { 2 * w } else { -2 * w };
                if !moved[u as usize] && sub.fixed(u) == 0 {
                    heaps[other].push((gain[u as usize], random.next() >> 40, u));
                }
            }
            let now = (violation(load), cut);
            if now < best.0 {
                best = (now, trail.len());
            }
        }
        for &v in trail[best.1..].iter().rev() {
            let from = side[v as usize] as usize;
            cut -= gain[v as usize];
            gain[v as usize] = -gain[v as usize];
            side[v as usize] = 1 - from as u8;
            load[from] -= sub.size[v as usize];
            load[1 - from] += sub.size[v as usize];
            for (u, w) in sub.row(v) {
                let same = side[u as usize] as usize == from;
                gain[u as usize] += if same { 2 * w } else { -2 * w };
            }
        }
        trail.iter().for_each(|&v| moved[v as usize] = false);
        if best.0 == start {
            break;
        }
    }
    (violation(load), cut)
}

type Heap = BinaryHeap<(i64, u64, u32)>;

/// The side to move from next: the overfull one, else the better gain. A move may overfill the
/// other side by one vertex; the next ones then come back.
fn next_side(
    heaps: &mut [Heap; 2],
    gain: &[i64],
    side: &[u8],
    moved: &[bool],
    load: [i64; 2],
    sides: Sides,
) -> Option<usize> {
    let mut top = [None, None];
    for from in 0..2 {
        while let Some(&(key, _, v)) = heaps[from].peek() {
            let stale =
                moved[v as usize] || side[v as usize] as usize != from || key != gain[v as usize];
            if !stale {
                top[from] = Some(key);
                break;
            }
            heaps[from].pop();
        }
    }
    let over = [load[0] > sides.most[0], load[1] > sides.most[1]];
    match (top, over) {
        ([Some(_), _], [true, false]) => Some(0),
        ([_, Some(_)], [false, true]) => Some(1),
        ([Some(a), Some(b)], _) if a != b => Some(usize::from(b > a)),
        // Even gains: move from the side that is fuller against its bound.
        ([Some(_), Some(_)], _) => Some(usize::from(
            sides.most[1] - load[1] < sides.most[0] - load[0],
        )),
        ([Some(_), None], [_, false]) => Some(0),
        ([None, Some(_)], [false, _]) => Some(1),
        _ => None,
    }
}
