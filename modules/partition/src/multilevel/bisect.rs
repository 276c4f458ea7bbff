//! Cutting a set of vertices in two: multilevel bisection with Fiduccia-Mattheyses refinement.

use super::passes::{grow, refine};
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
    pub(super) fn row(&self, v: u32) -> impl Iterator<Item = (u32, i64)> + '_ {
        let range = self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize;
        self.targets[range.clone()]
            .iter()
            .copied()
            .zip(self.weights[range].iter().copied())
    }

    pub(super) fn fixed(&self, v: u32) -> u8 {
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
