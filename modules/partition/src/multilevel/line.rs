//! Mappings of runs: a dynamic programme cuts an order of the vertices into one run per block. The
//! result is near the optimum on pipelines and chains of modules, if the order follows the flow.

use std::collections::VecDeque;
use std::mem::replace;

use crate::csr::Csr;
use crate::instance::Instance;
use crate::random::Random;

/// Returns an order of all vertices that is worth cutting. `kind` 0 is the order of their numbers,
/// an odd `kind` breadth first, and any other depth first. The last two start at an end of the
/// network.
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
        let mut next = order.len();
        if !replace(&mut seen[root as usize], true) {
            order.push(root);
        }
        while let Some(&v) = order.get(next) {
            next += 1;
            let around = inst.around(v).iter().copied();
            order.extend(around.filter(|&u| !replace(&mut seen[u as usize], true)));
        }
    }
    order
}

/// Returns all vertices depth first from `start`, with the heaviest edge first. Other components
/// follow in the order of their lowest vertices. Panics if `start` does not exist.
fn depth_first(inst: &Instance, start: u32) -> Vec<u32> {
    let n = inst.len() as u32;
    let mut seen = vec![false; n as usize];
    let mut order = Vec::with_capacity(n as usize);
    let mut stack = Vec::new();
    for root in std::iter::once(start).chain(0..n) {
        stack.push(root);
        while let Some(v) = stack.pop() {
            if replace(&mut seen[v as usize], true) {
                continue;
            }
            order.push(v);
            let unseen = inst.row(v).filter(|e| !seen[e.0 as usize]);
            let mut next: Vec<(i64, u32)> = unseen.map(|(u, w)| (w, u)).collect();
            next.sort_unstable();
            stack.extend(next.iter().map(|e| e.1));
        }
    }
    order
}

/// Cuts the order into one run for each block. Minimises the sum of the traffic over each cut times
/// the distance of the two blocks that meet there.
///
/// `order` must contain each vertex once. A run may be empty. Returns the block of each vertex, or
/// `None` if no such cut keeps the load bounds. The time is proportional to vertices times blocks.
pub(crate) fn cut(inst: &Instance, order: &[u32]) -> Option<Vec<u32>> {
    let mut place = vec![0_u32; inst.len()];
    (0..).zip(order).for_each(|(i, &v)| place[v as usize] = i);
    let place = |v: u32| place[v as usize] as usize;
    let gaps = gaps(inst, |v| inst.load(v), 1, |at| order[at], place);
    let ends = cheapest(inst, &gaps, usize::MAX)?;
    let mut block = vec![0; inst.len()];
    let mut start = 0;
    for (b, &end) in (0..).zip(&ends) {
        let run = &order[start..gaps[end].at];
        run.iter().for_each(|&v| block[v as usize] = b);
        start = gaps[end].at;
    }
    Some(block)
}

/// A gap in an order.
#[derive(Clone, Copy, Default)]
pub(crate) struct Gap {
    /// Number of vertices before the gap, and their load.
    pub(crate) at: usize,
    pub(crate) before: i64,
    /// Traffic and number of channels over the gap.
    pub(crate) traffic: i64,
    pub(crate) channels: i64,
}

/// Returns the cheapest gap of every stretch of `stretch` vertices of an order, and the gaps at
/// both ends. `vertex` maps an index of the order to a vertex, and `place` does the reverse.
pub(crate) fn gaps(
    graph: &Csr,
    load: impl Fn(u32) -> i64,
    stretch: usize,
    vertex: impl Fn(usize) -> u32,
    place: impl Fn(u32) -> usize,
) -> Vec<Gap> {
    let n = graph.len();
    let mut here = Gap::default();
    let mut gaps = vec![here];
    let mut best: Option<Gap> = None;
    for at in 0..n {
        let v = vertex(at);
        for (u, w) in graph.row(v) {
            let sign = if place(u) > at { 1 } else { -1 };
            here.traffic += sign * w;
            here.channels += sign;
        }
        here.at = at + 1;
        here.before += load(v);
        if here.at < n && best.is_none_or(|b| here.traffic < b.traffic) {
            best = Some(here);
        }
        if here.at.is_multiple_of(stretch) || here.at == n {
            gaps.extend(best.take());
        }
    }
    gaps.push(here);
    gaps
}

/// Returns the index of the gap that ends the run of each block, so that the traffic over each cut
/// times the distance there is smallest in total. `gaps` must contain at least the gap at the
/// start.
///
/// Returns `None` if no choice keeps the load bounds, or if it would examine more than `most` gaps.
/// Time and memory are linear in the number of gaps at which each block can end. If the bounds are
/// close, this is a few times the number of gaps.
pub(crate) fn cheapest(inst: &Instance, gaps: &[Gap], most: usize) -> Option<Vec<usize>> {
    const NEVER: i64 = i64::MAX / 2;
    let k = inst.k();
    let last = gaps.len() - 1;
    let total = gaps[last].before;
    let room = |b: usize| inst.load_bound(b);
    // Total load bound of all blocks after each block.
    let mut behind = vec![0_i64; k];
    for b in (1..k).rev() {
        behind[b - 1] = behind[b].saturating_add(room(b));
    }
    let mut ahead = 0_i64;
    let mut work = 0;
    // By block, the first gap at which it can end. For each gap from there, the gap at which the
    // block then begins.
    let mut from: Vec<(usize, Vec<u32>)> = Vec::with_capacity(k);
    let (mut first, mut best) = (0, vec![0_i64]);
    for (b, &behind) in behind.iter().enumerate() {
        ahead = ahead.saturating_add(room(b));
        let low = gaps.partition_point(|g| g.before < total - behind);
        let high = gaps.partition_point(|g| g.before <= ahead);
        let distance = inst.distance((b as u32).saturating_sub(1), b as u32);
        let count = high.saturating_sub(low);
        work += count;
        if work > most {
            return None;
        }
        let (mut next, mut begin) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let mut open: VecDeque<(i64, usize)> = VecDeque::new();
        let mut entered = first;
        for end in low..high {
            while entered <= end && entered < first + best.len() {
                let cost = best[entered - first].saturating_add(gaps[entered].traffic * distance);
                while open.back().is_some_and(|o| o.0 > cost) {
                    open.pop_back();
                }
                open.push_back((cost, entered));
                entered += 1;
            }
            let too_much = |o: &(i64, usize)| gaps[end].before - gaps[o.1].before > room(b);
            while open.front().is_some_and(too_much) {
                open.pop_front();
            }
            let (cost, at) = open.front().copied().unwrap_or((NEVER, 0));
            next.push(cost.min(NEVER));
            begin.push(at as u32);
        }
        from.push((low, begin));
        (first, best) = (low, next);
    }
    let mut end = last;
    if end < first || best.get(end - first).is_none_or(|&cost| cost >= NEVER) {
        return None;
    }
    let mut ends = vec![0; k];
    for b in (0..k).rev() {
        ends[b] = end;
        let (low, begin) = &from[b];
        end = begin[end - low] as usize;
    }
    Some(ends)
}
