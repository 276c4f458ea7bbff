//! Computes the clusters of the next coarser level.

use super::constrained::Joins;
use super::level::Level;
use crate::clusters::in_order;
use crate::random::Random;
use crate::tuning::large::{HUB, SAMPLE, SPARSER, STRETCH};

/// Order in which vertices choose their partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Vertices by number, and neighbours as listed.
    Numbered,
    /// Random order within stretches of [`STRETCH`] vertices.
    Random,
}

impl Order {
    /// Chooses an order for a network. If a mesh that is numbered row by row is contracted in that
    /// order, it stays a mesh. The coarsest level then still has straight lines, and neighbours
    /// stay close in memory. Random clusters make the mesh denser and destroy its lines. Other
    /// networks gain nothing from their numbering. So both orders are tried on a sample.
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

/// Clusters the vertices of a level. Returns the cluster of each vertex, and the number of
/// clusters.
///
/// Each vertex in turn joins the neighbour, or the cluster of neighbours, with the strongest tie
/// relative to its load. So dense regions grow together, as in label propagation (Raghavan, Albert,
/// Kumara 2007), and the leaves of a hub are joined in the end. With [`Order::Numbered`], vertices
/// are paired instead, and only unpaired vertices join a cluster.
///
/// With `within`, a cluster stays inside one block. No cluster is heavier than `heaviest`, except
/// for a single vertex that is. `joins` restricts which vertices may be joined.
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
    // Renumbered, so that clusters that are close in the level are close in memory.
    in_order(&mut map, load.len());
    (map, load.len())
}

/// Marks a missing vertex or cluster.
const NONE: u32 = u32::MAX;

/// Clusters under construction.
struct Clusters<'a> {
    level: &'a Level,
    within: Option<&'a [u32]>,
    visit: Order,
    heaviest: i64,
    joins: Option<Joins<'a>>,
    /// Cluster of each vertex.
    map: Vec<u32>,
    load: Vec<i64>,
    /// Weight from the current vertex to each cluster. All entries are 0 between two vertices.
    ties: Vec<i64>,
    /// Clusters adjacent to the current vertex.
    around: Vec<u32>,
}

impl Clusters<'_> {
    /// Rates the tie of a vertex to another vertex or cluster: the square of the traffic `tie`,
    /// divided by the load of the other. A load below 1 counts as 1.
    fn rate(tie: i64, load: i64) -> f32 {
        tie as f32 * tie as f32 / load.max(1) as f32
    }

    /// Adds a vertex to an existing cluster, or to a new one, which its partner joins too.
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

    /// Returns the rate of the best neighbour that is not in a cluster and may join the vertex, and
    /// that neighbour. Returns 0 and [`NONE`] if there is none. Also sums up the ties to clusters
    /// in `ties`.
    #[inline]
    fn partner(&mut self, v: u32, random: &mut Random) -> (f32, u32) {
        let room = self.heaviest - self.level.load[v as usize];
        let row = self.level.range(v);
        // All rows of a mesh list the directions in the same order. Start at a random neighbour,
        // because otherwise all random clusters would extend in the same direction.
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

    /// Returns the best cluster that a vertex is tied to and may join, if it has a better rate than
    /// the partner. Returns `None` otherwise, and with [`Order::Numbered`] always if there is a
    /// partner. Resets the ties.
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

    /// Creates a cluster that contains one vertex, and returns its number.
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

/// Joins single vertices that have the same hub as their strongest neighbour. If the cluster of a
/// hub is full, its leaves have no other neighbour to join (two-hop matching, LaSalle and others,
/// "Improving graph partitioning for modern graphs and architectures", 2015). A hub has at least
/// [`HUB`] neighbours. Joint clusters stay inside one block of `within`, and are not heavier than
/// `heaviest`. Takes and returns the cluster of each vertex and the number of clusters. The time is
/// linear in vertices and edges.
pub(crate) fn leaves(
    level: &Level,
    within: Option<&[u32]>,
    heaviest: i64,
    (mut map, clusters): (Vec<u32>, usize),
) -> (Vec<u32>, usize) {
    let n = level.len();
    let mut members = vec![0_u32; clusters];
    map.iter().for_each(|&c| members[c as usize] += 1);
    // First member and load of the cluster of leaves that is being filled, by hub.
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
    // Renumber, because some clusters are empty now.
    let count = in_order(&mut map, clusters);
    (map, count)
}
