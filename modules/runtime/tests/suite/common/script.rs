//! Small random networks that may block. Processes follow a script, and a model with unbounded
//! channels predicts which of them end.

use std::sync::Arc;

use super::ways::nap;
use super::{BOTH, Both, Random};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network};

#[derive(Clone, Copy)]
pub enum Step {
    /// Index of the input that is read. For `Write`, of the output that is written.
    Read(usize),
    Write(usize),
    /// Waits until another thread wakes the process.
    Nap,
}

/// Processes that read and write as their steps say, and the channels between them.
pub struct Script {
    /// Steps of each process.
    pub steps: Vec<Vec<Step>>,
    /// Writer, reader and capacity of each channel.
    channels: Vec<(usize, usize, u32)>,
}

impl Script {
    pub fn new(seed: u64) -> Script {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut below = |bound: usize| random.below(bound as u64) as usize;
        let processes = 2 + below(5);
        let channels: Vec<(usize, usize, u32)> = (0..1 + below(2 * processes))
            .map(|_| (below(processes), below(processes), 1 + below(3) as u32))
            .collect();
        let mut steps = vec![Vec::new(); processes];
        // Usually, both the write and the read of a token are added, in an order that may or may
        // not block.
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

    pub fn network(
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

    /// Returns the processes that end if channels are unbounded, with their final states.
    pub fn ends(&self) -> Vec<(u32, u64)> {
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

/// Returns the state after a step, without the value that the step reads.
fn next(state: u64) -> u64 {
    state.wrapping_mul(0x0100_0000_01b3) ^ 7
}
