//! Soak test of messages between ranks: no message is lost, duplicated or overtaken
//! (`benches/runtime/run soak`).
//!
//! `soak [MESSAGES] [RANKS]` sends that many messages (a thousand million by default) between that
//! many ranks (64 by default), and prints the number of messages received. Variables select the
//! schedulers (`GRAPHMAP_LINK=shm GRAPHMAP_OS_PROCESSES=2`).
//!
//! In each round, every rank sends one message in each of four ways to a rank that all ranks can
//! compute:
//!
//! * buffered, received from any source with any tag
//! * standard, received from any source by its tag
//! * synchronous, received by source and tag
//! * standard, probed for by source and then received
#![allow(clippy::print_stdout)]

use std::process::ExitCode;

use graphmap_runtime as rt;
use rt::Network;
use rt::mpi::{ANY_SOURCE, ANY_TAG, Communicator};

/// Number of messages that a rank sends in a round.
const WAYS: u64 = 4;
/// Number of rounds between two counts over all ranks. A count also limits how far ranks get ahead
/// of each other.
const COUNTED: u64 = 1024;
/// Exclusive upper bound of the tags.
const TAGS: u64 = 1 << 20;

fn main() -> ExitCode {
    let mut numbers = std::env::args().skip(1);
    let mut number = |least: u64, otherwise: u64| {
        let number = numbers.next().map(|text| text.parse().expect("a number"));
        number.unwrap_or(otherwise).max(least)
    };
    let (messages, ranks) = (number(1, 1_000_000_000), number(1, 64));
    rt::main(move || network(messages.div_ceil(WAYS * ranks), ranks))
}

fn network(rounds: u64, count: u64) -> Network {
    bench_runtime::ranks(count as usize, move |world| async move {
        let counted = rank(&world, rounds).await?;
        if world.rank() == 0 {
            println!("{counted} messages between {count} ranks");
        }
        Ok::<(), Box<dyn std::error::Error>>(())
    })
}

/// Returns a hash of a number (the finalizer of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Returns the distance from each rank to the destination of its message.
fn shift(round: u64, way: u64, ranks: usize) -> usize {
    (mixed(WAYS * round + way + 1) % ranks as u64) as usize
}

/// Numbers of the next message to each rank and from each rank.
struct Next {
    to: Vec<u64>,
    from: Vec<u64>,
}

impl Next {
    fn new(ranks: usize) -> Next {
        Next {
            to: vec![0; ranks],
            from: vec![0; ranks],
        }
    }

    /// Returns the number of the next message to a rank.
    fn number(&mut self, dest: usize) -> u64 {
        self.to[dest] += 1;
        self.to[dest] - 1
    }

    /// Checks the number of a message that arrived from a rank.
    fn came(&mut self, source: usize, number: u64) -> Result<(), String> {
        let next = &mut self.from[source];
        if *next != number {
            return Err(format!(
                "message {number} of rank {source} came instead of {next}"
            ));
        }
        *next += 1;
        Ok(())
    }
}

/// Sends and receives messages for a number of rounds. Returns how many messages all ranks have
/// received.
async fn rank(world: &Communicator, rounds: u64) -> Result<u64, Box<dyn std::error::Error>> {
    let (me, ranks) = (world.rank(), world.size());
    let mut ways = Vec::new();
    for _ in 0..WAYS {
        ways.push((world.dup().await?, Next::new(ranks)));
    }
    let [buffered, tagged, synchronous, probed] = &mut ways[..] else {
        unreachable!("there are {WAYS} ways")
    };
    let (mut received, mut counted) = (0, 0);
    for round in 0..rounds {
        let tag = (round % TAGS) as i32;
        let dest = |way| (me + shift(round, way, ranks)) % ranks;
        let source = |way| (me + ranks - shift(round, way, ranks)) % ranks;
        let to = dest(0);
        let number = buffered.1.number(to);
        buffered
            .0
            .bsend(number, to, mixed(number) as i32 & 7)
            .await?;
        let to = dest(1);
        let standard = tagged.0.send((tagged.1.number(to), round), to, tag);
        let to = dest(2);
        let number = synchronous.1.number(to);
        let values = vec![number; 1 + (number % 7) as usize];
        let synchronous_send = synchronous.0.ssend(values, to, tag);
        let to = dest(3);
        // Occasionally too large to share a frame with other messages.
        let long = if mixed(round).is_multiple_of(4096) {
            100_000
        } else {
            8
        };
        let text = format!("{}{}", " ".repeat(long), probed.1.number(to));
        let last = probed.0.send(text, to, tag);

        let (number, status) = buffered.0.recv::<u64>(ANY_SOURCE, ANY_TAG).await?;
        buffered.1.came(status.source, number)?;
        let ((number, of), status) = tagged.0.recv::<(u64, u64)>(ANY_SOURCE, tag).await?;
        tagged.1.came(status.source, number)?;
        let (values, status) = synchronous.0.recv::<Vec<u64>>(source(2), tag).await?;
        synchronous.1.came(status.source, values[0])?;
        let found = probed.0.mprobe(source(3), ANY_TAG).await?;
        let (text, status) = found.recv::<String>()?;
        probed.1.came(status.source, text.trim_start().parse()?)?;
        if of != round || status.tag != tag || values.iter().any(|value| *value != values[0]) {
            return Err(format!("what came in round {round} is of another").into());
        }
        standard.await?;
        synchronous_send.await?;
        last.await?;
        received += WAYS;
        if (round + 1).is_multiple_of(COUNTED) || round + 1 == rounds {
            counted = world.allreduce(received, |a, b| a + b).await?;
            if counted != WAYS * (round + 1) * ranks as u64 {
                return Err(format!("{counted} messages in {} rounds", round + 1).into());
            }
        }
    }
    Ok(counted)
}
