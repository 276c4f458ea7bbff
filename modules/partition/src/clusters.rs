//! Clusters of vertices, given by the cluster of each: what belongs to a cluster, and from the one to the
//! other.

use std::sync::Arc;

/// The members of each cluster, ascending.
#[derive(Debug)]
pub(crate) struct Members {
    /// Those of cluster `c` stand from place `c` of this to the next.
    start: Vec<u32>,
    list: Vec<u32>,
}

impl Members {
    /// By counting; `map` names the cluster of each.
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
            // Filling backwards turns each end into a start.
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

    /// Where each stands among those of its cluster.
    pub(crate) fn places(&self) -> Vec<u32> {
        let mut places = vec![0; self.list.len()];
        for run in self.iter() {
            (0..).zip(run).for_each(|(i, &v)| places[v as usize] = i);
        }
        places
    }
}

/// Numbers clusters in the order of their first members; says how many of them have any.
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

/// Adds so many times some numbers to others.
#[inline]
pub(crate) fn add(sums: &mut [i64], more: &[i64], times: i64) {
    let pairs = sums.iter_mut().zip(more);
    pairs.for_each(|(sum, more)| *sum += times * more);
}

/// Where a member stands in a list, to which it is added if it is not there.
pub(crate) fn number<T: PartialEq>(list: &mut Vec<T>, member: T) -> usize {
    let known = list.iter().position(|known| *known == member);
    known.unwrap_or_else(|| {
        list.push(member);
        list.len() - 1
    })
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
            add(to, from, 1);
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
