//! Reduction of the traffic of the busiest host link. Moves and swaps lower the largest traffic
//! that leaves a host, or the cost at the same traffic.

use std::time::Instant;

use super::state::State;
use crate::budget::Clock;
use crate::clusters::distinct;
use crate::instance::Instance;
use crate::watch::Watch;

/// Improves a mapping in place until no single move or swap helps, the time is over, or the search
/// is cancelled. Vertices move only to blocks of their neighbours on other hosts, or swap places
/// with a vertex there. Does not break more limits than the mapping did before.
///
/// Does nothing for a single host, without a table of distances, or if vertices times blocks exceed
/// 65,536. So large instances keep the mapping of least cost.
pub(crate) fn refine(
    inst: &Instance,
    block: &mut Vec<u32>,
    (stop_at, watch): (Option<Instant>, Option<&Watch>),
) {
    let hosts: Vec<&[u32]> = inst.shared.machine.hosts().collect();
    if hosts.len() < 2 || !inst.has_table() || inst.len() * inst.k() > 1 << 16 {
        return;
    }
    let mut host = vec![0; inst.k()];
    for (h, blocks) in hosts.iter().enumerate() {
        blocks.iter().for_each(|&b| host[b as usize] = h);
    }
    let mut state = State::new(inst, std::mem::take(block));
    let faults = state.faults;
    let mut leaving = Leaving::new(&state, host);
    let mut now = (leaving.busiest(), state.cost);
    let mut clock = Clock::new(stop_at);
    let mut improved = true;
    'passes: while improved {
        improved = false;
        for v in 0..inst.len() as u32 {
            if watch.is_some_and(Watch::is_cancelled) {
                break;
            }
            let from = state.block[v as usize];
            let targets: Vec<u32> = inst.row(v).map(|e| state.block[e.0 as usize]).collect();
            'targets: for to in distinct(&targets) {
                let near = leaving.host[to as usize] == leaving.host[from as usize];
                if near || !inst.is_allowed(v, to) {
                    continue;
                }
                let back: Vec<Option<u32>> = (0..inst.len() as u32)
                    .filter(|&u| state.block[u as usize] == to && inst.is_allowed(u, from))
                    .map(Some)
                    .collect();
                for other in std::iter::once(None).chain(back) {
                    if clock.is_late(WORK * (inst.degree(v) + inst.k())) {
                        break 'passes;
                    }
                    leaving.shift(&mut state, v, to);
                    if let Some(u) = other {
                        leaving.shift(&mut state, u, from);
                    }
                    let fits = state.faults <= faults;
                    let then = if fits { leaving.busiest() } else { i64::MAX };
                    if (then, state.cost) < now {
                        now = (then, state.cost);
                        improved = true;
                        break 'targets;
                    }
                    if let Some(u) = other {
                        leaving.shift(&mut state, u, to);
                    }
                    leaving.shift(&mut state, v, from);
                }
            }
        }
    }
    *block = state.block;
}

/// Approximate time of a try for each neighbour, in nanoseconds.
const WORK: usize = 10;

/// Traffic that leaves each host. It is updated with each move, because a new sum takes time linear
/// in the edges.
struct Leaving {
    /// Host of each block.
    host: Vec<usize>,
    traffic: Vec<i64>,
}

impl Leaving {
    fn new(state: &State<'_>, host: Vec<usize>) -> Self {
        let mut traffic = vec![0; host.iter().max().map_or(0, |last| last + 1)];
        for v in 0..state.inst.len() as u32 {
            let here = host[state.block[v as usize] as usize];
            for (u, w) in state.inst.row(v) {
                if host[state.block[u as usize] as usize] != here {
                    traffic[here] += w;
                }
            }
        }
        Leaving { host, traffic }
    }

    /// Moves a vertex to block `to` in `state`, and updates the traffic of the hosts. Traffic
    /// between two hosts counts at both.
    fn shift(&mut self, state: &mut State<'_>, v: u32, to: u32) {
        let here = self.host[state.block[v as usize] as usize];
        let then = self.host[to as usize];
        for (u, w) in state.inst.row(v) {
            let there = self.host[state.block[u as usize] as usize];
            for (host, w) in [(here, -w), (then, w)] {
                if host != there {
                    self.traffic[host] += w;
                    self.traffic[there] += w;
                }
            }
        }
        state.shift(v, to);
    }

    fn busiest(&self) -> i64 {
        self.traffic.iter().copied().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::{Channel, Graph, Machine, Problem};

    #[test]
    fn moves_update_the_traffic_of_hosts() {
        let mut random = Random::new(3);
        let mut any = |most: usize| random.below(most) as u32;
        let channels: Vec<Channel> = (0..60)
            .map(|_| Channel {
                from: any(20),
                to: any(20),
                traffic: u64::from(any(9)),
            })
            .collect();
        let graph = Graph::new(vec![1; 20], &channels).unwrap();
        let machine = Machine::regular(&[(2, 1), (3, 10)]).unwrap();
        let inst = Instance::new(&Problem::new(&graph, &machine)).unwrap().0;
        let host: Vec<usize> = (0..6).map(|block| block / 2).collect();
        let mut state = State::new(&inst, (0..20).map(|_| any(6)).collect());
        let mut leaving = Leaving::new(&state, host.clone());
        for _ in 0..200 {
            leaving.shift(&mut state, any(20), any(6));
            assert_eq!(leaving.traffic, Leaving::new(&state, host.clone()).traffic);
        }
    }

    #[test]
    fn cancelled_search_changes_nothing() {
        let channel = |(from, to)| Channel {
            from,
            to,
            traffic: 1,
        };
        let channels = [(0, 1), (2, 3)].map(channel);
        let graph = Graph::new(vec![1; 4], &channels).unwrap();
        let machine = Machine::regular(&[(1, 1), (2, 10)]).unwrap();
        let inst = Instance::new(&Problem::new(&graph, &machine)).unwrap().0;
        let watch = Watch::new(std::sync::Arc::new(true.into()));
        let mut block = vec![0, 1, 0, 1];
        refine(&inst, &mut block, (None, Some(&watch)));
        assert_eq!(block, [0, 1, 0, 1]);
        refine(&inst, &mut block, (None, None));
        assert!(block[0] == block[1] && block[2] == block[3]);
    }
}
