//! Converts a network and a platform into the integers of the engine.

use crate::codes;
use crate::placement::Placement;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::network::{PortId, Verified};
use graphmap_partition::{
    Block, Channel, Error, Graph, LARGEST_TOTAL, Machine, Scale, Tree, decimals_of, scale,
};
use graphmap_platform::{Platform, Slot};

/// Limit of traffic times distance, far below the maximum of `u64`. See
/// [`graphmap_partition::Problem::check`].
const LARGEST_COST: f64 = (1u64 << 58) as f64;

/// Errors of a plan that result from the rounding of weights with too many digits.
///
/// The cost of a plan uses the exact weights, and its lower bound is valid for them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rounded {
    /// Largest difference between the cost of a mapping and the cost that the search calculated.
    pub cost: f64,
    /// Largest difference between the sum of all loads and the sum that the search calculated.
    pub load: f64,
}

/// A network and its hosts, and the integers of the engine for both.
pub(crate) struct Numbers<'a> {
    pub(crate) network: &'a Verified,
    pub(crate) weights: Weights,
    pub(crate) placement: Placement<'a>,
    pub(crate) machine: Machine,
}

/// The weights of a network as integers.
pub(crate) struct Weights {
    pub(crate) graph: Graph,
    /// Conversion of traffic.
    pub(crate) traffic: Scale,
    /// Units of distance of the engine per unit of the platform.
    pub(crate) distance: f64,
    /// Errors from rounding.
    pub(crate) rounded: Rounded,
}

/// Weights in units of traffic that are not traffic of channels: preferences and prices of moves.
/// They consist of a sum at distance 1, and the single values.
#[derive(Default)]
pub(crate) struct ExtraWeights {
    pub(crate) total: f64,
    pub(crate) values: Vec<f64>,
}

impl ExtraWeights {
    /// Adds the same traffic for each of `processes` processes to the sum, and once to the single
    /// values.
    pub(crate) fn add(&mut self, traffic: f64, processes: usize) {
        self.total += traffic * processes as f64;
        self.values.push(traffic);
    }
}

/// Largest sum of loads, of memory, and of twice the traffic that the engine accepts.
const LARGEST: f64 = LARGEST_TOTAL as f64;

impl Weights {
    /// Checks the sum of the memory of all processes.
    ///
    /// # Errors
    /// [`codes::WEIGHTS`] if the sum is more than 4 PiB. The diagnostic refers to the process with
    /// the most memory.
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
        let diagnostic = Diagnostic::error(codes::WEIGHTS, message).at(most.span, label);
        Err(diagnostic
            .help("reduce `mem=`; the sum may be at most 4 PiB")
            .into())
    }

    pub(crate) fn of(
        network: &Verified,
        platform: &Platform,
        extra_weights: &ExtraWeights,
    ) -> Result<Weights, Error> {
        let distances = platform.distances().as_array();
        let distance = distance_factor(platform);
        let diameter = distances[distances.len() - 1] * distance;
        // Iterators instead of vectors, because a network may have a million processes.
        let loads = network.processes.values().map(|p| p.load);
        let said = network.channels.values().map(|c| c.traffic);
        let total: f64 = said.clone().sum();
        // Preferences and prices of moves use a part of the range of the engine's integers.
        let share = match total > 0.0 {
            true => total / (total + extra_weights.total),
            false => 1.0,
        };
        let most = (LARGEST_COST / diameter.max(1.0)).min(LARGEST / 2.0) * share;
        let traffic = scale(said, &extra_weights.values, most)?;
        let load = scale(loads.clone(), &[], LARGEST)?;
        let off = |d: f64| ((d * distance).round() / distance - d).abs();
        let farthest = distances.iter().copied().map(off).fold(0.0, f64::max);
        // An error in the order of floating-point rounding is treated as exact.
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

    /// Converts a cost of the engine into the units of the user.
    pub(crate) fn cost(&self, cost: u64) -> f64 {
        cost as f64 / self.traffic.factor / self.distance
    }
}

/// Returns the factor that converts distances of the platform into integers.
///
/// This is the smallest power of ten that makes all distances whole. If the largest distance would
/// become 10^9 or more, the factor instead makes the smallest positive distance 1,000, or less so
/// that the largest is at most 10^9. Distances are then not whole and must be rounded.
pub(crate) fn distance_factor(platform: &Platform) -> f64 {
    let distances = platform.distances().as_array();
    let largest = distances[distances.len() - 1];
    let decimals = distances.iter().map(|&d| decimals_of(d)).max().unwrap_or(0);
    let exact = 10_f64.powi(decimals.min(300) as i32);
    if largest * exact < 1e9 {
        return exact;
    }
    // The distances ascend.
    let smallest = distances.into_iter().find(|&d| d > 0.0);
    (1000.0 / smallest.unwrap_or(largest)).min(1e9 / largest)
}

/// Returns the load of each OS process relative to its share of `total`, which depends on its
/// speed. The result is 0 if `total` is 0. `loads` contains the load of each OS process, and
/// `os_process_of` the OS process of each block. There must be an entry in `loads` for each OS
/// process.
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

/// Returns the OS processes as a machine. `memory` is the memory limit of each block in bytes, and
/// `unit` the number of engine units per unit of distance.
///
/// # Errors
/// [`Error::Input`] if there is no OS process. Other errors of [`Machine::new`] do not occur,
/// because the distances of a platform ascend.
pub(crate) fn machine(
    placement: &Placement<'_>,
    memory: &[Option<u64>],
    unit: f64,
) -> Result<Machine, Error> {
    let all = placement.speeds();
    let speed = |o: &OsProcessId| all[o.index()];
    let speeds: Vec<f64> = placement.os_process_of.iter().map(speed).collect();
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let even = speeds.iter().all(|&s| s == slowest);
    let blocks = speeds.iter().zip(memory).map(|(speed, &memory)| Block {
        // Speeds are rounded to 1% of the slowest, because they are not known more precisely.
        speed: match even {
            true => 1,
            false => (speed / slowest * 100.0).round() as u32,
        },
        memory,
        slots: None,
    });
    let placed: Vec<(&Slot, Block)> = placement
        .blocks()
        .map(|b| placement.slot(b))
        .zip(blocks)
        .collect();
    let distances = placement.platform.distances().as_array();
    let [collocated, distances @ ..] = distances.map(|d| (d * unit).round() as u32);
    let tree = tree(&placed, 4, &distances);
    Machine::new(&tree, collocated)?.listed(placement.block_of.clone())
}

/// Builds the tree of adjacent slots and their blocks. `level` is the outermost level that can
/// separate them: 4 for groups of hosts, 3 for hosts, 2 for sockets, 1 for cache groups. At `level`
/// 0, they share a cache group. `distance` contains the distance at each level. A group of one
/// member is replaced by that member.
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
