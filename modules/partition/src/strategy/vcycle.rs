//! V-cycles: improve clusters of a mapping as wholes, then their members.

use crate::clusters::{lifted, lowered};
use crate::instance::Instance;
use crate::multilevel::coarsen::pairs;
use crate::multilevel::initial::{Tries, multisection};
use crate::random::Random;
use crate::refine::fm;

/// A mapping of a large instance: multisection, then refinement over all boundaries at once.
/// `rounds` is how often each of the dearest cuts is tried.
pub(crate) fn multilevel(inst: &Instance, rounds: usize, random: &mut Random) -> Vec<u32> {
    let mut block = multisection(
        inst,
        Tries {
            coarsest: 4,
            rounds,
        },
        0.0,
        random,
    );
    fm::refine(inst, &mut block, random);
    block
}

/// A V-cycle from a mapping: clusters inside its blocks are refined from coarse to fine.
pub(crate) fn again(inst: &Instance, block: Vec<u32>, random: &mut Random) -> Vec<u32> {
    let target = (inst.k() * 24).max(400);
    let total = inst.total_load();
    let heaviest = (total / target as i64).max(1) * 2;
    let mut levels: Vec<(Instance, Vec<u32>)> = Vec::new();
    let mut current = block;
    loop {
        let fine = levels.last().map_or(inst, |l| &l.0);
        if fine.len() <= target {
            break;
        }
        let (map, clusters) = pairs(fine, &current, heaviest, random);
        if clusters * 50 > fine.len() * 49 {
            break;
        }
        let coarse = fine.contract(&map, clusters);
        current = lifted(&map, clusters, &current);
        levels.push((coarse, map));
    }
    while let Some((coarse, map)) = levels.pop() {
        fm::refine(&coarse, &mut current, random);
        current = lowered(&map, &current);
    }
    fm::refine(inst, &mut current, random);
    current
}
