//! V-cycles: improve clusters of a mapping as wholes, then their members.

use crate::instance::Instance;
use crate::multilevel::coarsen::matching;
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
        let (map, clusters) = matching(fine, Some(&current), heaviest, random);
        if clusters * 50 > fine.len() * 49 {
            break;
        }
        let coarse = fine.contract(&map, clusters);
        let mut next = vec![0; clusters];
        map.iter()
            .zip(&current)
            .for_each(|(&c, &b)| next[c as usize] = b);
        current = next;
        levels.push((coarse, map));
    }
    while let Some((coarse, map)) = levels.pop() {
        fm::refine(&coarse, &mut current, random);
        current = map.iter().map(|&c| current[c as usize]).collect();
    }
    fm::refine(inst, &mut current, random);
    current
}
