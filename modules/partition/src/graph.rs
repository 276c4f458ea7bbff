//! The network to be mapped, as arrays: vertices with loads, undirected edges with traffic.

use std::sync::Arc;

use crate::csr::Csr;

use crate::error::Error;
use crate::scale::gcd;

/// One channel of the network. Direction does not matter to a mapping: both ways of a pair are
/// summed into one edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Vertex that writes.
    pub from: u32,
    /// Vertex that reads.
    pub to: u32,
    /// Volume over the channel, in whatever unit the caller counts (bytes, messages).
    pub traffic: u64,
}

/// An undirected weighted graph in compressed rows.
///
/// Weights are integers: sums and differences of gains are then exact, an incremental cost equals
/// a recomputed one to the last digit, and a proof of optimality is a proof. Measured values come
/// in through [`crate::scale`].
///
/// Memory: 12 bytes a vertex (4 offset, 8 load; 8 more with memory needs) and 24 bytes an edge
/// (each edge is stored from both ends: 4 target, 8 traffic). Where parallel channels exist, 8
/// bytes more an edge hold how many channels it stands for. A clone, and the search where nothing
/// changes the network for it, share the arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    rows: Csr,
    /// Channels behind each entry; empty when every edge is one channel.
    channels: Vec<u32>,
    load: Arc<Vec<i64>>,
    /// Bytes needed by each vertex; empty when nobody said.
    memory: Vec<u64>,
    total_load: u64,
    total_traffic: u64,
    /// Some edges have no traffic.
    silent: bool,
}

/// Largest accepted sum of loads, of memory, and of traffic: leaves room for products with
/// distances and percentages in 64 bits.
pub const LARGEST_TOTAL: u64 = 1 << 52;

impl Graph {
    /// Builds the graph in time linear in vertices and channels. Channels from a vertex to itself
    /// are dropped (they never leave a block), parallel and opposite ones are summed.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] when a channel names a vertex that does not exist, when there are 2^31 or
    /// more channels, or when loads or traffic sum to more than [`LARGEST_TOTAL`].
    pub fn new(load: Vec<u64>, channels: &[Channel]) -> Result<Self, Error> {
        Self::of(load, channels.iter().copied())
    }

    /// As [`Graph::new`], from channels that lie in no array: beside the graph itself, 8 bytes a vertex
    /// are needed. The channels are gone through twice.
    ///
    /// # Errors
    ///
    /// As [`Graph::new`].
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
            silent: weights.contains(&0),
            rows: Csr::new(start, targets, weights),
            channels,
            load: Arc::new(load.into_iter().map(|l| l as i64).collect()),
            memory: Vec::new(),
        })
    }

    /// Adds the memory each vertex needs, in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Input`] when the length is not the number of vertices or the sum is too large.
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

    /// Number of vertices.
    #[must_use]
    pub fn vertices(&self) -> usize {
        self.load.len()
    }

    /// Number of undirected edges, parallel channels counted once.
    #[must_use]
    pub fn edges(&self) -> usize {
        self.rows.arcs() / 2
    }

    /// Load of a vertex.
    #[must_use]
    pub fn load(&self, vertex: u32) -> u64 {
        self.load[vertex as usize] as u64
    }

    /// Loads of all vertices, shared.
    pub(crate) fn loads(&self) -> &Arc<Vec<i64>> {
        &self.load
    }

    /// The edges with their traffic, without those that have none; shared where all have some.
    pub(crate) fn rows(&self) -> Csr {
        if !self.silent {
            return self.rows.clone();
        }
        let heard = |v: u32| self.rows.row(v).filter(|e| e.1 != 0);
        Csr::of((0..self.vertices() as u32).map(heard))
    }

    /// The edges, each with the number of channels behind it.
    pub(crate) fn counted(&self) -> Csr {
        let counts = |v: u32| self.channels(v).map(|(u, count)| (u, i64::from(count)));
        Csr::of((0..self.vertices() as u32).map(counts))
    }

    /// Bytes a vertex needs; 0 when nobody said.
    #[must_use]
    pub fn memory(&self, vertex: u32) -> u64 {
        self.memory.get(vertex as usize).copied().unwrap_or(0)
    }

    /// Whether memory needs were given.
    #[must_use]
    pub fn has_memory(&self) -> bool {
        !self.memory.is_empty()
    }

    /// Neighbours of a vertex with the traffic summed over both directions.
    pub fn neighbours(&self, vertex: u32) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.rows
            .row(vertex)
            .map(|(u, traffic)| (u, traffic as u64))
    }

    /// Neighbours of a vertex with the number of channels behind each edge.
    pub fn channels(&self, vertex: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let channels = |i: usize| self.channels.get(i).copied().unwrap_or(1);
        let row = self.rows.range(vertex);
        row.map(move |i| (self.rows.targets[i], channels(i)))
    }

    /// Sum of all loads.
    #[must_use]
    pub fn total_load(&self) -> u64 {
        self.total_load
    }

    /// Returns the greatest common divisor of all loads; 0 if all are 0.
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

    /// Sum of the traffic of all edges, each counted once.
    #[must_use]
    pub fn total_traffic(&self) -> u64 {
        self.total_traffic
    }

    /// Bytes held by the graph.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let arcs = self.rows.arcs();
        4 * (self.rows.offsets.len() + arcs + self.channels.len())
            + 8 * (arcs + self.load.len() + self.memory.len())
    }
}

/// Sums the entries of a row that lead to the same vertex, where they lie. Gives how many channels each
/// entry stands for then, or nothing where each stands for one.
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
    // A pair has as many channels seen from either end, so a later duplicate cannot leave an
    // earlier row short: rows before the first duplicate were filled with ones.
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
