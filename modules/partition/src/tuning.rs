//! Parameters that were fitted by measurement: how often and how long an operation is tried, and
//! when.
//!
//! Each module names the benchmark command that its values were fitted to, for use when they are
//! fitted again. A value is better if the mean of `J` over all networks of the suite decreases, for
//! at least three seeds, and no named suite gets worse. Values that follow from memory, from the
//! size of numbers or from a proof are defined where they are used.

mod proving;

pub(crate) use proving::{bounds, proofs};

/// Search for small networks.
///
/// `benches/mapping/run small --ours auto@100,auto@1000,auto#4000000 --tries 3`
pub(crate) mod small {
    /// Largest number of vertices of a small network. Small networks get the search for small
    /// networks, branch and bound for feasibility, and flows for the lower bound.
    pub(crate) const NETWORK: usize = 20_000;
    /// Largest cost table (vertices times blocks) of a small network. The search for small networks
    /// uses the table throughout.
    pub(crate) const TABLE: usize = 1 << 22;
    // strategy/small.rs
    /// Largest number of vertices for which a proof is tried.
    pub(crate) const PROVABLE: usize = 256;
    /// Planned steps per vertex below which the engine for large networks uses `BRIEF`.
    pub(crate) const SHORT: u64 = 50_000;
    /// Mappings that are kept to be combined with the best one.
    pub(crate) const KEPT: usize = 6;
    /// Most initial solutions before `OPENING`.
    pub(crate) const MOST_INITIAL: usize = 64;
    /// Fewest initial solutions.
    pub(crate) const FEWEST_INITIAL: usize = 3;
    /// Share of the budget in which initial solutions beyond `FEWEST_INITIAL` are made.
    pub(crate) const OPENING: f64 = 0.35;
    /// The budget is divided by this number for the repair of infeasible initial solutions.
    pub(crate) const REPAIR: u64 = 2;
    /// Fewest and most steps of that repair. A repair with few steps leaves a mapping that costs
    /// several times more than a repair with many.
    pub(crate) const REPAIRS: [u64; 2] = [300_000, 6_000_000];
    /// Share of the budget after which only the best mapping is improved.
    pub(crate) const LAST: f64 = 0.75;
    /// Consecutive operators without a gain before the search turns to the next initial solution.
    pub(crate) const IDLE: u32 = 80;
    /// Share of the budget without a gain before it does so.
    pub(crate) const STALLED: f64 = 0.04;
    /// The same, relative to the time from the start of an attempt to its last gain. The longer one
    /// counts.
    pub(crate) const STALLING: f64 = 0.7;
    /// Share of the budget after which the uppermost groups are searched separately.
    pub(crate) const OUTER: f64 = 0.7;
    /// Largest share of the budget for that.
    pub(crate) const INNER: f64 = 0.2;
    /// Pairs of blocks that one application of `Operator::Pairs` divides again.
    pub(crate) const PAIRS: usize = 8;
    // strategy/operators.rs
    /// An operator is not used if the budget has no room for this number of tries.
    pub(crate) const TRIES: u64 = 50;
    /// Steps of a short and of a medium run of `Operator::Exchange`. The medium one also repairs
    /// mappings.
    pub(crate) const DIVISIONS: [u64; 2] = [50_000, 400_000];
    /// Steps of a long run, which makes improvements that shorter runs do not.
    pub(crate) const LONG_DIVISIONS: u64 = 1_500_000;
    /// Long runs are used if the budget has room for this number of them.
    pub(crate) const LONG_TRIES: u64 = 16;
    /// Steps of a V-cycle for each vertex and level.
    pub(crate) const CYCLE: u64 = 250;
    /// Weight of the earlier tries of an operator relative to the last one.
    pub(crate) const DECAY: f64 = 0.95;
    // strategy/rounds.rs
    /// Binary logarithm of the growth of the total steps from the end of one round to the end of
    /// the next.
    pub(crate) const GROWTH: u32 = 3;
    /// Round at whose end the default number of steps is used.
    pub(crate) const DEFAULT: u32 = 3;
    /// Last round that is the same with and without a time limit.
    pub(crate) const LAST_COMMON: u32 = 1;
    /// Growth of the total steps in each further round with a time limit.
    pub(crate) const TIMED_GROWTH: f64 = 3.0;
    /// In these rounds, operators are chosen as if there were this many times the planned steps,
    /// because more rounds follow.
    pub(crate) const HORIZON: u64 = 8;
    /// In these rounds, the steps of making an initial solution count this many times. It takes
    /// longer by the clock than its steps without a time limit suggest. Otherwise, some networks
    /// would spend most of a short time on initial solutions.
    pub(crate) const INITIAL_COST: u64 = 6;
    /// Share of a time limit after which a proof is tried if `structure::is_near` holds. The proof
    /// gets the same share.
    pub(crate) const PROVED: f64 = 0.25;
    // strategy/start.rs
    /// Least number of vertices for which every eighth initial solution is made with more effort.
    /// This improves geometric networks and trees of a thousand vertices by 2 to 7%.
    pub(crate) const COARSE: usize = 200;
    /// Steps that making an initial solution counts, for each vertex and end of an edge.
    pub(crate) const MAKING: usize = 64;
    // strategy/inside.rs
    /// Least number of vertices for which groups are searched separately.
    pub(crate) const LARGE: usize = 200;
}

/// Division of the vertices of a few blocks, with tight load bounds and without.
///
/// `benches/mapping/run tight --ours auto@1000`, `benches/mapping/run small --ours auto#4000000`
pub(crate) mod divisions {
    // refine/exchange.rs, refine/state.rs
    /// Excess of two vertices that share a place but must be apart, in mean block loads.
    pub(crate) const TOGETHER: f64 = 0.25;
    /// Most vertices that are divided among two, three and four blocks.
    pub(crate) const MOST: [usize; 3] = [14, 10, 8];
    /// Tries after which a division ends with the cheapest result so far.
    pub(crate) const TRIES: u32 = 1_000;
    /// Steps of annealing that one try counts.
    pub(crate) const PACE: u64 = 4;
    /// Divisions after which the price of excess is adapted.
    pub(crate) const EPOCH: u64 = 16;
    // refine/pair.rs
    /// Largest width of a front.
    pub(crate) const WIDEST: usize = 10;
    /// Largest number of units in which the joint load of both blocks is counted.
    pub(crate) const UNITS: i64 = 2_000;
    /// Most table entries of a division.
    pub(crate) const ENTRIES: u64 = 240_000;
    // pack.rs
    /// Factor between the load bounds of two packings below which the search for smaller bounds
    /// ends.
    pub(crate) const CLOSE: f64 = 1.001;
}

/// Engine for large networks.
///
/// `benches/mapping/run large --ours fast,auto`, and with constraints `benches/mapping/run held`
pub(crate) mod large {
    /// Amount of work for one mapping.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Effort {
        /// Approximate number of vertices to which the network is contracted before it is mapped.
        pub(crate) small: usize,
        /// The same per block. The larger number is used.
        pub(crate) per_block: usize,
        /// The same as one of this number of vertices. The largest number is used.
        pub(crate) share: usize,
        /// Most stages of dividing, one for each class of distances.
        pub(crate) stages: usize,
        /// Complete attempts below the level of `core` vertices, of which the best is continued.
        /// The first number is for the first stage, which has the most expensive cuts. The second
        /// is for later stages.
        pub(crate) attempts: [usize; 2],
        /// Vertices of the level on which attempts end.
        pub(crate) core: usize,
        /// Bisections of each part on levels up to `core`, of which the best is used.
        pub(crate) bisections: usize,
        /// Initial solutions of each bisection.
        pub(crate) tries: usize,
        /// Least number of vertices per part after the parts of a level are halved.
        pub(crate) per_part: usize,
        /// Rounds of sweeps on each level.
        pub(crate) sweeps: usize,
        /// Rounds of searches between pairs of parts on each level.
        pub(crate) rounds: usize,
        /// Passes of local searches among all parts on each level.
        pub(crate) passes: usize,
        /// V-cycles at the end of each stage. They contract again inside the parts and move whole
        /// clusters.
        pub(crate) cycles: usize,
        /// The same if most vertices are at a boundary, so that parts have no shape that could
        /// improve.
        pub(crate) cycles_if_dense: usize,
        /// Searches between pairs of parts end when they have visited every edge of a level this
        /// many times. Without a limit they would take too long in dense networks, in which all
        /// parts are adjacent.
        pub(crate) edge_visits: usize,
        /// Moves after the best point of a local search before it ends.
        pub(crate) patience: usize,
        /// Share of the slack that the most expensive cuts may use.
        pub(crate) slack_share: f64,
        /// Largest mean number of channels over a cut through a narrow order. It is relative to the
        /// side of a square with as many vertices as a block.
        pub(crate) narrow: f64,
        /// Vertices on either side of such a cut that are refined.
        pub(crate) near: usize,
    }

    /// Effort for a fast mapping.
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

    /// Effort for a good mapping.
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
        /// Returns the effort for networks that are dominated by hubs and contract poorly. Small
        /// levels represent such a network badly and cost much. So there are fewer attempts there,
        /// and more searches between pairs of parts on all levels.
        ///
        /// There are no local searches among all parts. V-cycles also run if most vertices are at a
        /// boundary, but at most one. The most expensive cuts get half of their share of the slack,
        /// because slack gains less there than at later cuts.
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

    /// `GOOD` with fewer attempts, for short time limits.
    pub(crate) const BRIEF: Effort = Effort {
        attempts: [6, 1],
        ..GOOD
    };
    /// `FAST` without slack and with bisections of more vertices, for initial solutions that
    /// differ.
    pub(crate) const EVEN: Effort = Effort {
        attempts: [4, 1],
        per_part: 200,
        slack_share: 0.0,
        ..FAST
    };
    /// `FAST` with all slack for the most expensive cuts, for initial solutions that differ.
    pub(crate) const UNEVEN: Effort = Effort {
        slack_share: 1.0,
        ..FAST
    };
    // large/mod.rs
    /// Most blocks for which there is a table of distances, which then takes 128 MB.
    pub(crate) const BLOCKS: usize = 4096;
    /// Least share of edges that a contraction of a network dominated by hubs leaves. Such networks
    /// keep 0.85 of their edges, sparse random networks 0.7, and meshes and chains half or less.
    pub(crate) const HUB_DOMINATED: f64 = 0.77;
    /// Share of a time limit after which no more attempts begin, so that those begun can end in
    /// time.
    pub(crate) const TRYING: f64 = 0.3;
    /// The same for V-cycles.
    pub(crate) const CYCLING: f64 = 0.6;
    /// The same for all work after the first mapping, if all the time is to be used.
    pub(crate) const LAST_BEGUN: f64 = 0.95;
    /// V-cycles without a gain before another mapping is made from the start.
    pub(crate) const STALLED: u32 = 2;
    /// Share of the cost below which a gain does not count.
    pub(crate) const NEGLIGIBLE: f64 = 0.0003;
    /// Duration of a `GOOD` mapping, possibly cut short, relative to a `FAST` one. With less time,
    /// several fast mappings gain more than an unfinished good one.
    pub(crate) const GOOD_PER_FAST: u32 = 4;
    // large/constrained.rs
    /// Vertices that are pinned or kept apart stay single if they are at most this many times the
    /// target.
    pub(crate) const TIED: usize = 4;
    /// Least target in that comparison.
    pub(crate) const SMALL: usize = 250;
    /// Fewer such vertices do not stay single in a numbered mesh, because they would bend its
    /// lines.
    pub(crate) const HANDFUL: usize = 8;
    /// A dimension is sparse if at most one of this number of vertices has a size in it.
    pub(crate) const SPARSE: usize = 4;
    // large/coarsen.rs
    /// Vertices are visited in random order within stretches of this length. This is random enough,
    /// and the visited vertices are close to each other in memory.
    pub(crate) const STRETCH: usize = 2048;
    /// Least number of vertices on which the order is chosen.
    pub(crate) const SAMPLE: usize = 4096;
    /// The numbered order is used if its contraction leaves less than this share of the arcs per
    /// vertex that a random contraction leaves.
    pub(crate) const SPARSER: f64 = 0.9;
    /// Least number of neighbours of a hub.
    pub(crate) const HUB: usize = 256;
    // large/pairs.rs
    /// Moves after its best point before a search ends.
    pub(crate) const PATIENCE: usize = 20;
    /// One more such move for this number of vertices at the beginning.
    pub(crate) const LENGTH: usize = 10;
    // large/refine.rs
    /// When overfull parts are relieved, vertices with more neighbours than this are only evaluated
    /// again until `VISITS` is reached. Otherwise, each move beside a hub would visit all of its
    /// edges.
    pub(crate) const FEW: usize = 64;
    /// Visits of all vertices and edges after which this rule applies.
    pub(crate) const VISITS: usize = 8;
    // large/repair.rs
    /// Rounds of repair. A vertex that is moved away can overfill another part, which must then
    /// lose a vertex too.
    pub(crate) const ROUNDS: usize = 4;
    /// Vertices that are considered for a part that lacks some.
    pub(crate) const CANDIDATES: usize = 4096;
    // large/groups.rs
    /// Most blocks of a group: a number that is mapped at once with little effort.
    pub(crate) const TOGETHER: usize = 512;
}

/// Networks with a narrow order.
///
/// `benches/mapping/run large --ours fast,auto --only farm`,
/// `benches/mapping/run growth --ours fast,auto`
pub(crate) mod narrow {
    /// Least number of vertices. For smaller networks the order saves no time worth having, and
    /// their search needs initial solutions that differ.
    pub(crate) const LEAST: usize = 10_000;
    /// Possible positions of cuts per block.
    pub(crate) const PLACES: usize = 1024;
    /// Largest mean number of channels over a point of the order, relative to `Effort::narrow`.
    pub(crate) const BETWEEN: f64 = 4.0;
    /// Least share of the traffic over the cuts that is between vertices near them.
    pub(crate) const SHORT: f64 = 0.9;
    /// Largest distance of such a vertex from its cut, in vertices.
    pub(crate) const REACH: usize = 256;
    /// One of this number of vertices is sampled for the length of its channels.
    pub(crate) const SAMPLE: usize = 61;
    /// Most gaps per vertex that the dynamic program visits, over all blocks. Otherwise, loose
    /// bounds on many blocks would make its time quadratic.
    pub(crate) const WORK: usize = 8;
    /// Windows of the order that are bisected as a test.
    pub(crate) const WINDOWS: usize = 3;
    /// Most vertices of a window.
    pub(crate) const WINDOW: usize = 2048;
    /// A window must not be bisected at less than this share of the cheapest cut across the order.
    pub(crate) const ACROSS: f64 = 0.5;
}

/// Division of a time limit among the stages, and limits that depend on it.
///
/// `benches/mapping/run small --ours auto@100,auto@1000`,
/// `benches/mapping/run large --ours auto@1000`
pub(crate) mod time {
    use std::num::NonZeroUsize;
    use std::time::Duration;

    // solve/stages.rs
    /// Longest search, about thirty years. `Instant` cannot represent all later times.
    pub(crate) const LONGEST: Duration = Duration::from_secs(1 << 30);
    /// Most threads of a search.
    pub(crate) const MOST_THREADS: NonZeroUsize = NonZeroUsize::new(1 << 10).unwrap();
    // budget.rs
    /// Default number of steps of a search without a time limit.
    pub(crate) const STEPS: u64 = 4_000_000;
    /// Approximate duration of a step of annealing in nanoseconds.
    pub(crate) const STEP: u128 = 12;
    /// Share of a time limit, from its start, in which the load bounds may always be settled, even
    /// if that exceeds the share for packing. This work does not grow with the time limit.
    pub(crate) const SETTLING_SHARE: f64 = 0.25;
    // solve/stages.rs
    /// Share of the time or steps after which a search without a feasible mapping ends.
    pub(crate) const PATIENCE: f64 = 0.25;
    /// Share of a time limit for packing.
    pub(crate) const PACKING: f64 = 0.1;
    /// The same with little effort.
    pub(crate) const BRIEF_PACKING: f64 = 0.05;
    /// The refinement of the busiest host may always take the time limit divided by this number,
    /// however long the lower bound took.
    pub(crate) const REFINED: u32 = 32;
    /// Work of bounds and proofs for each step of a search without a time limit. They then take
    /// about as long as the search.
    pub(crate) const PROVING: u64 = 8;
    /// That work is divided by this number for a proof by the structure of the network.
    pub(crate) const STRUCTURE: u64 = 4;
    /// Largest share of a time limit that METIS may be expected to take.
    pub(crate) const BASELINE: f64 = 0.05;
    /// Most vertices and ends of edges for which METIS is called. For larger networks it takes
    /// longer than our own search, which gave better mappings in all measurements.
    pub(crate) const METIS_ENTRIES: usize = 200_000;
    /// Duration of the work after the search, relative to the setup and the plain rules before it.
    pub(crate) const AFTER: u32 = 3;
    /// Duration of that work for each vertex and end of an edge: gathering equal parts, evaluation,
    /// and other plans. It is longer if the data do not fit into caches.
    pub(crate) const AFTER_EACH: Duration = Duration::from_nanos(80);
    /// Share of a time limit for bounds and proofs.
    pub(crate) const BOUNDING: f64 = 0.1;
    /// The same for time limits of up to 0.1 s. There only the first flows matter, and the search
    /// gains more from the remaining time.
    pub(crate) const BRIEFLY: f64 = 0.04;
    // solve/stages/balance.rs
    /// Nodes of branch and bound for a feasible mapping. Independent of the budget, so that the
    /// same bounds are raised for all budgets.
    pub(crate) const SETTLING: u64 = 200_000;
    /// Share of a time limit for that.
    pub(crate) const FEASIBLE: f64 = 0.05;
    /// Share of a time limit to find the constraints in conflict.
    pub(crate) const DIAGNOSING: f64 = 0.5;
    /// Most repetitions in which overfull blocks are set aside, so that other bounds are raised
    /// less.
    pub(crate) const SET_ASIDE_ROUNDS: usize = 4;
    // solve/prices.rs
    /// Factors of the prices to try, as numerator and denominator.
    pub(crate) const PRICES: [(u64, u64); 3] = [(0, 1), (1, 8), (8, 1)];
    /// Steps for each price.
    pub(crate) const PRICED: u64 = 62_500;
    /// Share of a time limit for each price, if that is longer.
    pub(crate) const SHARE: f64 = 0.02;
    /// Share of the remaining time after which all searches that are limited by steps end.
    pub(crate) const PRICING: f64 = 0.25;
}
