//! Disjoint sets that can be joined (union-find, Tarjan 1975).

/// Returns the representative of the set of `v`. `root` contains a member of the same set for each
/// element, and a representative contains itself. Shortens the path from `v` to the representative.
/// Panics if `v` is not an index of `root`.
pub(crate) fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}

/// Joins the sets of `a` and `b`. Of their two representatives, the smaller one becomes the
/// representative of the joined set. Does nothing if both are in one set already. Panics if `a` or
/// `b` is not an index of `root`.
pub(crate) fn join(root: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(root, a), find(root, b));
    root[a.max(b) as usize] = a.min(b);
}
