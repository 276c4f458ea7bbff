//! Evaluation of mappings by definition: cost and broken rules.
//!
//! It shares nothing with the search, neither contracted graphs nor incremental sums. The result of
//! every strategy is evaluated here.

use std::collections::BTreeMap;

use crate::clusters::distinct;
use crate::error::{Error, Part};
use crate::problem::{Constraint, Problem};

/// Cost and properties of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Sum over channels of traffic times distance, each channel once.
    pub cost: u64,
    /// Sum over moved vertices of migration cost times distance beyond the collocated one. 0
    /// without a previous mapping.
    pub migration: u64,
    /// Number of vertices that left their previous block.
    pub moved: usize,
    /// Sum over preferences of weight times distance beyond the collocated one. Preferences that
    /// hold add 0.
    pub preference: u64,
    /// Load of each block.
    pub loads: Vec<u64>,
    /// Largest load relative to the block's share of the total load. 1.0 is perfect balance, and
    /// 0.0 means that there is no load.
    pub balance: f64,
    /// Largest traffic between one host and all others.
    pub bottleneck: u64,
    /// Number of channels between different blocks.
    pub remote_channels: u64,
    /// Traffic by distance, ascending, including collocated traffic.
    pub traffic: Vec<(u32, u64)>,
    /// Broken hard rules: constraints, memory, slots.
    pub broken: Vec<Part>,
    /// Blocks above the balance limit.
    pub over: Vec<u32>,
}

impl Evaluation {
    /// Returns true if no constraint or capacity is broken. The balance limit may be exceeded.
    #[must_use]
    pub fn allowed(&self) -> bool {
        self.broken.is_empty()
    }

    /// Returns true if no constraint, capacity or balance limit is broken.
    #[must_use]
    pub fn feasible(&self) -> bool {
        self.broken.is_empty() && self.over.is_empty()
    }
}

/// Evaluates a mapping by definition. The time is linear in the network and the blocks, except that
/// members of constraints are sorted.
///
/// # Errors
///
/// [`Error::Input`] if the number of vertices differs from the graph, or a vertex has a block that
/// does not exist.
///
/// # Panics
///
/// May panic, or return a meaningless result, if [`Problem::check`] reports an error for the
/// problem.
pub fn evaluate(problem: &Problem<'_>, block_of: &[u32]) -> Result<Evaluation, Error> {
    let (graph, machine) = (problem.graph, problem.machine);
    let (n, k) = (graph.vertices(), machine.len());
    if block_of.len() != n {
        return Err(Error::input(format!(
            "the mapping has {} vertices, but the network has {n}",
            block_of.len()
        )));
    }
    if let Some(v) = block_of.iter().position(|b| *b as usize >= k) {
        return Err(Error::input(format!(
            "vertex {v} is mapped to block {}, but there are {k} blocks",
            block_of[v]
        )));
    }
    let mut host = vec![0; k];
    for (h, blocks) in machine.hosts().enumerate() {
        blocks.iter().for_each(|&b| host[b as usize] = h);
    }
    let (mut cost, mut remote_channels) = (0, 0);
    let mut by_distance = BTreeMap::new();
    // Nearly all traffic of a good mapping is inside blocks. So it is summed without the map. It is
    // summed at both ends, because that is faster than testing at which end an edge is seen.
    let mut inside = None;
    let mut leaving = vec![0; machine.hosts().count()];
    let (mut loads, mut memory, mut count) = (vec![0; k], vec![0; k], vec![0_u64; k]);
    for v in 0..n as u32 {
        let here = block_of[v as usize];
        loads[here as usize] += graph.load(v);
        memory[here as usize] += graph.memory(v);
        count[here as usize] += 1;
        let mut remote = 0;
        for (u, traffic) in graph.neighbours(v) {
            let there = block_of[u as usize];
            if here == there {
                *inside.get_or_insert(0) += traffic;
                continue;
            }
            remote += 1;
            if host[here as usize] != host[there as usize] {
                leaving[host[here as usize]] += traffic;
            }
            if u > v {
                let distance = machine.distance(here, there);
                cost += traffic * u64::from(distance);
                *by_distance.entry(distance).or_insert(0) += traffic;
            }
        }
        if remote > 0 {
            let later = graph.channels(v).filter(|&(u, _)| u > v);
            let leave = later.filter(|&(u, _)| block_of[u as usize] != here);
            remote_channels += leave.map(|(_, channels)| u64::from(channels)).sum::<u64>();
        }
    }
    if let Some(twice) = inside {
        let traffic = twice / 2;
        cost += traffic * u64::from(machine.collocated());
        *by_distance.entry(machine.collocated()).or_insert(0) += traffic;
    }
    let bounds = problem.load_bounds();
    let total = graph.total_load() as f64 / machine.total_speed() as f64;
    let mut balance = 0_f64;
    let (mut broken, mut over) = (Vec::new(), Vec::new());
    for (b, block) in machine.blocks().iter().enumerate() {
        if total > 0.0 {
            balance = balance.max(loads[b] as f64 / (total * f64::from(block.speed)));
        }
        if loads[b] > bounds[b] {
            over.push(b as u32);
        }
        if block.memory.is_some_and(|most| memory[b] > most) {
            broken.push(Part::Memory(b as u32));
        }
        if block.slots.is_some_and(|most| count[b] > u64::from(most)) {
            broken.push(Part::Slots(b as u32));
        }
    }
    let mut preference = 0;
    for (index, constraint) in problem.constraints.iter().enumerate() {
        if let Constraint::Prefer { vertices, weight } = constraint {
            for pair in vertices.windows(2) {
                let (a, b) = (block_of[pair[0] as usize], block_of[pair[1] as usize]);
                preference += weight * u64::from(machine.distance(a, b) - machine.collocated());
            }
        } else if !holds(constraint, block_of, &memory) {
            broken.push(Part::Constraint(index));
        }
    }
    let (mut migration, mut moved) = (0, 0);
    if let Some(old) = &problem.migration {
        for (v, (&was, &price)) in old.block_of.iter().zip(old.cost).enumerate() {
            if let Some(was) = was.filter(|&was| was != block_of[v]) {
                moved += 1;
                let distance = machine.distance(was, block_of[v]) - machine.collocated();
                migration += price * u64::from(distance);
            }
        }
    }
    Ok(Evaluation {
        cost,
        migration,
        moved,
        preference,
        loads,
        balance,
        bottleneck: leaving.into_iter().max().unwrap_or(0),
        remote_channels,
        traffic: by_distance.into_iter().collect(),
        broken,
        over,
    })
}

fn holds(constraint: &Constraint, block_of: &[u32], memory: &[u64]) -> bool {
    let block = |v: &u32| block_of[*v as usize];
    // Returns the number of these vertices in each place. Blocks outside all places are ignored.
    let tally = |vertices: &[u32], places: &[Vec<u32>]| {
        let mut of_block = BTreeMap::<u32, u32>::new();
        for v in &distinct(vertices) {
            *of_block.entry(block(v)).or_insert(0) += 1;
        }
        let there = |place: &Vec<u32>| {
            let blocks = distinct(place);
            blocks.iter().filter_map(|b| of_block.get(b)).sum()
        };
        match places {
            [] => of_block.into_values().collect::<Vec<u32>>(),
            _ => places.iter().map(there).collect(),
        }
    };
    match constraint {
        Constraint::Pin { vertex, blocks } => blocks.contains(&block(vertex)),
        Constraint::Together { vertices } => vertices
            .windows(2)
            .all(|pair| block(&pair[0]) == block(&pair[1])),
        Constraint::Apart { vertices, places } => {
            tally(vertices, places).into_iter().all(|count| count <= 1)
        }
        Constraint::Prefer { .. } => true,
        Constraint::Count {
            vertices,
            places,
            least,
            most,
        } => {
            places.is_empty()
                || tally(vertices, places)
                    .into_iter()
                    .all(|count| (*least..=*most).contains(&count))
        }
        Constraint::Memory { blocks, most } => {
            let needs = distinct(blocks).into_iter().map(|b| memory[b as usize]);
            needs.sum::<u64>() <= *most
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::{Channel, Graph};
    use crate::machine::Machine;

    #[test]
    fn a_small_mapping_counted_by_hand() {
        let list = [(0, 1, 5), (1, 2, 7), (2, 3, 11), (3, 0, 13), (1, 0, 1)];
        let list = list.map(|(from, to, traffic)| Channel { from, to, traffic });
        let graph = Graph::new(vec![4, 3, 2, 1], &list).unwrap();
        let machine = Machine::regular(&[(2, 1), (2, 10)]).unwrap();
        let constraints = [
            Constraint::Together {
                vertices: vec![0, 1],
            },
            Constraint::Apart {
                vertices: vec![2, 3],
                places: vec![],
            },
            Constraint::Prefer {
                vertices: vec![0, 3],
                weight: 2,
            },
            Constraint::Count {
                vertices: vec![0, 1, 2],
                places: vec![vec![1]],
                least: 1,
                most: 1,
            },
        ];
        let problem = Problem {
            constraints: &constraints,
            ..Problem::new(&graph, &machine)
        };
        let seen = evaluate(&problem, &[0, 1, 2, 2]).unwrap();
        assert_eq!(seen.cost, 6 + 70 + 130);
        assert_eq!(seen.traffic, [(0, 11), (1, 6), (10, 20)]);
        assert_eq!(
            (seen.bottleneck, seen.remote_channels, seen.preference),
            (20, 4, 20)
        );
        assert_eq!(seen.loads, [4, 3, 3, 0]);
        assert_eq!(
            seen.over,
            [0],
            "bound is 3, 1.03 x ceil(10 / 4) rounded down"
        );
        assert_eq!(seen.broken, [Part::Constraint(0), Part::Constraint(1)]);
        assert!((seen.balance - 1.6).abs() < 1e-12);
        assert!(evaluate(&problem, &[0, 1, 2]).is_err());
        assert!(evaluate(&problem, &[0, 1, 2, 4]).is_err());
    }
}
