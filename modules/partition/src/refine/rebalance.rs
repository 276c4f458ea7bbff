//! Repair of a mapping that breaks rules, at the least extra cost.

use crate::instance::Instance;

/// Moves each vertex that breaks a rule to another block in its set: the cheapest in which it
/// breaks no rule, if there is one. Otherwise, moves it to the cheapest block with the fewest
/// broken rules. Then a broken `Apart` constraint weighs more than an exceeded limit. A vertex that
/// has no other block in its set stays. Load bounds alone do not cause a move, because the search
/// repairs them.
pub(crate) fn repair_rules(inst: &Instance, block: &mut [u32]) {
    let (k, d) = (inst.k(), inst.dims());
    let mut load = inst.sums(block);
    for v in 0..inst.len() as u32 {
        let here = block[v as usize];
        let clash = |b: u32, block: &[u32]| inst.clashes(v, b, block) > 0;
        let over = (1..d).any(|i| {
            let at = inst.shared.at(here as usize, i);
            load[at] > inst.shared.upper[at] && inst.size_of(v)[i] > 0
        });
        if inst.is_allowed(v, here) && !clash(here, block) && !over {
            continue;
        }
        let room = |b: u32| {
            (0..d).all(|i| {
                let at = inst.shared.at(b as usize, i);
                let own = at == inst.shared.at(here as usize, i);
                let more = if own { 0 } else { inst.size_of(v)[i] };
                load[at] + more <= inst.shared.upper[at]
            })
        };
        let price = |b: u32| -> i64 {
            inst.row(v)
                .map(|(u, w)| w * inst.distance(b, block[u as usize]))
                .sum()
        };
        // Only blocks that a pin allows are candidates, even if all of them break another rule,
        // because the search does not count broken pins.
        let open = (0..k as u32).filter(|&b| b != here && inst.is_allowed(v, b));
        let rank = |&b: &u32| (clash(b, block), !room(b), price(b), b);
        let Some(best) = open.min_by_key(rank) else {
            continue;
        };
        inst.count(&mut load, v, here, -1);
        inst.count(&mut load, v, best, 1);
        block[v as usize] = best;
    }
}
