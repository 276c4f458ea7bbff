//! The report of a blocked network: processes, the channels or calls in which they wait, and a
//! cycle of waits. Also the queries that a scheduler makes to a network ([`Directory`]).

use super::hooks::Side;
use super::wait_graph::{Update, Wait, WaitGraph};
use crate::block::{Block, BlockedProcess, BlockedWait};
use crate::place::Place;
use std::collections::HashMap;

/// The rank, name and position of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub rank: u32,
    pub name: String,
    pub place: Option<Place>,
}

/// A module of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInfo {
    pub name: String,
    pub kind: String,
    /// Number of the module that contains it.
    pub within: Option<u32>,
}

/// The process and the port at one end of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndInfo {
    pub rank: u32,
    pub process: String,
    pub port: String,
}

/// A channel: its ends, if the network has a table of them, and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelInfo {
    pub from: Option<EndInfo>,
    pub to: Option<EndInfo>,
    pub place: Option<Place>,
    /// Whether it carries the control messages of a flow-controlled channel.
    pub control: bool,
}

/// An end of a channel, as seen from the process that owns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndOf {
    /// Number of the channel.
    pub number: u32,
    /// Whether it is the writing end.
    pub writes: bool,
    /// Index in the bundle of the port.
    pub member: u32,
}

/// A class of channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassInfo<'a> {
    /// The kinds that it connects.
    pub from: u32,
    pub to: u32,
    /// Name of the type of its tokens, their size in memory, and whether the type has a payload.
    pub token: &'a str,
    pub size: usize,
    pub is_payload: bool,
    /// Whether its channels carry the control messages of flow-controlled channels.
    pub control: bool,
}

/// A network, as seen from a scheduler.
pub trait Directory: Send + Sync {
    /// Returns the number of processes.
    fn processes(&self) -> usize;
    /// Returns the number of kinds.
    fn kinds(&self) -> usize;
    /// Returns the number of channels. Their numbers begin at 0.
    fn channels(&self) -> u32;
    /// Returns the name of a kind and the number of its processes. May panic if the kind does not
    /// exist.
    fn kind(&self, kind: u32) -> (String, usize);
    /// Returns the process with an index in its kind. May panic if the kind does not exist.
    fn process(&self, kind: u32, index: u32) -> ProcessInfo;
    /// Returns the rank of the process with an index in its kind. The process must exist.
    fn rank(&self, kind: u32, index: u32) -> u32;
    /// Returns kind and index of the process with a rank, which must exist. May take time linear in
    /// the number of kinds.
    fn of_rank(&self, rank: u32) -> (u32, u32);
    /// Returns kind and index of the process with a name, or `None` if no process has it.
    fn find(&self, name: &str) -> Option<(u32, u32)>;
    /// Returns the ends of channels of a process, ordered by port and by index in the port's
    /// bundle, without channels for control messages. The result is empty if the network has no
    /// table of channels.
    fn ends_of(&self, kind: u32, index: u32) -> Vec<EndOf>;
    /// Returns the number of modules. Their numbers begin at 1.
    fn modules(&self) -> u32;
    /// Returns the number of the innermost module that contains a process, or `None` if no module
    /// contains it.
    fn module_of(&self, kind: u32, index: u32) -> Option<u32>;
    /// Returns the module with a number, or `None` if it does not exist.
    fn module(&self, number: u32) -> Option<ModuleInfo>;
    /// Returns the number of the module that contains a module, or `None` if no module contains it.
    fn enclosing(&self, module: u32) -> Option<u32>;
    /// Returns the ranks of all processes in a module and in its inner modules, in ascending order.
    fn in_module(&self, number: u32) -> Vec<u32>;
    /// Returns the number of the full name of a process, and its index among the processes of that
    /// name. The process must exist. Full names and compositions, which are the parts of full names
    /// that end before a dot, are numbered from 0. There are at most as many as modules and
    /// processes together.
    fn full_name_of(&self, kind: u32, index: u32) -> (u32, u32);
    /// Returns the text of a full name or composition and the number of processes with this full
    /// name, or `None` if it does not exist.
    fn full_name(&self, number: u32) -> Option<(String, u32)>;
    /// Returns the number of a full name or composition, or `None` if it does not exist.
    fn find_full_name(&self, text: &str) -> Option<u32>;
    /// Returns kind and index of the process with a full name and an index, or `None` if it does
    /// not exist.
    fn with_full_name(&self, number: u32, index: u32) -> Option<(u32, u32)>;
    /// Returns true if `number` equals `outer`, or is a full name or composition in the composition
    /// `outer`.
    fn is_under(&self, number: u32, outer: u32) -> bool;
    /// Returns the ranks of all processes with a full name or in a composition, in ascending order.
    fn under_full_name(&self, number: u32) -> Vec<u32>;
    /// Returns the ends and the position of a channel, as far as they are known. All are `None` if
    /// the channel does not exist.
    fn channel(&self, number: u32) -> ChannelInfo;
    /// Returns the initial capacity of a channel in tokens, or 0 if it is not known.
    fn capacity(&self, number: u32) -> u32;
    /// Returns the MPI tag of a channel, if it has one.
    fn tag(&self, number: u32) -> Option<i32>;
    /// Returns the ranks of the writer and of the reader of a channel, if known.
    fn peers(&self, number: u32) -> (Option<u32>, Option<u32>);
    /// Returns the size in memory of a token of a channel, in bytes. Returns 0 if it is not known.
    fn token_size(&self, number: u32) -> usize;
    /// Returns the index of the class of a channel, from 0.
    fn class_of(&self, number: u32) -> usize;
    fn class(&self, class: usize) -> Option<ClassInfo<'_>>;
}

/// Returns the module with the number `innermost` and the modules around it, the innermost first,
/// each with its number. Returns an empty vector if `innermost` is `None` or the number of no
/// module.
pub fn modules_around(directory: &dyn Directory, innermost: Option<u32>) -> Vec<(u32, ModuleInfo)> {
    let mut all = Vec::new();
    let mut next = innermost;
    while let Some(number) = next {
        let Some(module) = directory.module(number) else {
            break;
        };
        next = module.within;
        all.push((number, module));
    }
    all
}

/// Returns the numbers of the modules around a process, the outermost first.
pub fn numbers_around(directory: &dyn Directory, kind: u32, index: u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut next = directory.module_of(kind, index);
    while let Some(number) = next {
        all.push(number);
        next = directory.enclosing(number);
    }
    all.reverse();
    all
}

/// Messages that no rank has received: their number, and a description of the first.
pub type UnreceivedMessages = (u64, Option<String>);

/// A call in which a process waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCall {
    /// Rank of the process that waits.
    pub rank: u32,
    /// Rank that it waits for, or `UNKNOWN` if it waits for any of several.
    pub peer: u32,
    /// Description of the call.
    pub text: String,
    /// Position of the call in the program.
    pub place: Place,
}

crate::payload!(WaitingCall {
    rank,
    peer,
    text,
    place
});

/// The calls that were reported. Each has a number among the waits. These numbers follow those of
/// the channels.
#[derive(Default)]
pub struct Calls {
    first: u32,
    calls: Vec<WaitingCall>,
}

impl Calls {
    /// Numbers the calls, in order from `channels`, which is the number of channels.
    pub fn new(channels: u32, calls: Vec<WaitingCall>) -> Self {
        Calls {
            first: channels,
            calls,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Returns the call with a number, or `None` if no call has this number.
    pub fn get(&self, number: u32) -> Option<&WaitingCall> {
        self.calls.get(number.checked_sub(self.first)? as usize)
    }

    /// Returns each call as a wait that begins, or as a wait that has ended if `over` is true, with
    /// the number of the call as its channel.
    pub fn updates(&self, over: bool) -> impl Iterator<Item = Update> {
        self.calls
            .iter()
            .zip(self.first..)
            .map(move |(call, number)| {
                let wait = Wait {
                    rank: call.rank,
                    peer: call.peer,
                    hint: false,
                    stop: false,
                    capacity: 0,
                };
                Update {
                    number,
                    side: Side::Read,
                    wait: (!over).then_some(wait),
                }
            })
    }
}

/// Maximum number of processes in a list.
const LISTED: usize = 20;
/// Maximum number of waits that are listed for one process.
const WAITS: usize = 4;

/// Describes the block of the processes that remain, given by rank. If processes wait in cycles,
/// the described cycle is on the path of waits from the lowest of their ranks. Lists at most 20
/// processes: first this cycle, and then others. The caller sets the OS process and the host of
/// each.
pub fn describe(
    graph: &mut WaitGraph,
    mut ranks: Vec<u32>,
    calls: &Calls,
    directory: &dyn Directory,
) -> Block {
    ranks.sort_unstable();
    let components = graph.all_components(&ranks);
    let component: HashMap<u32, u32> = ranks
        .iter()
        .copied()
        .zip(components.iter().copied())
        .collect();
    // A process that waits for another one of its component is on a cycle.
    let inside = |rank: u32| {
        let peers = graph
            .sides(rank)
            .filter_map(|side| side.wait)
            .map(|wait| wait.peer);
        let mine = component.get(&rank);
        peers
            .into_iter()
            .find(|peer| mine.is_some() && component.get(peer) == mine)
    };
    let mut cycles: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut others = Vec::new();
    for (&rank, &component) in ranks.iter().zip(&components) {
        match inside(rank) {
            Some(_) => cycles.entry(component).or_default().push(rank),
            None => others.push(rank),
        }
    }
    // The kinds of the processes of a cycle, sorted.
    let kinds = |ranks: &[u32]| {
        let mut kinds: Vec<u32> = ranks
            .iter()
            .map(|&rank| directory.of_rank(rank).0)
            .collect();
        kinds.sort_unstable();
        kinds
    };
    // The cycle through the lowest rank that is on one. Each step stays in the component, so the
    // walk must return to a process that it has visited.
    let lowest = cycles
        .values()
        .filter_map(|ranks| ranks.first())
        .min()
        .copied();
    let (mut cycle, mut alike) = (Vec::new(), 0);
    if let Some(start) = lowest {
        let of = |rank: u32| {
            component
                .get(&rank)
                .and_then(|component| cycles.get(component))
        };
        let shown = of(start).map(|ranks| kinds(ranks)).unwrap_or_default();
        alike = cycles
            .values()
            .filter(|ranks| kinds(ranks) == shown)
            .count();
        let mut place: HashMap<u32, usize> = HashMap::new();
        let mut rank = start;
        while place.insert(rank, cycle.len()).is_none() {
            cycle.push(rank);
            rank = inside(rank).unwrap_or(start);
        }
        cycle.drain(..index_of(&cycle, rank));
    }
    let describe = |rank: &u32| process(*rank, graph, calls, directory);
    let listed = cycle.iter().take(LISTED).map(describe).collect::<Vec<_>>();
    // Processes without a known wait come first, because all others wait for them.
    others.sort_by_key(|&rank| (graph.sides(rank).next().is_some(), rank));
    Block {
        processes: ranks.len(),
        cycle_len: cycle.len(),
        cycles: cycles.len(),
        cycles_alike: alike,
        others: others
            .iter()
            .take(LISTED - listed.len())
            .map(describe)
            .collect(),
        others_len: others.len(),
        cycle: listed,
    }
}

/// Describes the first 20 of the processes given by rank, in the given order, and returns the
/// number of all ranks. The caller sets the OS process and the host of each process.
pub fn processes(
    ranks: &[u32],
    graph: &WaitGraph,
    calls: &Calls,
    directory: &dyn Directory,
) -> (Vec<BlockedProcess>, usize) {
    let describe = |rank: &u32| process(*rank, graph, calls, directory);
    (
        ranks.iter().take(LISTED).map(describe).collect(),
        ranks.len(),
    )
}

fn index_of(cycle: &[u32], rank: u32) -> usize {
    cycle.iter().position(|&of| of == rank).unwrap_or(0)
}

fn process(
    rank: u32,
    graph: &WaitGraph,
    calls: &Calls,
    directory: &dyn Directory,
) -> BlockedProcess {
    let (kind, index) = directory.of_rank(rank);
    let mut sides: Vec<Update> = graph.sides(rank).collect();
    sides.sort_by_key(|side| (side.number, side.side as u32));
    let listed = sides
        .iter()
        .take(WAITS)
        .map(|side| wait(side, calls, directory));
    BlockedProcess {
        name: directory.process(kind, index).name,
        rank: rank as usize,
        // The caller sets it.
        os_process: None,
        host: None,
        waits: listed.collect(),
        more: sides.len().saturating_sub(WAITS),
    }
}

fn wait(side: &Update, calls: &Calls, directory: &dyn Directory) -> BlockedWait {
    if let Some(call) = calls.get(side.number) {
        return BlockedWait {
            call: Some(call.text.clone()),
            place: Some(call.place.clone()),
            ..BlockedWait::default()
        };
    }
    let channel = directory.channel(side.number);
    let write = side.side == Side::Write;
    let (own, peer) = if write {
        (channel.from, channel.to)
    } else {
        (channel.to, channel.from)
    };
    BlockedWait {
        call: None,
        write,
        stop: side.wait.is_some_and(|wait| wait.stop),
        control: channel.control,
        port: own.map(|end| end.port).unwrap_or_default(),
        peer: peer.map(|end| (end.process, end.port)),
        capacity: side.wait.map_or(0, |wait| wait.capacity) as usize,
        place: channel.place,
    }
}

/// Describes a channel: `a.out -> b.in (farm.dot:14:3)`. If one of its ends is not known, the
/// description has the number of the channel instead of the ends. The position is omitted if it is
/// not known.
pub fn channel(directory: &dyn Directory, number: u32) -> String {
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
