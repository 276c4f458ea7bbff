//! Clusters for the coarser levels.

use crate::instance::Instance;
use crate::random::Random;

/// Matches vertices along heavy edges with light ends, inside blocks only when a mapping is given
/// (so that it carries over to the coarse instance). Returns the cluster of each vertex.
pub(crate) fn matching(
    inst: &Instance,
    within: Option<&[u32]>,
    heaviest: i64,
    random: &mut Random,
) -> (Vec<u32>, usize) {
    let n = inst.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut order);
    let mut map = vec![u32::MAX; n];
    let mut clusters = 0;
    for &v in &order {
        if map[v as usize] != u32::MAX {
            continue;
        }
        let load = inst.load(v);
        let mut best = (0.0, v);
        for (u, w) in inst.row(v) {
            if map[u as usize] != u32::MAX
                || load + inst.load(u) > heaviest
                || within.is_some_and(|b| b[u as usize] != b[v as usize])
                || !may_join(inst, v, u)
            {
                continue;
            }
            let rate = (w as f64) * (w as f64) / (inst.load(u).max(1) as f64);
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

/// Whether two vertices may become one: the same pins, and not to be kept apart.
pub(crate) fn may_join(inst: &Instance, v: u32, u: u32) -> bool {
    (inst.set.is_empty() || inst.set[v as usize] == inst.set[u as usize])
        && (inst.apart.is_empty() || !inst.apart[v as usize].iter().any(|e| e.0 == u))
}
