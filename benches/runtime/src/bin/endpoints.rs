//! Time of a message around a ring in blocking code: between ranks, and between endpoints of two
//! ranks (`benches/runtime/run endpoints`).
//!
//! Prints Markdown: the minimum of five runs of each. The two take turns.
#![allow(clippy::print_stdout)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use mpi::endpoint::{self, Endpoints};
use mpi::topology::SimpleCommunicator;
use mpi::traits::*;

const RANKS: [usize; 5] = [2, 20, 200, 2_000, 20_000];
/// Minimum number of messages in a run.
const MESSAGES: usize = 200_000;

/// Passes a token around the ring until it has made enough messages. Rank 0 stores the nanoseconds
/// per message.
fn ring(mine: &SimpleCommunicator, nanoseconds: &AtomicU64) {
    let (rank, size) = (mine.rank(), mine.size());
    let rounds = MESSAGES.div_ceil(size as usize);
    // Neighbours belong to different ranks: the first half of the ring are endpoints of one rank,
    // the second half endpoints of the other.
    let half = size / 2;
    let next = match rank < half {
        true => rank + half,
        false => (rank - half + 1) % half,
    };
    let mut start = Instant::now();
    // The first round is not timed, because every stack is first used in it.
    for round in 0..=rounds {
        if rank == 0 {
            mine.process_at_rank(next).send(&1u64);
        }
        let (token, _) = mine.any_process().receive::<u64>();
        if rank == 0 && round == 0 {
            start = Instant::now();
        }
        if rank != 0 {
            mine.process_at_rank(next).send(&token);
        }
    }
    if rank == 0 {
        let messages = (rounds * size as usize) as u128;
        let each = start.elapsed().as_nanos() / messages;
        nanoseconds.store(each as u64, Ordering::Relaxed);
    }
}

fn measured(ranks: usize, as_endpoints: bool) -> u64 {
    static NANOSECONDS: AtomicU64 = AtomicU64::new(0);
    let started = if as_endpoints { 2 } else { ranks };
    let run = mpi::run(started, move || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        match as_endpoints {
            true => {
                let endpoints = world.endpoints(ranks / 2);
                endpoint::each(endpoints, |mine| ring(&mine, &NANOSECONDS));
            }
            false => ring(&world, &NANOSECONDS),
        }
    });
    run.unwrap();
    NANOSECONDS.load(Ordering::Relaxed)
}

fn main() {
    println!("| ranks in the ring | ranks, ns a message | endpoints of two ranks, ns a message |");
    println!("|---|---:|---:|");
    for ranks in RANKS {
        let mut lowest = [u64::MAX; 2];
        for _ in 0..5 {
            for (lowest, as_endpoints) in lowest.iter_mut().zip([false, true]) {
                *lowest = measured(ranks, as_endpoints).min(*lowest);
            }
        }
        println!("| {ranks} | {} | {} |", lowest[0], lowest[1]);
    }
}
