//! Multilevel bisection of a set of vertices, with Fiduccia-Mattheyses refinement.

use super::coarsen::matching;
use super::passes::{Passes, Sides, Sub};
use crate::clusters::{lifted, summed};
use crate::random::Random;

const COARSEST: usize = 48;

/// Bisects a graph. Returns the violation of the limits, the cut, and the side of each vertex. At
/// the coarsest level, the best of `tries` initial bisections is used, but at least one is tried.
pub(crate) fn bisect(
    sub: &Sub,
    sides: Sides,
    tries: usize,
    random: &mut Random,
) -> ((i64, i64), Vec<u8>) {
    let heaviest = (sides.most[0].min(sides.most[1]) / 8).max(1);
    let mut levels: Vec<(Sub, Vec<u32>)> = Vec::new();
    loop {
        let finest = levels.last().map_or(sub, |l| &l.0);
        if finest.len() <= COARSEST {
            break;
        }
        let size = |v: u32| finest.size[v as usize];
        let may_join = |v, u| finest.fixed(v) == finest.fixed(u);
        let (map, clusters) = matching(finest, size, heaviest, may_join, random);
        if clusters * 20 > finest.len() * 19 {
            break;
        }
        let coarse = Sub {
            graph: finest.graph.contract(&map, clusters, &[]),
            size: summed(&map, clusters, &finest.size, 1),
            fixed: lifted(&map, clusters, &finest.fixed),
        };
        levels.push((coarse, map));
    }
    let mut passes = Passes::default();
    let coarsest = levels.last().map_or(sub, |l| &l.0);
    let attempt = |attempt| {
        let mut side = passes.grow(coarsest, sides, attempt, random);
        (passes.refine(coarsest, &mut side, sides, random), side)
    };
    let tried = (0..tries.max(1)).map(attempt).min_by_key(|tried| tried.0);
    let (mut worth, mut side) = tried.expect("at least one try");
    while let Some((_, map)) = levels.pop() {
        side = map.iter().map(|&c| side[c as usize]).collect();
        let fine = levels.last().map_or(sub, |l| &l.0);
        worth = passes.refine(fine, &mut side, sides, random);
    }
    (worth, side)
}
