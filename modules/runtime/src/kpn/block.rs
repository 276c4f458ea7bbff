//! Global blocks: which are artificial, and what to report of a true one.
//!
//! When nothing can go on, every process waits: to read from a channel (for its writer) or to
//! write to a full one (for its reader). Draw an arrow from each process to each it waits for.
//! A strongly connected part with an arrow of the second sort inside is there only because a
//! channel is too small: the smallest such channel is doubled, and the network goes on. (T. M.
//! Parks, "Bounded scheduling of process networks", Berkeley 1995, chapter 4, grows the smallest
//! full channel of all; looking at cycles keeps a writer that merely feeds a true block from
//! growing its channel for ever.) Without such an arrow the block is true.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ptr;

use crate::exec::directory::{Directory, Place};

/// One thing a process waits for in a block.
#[derive(Clone)]
pub(crate) struct Wait {
    pub(crate) rank: u32,
    pub(crate) scheduler: u32,
    pub(crate) task: u32,
    pub(crate) write: bool,
    /// With `write`: it waits for the reader to leave, not for room.
    pub(crate) stop: bool,
    /// The channel; `NO_CHANNEL` if it is none of ours.
    pub(crate) number: u32,
    pub(crate) capacity: u32,
    /// Who waited last at the other end: the only hint if the directory knows no peers.
    pub(crate) last_seen: u32,
    /// The run of a channel between schedulers, else 0.
    pub(crate) run: u64,
    pub(crate) channel: *const (),
    pub(crate) grow: Option<unsafe fn(*const (), u32)>,
}

const NO_CHANNEL: u32 = u32::MAX;

// SAFETY: the pointer is only used by `grow`, whose contract says when.
unsafe impl Send for Wait {}

impl Wait {
    /// A wait for something that is none of ours.
    pub(crate) fn unknown() -> Self {
        Wait {
            rank: 0,
            scheduler: 0,
            task: 0,
            write: false,
            stop: false,
            number: NO_CHANNEL,
            capacity: 0,
            last_seen: u32::MAX,
            run: 0,
            channel: ptr::null(),
            grow: None,
        }
    }

    /// # Safety
    /// Every scheduler of the run must stand still, and later synchronise with this thread.
    pub(crate) unsafe fn grow(&self, capacity: u32) {
        if let Some(grow) = self.grow {
            // SAFETY: the function belongs to the pointer, and the caller keeps the contract.
            unsafe { grow(self.channel, capacity) };
        }
    }
}

/// What a block is.
pub(crate) enum Analysis {
    /// Artificial: these channels are to grow.
    Grow(Vec<Wait>),
    Blocked(Block),
}

/// A network that cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// How many processes there are left; all of them wait.
    pub processes: usize,
    /// A cycle of processes, each waiting for the next, the last for the first; empty if some
    /// process waits for something the runtime knows nothing of.
    pub cycle: Vec<BlockedProcess>,
    /// Others that wait, by rank; at most 20 with the cycle's.
    pub others: Vec<BlockedProcess>,
}

/// A process in a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedProcess {
    /// Its name.
    pub name: String,
    /// Its rank.
    pub rank: usize,
    /// What it waits for. A process at a select or share waits for any of several.
    pub waits: Vec<BlockedWait>,
    /// How many more channels it waits for than `waits` lists.
    pub more: usize,
}

/// What a process in a block waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedWait {
    /// Waiting to write to a full channel; otherwise to read from an empty one.
    pub write: bool,
    /// Waiting for the reader to leave ([`Output::stopped`](crate::Output::stopped)); `write` is
    /// true then, too, for it is the writing end.
    pub stop: bool,
    /// The port of the process that waits; empty if unknown.
    pub port: String,
    /// The process at the other end and its port, if known.
    pub peer: Option<(String, String)>,
    /// How many tokens the channel may hold.
    pub capacity: usize,
    /// Where the channel is drawn.
    pub place: Option<Place>,
}

const LISTED: usize = 20;
const WAITS: usize = 4;

/// Finds out what a block is. `waits` holds, for each process that is left, all it waits for.
pub(crate) fn analyse(waits: &[Wait], directory: &dyn Directory, run: u64) -> Analysis {
    let graph = Graph::new(waits, directory);
    let parts = graph.parts();
    // The smallest channel of each part: parts are independent, so all can grow at once.
    let mut smallest: HashMap<u32, &Wait> = HashMap::new();
    for (wait, &(from, to)) in waits.iter().zip(&graph.arrows) {
        let known = to != NO_CHANNEL && parts[from as usize] == parts[to as usize];
        if known && wait.write && may_grow(wait, run) {
            smallest
                .entry(parts[from as usize])
                .and_modify(|old| {
                    if (wait.capacity, wait.number) < (old.capacity, old.number) {
                        *old = wait;
                    }
                })
                .or_insert(wait);
        }
    }
    let cycle = graph.cycle(&parts);
    if smallest.is_empty() && cycle.is_empty() {
        // Who reads the full channels is not known: Parks' own rule.
        let unknown = waits
            .iter()
            .zip(&graph.arrows)
            .filter(|(_, arrow)| arrow.1 == NO_CHANNEL);
        let full = unknown
            .map(|(wait, _)| wait)
            .filter(|w| w.write && may_grow(w, run));
        if let Some(wait) = full.min_by_key(|wait| (wait.capacity, wait.number)) {
            return Analysis::Grow(vec![wait.clone()]);
        }
    }
    if smallest.is_empty() {
        return Analysis::Blocked(report(&graph, waits, &cycle, directory));
    }
    let mut grow: Vec<Wait> = smallest.into_values().cloned().collect();
    grow.sort_by_key(|wait| wait.number);
    Analysis::Grow(grow)
}

fn may_grow(wait: &Wait, run: u64) -> bool {
    wait.grow.is_some() && (wait.run == 0 || wait.run == run) && wait.capacity < u32::MAX / 4
}

/// Processes as nodes `0..`, by rank, and who waits for whom.
struct Graph {
    ranks: Vec<u32>,
    /// One for each wait; the head is `NO_CHANNEL` if unknown.
    arrows: Vec<(u32, u32)>,
    /// Waits of node n: `order[first[n]..first[n + 1]]`.
    first: Vec<u32>,
    order: Vec<u32>,
}

impl Graph {
    fn new(waits: &[Wait], directory: &dyn Directory) -> Self {
        let mut ranks: Vec<u32> = waits.iter().map(|wait| wait.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        let node = |rank: u32| ranks.binary_search(&rank).ok().map(|at| at as u32);
        let arrow = |wait: &Wait| {
            let (from, to) = match wait.number {
                NO_CHANNEL => (None, None),
                number => directory.peers(number),
            };
            let known = if wait.write { to } else { from };
            // Where channels have no table, processes of the one scheduler are their own ranks.
            let guess = (from.is_none() && to.is_none() && wait.number != NO_CHANNEL)
                .then_some(wait.last_seen);
            let peer = known.or(guess).and_then(node);
            (node(wait.rank).unwrap_or(0), peer.unwrap_or(NO_CHANNEL))
        };
        let arrows: Vec<_> = waits.iter().map(arrow).collect();
        let mut order: Vec<u32> = (0..waits.len() as u32).collect();
        order.sort_by_key(|&wait| arrows[wait as usize].0);
        let mut first = vec![0; ranks.len() + 1];
        for &(from, _) in &arrows {
            first[from as usize + 1] += 1;
        }
        for node in 0..ranks.len() {
            first[node + 1] += first[node];
        }
        Graph {
            ranks,
            arrows,
            first,
            order,
        }
    }

    fn waits(&self, node: u32) -> &[u32] {
        let node = node as usize;
        &self.order[self.first[node] as usize..self.first[node + 1] as usize]
    }

    fn next(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let heads = self
            .waits(node)
            .iter()
            .map(|&wait| self.arrows[wait as usize].1);
        heads.filter(|&head| head != NO_CHANNEL)
    }

    /// The strongly connected part of each node (Tarjan 1972, without recursion).
    fn parts(&self) -> Vec<u32> {
        const NEW: u32 = u32::MAX;
        let nodes = self.ranks.len();
        let (mut found, mut low, mut part) = (vec![NEW; nodes], vec![0; nodes], vec![NEW; nodes]);
        let (mut time, mut parts) = (0, 0);
        let (mut open, mut path): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        for root in 0..nodes as u32 {
            if found[root as usize] != NEW {
                continue;
            }
            path.push((root, 0));
            while let Some(&mut (node, ref mut done)) = path.last_mut() {
                let at = node as usize;
                if *done == 0 && found[at] == NEW {
                    (found[at], low[at]) = (time, time);
                    time += 1;
                    open.push(node);
                }
                if let Some(&wait) = self.waits(node).get(*done as usize) {
                    *done += 1;
                    let head = self.arrows[wait as usize].1;
                    if head == NO_CHANNEL {
                        continue;
                    }
                    if found[head as usize] == NEW {
                        path.push((head, 0));
                    } else if part[head as usize] == NEW {
                        low[at] = low[at].min(found[head as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some(&(parent, _)) = path.last() {
                    low[parent as usize] = low[parent as usize].min(low[at]);
                }
                if low[at] == found[at] {
                    while let Some(member) = open.pop() {
                        part[member as usize] = parts;
                        if member == node {
                            break;
                        }
                    }
                    parts += 1;
                }
            }
        }
        part
    }

    /// The cycle through the lowest rank that is on one: going on within a part must come round.
    fn cycle(&self, parts: &[u32]) -> Vec<u32> {
        let inside = |node: u32| {
            self.next(node)
                .find(|&head| parts[head as usize] == parts[node as usize])
        };
        let Some(start) = (0..self.ranks.len() as u32).find(|&node| inside(node).is_some()) else {
            return Vec::new();
        };
        let (mut path, mut place) = (Vec::new(), HashMap::new());
        let mut node = start;
        let first = loop {
            match place.entry(node) {
                Entry::Occupied(first) => break *first.get(),
                Entry::Vacant(new) => new.insert(path.len()),
            };
            path.push(node);
            match inside(node) {
                Some(head) => node = head,
                None => return Vec::new(),
            }
        };
        path.split_off(first)
    }
}

fn report(graph: &Graph, waits: &[Wait], cycle: &[u32], directory: &dyn Directory) -> Block {
    let describe = |node: u32| {
        let rank = graph.ranks[node as usize];
        let (kind, index) = directory.of_rank(rank);
        let process = directory.process(kind, index);
        let of_node = graph.waits(node);
        let ours = of_node.iter().map(|&wait| &waits[wait as usize]);
        let ours: Vec<_> = ours.filter(|wait| wait.number != NO_CHANNEL).collect();
        let listed = ours.iter().take(WAITS).map(|wait| {
            let channel = directory.channel(wait.number);
            let (own, peer) = if wait.write {
                (channel.from, channel.to)
            } else {
                (channel.to, channel.from)
            };
            BlockedWait {
                write: wait.write,
                stop: wait.stop,
                port: own.map(|end| end.port).unwrap_or_default(),
                peer: peer.map(|end| (end.process, end.port)),
                capacity: wait.capacity as usize,
                place: channel.place,
            }
        });
        BlockedProcess {
            name: process.name,
            rank: rank as usize,
            waits: listed.collect(),
            more: ours.len().saturating_sub(WAITS),
        }
    };
    let mut on_cycle = cycle.to_vec();
    on_cycle.sort_unstable();
    let others = (0..graph.ranks.len() as u32).filter(|node| on_cycle.binary_search(node).is_err());
    Block {
        processes: graph.ranks.len(),
        cycle: cycle
            .iter()
            .take(LISTED)
            .map(|&node| describe(node))
            .collect(),
        others: others
            .take(LISTED.saturating_sub(cycle.len()))
            .map(describe)
            .collect(),
    }
}

/// A channel in words: `a.out -> b.in (farm.dot:14:3)`.
pub(crate) fn describe(directory: &dyn Directory, number: u32) -> String {
    let channel = directory.channel(number);
    let mut text = match (channel.from, channel.to) {
        (Some(from), Some(to)) => {
            format!(
                "{}.{} -> {}.{}",
                from.process, from.port, to.process, to.port
            )
        }
        _ => format!("channel {number}"),
    };
    if let Some(place) = channel.place {
        text.push_str(&format!(" ({place})"));
    }
    text
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let are = if self.processes == 1 {
            "process is"
        } else {
            "processes are"
        };
        write!(
            f,
            "the network is blocked: {} {are} left, and all wait",
            self.processes
        )?;
        if !self.cycle.is_empty() {
            write!(f, "\nin a cycle, each for the next:")?;
            self.cycle
                .iter()
                .try_for_each(|process| write!(f, "\n  {process}"))?;
        }
        if !self.others.is_empty() {
            let head = if self.cycle.is_empty() {
                "waiting:"
            } else {
                "behind them:"
            };
            write!(f, "\n{head}")?;
            self.others
                .iter()
                .try_for_each(|process| write!(f, "\n  {process}"))?;
        }
        match self.processes - self.cycle.len() - self.others.len() {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl fmt::Display for BlockedProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (rank {})", self.name, self.rank)?;
        if self.waits.is_empty() {
            return f.write_str(" waits for nothing that the runtime could bring");
        }
        for (n, wait) in self.waits.iter().enumerate() {
            f.write_str(if n == 0 { " " } else { ", or " })?;
            wait.fmt(f)?;
        }
        if self.more > 0 {
            write!(f, ", or one of {} more", self.more)?;
        }
        Ok(())
    }
}

impl fmt::Display for BlockedWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.stop {
            "waits for the reader to leave"
        } else if self.write {
            "waits to write"
        } else {
            "waits to read"
        })?;
        if !self.port.is_empty() {
            write!(f, " `{}`", self.port)?;
        }
        if let Some((process, port)) = &self.peer {
            let way = if self.write { "to" } else { "from" };
            write!(f, " {way} {process}")?;
            if !port.is_empty() {
                write!(f, " `{port}`")?;
            }
        }
        if self.write && !self.stop {
            write!(f, ", full with {}", self.capacity)?;
        }
        if let Some(place) = &self.place {
            write!(f, ": {place}")?;
        }
        Ok(())
    }
}
