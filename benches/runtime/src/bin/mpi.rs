//! Messages between ranks of one scheduler, beside channels of the runtime and of Go
//! (`benches/runtime/run mpi`).
//!
//! Each measurement has its own OS process. They take turns, and the Markdown table has medians.

use std::cell::Cell;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bench_common::{in_turns, median, resident};
use graphmap_runtime::mpi::{self, ANY_SOURCE, ANY_TAG, Error};
use graphmap_runtime::{Local, Options, Stopped};

/// Names and arguments of the measurements.
const ROWS: [(&str, &[&str]); 15] = [
    ("channel of capacity 1, ns one way", &["channel", "2000000"]),
    ("`recv(0, 0)`, ns one way", &["exact", "2000000", "0"]),
    (
        "the same in blocking code, ns one way",
        &["blocking", "1000000"],
    ),
    (
        "`recv(ANY_SOURCE, ANY_TAG)`, ns one way",
        &["any", "2000000", "0"],
    ),
    (
        "the same beside 1,000 blocked ranks",
        &["any", "2000000", "1000"],
    ),
    (
        "the same beside 1,000,000 blocked ranks",
        &["any", "2000000", "1000000"],
    ),
    (
        "one of 1,000 receives of a rank, by source, ns one way",
        &["posted", "2000000", "1000"],
    ),
    (
        "bytes of a rank blocked in `recv`, of 1,000,000",
        &["bytes", "1000000"],
    ),
    (
        "`allreduce` of 1,000,000 ranks, ms",
        &["allreduce", "1000000"],
    ),
    (
        "8 KiB in a vector, moved, ns one way",
        &["moved", "1000000"],
    ),
    (
        "8 KiB of a slice into a slice in blocking code, ns one way",
        &["slices", "500000"],
    ),
    ("to copy 8 KiB, ns", &["copy", "1000000"]),
    (
        "Go, channel without a buffer, ns one way",
        &["go", "pingpong", "2000000"],
    ),
    ("sieve of 4,000 primes, ms", &["sieve", "4000"]),
    (
        "Go, the same, channels of capacity 100, ms",
        &["go", "sieve", "100", "4000"],
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "one") {
        let number = |at: usize| arguments[at].parse::<usize>().expect("a number");
        let value = match arguments[1].as_str() {
            "channel" => channel(number(2)),
            "exact" => ranks(number(2), number(3), false),
            "any" => ranks(number(2), number(3), true),
            "blocking" => blocking(number(2)),
            "slices" => slices(number(2)),
            "copy" => copy(number(2)),
            "posted" => posted(number(2), number(3)),
            "bytes" => bytes(number(2)),
            "moved" => moved(number(2)),
            "sieve" => sieve(number(2)),
            "allreduce" => allreduce(number(2)),
            other => panic!("no such measurement: {other}"),
        };
        println!("{value}");
        return;
    }
    let rounds = arguments
        .first()
        .map_or(5, |rounds| rounds.parse().expect("how many rounds"));
    let here = std::env::current_exe().expect("a path");
    let go = bench_runtime::go(&here);
    let values = in_turns(rounds, &mut ROWS.clone(), |(_, words)| {
        let mut command = if words[0] == "go" {
            let mut command = Command::new(go.as_ref().ok()?);
            command.args(&words[1..]).env("GOMAXPROCS", "1");
            command
        } else {
            let mut command = Command::new(&here);
            command.arg("one").args(*words);
            command
        };
        let output = command.output().expect("it can be run");
        let text = String::from_utf8_lossy(&output.stdout);
        // Go prints "ns N" or "s N", and then its result.
        let mut printed = text.split_whitespace();
        let (unit, value) = (printed.next(), printed.next());
        let value = value.or(unit).and_then(|value| value.parse::<f64>().ok());
        let value = value.unwrap_or_else(|| panic!("{words:?}: {output:?}"));
        Some(value * if unit == Some("s") { 1e3 } else { 1.0 })
    });
    println!(
        "{}, medians of {rounds}\n\n| | |\n|---|---:|",
        bench_common::processor()
    );
    for (values, (name, _)) in values.iter().zip(ROWS) {
        match median(values) {
            Some(median) => println!("| {name} | {median:.1} |"),
            None => println!("| {name} | no Go here |"),
        }
    }
}

fn channel(count: usize) -> f64 {
    let mut net = Local::new();
    let (mut a_tx, mut a_rx) = net.channel::<u64>(1);
    let (mut b_tx, mut b_rx) = net.channel::<u64>(1);
    net.spawn(async move {
        for n in 0..count as u64 {
            a_tx.write(n).await?;
            b_rx.read().await.ok_or(Stopped)?;
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        while let Some(n) = a_rx.read().await {
            b_tx.write(n).await?;
        }
        Ok::<(), Stopped>(())
    });
    let start = Instant::now();
    net.run(&Options::new()).unwrap();
    start.elapsed().as_nanos() as f64 / (2 * count) as f64
}

/// Measures a word between ranks 0 and 1. The others wait until rank 0 ends.
fn ranks(count: usize, blocked: usize, any: bool) -> f64 {
    let took = Rc::new(Cell::new(0.0));
    let mut net = Local::new();
    for rank in 0..2 + blocked {
        let took = Rc::clone(&took);
        match rank {
            0 | 1 => {
                net.spawn(async move {
                    let world = mpi::world()?;
                    let other = 1 - rank;
                    let (source, tag) = match any {
                        true => (ANY_SOURCE, ANY_TAG),
                        false => (other.into(), 0.into()),
                    };
                    // After this, all other ranks wait.
                    graphmap_runtime::yield_now().await;
                    let start = Instant::now();
                    for n in 0..count as u64 {
                        if rank == 0 {
                            world.send(n, other, 0).await?;
                            world.recv::<u64>(source, tag).await?;
                        } else {
                            let (n, _) = world.recv::<u64>(source, tag).await?;
                            world.send(n, other, 0).await?;
                        }
                    }
                    if rank == 0 {
                        took.set(start.elapsed().as_nanos() as f64 / (2 * count) as f64);
                        for blocked in 2..world.size() {
                            world.send(0u64, blocked, 0).await?;
                        }
                    }
                    Ok::<(), Error>(())
                });
            }
            _ => {
                net.spawn(async move {
                    let world = mpi::world()?;
                    world.recv::<u64>(ANY_SOURCE, ANY_TAG).await.map(drop)
                });
            }
        }
    }
    net.run(&Options::new()).unwrap();
    took.get()
}

/// Measures a word between ranks 0 and 1, in blocking code.
fn blocking(count: usize) -> f64 {
    use ::mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
    static TOOK: AtomicU64 = AtomicU64::new(0);
    let run = ::mpi::run(2, move || {
        let universe = ::mpi::initialize().unwrap();
        let world = universe.world();
        let other = world.process_at_rank(1 - world.rank());
        // After this, both ranks have started.
        world.barrier();
        let start = Instant::now();
        for n in 0..count as u64 {
            if world.rank() == 0 {
                other.send(&n);
                other.receive::<u64>();
            } else {
                let (n, _) = other.receive::<u64>();
                other.send(&n);
            }
        }
        if world.rank() == 0 {
            TOOK.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    });
    run.expect("a run");
    TOOK.load(Ordering::Relaxed) as f64 / (2 * count) as f64
}

/// Measures a slice of 8 KiB between ranks 0 and 1 that is received into another slice, in blocking
/// code.
fn slices(count: usize) -> f64 {
    use ::mpi::traits::{Communicator, CommunicatorCollectives, Destination, Source};
    static TOOK: AtomicU64 = AtomicU64::new(0);
    let run = ::mpi::run(2, move || {
        let universe = ::mpi::initialize().unwrap();
        let world = universe.world();
        let other = world.process_at_rank(1 - world.rank());
        let (sent, mut received) = (vec![1_u8; 8192], vec![0_u8; 8192]);
        world.barrier();
        let start = Instant::now();
        for _ in 0..count {
            if world.rank() == 0 {
                other.send(&sent[..]);
            }
            other.receive_into(&mut received[..]);
            if world.rank() == 1 {
                other.send(&sent[..]);
            }
        }
        if world.rank() == 0 {
            TOOK.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    });
    run.expect("a run");
    TOOK.load(Ordering::Relaxed) as f64 / (2 * count) as f64
}

/// Measures only the copies of [`slices`], in turns between two pairs of slices.
fn copy(count: usize) -> f64 {
    let from = [vec![1_u8; 8192], vec![2_u8; 8192]];
    let mut to = [vec![0_u8; 8192], vec![0_u8; 8192]];
    let start = Instant::now();
    for n in 0..count {
        to[n % 2].copy_from_slice(std::hint::black_box(&from[n % 2]));
        std::hint::black_box(&to);
    }
    start.elapsed().as_nanos() as f64 / count as f64
}

/// Measures a vector of 8 KiB between ranks 0 and 1, which is always the same vector.
fn moved(count: usize) -> f64 {
    let took = Rc::new(Cell::new(0.0));
    let mut net = Local::new();
    for rank in 0..2 {
        let took = Rc::clone(&took);
        net.spawn(async move {
            let world = mpi::world()?;
            let other = 1 - rank;
            let start = Instant::now();
            let mut bytes = vec![1u8; 8192];
            for _ in 0..count {
                if rank == 0 {
                    world.send(std::mem::take(&mut bytes), other, 0).await?;
                }
                bytes = world.recv::<Vec<u8>>(ANY_SOURCE, ANY_TAG).await?.0;
                if rank == 1 {
                    world.send(std::mem::take(&mut bytes), other, 0).await?;
                }
            }
            if rank == 0 {
                took.set(start.elapsed().as_nanos() as f64 / (2 * count) as f64);
            }
            Ok::<(), Error>(())
        });
    }
    net.run(&Options::new()).unwrap();
    took.get()
}

/// Measures the prime sieve. Each rank keeps its first number, and passes on the numbers that it
/// does not divide. The last rank reports its prime, and then a 0 passes through all ranks.
fn sieve(primes: usize) -> f64 {
    const ENOUGH: i32 = 1;
    let took = Rc::new(Cell::new(0.0));
    let mut net = Local::new();
    let seen = Rc::clone(&took);
    net.spawn(async move {
        let world = mpi::world()?;
        let last = world.size() - 1;
        let start = Instant::now();
        let mut enough = [world.recv::<u64>(last, ENOUGH)];
        for number in 2u64.. {
            world.send(number, 1, 0).await?;
            if let Some((_, found)) = mpi::test_any(&mut enough).await {
                assert_eq!(found?.0, 37_813, "the last of 4,000");
                break;
            }
        }
        world.send(0u64, 1, 0).await?;
        seen.set(start.elapsed().as_secs_f64() * 1e3);
        Ok::<(), Error>(())
    });
    for rank in 1..=primes {
        net.spawn(async move {
            let world = mpi::world()?;
            let (prime, _) = world.recv::<u64>(rank - 1, 0).await?;
            if rank + 1 == world.size() {
                world.send(prime, 0, ENOUGH).await?;
            }
            loop {
                let (number, _) = world.recv::<u64>(rank - 1, 0).await?;
                if rank + 1 < world.size() && !(number % prime == 0 && number > 0) {
                    world.send(number, rank + 1, 0).await?;
                }
                if number == 0 {
                    return Ok::<(), Error>(());
                }
            }
        });
    }
    net.run(&Options::new()).unwrap();
    took.get()
}

/// Measures a rank with `others` posted receives, each from a different source. Each message
/// matches one of them.
fn posted(count: usize, others: usize) -> f64 {
    let took = Rc::new(Cell::new(0.0));
    let mut net = Local::new();
    let seen = Rc::clone(&took);
    net.spawn(async move {
        let world = mpi::world()?;
        let mut requests: Vec<_> = (1..=others)
            .map(|rank| world.recv::<u64>(rank, 0))
            .collect();
        let start = Instant::now();
        for n in 0..count {
            // To a rank and back. The ranks take turns.
            let at = n % others;
            world.send(n as u64, at + 1, 0).await?;
            (&mut requests[at]).await?;
            requests[at] = world.recv::<u64>(at + 1, 0);
        }
        seen.set(start.elapsed().as_nanos() as f64 / (2 * count) as f64);
        requests.clear();
        for rank in 1..=others {
            world.send(u64::MAX, rank, 0).await?;
        }
        Ok::<(), Error>(())
    });
    for _ in 0..others {
        net.spawn(async move {
            let world = mpi::world()?;
            loop {
                match world.recv::<u64>(0, 0).await? {
                    (u64::MAX, _) => return Ok::<(), Error>(()),
                    (n, _) => world.send(n, 0, 0).await?,
                }
            }
        });
    }
    net.run(&Options::new()).unwrap();
    took.get()
}

fn bytes(ranks: usize) -> f64 {
    let each = Rc::new(Cell::new(0.0));
    let seen = Rc::clone(&each);
    let before = resident();
    let mut net = Local::new();
    net.spawn(async move {
        let world = mpi::world()?;
        graphmap_runtime::yield_now().await;
        seen.set((resident() - before) / ranks as f64);
        for rank in 1..world.size() {
            world.send(0u64, rank, 0).await?;
        }
        Ok::<(), Error>(())
    });
    for _ in 0..ranks {
        net.spawn(async move {
            let world = mpi::world()?;
            world.recv::<u64>(0, 0).await.map(drop)
        });
    }
    net.run(&Options::new()).unwrap();
    each.get()
}

/// Number of repetitions, so that it does not matter which rank begins first.
const TIMES: u32 = 5;

fn allreduce(ranks: usize) -> f64 {
    let took = Rc::new(Cell::new(0.0));
    let mut net = Local::new();
    for rank in 0..ranks {
        let took = Rc::clone(&took);
        net.spawn(async move {
            let world = mpi::world()?;
            world.barrier().await?;
            let start = Instant::now();
            for _ in 0..TIMES {
                // All ranks begin before the first has its result.
                let sum = world.allreduce(rank as u64, |a, b| a + b).await?;
                assert_eq!(sum, (ranks * (ranks - 1) / 2) as u64);
            }
            if rank == 0 {
                took.set(start.elapsed().as_nanos() as f64 / 1e6 / f64::from(TIMES));
            }
            Ok::<(), Error>(())
        });
    }
    net.run(&Options::new()).unwrap();
    took.get()
}
