//! Clusters of vertices, as a list that contains the cluster of each vertex, and data by cluster.

use std::sync::Arc;

/// Members of each cluster, in ascending order.
#[derive(Debug)]
pub(crate) struct Members {
    /// Offsets into `list`. The members of cluster `c` are from `start[c]` to `start[c + 1]`.
    start: Vec<u32>,
    list: Vec<u32>,
}

impl Members {
    /// Sorts the vertices by cluster (counting sort). `map` contains the cluster of each vertex,
    /// which must be less than `clusters`.
    pub(crate) fn new(map: &[u32], clusters: usize) -> Self {
        let mut start = vec![0_u32; clusters + 1];
        for &c in map {
            start[c as usize] += 1;
        }
        let mut end = 0;
        for place in &mut start {
            end += *place;
            *place = end;
        }
        let mut list = vec![0_u32; map.len()];
        for (v, &c) in map.iter().enumerate().rev() {
            // Filling from the back changes each end into a start.
            let place = &mut start[c as usize];
            *place -= 1;
            list[*place as usize] = v as u32;
        }
        Self { start, list }
    }

    #[inline]
    pub(crate) fn of(&self, cluster: usize) -> &[u32] {
        &self.list[self.start[cluster] as usize..self.start[cluster + 1] as usize]
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        (0..self.start.len() - 1).map(|c| self.of(c))
    }

    /// Returns the index of each vertex among the members of its cluster.
    pub(crate) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.list.len()];
        for run in self.iter() {
            (0..).zip(run).for_each(|(i, &v)| places[v as usize] = i);
        }
        places
    }
}

/// Renumbers clusters in the order of their first members, from 0. `map` contains the cluster of
/// each vertex, which must be less than `clusters`. Returns the number of clusters with members.
pub(crate) fn in_order(map: &mut [u32], clusters: usize) -> usize {
    let mut number = vec![u32::MAX; clusters];
    let mut next = 0;
    for c in map {
        let number = &mut number[*c as usize];
        if *number == u32::MAX {
            *number = next;
            next += 1;
        }
        *c = *number;
    }
    next as usize
}

/// Returns a list of `count` flags, which are true at the indices in `list`. Panics if one of these
/// is not less than `count`.
pub(crate) fn marks(list: &[u32], count: usize) -> Vec<bool> {
    let mut marks = vec![false; count];
    list.iter().for_each(|&x| marks[x as usize] = true);
    marks
}

/// Returns the members of a list in ascending order without duplicates.
pub(crate) fn distinct<T: Ord + Clone>(list: &[T]) -> Vec<T> {
    let mut distinct = list.to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    distinct
}

/// Adds `times` times each number of `more` to the number of `sums` at the same index. Ignores what
/// the longer list has beyond the shorter one.
#[inline]
pub(crate) fn add(sums: &mut [i64], more: &[i64], times: i64) {
    let pairs = sums.iter_mut().zip(more);
    pairs.for_each(|(sum, more)| *sum += times * more);
}

/// Returns the index of the first element of a list that equals `member`. Appends `member` first if
/// there is none.
pub(crate) fn number<T: PartialEq>(list: &mut Vec<T>, member: T) -> usize {
    let known = list.iter().position(|known| *known == member);
    known.unwrap_or_else(|| {
        list.push(member);
        list.len() - 1
    })
}

/// Returns the sums over the members of each cluster, with `dims` numbers for each vertex in
/// `values` and for each cluster in the result. `map` contains the cluster of each vertex.
pub(crate) fn summed(map: &[u32], clusters: usize, values: &[i64], dims: usize) -> Arc<Vec<i64>> {
    let mut sums = vec![0; clusters * dims];
    if dims == 1 {
        map.iter()
            .zip(values)
            .for_each(|(&c, value)| sums[c as usize] += value);
    } else {
        for (&c, from) in map.iter().zip(values.chunks_exact(dims)) {
            let to = &mut sums[c as usize * dims..];
            add(to, from, 1);
        }
    }
    Arc::new(sums)
}

/// Returns the joint list of each cluster, ascending and without duplicates. Each pair of a vertex
/// and a layer becomes a pair of the vertex's cluster and the layer. Returns an empty list if
/// `lists` is empty.
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

/// Returns the block of each cluster, if all members of a cluster have the same block. Otherwise
/// the last member decides. A cluster without members gets the default value. `block` may also
/// contain other values that members have in common. An empty list stays empty.
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

/// Returns the block of each vertex for a mapping of clusters. `map` contains the cluster of each
/// vertex, and `block` the block of each cluster.
pub(crate) fn lowered(map: &[u32], block: &[u32]) -> Vec<u32> {
    map.iter().map(|&c| block[c as usize]).collect()
}
