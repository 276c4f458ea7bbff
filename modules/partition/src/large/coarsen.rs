//! Clusters for the next coarser level.

use super::constrained::Joins;
use super::level::Level;
use crate::clusters::in_order;
use crate::random::Random;
use crate::tuning::large::{HUB, SAMPLE, SPARSER, STRETCH};

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
        let heaviest = 5 * sample.total_load() / sample.len().max(1) as i64;
        let mut arcs = |order| {
            let (map, clusters) = cluster(&sample, None, order, heaviest, None, random);
            sample.contract(&map, clusters).arcs() as f64 / clusters.max(1) as f64
        };
        if arcs(Self::Numbered) < SPARSER * arcs(Self::Random) {
            Self::Numbered
        } else {
            Self::Random
        }
    }
}

/// Lets every vertex, one after the other, join the neighbour or the cluster of neighbours that it
/// is tied to most strongly for its load: dense regions grow together (as when labels spread,
/// Raghavan, Albert, Kumara 2007), and the leaves of a hub do not stay apart for ever. Numbered
/// meshes are paired instead, and only those left over join a cluster. With `within`, a cluster
/// stays inside one block. No cluster gets heavier than `heaviest` but a vertex that is so alone,
/// and `joins` says who may join whom. Returns the cluster of each vertex and how many there are.
pub(crate) fn cluster(
    level: &Level,
    within: Option<&[u32]>,
    visit: Order,
    heaviest: i64,
    joins: Option<Joins<'_>>,
    random: &mut Random,
) -> (Vec<u32>, usize) {
    let n = level.len();
    let mut clusters = Clusters {
        level,
        within,
        visit,
        heaviest,
        joins,
        map: vec![NONE; n],
        load: Vec::with_capacity(n / 2 + 1),
        ties: Vec::with_capacity(n / 2 + 1),
        around: Vec::new(),
    };
    for from in (0..n).step_by(STRETCH) {
        let mut order: Vec<u32> = (from as u32..(from + STRETCH).min(n) as u32).collect();
        if visit == Order::Random {
            random.shuffle(&mut order);
            level.read_ahead(from, from + order.len());
        }
        for &v in &order {
            if clusters.map[v as usize] == NONE {
                clusters.place(v, random);
            }
        }
    }
    let Clusters { mut map, load, .. } = clusters;
    // What is near stays near.
    in_order(&mut map, load.len());
    (map, load.len())
}

/// No vertex, or no cluster.
const NONE: u32 = u32::MAX;

/// Clusters while they form.
struct Clusters<'a> {
    level: &'a Level,
    within: Option<&'a [u32]>,
    visit: Order,
    heaviest: i64,
    joins: Option<Joins<'a>>,
    /// The cluster of each vertex.
    map: Vec<u32>,
    load: Vec<i64>,
    /// Weight to each cluster from the vertex that is being placed; 0 between two of them.
    ties: Vec<i64>,
    /// The clusters to which it is tied.
    around: Vec<u32>,
}

impl Clusters<'_> {
    /// How strongly a vertex is tied to another, or to a cluster, for the load of that.
    fn rate(tie: i64, load: i64) -> f32 {
        tie as f32 * tie as f32 / load.max(1) as f32
    }

    /// Lets a vertex join a cluster, or open one, which its partner joins if it has one.
    #[inline]
    fn place(&mut self, v: u32, random: &mut Random) {
        let partner = self.partner(v, random);
        if let Some(c) = self.cluster_beside(v, partner) {
            return self.add(v, c);
        }
        let c = self.open(v);
        if partner.1 != NONE {
            self.add(partner.1, c);
        }
    }

    /// The best neighbour in no cluster, after its rate. Sums up the ties to clusters on the way.
    #[inline]
    fn partner(&mut self, v: u32, random: &mut Random) -> (f32, u32) {
        let room = self.heaviest - self.level.load[v as usize];
        let row = self.level.range(v);
        // Rows of a mesh all start in the same direction: start elsewhere, or random clusters
        // would all lie the same way.
        let turn = if row.is_empty() || self.visit == Order::Numbered {
            row.start
        } else {
            row.start + random.below(row.len())
        };
        let mut best = (0.0_f32, NONE);
        for half in [turn..row.end, row.start..turn] {
            for (u, weight) in self.level.arcs_at(half) {
                if self.within.is_some_and(|b| b[u as usize] != b[v as usize]) {
                    continue;
                }
                let there = self.map[u as usize];
                if there != NONE {
                    if self.ties[there as usize] == 0 {
                        self.around.push(there);
                    }
                    self.ties[there as usize] += weight;
                    continue;
                }
                let load = self.level.load[u as usize];
                let rate = Self::rate(weight, load);
                if rate > best.0 && load <= room && self.joins.as_ref().is_none_or(|j| j.pair(v, u))
                {
                    best = (rate, u);
                }
            }
        }
        best
    }

    /// The best cluster that a vertex is tied to, if it is better than the partner. Clears the
    /// ties.
    #[inline]
    fn cluster_beside(&mut self, v: u32, partner: (f32, u32)) -> Option<u32> {
        let room = self.heaviest - self.level.load[v as usize];
        let paired = self.visit == Order::Numbered && partner.1 != NONE;
        let (mut best, mut cluster) = (partner.0, None);
        for c in self.around.drain(..) {
            let load = self.load[c as usize];
            let rate = Self::rate(std::mem::take(&mut self.ties[c as usize]), load);
            if !paired
                && rate > best
                && load <= room
                && self.joins.as_ref().is_none_or(|j| j.join(v, c, &self.map))
            {
                (best, cluster) = (rate, Some(c));
            }
        }
        cluster
    }

    /// Opens a cluster for a vertex.
    #[inline]
    fn open(&mut self, v: u32) -> u32 {
        let c = self.load.len() as u32;
        self.map[v as usize] = c;
        self.load.push(self.level.load[v as usize]);
        self.ties.push(0);
        if let Some(joins) = &mut self.joins {
            joins.open(v);
        }
        c
    }

    #[inline]
    fn add(&mut self, v: u32, c: u32) {
        self.map[v as usize] = c;
        self.load[c as usize] += self.level.load[v as usize];
        if let Some(joins) = &mut self.joins {
            joins.add(v, c);
        }
    }
}

/// Joins those that stayed alone beside the same hub, the one that they are tied to most: around a
/// hub that has taken up what it may, its leaves have nobody else to join (two-hop matching,
/// LaSalle and others, "Improving graph partitioning for modern graphs and architectures", 2015).
/// Time linear in vertices and edges.
pub(crate) fn leaves(
    level: &Level,
    within: Option<&[u32]>,
    heaviest: i64,
    (mut map, clusters): (Vec<u32>, usize),
) -> (Vec<u32>, usize) {
    let n = level.len();
    let mut members = vec![0_u32; clusters];
    map.iter().for_each(|&c| members[c as usize] += 1);
    // By vertex, the cluster of leaves beside it that is being filled, and what it holds.
    let mut open = vec![(u32::MAX, 0_i64); n];
    for v in 0..n {
        if members[map[v] as usize] != 1 {
            continue;
        }
        let Some((hub, _)) = level.row(v as u32).max_by_key(|arc| arc.1) else {
            continue;
        };
        if level.degree(hub) < HUB {
            continue;
        }
        let own = level.load[v];
        let (first, held) = &mut open[hub as usize];
        let beside = *first != u32::MAX
            && *held + own <= heaviest
            && within.is_none_or(|b| b[*first as usize] == b[v]);
        if beside {
            *held += own;
            map[v] = map[*first as usize];
        } else {
            (*first, *held) = (v as u32, own);
        }
    }
    // Numbers that nobody has any more are left out.
    let count = in_order(&mut map, clusters);
    (map, count)
}
