//! The report of a blocked network: processes, the channels or calls in which they wait, and the
//! cycle.

use super::hooks::Side;
use super::wait_graph::{Update, Wait, WaitGraph};
use crate::block::{Block, BlockedProcess, BlockedWait};
use crate::place::Place;
use std::collections::HashMap;

/// A process, by name.
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
    /// The number of the module that it is in.
    pub within: Option<u32>,
}

/// One end of a channel: whose, and which port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndInfo {
    pub rank: u32,
    pub process: String,
    pub port: String,
}

/// A channel: its ends, where the network knows them, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelInfo {
    pub from: Option<EndInfo>,
    pub to: Option<EndInfo>,
    pub place: Option<Place>,
    /// It carries what the ends of a flow-controlled channel tell each other.
    pub control: bool,
}

/// An end of a channel, as the process sees it that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndOf {
    /// The channel.
    pub number: u32,
    /// It is the writing end.
    pub writes: bool,
    /// Which one it is of the port's bundle.
    pub member: u32,
}

/// A class of channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassInfo<'a> {
    /// The kinds it joins.
    pub from: u32,
    pub to: u32,
    /// The type of its tokens, what one takes in memory, and whether its bytes can be counted.
    pub token: &'a str,
    pub size: usize,
    pub is_payload: bool,
    /// They carry what ends of flow-controlled channels tell each other.
    pub control: bool,
}

/// What the scheduler asks of a network.
pub trait Directory: Send + Sync {
    fn processes(&self) -> usize;
    fn kinds(&self) -> usize;
    /// How many channels there are: their numbers begin at 0.
    fn channels(&self) -> u32;
    fn kind(&self, kind: u32) -> (String, usize);
    fn process(&self, kind: u32, index: u32) -> ProcessInfo;
    fn rank(&self, kind: u32, index: u32) -> u32;
    /// Kind and index of a rank. May take time linear in the number of kinds.
    fn of_rank(&self, rank: u32) -> (u32, u32);
    /// Kind and index of the process of a name.
    fn find(&self, name: &str) -> Option<(u32, u32)>;
    /// The ends of channels that a process has: by port, and by member of the port's bundle.
    fn ends_of(&self, kind: u32, index: u32) -> Vec<EndOf>;
    /// How many modules there are: they are numbered from 1.
    fn modules(&self) -> u32;
    /// The innermost module that a process is in.
    fn module_of(&self, kind: u32, index: u32) -> Option<u32>;
    fn module(&self, number: u32) -> Option<ModuleInfo>;
    /// The ranks of all processes in a module and in those within it, in ascending order.
    fn in_module(&self, number: u32) -> Vec<u32>;
    fn channel(&self, number: u32) -> ChannelInfo;
    /// How many tokens a channel may hold at the start.
    fn capacity(&self, number: u32) -> u32;
    /// The ranks at the ends of a channel.
    fn peers(&self, number: u32) -> (Option<u32>, Option<u32>);
    /// What a token of a channel takes in memory as a value.
    fn token_size(&self, number: u32) -> usize;
    fn class_of(&self, number: u32) -> usize;
    fn class(&self, class: usize) -> Option<ClassInfo<'_>>;
}

/// A module and those around it, the innermost first, each with its number.
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

/// Messages that nobody has received: how many, and the first of them in words.
pub type UnreceivedMessages = (u64, Option<String>);

/// A call in which a process waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCall {
    /// The process that waits, by rank.
    pub rank: u32,
    /// For whom; `UNKNOWN`: for any of several.
    pub peer: u32,
    /// The call in words.
    pub text: String,
    /// Where it is in the program.
    pub place: Place,
}

crate::payload!(WaitingCall {
    rank,
    peer,
    text,
    place
});

/// The calls that were told, with the numbers that they have among waits: those behind the
/// channels'.
#[derive(Default)]
pub struct Calls {
    first: u32,
    calls: Vec<WaitingCall>,
}

impl Calls {
    pub fn new(channels: u32, calls: Vec<WaitingCall>) -> Self {
        Calls {
            first: channels,
            calls,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call of a number.
    pub fn get(&self, number: u32) -> Option<&WaitingCall> {
        self.calls.get(number.checked_sub(self.first)? as usize)
    }

    /// Each as a wait that begins, or, if they are `over`, that has ended.
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

/// Most processes that are listed.
const LISTED: usize = 20;
/// Most channels that are listed for one process.
const WAITS: usize = 4;

/// Describes a standstill of the processes that are left, given by rank.
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
    // A process from which one can go on within its component is on a cycle.
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
    // Which kinds of processes are on a cycle, and how many of each.
    let kinds = |ranks: &[u32]| {
        let mut kinds: Vec<u32> = ranks
            .iter()
            .map(|&rank| directory.of_rank(rank).0)
            .collect();
        kinds.sort_unstable();
        kinds
    };
    // The cycle through the lowest rank that is on one: going on within must come round.
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
        cycle.drain(..place_of(&cycle, rank));
    }
    let told = |rank: &u32| process(*rank, graph, calls, directory);
    let listed = cycle.iter().take(LISTED).map(told).collect::<Vec<_>>();
    // Those who wait for nothing that is known come first: they are what all others wait for.
    others.sort_by_key(|&rank| (graph.sides(rank).next().is_some(), rank));
    Block {
        processes: ranks.len(),
        cycle_len: cycle.len(),
        cycles: cycles.len(),
        cycles_alike: alike,
        others: others
            .iter()
            .take(LISTED - listed.len())
            .map(told)
            .collect(),
        others_len: others.len(),
        cycle: listed,
    }
}

/// Processes given by rank, as far as they are listed, and how many there are.
pub fn processes(
    ranks: &[u32],
    graph: &WaitGraph,
    calls: &Calls,
    directory: &dyn Directory,
) -> (Vec<BlockedProcess>, usize) {
    let told = |rank: &u32| process(*rank, graph, calls, directory);
    (ranks.iter().take(LISTED).map(told).collect(), ranks.len())
}

fn place_of(cycle: &[u32], rank: u32) -> usize {
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
        // Who has asked knows that.
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

/// A channel in words: `a.out -> b.in (farm.dot:14:3)`.
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
