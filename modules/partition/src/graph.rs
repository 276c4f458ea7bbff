//! The network to map, as arrays: vertices with loads, undirected edges with traffic.

use std::sync::Arc;

use crate::csr::Csr;

use crate::error::Error;
use crate::scale::gcd;

/// A channel of the network. Its direction does not affect a mapping, so both directions between
/// two vertices are summed into one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Vertex that writes.
    pub from: u32,
    /// Vertex that reads.
    pub to: u32,
    /// Volume over the channel, in any unit (bytes, messages), the same for all channels.
    pub traffic: u64,
}

/// An undirected weighted graph in compressed rows.
///
/// Weights are integers, so that sums and differences of gains are exact. An incremental cost then
/// equals a recomputed one, and a proof of optimality holds without rounding errors.
/// [`scale`](fn@crate::scale) converts measured values.
///
/// Memory: 12 bytes per vertex (4 offset, 8 load), 8 more if memory sizes are given, and 24 bytes
/// per edge, because each edge is stored at both ends (4 target, 8 traffic). If there are parallel
/// channels, the number of channels of each edge takes 8 more bytes per edge. Clones share the rows
/// and the loads. The search shares them too, unless it changes the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    rows: Csr,
    /// Number of channels of each entry. Empty if every edge is one channel.
    channels: Vec<u32>,
    load: Arc<Vec<i64>>,
    /// Memory size of each vertex in bytes. Empty if none were given.
    memory: Vec<u64>,
    total_load: u64,
    total_traffic: u64,
    /// True if some edges have no traffic.
    has_zero_traffic: bool,
}

/// Largest accepted sum of loads, of memory sizes, and of traffic. Products with distances and
/// percentages then fit into 64 bits.
pub const LARGEST_TOTAL: u64 = 1 << 52;

impl Graph {
    /// Builds the graph in time linear in vertices and channels. Drops channels from a vertex to
    /// itself, because they never leave a block. Sums parallel and opposite channels.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if a channel names a vertex that does not exist, if there are more than
    /// 2^31 channels or 2^32 - 1 vertices or more, or if loads or traffic sum to more than
    /// [`LARGEST_TOTAL`]. The sum of the traffic includes channels from a vertex to itself.
    pub fn new(load: Vec<u64>, channels: &[Channel]) -> Result<Self, Error> {
        Self::of(load, channels.iter().copied())
    }

    /// Builds the graph as [`Graph::new`] does, from an iterator. Needs at most 8 bytes per vertex
    /// beside the graph. Until parallel channels are summed, each end of a channel takes 12 bytes.
    /// The channels are iterated twice, and a clone must yield the same ones.
    ///
    /// # Errors
    ///
    /// The same as [`Graph::new`].
    ///
    /// # Panics
    ///
    /// May panic, or return a meaningless graph, if a clone of the iterator yields other channels.
    pub fn of(
        load: Vec<u64>,
        channels: impl Iterator<Item = Channel> + Clone,
    ) -> Result<Self, Error> {
        let n = load.len();
        let many = || Error::input("the network has more than 2^31 vertices or channels");
        if n >= u32::MAX as usize {
            return Err(many());
        }
        let total_load = checked_total("load", &load)?;
        let mut total = 0_u64;
        let mut start = vec![0_u32; n + 1];
        for (index, channel) in channels.clone().enumerate() {
            if index >= 1 << 31 {
                return Err(many());
            }
            for end in [channel.from, channel.to] {
                if end as usize >= n {
                    return Err(Error::input(format!(
                        "channel {index} names vertex {end}, but there are {n} vertices"
                    )));
                }
            }
            total = total.saturating_add(channel.traffic);
            if channel.from != channel.to {
                start[channel.from as usize + 1] += 1;
                start[channel.to as usize + 1] += 1;
            }
        }
        if total > LARGEST_TOTAL {
            return Err(Error::input(format!(
                "the sum of the traffic is {total}, more than 2^52; scale it down"
            )));
        }
        for v in 0..n {
            start[v + 1] += start[v];
        }
        let mut fill = start.clone();
        let mut targets = vec![0_u32; start[n] as usize];
        let mut weights = vec![0_i64; start[n] as usize];
        for channel in channels.filter(|c| c.from != c.to) {
            for (a, b) in [(channel.from, channel.to), (channel.to, channel.from)] {
                let at = fill[a as usize] as usize;
                (targets[at], weights[at]) = (b, channel.traffic as i64);
                fill[a as usize] += 1;
            }
        }
        drop(fill);
        let channels = merge_parallel(&mut start, &mut targets, &mut weights);
        Ok(Self {
            total_load,
            total_traffic: weights.iter().sum::<i64>() as u64 / 2,
            has_zero_traffic: weights.contains(&0),
            rows: Csr::new(start, targets, weights),
            channels,
            load: Arc::new(load.into_iter().map(|l| l as i64).collect()),
            memory: Vec::new(),
        })
    }

    /// Sets the memory size of each vertex, in bytes. Replaces sizes that were given before.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] if the length is not the number of vertices, or the sum exceeds
    /// [`LARGEST_TOTAL`].
    pub fn with_memory(mut self, memory: Vec<u64>) -> Result<Self, Error> {
        if memory.len() != self.load.len() {
            return Err(Error::input(format!(
                "{} memory sizes are given for {} vertices",
                memory.len(),
                self.load.len()
            )));
        }
        checked_total("memory", &memory)?;
        self.memory = memory;
        Ok(self)
    }

    /// Returns the number of vertices.
    #[must_use]
    pub fn vertices(&self) -> usize {
        self.load.len()
    }

    /// Returns the number of undirected edges. Parallel and opposite channels count as one edge.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.rows.arcs() / 2
    }

    /// Returns the load of a vertex.
    ///
    /// # Panics
    ///
    /// Panics if `vertex` is not less than [`vertices`](Self::vertices).
    #[must_use]
    pub fn load(&self, vertex: u32) -> u64 {
        self.load[vertex as usize] as u64
    }

    /// Returns the shared loads of all vertices.
    pub(crate) fn loads(&self) -> &Arc<Vec<i64>> {
        &self.load
    }

    /// Returns the edges that have traffic. The result shares the rows if all edges have traffic.
    pub(crate) fn rows(&self) -> Csr {
        if !self.has_zero_traffic {
            return self.rows.clone();
        }
        let heard = |v: u32| self.rows.row(v).filter(|e| e.1 != 0);
        Csr::of((0..self.vertices() as u32).map(heard))
    }

    /// Returns all edges, also those without traffic, with the number of their channels as weight.
    pub(crate) fn counted(&self) -> Csr {
        let counts = |v: u32| self.channels(v).map(|(u, count)| (u, i64::from(count)));
        Csr::of((0..self.vertices() as u32).map(counts))
    }

    /// Returns the memory size of a vertex in bytes. Returns 0 if no sizes were given, or if the
    /// vertex does not exist.
    #[must_use]
    pub fn memory(&self, vertex: u32) -> u64 {
        self.memory.get(vertex as usize).copied().unwrap_or(0)
    }

    /// Returns true if memory sizes were given and the graph has a vertex.
    #[must_use]
    pub fn has_memory(&self) -> bool {
        !self.memory.is_empty()
    }

    /// Returns each neighbour of a vertex once, with the traffic summed over both directions. The
    /// traffic can be 0.
    ///
    /// # Panics
    ///
    /// Panics if `vertex` is not less than [`vertices`](Self::vertices).
    pub fn neighbours(&self, vertex: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.rows
            .row(vertex)
            .map(|(u, traffic)| (u, traffic as u64))
    }

    /// Returns each neighbour of a vertex once, with the number of channels in both directions.
    ///
    /// # Panics
    ///
    /// Panics if `vertex` is not less than [`vertices`](Self::vertices).
    pub fn channels(&self, vertex: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let channels = |i: usize| self.channels.get(i).copied().unwrap_or(1);
        let row = self.rows.range(vertex);
        row.map(move |i| (self.rows.targets[i], channels(i)))
    }

    /// Returns the sum of all loads.
    #[must_use]
    pub fn total_load(&self) -> u64 {
        self.total_load
    }

    /// Returns the greatest common divisor of all loads, or 0 if all are 0.
    pub(crate) fn common_load(&self) -> u64 {
        let mut common = 0;
        for &load in self.load.iter() {
            common = gcd(load, common);
            if common == 1 {
                break;
            }
        }
        common.unsigned_abs()
    }

    /// Returns the sum of the traffic of all edges, each counted once. Channels from a vertex to
    /// itself are not included.
    #[must_use]
    pub fn total_traffic(&self) -> u64 {
        self.total_traffic
    }

    /// Returns the memory that the arrays of the graph occupy, in bytes. Shared arrays are
    /// included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let arcs = self.rows.arcs();
        4 * (self.rows.offsets.len() + arcs + self.channels.len())
            + 8 * (arcs + self.load.len() + self.memory.len())
    }
}

/// Sums, in place, the entries of each row with the same target. Returns the number of channels of
/// each entry, or an empty list if each is one channel.
fn merge_parallel(offsets: &mut [u32], targets: &mut Vec<u32>, weights: &mut Vec<i64>) -> Vec<u32> {
    let n = offsets.len() - 1;
    let mut channels: Vec<u32> = Vec::new();
    let mut place = vec![u32::MAX; n];
    let (mut next, mut begin) = (0, 0);
    for v in 0..n {
        let end = offsets[v + 1] as usize;
        let row = next;
        for at in begin..end {
            let (u, traffic) = (targets[at], weights[at]);
            let seen = place[u as usize] as usize;
            if seen != u32::MAX as usize && seen >= row {
                weights[seen] += traffic;
                if channels.is_empty() {
                    channels.resize(next, 1);
                }
                channels[seen] += 1;
            } else {
                place[u as usize] = next as u32;
                (targets[next], weights[next]) = (u, traffic);
                next += 1;
                if !channels.is_empty() {
                    channels.push(1);
                }
            }
        }
        begin = end;
        offsets[v + 1] = next as u32;
    }
    // `resize` filled the rows before the first duplicate with ones. This is correct because a pair
    // has the same number of channels at both ends, so that no earlier row contains one of its
    // entries.
    targets.truncate(next);
    targets.shrink_to_fit();
    weights.truncate(next);
    weights.shrink_to_fit();
    channels
}

fn checked_total(what: &str, values: &[u64]) -> Result<u64, Error> {
    let mut total = 0_u64;
    for (vertex, &value) in values.iter().enumerate() {
        total = total.saturating_add(value);
        if total > LARGEST_TOTAL {
            return Err(Error::input(format!(
                "the sum of the {what} exceeds 2^52 at vertex {vertex}; scale it down"
            )));
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(from: u32, to: u32, traffic: u64) -> Channel {
        Channel { from, to, traffic }
    }

    #[test]
    fn both_directions_and_parallel_channels_are_summed_and_loops_dropped() {
        let list = [
            channel(0, 1, 3),
            channel(1, 0, 4),
            channel(2, 2, 9),
            channel(0, 1, 1),
        ];
        let graph = Graph::new(vec![1, 2, 3], &list).unwrap();
        assert_eq!(graph.edges(), 1);
        assert_eq!(graph.neighbours(0).collect::<Vec<_>>(), [(1, 8)]);
        assert_eq!(graph.neighbours(1).collect::<Vec<_>>(), [(0, 8)]);
        assert_eq!(graph.channels(1).collect::<Vec<_>>(), [(0, 3)]);
        assert_eq!(graph.neighbours(2).count(), 0);
        assert_eq!((graph.total_load(), graph.total_traffic()), (6, 8));
    }

    #[test]
    fn bad_input_is_refused() {
        assert!(Graph::new(vec![1], &[channel(0, 1, 1)]).is_err());
        assert!(Graph::new(vec![u64::MAX, 2], &[]).is_err());
        assert!(Graph::new(vec![1, 1], &[channel(0, 1, u64::MAX)]).is_err());
    }
}
