//! Networks whose loads hardly fit: few processes in each OS process, loads from nearly equal to
//! very uneven, and memory as a second dimension.
//!
//! Prints for each network, machine and time the mean cost, the worst balance, the best known cost
//! and the ratio to it. It also prints how often no mapping within the balance bound was found.
//! Mappings under a raised bound are not compared.

use graphmap_partition::{Block, Channel, Graph, Machine, Problem, Tree, solve};

use crate::generate::{Dice, generate};
use crate::known::Known;
use crate::structured::network;
use crate::{Arguments, cpu_seconds};

/// Distribution of the loads.
#[derive(Clone, Copy)]
enum Loads {
    /// 8 to 12.
    Narrow,
    /// 1 to 10.
    Ten,
    /// 1 to 40.
    Forty,
    /// 7 or 19.
    Two,
    /// Log-normal over three decades, cut at nine tenths of the even share of a block.
    Wild,
    /// As `Wild`, but not cut. A process may be heavier than the bound of every block.
    Uncut,
}

struct Row {
    kind: &'static str,
    size: usize,
    loads: Loads,
    /// Whether processes also need memory, log-uniform from 1 to 100. Each block has 5% more than
    /// the even share, or the largest need if that is more.
    memory: bool,
    /// Arities, innermost first.
    machines: [&'static [usize]; 2],
}

const SMALL: [&[usize]; 2] = [&[4, 4], &[4, 2, 4]];
const WIDE: [&[usize]; 2] = [&[4, 2, 4], &[4, 4, 4]];

#[rustfmt::skip]
const ROWS: [Row; 12] = [
    Row { kind: "layered", size: 60, loads: Loads::Ten, memory: false, machines: SMALL },
    Row { kind: "layered", size: 150, loads: Loads::Forty, memory: false, machines: WIDE },
    Row { kind: "layered", size: 300, loads: Loads::Wild, memory: false, machines: SMALL },
    Row { kind: "layered", size: 100, loads: Loads::Forty, memory: true, machines: SMALL },
    Row { kind: "tree", size: 100, loads: Loads::Forty, memory: false, machines: SMALL },
    Row { kind: "tree", size: 300, loads: Loads::Narrow, memory: false, machines: WIDE },
    Row { kind: "pipeline", size: 100, loads: Loads::Ten, memory: false, machines: SMALL },
    Row { kind: "pipeline", size: 200, loads: Loads::Wild, memory: false, machines: SMALL },
    Row { kind: "series-parallel", size: 100, loads: Loads::Forty, memory: false, machines: SMALL },
    Row { kind: "series-parallel", size: 200, loads: Loads::Uncut, memory: false, machines: SMALL },
    Row { kind: "farm of workers", size: 100, loads: Loads::Two, memory: false, machines: SMALL },
    Row { kind: "random tree", size: 200, loads: Loads::Ten, memory: true, machines: WIDE },
];

impl Row {
    fn name(&self, machine: usize) -> String {
        let loads = match self.loads {
            Loads::Narrow => "8..12",
            Loads::Ten => "1..10",
            Loads::Forty => "1..40",
            Loads::Two => "7 or 19",
            Loads::Wild => "wild",
            Loads::Uncut => "wilder",
        };
        let memory = if self.memory { " and memory" } else { "" };
        let levels: Vec<String> = self.machines[machine]
            .iter()
            .map(ToString::to_string)
            .collect();
        let levels = levels.join(":");
        format!("{}-{} {loads}{memory} on {levels}", self.kind, self.size)
    }

    fn graph(&self, machine: usize, seed: u64) -> Graph {
        let graph = match self.kind {
            "layered" | "tree" => generate(self.kind, self.size, seed),
            kind => network(kind, self.size, 10, seed),
        };
        let mut dice = Dice::new(seed ^ 0x7167_6874);
        let n = graph.vertices();
        let mut draw = || match self.loads {
            Loads::Narrow => dice.range(8, 12),
            Loads::Ten => dice.range(1, 10),
            Loads::Forty => dice.range(1, 40),
            Loads::Two => [7, 19][dice.range(0, 1) as usize],
            Loads::Wild | Loads::Uncut => {
                // The sum of twelve uniform numbers is close to a normal distribution. 95% are
                // within 3 decades.
                let normal = (0..12).map(|_| dice.unit()).sum::<f64>() - 6.0;
                10_f64.powf(1.5 + 0.75 * normal).ceil() as u64
            }
        };
        let mut load: Vec<u64> = (0..n).map(|_| draw()).collect();
        if matches!(self.loads, Loads::Wild) {
            let blocks: usize = self.machines[machine].iter().product();
            // Repeated, because a cut lowers the even share.
            for _ in 0..20 {
                let most = load.iter().sum::<u64>() * 9 / (10 * blocks as u64);
                load.iter_mut().for_each(|l| *l = (*l).min(most.max(1)));
            }
        }
        let below = |v: u32| graph.neighbours(v).filter(move |e| e.0 < v);
        let channel = |v: u32, (from, traffic): (u32, u64)| Channel {
            from,
            to: v,
            traffic,
        };
        let channels = (0..n as u32).flat_map(|v| below(v).map(move |e| channel(v, e)));
        let channels: Vec<Channel> = channels.collect();
        let graph = Graph::new(load, &channels).expect("generated graphs are sound");
        if !self.memory {
            return graph;
        }
        let memory = (0..n).map(|_| 10_f64.powf(2.0 * dice.unit()).ceil() as u64);
        let memory = memory.collect();
        graph.with_memory(memory).expect("one for each")
    }

    fn machine(&self, machine: usize, graph: &Graph) -> Machine {
        let arities = self.machines[machine];
        let blocks: u64 = arities.iter().product::<usize>() as u64;
        let needs = || (0..graph.vertices() as u32).map(|v| graph.memory(v));
        let (total, most) = (needs().sum::<u64>(), needs().max().unwrap_or(0));
        let mut tree = Tree::Block(Block {
            memory: self
                .memory
                .then(|| (total * 105).div_ceil(100 * blocks).max(most)),
            ..Block::default()
        });
        for (&arity, distance) in arities.iter().zip([1, 10, 100]) {
            tree = Tree::Group {
                distance,
                members: vec![tree; arity],
            };
        }
        Machine::new(&tree, 0).expect("suites are sound")
    }
}

#[derive(Default)]
struct Sum {
    cost: f64,
    known: f64,
    ratio: f64,
    balance: f64,
    seconds: f64,
    runs: usize,
    compared: usize,
    factor: f64,
    broken: usize,
    raised: usize,
    unavoidable: usize,
}

impl Sum {
    fn print(&self, name: &str, time: &str) {
        let runs = self.runs as f64;
        let compared = match self.compared {
            0 => "- | -".to_owned(),
            some => format!(
                "{:.0} | {:.3}",
                self.known / some as f64,
                self.ratio / some as f64
            ),
        };
        let raised = match self.raised {
            0 => "-".to_owned(),
            some => format!(
                "{some} by up to {:.3}, {} unavoidable",
                self.factor, self.unavoidable
            ),
        };
        println!(
            "| {name} | {time} | {:.0} | {:.3} | {compared} | {raised} | {:.2} |",
            self.cost / runs,
            self.balance,
            self.seconds / runs
        );
    }
}

pub fn run(read: &Arguments) {
    let mut known = Known::read();
    println!(
        "| network, loads and machine | time | J | worst balance | best known | ratio | bound raised | CPU s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let mut all: Vec<Sum> = Vec::new();
    all.resize_with(read.ours.len(), Sum::default);
    let pairs = ROWS.iter().flat_map(|row| [(row, 0), (row, 1)]);
    for (row, m) in pairs.filter(|(row, m)| row.name(*m).contains(&read.only)) {
        let name = row.name(m);
        for (ours, all) in read.ours.iter().zip(&mut all) {
            let label = ours.time.map_or("steps".to_owned(), |t| format!("{t} ms"));
            let mut sum = Sum::default();
            for seed in read.from..read.from + read.seeds {
                let graph = row.graph(m, seed);
                let machine = row.machine(m, &graph);
                for attempt in 0..read.tries {
                    let problem = Problem::new(&graph, &machine);
                    let options = ours.options(seed + 1000 * attempt + read.shift);
                    let start = cpu_seconds();
                    let found = match solve(&problem, &options) {
                        Ok(found) => found,
                        Err(error) => {
                            eprintln!("{name}: {error}");
                            continue;
                        }
                    };
                    let seconds = cpu_seconds() - start;
                    let judged = &found.evaluation;
                    if judged.feasible() {
                        known.learn(
                            &name,
                            seed,
                            judged.cost,
                            &format!("{}, {label}", ours.strategy.name),
                        );
                    }
                    let best = known.cost(&name, seed).filter(|_| judged.feasible());
                    if std::env::var_os("MAPPING_LOG").is_some() {
                        println!("{}", found.log.join("\n"));
                    }
                    if read.details {
                        println!(
                            "{name}, seed {seed}, {label}: {} of best {}, bound {}{}{} {seconds:.2} s",
                            judged.cost,
                            best.unwrap_or(0),
                            found.lower_bound,
                            if found.proved { " proved" } else { "" },
                            match (found.raised, found.unavoidable) {
                                (None, _) => String::new(),
                                (Some(by), true) => format!(" raised by {by:.3}, unavoidable"),
                                (Some(by), false) => format!(" raised by {by:.3}"),
                            }
                        );
                    }
                    for sum in [&mut sum, &mut *all] {
                        sum.runs += 1;
                        sum.cost += judged.cost as f64;
                        if let Some(best) = best {
                            sum.compared += 1;
                            sum.known += best as f64;
                            sum.ratio += judged.cost as f64 / best.max(1) as f64;
                        }
                        sum.factor = sum.factor.max(found.raised.unwrap_or(1.0));
                        sum.balance = sum.balance.max(judged.balance);
                        sum.seconds += seconds;
                        sum.raised += usize::from(found.raised.is_some());
                        sum.unavoidable += usize::from(found.unavoidable);
                        let over = !judged.feasible() && found.raised.is_none();
                        sum.broken += usize::from(over);
                    }
                }
            }
            if sum.runs > 0 {
                sum.print(&name, &label);
            }
        }
    }
    for (ours, sum) in read.ours.iter().zip(&all).filter(|p| p.1.runs > 0) {
        let label = ours.time.map_or("steps".to_owned(), |t| format!("{t} ms"));
        sum.print("all, mean", &label);
        println!(
            "\n{label}: over the bound without a word in {} of {} runs.",
            sum.broken, sum.runs
        );
    }
    if read.record
        && let Err(error) = known.write()
    {
        eprintln!("the best known cannot be kept: {error}");
        std::process::exit(1);
    }
}
