//! Networks with narrow fronts, for which proofs of optimality are expected: farms, chains of farm
//! modules, random trees, series-parallel networks and pipelines. Loads and traffic are all 1, or
//! of many sizes.
//!
//! Prints for each kind of network, machine and time how many mappings were proved optimal, and the
//! gap.

use std::collections::BTreeMap;

use graphmap_partition::{Channel, Graph, Problem, solve};

use crate::generate::{Dice, generate};
use crate::suite::{Case, case};
use crate::{Arguments, cpu_seconds};

/// Kinds of network and their sizes (workers, modules or processes).
const KINDS: [(&str, &[usize]); 6] = [
    ("farm of workers", &[20, 100, 500]),
    ("chain of farms", &[3, 10, 20, 50]),
    ("random tree", &[20, 100, 300, 1000]),
    ("series-parallel", &[20, 100, 200, 500]),
    ("pipeline", &[20, 100, 300]),
    ("pipeline with skips", &[20, 100, 300]),
];
const MACHINES: [&[usize]; 5] = [&[4], &[2, 2], &[8], &[4, 4], &[4, 2, 4]];

/// Returns a network with loads from 1 to `most` and traffic from 1 to `2 * most - 1`. A chain of
/// farms has the loads and traffic of [`generate`] if `most` is above 1.
pub fn network(kind: &str, size: usize, most: u64, seed: u64) -> Graph {
    let mut dice = Dice::new(seed);
    let mut edges: Vec<(usize, usize)> = Vec::new();
    let mut n = size;
    match kind {
        "chain of farms" if most > 1 => return generate("farm", size, seed),
        "chain of farms" => {
            // Same edges, but all loads and traffic are 1.
            let graph = generate("farm", size, seed);
            n = graph.vertices();
            for v in 0..n as u32 {
                let row = graph.neighbours(v).filter(|e| e.0 < v);
                edges.extend(row.map(|e| (e.0 as usize, v as usize)));
            }
        }
        "farm of workers" => {
            n = size + 2;
            edges.extend((2..n).flat_map(|v| [(0, v), (v, 1)]));
        }
        "random tree" => edges.extend((1..n).map(|v| (dice.range(0, v as u64 - 1) as usize, v))),
        "series-parallel" => {
            // Each step puts a process into the middle of an edge, which is then removed or kept.
            edges.push((0, 1));
            for v in 2..n {
                let at = dice.range(0, edges.len() as u64 - 1) as usize;
                let (a, b) = edges[at];
                if dice.range(0, 1) == 0 {
                    edges.swap_remove(at);
                }
                edges.extend([(a, v), (v, b)]);
            }
        }
        "pipeline" => edges.extend((1..n).map(|v| (v - 1, v))),
        _ => {
            edges.extend((1..n).map(|v| (v - 1, v)));
            edges.extend((3..n).step_by(2).map(|v| (v - 3, v)));
        }
    }
    let load = (0..n).map(|_| dice.range(1, most)).collect();
    let channel = |(from, to): (usize, usize), traffic| Channel {
        from: from as u32,
        to: to as u32,
        traffic,
    };
    let channels: Vec<Channel> = edges
        .into_iter()
        .map(|e| channel(e, dice.range(1, 2 * most - 1)))
        .collect();
    Graph::new(load, &channels).expect("generated graphs are sound")
}

#[derive(Default)]
struct Sum {
    runs: usize,
    proved: usize,
    gap: f64,
    worst: f64,
    cost: f64,
    seconds: f64,
}

pub fn run(read: &Arguments) {
    let label = |time: Option<u64>| time.map_or("steps".to_owned(), |t| format!("{t} ms"));
    let mut sums: BTreeMap<(usize, usize, usize, usize, usize), Sum> = BTreeMap::new();
    for (k, (kind, sizes)) in KINDS.iter().enumerate() {
        for (s, &size) in sizes.iter().enumerate() {
            for (m, hierarchy) in MACHINES.iter().enumerate() {
                for (w, most) in [1, 10].into_iter().enumerate() {
                    let name = format!("{kind} {size} {most} on {}", shape(hierarchy));
                    if !name.contains(&read.only) {
                        continue;
                    }
                    let machine: Case = case("", size, hierarchy);
                    let machine = machine.machine();
                    for seed in read.from..read.from + read.seeds {
                        let graph = network(kind, size, most, seed);
                        let problem = Problem::new(&graph, &machine);
                        for (t, ours) in read.ours.iter().enumerate() {
                            let options = ours.options(seed);
                            let start = cpu_seconds();
                            let found = match solve(&problem, &options) {
                                Ok(found) => found,
                                Err(error) => {
                                    eprintln!("{name}: {error}");
                                    continue;
                                }
                            };
                            let seconds = cpu_seconds() - start;
                            if std::env::var_os("MAPPING_LOG").is_some() {
                                println!("{}", found.log.join("\n"));
                            }
                            if read.details {
                                println!(
                                    "{name}, seed {seed}, {}: {} of {} ({:.1}%){}{} {seconds:.2} s",
                                    label(ours.time),
                                    found.lower_bound,
                                    found.minimised,
                                    found.gap * 100.0,
                                    if found.proved { " proved" } else { "" },
                                    match (found.raised, found.unavoidable) {
                                        (None, _) => "",
                                        (_, true) => " raised, unavoidable",
                                        (_, false) => " raised",
                                    },
                                );
                            }
                            let sum = sums.entry((k, s, m, w, t)).or_default();
                            sum.runs += 1;
                            sum.proved += usize::from(found.proved);
                            sum.gap += found.gap;
                            sum.worst = sum.worst.max(found.gap);
                            sum.cost += found.minimised as f64;
                            sum.seconds += seconds;
                        }
                    }
                }
            }
        }
    }
    print!("\n| network, size | loads and traffic | time |");
    MACHINES.iter().for_each(|m| print!(" on {} |", shape(m)));
    println!(" proved | gap, mean | CPU s, mean |");
    println!("|---|---|---|{}---|---|---|", "---|".repeat(MACHINES.len()));
    for (k, (kind, sizes)) in KINDS.iter().enumerate() {
        for (s, size) in sizes.iter().enumerate() {
            for (w, weights) in ["1", "many"].iter().enumerate() {
                for (t, ours) in read.ours.iter().enumerate() {
                    let mut line = format!("| {kind}, {size} | {weights} | {} |", label(ours.time));
                    let (mut runs, mut proved, mut gap, mut seconds) = (0, 0, 0.0, 0.0);
                    for m in 0..MACHINES.len() {
                        let Some(sum) = sums.get(&(k, s, m, w, t)) else {
                            line += " - |";
                            continue;
                        };
                        let mean = sum.gap / sum.runs as f64;
                        line += &format!(" {}/{}, {:.1}% |", sum.proved, sum.runs, 100.0 * mean);
                        runs += sum.runs;
                        proved += sum.proved;
                        gap += sum.gap;
                        seconds += sum.seconds;
                    }
                    if runs > 0 {
                        let each = runs as f64;
                        println!(
                            "{line} {proved}/{runs} | {:.1}% | {:.2} |",
                            100.0 * gap / each,
                            seconds / each
                        );
                    }
                }
            }
        }
    }
    for (t, ours) in read.ours.iter().enumerate() {
        let of: Vec<&Sum> = sums.iter().filter(|s| s.0.4 == t).map(|s| s.1).collect();
        let all: usize = of.iter().map(|s| s.runs).sum();
        let proved: usize = of.iter().map(|s| s.proved).sum();
        let gap: f64 = of.iter().map(|s| s.gap).sum();
        let worst = of.iter().map(|s| s.worst).fold(0.0, f64::max);
        let cost: f64 = of.iter().map(|s| s.cost).sum();
        println!(
            "\n{}: {proved} of {all} proved, gap {:.2}% in the mean, {:.1}% at most; J {cost} in all.",
            label(ours.time),
            100.0 * gap / all as f64,
            100.0 * worst
        );
    }
}

fn shape(hierarchy: &[usize]) -> String {
    let levels: Vec<String> = hierarchy.iter().map(ToString::to_string).collect();
    levels.join(":")
}
