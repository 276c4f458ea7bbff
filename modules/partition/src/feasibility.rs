//! Whether a mapping keeps what an instance asks for.

use crate::instance::Instance;

/// Whether a mapping keeps every rule of the instance, the load bounds included.
pub(crate) fn keeps(inst: &Instance, block: &[u32]) -> bool {
    let (shared, load) = (&inst.shared, inst.sums(block));
    let clash = |v: usize| inst.clashes(v as u32, block[v], block) > 0;
    (0..load.len()).all(|i| {
        load[i] <= shared.upper[i] && (shared.lower.is_empty() || load[i] >= shared.lower[i])
    }) && (0..inst.len()).all(|v| inst.may_lie(v as u32, block[v]) && !clash(v))
}
