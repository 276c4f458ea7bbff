//! Clusters for the next coarser level.

use super::level::Level;
use crate::random::Random;

/// Vertices are visited in random order inside stretches of this many: random enough, and near in
/// memory.
const STRETCH: usize = 2048;

/// In which order vertices look for their partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they are numbered, and each its neighbours as they are listed.
    Numbered,
    /// At random, nearly.
    Random,
}

impl Order {
    /// What suits a network. A mesh that is numbered line by line stays one when it is contracted
    /// in that order: straight lines can then be seen on the coarsest level, and nothing is as
    /// near in memory. Random clusters make it a denser thing without lines; other networks gain
    /// nothing by their numbers. So both are tried on a stretch of it.
    pub(crate) fn of(level: &Level, random: &mut Random) -> Self {
        let sample = level.first(SAMPLE.max(level.len() / 32));
        let mut arcs = |order| {
            let (map, clusters) = cluster(&sample, None, order, i64::MAX, random);
            sample.contract(&map, clusters).arcs.len() as f64 / clusters.max(1) as f64
        };
        if arcs(Self::Numbered) < SPARSER * arcs(Self::Random) {
            Self::Numbered
        } else {
            Self::Random
        }
    }
}

/// Vertices that the order is tried on, at least.
const SAMPLE: usize = 4096;
/// Arcs a vertex of a contracted mesh, against those after random contraction, at most.
const SPARSER: f64 = 0.9;

/// Pairs vertices along heavy edges with light ends, then lets those left over join the cluster
/// of a neighbour (without which the leaves around a hub would stay apart for ever). With
/// `within`, a cluster stays inside one block. No cluster gets heavier than `heaviest` but a
/// vertex that is so alone. Returns the cluster of each vertex and how many there are.
pub(crate) fn cluster(
    level: &Level,
    within: Option<&[u32]>,
    visit: Order,
    heaviest: i64,
    random: &mut Random,
) -> (Vec<u32>, usize) {
    let n = level.len();
    let mut map = vec![u32::MAX; n];
    let mut load: Vec<i64> = Vec::with_capacity(n / 2 + 1);
    // What a neighbour is rated by; 0 for those that are taken.
    let light = |&l: &i64| 1.0 / (l.max(1) as f32);
    let mut worth: Vec<f32> = level.load.iter().map(light).collect();
    let mut order: Vec<u32> = Vec::with_capacity(STRETCH);
    for from in (0..n).step_by(STRETCH) {
        order.clear();
        order.extend(from as u32..(from + STRETCH).min(n) as u32);
        if visit == Order::Random {
            random.shuffle(&mut order);
        }
        for &v in &order {
            if map[v as usize] != u32::MAX {
                continue;
            }
            worth[v as usize] = 0.0;
            let room = heaviest - level.load[v as usize];
            let row = level.row(v);
            // Rows of a mesh all start in the same direction: start elsewhere, or random clusters
            // would all lie the same way.
            let turn = if row.is_empty() || visit == Order::Numbered {
                0
            } else {
                random.below(row.len())
            };
            let near = |u: u32| within.is_none_or(|b| b[u as usize] == b[v as usize]);
            let mut best = (0.0_f32, u32::MAX);
            for part in [&row[turn..], &row[..turn]] {
                for arc in part {
                    let weight = arc.weight as f32;
                    let rate = weight * weight * worth[arc.to as usize];
                    if rate > best.0 && near(arc.to) && level.load[arc.to as usize] <= room {
                        best = (rate, arc.to);
                    }
                }
            }
            if best.1 != u32::MAX {
                worth[best.1 as usize] = 0.0;
                map[v as usize] = load.len() as u32;
                map[best.1 as usize] = load.len() as u32;
                load.push(level.load[v as usize] + level.load[best.1 as usize]);
                continue;
            }
            let mut beside = (0.0_f32, u32::MAX);
            for arc in row {
                let there = map[arc.to as usize];
                if there == u32::MAX || !near(arc.to) {
                    continue;
                }
                let weight = arc.weight as f32;
                let held = load[there as usize];
                let rate = weight * weight / (held.max(1) as f32);
                if rate > beside.0 && held <= room {
                    beside = (rate, there);
                }
            }
            if beside.1 != u32::MAX {
                map[v as usize] = beside.1;
                load[beside.1 as usize] += level.load[v as usize];
            } else {
                map[v as usize] = load.len() as u32;
                load.push(level.load[v as usize]);
            }
        }
    }
    (map, load.len())
}
