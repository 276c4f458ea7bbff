//! Quality of mappings: all engines map the same networks, and one evaluation compares them.
//!
//! usage: benches/mapping/run SUITE [--seeds N] [--from N] [--peers a,b,c | --no-peers]
//!        [--ours a[@ms[xTHREADS]][#steps],...] [--only TEXT] [--work DIR] [--tries N] [--shift N]
//!        [--record] [--details]
//!
//! Mappings of peers are cached in the work directory and evaluated in each run. `--tries` is the
//! number of searches for each graph, each with its own seed. `--shift` is added to these seeds.
//! `--record` saves mappings that are better than the best known. The suites `large`, `huge` and
//! `growth` are described in `large.rs`; `structured`, `tight`, `held` and `rules` in files of
//! these names.

mod generate;
mod held;
mod known;
mod large;
mod peers;
mod rules;
mod structured;
mod suite;
mod table;
mod tight;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use graphmap_partition::{Options, Problem, Solution, Strategy, evaluate, solve};
use known::Known;
use suite::Case;
use table::{Result as Row, Table};

/// One of graphmap's strategies: `auto`, `auto@100` (milliseconds), `auto@100x2` (on two threads),
/// `auto#6000000` (steps).
pub struct Ours {
    said: String,
    strategy: Strategy,
    time: Option<u64>,
    steps: Option<u64>,
    threads: NonZeroUsize,
}

impl Ours {
    fn read(said: &str) -> Result<Self, String> {
        let (strategy, steps) = match said.split_once('#') {
            Some((strategy, steps)) => (strategy, Some(steps)),
            None => (said, None),
        };
        let (strategy, rest) = strategy.split_once('@').unwrap_or((strategy, ""));
        let (time, threads) = rest.split_once('x').unwrap_or((rest, "1"));
        let wrong = || {
            format!("{said}: a strategy such as auto, auto@100, auto@100x2, auto#6000000 is wanted")
        };
        let time = match time {
            "" => None,
            ms => Some(ms.parse().map_err(|_| wrong())?),
        };
        let steps = steps.map(|n| n.parse().map_err(|_| wrong())).transpose()?;
        Ok(Self {
            said: said.to_owned(),
            steps,
            strategy: Strategy::named(strategy).map_err(|e| e.to_string())?,
            time,
            threads: threads.parse().map_err(|_| wrong())?,
        })
    }

    fn options(&self, seed: u64) -> Options {
        Options {
            strategy: self.strategy.clone(),
            time: self.time.map(Duration::from_millis),
            steps: self.steps.unwrap_or(Options::default().steps),
            threads: self.threads,
            seed,
            ..Options::default()
        }
    }
}

pub struct Arguments {
    suite: String,
    seeds: u64,
    /// First seed.
    from: u64,
    peers: Vec<String>,
    ours: Vec<Ours>,
    only: String,
    work: PathBuf,
    /// Number of graphmap's searches for each graph, each with its own seed.
    tries: u64,
    shift: u64,
    record: bool,
    details: bool,
}

fn arguments() -> Result<Arguments, String> {
    let mut words = std::env::args().skip(1);
    let mut read = Arguments {
        suite: words.next().ok_or(
            "which suite: small, exact, structured, tight, held, rules, large, huge, growth?",
        )?,
        seeds: 3,
        from: 0,
        peers: Vec::new(),
        ours: Vec::new(),
        only: String::new(),
        work: concat!(env!("CARGO_MANIFEST_DIR"), "/../target/mapping").into(),
        tries: 1,
        shift: 0,
        record: false,
        details: false,
    };
    let large = ["large", "huge", "growth"].contains(&read.suite.as_str());
    let names = match read.suite.as_str() {
        "exact" | "structured" | "tight" | "held" | "rules" => &[],
        _ if large => peers::FOR_LARGE,
        _ => peers::FOR_SMALL,
    };
    read.peers = names.iter().map(|n| (*n).to_owned()).collect();
    let ours = match read.suite.as_str() {
        "exact" => "auto@1000",
        "structured" => "auto@1000,auto@10000",
        "tight" => "auto@1000",
        "held" => "fast,auto",
        _ if large => "fast,auto",
        _ => "auto@100,auto@1000",
    };
    read.seeds = match read.suite.as_str() {
        "exact" => 10,
        "rules" => 1000,
        "structured" | "held" => 1,
        _ => 3,
    };
    let strategies = |list: &str| {
        let all = list.split(',').filter(|s| !s.is_empty());
        all.map(Ours::read).collect::<Result<Vec<_>, _>>()
    };
    read.ours = strategies(ours)?;
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} wants a value"));
        match word.as_str() {
            "--seeds" => read.seeds = value()?.parse().map_err(|_| "--seeds wants a number")?,
            "--from" => read.from = value()?.parse().map_err(|_| "--from wants a number")?,
            "--peers" => read.peers = value()?.split(',').map(str::to_owned).collect(),
            "--no-peers" => read.peers.clear(),
            "--ours" => read.ours = strategies(&value()?)?,
            "--only" => read.only = value()?,
            "--tries" => read.tries = value()?.parse().map_err(|_| "--tries wants a number")?,
            "--shift" => read.shift = value()?.parse().map_err(|_| "--shift wants a number")?,
            "--record" => read.record = true,
            "--details" => read.details = true,
            "--work" => read.work = value()?.into(),
            _ => return Err(format!("what is {word}?")),
        }
    }
    Ok(read)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|w| w == "child") {
        return large::child(&words[1..]);
    }
    let read = arguments().unwrap_or_else(|message| {
        eprintln!("{message}");
        std::process::exit(2)
    });
    if ["large", "huge", "growth"].contains(&read.suite.as_str()) {
        return large::run(&read);
    }
    match read.suite.as_str() {
        "structured" => return structured::run(&read),
        "tight" => return tight::run(&read),
        "held" => return held::run(&read),
        "rules" => return rules::run(&read),
        _ => {}
    }
    let mut table = Table::default();
    table.known = Known::read();
    for case in suite::cases(&read.suite)
        .iter()
        .filter(|c| c.name().contains(&read.only))
    {
        for seed in read.from..read.from + read.seeds {
            one(case, seed, &read, &mut table);
        }
        if read.details {
            table.print_details(&case.name());
        }
    }
    match read.suite.as_str() {
        "exact" => table.print_proofs(),
        _ => table.print(),
    }
    if read.record
        && let Err(error) = table.known.write()
    {
        eprintln!("the best known cannot be kept: {error}");
        std::process::exit(1);
    }
}

fn one(case: &Case, seed: u64, read: &Arguments, table: &mut Table) {
    let graph = generate::generate(case.family, case.size, seed);
    let machine = case.machine();
    let problem = Problem::new(&graph, &machine);
    let mut note = |engine: String, mapping: &[u32], seconds: f64, found: Option<&Solution>| {
        let judged = evaluate(&problem, mapping).expect("engines map every vertex");
        let row = Row {
            engine,
            seed,
            cost: judged.cost,
            balance: judged.balance,
            feasible: judged.feasible(),
            seconds,
            bound: found.map_or(0, |f| f.lower_bound),
            proved: found.is_some_and(|f| f.proved),
            raised: found.and_then(|f| f.raised.map(|_| f.unavoidable)),
        };
        table.add(&case.name(), row);
    };
    for (ours, attempt) in read
        .ours
        .iter()
        .flat_map(|o| (0..read.tries).map(move |t| (o, t)))
    {
        let options = ours.options(seed + 1000 * attempt + read.shift);
        let start = cpu_seconds();
        match solve(&problem, &options) {
            Ok(found) => {
                let seconds = cpu_seconds() - start;
                if std::env::var_os("MAPPING_LOG").is_some() {
                    println!("{}", found.log.join("\n"));
                }
                note(ours.said.clone(), &found.block_of, seconds, Some(&found));
            }
            Err(error) => eprintln!("{} {}: {error}", case.name(), ours.said),
        }
    }
    for name in &read.peers {
        match peers::run(name, case, &graph, seed, &read.work) {
            Ok((mapping, seconds)) => note(name.clone(), &mapping, seconds, None),
            Err(error) => eprintln!("{} {name}: {error}", case.name()),
        }
    }
}

/// Returns the CPU seconds of all threads of this OS process. (The files in `/proc` have them in
/// ticks only.)
fn cpu_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
