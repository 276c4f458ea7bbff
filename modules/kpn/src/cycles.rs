//! Cycles of channels.
//!
//! If all channels of a cycle are empty, no token moves until one of its processes writes before it
//! reads. Whether a process does so depends on its code. Therefore a cycle is not an error: a
//! demand-driven farm has several.
//!
//! A network may have exponentially many cycles. Therefore [`cycles`] lists a shortest one through
//! one channel of each sort. Two channels are of one sort if they join the same ports of the same
//! kinds and are in the same strongly connected component.

use crate::arena::Id;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::Symbol;
use crate::network::{ChannelId, KindId, Network, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// Number of sorts of each component for which cycles are searched. The limit makes the time linear
/// in the size of the network.
const MOST_SORTS: usize = 100;
/// Number of names of a cycle, and of its channels, that a diagnostic shows.
const MOST_SHOWN: usize = 8;

/// A cycle of channels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// Channels of the cycle. The writer of each is the reader of the one before it. The first is
    /// written by the process with the lowest rank.
    pub channels: Vec<ChannelId>,
    /// Number of strongly connected components that have a cycle of the same kinds and ports.
    pub components: usize,
}

impl Cycle {
    /// Returns the total number of tokens in the channels of the cycle at the start. `network` must
    /// be the network of the cycle.
    ///
    /// # Panics
    /// Panics if `network` does not have these channels.
    pub fn initial(&self, network: &Network) -> u64 {
        let initial = |&channel: &ChannelId| u64::from(network.terms(channel).initial);
        self.channels.iter().map(initial).sum()
    }

    /// Returns the total number of tokens that the channels of the cycle can hold. `network` must
    /// be the network of the cycle.
    ///
    /// # Panics
    /// Panics if `network` does not have these channels.
    pub fn capacity(&self, network: &Network) -> u64 {
        let capacity = |&channel: &ChannelId| u64::from(network.terms(channel).capacity);
        self.channels.iter().map(capacity).sum()
    }
}

/// Ports of kinds that a channel joins.
type Sort = [(KindId, Symbol); 2];

fn sort(network: &Network, channel: ChannelId) -> Sort {
    let channel = &network.channels[channel];
    [channel.from, channel.to].map(|port| {
        let port = &network.ports[port];
        (network.processes[port.process].kind, port.name)
    })
}

/// Returns a shortest cycle through one channel of each sort, in source order.
///
/// Cycles of the same kinds and ports are listed once. In each strongly connected component, only
/// the first 100 sorts are searched. The order is that of the first channel of each sort. The list
/// is empty if the network has no cycle.
///
/// # Panics
/// Panics if an id in the network is out of range.
pub fn cycles(network: &Network) -> Vec<Cycle> {
    let outgoing = Outgoing::of(network);
    let component = components(network, &outgoing);
    let mut search = Search {
        network,
        outgoing: &outgoing,
        component: &component,
        reached_by: vec![None; network.processes.len()],
    };
    let mut sorts: FxHashSet<(u32, Sort)> = FxHashSet::default();
    let mut sorts_of_component: FxHashMap<u32, usize> = FxHashMap::default();
    let mut known: FxHashMap<Vec<Sort>, usize> = FxHashMap::default();
    // Pairs of the index of a cycle and a component that has such a cycle.
    let mut counted: FxHashSet<(usize, u32)> = FxHashSet::default();
    let mut all: Vec<Cycle> = Vec::new();
    for id in network.channels.ids() {
        let ends = [network.writer(id), network.reader(id)];
        let [own, other] = ends.map(|process| component[process.index()]);
        if own != other || !sorts.insert((own, sort(network, id))) {
            continue;
        }
        let count = sorts_of_component.entry(own).or_default();
        *count += 1;
        if *count > MOST_SORTS {
            continue;
        }
        let channels = search.shortest_through(id);
        let signature: Vec<Sort> = channels.iter().map(|&id| sort(network, id)).collect();
        let index = *known.entry(signature).or_insert(all.len());
        if index == all.len() {
            all.push(Cycle {
                channels,
                components: 0,
            });
        }
        if counted.insert((index, own)) {
            all[index].components += 1;
        }
    }
    all
}

/// Returns a note for each of the [`cycles`] of a network, in the same order.
///
/// # Panics
/// Panics if an id in the network is out of range.
pub fn notes(network: &Network) -> Diagnostics {
    let mut notes = Diagnostics::new();
    for cycle in cycles(network) {
        notes.push(note(network, &cycle));
    }
    notes
}

fn note(network: &Network, cycle: &Cycle) -> Diagnostic {
    let len = cycle.channels.len();
    let name = |&id: &ChannelId| format!("`{}`", network.process_name(network.writer(id)));
    let mut names: Vec<String> = cycle.channels.iter().take(MOST_SHOWN).map(name).collect();
    if len > MOST_SHOWN {
        names.push("...".to_owned());
    }
    names.push(names[0].clone());
    let initial = cycle.initial(network);
    let (processes, one_of_them) = match len {
        1 => ("process", "it"),
        _ => ("processes", "one of them"),
    };
    let start = match initial {
        0 => format!("starts only if {one_of_them} writes before it reads"),
        _ => format!(
            "has {} at the start, and room for {}",
            tokens(initial),
            cycle.capacity(network)
        ),
    };
    let message = format!("cycle of {len} {processes} {start}: {}", names.join(" -> "));
    let mut note = Diagnostic::note(codes::CYCLE, message);
    let mut shown = FxHashSet::default();
    for &id in &cycle.channels {
        let channel = &network.channels[id];
        if shown.len() == MOST_SHOWN || !shown.insert(channel.span) {
            continue;
        }
        let terms = network.terms(id);
        let ends = [channel.from, channel.to].map(|port| network.port_name(port));
        let text = format!(
            "`{}` to `{}`: capacity {}, {} at the start",
            ends[0],
            ends[1],
            terms.capacity,
            tokens(u64::from(terms.initial))
        );
        note = match note.primary {
            None => note.at(channel.span, text),
            Some(_) => note.also(channel.span, text),
        };
    }
    match cycle.components {
        1 => note,
        all => note.with_note(format!("one of {all} such cycles")),
    }
}

fn tokens(count: u64) -> String {
    match count {
        1 => "1 token".to_owned(),
        count => format!("{count} tokens"),
    }
}

/// Channels that each process writes, in source order.
struct Outgoing {
    /// Index of the first channel of each process, and the number of channels.
    first: Vec<usize>,
    channels: Vec<ChannelId>,
}

impl Outgoing {
    fn of(network: &Network) -> Outgoing {
        let mut first = vec![0; network.processes.len() + 1];
        for id in network.channels.ids() {
            first[network.writer(id).index() + 1] += 1;
        }
        for process in 0..network.processes.len() {
            first[process + 1] += first[process];
        }
        let mut channels: Vec<ChannelId> = network.channels.ids().collect();
        channels.sort_by_key(|&id| network.writer(id));
        Outgoing { first, channels }
    }

    fn of_process(&self, process: usize) -> &[ChannelId] {
        &self.channels[self.first[process]..self.first[process + 1]]
    }
}

/// Returns the number of the strongly connected component of each process, from 0, by the rank of
/// the process.
///
/// R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1, 1972.
fn components(network: &Network, outgoing: &Outgoing) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    let count = network.processes.len();
    // Order of the visits, from 1.
    let mut order = vec![0_u32; count];
    let mut lowest = vec![0_u32; count];
    let mut component = vec![NONE; count];
    let (mut visited, mut components) = (0, 0);
    // Visited processes without a component, and the path to the current process. An entry of the
    // path has the position of the next channel.
    let mut open: Vec<usize> = Vec::new();
    let mut path: Vec<(usize, usize)> = Vec::new();
    for root in 0..count {
        let mut next = (order[root] == 0).then_some(root);
        loop {
            if let Some(process) = next.take() {
                visited += 1;
                order[process] = visited;
                lowest[process] = visited;
                open.push(process);
                path.push((process, 0));
            }
            let Some((process, at)) = path.last_mut() else {
                break;
            };
            let process = *process;
            if let Some(&channel) = outgoing.of_process(process).get(*at) {
                *at += 1;
                let reader = network.reader(channel).index();
                if order[reader] == 0 {
                    next = Some(reader);
                } else if component[reader] == NONE {
                    lowest[process] = lowest[process].min(order[reader]);
                }
                continue;
            }
            path.pop();
            if let Some(&(before, _)) = path.last() {
                lowest[before] = lowest[before].min(lowest[process]);
            }
            if lowest[process] == order[process] {
                while let Some(member) = open.pop() {
                    component[member] = components;
                    if member == process {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

/// Breadth-first search within strongly connected components.
struct Search<'a> {
    network: &'a Network,
    outgoing: &'a Outgoing,
    component: &'a [u32],
    /// Channel by which the current search reached each process.
    reached_by: Vec<Option<ChannelId>>,
}

impl Search<'_> {
    /// Returns the channels of a shortest cycle through `channel`, whose ends must be in one
    /// component.
    ///
    /// The first channel is the one that the process of the lowest rank writes. The reader of each
    /// channel writes the next.
    fn shortest_through(&mut self, channel: ChannelId) -> Vec<ChannelId> {
        let network = self.network;
        let (target, start) = (network.writer(channel), network.reader(channel));
        self.reached_by[start.index()] = Some(channel);
        let mut reached: Vec<ProcessId> = vec![start];
        let mut queue = VecDeque::from([start]);
        while self.reached_by[target.index()].is_none()
            && let Some(process) = queue.pop_front()
        {
            for &id in self.outgoing.of_process(process.index()) {
                let reader = network.reader(id);
                let is_inside = self.component[reader.index()] == self.component[target.index()];
                if is_inside && self.reached_by[reader.index()].is_none() {
                    self.reached_by[reader.index()] = Some(id);
                    reached.push(reader);
                    queue.push_back(reader);
                }
            }
        }
        let mut channels = Vec::new();
        let mut process = target;
        while let Some(id) = self.reached_by[process.index()] {
            channels.push(id);
            process = network.writer(id);
            if process == target {
                break;
            }
        }
        for process in reached {
            self.reached_by[process.index()] = None;
        }
        channels.reverse();
        let first = (0..channels.len()).min_by_key(|&at| network.writer(channels[at]));
        channels.rotate_left(first.unwrap_or_default());
        channels
    }
}
