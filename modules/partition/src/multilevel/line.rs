//! Mappings of runs: vertices in some order, cut into one run per block by dynamic programming.
//! Near the best on pipelines and chains of modules, where the order is that of the flow.

use std::collections::VecDeque;

use crate::instance::Instance;
use crate::random::Random;

/// Orders worth cutting: as written, breadth first and depth first from an end of the network.
pub(crate) fn order(inst: &Instance, kind: usize, random: &mut Random) -> Vec<u32> {
    let n = inst.len();
    if kind == 0 || n == 0 {
        return (0..n as u32).collect();
    }
    let far = breadth_first(inst, random.below(n) as u32);
    let end = far[n - 1];
    if kind % 2 == 1 {
        breadth_first(inst, end)
    } else {
        depth_first(inst, end)
    }
}

fn breadth_first(inst: &Instance, start: u32) -> Vec<u32> {
    let n = inst.len() as u32;
    let mut seen = vec![false; n as usize];
    let mut order = Vec::with_capacity(n as usize);
    for root in std::iter::once(start).chain(0..n) {
        if seen[root as usize] {
            continue;
        }
        seen[root as usize] = true;
        let mut next = order.len();
        order.push(root);
        while next < order.len() {
            let v = order[next];
            next += 1;
            for (u, _) in inst.row(v) {
                if !seen[u as usize] {
                    seen[u as usize] = true;
                    order.push(u);
                }
            }
        }
    }
    order
}

/// Depth first along the heaviest edge, children with small subtrees left for last by the stack.
fn depth_first(inst: &Instance, start: u32) -> Vec<u32> {
    let n = inst.len() as u32;
    let mut seen = vec![false; n as usize];
    let mut order = Vec::with_capacity(n as usize);
    let mut stack = Vec::new();
    for root in std::iter::once(start).chain(0..n) {
        stack.push(root);
        while let Some(v) = stack.pop() {
            if std::mem::replace(&mut seen[v as usize], true) {
                continue;
            }
            order.push(v);
            let mut next: Vec<(i64, u32)> = inst
                .row(v)
                .filter(|e| !seen[e.0 as usize])
                .map(|(u, w)| (w, u))
                .collect();
            next.sort_unstable();
            stack.extend(next.iter().map(|e| e.1));
        }
    }
    order
}

/// Cuts the order into a run for each block, each within its load bound, at the
/// least sum of crossing traffic times the distance of the two blocks that meet there. `None` when
/// no such cut exists. Time: vertices times blocks.
pub(crate) fn cut(inst: &Instance, order: &[u32]) -> Option<Vec<u32>> {
    let (n, k) = (inst.len(), inst.k());
    let mut place = vec![0_u32; n];
    order
        .iter()
        .enumerate()
        .for_each(|(i, &v)| place[v as usize] = i as u32);
    // Traffic over each gap, and load before it.
    let mut crossing = vec![0_i64; n + 1];
    let mut before = vec![0_i64; n + 1];
    for (i, &v) in order.iter().enumerate() {
        before[i + 1] = before[i] + inst.load(v);
        crossing[i + 1] += crossing[i];
        for (u, w) in inst.row(v) {
            crossing[i + 1] += if place[u as usize] as usize > i {
                w
            } else {
                -w
            };
        }
    }
    const NEVER: i64 = i64::MAX / 2;
    let mut best = vec![NEVER; n + 1];
    best[0] = 0;
    let mut from = vec![0_u32; (n + 1) * k];
    for b in 0..k {
        let bound = inst.load_bound(b);
        let distance = if b == 0 {
            0
        } else {
            inst.distance(b as u32 - 1, b as u32)
        };
        let mut next = vec![NEVER; n + 1];
        let mut window: VecDeque<(i64, u32)> = VecDeque::new();
        for i in 0..=n {
            if best[i] < NEVER {
                let open = best[i] + if i == n { 0 } else { crossing[i] * distance };
                while window.back().is_some_and(|w| w.0 > open) {
                    window.pop_back();
                }
                window.push_back((open, i as u32));
            }
            while window
                .front()
                .is_some_and(|w| before[i] - before[w.1 as usize] > bound)
            {
                window.pop_front();
            }
            if let Some(&(cost, j)) = window.front() {
                next[i] = cost;
                from[b * (n + 1) + i] = j;
            }
        }
        best = next;
    }
    if best[n] >= NEVER {
        return None;
    }
    let mut block = vec![0; n];
    let mut end = n;
    for b in (0..k).rev() {
        let start = from[b * (n + 1) + end] as usize;
        order[start..end]
            .iter()
            .for_each(|&v| block[v as usize] = b as u32);
        end = start;
    }
    Some(block)
}
