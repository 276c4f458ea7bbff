//! Relieving the busiest host link: moves and swaps that lower the largest traffic leaving a host,
//! and at the same traffic the cost.

use super::state::State;
use crate::clusters::distinct;
use crate::instance::Instance;

/// Improves a mapping in place until no single move or swap helps. Only for instances with a
/// table of costs; the larger ones keep the mapping of least cost.
pub(crate) fn refine(inst: &Instance, block: &mut Vec<u32>) {
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
    let mut now = (busiest(&state, &host, hosts.len()), state.cost);
    let mut improved = true;
    while improved {
        improved = false;
        for v in 0..inst.len() as u32 {
            let from = state.block[v as usize];
            let targets: Vec<u32> = inst.row(v).map(|e| state.block[e.0 as usize]).collect();
            for to in distinct(&targets)
                .into_iter()
                .filter(|&b| host[b as usize] != host[from as usize])
            {
                if !inst.may_lie(v, to) {
                    continue;
                }
                let back: Vec<Option<u32>> = (0..inst.len() as u32)
                    .filter(|&u| state.block[u as usize] == to && inst.may_lie(u, from))
                    .map(Some)
                    .collect();
                for other in std::iter::once(None).chain(back) {
                    state.shift(v, to);
                    other.iter().for_each(|&u| state.shift(u, from));
                    let fits = state.faults <= faults;
                    let then = if fits {
                        busiest(&state, &host, hosts.len())
                    } else {
                        i64::MAX
                    };
                    if (then, state.cost) < now {
                        now = (then, state.cost);
                        improved = true;
                        break;
                    }
                    other.iter().for_each(|&u| state.shift(u, to));
                    state.shift(v, from);
                }
                if state.block[v as usize] != from {
                    break;
                }
            }
        }
    }
    *block = state.block;
}

fn busiest(state: &State<'_>, host: &[usize], hosts: usize) -> i64 {
    let mut leaving = vec![0; hosts];
    for v in 0..state.inst.len() as u32 {
        let here = host[state.block[v as usize] as usize];
        for (u, w) in state.inst.row(v) {
            if host[state.block[u as usize] as usize] != here {
                leaving[here] += w;
            }
        }
    }
    leaving.into_iter().max().unwrap_or(0)
}
