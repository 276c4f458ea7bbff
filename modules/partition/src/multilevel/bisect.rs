//! Cutting a set of vertices in two: multilevel bisection with Fiduccia-Mattheyses refinement.

use super::passes::Passes;
use super::sub::{Sides, Sub};
use crate::random::Random;

const COARSEST: usize = 48;

/// Bisects; the result names the side of each vertex. `tries` starts at the coarsest level.
pub(crate) fn bisect(sub: &Sub, sides: Sides, tries: usize, random: &mut Random) -> Vec<u8> {
    let heaviest = (sides.most[0].min(sides.most[1]) / 8).max(1);
    let mut levels: Vec<(Sub, Vec<u32>)> = Vec::new();
    loop {
        let finest = levels.last().map_or(sub, |l| &l.0);
        if finest.len() <= COARSEST {
            break;
        }
        let (map, clusters) = finest.matching(heaviest, random);
        if clusters * 20 > finest.len() * 19 {
            break;
        }
        let coarse = finest.contract(&map, clusters);
        levels.push((coarse, map));
    }
    let mut passes = Passes::default();
    let coarsest = levels.last().map_or(sub, |l| &l.0);
    let mut best: Option<(i64, i64, Vec<u8>)> = None;
    for attempt in 0..tries.max(1) {
        let mut side = passes.grow(coarsest, sides, attempt, random);
        let (violation, cut) = passes.refine(coarsest, &mut side, sides, random);
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
        passes.refine(fine, &mut side, sides, random);
    }
    side
}
