//! Networks in several OS processes, on a link on which anything may be late, against what they must come to.
//!
//! `GRAPHMAP_FUZZ_RUNS=1000000 cargo test --release --test simulated` goes on for longer; a failure names its seed, and
//! `GRAPHMAP_FUZZ_SEED` begins there.
#![forbid(unsafe_code)]
#![cfg(not(miri))]
#![allow(clippy::print_stdout)] // the seed of a failure

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use common::simulated::run_simulated;
use common::ways::nap;
use common::{BOTH, Both, Log, Random, accounted, flows, program};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, RunError, Sequence};

/// Runs the seeds that are asked for; one that fails is told.
fn seeds(runs: u64, one: impl Fn(u64)) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("GRAPHMAP_FUZZ_SEED").unwrap_or(0);
    for seed in first..first + number("GRAPHMAP_FUZZ_RUNS").unwrap_or(runs) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| one(seed))) {
            println!("seed {seed}");
            resume_unwind(panic);
        }
    }
}

#[derive(Clone, Copy)]
enum Step {
    /// From which of its inputs, to which of its outputs.
    Read(usize),
    Write(usize),
    /// Waits for another thread.
    Nap,
}

/// Processes that read and write as they were told, and channels between them.
struct Script {
    /// Of each process.
    steps: Vec<Vec<Step>>,
    /// Writer, reader and capacity.
    channels: Vec<(usize, usize, u32)>,
}

impl Script {
    fn new(seed: u64) -> Script {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let processes = 2 + below(5);
        let channels: Vec<(usize, usize, u32)> = (0..1 + below(2 * processes))
            .map(|_| (below(processes), below(processes), 1 + below(3) as u32))
            .collect();
        let mut steps = vec![Vec::new(); processes];
        // Most often both sides of a token are there, in an order that may or may not block.
        for _ in 0..below(40) {
            let channel = below(channels.len());
            let (from, to, _) = channels[channel];
            let place = |wanted: usize, writer: bool| {
                let end = |&(from, to, _): &(usize, usize, u32)| if writer { from } else { to };
                channels[..channel]
                    .iter()
                    .filter(|of| end(of) == wanted)
                    .count()
            };
            for (process, step) in [
                (from, Step::Write(place(from, true))),
                (to, Step::Read(place(to, false))),
            ] {
                if below(20) > 0 {
                    let late = below(3).min(steps[process].len());
                    let at = steps[process].len() - late;
                    steps[process].insert(at, step);
                    if below(4) == 0 {
                        steps[process].insert(at, Step::Nap);
                    }
                }
            }
        }
        Script { steps, channels }
    }

    fn network(
        self: &Arc<Self>,
        end: impl Fn((u32, u64)) + Clone + Send + Sync + 'static,
    ) -> Network {
        let mut net = Network::new("script", "script.dot");
        let all = format!("0+1*{}", self.steps.len());
        let this = Arc::clone(self);
        let kind = net.kind("p", Names::Numbered("p", &all), &all, BOTH, {
            move |mut ports: Both<u64>| {
                let (this, end) = (Arc::clone(&this), end.clone());
                async move {
                    let rank = rt::me().rank;
                    let mut state = rank as u64;
                    for &step in &this.steps[rank] {
                        state = next(state);
                        match step {
                            Step::Read(place) => {
                                state ^= ports.ins[place].read().await.unwrap_or(0);
                            }
                            Step::Write(place) => {
                                ports.outs[place].write_or_discard(state).await;
                            }
                            Step::Nap => nap().await,
                        }
                    }
                    end((rank as u32, state));
                }
            }
        });
        net.payload(rt::format_of!(u64));
        for &(from, to, capacity) in &self.channels {
            net.channels::<u64>(Channels {
                capacity,
                ..Channels::new((kind, 1), (kind, 0), &from.to_string(), &to.to_string())
            });
        }
        net
    }

    /// What becomes of it where channels have room for everything: it goes on for as long as somebody can.
    fn ends(&self) -> Vec<(u32, u64)> {
        let mut done = vec![0; self.steps.len()];
        let mut states: Vec<u64> = (0..self.steps.len() as u64).collect();
        let mut tokens = vec![Vec::new(); self.channels.len()];
        let nth = |process: usize, place: usize, writer: bool| {
            let of = |&at: &usize| {
                let (from, to, _) = self.channels[at];
                process == if writer { from } else { to }
            };
            (0..self.channels.len()).filter(of).nth(place).unwrap()
        };
        loop {
            let mut moved = false;
            for process in 0..self.steps.len() {
                while let Some(&step) = self.steps[process].get(done[process]) {
                    let mut state = next(states[process]);
                    match step {
                        Step::Write(place) => tokens[nth(process, place, true)].push(state),
                        Step::Read(place) => {
                            let channel = nth(process, place, false);
                            let writer = self.channels[channel].0;
                            if !tokens[channel].is_empty() {
                                state ^= tokens[channel].remove(0);
                            } else if done[writer] < self.steps[writer].len() {
                                break;
                            }
                        }
                        Step::Nap => {}
                    }
                    (states[process], moved) = (state, true);
                    done[process] += 1;
                }
            }
            if !moved {
                break;
            }
        }
        let ended = |&process: &usize| done[process] == self.steps[process].len();
        let ended = (0..self.steps.len()).filter(ended);
        ended
            .map(|process| (process as u32, states[process]))
            .collect()
    }
}

/// What becomes of a process with each of its steps, beside what it reads.
fn next(state: u64) -> u64 {
    state.wrapping_mul(0x0100_0000_01b3) ^ 7
}

/// Who ends, and what has become of it, is what a model without processes says; what is told of a block is what one
/// scheduler tells.
#[test]
fn standstills_are_found_and_none_is_false() {
    let (blocked, grown) = (Cell::new(0), Cell::new(0));
    seeds(2000, |seed| {
        let mut random = Random(!seed);
        let script = Arc::new(Script::new(seed));
        let log = Log::new();
        let alone = rt::run(script.network(log.adder()), &Options::new());
        let ends = log.sorted();
        let model = script.ends();
        let whole = model.len() == script.steps.len();
        assert_eq!(alone.is_ok(), whole, "one scheduler");
        // Some that a model ends wait for room that nobody will give: they are none in a cycle.
        assert!(ends.iter().all(|end| model.contains(end)));
        assert!(!whole || ends == model);
        let os_processes = 2 + random.below(3) as usize;
        let mapping =
            (0..script.steps.len()).map(|_| random.below(os_processes as u64).to_string());
        let mapping: Sequence = mapping.collect::<Vec<_>>().join(" ").parse().unwrap();
        let options = match random.below(2) {
            0 => Options::new().mapping(mapping),
            _ => Options::new(),
        };
        let several = run_simulated(
            || script.network(log.adder()),
            &options,
            os_processes,
            random.next(),
        );
        assert_eq!(log.sorted(), ends);
        match (alone, several) {
            (Ok(alone), Ok(several)) => {
                assert_eq!(alone.growths.len(), several.growths.len());
                grown.set(grown.get() + several.growths.len());
            }
            (Err(RunError::Blocked(alone)), Err(RunError::Blocked(several))) => {
                assert_eq!(several.processes, alone.processes);
                blocked.set(blocked.get() + 1);
            }
            (alone, several) => panic!("{alone:?} {several:?}"),
        }
    });
    // There was something to be found.
    assert!(blocked.get() > 0 && grown.get() > 0);
}

/// Programs in which nothing may block, and reads and writes are cancelled, tried again and woken from elsewhere.
#[test]
fn nothing_is_lost_on_a_late_link() {
    seeds(100, |seed| {
        let mut random = Random(!seed);
        let log = Log::new();
        let network = || accounted::network(program::program(seed), log.adder());
        rt::run(network(), &Options::new()).unwrap();
        let ends = log.sorted();
        for os_processes in [2, 3] {
            let seed = random.next();
            run_simulated(network, &Options::new(), os_processes, seed).unwrap();
            assert_eq!(log.sorted(), ends, "{os_processes}");
        }
    });
}

/// Ends of flow-controlled channels that open, ask, leave and close in any order, where what they tell each other is late.
#[test]
fn flow_controlled_channels_lose_nothing_on_a_late_link() {
    seeds(150, |seed| {
        let mut random = Random(!seed);
        let log = Log::new();
        let network = || flows::network(seed, log.adder());
        rt::run(network(), &Options::new()).unwrap();
        let total = log.take();
        for os_processes in [2, 3, 6] {
            let seed = random.next();
            run_simulated(network, &Options::new(), os_processes, seed).unwrap();
            assert_eq!(log.take(), total, "{os_processes}");
        }
    });
}
