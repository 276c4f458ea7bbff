//! Mappings that are given, in vertices of an instance.

use crate::instance::Instance;

/// A mapping in vertices of the instance, of which the block of a vertex of the graph is known: vertices
/// without one come beside their heaviest neighbour.
pub(super) fn in_instance(
    inst: &Instance,
    group: &[u32],
    block_of: impl Fn(usize) -> Option<u32>,
) -> Vec<u32> {
    let mut block = vec![None; inst.len()];
    match group {
        [] => (0..inst.len()).for_each(|v| block[v] = block_of(v)),
        _ => (0..group.len()).for_each(|v| {
            let place = &mut block[group[v] as usize];
            *place = place.or_else(|| block_of(v));
        }),
    }
    for v in 0..inst.len() as u32 {
        let open = |b: &u32| inst.may_lie(v, *b);
        if block[v as usize].filter(open).is_none() {
            let near = inst.row(v).filter(|e| block[e.0 as usize].is_some());
            let beside = near
                .max_by_key(|e| e.1)
                .map_or(Some(0), |e| block[e.0 as usize]);
            let first = || (0..inst.k() as u32).find(|b| open(b));
            block[v as usize] = beside.filter(open).or_else(first);
        }
    }
    block.into_iter().map(|b| b.unwrap_or(0)).collect()
}
