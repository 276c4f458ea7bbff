//! Random networks whose every process depends on all that it reads.

use super::{BOTH, Both, Random, size};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Stopped};

/// A random graph: edges (from, to, capacity, initial tokens); those that go back have some.
#[derive(Debug, Clone)]
pub struct Shape {
    pub processes: u64,
    rounds: u64,
    seed: u64,
    edges: Vec<(u64, u64, u32, u32)>,
}

pub fn shape(seed: u64) -> Shape {
    let mut random = Random(seed);
    let processes = 2 + random.below(size(9, 5));
    let mut edges = Vec::new();
    for _ in 0..processes + random.below(2 * processes) {
        let (from, to) = (random.below(processes), random.below(processes));
        let initial = if from >= to {
            1 + random.below(3) as u32
        } else {
            random.below(2) as u32
        };
        let capacity = (1 + random.below(4) as u32).max(initial);
        edges.push((from, to, capacity, initial));
    }
    Shape {
        processes,
        rounds: 1 + random.below(size(30, 4)),
        seed,
        edges,
    }
}

/// What a process reads decides what it writes, so that any disorder shows in the end.
pub fn mix(a: u64, b: u64) -> u64 {
    Random(a ^ b.rotate_left(17)).next()
}

/// Each process reads one token of each input and writes one to each output in each round, in a
/// random order, and tells at its end its rank and what it has become. Its outputs are a switch, so what
/// is written by address is as deterministic as the rest.
pub fn network(
    shape: &Shape,
    told: impl Fn((usize, u64)) + Clone + Send + Sync + 'static,
) -> Network {
    let mut net = Network::new("random", "random.dot");
    let all = format!("0+1*{}", shape.processes);
    let (rounds, seed) = (shape.rounds, shape.seed);
    let kind = net.kind(
        "p",
        Names::Numbered("p", &all),
        &all,
        BOTH,
        move |mut p: Both<u64>| {
            let told = told.clone();
            async move {
                let rank = rt::me().rank;
                let mut outs = rt::Switch::from(std::mem::take(&mut p.outs));
                let mut random = Random(mix(seed, rank as u64));
                let mut state = rank as u64;
                let mut order: Vec<usize> = (0..p.ins.len() + outs.members()).collect();
                for _ in 0..rounds {
                    random.shuffle(&mut order);
                    for &port in &order {
                        if let Some(input) = p.ins.get_mut(port) {
                            let token = input.read().await.expect("the writer writes once a round");
                            state = mix(state, token);
                        } else {
                            // A reader that has read all it wants may have left in the last rounds.
                            let _: Result<(), Stopped> =
                                outs.write_to(port - p.ins.len(), state).await;
                        }
                    }
                }
                told((rank, state));
            }
        },
    );
    net.payload(rt::format_of!(u64));
    for &(from, to, capacity, initial) in &shape.edges {
        let (from, to) = (from.to_string(), to.to_string());
        let channels = Channels {
            capacity,
            ..Channels::new((kind, 1), (kind, 0), &from, &to)
        };
        net.channels_filled::<u64>(channels, initial, |_, token| token as u64);
    }
    net
}
