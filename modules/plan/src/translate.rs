//! The model's words in the engine's numbers.

use crate::codes;
use crate::spots::Spots;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::network::{PortId, Verified};
use graphmap_partition::{
    Block, Channel, Error, Graph, LARGEST_TOTAL, Machine, Scale, Tree, decimals_of, scale,
};
use graphmap_platform::{Platform, Slot};

/// Traffic times distance must stay far below what a `u64` takes; see [`graphmap_partition::Problem::check`].
const LARGEST_COST: f64 = (1u64 << 58) as f64;

/// What weights are off by that could not be counted exactly: they have more digits than that. The cost
/// of a plan is of the weights as they are said, and its bound holds for those.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounded {
    /// By how much the cost of a mapping may differ from what the search counted.
    pub cost: f64,
    /// By how much the loads of all processes together may.
    pub load: f64,
}

/// A network and hosts, and both in the engine's numbers.
pub(crate) struct Numbers<'a> {
    pub(crate) network: &'a Verified,
    pub(crate) weights: Weights,
    pub(crate) spots: Spots<'a>,
    pub(crate) machine: Machine,
}

/// The network's weights as integers.
pub(crate) struct Weights {
    pub(crate) graph: Graph,
    /// How traffic is counted.
    pub(crate) traffic: Scale,
    /// Engine's units of distance in one of the platform's.
    pub(crate) distance: f64,
    /// What they are off by.
    pub(crate) rounded: Rounded,
}

/// What is counted in units of traffic beside the channels: prices of moves, and what draws processes
/// together. All of it at distance 1, and the values that are said.
#[derive(Default)]
pub(crate) struct Beside {
    pub(crate) total: f64,
    pub(crate) values: Vec<f64>,
}

impl Beside {
    /// The same traffic for each of so many processes.
    pub(crate) fn add(&mut self, traffic: f64, processes: usize) {
        self.total += traffic * processes as f64;
        self.values.push(traffic);
    }
}

/// The largest sum of loads, of memory, and of twice the traffic that the engine takes.
const LARGEST: f64 = LARGEST_TOTAL as f64;

impl Weights {
    /// What keeps the network's memory from being counted, at the process that needs most.
    pub(crate) fn check(network: &Verified) -> Result<(), Diagnostics> {
        let total: f64 = network.processes.values().map(|p| p.mem).sum();
        if total <= LARGEST {
            return Ok(());
        }
        let all = network.processes.values();
        let most = all.max_by(|a, b| a.mem.total_cmp(&b.mem));
        let most = most.expect("the sum of none is 0");
        let (name, mem) = (network.name(most.name), most.mem);
        let label = format!("`{name}` needs the most, {mem:e} bytes");
        let message =
            format!("the memory of all processes is {total:e} bytes, which exceeds 4 PiB");
        let finding = Diagnostic::error(codes::WEIGHTS, message).at(most.span, label);
        Err(finding
            .help("reduce `mem=`; the sum may be at most 4 PiB")
            .into())
    }

    pub(crate) fn of(
        network: &Verified,
        platform: &Platform,
        beside: &Beside,
    ) -> Result<Weights, Error> {
        let distances = platform.distances().as_array();
        let distance = distance_factor(platform);
        let diameter = distances[distances.len() - 1] * distance;
        // Nothing of a million processes is written down but what the engine needs of them.
        let loads = network.processes.values().map(|p| p.load);
        let said = network.channels.values().map(|c| c.traffic);
        let total: f64 = said.clone().sum();
        // All that is counted along with the traffic takes its part of what can be counted.
        let share = match total > 0.0 {
            true => total / (total + beside.total),
            false => 1.0,
        };
        let most = (LARGEST_COST / diameter.max(1.0)).min(LARGEST / 2.0) * share;
        let traffic = scale(said, &beside.values, most)?;
        let load = scale(loads.clone(), &[], LARGEST)?;
        let off = |d: f64| ((d * distance).round() / distance - d).abs();
        let farthest = distances.iter().copied().map(off).fold(0.0, f64::max);
        // Where rounding in floating point is all there is, it is exact.
        let exact = farthest <= 1e-12 * diameter / distance;
        let far = if exact { 0.0 } else { farthest };
        let error = traffic.error * diameter / distance + far * total;
        let process = |port: PortId| network.ports[port].process.index() as u32;
        let channels = network.channels.values().map(|channel| Channel {
            from: process(channel.from),
            to: process(channel.to),
            traffic: traffic.units(channel.traffic),
        });
        let loads = loads.map(|l| load.units(l)).collect();
        let mut graph = Graph::of(loads, channels)?;
        if network.processes.values().any(|p| p.mem > 0.0) {
            let memory = network.processes.values().map(|p| p.mem.ceil() as u64);
            graph = graph.with_memory(memory.collect())?;
        }
        Ok(Weights {
            graph,
            traffic,
            distance,
            rounded: Rounded {
                cost: error,
                load: load.error,
            },
        })
    }

    /// A cost of the engine in the user's units.
    pub(crate) fn cost(&self, cost: u64) -> f64 {
        cost as f64 / self.traffic.factor / self.distance
    }
}

/// The least power of ten that makes all distances whole; where that would make them too large, three
/// digits more than the smallest of them needs.
pub(crate) fn distance_factor(platform: &Platform) -> f64 {
    let distances = platform.distances().as_array();
    let largest = distances[distances.len() - 1];
    let decimals = distances.iter().map(|&d| decimals_of(d)).max().unwrap_or(0);
    let exact = 10_f64.powi(decimals.min(300) as i32);
    if largest * exact < 1e9 {
        return exact;
    }
    // They ascend.
    let smallest = distances.into_iter().find(|&d| d > 0.0);
    (1000.0 / smallest.unwrap_or(largest)).min(1e9 / largest)
}

/// Of each OS process its load relative to its share of a total, which follows from its speed; `os_process_of` says
/// which one each block is.
pub(crate) fn shares(
    machine: &Machine,
    os_process_of: &[OsProcessId],
    total: f64,
    loads: &[f64],
) -> Vec<f64> {
    let speed: f64 = machine.blocks().iter().map(|b| f64::from(b.speed)).sum();
    let mut shares = vec![0.0; loads.len()];
    for (block, o) in machine.blocks().iter().zip(os_process_of) {
        let share = total * f64::from(block.speed) / speed;
        if share > 0.0 {
            shares[o.index()] = loads[o.index()] / share;
        }
    }
    shares
}

/// The OS processes as a machine; `memory` is that of each block, where it is limited, and `unit` the engine's units
/// of distance in one of the platform's.
pub(crate) fn machine(
    spots: &Spots<'_>,
    memory: &[Option<u64>],
    unit: f64,
) -> Result<Machine, Error> {
    let (n, all) = (spots.slots.len(), spots.platform.slot_count());
    // Overcommitted slots share their speed: the hostfile is gone through again and again.
    let uses = |o: usize| (n - o % all).div_ceil(all) as f64;
    let speed = |o: &OsProcessId| spots.slots[o.index()].speed / uses(o.index());
    let speeds: Vec<f64> = spots.os_process_of.iter().map(speed).collect();
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let even = speeds.iter().all(|&s| s == slowest);
    let blocks = speeds.iter().zip(memory).map(|(speed, &memory)| Block {
        // Two digits of a ratio are more than anybody knows of a machine.
        speed: match even {
            true => 1,
            false => (speed / slowest * 100.0).round() as u32,
        },
        memory,
        slots: None,
    });
    let placed: Vec<(&Slot, Block)> = spots.blocks().map(|b| spots.slot(b)).zip(blocks).collect();
    let distances = spots.platform.distances().as_array();
    let [collocated, distances @ ..] = distances.map(|d| (d * unit).round() as u32);
    let tree = tree(&placed, 4, &distances);
    Machine::new(&tree, collocated)?.listed(spots.block_of.clone())
}

/// Groups neighbours in the same group of hosts, those on the same host, and so on down to `level` 0, where each
/// has a cache of its own.
fn tree(placed: &[(&Slot, Block)], level: usize, distance: &[u32; 5]) -> Tree {
    let members: Vec<Tree> = match level.checked_sub(1) {
        None => placed.iter().map(|p| Tree::Block(p.1)).collect(),
        Some(inside) => placed
            .chunk_by(|a, b| a.0.path[inside] == b.0.path[inside])
            .map(|near| tree(near, inside, distance))
            .collect(),
    };
    match <[Tree; 1]>::try_from(members) {
        Ok([only]) => only,
        Err(members) => Tree::Group {
            distance: distance[level],
            members,
        },
    }
}
