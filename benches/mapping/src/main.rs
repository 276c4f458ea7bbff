//! The quality benchmark of the mapping: the same networks to our strategies and to the peers, one
//! judge for all.
//!
//! usage: graphmap-bench-mapping SUITE [--seeds N] [--peers a,b,c | --no-peers] [--ours a@ms,...]
//!        [--only TEXT] [--work DIR] [--tries N]
//!
//! Peers' mappings are kept in the work directory and judged anew in each run.

mod generate;
mod peers;
mod suite;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use graphmap_partition::{Machine, Options, Problem, evaluate, solve};
use suite::Case;
use table::{Result as Row, Table};

struct Arguments {
    suite: String,
    seeds: u64,
    peers: Vec<String>,
    ours: Vec<(String, Option<u64>)>,
    only: String,
    work: PathBuf,
    /// Searches of ours for each graph, with different seeds of their own.
    tries: u64,
}

fn arguments() -> Result<Arguments, String> {
    let mut words = std::env::args().skip(1);
    let mut read = Arguments {
        suite: words
            .next()
            .ok_or("which suite: small, exact, medium, large, huge?")?,
        seeds: 3,
        peers: Vec::new(),
        ours: Vec::new(),
        only: String::new(),
        work: "target/mapping".into(),
        tries: 1,
    };
    let large = ["large", "huge"].contains(&read.suite.as_str());
    let names = if large {
        peers::FOR_LARGE
    } else {
        peers::FOR_SMALL
    };
    read.peers = names.iter().map(|n| (*n).to_owned()).collect();
    let ours = if large {
        "fast@0,auto@0"
    } else {
        "auto@100,auto@1000"
    };
    let strategies = |list: &str| {
        let one = |s: &str| {
            let (name, time) = s.split_once('@').unwrap_or((s, "0"));
            (name.to_owned(), time.parse().ok().filter(|t| *t > 0))
        };
        list.split(',')
            .filter(|s| !s.is_empty())
            .map(one)
            .collect::<Vec<_>>()
    };
    read.ours = strategies(ours);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--seeds" => read.seeds = value()?.parse().map_err(|_| "--seeds wants a number")?,
            "--peers" => read.peers = value()?.split(',').map(str::to_owned).collect(),
            "--no-peers" => read.peers.clear(),
            "--ours" => read.ours = strategies(&value()?),
            "--only" => read.only = value()?,
            "--tries" => read.tries = value()?.parse().map_err(|_| "--tries wants a number")?,
            "--work" => read.work = value()?.into(),
            _ => return Err(format!("what is {word}?")),
        }
    }
    Ok(read)
}

fn main() {
    let read = arguments().unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2)
    });
    let mut table = Table::default();
    for case in suite::cases(&read.suite)
        .iter()
        .filter(|c| c.name().contains(&read.only))
    {
        for seed in 0..read.seeds {
            one(case, seed, &read, &mut table);
        }
        table.print_case(&case.name());
    }
    table.print_summary();
}

fn one(case: &Case, seed: u64, read: &Arguments, table: &mut Table) {
    let graph = generate::generate(case.family, case.size, seed);
    let levels: Vec<(usize, u32)> = case
        .hierarchy
        .iter()
        .copied()
        .zip(case.distances.iter().copied())
        .collect();
    let machine = Machine::regular(&levels).expect("suites are sound");
    let problem = Problem::new(&graph, &machine);
    let mut note = |engine: String, mapping: &[u32], seconds: f64, bound: u64, proved: bool| {
        let judged = evaluate(&problem, mapping).expect("engines map every vertex");
        let row = Row {
            engine,
            seed,
            cost: judged.cost,
            balance: judged.balance,
            feasible: judged.feasible(),
            seconds,
            bound,
            proved,
        };
        table.add(&case.name(), row);
    };
    for ((name, time), attempt) in read
        .ours
        .iter()
        .flat_map(|o| (0..read.tries).map(move |t| (o, t)))
    {
        let options = Options {
            strategy: name.clone(),
            time: time.map(Duration::from_millis),
            seed: seed + 1000 * attempt,
            ..Options::default()
        };
        let start = (Instant::now(), cpu_seconds());
        match solve(&problem, &options) {
            Ok(found) => {
                let label = time.map_or_else(|| name.clone(), |t| format!("{name}@{t}"));
                let seconds = cpu_seconds() - start.1;
                if std::env::var_os("MAPPING_LOG").is_some() {
                    println!("{}", found.log.join("\n"));
                }
                note(
                    label,
                    &found.block_of,
                    seconds,
                    found.lower_bound,
                    found.proved,
                );
            }
            Err(error) => eprintln!("{} {name}: {error}", case.name()),
        }
    }
    for name in &read.peers {
        match peers::run(name, case, &graph, seed, &read.work) {
            Ok((mapping, seconds)) => note(name.clone(), &mapping, seconds, 0, false),
            Err(error) => eprintln!("{} {name}: {error}", case.name()),
        }
    }
}

/// CPU time of this OS process, from the kernel.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = text
        .split(' ')
        .next()
        .and_then(|t| t.parse().ok())
        .unwrap_or(0.0);
    nanoseconds / 1e9
}
