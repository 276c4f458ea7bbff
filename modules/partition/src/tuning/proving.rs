//! What bounds and proofs may take.

/// Lower bounds of the cost.
///
/// `benches/mapping/run structured --ours auto@1000`: more is proved, or the gap is smaller.
pub(crate) mod bounds {
    // bound.rs
    /// From so many vertices on, only one forest is looked at.
    pub(crate) const ONE_FOREST: usize = 50_000;
    /// Up to so many ends of edges all bounds but flows take a few milliseconds, and are looked at however
    /// late it is.
    pub(crate) const PROMPT: usize = 20_000;
    // bound/sweep.rs
    /// Greedy tries.
    pub(crate) const GREEDY: usize = 24;
    // bound/lightest.rs
    /// So many times as many light edges as are wanted are looked at first, and again so many times
    /// as many while too few of them are in the forest.
    pub(crate) const MORE: usize = 16;
    // bound/relaxation.rs
    /// Most groups of a kind that a round yields, beside the most expensive.
    pub(crate) const MET: usize = 16;
    // bound/master.rs
    /// Columns unused for so many rounds are dropped.
    pub(crate) const IDLE: u32 = 25;
    /// Most exchanges for one step.
    pub(crate) const MOVES: usize = 400;
    /// Rounds that must gain this share of what is missing.
    pub(crate) const PATIENCE: u64 = 40;
    pub(crate) const PROGRESS: f64 = 0.02;
    // bound/flow.rs
    /// How much longer an edge gets that was filled once.
    pub(crate) const GROWTH: f64 = 0.5;
    // bound/hubs.rs
    /// A vertex is a hub if at least one in so many of all vertices is beside it.
    pub(crate) const HUB: usize = 32;
    /// Smaller networks have no hubs: other bounds do well there.
    pub(crate) const HUB_LEAST: usize = 64;
    /// At most so many are looked at, those with the most neighbours.
    pub(crate) const HUBS: usize = 4;
    // solve/alike.rs
    /// From so many neighbours on a vertex is taken out.
    pub(crate) const TAKEN_OUT: usize = 5;
    /// Larger components are seldom like another.
    pub(crate) const ALIKE: usize = 64;
}

/// Searches that go through all mappings, in one way or another.
///
/// `benches/mapping/run structured --ours auto@1000`, `benches/mapping/run tight --ours auto@1000`: more is proved.
pub(crate) mod proofs {
    // strategy/small.rs
    /// Up to so many pairs of a vertex and a block, as of 20 processes in four OS processes, so many times as many
    /// tries are made.
    pub(crate) const FEW: usize = 80;
    pub(crate) const LONGER: u64 = 10;
    // exact/structure.rs
    /// Up to so many vertices.
    pub(crate) const STRUCTURED: usize = 5_000;
    /// Up to so many pairs of a vertex and a block a proof is near.
    pub(crate) const NEAR: usize = 4_000;
    /// Entries of the tables, which take about a nanosecond each in every round.
    pub(crate) const ENTRIES: usize = 9_000_000;
    /// Rounds that there must be time for; and without a time, after the search.
    pub(crate) const FEWEST: u64 = 40;
    pub(crate) const FEW_ROUNDS: u64 = 4;
    /// Most rounds of pricing.
    pub(crate) const ROUNDS: u64 = 2_000;
    /// Beginnings of a length kept in the first pass, and how many times as many in the next.
    pub(crate) const WIDTH: usize = 100;
    pub(crate) const WIDER: usize = 6;
    // exact/fill.rs
    /// Up to so many sizes.
    pub(crate) const SIZES: usize = 400;
    /// Remainders that are remembered.
    pub(crate) const REMEMBERED: usize = 200_000;
    /// Ways to fill a block that are kept to be tried; more would hardly all be tried anyhow. Where some
    /// are left out, that none of the others fits proves nothing.
    pub(crate) const WAYS: usize = 10_000;
    // proof.rs
    /// Tries until a proof about loads is given up.
    pub(crate) const LOADS: u64 = 100_000;
}
