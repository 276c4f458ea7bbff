//! Feasibility of a mapping for an instance.

use crate::instance::Instance;

/// Returns true if a mapping satisfies all rules of the instance, including the load bounds.
/// `block` contains the block of each vertex. Panics if one of these does not exist.
pub(crate) fn is_feasible(inst: &Instance, block: &[u32]) -> bool {
    satisfies(inst, block, true)
}

/// Returns true if a mapping satisfies all rules of the instance except the largest load of each
/// block. `block` contains the block of each vertex. Panics if one of these does not exist.
pub(crate) fn satisfies_rules(inst: &Instance, block: &[u32]) -> bool {
    satisfies(inst, block, false)
}

fn satisfies(inst: &Instance, block: &[u32], bounded: bool) -> bool {
    let (shared, load) = (&inst.shared, inst.sums(block));
    let clash = |v: usize| inst.clashes(v as u32, block[v], block) > 0;
    let within = |i: usize| {
        // The load is the first dimension of each block.
        let open = !bounded && i.is_multiple_of(shared.dims);
        (open || load[i] <= shared.upper[i])
            && (shared.lower.is_empty() || load[i] >= shared.lower[i])
    };
    (0..load.len()).all(within)
        && (0..inst.len()).all(|v| inst.is_allowed(v as u32, block[v]) && !clash(v))
}
