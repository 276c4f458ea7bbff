//! A first mapping: the vertices are split among the hosts, each host's among its sockets, and so
//! on down the tree of the machine, every split by bisections.

use std::sync::Arc;

use super::bisect::bisect;
use super::sub::{Sides, Sub};
use crate::instance::Instance;
use crate::random::Random;

/// How hard a bisection is tried.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tries {
    /// Starts at the coarsest level of each bisection.
    pub(crate) coarsest: usize,
    /// Whole bisections where the cut is the most expensive; the best one counts.
    pub(crate) rounds: usize,
}

/// The tries for small instances.
pub(crate) const THOROUGH: Tries = Tries {
    coarsest: 4,
    rounds: 4,
};

/// Recursive multisection. The result respects fixed vertices; balance is best effort.
///
/// `slack_share` from 0 to 1 says how much of the slack the first bisections may use up: at 0 every level
/// gets its even part, at 1 the uppermost, whose cut is the most expensive, may take all.
pub(crate) fn multisection(
    inst: &Instance,
    tries: Tries,
    slack_share: f64,
    random: &mut Random,
) -> Vec<u32> {
    let mut block = vec![0; inst.len()];
    let all: Vec<u32> = (0..inst.len() as u32).collect();
    section(
        inst,
        (all, vec![0]),
        (tries, slack_share),
        &mut block,
        random,
    );
    block
}

/// Divides these vertices anew among the blocks below these nodes of the machine, by recursive
/// multisection; other vertices do not count and stay where they are.
pub(crate) fn section(
    inst: &Instance,
    region: (Vec<u32>, Vec<u32>),
    (tries, slack_share): (Tries, f64),
    block: &mut [u32],
    random: &mut Random,
) {
    let mut local = vec![u32::MAX; inst.len()];
    let mut work = vec![region];
    let nodes = inst.shared.machine.nodes();
    while let Some((vertices, mut parts)) = work.pop() {
        // One part with several children: go down into it.
        while let [only] = parts[..] {
            if nodes[only as usize].children.is_empty() {
                break;
            }
            parts = nodes[only as usize].children.clone();
        }
        if let [only] = parts[..] {
            let leaf = nodes[only as usize].blocks[0];
            vertices.iter().for_each(|&v| block[v as usize] = leaf);
            continue;
        }
        let (first, second) = halve(inst, &parts);
        let side = split(
            inst,
            &vertices,
            [&first, &second],
            (tries, slack_share),
            random,
            &mut local,
        );
        let mut sets = [Vec::new(), Vec::new()];
        for (i, &v) in vertices.iter().enumerate() {
            sets[side[i] as usize].push(v);
        }
        let [one, two] = sets;
        work.push((two, second));
        work.push((one, first));
    }
}

fn blocks_of(inst: &Instance, parts: &[u32]) -> usize {
    parts
        .iter()
        .map(|&p| inst.shared.machine.nodes()[p as usize].blocks.len())
        .sum()
}

fn room(inst: &Instance, parts: &[u32]) -> i64 {
    let nodes = inst.shared.machine.nodes();
    let blocks = parts.iter().flat_map(|&p| &nodes[p as usize].blocks);
    blocks
        .map(|&b| inst.load_bound(b as usize))
        .fold(0, i64::saturating_add)
}

/// Divides the parts into two runs of about equally many blocks.
fn halve(inst: &Instance, parts: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let total = blocks_of(inst, parts);
    let mut at = 1;
    let mut below = blocks_of(inst, &parts[..1]);
    // The first part alone may be more than half.
    while at + 1 < parts.len() && below * 2 < total {
        let next = below + blocks_of(inst, &parts[at..=at]);
        if next * 2 > total && next * 2 - total > total - below * 2 {
            break;
        }
        below = next;
        at += 1;
    }
    (parts[..at].to_vec(), parts[at..].to_vec())
}

fn split(
    inst: &Instance,
    vertices: &[u32],
    parts: [&[u32]; 2],
    (tries, slack_share): (Tries, f64),
    random: &mut Random,
    local: &mut [u32],
) -> Vec<u8> {
    for (i, &v) in vertices.iter().enumerate() {
        local[v as usize] = i as u32;
    }
    let here = |u: u32| Some(local[u as usize]).filter(|&there| there != u32::MAX);
    let mut sub = Sub {
        graph: inst.graph.among(vertices.iter().copied(), here),
        size: Arc::new(vertices.iter().map(|&v| inst.load(v)).collect()),
        fixed: Vec::new(),
    };
    if !inst.set.is_empty() {
        let nodes = inst.shared.machine.nodes();
        let reaches = |v: u32, side: usize| {
            let mut blocks = parts[side].iter().flat_map(|&p| &nodes[p as usize].blocks);
            blocks.any(|&b| inst.may_lie(v, b))
        };
        let fix = |&v: &u32| match (reaches(v, 0), reaches(v, 1)) {
            (true, false) => 1,
            (false, true) => 2,
            _ => 0,
        };
        sub.fixed = vertices.iter().map(fix).collect();
    }
    vertices.iter().for_each(|&v| local[v as usize] = u32::MAX);

    let total: i64 = sub.size.iter().sum();
    let rooms = [room(inst, parts[0]), room(inst, parts[1])];
    let both = (rooms[0] as f64 + rooms[1] as f64).max(1.0);
    let share = rooms[0] as f64 / both;
    let want = (total as f64 * share).round() as i64;
    // What slack there is, is spread over the bisections still to come.
    let blocks = blocks_of(inst, parts[0]) + blocks_of(inst, parts[1]);
    let depth = usize::BITS - (blocks - 1).leading_zeros();
    let even = 1.0 / f64::from(depth);
    let slack = (both / (total.max(1) as f64))
        .powf(even + (1.0 - even) * slack_share)
        .max(1.0);
    let most = |part: f64, room: i64| ((total as f64 * part * slack) as i64).min(room);
    let sides = Sides {
        want,
        most: [most(share, rooms[0]), most(1.0 - share, rooms[1])],
    };
    // The upper cuts cost the most: try them more often.
    let apart = inst.distance(
        inst.shared.machine.nodes()[parts[0][0] as usize].blocks[0],
        inst.shared.machine.nodes()[parts[1][0] as usize].blocks[0],
    );
    let farthest =
        i64::from(inst.shared.machine.diameter()) - i64::from(inst.shared.machine.collocated());
    let rounds = if apart >= farthest { tries.rounds } else { 1 };
    let attempt = |random: &mut Random| bisect(&sub, sides, tries.coarsest, random);
    (0..rounds)
        .map(|_| attempt(random))
        .min_by_key(|side| sub.judge(side, sides))
        .expect("a round")
}
