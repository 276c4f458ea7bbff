//! Computes pairs of vertices for the next coarser level.

use crate::csr::Csr;
use crate::instance::Instance;
use crate::random::Random;

/// Matches vertices along heavy edges to light vertices. Returns the cluster of each vertex, and
/// the number of clusters. A pair is not heavier than `heaviest`, and `may_join` must allow it. A
/// vertex without a partner is a cluster of its own.
pub(crate) fn matching(
    graph: &Csr,
    load: impl Fn(u32) -> i64,
    heaviest: i64,
    may_join: impl Fn(u32, u32) -> bool,
    random: &mut Random,
) -> (Vec<u32>, usize) {
    let n = graph.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    random.shuffle(&mut order);
    let mut map = vec![u32::MAX; n];
    let mut clusters = 0;
    for &v in &order {
        if map[v as usize] != u32::MAX {
            continue;
        }
        let mut best = (0.0, v);
        for (u, w) in graph.row(v) {
            if map[u as usize] != u32::MAX || load(v) + load(u) > heaviest || !may_join(v, u) {
                continue;
            }
            let rate = (w as f64) * (w as f64) / (load(u).max(1) as f64);
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

/// Returns true if two vertices may be joined: they have the same pins and need not be kept apart.
pub(crate) fn may_join(inst: &Instance, v: u32, u: u32) -> bool {
    (inst.set.is_empty() || inst.set[v as usize] == inst.set[u as usize])
        && (inst.apart.is_empty() || !inst.apart[v as usize].iter().any(|e| e.0 == u))
}
