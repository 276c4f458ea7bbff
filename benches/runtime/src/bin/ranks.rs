//! Messages and collective calls between ranks of two OS processes over shared memory, beside
//! channels and MPI (`benches/runtime/run mpi`).
//!
//! Each measurement is a separate run. They take turns, and the Markdown table has medians.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

use bench_common::{in_turns, median};
use graphmap_runtime as rt;
use rt::mpi::{ANY_SOURCE, ANY_TAG, Communicator, Error};
use rt::{Channels, Ends, Input, Names, Network, Output, Ports};

/// Contestant of a measurement.
#[derive(Clone, Copy)]
enum Who {
    /// A network of graphmap in two OS processes.
    Shared,
    /// A network of graphmap in one OS process with two schedulers.
    Threads,
    /// A C program over this MPI, in this number of OS processes.
    Mpi(&'static str, &'static str),
}
use Who::{Mpi, Shared, Threads};

/// Names, contestants and arguments of the measurements.
const ROWS: [(&str, Who, &str); 23] = [
    (
        "8 bytes, channel of capacity 1, ns one way",
        Shared,
        "channel 100000",
    ),
    (
        "8 bytes, `recv(ANY_SOURCE, ANY_TAG)`, ns one way",
        Shared,
        "words 100000",
    ),
    ("the same, MPICH", Mpi("mpich", "2"), "pingpong 8 100000"),
    (
        "the same, Open MPI",
        Mpi("openmpi", "2"),
        "pingpong 8 100000",
    ),
    (
        "8 bytes between two threads, ns one way",
        Threads,
        "words 100000",
    ),
    ("8 KiB, ns one way", Shared, "bytes 8192 30000"),
    ("the same, MPICH", Mpi("mpich", "2"), "pingpong 8192 30000"),
    ("1 MiB, us one way", Shared, "kilo 1048576 500"),
    ("the same, MPICH", Mpi("mpich", "2"), "kilo 1048576 500"),
    ("barrier of 2 ranks, us", Shared, "barrier 2 20000"),
    ("the same, MPICH", Mpi("mpich", "2"), "barrier 20000"),
    ("barrier of 1,000 ranks, us", Shared, "barrier 1000 500"),
    ("barrier of 16 ranks, us", Shared, "barrier 16 5000"),
    ("the same, MPICH", Mpi("mpich", "16"), "barrier 50"),
    (
        "allreduce of a word, 1,000 ranks, us",
        Shared,
        "allreduce 1000 500",
    ),
    (
        "allreduce of a word, 16 ranks, us",
        Shared,
        "allreduce 16 5000",
    ),
    ("the same, MPICH", Mpi("mpich", "16"), "allreduce 50"),
    ("bcast of a word, 1,000 ranks, us", Shared, "bcast 1000 500"),
    ("bcast of a word, 16 ranks, us", Shared, "bcast 16 5000"),
    ("the same, MPICH", Mpi("mpich", "16"), "bcast 5000"),
    (
        "alltoall of words, 1,000 ranks, us",
        Shared,
        "alltoall 1000 5",
    ),
    (
        "alltoall of words, 16 ranks, us",
        Shared,
        "alltoall 16 2000",
    ),
    ("the same, MPICH", Mpi("mpich", "16"), "alltoall 50"),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "one") {
        let words = arguments[1..].to_vec();
        return rt::main(move || network(&words));
    }
    let rounds = arguments
        .first()
        .map_or(5, |rounds| rounds.parse().expect("how many rounds"));
    let here = std::env::current_exe().expect("a path");
    let values = in_turns(rounds, &mut ROWS.clone(), |(_, who, words)| {
        let output = command(&here, *who, words)?
            .output()
            .expect("it can be run");
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix("ns ")?.trim().parse::<f64>().ok());
        let value = value.unwrap_or_else(|| panic!("{words}: {output:?}"));
        let is_micro = !matches!(
            words.split(' ').next(),
            Some("channel" | "words" | "bytes" | "pingpong")
        );
        Some(if is_micro { value / 1000.0 } else { value })
    });
    println!(
        "{}, medians of {rounds}\n\n| two OS processes | |\n|---|---:|",
        bench_common::processor()
    );
    for (values, (name, ..)) in values.iter().zip(ROWS) {
        match median(values) {
            Some(median) => println!("| {name} | {median:.1} |"),
            None => println!("| {name} | not here |"),
        }
    }
    ExitCode::SUCCESS
}

fn command(here: &Path, who: Who, words: &str) -> Option<Command> {
    let ours = |variables: &[(&str, &str)]| {
        let mut command = Command::new(here);
        command.arg("one").args(words.split(' '));
        command.envs(variables.iter().copied());
        command
    };
    Some(match who {
        Shared => ours(&[("GRAPHMAP_LINK", "shm"), ("GRAPHMAP_OS_PROCESSES", "2")]),
        Threads => ours(&[("GRAPHMAP_OS_PROCESSES", "2"), ("GRAPHMAP_THREADS", "2")]),
        Mpi(name, count) => {
            let mut words = words.split(' ');
            let what = words.next()?;
            let program = match what {
                "pingpong" | "kilo" => "pingpong",
                _ => "collectives",
            };
            let mut command = bench_runtime::mpiexec(here, name, count, program)?;
            if !matches!(what, "pingpong" | "kilo") {
                command.arg(what);
            }
            command.args(words);
            command
        }
    })
}

struct Both(Input<u64>, Output<u64>);

impl Ports for Both {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Both(ends.input(), ends.output())
    }
}

fn network(words: &[String]) -> Network {
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    match words[0].as_str() {
        "channel" => channel(number(1)),
        "words" => ranks(2, number(1), |world, count| Box::pin(ping(world, count, 8))),
        "bytes" | "kilo" => {
            let size = number(1);
            ranks(2, number(2), move |world, count| {
                Box::pin(ping(world, count, size))
            })
        }
        "barrier" => ranks(number(1), number(2), |world, count| {
            Box::pin(barriers(world, count))
        }),
        "allreduce" => ranks(number(1), number(2), |world, count| {
            Box::pin(sums(world, count))
        }),
        "bcast" => ranks(number(1), number(2), |world, count| {
            Box::pin(copies(world, count))
        }),
        "alltoall" => ranks(number(1), number(2), |world, count| {
            Box::pin(exchanges(world, count))
        }),
        other => panic!("no such measurement: {other}"),
    }
}

fn channel(count: usize) -> Network {
    let mut net = Network::new("channel", "channel.dot");
    let a = net.kind(
        "a",
        Names::Listed(&["a"]),
        "0",
        &["in", "out"],
        move |mut p: Both| async move {
            let start = Instant::now();
            for n in 0..count as u64 {
                p.1.write(n).await?;
                p.0.read().await;
            }
            println!(
                "ns {:.1}",
                start.elapsed().as_nanos() as f64 / (2 * count) as f64
            );
            Ok::<(), rt::Stopped>(())
        },
    );
    let b = net.kind(
        "b",
        Names::Listed(&["b"]),
        "1",
        &["in", "out"],
        |mut p: Both| async move {
            while let Some(n) = p.0.read().await {
                p.1.write(n).await?;
            }
            Ok::<(), rt::Stopped>(())
        },
    );
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels {
        capacity: 1,
        ..Channels::new((a, 1), (b, 0), "0", "0")
    });
    net.channels::<u64>(Channels {
        capacity: 1,
        ..Channels::new((b, 1), (a, 0), "0", "0")
    });
    net
}

type Rank = std::pin::Pin<Box<dyn Future<Output = Result<(), Error>>>>;

/// Returns a network of `count` ranks, each of which calls `rank` with `times`.
fn ranks(
    count: usize,
    times: usize,
    rank: impl Fn(Communicator, usize) -> Rank + Clone + Send + Sync + 'static,
) -> Network {
    bench_runtime::ranks(count, move |world| rank(world, times))
}

/// Sends a word, or `size` bytes in a vector that is used again, back and forth. Rank 0 prints the
/// time of one way.
async fn ping(world: Communicator, count: usize, size: usize) -> Result<(), Error> {
    let (me, other) = (world.rank(), 1 - world.rank());
    world.barrier().await?;
    let start = Instant::now();
    if size == 8 {
        for n in 0..count as u64 {
            if me == 0 {
                world.send(n, other, 0).await?;
            }
            let (n, _) = world.recv::<u64>(ANY_SOURCE, ANY_TAG).await?;
            if me == 1 {
                world.send(n, other, 0).await?;
            }
        }
    } else {
        let mut bytes = vec![0u8; size];
        for _ in 0..count {
            if me == 0 {
                world.send(std::mem::take(&mut bytes), other, 0).await?;
            }
            bytes = world.recv::<Vec<u8>>(ANY_SOURCE, ANY_TAG).await?.0;
            if me == 1 {
                world.send(std::mem::take(&mut bytes), other, 0).await?;
            }
        }
    }
    if me == 0 {
        println!(
            "ns {:.1}",
            start.elapsed().as_nanos() as f64 / (2 * count) as f64
        );
    }
    Ok(())
}

async fn barriers(world: Communicator, count: usize) -> Result<(), Error> {
    world.barrier().await?;
    let start = Instant::now();
    for _ in 0..count {
        world.barrier().await?;
    }
    report(&world, start, count);
    Ok(())
}

async fn sums(world: Communicator, count: usize) -> Result<(), Error> {
    world.barrier().await?;
    let start = Instant::now();
    for n in 0..count {
        let sum = world.allreduce(n, |a, b| a + b).await?;
        assert_eq!(sum, n * world.size());
    }
    report(&world, start, count);
    Ok(())
}

async fn copies(world: Communicator, count: usize) -> Result<(), Error> {
    world.barrier().await?;
    let start = Instant::now();
    for n in 0..count {
        let mine = (world.rank() == 0).then_some(n);
        assert_eq!(world.bcast(mine, 0).await?, n);
    }
    // The root may be ahead of the other ranks.
    world.barrier().await?;
    report(&world, start, count);
    Ok(())
}

async fn exchanges(world: Communicator, count: usize) -> Result<(), Error> {
    world.barrier().await?;
    let start = Instant::now();
    for n in 0..count {
        let to = (0..world.size()).map(|to| n + world.rank() * to).collect();
        let from: Vec<usize> = world.alltoall(to).await?;
        assert_eq!(from.last(), Some(&(n + (world.size() - 1) * world.rank())));
    }
    report(&world, start, count);
    Ok(())
}

fn report(world: &Communicator, start: Instant, count: usize) {
    if world.rank() == 0 {
        println!("ns {:.1}", start.elapsed().as_nanos() as f64 / count as f64);
    }
}
