//! What has been fitted by measuring: how often something is tried, for how long, and when something else
//! is. Each group names the command whose table it was fitted to, and is to be fitted to again: a value is
//! better when the mean of `J` falls over all networks of the suite, for three seeds and more, and no suite
//! named gets worse. What follows from memory, from the size of numbers or from a proof stands where it is used.

mod proving;

pub(crate) use proving::{bounds, proofs};

/// The search for small networks: what is tried, how often, and when.
///
/// `benches/mapping/run small --ours auto@100,auto@1000,auto#4000000 --tries 3`
pub(crate) mod small {
    /// A network is small up to so many vertices: the search for small networks is made, branch and bound
    /// is asked whether there is a mapping, and flows are looked for to bound the cost.
    pub(crate) const NETWORK: usize = 20_000;
    /// And up to so many table entries (vertices times blocks), for which the table of costs is used throughout.
    pub(crate) const TABLE: usize = 1 << 22;
    // strategy/small.rs
    /// Up to so many vertices a proof is tried.
    pub(crate) const PROVABLE: usize = 256;
    /// The engine for large networks is brief where the budget has fewer steps for each vertex.
    pub(crate) const SHORT: u64 = 50_000;
    /// Mappings kept to be mixed with the best.
    pub(crate) const KEPT: usize = 6;
    /// At first so many starts are made at most, in this share of the budget, and so many at least.
    pub(crate) const STARTS: usize = 64;
    pub(crate) const FEWEST: usize = 3;
    pub(crate) const OPENING: f64 = 0.35;
    /// Share of the budget to bring a start within its bounds, as one over so much, and steps of it at least
    /// and at most: few steps leave a mapping that costs several times what many do.
    pub(crate) const REPAIR: u64 = 2;
    pub(crate) const REPAIRS: [u64; 2] = [300_000, 6_000_000];
    /// Share from which on only the best is improved.
    pub(crate) const LAST: f64 = 0.75;
    /// Another start is improved after so many tries without a gain that took so much of the budget, and
    /// so much of the time that led to the last gain.
    pub(crate) const IDLE: u32 = 80;
    pub(crate) const STALLED: f64 = 0.04;
    pub(crate) const STALLING: f64 = 0.7;
    /// After this share of the budget the uppermost groups are searched by themselves, for this share at
    /// most.
    pub(crate) const OUTER: f64 = 0.7;
    pub(crate) const INNER: f64 = 0.2;
    /// Pairs of blocks that are divided anew in a row.
    pub(crate) const PAIRS: usize = 8;
    // strategy/operators.rs
    /// An operator is left out if the budget has no room for so many tries of it.
    pub(crate) const TRIES: u64 = 50;
    /// Steps of divisions anew in a row; and of a long row, which finds what no short one does, where the budget
    /// has room for so many of them.
    pub(crate) const DIVISIONS: [u64; 2] = [50_000, 400_000];
    pub(crate) const LONG_DIVISIONS: u64 = 1_500_000;
    pub(crate) const LONG_TRIES: u64 = 16;
    /// Steps for each vertex and level of a cycle.
    pub(crate) const CYCLE: u64 = 250;
    /// What older tries of an operator count against the last.
    pub(crate) const DECAY: f64 = 0.95;
    // strategy/rounds.rs
    /// How many times as long as all before it each round is, as a power of two.
    pub(crate) const GROWTH: u32 = 3;
    /// The round at whose end the default number of steps is.
    pub(crate) const DEFAULT: u32 = 3;
    /// The last round that is the same with a time and without, and how many times as many steps a search with a
    /// time has taken after each of its further rounds.
    pub(crate) const LAST_COMMON: u32 = 1;
    pub(crate) const TIMED_GROWTH: f64 = 3.0;
    /// What is worth trying in those is decided as if they had so many times as many steps: there are more to come.
    pub(crate) const HORIZON: u64 = 8;
    /// To make a start counts so many times as many steps there: by the clock it takes longer than it counts in a search
    /// without a time, and some networks would spend most of a short time on starts.
    pub(crate) const START_COST: u64 = 6;
    /// Share of a time limit after which a proof that is near is tried, and that it gets.
    pub(crate) const PROVED: f64 = 0.25;
    // strategy/start.rs
    /// From so many vertices on, every eighth start is made with more effort: geometric networks and trees of a
    /// thousand get 2 to 7% better.
    pub(crate) const COARSE: usize = 200;
    /// What it counts to make one, in steps for each vertex and end of an edge.
    pub(crate) const MAKING: usize = 64;
    // strategy/inside.rs
    /// From so many vertices on it is worth it.
    pub(crate) const LARGE: usize = 200;
}

/// What is divided anew among a few blocks, where loads hardly fit and elsewhere.
///
/// `benches/mapping/run tight --ours auto@1000`, `benches/mapping/run small --ours auto#4000000`
pub(crate) mod divisions {
    // refine/exchange.rs, refine/state.rs
    /// Excess that a pair in one block counts that should be apart, in mean blocks.
    pub(crate) const TOGETHER: f64 = 0.25;
    /// Most vertices that are divided anew among two, three and four blocks.
    pub(crate) const MOST: [usize; 3] = [14, 10, 8];
    /// Tries of a division until the cheapest one met counts.
    pub(crate) const TRIES: u32 = 1_000;
    /// What one try counts beside a proposed move of annealing.
    pub(crate) const PACE: u64 = 4;
    /// Rounds until the price of excess is looked at.
    pub(crate) const EPOCH: u64 = 16;
    // refine/pair.rs
    /// Fronts are never wider.
    pub(crate) const WIDEST: usize = 10;
    /// Loads of both blocks together are counted in so many units at most.
    pub(crate) const UNITS: i64 = 2_000;
    /// Table entries that a division may take.
    pub(crate) const ENTRIES: u64 = 240_000;
    // pack.rs
    /// A factor of the least load bounds that is not worth another packing.
    pub(crate) const CLOSE: f64 = 1.001;
}

/// The engine for large networks; rules, where it says so.
///
/// `benches/mapping/run large --ours fast,auto `, for rules `benches/mapping/run held`
pub(crate) mod large {
    /// How much work goes into a mapping.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Effort {
        /// Vertices of the network when it is mapped, about.
        pub(crate) small: usize,
        /// So many a block, if that is more.
        pub(crate) per_block: usize,
        /// One of so many, if that is more.
        pub(crate) share: usize,
        /// Stages of dividing: one for each class of distances up to so many.
        pub(crate) stages: usize,
        /// Whole attempts below the level of `core` vertices, of which the best goes on: in the first
        /// stage, whose cuts are the most expensive, and in each later one.
        pub(crate) attempts: [usize; 2],
        /// Vertices of the level that attempts end on.
        pub(crate) core: usize,
        /// Bisections of each part on levels up to `core`, the best of which counts.
        pub(crate) bisections: usize,
        /// Starts of each bisection.
        pub(crate) tries: usize,
        /// Vertices that a part has when it is halved.
        pub(crate) per_part: usize,
        /// Rounds of sweeps on each level.
        pub(crate) sweeps: usize,
        /// Rounds of searches between pairs of parts on each level.
        pub(crate) rounds: usize,
        /// Passes of local searches among all parts on each level.
        pub(crate) passes: usize,
        /// V-cycles at the end of each stage: other clusters, inside the parts, moved as wholes.
        pub(crate) cycles: usize,
        /// The same where most vertices lie at a boundary, so that there is no shape to improve.
        pub(crate) cycles_if_dense: usize,
        /// Searches between pairs of parts end when they have looked at every edge of a level so many
        /// times: dense networks, in which every part touches every other, would be searched without
        /// end.
        pub(crate) edge_visits: usize,
        /// Moves after the best point of a local search.
        pub(crate) patience: usize,
        /// Share of the slack for the most expensive cuts.
        pub(crate) slack_share: f64,
        /// Channels over a cut through a narrow order, on average and at most, relative to the side of a
        /// square of as many vertices as a block has.
        pub(crate) narrow: f64,
        /// Vertices on either side of such a cut that are refined.
        pub(crate) near: usize,
    }

    /// In a hurry.
    pub(crate) const FAST: Effort = Effort {
        small: 6000,
        per_block: 48,
        share: 160,
        stages: 2,
        attempts: [8, 1],
        core: 1000,
        bisections: 2,
        tries: 2,
        per_part: 24,
        sweeps: 4,
        rounds: 1,
        passes: 0,
        patience: 0,
        cycles: 0,
        cycles_if_dense: 0,
        edge_visits: 3,
        slack_share: 0.6,
        narrow: 0.5,
        near: 64,
    };

    /// For good mappings.
    pub(crate) const GOOD: Effort = Effort {
        small: 20_000,
        per_block: 240,
        share: 25,
        stages: 3,
        attempts: [12, 2],
        core: 2000,
        bisections: 4,
        tries: 4,
        per_part: 60,
        sweeps: 4,
        rounds: 3,
        passes: 1,
        patience: 40,
        cycles: 2,
        cycles_if_dense: 0,
        edge_visits: 3,
        slack_share: 0.8,
        narrow: 0.35,
        near: 256,
    };

    impl Effort {
        /// The same for networks that are dominated by hubs and contract poorly: small levels say little about them and cost much, so
        /// that there are few attempts there and many searches on all levels; slack gains less at the
        /// most expensive cuts than it would further down.
        pub(crate) fn hub_dominated(&self) -> Self {
            Self {
                attempts: self.attempts.map(|a| a.div_ceil(3).min(4)),
                rounds: self.rounds + 2,
                edge_visits: 2 * self.edge_visits,
                passes: 0,
                cycles_if_dense: self.cycles.min(1),
                slack_share: 0.5 * self.slack_share,
                ..*self
            }
        }
    }

    /// As good as that, but with fewer attempts: where there is time for little else.
    pub(crate) const BRIEF: Effort = Effort {
        attempts: [6, 1],
        ..GOOD
    };
    /// In a hurry as well, with halves of even load that are found among more vertices: a start that differs.
    pub(crate) const EVEN: Effort = Effort {
        attempts: [4, 1],
        per_part: 200,
        slack_share: 0.0,
        ..FAST
    };
    /// In a hurry as well, with all slack for the most expensive cuts: a start that differs.
    pub(crate) const UNEVEN: Effort = Effort {
        slack_share: 1.0,
        ..FAST
    };
    // large/mod.rs
    /// Up to so many blocks: their table of distances takes 128 MB.
    pub(crate) const BLOCKS: usize = 4096;
    /// Edges left by a contraction, at least: a network dominated by hubs has 0.85 of them left, random networks of few edges a
    /// vertex 0.7, meshes and chains half and fewer.
    pub(crate) const HUB_DOMINATED: f64 = 0.77;
    /// Shares of a time after which no more attempts are made, and no more V-cycles: what is begun must be
    /// done before it is over.
    pub(crate) const TRYING: f64 = 0.3;
    pub(crate) const CYCLING: f64 = 0.6;
    /// Share of a time after which nothing more is begun where it is used up, and V-cycles without a gain after
    /// which another mapping is made from the start.
    pub(crate) const LAST_BEGUN: f64 = 0.95;
    pub(crate) const STALLED: u32 = 2;
    /// Share of the cost that is no gain to speak of.
    pub(crate) const NEGLIGIBLE: f64 = 0.0003;
    /// How many times as long as one in a hurry a good mapping takes, cut short as it may be. Where there is less time,
    /// several in a hurry gain more than one that is not done.
    pub(crate) const GOOD_PER_FAST: u32 = 4;
    // large/constrained.rs
    /// Those who are pinned or keep apart stay alone up to so many times the vertices that are wanted,
    /// and up to so many as if those were not few.
    pub(crate) const TIED: usize = 4;
    pub(crate) const SMALL: usize = 250;
    /// Fewer do not: they would bend the lines of a mesh that is paired as it is numbered.
    pub(crate) const HANDFUL: usize = 8;
    /// A dimension is sparse when one vertex of so many has some of it, or fewer.
    pub(crate) const SPARSE: usize = 4;
    // large/coarsen.rs
    /// Vertices are visited in random order inside stretches of this many: random enough, and near in
    /// memory.
    pub(crate) const STRETCH: usize = 2048;
    /// Vertices that the order is tried on, at least.
    pub(crate) const SAMPLE: usize = 4096;
    /// Arcs a vertex of a contracted mesh, against those after random contraction, at most.
    pub(crate) const SPARSER: f64 = 0.9;
    /// A vertex with so many neighbours is a hub.
    pub(crate) const HUB: usize = 256;
    // large/pairs.rs
    /// A search ends so many moves after its best point, and one more for so many vertices that it
    /// began with.
    pub(crate) const PATIENCE: usize = 20;
    pub(crate) const LENGTH: usize = 10;
    // large/refine.rs
    /// Where parts are relieved, vertices with more neighbours than this are looked at anew when one of
    /// these moves only until every edge could have been looked at so many times: else each of the
    /// moves around a hub would cost a look at all of its edges.
    pub(crate) const FEW: usize = 64;
    pub(crate) const ANEW: usize = 8;
    // large/repair.rs
    /// Rounds of repair: what is sent away can overfill a part, and what leaves that one another.
    pub(crate) const ROUNDS: usize = 4;
    /// Vertices asked to come to a part that lacks some.
    pub(crate) const ASKED: usize = 4096;
    // large/groups.rs
    /// Blocks of a group, at most: as many as are mapped at once without much ado.
    pub(crate) const TOGETHER: usize = 512;
}

/// Networks with a narrow order.
///
/// `benches/mapping/run large --ours fast,auto --only farm`, `benches/mapping/run growth --ours fast,auto`
pub(crate) mod narrow {
    /// Smaller networks take no time worth saving, and their searches want starts that differ.
    pub(crate) const LEAST: usize = 10_000;
    /// Places to choose from, for each block.
    pub(crate) const PLACES: usize = 1024;
    /// Between the cuts so many times as many channels may pass.
    pub(crate) const BETWEEN: f64 = 4.0;
    /// So much of the traffic over the cuts, at least, is between vertices that stand so near to them.
    pub(crate) const SHORT: f64 = 0.9;
    pub(crate) const REACH: usize = 256;
    /// One vertex of so many is asked how far its channels go.
    pub(crate) const SAMPLE: usize = 61;
    /// The dynamic programme may look at so many gaps for each vertex, over all blocks: loose bounds on
    /// many blocks would make it quadratic.
    pub(crate) const WORK: usize = 8;
    /// So many windows of the order are bisected, with up to so many vertices each.
    pub(crate) const WINDOWS: usize = 3;
    pub(crate) const WINDOW: usize = 2048;
    /// What a bisection may save, at most.
    pub(crate) const ACROSS: f64 = 0.5;
}

/// How a time limit is shared out, and what is done within it.
///
/// `benches/mapping/run small --ours auto@100,auto@1000`, `benches/mapping/run large --ours auto@1000`
pub(crate) mod time {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    // solve/stages.rs
    /// The longest time that is searched, some thirty years: instants end somewhere.
    pub(crate) const LONGEST: Duration = Duration::from_secs(1 << 30);
    /// The most threads that a search takes.
    pub(crate) const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(1 << 10).unwrap();
    // budget.rs
    /// Steps of a search that is given neither time nor steps.
    pub(crate) const STEPS: u64 = 4_000_000;
    /// Nanoseconds of a step of annealing, about.
    pub(crate) const STEP: u128 = 12;
    /// Share of a time limit in which it is settled, at the end, what bounds a search has to keep: what that
    /// takes does not grow with the time.
    pub(crate) const SETTLED: f64 = 0.25;
    // solve/stages.rs
    /// Share of the time or steps that a search has until it must have found something feasible.
    pub(crate) const PATIENCE: f64 = 0.25;
    /// Share of a time limit for packing, and for what is packed with little effort.
    pub(crate) const PACKING: f64 = 0.1;
    pub(crate) const BRIEF_PACKING: f64 = 0.05;
    /// One of so many parts of a time limit is for relieving the busiest host, whatever the bound has taken.
    pub(crate) const REFINED: u32 = 32;
    /// Work of bounds and proofs for each step of a search without a time: they take about as long as
    /// the search.
    pub(crate) const PROVING: u64 = 8;
    /// One of so many parts of that is for a proof by the structure of the network.
    pub(crate) const STRUCTURE: u64 = 4;
    /// Share of a time limit that METIS may take to be asked.
    pub(crate) const BASELINE: f64 = 0.05;
    /// Up to so many vertices and edge ends it is asked at all: beyond, it takes longer than our own search,
    /// which was ahead of it on all that was measured.
    pub(crate) const ASKED: usize = 200_000;
    /// How many times as long as to set a problem up and ask plain rules is what comes at the end, about; and
    /// what it takes for each vertex and edge end (gathering what is alike, judging, the plans of others), which
    /// is more where they are too many for caches.
    pub(crate) const AFTER: u32 = 3;
    pub(crate) const AFTER_EACH: Duration = Duration::from_nanos(80);
    /// Share of a time limit that they get, and of one of a tenth of a second or less: there the first
    /// flows are what counts, and the search gains more by the rest.
    pub(crate) const BOUNDING: f64 = 0.1;
    pub(crate) const BRIEFLY: f64 = 0.04;
    // solve/stages/balance.rs
    /// Nodes that branch and bound has to find a mapping: the same for all budgets, so that the same
    /// bounds are raised.
    pub(crate) const SETTLING: u64 = 200_000;
    /// Share of a time limit that it has for it, and to find what is in conflict.
    pub(crate) const FEASIBLE: f64 = 0.05;
    pub(crate) const TOLD: f64 = 0.5;
    /// Most times that overfull blocks are set aside, and the bounds of the others raised less.
    pub(crate) const HELD: usize = 4;
    // solve/prices.rs
    /// Prices that are tried, as what they are multiplied with and divided by.
    pub(crate) const PRICES: [(u64, u64); 3] = [(0, 1), (1, 8), (8, 1)];
    /// Steps for each of them, share of a time, and share of what is left of a time after which all that are
    /// in steps are cut off.
    pub(crate) const PRICED: u64 = 62_500;
    pub(crate) const SHARE: f64 = 0.02;
    pub(crate) const PRICING: f64 = 0.25;
}
