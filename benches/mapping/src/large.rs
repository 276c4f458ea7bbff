//! Large networks: CPU time and peak memory of each engine. Each has its own OS process, and all
//! engines of a seed run one after the other. The output is Markdown tables, as in the book.
//!
//! usage: benches/mapping/run large|huge|growth [--seeds N] [--peers a,b,c | --no-peers]
//!        [--ours a,b] [--only TEXT] [--work DIR]

use std::path::Path;
use std::process::Command;

use bench_common::{peak, resident};
use graphmap_partition::{Graph, Machine, Options, Problem, Strategy, evaluate, solve};

use crate::suite::{self, Case};
use crate::{Arguments, cpu_seconds, generate, peers};

/// Result of an engine on one seed.
struct Run {
    cost: u64,
    balance: f64,
    feasible: bool,
    seconds: f64,
    /// Peak memory beyond the graph, in bytes. Only for graphmap's strategies.
    bytes: Option<f64>,
}

/// Engine whose `J` is the unit of the table.
const YARDSTICK: &str = "kahip-eco";

pub fn run(read: &Arguments) {
    let ours: Vec<String> = read
        .ours
        .iter()
        .map(|o| o.strategy.name.to_string())
        .collect();
    let engines: Vec<String> = ours.iter().chain(&read.peers).cloned().collect();
    println!(
        "`J` as ratio to {YARDSTICK}, geometric mean over seeds | CPU seconds, mean over seeds; `!`: balance bound broken\n"
    );
    println!("| network | machine | {} |", engines.join(" | "));
    println!("|---|---|{}", "---|".repeat(engines.len()));
    let mut memory = Vec::new();
    for case in suite::cases(&read.suite) {
        if !case.name().contains(&read.only) {
            continue;
        }
        let machine = machine(&case);
        let mut runs: Vec<Vec<Run>> = engines.iter().map(|_| Vec::new()).collect();
        let mut size = (0, 0);
        for seed in read.from..read.from + read.seeds {
            let graph = generate::generate(case.family, case.size, seed);
            size = (graph.vertices(), graph.edges());
            let problem = Problem::new(&graph, &machine);
            for (engine, runs) in engines.iter().zip(&mut runs) {
                let found = if ours.contains(engine) {
                    own(engine, &case, seed, &read.work)
                } else {
                    peers::run_afresh(engine, &case, &graph, seed, &read.work)
                        .map(|(mapping, seconds)| (mapping, seconds, None))
                };
                let (mapping, seconds, bytes) = match found {
                    Ok(found) => found,
                    Err(error) => {
                        eprintln!("{} {engine}: {error}", case.name());
                        continue;
                    }
                };
                let judged = evaluate(&problem, &mapping).expect("engines map every vertex");
                if std::env::var_os("MAPPING_LOG").is_some() {
                    eprintln!(
                        "{} {engine} {seed}: {} {:?}",
                        case.name(),
                        judged.cost,
                        judged.traffic
                    );
                }
                runs.push(Run {
                    cost: judged.cost,
                    balance: judged.balance,
                    feasible: judged.feasible(),
                    seconds,
                    bytes,
                });
            }
        }
        row(&case, size, &engines, &runs);
        for (engine, runs) in engines.iter().zip(&runs) {
            if let Some(bytes) = runs.iter().filter_map(|r| r.bytes).reduce(f64::max) {
                memory.push((case.name(), engine.clone(), size, bytes));
            }
        }
    }
    println!(
        "\n| network | vertices | channels | strategy | peak beyond the graph | bytes a vertex | bytes a channel |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (case, engine, (n, m), bytes) in memory {
        println!(
            "| {case} | {n} | {m} | `{engine}` | {:.1} MB | {:.0} | {:.0} |",
            bytes / 1e6,
            bytes / n as f64,
            bytes / m as f64
        );
    }
}

fn row(case: &Case, size: (usize, usize), engines: &[String], runs: &[Vec<Run>]) {
    let yard = engines.iter().position(|e| e == YARDSTICK);
    let mean = |runs: &[Run]| {
        let logs: f64 = runs.iter().map(|r| (r.cost as f64).ln()).sum();
        (logs / runs.len().max(1) as f64).exp()
    };
    let unit = yard
        .filter(|&y| !runs[y].is_empty())
        .map(|y| mean(&runs[y]));
    let cells: Vec<String> = runs
        .iter()
        .map(|runs| {
            if runs.is_empty() {
                return "-".to_owned();
            }
            let seconds = runs.iter().map(|r| r.seconds).sum::<f64>() / runs.len() as f64;
            let cost = unit.map_or_else(
                || format!("{:.0}", mean(runs)),
                |unit| format!("{:.3}", mean(runs) / unit),
            );
            let broken: Vec<&Run> = runs.iter().filter(|r| !r.feasible).collect();
            let worst = broken.iter().map(|r| r.balance).fold(0.0, f64::max);
            let mark = if broken.is_empty() {
                String::new()
            } else {
                format!(" !{worst:.2}")
            };
            format!("{cost}{mark} · {seconds:.3} s")
        })
        .collect();
    let levels: Vec<String> = case.hierarchy.iter().map(ToString::to_string).collect();
    println!(
        "| {} ({}, {}) | {} | {} |",
        case.family,
        size.0,
        size.1,
        levels.join(":"),
        cells.join(" | ")
    );
}

fn machine(case: &Case) -> Machine {
    let levels = case
        .hierarchy
        .iter()
        .copied()
        .zip(case.distances.iter().copied());
    Machine::regular(&levels.collect::<Vec<_>>()).expect("suites are sound")
}

type Own = (Vec<u32>, f64, Option<f64>);

/// Runs one of graphmap's strategies in a child process, so that its memory is measured alone.
fn own(strategy: &str, case: &Case, seed: u64, work: &Path) -> Result<Own, String> {
    std::fs::create_dir_all(work).map_err(|e| e.to_string())?;
    let out = work.join(format!(
        "{}-{}-{seed}-{strategy}.own",
        case.family, case.size
    ));
    let me = std::env::current_exe().map_err(|e| e.to_string())?;
    let done = Command::new(me)
        .args(["child", strategy, &case.name(), &seed.to_string()])
        .arg(&out)
        .output()
        .map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&done.stdout);
    let numbers: Vec<f64> = said
        .split_whitespace()
        .filter_map(|w| w.parse().ok())
        .collect();
    let [seconds, bytes] = numbers[..] else {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    };
    let text = std::fs::read_to_string(&out).map_err(|e| e.to_string())?;
    let mapping = text
        .lines()
        .map(|l| l.parse().map_err(|_| "unreadable".to_owned()));
    Ok((mapping.collect::<Result<_, _>>()?, seconds, Some(bytes)))
}

/// Runs as the child process of [`own`]: prints the CPU seconds, and the bytes of peak memory
/// beyond the graph.
pub fn child(arguments: &[String]) {
    let [strategy, name, seed, out] = arguments else {
        panic!("a child wants strategy, case, seed and file");
    };
    let case = ["large", "huge", "growth"]
        .iter()
        .flat_map(|s| suite::cases(s))
        .find(|c| &c.name() == name)
        .expect("a case of a large suite");
    let seed = seed.parse().expect("a number");
    let graph: Graph = generate::generate(case.family, case.size, seed);
    let machine = machine(&case);
    let options = Options {
        strategy: Strategy::named(strategy).expect("one of ours"),
        seed,
        ..Options::default()
    };
    // Resets the peak (Linux only, as the rest of this benchmark).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = (resident(), cpu_seconds());
    let found = solve(&Problem::new(&graph, &machine), &options).expect("a mapping");
    let seconds = cpu_seconds() - before.1;
    let bytes = (peak() - before.0).max(0.0);
    let lines: Vec<String> = found.block_of.iter().map(ToString::to_string).collect();
    std::fs::write(out, lines.join("\n")).expect("a writable file");
    println!("{seconds:.4} {bytes}");
}
