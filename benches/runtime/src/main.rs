//! The runtime beside Go, tokio, MPICH and Open MPI (`benches/runtime/run`).
//!
//! Each measurement has its own OS process. The contestants of a row take turns for several rounds,
//! and the Markdown table has their medians. `bench-runtime --against PROGRAM` compares the runtime
//! in pairs with the one in `PROGRAM`, built from another revision of the repository.

mod against;
mod ours;
mod processes;
mod table;
mod theirs;

use std::path::Path;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "one") {
        if arguments.get(1).is_some_and(|who| who == "shm") {
            processes(&arguments[2..]);
        } else {
            println!("{}", one(&arguments[1..]));
        }
        return;
    }
    match Asked::of(&arguments) {
        None => {
            eprintln!("usage: benches/runtime/run [--against PROGRAM] [--quick] [ROUNDS]");
            std::process::exit(2);
        }
        Some(Asked {
            against: Some(other),
            rounds,
            quick,
        }) => against::print(Path::new(&other), rounds.unwrap_or(15), quick),
        Some(Asked { rounds, quick, .. }) => {
            table::print(rounds.unwrap_or(if quick { 3 } else { 5 }), quick);
        }
    }
}

#[derive(Default)]
struct Asked {
    against: Option<String>,
    rounds: Option<usize>,
    quick: bool,
}

impl Asked {
    fn of(arguments: &[String]) -> Option<Asked> {
        let mut asked = Asked::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" => asked.quick = true,
                "--against" => asked.against = Some(arguments.next()?.clone()),
                rounds if asked.rounds.is_none() => {
                    asked.rounds = Some(rounds.parse().ok().filter(|&rounds| rounds > 0)?);
                }
                _ => return None,
            }
        }
        Some(asked)
    }
}

/// Runs a measurement of several OS processes, each of which calls this. One of them prints.
fn processes(words: &[String]) {
    let n = |at: usize| words[at].parse::<u64>().expect("a number");
    match words[0].as_str() {
        "words" => processes::words(n(1)),
        "bytes" => processes::bytes(n(1), n(2)),
        "rows" => processes::rows(n(1)),
        "pairs" => processes::pairs(n(1)),
        "stream" => processes::stream(n(1) as u32, n(2) as u32, n(3)),
        other => panic!("no such measurement: {other}"),
    }
}

/// Runs a measurement of graphmap, of tokio or of a floor, and returns its output.
fn one(words: &[String]) -> String {
    let n = |at: usize| words[at].parse::<u64>().expect("a number");
    let small = |at: usize| n(at) as u32;
    match (words[0].as_str(), words[1].as_str()) {
        ("ours", "stream") => ours::stream(small(2), n(3)),
        ("ours", "pingpong") => ours::pingpong(n(2)),
        ("ours", "boxed") => ours::boxed(n(2)),
        ("floor", "line") => theirs::line(n(2)),
        ("floor", "park") => theirs::park(n(2)),
        ("ours", "pages") => ours::pages(n(2)),
        ("ours", "sieve") => ours::sieve(small(2), small(3), words.get(4).map(|_| small(4))),
        ("ours", "ring") => ours::ring(small(2), small(3)),
        ("ours", "many") => {
            let time = ours::many(small(2));
            format!("{time} bytes {}", bench_common::peak())
        }
        ("ours", "apart") => ours::apart(small(2), n(3), false),
        ("ours", "apart-back") => ours::apart(small(2), n(3), true),
        ("tokio", "stream") => theirs::stream(n(2) as usize, n(3)),
        ("tokio", "pingpong") => theirs::pingpong(n(2)),
        ("tokio", "pages") => theirs::pages(n(2)),
        ("tokio", "sieve") => theirs::sieve(n(2) as usize, small(3)),
        ("tokio", "ring") => theirs::ring(small(2), small(3)),
        ("floor", "ring") => theirs::ring_of_bytes(n(2) as usize, n(3)),
        ("floor", "readv") => theirs::read_by_the_kernel(n(2) as usize, n(3)),
        ("floor", "memcpy") => theirs::copy(n(2)),
        ("floor", "deque") => theirs::deque(n(2)),
        other => panic!("no such measurement: {other:?}"),
    }
}
