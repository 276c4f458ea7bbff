//! Clusters of vertices, given by the cluster of each: what belongs to a cluster, and from the one to the
//! other.

use std::sync::Arc;

/// The members of each cluster in a row, by counting: those of cluster `c` stand from place `c` of
/// the first list to the next, in the second.
pub(crate) fn members(map: &[u32], clusters: usize) -> (Vec<u32>, Vec<u32>) {
    let mut start = vec![0_u32; clusters + 1];
    for &c in map {
        start[c as usize] += 1;
    }
    let mut end = 0;
    for place in &mut start {
        end += *place;
        *place = end;
    }
    let mut members = vec![0_u32; map.len()];
    for (v, &c) in map.iter().enumerate().rev() {
        // Filling backwards turns each end into a start.
        let place = &mut start[c as usize];
        *place -= 1;
        members[*place as usize] = v as u32;
    }
    (start, members)
}

/// Of so many, whether each is in a list.
pub(crate) fn marks(list: &[u32], count: usize) -> Vec<bool> {
    let mut marks = vec![false; count];
    list.iter().for_each(|&x| marks[x as usize] = true);
    marks
}

/// The members of a list, ascending, each once.
pub(crate) fn distinct<T: Ord + Clone>(list: &[T]) -> Vec<T> {
    let mut distinct = list.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// What clusters have together, `dims` numbers a vertex.
pub(crate) fn summed(map: &[u32], clusters: usize, values: &[i64], dims: usize) -> Arc<Vec<i64>> {
    let mut sums = vec![0; clusters * dims];
    if dims == 1 {
        map.iter()
            .zip(values)
            .for_each(|(&c, value)| sums[c as usize] += value);
    } else {
        for (&c, from) in map.iter().zip(values.chunks_exact(dims)) {
            let to = &mut sums[c as usize * dims..];
            to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        }
    }
    Arc::new(sums)
}

/// The lists of all members of each cluster as one, ascending, in numbers of clusters.
pub(crate) fn united(
    map: &[u32],
    clusters: usize,
    lists: &[Vec<(u32, u32)>],
) -> Vec<Vec<(u32, u32)>> {
    if lists.is_empty() {
        return Vec::new();
    }
    let mut all = vec![Vec::new(); clusters];
    for (&c, list) in map.iter().zip(lists) {
        all[c as usize].extend(list.iter().map(|&(u, layer)| (map[u as usize], layer)));
    }
    for list in &mut all {
        list.sort_unstable();
        list.dedup();
    }
    all
}

/// The block of each cluster, of a mapping in which each lies in one; or whatever else its members have in
/// common. Nothing where nothing is said.
pub(crate) fn lifted<T: Copy + Default>(map: &[u32], clusters: usize, block: &[T]) -> Vec<T> {
    if block.is_empty() {
        return Vec::new();
    }
    let mut lifted = vec![T::default(); clusters];
    map.iter()
        .zip(block)
        .for_each(|(&c, &b)| lifted[c as usize] = b);
    lifted
}

/// The block of each vertex, of a mapping of clusters.
pub(crate) fn lowered(map: &[u32], block: &[u32]) -> Vec<u32> {
    map.iter().map(|&c| block[c as usize]).collect()
}
