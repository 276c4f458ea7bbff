//! Runs the contestants in turns and prints the table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use bench_common::{in_turns, median, processor};

/// Program of a measurement and its arguments. For Go, also the number of threads.
#[derive(Clone)]
pub enum Who {
    Ours(&'static str),
    Tokio(&'static str),
    Go(u32, &'static str),
    Floor(&'static str),
    /// Two OS processes with shared memory.
    Shared(&'static str),
    /// Four OS processes with shared memory.
    Oversubscribed(&'static str),
    /// Two OS processes with shared memory, neither of which may read large tokens from the memory
    /// of the other.
    Copied(&'static str),
    /// Two OS processes of the MPI with this name.
    Mpi(&'static str, &'static str),
}

/// A measurement: its name in the column, and its program.
pub type Contestant = (&'static str, Who);

pub struct Row {
    pub name: &'static str,
    /// Name of the printed value to use.
    pub value: &'static str,
    unit: &'static str,
    scale: f64,
    pub contestants: &'static [Contestant],
}

use Who::{Copied, Floor, Go, Mpi, Ours, Oversubscribed, Shared, Tokio};

const NS: (&str, &str, f64) = ("ns", "ns", 1.0);
const MS: (&str, &str, f64) = ("s", "ms", 1e3);

const fn row(
    name: &'static str,
    of: (&'static str, &'static str, f64),
    contestants: &'static [Contestant],
) -> Row {
    Row {
        name,
        value: of.0,
        unit: of.1,
        scale: of.2,
        contestants,
    }
}

pub const ROWS: &[Row] = &[
    row(
        "8 bytes, one after the other (capacity 1), a token",
        NS,
        &[
            ("graphmap", Ours("stream 1 4000000")),
            ("Go unbuffered, 1 P", Go(1, "stream 0 2000000")),
            ("Go buffered(1), 1 P", Go(1, "stream 1 2000000")),
            ("tokio LocalSet mpsc(1)", Tokio("stream 1 1000000")),
            ("VecDeque push and pop", Floor("deque 20000000")),
        ],
    ),
    row(
        "8 bytes, back and forth, one way",
        NS,
        &[
            ("graphmap", Ours("pingpong 2000000")),
            ("Go unbuffered, 1 P", Go(1, "pingpong 1000000")),
            ("tokio LocalSet mpsc(1)", Tokio("pingpong 500000")),
        ],
    ),
    row(
        "8 KiB moved, back and forth, one way",
        NS,
        &[
            ("graphmap", Ours("pages 2000000")),
            ("graphmap, 8 bytes in a box", Ours("boxed 2000000")),
            ("graphmap, 8 bytes by value", Ours("pingpong 2000000")),
            ("Go unbuffered, 1 P", Go(1, "pages 1000000")),
            ("tokio LocalSet mpsc(1)", Tokio("pages 500000")),
            ("memcpy of 8 KiB", Floor("memcpy 2000000")),
        ],
    ),
    row(
        "8 bytes, capacity 100, a token",
        NS,
        &[
            ("graphmap", Ours("stream 100 20000000")),
            ("Go buffered(100), 1 P", Go(1, "stream 100 5000000")),
            ("tokio LocalSet mpsc(100)", Tokio("stream 100 5000000")),
        ],
    ),
    row(
        "sieve of 4,000 primes, capacity 1, one thread",
        MS,
        &[
            ("graphmap", Ours("sieve 1 4000")),
            ("Go", Go(1, "sieve 1 4000")),
            ("tokio LocalSet", Tokio("sieve 1 4000")),
        ],
    ),
    row(
        "sieve of 4,000 primes, capacity 100, one thread",
        MS,
        &[
            ("graphmap", Ours("sieve 100 4000")),
            ("Go", Go(1, "sieve 100 4000")),
            ("tokio LocalSet", Tokio("sieve 100 4000")),
        ],
    ),
    row(
        "sieve of 4,000 primes, capacity 1, two threads",
        MS,
        &[
            ("graphmap, 2 schedulers", Ours("sieve 1 4000 1170")),
            ("Go, 2 P", Go(2, "sieve 1 4000")),
        ],
    ),
    row(
        "sieve of 4,000 primes, capacity 1, more schedulers than cores",
        MS,
        &[
            ("graphmap, 2 schedulers", Ours("sieve 1 4000 2")),
            ("graphmap, 5 schedulers", Ours("sieve 1 4000 5")),
        ],
    ),
    row(
        "sieve of 4,000 primes, capacity 100, two threads",
        MS,
        &[
            ("graphmap, 2 schedulers", Ours("sieve 100 4000 1170")),
            ("Go, 2 P", Go(2, "sieve 100 4000")),
        ],
    ),
    row(
        "8 bytes between two threads, back and forth, one way",
        NS,
        &[
            ("graphmap, 2 schedulers", Ours("apart-back 1 300000")),
            ("a cache line handed over (floor)", Floor("line 1000000")),
            ("Go, 2 P", Go(2, "pingpong 300000")),
        ],
    ),
    row(
        "8 bytes between two threads, capacity 1, a token",
        NS,
        &[
            ("graphmap, 2 schedulers", Ours("apart 1 300000")),
            ("a cache line handed over (floor)", Floor("line 1000000")),
            ("Go unbuffered, 2 P", Go(2, "stream 0 300000")),
        ],
    ),
    row(
        "8 bytes between two threads, capacity 100, a token",
        NS,
        &[
            ("graphmap, 2 schedulers", Ours("apart 100 5000000")),
            ("a cache line handed over (floor)", Floor("line 1000000")),
            ("Go buffered(100), 2 P", Go(2, "stream 100 5000000")),
        ],
    ),
    row(
        "8 bytes between two threads, capacity 4096, a token",
        NS,
        &[
            ("graphmap, 2 schedulers", Ours("apart 4096 20000000")),
            ("a cache line handed over (floor)", Floor("line 1000000")),
            ("Go buffered(4096), 2 P", Go(2, "stream 4096 5000000")),
        ],
    ),
    row(
        "8 bytes between two OS processes, back and forth, one way",
        NS,
        &[
            ("graphmap, shm", Shared("words 300000")),
            ("a cache line handed over (floor)", Floor("line 1000000")),
            ("MPICH", Mpi("mpich", "8 100000")),
            ("Open MPI", Mpi("openmpi", "8 100000")),
        ],
    ),
    row(
        "8 bytes between two pairs of OS processes on two cores, back and forth, one way",
        NS,
        &[
            ("graphmap, shm", Oversubscribed("pairs 20000")),
            ("a futex, by threads (floor)", Floor("park 20000")),
        ],
    ),
    row(
        "8 KiB between two OS processes, back and forth, one way",
        NS,
        &[
            ("graphmap, shm", Shared("bytes 8192 50000")),
            (
                "copied in and out, by threads (floor)",
                Floor("ring 8192 50000"),
            ),
            ("MPICH", Mpi("mpich", "8192 20000")),
            ("Open MPI", Mpi("openmpi", "8192 20000")),
        ],
    ),
    row(
        "64 KiB between two OS processes, back and forth, one way",
        NS,
        &[
            ("graphmap, shm", Shared("bytes 65536 10000")),
            (
                "graphmap, shm, without single copies",
                Copied("bytes 65536 10000"),
            ),
            ("MPICH", Mpi("mpich", "65536 10000")),
            ("Open MPI", Mpi("openmpi", "65536 10000")),
        ],
    ),
    row(
        "1 MiB between two OS processes, back and forth, one way",
        NS,
        &[
            ("graphmap, shm", Shared("bytes 1048576 1000")),
            ("a struct with 131,072 f64", Shared("rows 1000")),
            (
                "read by the kernel at once, by threads (floor)",
                Floor("readv 1048576 1000"),
            ),
            (
                "graphmap, shm, without single copies",
                Copied("bytes 1048576 1000"),
            ),
            (
                "copied in and out, by threads (floor)",
                Floor("ring 1048576 1000"),
            ),
            ("MPICH", Mpi("mpich", "1048576 500")),
            ("Open MPI", Mpi("openmpi", "1048576 500")),
        ],
    ),
    row(
        "8 bytes between two OS processes, capacity 100, a token",
        NS,
        &[("graphmap, shm", Shared("stream 1 100 3000000"))],
    ),
    row(
        "8 bytes between two OS processes, capacity 4096, a token",
        NS,
        &[("graphmap, shm", Shared("stream 1 4096 3000000"))],
    ),
    row(
        "8 bytes between two OS processes, 100,000 channels of capacity 100, a token",
        NS,
        &[("graphmap, shm", Shared("stream 100000 100 5000000"))],
    ),
    row(
        "ring of a million processes, a hop",
        NS,
        &[
            ("graphmap", Ours("ring 1000000 5")),
            ("Go, 1 P", Go(1, "ring 1000000 3")),
            ("tokio LocalSet", Tokio("ring 1000000 3")),
        ],
    ),
    row(
        "ring of a million processes, memory of a process with its channel",
        ("bytes", "B", 1.0),
        &[
            ("graphmap", Ours("ring 1000000 1")),
            ("Go, 1 P", Go(1, "ring 1000000 1")),
            ("tokio LocalSet", Tokio("ring 1000000 1")),
        ],
    ),
    row(
        "ten million processes start and finish",
        ("s", "s", 1.0),
        &[("graphmap", Ours("many 10000000"))],
    ),
    row(
        "ten million processes, peak memory",
        ("bytes", "GiB", 1.0 / (1u64 << 30) as f64),
        &[("graphmap", Ours("many 10000000"))],
    ),
];

/// Returns the arguments of a quick measurement: a tenth of the last number (tokens or processes),
/// or a smaller sieve. Rings stay the same, because they show memory that no cache holds.
pub fn hurried(what: &str) -> Option<String> {
    let (rest, last) = what.rsplit_once(' ')?;
    match what.split(' ').next()? {
        "ring" => Some(what.into()),
        "sieve" => Some(what.replace("4000", "1000").replace("1170", "290")),
        _ => Some(format!("{rest} {}", last.parse::<u64>().ok()? / 10)),
    }
}

fn measure(
    who: &Who,
    here: &Path,
    go: &Result<PathBuf, String>,
    quick: bool,
) -> Option<BTreeMap<String, f64>> {
    let what = |what: &str| {
        if quick {
            hurried(what)
        } else {
            Some(what.into())
        }
    };
    let mut command = match who {
        Ours(words) => with(here, "one ours ", &what(words)?),
        Tokio(words) => with(here, "one tokio ", &what(words)?),
        Floor(words) => with(here, "one floor ", &what(words)?),
        Shared(words) | Copied(words) | Oversubscribed(words) => {
            let words = what(words)?;
            let count = if matches!(who, Oversubscribed(_)) {
                "4"
            } else {
                "2"
            };
            let mut command = with(here, "one shm ", &words);
            command.envs([("GRAPHMAP_LINK", "shm"), ("GRAPHMAP_OS_PROCESSES", count)]);
            if matches!(who, Copied(_)) {
                command.env("GRAPHMAP_SINGLE_COPY", "0");
            }
            if let Some(channels) = words.strip_prefix("stream ") {
                let channels = channels.split(' ').next().unwrap_or_default();
                let mapping = here.with_file_name(format!("stream-{channels}.mapping"));
                std::fs::write(&mapping, format!("0+0*{channels} 1")).expect("a file");
                command.env("GRAPHMAP_MAPPING", mapping);
            }
            command
        }
        Mpi(name, words) => {
            let mut command = bench_runtime::mpiexec(here, name, "2", "pingpong")?;
            command.args(what(words)?.split(' '));
            command
        }
        Go(threads, words) => {
            let mut command = with(go.as_ref().ok()?, "", &what(words)?);
            command.env("GOMAXPROCS", threads.to_string());
            command
        }
    };
    Some(values(&mut command))
}

/// Runs a measurement and returns its values by name.
pub fn values(command: &mut Command) -> BTreeMap<String, f64> {
    let output = command.output().expect("the measurement starts");
    let text = String::from_utf8_lossy(&output.stdout).to_string();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .chunks(2)
        .filter_map(|w| Some((w[0].to_string(), w.get(1)?.parse().ok()?)))
        .collect()
}

pub fn with(program: &Path, first: &str, what: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(first.split_whitespace())
        .args(what.split_whitespace());
    command
}

fn show(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

pub fn print(rounds: usize, quick: bool) {
    let here = std::env::current_exe().expect("this program has a path");
    let go = bench_runtime::go(&here);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!(
        "{} cores of {}; medians of {rounds} rounds in turns (least to most).\n",
        cores,
        processor()
    );
    if quick {
        println!(
            "In a hurry: a tenth of the tokens, sieves of 1,000 primes, no rings, no millions.\n"
        );
    }
    if let Err(reason) = &go {
        println!("Go is skipped: {}.\n", reason.trim());
    }
    println!("| what | who | median | least to most | times ours |");
    println!("|---|---|---:|---:|---:|");
    for row in ROWS {
        let mut contestants = row.contestants.to_vec();
        let values = in_turns(rounds, &mut contestants, |(_, who)| {
            let all = measure(who, &here, &go, quick)?;
            Some(all.get(row.value)? * row.scale)
        });
        let mut first = None;
        for (values, (name, _)) in values.iter().zip(row.contestants) {
            let Some(median) = median(values) else {
                if quick && go.is_ok() {
                    continue;
                }
                println!("| {} | {name} | skipped | | |", row.name);
                continue;
            };
            let ours = *first.get_or_insert(median);
            let least = values.iter().copied().fold(f64::INFINITY, f64::min);
            let most = values.iter().copied().fold(0.0, f64::max);
            let (least, most) = (show(least), show(most));
            let (unit, shown, ratio) = (row.unit, show(median), show(median / ours));
            println!(
                "| {} | {name} | {shown} {unit} | {least} to {most} | {ratio} |",
                row.name
            );
        }
    }
}
