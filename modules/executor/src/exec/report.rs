//! What a standstill looks like to those who drew the network.

use std::collections::HashMap;

use super::calls::Calls;
use super::directory::Directory;
use super::side::Side;
use super::waits::{Update, WaitGraph};
use crate::block::{Block, BlockedProcess, BlockedWait};

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
