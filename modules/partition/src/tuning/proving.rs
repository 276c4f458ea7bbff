//! Limits of bounds and proofs.

/// Lower bounds of the cost.
///
/// `benches/mapping/run structured --ours auto@1000`: more mappings are proved, or the gap is
/// smaller.
pub(crate) mod bounds {
    // bound.rs
    /// From this number of vertices on, only one forest is used.
    pub(crate) const ONE_FOREST: usize = 50_000;
    /// Up to this number of edge ends, all bounds except flows take a few milliseconds. They are
    /// then computed even if the time is over.
    pub(crate) const PROMPT: usize = 20_000;
    // bound/sweep.rs
    /// Number of greedy orders that are tried.
    pub(crate) const GREEDY: usize = 24;
    // bound/lightest.rs
    /// Factor by which more light edges are examined than are needed. If too few of them are in the
    /// forest, the number grows by this factor again.
    pub(crate) const MORE: usize = 16;
    // bound/relaxation.rs
    /// Most groups of a kind that a round adds, besides the most expensive one.
    pub(crate) const MET: usize = 16;
    // bound/master.rs
    /// Number of rounds after which an unused column is dropped.
    pub(crate) const IDLE: u32 = 25;
    /// Most exchanges for one step.
    pub(crate) const MOVES: usize = 400;
    /// Number of rounds that must gain the share `PROGRESS` of the missing amount.
    pub(crate) const PATIENCE: u64 = 40;
    pub(crate) const PROGRESS: f64 = 0.02;
    // bound/flow.rs
    /// Growth of the length of an edge that was filled once.
    pub(crate) const GROWTH: f64 = 0.5;
    // bound/hubs.rs
    /// A vertex is a hub if at least one in `HUB` of all vertices is its neighbour.
    pub(crate) const HUB: usize = 32;
    /// Smaller networks have no hubs, because other bounds are good for them.
    pub(crate) const HUB_LEAST: usize = 64;
    /// Most hubs that are used. They are those with the most neighbours.
    pub(crate) const HUBS: usize = 4;
    // solve/alike.rs
    /// Number of neighbours from which on a vertex is removed before components are compared.
    pub(crate) const TAKEN_OUT: usize = 5;
    /// Most vertices of a component that is compared. Larger ones are seldom equal to another.
    pub(crate) const ALIKE: usize = 64;
}

/// Searches that enumerate all mappings.
///
/// `benches/mapping/run structured --ours auto@1000`, `benches/mapping/run tight --ours auto@1000`:
/// more mappings are proved.
pub(crate) mod proofs {
    // strategy/small.rs
    /// Up to this number of pairs of a vertex and a block, `LONGER` times as many nodes are tried.
    /// 20 processes in four OS processes have 80 pairs.
    pub(crate) const FEW: usize = 80;
    pub(crate) const LONGER: u64 = 10;
    // exact/structure.rs
    /// Most vertices of a network.
    pub(crate) const STRUCTURED: usize = 5_000;
    /// Up to this number of pairs of a vertex and a block, a proof is near.
    pub(crate) const NEAR: usize = 4_000;
    /// Most entries of the tables. Each takes about a nanosecond in every round.
    pub(crate) const ENTRIES: usize = 9_000_000;
    /// Least number of rounds that the time must suffice for, and the least number after a search
    /// without a time limit.
    pub(crate) const FEWEST: u64 = 40;
    pub(crate) const FEW_ROUNDS: u64 = 4;
    /// Most rounds of pricing.
    pub(crate) const ROUNDS: u64 = 2_000;
    /// Partial mappings of a length kept by the first pass, and the factor by which the next pass
    /// keeps more.
    pub(crate) const WIDTH: usize = 100;
    pub(crate) const WIDER: usize = 6;
    // exact/fill.rs
    /// Most different sizes.
    pub(crate) const SIZES: usize = 400;
    /// Most remainders that are stored.
    pub(crate) const REMEMBERED: usize = 200_000;
    /// Most ways to fill a block that are kept. A search would hardly try more of them. If some are
    /// dropped, a search that finds no mapping proves nothing.
    pub(crate) const WAYS: usize = 10_000;
    // proof.rs
    /// Number of nodes after which a proof about loads ends.
    pub(crate) const LOADS: u64 = 100_000;
}
