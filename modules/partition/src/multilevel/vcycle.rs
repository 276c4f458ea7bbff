//! V-cycles: improve clusters of a mapping as wholes, then their members.

use std::time::Instant;

use super::coarsen::matching;
use super::initial::{Tries, multisection};
use crate::instance::Instance;
use crate::random::Random;
use crate::refine::anneal::{Best, Schedule, anneal, typical};
use crate::refine::fm;
use crate::refine::state::State;

/// One V-cycle by annealing: clusters inside the blocks of the mapping move first, their members
/// then. Never returns anything worse than it was given.
pub(crate) fn anneal_cycle(
    inst: &Instance,
    block: Vec<u32>,
    steps: u64,
    stop_at: Option<Instant>,
    random: &mut Random,
) -> Best {
    let depth = random.below(4);
    let mut levels: Vec<(Instance, Vec<u32>)> = Vec::new();
    let mut within = block.clone();
    let heaviest = (0..inst.k()).map(|b| inst.load_bound(b)).min().unwrap_or(0) / 2;
    for _ in 0..depth {
        let fine = levels.last().map_or(inst, |l| &l.0);
        let (map, clusters) = matching(fine, Some(&within), heaviest, random);
        if clusters * 20 > fine.len() * 19 {
            break;
        }
        let coarse = fine.contract(&map, clusters);
        let mut next = vec![0; clusters];
        map.iter()
            .zip(&within)
            .for_each(|(&c, &b)| next[c as usize] = b);
        within = next;
        levels.push((coarse, map));
    }
    let first = Best::of(&State::new(inst, block));
    let warmth = 0.02 + 0.25 * random.unit() * random.unit();
    let mut current = within;
    for level in (0..=levels.len()).rev() {
        let here = if level == 0 {
            inst
        } else {
            &levels[level - 1].0
        };
        let mut state = State::new(here, current);
        let hot = typical(&state) * warmth;
        let share = if level == 0 {
            steps / 2
        } else {
            steps / 2 / levels.len() as u64
        };
        let schedule = Schedule {
            steps: share,
            hot,
            cold: hot * 0.05,
            stop_at,
        };
        current = anneal(&mut state, random, &schedule).block;
        if level > 0 {
            current = levels[level - 1]
                .1
                .iter()
                .map(|&c| current[c as usize])
                .collect();
        } else {
            let last = Best::of(&State::new(inst, current));
            return if last.beats(&first) { last } else { first };
        }
    }
    unreachable!("the loop ends at level 0")
}

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
    let total: i64 = (0..inst.len() as u32).map(|v| inst.load(v)).sum();
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
