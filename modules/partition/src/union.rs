//! Sets that are joined over time, each named by one of its members (Tarjan 1975).

/// The member that names the set of `v`: the only one of the set with `root[x] == x`. Halves the
/// paths it walks.
pub(crate) fn find(root: &mut [u32], mut v: u32) -> u32 {
    while root[v as usize] != v {
        root[v as usize] = root[root[v as usize] as usize];
        v = root[v as usize];
    }
    v
}

/// Makes the sets of two members one. Its name is the smaller of theirs, so sets that were made of
/// numbers in a row keep the order of their first members.
pub(crate) fn join(root: &mut [u32], a: u32, b: u32) {
    let (a, b) = (find(root, a), find(root, b));
    root[a.max(b) as usize] = a.min(b);
}
