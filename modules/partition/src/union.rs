//! Disjoint sets that can be joined (union-find, Tarjan 1975).

/// Returns the representative of the set of `v`, the only member with `root[x] == x`. Halves the
/// path to it.
pub(crate) fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}

/// Joins the sets of two members. The smaller representative remains. So sets of consecutive
/// numbers keep the order of their first members.
pub(crate) fn join(root: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(root, a), find(root, b));
    root[a.max(b) as usize] = a.min(b);
}
