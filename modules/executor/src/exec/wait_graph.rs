//! The graph of waits when all schedulers are quiescent: which processes are deadlocked, and which
//! channels grow.
//!
//! Every process waits: to read from a channel (for its writer) or to write to a full one (for its
//! reader). The graph has an edge from each process to each process that it waits for. A strongly
//! connected component with an edge of the second kind inside exists only because a channel is too
//! small. Its smallest such channels are doubled, and the network continues. Without such an edge
//! the deadlock is real.
//!
//! T. M. Parks, "Bounded scheduling of process networks", Berkeley 1995, chapter 4, grows one
//! smallest full channel of the whole network. Here, components are searched, because a writer that
//! only feeds a real deadlock would otherwise grow its channel again and again. All channels that
//! are equally small grow at once, because a cycle of n of them would otherwise take n rounds. No
//! channel gets more than twice the capacity that growing one at a time can lead to.
//!
//! The edges are kept from one round to the next. Only changes are reported
//! ([`WaitGraph::update`]), and only processes that can be reached from them are searched. This
//! suffices because a new cycle contains a process that has begun to wait since the last round.

use super::hooks::Side;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Returns the number of the strongly connected component of each process (Tarjan 1972), from 0.
/// Two processes have the same number if and only if each can be reached from the other. `channels`
/// are pairs of writer and reader. Takes linear time.
///
/// # Panics
/// Panics if a channel names a process that is not below `processes`.
pub fn components(processes: usize, channels: &[(u32, u32)]) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    // The readers of each process, ordered by process.
    let mut begins = vec![0_usize; processes + 1];
    for &(from, _) in channels {
        begins[from as usize + 1] += 1;
    }
    for at in 0..processes {
        begins[at + 1] += begins[at];
    }
    let mut next = begins.clone();
    let mut readers = vec![0_u32; channels.len()];
    for &(from, to) in channels {
        readers[next[from as usize]] = to;
        next[from as usize] += 1;
    }
    next.copy_from_slice(&begins);
    let mut component = vec![UNSEEN; processes];
    // Order in which processes were reached, and the earliest one that each can reach.
    let (mut reached, mut earliest) = (vec![UNSEEN; processes], vec![UNSEEN; processes]);
    let (mut open, mut path) = (Vec::new(), Vec::new());
    let (mut count, mut components) = (0, 0);
    for first in 0..processes {
        if reached[first] == UNSEEN {
            path.push(first);
        }
        while let Some(&at) = path.last() {
            if reached[at] == UNSEEN {
                (reached[at], earliest[at]) = (count, count);
                count += 1;
                open.push(at);
            }
            let unread = readers[next[at]..begins[at + 1]].first();
            if let Some(&reader) = unread {
                let reader = reader as usize;
                if reached[reader] == UNSEEN {
                    // It is examined again when the reader is done.
                    path.push(reader);
                    continue;
                }
                if component[reader] == UNSEEN {
                    earliest[at] = earliest[at].min(earliest[reader]);
                }
                next[at] += 1;
                continue;
            }
            path.pop();
            if earliest[at] == reached[at] {
                while let Some(member) = open.pop() {
                    component[member] = components;
                    if member == at {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

/// No process.
const NONE: u32 = u32::MAX;
/// Stands for a process that is not known.
pub const UNKNOWN: u32 = u32::MAX - 1;
/// A channel with at least this capacity does not grow.
const WIDEST: u32 = u32::MAX / 4;

/// A wait at a side of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// Rank of the process that waits.
    pub rank: u32,
    /// Rank of the process at the other side, or [`UNKNOWN`].
    pub peer: u32,
    /// Whether `peer` is only a hint: the last process that waited at the other side. Another
    /// process may use that side now. Also true if `peer` is not known.
    pub hint: bool,
    /// Whether the process waits for the reader to leave. A larger capacity does not end such a
    /// wait.
    pub stop: bool,
    pub capacity: u32,
}

/// The new state of a side of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Update {
    pub number: u32,
    pub side: Side,
    pub wait: Option<Wait>,
}

/// A growth: a channel and its new capacity in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grow {
    pub number: u32,
    pub capacity: u32,
}

/// One side of a channel. It is an element of the list of all sides at which the same process
/// waits.
#[derive(Clone, Copy)]
struct Node {
    rank: u32,
    peer: u32,
    next: u32,
    previous: u32,
    capacity: u32,
    stop: bool,
    hint: bool,
}

const FREE: Node = Node {
    rank: NONE,
    peer: NONE,
    next: NONE,
    previous: NONE,
    capacity: 0,
    stop: false,
    hint: false,
};

/// The graph of waits. Sides are numbered `2 * channel + (0 to read, 1 to write)`.
#[derive(Default)]
pub struct WaitGraph {
    nodes: Vec<Node>,
    /// The first side at which each process waits, by rank.
    first: Vec<u32>,
    /// Processes whose waits have changed since the last search, without duplicates.
    changed: Vec<u32>,
    is_changed: Vec<bool>,
    /// Whether each process has ended, by rank. A hint at such a process counts as unknown.
    has_ended: Vec<bool>,
    /// Full channels whose readers are not known, smallest first.
    unknown: BTreeSet<(u32, u32)>,
    /// Full channels whose readers are known from a hint only, smallest first.
    hinted: BTreeSet<(u32, u32)>,
    /// Processes on cycles in which no channel can grow, one for each component.
    deadlocked: Vec<u32>,
    search: Search,
}

/// Search for strongly connected components, without recursion (R. Tarjan, "Depth-first search and
/// linear graph algorithms", SIAM J. Comput. 1, 1972). The arrays are indexed by rank and reused.
#[derive(Default)]
struct Search {
    found: Vec<u32>,
    low: Vec<u32>,
    component: Vec<u32>,
    visited: Vec<u32>,
    components: u32,
}

impl Search {
    fn clear(&mut self) {
        for rank in self.visited.drain(..) {
            (self.found[rank as usize], self.component[rank as usize]) = (NONE, NONE);
        }
        self.components = 0;
    }
}

impl WaitGraph {
    fn at(&self, side: u32) -> Node {
        self.nodes.get(side as usize).copied().unwrap_or(FREE)
    }

    /// Extends the arrays that are indexed by rank to contain `rank`. Has no effect if they do.
    fn room(&mut self, rank: u32) {
        let len = rank as usize + 1;
        if self.first.len() < len {
            self.first.resize(len, NONE);
            self.is_changed.resize(len, false);
            self.has_ended.resize(len, false);
            self.search.found.resize(len, NONE);
            self.search.low.resize(len, NONE);
            self.search.component.resize(len, NONE);
        }
    }

    /// Replaces the wait at a side of a channel by `update.wait`, which may be none. The rank of a
    /// new wait counts as changed for the next search. The end of a wait does not.
    pub fn update(&mut self, update: Update) {
        let side = update.number * 2 + update.side as u32;
        let old = self.at(side);
        if old.rank != NONE {
            self.unlink(side, old);
        }
        let Some(wait) = update.wait else { return };
        if self.nodes.len() <= side as usize {
            self.nodes.resize(side as usize + 1, FREE);
        }
        self.room(wait.rank);
        let next = self.first[wait.rank as usize];
        self.nodes[side as usize] = Node {
            rank: wait.rank,
            peer: wait.peer,
            next,
            previous: NONE,
            capacity: wait.capacity,
            stop: wait.stop,
            hint: wait.hint,
        };
        if next != NONE {
            self.nodes[next as usize].previous = side;
        }
        self.first[wait.rank as usize] = side;
        if !std::mem::replace(&mut self.is_changed[wait.rank as usize], true) {
            self.changed.push(wait.rank);
        }
        if self.may_grow(side) {
            if wait.peer == UNKNOWN {
                self.unknown.insert((wait.capacity, side));
            } else if wait.hint {
                self.hinted.insert((wait.capacity, side));
            }
        }
    }

    fn unlink(&mut self, side: u32, old: Node) {
        match old.previous {
            NONE => self.first[old.rank as usize] = old.next,
            previous => self.nodes[previous as usize].next = old.next,
        }
        if old.next != NONE {
            self.nodes[old.next as usize].previous = old.previous;
        }
        self.unknown.remove(&(old.capacity, side));
        self.hinted.remove(&(old.capacity, side));
        self.nodes[side as usize] = FREE;
    }

    /// Records that a process has ended, and removes all of its waits. The rank need not be known
    /// before.
    pub fn remove(&mut self, rank: u32) {
        self.room(rank);
        self.has_ended[rank as usize] = true;
        while let Some(&side) = self.first.get(rank as usize).filter(|&&side| side != NONE) {
            self.unlink(side, self.at(side));
        }
    }

    /// Returns the sides at which a process waits, each with its wait, in the reverse order of
    /// their last updates. Returns none if the process does not wait or is not known.
    pub fn sides(&self, rank: u32) -> impl Iterator<Item = Update> + '_ {
        let first = self.first.get(rank as usize).copied().unwrap_or(NONE);
        let next = |&side: &u32| Some(self.at(side).next).filter(|&next| next != NONE);
        let sides = std::iter::successors(Some(first).filter(|&side| side != NONE), next);
        sides.map(|side| {
            let Node {
                rank,
                peer,
                capacity,
                stop,
                hint,
                ..
            } = self.at(side);
            let wait = Some(Wait {
                rank,
                peer,
                hint,
                stop,
                capacity,
            });
            let (number, side) = (
                side / 2,
                if side % 2 == 0 {
                    Side::Read
                } else {
                    Side::Write
                },
            );
            Update { number, side, wait }
        })
    }

    /// Returns the capacity of a full channel in tokens, or 0 if no process waits at its writing
    /// side.
    pub fn capacity(&self, number: u32) -> u32 {
        self.at(number * 2 + Side::Write as u32).capacity
    }

    /// Returns a shortest cycle of processes through a full channel, beginning with its writer.
    /// Each process waits for the next one, and the last one for the writer. Returns only the
    /// writer if no cycle is known. Panics if no process waits at the writing side of the channel.
    pub fn cycle(&self, number: u32) -> Vec<u32> {
        let Node { rank, peer, .. } = self.at(number * 2 + Side::Write as u32);
        // For each process found by the search from the reader, the process that waits for it.
        let mut by: HashMap<u32, u32> = HashMap::from([(peer, NONE)]);
        let mut open = VecDeque::from([peer]);
        while let Some(next) = open.pop_front() {
            if next == rank {
                let back = std::iter::successors(Some(rank), |of| by.get(of).copied());
                let mut cycle: Vec<u32> = back.take_while(|&of| of != NONE).collect();
                cycle[1..].reverse();
                return cycle;
            }
            for wait in self.sides(next).filter_map(|side| side.wait) {
                if let Entry::Vacant(entry) = by.entry(wait.peer) {
                    entry.insert(next);
                    open.push_back(wait.peer);
                }
            }
        }
        vec![rank]
    }

    /// Returns true if `side` is the writing side of a channel, the wait there is for space, and
    /// the channel is below the maximum capacity. Also returns true for a writing side without a
    /// wait.
    fn may_grow(&self, side: u32) -> bool {
        let node = self.at(side);
        side % 2 == Side::Write as u32 && !node.stop && node.capacity < WIDEST
    }

    /// Returns the channels that must grow because of the changes since the last call, each with
    /// twice its capacity (at most 2^31 - 1 tokens), in ascending order of their numbers. The list
    /// is empty if no growth ends the deadlock. The changes then count as searched.
    pub fn grow(&mut self) -> Vec<Grow> {
        let changed = std::mem::take(&mut self.changed);
        for &rank in &changed {
            self.is_changed[rank as usize] = false;
        }
        let mut grow = self.full_on_cycles(&changed);
        let unsure = !self.unknown.is_empty() || !self.hinted.is_empty();
        if grow.is_empty() && unsure && !self.is_deadlocked() {
            grow = self.full_on_unseen_cycles();
        }
        self.doubled(grow)
    }

    /// Returns the growths like [`WaitGraph::grow`], after waits in calls were added. Some of these
    /// waits are for any of several processes. All processes may depend on a full channel whose
    /// reader waits in this way, or waits for a process that does. If there are no growths and no
    /// deadlock otherwise, the smallest of such channels grow.
    pub fn grow_for_calls(&mut self) -> Vec<Grow> {
        let grow = self.grow();
        if !grow.is_empty() || self.is_deadlocked() {
            return grow;
        }
        let mut full: Vec<u32> = (0..self.nodes.len() as u32).collect();
        full.retain(|&side| self.at(side).rank != NONE && self.may_grow(side));
        let roots: Vec<u32> = full.iter().map(|&side| self.at(side).rank).collect();
        let leads = self.lead_to_unknown(&roots);
        full.retain(|&side| self.leads(self.at(side), &leads));
        self.search.clear();
        let least = full.iter().map(|&side| self.at(side).capacity).min();
        full.retain(|&side| Some(self.at(side).capacity) == least);
        self.doubled(full)
    }

    /// Returns growths that double the capacity of these full sides, up to 2^31 - 1 tokens, in
    /// ascending order of their channels.
    fn doubled(&self, mut sides: Vec<u32>) -> Vec<Grow> {
        sides.sort_unstable();
        let grow = sides.into_iter().map(|side| Grow {
            number: side / 2,
            capacity: self.at(side).capacity.saturating_mul(2).min(u32::MAX / 2),
        });
        grow.collect()
    }

    /// Returns the writing sides of the smallest full channels inside each strongly connected
    /// component that can be reached from the roots. All equally small ones of a component are
    /// returned. For each cyclic component without a full channel that may grow, adds one of its
    /// processes to `deadlocked`.
    fn full_on_cycles(&mut self, roots: &[u32]) -> Vec<u32> {
        #[derive(Clone)]
        struct Component {
            /// A process on a cycle.
            cyclic: u32,
            smallest: u32,
            full: Vec<u32>,
        }
        self.components(roots);
        let none = Component {
            cyclic: NONE,
            smallest: NONE,
            full: Vec::new(),
        };
        let mut components = vec![none; self.search.components as usize];
        for &rank in &self.search.visited {
            let component = self.search.component[rank as usize];
            let of = &mut components[component as usize];
            let mut side = self.first[rank as usize];
            while side != NONE {
                let node = self.nodes[side as usize];
                if self.search.component.get(node.peer as usize) == Some(&component) {
                    of.cyclic = rank;
                    if self.may_grow(side) && node.capacity <= of.smallest {
                        if node.capacity < of.smallest {
                            of.full.clear();
                        }
                        of.smallest = node.capacity;
                        of.full.push(side);
                    }
                }
                side = node.next;
            }
        }
        self.search.clear();
        let stuck = components
            .iter()
            .filter(|of| of.full.is_empty() && of.cyclic != NONE);
        self.deadlocked.extend(stuck.map(|of| of.cyclic));
        components.into_iter().flat_map(|of| of.full).collect()
    }

    /// Returns the writing sides of the smallest full channels that may be on a cycle through a
    /// process whose waits are not all known. All equally small ones are returned. This is Parks'
    /// rule, restricted to such channels.
    fn full_on_unseen_cycles(&mut self) -> Vec<u32> {
        let least = |of: &BTreeSet<(u32, u32)>| of.first().map_or(u32::MAX, |full| full.0);
        let mut full: Vec<(u32, u32)> = Vec::new();
        // Most networks have no hints, and larger channels need not be examined.
        if least(&self.hinted) <= least(&self.unknown) {
            let hinted: Vec<_> = self.hinted.iter().copied().collect();
            let rank = |&(_, side): &(u32, u32)| self.at(side).rank;
            let roots: Vec<u32> = hinted.iter().map(rank).collect();
            let leads = self.lead_to_unknown(&roots);
            let lead = hinted
                .into_iter()
                .filter(|&(_, side)| self.leads(self.at(side), &leads));
            full = lead.collect();
            self.search.clear();
        }
        full.extend(&self.unknown);
        let least = full.iter().map(|full| full.0).min();
        full.retain(|full| Some(full.0) == least);
        full.into_iter().map(|(_, side)| side).collect()
    }

    /// Returns, for the number of each component that can be reached from the roots, whether a wait
    /// for an unknown process can be reached from it. Does not clear the search, so that the
    /// numbers stay valid.
    fn lead_to_unknown(&mut self, roots: &[u32]) -> Vec<bool> {
        self.components(roots);
        let mut leads = vec![false; self.search.components as usize];
        let mut ranks = self.search.visited.clone();
        // A component has a higher number than the components that it has edges to.
        ranks.sort_unstable_by_key(|&rank| self.search.component[rank as usize]);
        for rank in ranks {
            let component = self.search.component[rank as usize] as usize;
            let mut side = self.first[rank as usize];
            while side != NONE {
                let node = self.nodes[side as usize];
                leads[component] |= self.leads(node, &leads);
                side = node.next;
            }
        }
        leads
    }

    /// Returns true if a wait is for an unknown process, or for a component that leads to one.
    /// `leads` is the result of [`WaitGraph::lead_to_unknown`]. A process that is only a hint and
    /// has ended counts as unknown.
    fn leads(&self, node: Node, leads: &[bool]) -> bool {
        let peer = node.peer as usize;
        let component = self.search.component.get(peer);
        node.peer == UNKNOWN
            || node.hint && self.has_ended.get(peer) == Some(&true)
            || component.is_some_and(|&of| leads.get(of as usize) == Some(&true))
    }

    /// Searches again from the processes in `deadlocked`, and replaces them by those that are on
    /// cycles without growth now. Returns true if any cycle can be reached, with or without growth.
    fn is_deadlocked(&mut self) -> bool {
        // An event outside the network may have ended an earlier deadlock.
        let before = std::mem::take(&mut self.deadlocked);
        let grow = self.full_on_cycles(&before);
        !self.deadlocked.is_empty() || !grow.is_empty()
    }

    /// Returns the number of the strongly connected component of each of these processes, in the
    /// order of `ranks`. Numbers of different calls cannot be compared. For reports, because it
    /// searches all waits that can be reached.
    pub fn all_components(&mut self, ranks: &[u32]) -> Vec<u32> {
        if let Some(&last) = ranks.iter().max() {
            self.room(last);
        }
        self.components(ranks);
        let of = ranks
            .iter()
            .map(|&rank| self.search.component[rank as usize]);
        let of = of.collect();
        self.search.clear();
        of
    }

    fn components(&mut self, roots: &[u32]) {
        let WaitGraph {
            nodes,
            first,
            search,
            ..
        } = self;
        let Search {
            found,
            low,
            component,
            visited,
            components,
        } = search;
        let mut open: Vec<u32> = Vec::new();
        // A process on the path, and the next of its sides to examine.
        let mut path: Vec<(u32, u32)> = Vec::new();
        for &root in roots {
            if found[root as usize] != NONE {
                continue;
            }
            let mut enter = Some(root);
            loop {
                if let Some(rank) = enter.take() {
                    let time = visited.len() as u32;
                    (found[rank as usize], low[rank as usize]) = (time, time);
                    visited.push(rank);
                    open.push(rank);
                    path.push((rank, first[rank as usize]));
                }
                let Some((rank, side)) = path.last_mut() else {
                    break;
                };
                let rank = *rank as usize;
                if *side != NONE {
                    let node = nodes[*side as usize];
                    *side = node.next;
                    let peer = node.peer as usize;
                    if peer >= first.len() {
                        continue;
                    }
                    if found[peer] == NONE {
                        enter = Some(node.peer);
                    } else if component[peer] == NONE {
                        low[rank] = low[rank].min(found[peer]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[rank]);
                }
                if low[rank] == found[rank] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = *components;
                        if member as usize == rank {
                            break;
                        }
                    }
                    *components += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::components;
    use petgraph::algo::tarjan_scc;
    use petgraph::graph::DiGraph;

    #[test]
    fn components_are_those_of_petgraph() {
        let mut random = 1_u64;
        let mut below = |bound: u32| {
            random = random.wrapping_mul(6_364_136_223_846_793_005) + 1;
            (random >> 33) as u32 % bound
        };
        for processes in (2..60).chain([500]) {
            // From trees to graphs in which most processes are in one component.
            for channels in [processes / 2, processes, processes * 3 / 2, processes * 3] {
                let ends = std::iter::repeat_with(|| (below(processes), below(processes)));
                let channels: Vec<(u32, u32)> = ends.take(channels as usize).collect();
                let mut graph = DiGraph::<(), ()>::from_edges(&channels);
                while graph.node_count() < processes as usize {
                    graph.add_node(());
                }
                let of = components(processes as usize, &channels);
                let mut numbers = Vec::new();
                for component in tarjan_scc(&graph) {
                    let number = of[component[0].index()];
                    assert!(component.iter().all(|node| of[node.index()] == number));
                    numbers.push(number);
                }
                numbers.sort_unstable();
                let count = numbers.len();
                numbers.dedup();
                assert_eq!(numbers.len(), count, "{channels:?}");
            }
        }
    }

    #[test]
    fn processes_on_a_cycle_are_of_one_component() {
        let same = |n: usize, channels: &[(u32, u32)], pairs: &[(usize, usize, bool)]| {
            let of = components(n, channels);
            for &(a, b, same) in pairs {
                assert_eq!(of[a] == of[b], same, "{a} {b}: {channels:?}: {of:?}");
            }
        };
        same(2, &[(0, 1)], &[(0, 1, false)]);
        same(2, &[(0, 1), (1, 0)], &[(0, 1, true)]);
        // Two cycles, a channel between them, and a collector.
        let two = [
            (0, 1),
            (1, 2),
            (2, 0),
            (2, 3),
            (3, 4),
            (4, 3),
            (0, 5),
            (4, 5),
        ];
        let pairs = [
            (0, 2, true),
            (1, 2, true),
            (2, 3, false),
            (3, 4, true),
            (4, 5, false),
        ];
        same(6, &two, &pairs);
        // The edge that closes the cycle comes last.
        let late = [(0, 1), (0, 2), (1, 3), (3, 4), (4, 1), (4, 0), (2, 2)];
        same(5, &late, &[(0, 4, true), (1, 3, true), (0, 2, false)]);
        assert!(components(0, &[]).is_empty());
    }

    #[test]
    fn a_long_path_takes_no_stack() {
        let n = 300_000;
        let mut channels: Vec<(u32, u32)> = (1..n).map(|at| (at - 1, at)).collect();
        let of = components(n as usize, &channels);
        assert_ne!(of[0], of[n as usize - 1]);
        channels.push((n - 1, 0));
        assert!(
            components(n as usize, &channels)
                .iter()
                .all(|&one| one == 0)
        );
    }
}
