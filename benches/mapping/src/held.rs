//! Large networks with constraints: the costs of pins, bounds on memory, and limits on kinds.
//!
//! Prints for each network and rule the mean cost, its ratio to the cost without a rule, the mean
//! CPU seconds of the search, and how often a rule or bound was broken or a bound was raised.
//!
//! usage: benches/mapping/run held [--seeds N] [--ours a,b] [--only TEXT]

use std::sync::Arc;

use graphmap_partition::{Block, Constraint, Graph, Machine, Migration, Problem, Tree, solve};

use crate::generate::{Dice, generate};
use crate::{Arguments, cpu_seconds};

const HOSTS: usize = 4;
const SOCKETS: usize = 2;
const CORES: usize = 4;
const BLOCKS: usize = HOSTS * SOCKETS * CORES;

const RULES: [&str; 12] = [
    "nothing",
    "one pin",
    "100 pins by host",
    "a tenth pinned by host",
    "500 groups together",
    "memory",
    "memory by host",
    "slots",
    "100 groups apart",
    "100 groups apart by host",
    "320 of a kind",
    "yesterday's mapping",
];

/// Constraints and bounds of a rule.
#[derive(Default)]
struct Said {
    constraints: Vec<Constraint>,
    memory: Option<Vec<u64>>,
    block: Block,
    old: Option<(Vec<Option<u32>>, Vec<u64>)>,
}

fn host(h: usize) -> Vec<u32> {
    let each = (SOCKETS * CORES) as u32;
    (h as u32 * each..(h as u32 + 1) * each).collect()
}

fn some(dice: &mut Dice, n: usize, count: usize) -> Vec<u32> {
    let mut drawn = Vec::new();
    while drawn.len() < count {
        let v = dice.range(0, n as u64 - 1) as u32;
        if !drawn.contains(&v) {
            drawn.push(v);
        }
    }
    drawn
}

fn said(rule: &str, graph: &Graph, seed: u64) -> Said {
    let n = graph.vertices();
    let mut dice = Dice::new(seed ^ 0x6865_6c64);
    let mut said = Said::default();
    let pin = |vertex, h| Constraint::Pin {
        vertex,
        blocks: Arc::from(host(h)),
    };
    let hosts = || (0..HOSTS).map(host).collect();
    match rule {
        "one pin" => said.constraints.push(pin(n as u32 / 3, 2)),
        "100 pins by host" => {
            for v in some(&mut dice, n, 100) {
                let h = dice.range(0, HOSTS as u64 - 1) as usize;
                said.constraints.push(pin(v, h));
            }
        }
        // Every tenth vertex of the first fifth to one host, and of the last fifth to another.
        "a tenth pinned by host" => {
            for v in (0..n as u32).step_by(10) {
                let h = if (v as usize) < 2 * n / 5 { 3 } else { 1 };
                if v as usize <= n / 5 || v as usize >= 4 * n / 5 {
                    said.constraints.push(pin(v, h));
                }
            }
        }
        "500 groups together" => {
            for first in some(&mut dice, n / 20 - 1, 500) {
                let vertices = (20 * first..20 * first + 20).collect();
                said.constraints.push(Constraint::Together { vertices });
            }
        }
        "memory" | "memory by host" => {
            let needs: Vec<u64> = (0..n).map(|_| dice.range(1, 100)).collect();
            let share = needs.iter().sum::<u64>() * 105 / 100;
            if rule == "memory" {
                said.block.memory = Some(share / BLOCKS as u64);
            } else {
                for h in 0..HOSTS {
                    said.constraints.push(Constraint::Memory {
                        blocks: host(h),
                        most: share / HOSTS as u64,
                    });
                }
            }
            said.memory = Some(needs);
        }
        "slots" => said.block.slots = Some((n * 105 / 100 / BLOCKS) as u32),
        "100 groups apart" | "100 groups apart by host" => {
            for _ in 0..100 {
                let by_host = rule.ends_with("host");
                let size = if by_host { HOSTS } else { 8 };
                // Close to each other, so that a search would rather keep them together.
                let first = dice.range(0, n as u64 - 100) as u32;
                said.constraints.push(Constraint::Apart {
                    vertices: (0..size as u32).map(|i| first + i * 5).collect(),
                    places: if by_host { hosts() } else { Vec::new() },
                });
            }
        }
        "320 of a kind" => said.constraints.push(Constraint::Count {
            vertices: (0..320).map(|i| n as u32 / 2 + 3 * i).collect(),
            places: (0..BLOCKS as u32).map(|b| vec![b]).collect(),
            least: 8,
            most: 12,
        }),
        "yesterday's mapping" => {
            let strip = |v: usize| Some((v * BLOCKS / n) as u32);
            said.old = Some(((0..n).map(strip).collect(), vec![2; n]));
        }
        _ => {}
    }
    said
}

fn machine(block: Block) -> Machine {
    let mut tree = Tree::Block(block);
    for (arity, distance) in [(CORES, 1), (SOCKETS, 10), (HOSTS, 100)] {
        tree = Tree::Group {
            distance,
            members: vec![tree; arity],
        };
    }
    Machine::new(&tree, 0).expect("a machine")
}

pub fn run(read: &Arguments) {
    println!("| network | rule | strategy | J | to nothing | CPU s | broken | raised |");
    println!("|---|---|---|---|---|---|---|---|");
    for (family, size) in [("grid2", 316), ("farm", 20_000)] {
        for ours in &read.ours {
            let strategy = &ours.strategy.name;
            let mut free = None;
            for rule in RULES {
                let name = format!("{family}-{size} {rule}");
                if !name.contains(&read.only) && rule != "nothing" {
                    continue;
                }
                let (mut log, mut seconds, mut broken, mut raised) = (0.0, 0.0, 0, 0);
                for seed in read.from..read.from + read.seeds {
                    let mut graph = generate(family, size, seed);
                    let said = said(rule, &graph, seed);
                    if let Some(memory) = said.memory {
                        graph = graph.with_memory(memory).expect("one for each");
                    }
                    let machine = machine(said.block);
                    let problem = Problem {
                        constraints: &said.constraints,
                        migration: said
                            .old
                            .as_ref()
                            .map(|(block_of, cost)| Migration { block_of, cost }),
                        ..Problem::new(&graph, &machine)
                    };
                    let options = ours.options(seed);
                    let start = cpu_seconds();
                    let found = match solve(&problem, &options) {
                        Ok(found) => found,
                        Err(error) => {
                            eprintln!("{name}: {error}");
                            continue;
                        }
                    };
                    seconds += cpu_seconds() - start;
                    log += (found.minimised as f64).ln();
                    broken += u32::from(!found.evaluation.feasible());
                    raised += u32::from(found.raised.is_some());
                    if read.details {
                        println!(
                            "{name} {strategy} {seed}: {} {:?}",
                            found.minimised, found.log
                        );
                    }
                }
                let runs = read.seeds as f64;
                let cost = (log / runs).exp();
                let unit = *free.get_or_insert(cost);
                println!(
                    "| {family}-{size} | {rule} | {strategy} | {cost:.0} | {:.3} | {:.3} | {broken} | {raised} |",
                    cost / unit,
                    seconds / runs
                );
            }
        }
    }
}
