//! Mapping of large instances by multilevel coarsening and refinement. An instance with a narrow
//! vertex order is cut in that order instead, see [`narrow`].
//!
//! The network is contracted once to some hundred vertices per block. This coarse network is
//! mapped, then uncoarsened level by level, and each level is refined on traffic times distance. If
//! the contraction would leave most edges in place, the network is mapped without it.
//!
//! The coarse network is mapped for one class of distances after the other, the largest distance
//! first. For each class, it is contracted further to a small core. On the way back up, every part
//! is halved along the tree of the machine as soon as a level has enough vertices for twice as many
//! parts. This is deep multilevel partitioning (Gottesbüren, Heuer, Sanders, Schulz, Seemaier
//! 2021). All parts are then refined together. So the most expensive cuts, between hosts, are
//! refined on every level, and no level is bisected as a whole.

mod bisection_tree;
mod coarsen;
mod constrained;
mod finish;
mod groups;
mod level;
mod limits;
mod mapping;
mod narrow;
mod pairs;
mod refine;
mod repair;
mod restarts;
mod split;
#[cfg(test)]
mod tests;

use crate::budget::Budget;
use crate::clusters::{lifted, lowered};
use crate::instance::Instance;
use crate::random::Random;
use crate::tuning::large::{BLOCKS, CYCLING, HUB_DOMINATED, LAST_BEGUN, TRYING};
pub(crate) use crate::tuning::large::{BRIEF, EVEN, Effort, FAST, GOOD, UNEVEN};
use bisection_tree::{BisectionTree, Parts};
use coarsen::{Order, cluster, leaves};
use constrained::Joins;
use level::Level;
use mapping::Mapping;
use restarts::Restarts;

/// Maps an instance.
///
/// A narrow order is cut into runs; other instances are mapped by contraction. If the instance has
/// more blocks than a distance table can hold ([`BLOCKS`]), it is mapped group by group.
///
/// Returns `None` if the time ends before a mapping is complete. Partial results are discarded, so
/// that more time never gives a worse mapping. [`TimeUse::FillBySize`] has other rules.
/// [`TimeUse::All`] is the same as [`TimeUse::Once`] without a time limit, with an effort of no
/// cycles, or group by group.
pub(crate) fn map(
    inst: &Instance,
    effort: &Effort,
    (budget, time_use): (&Budget<'_>, TimeUse<'_>),
    random: &mut Random,
) -> Option<Vec<u32>> {
    match time_use {
        TimeUse::FillBySize if inst.k() > BLOCKS || !inst.is_plain() => None,
        _ if inst.k() > BLOCKS => groups::map(inst, effort, budget, random),
        TimeUse::All(_) if budget.time.is_none() || effort.cycles == 0 => {
            mapped(inst, effort, (budget, TimeUse::Once), random)
        }
        _ => mapped(inst, effort, (budget, time_use), random),
    }
}

/// Maps an instance once, without a time limit.
pub(crate) fn map_in_full(inst: &Instance, effort: &Effort, random: &mut Random) -> Vec<u32> {
    let no_hurry = Budget::until(None);
    let block = map(inst, effort, (&no_hurry, TimeUse::Once), random);
    block.expect("what takes the time that it needs ends")
}

/// Policy for the use of the time budget.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TimeUse<'a> {
    /// Makes one mapping, or none if the time ends before it is complete.
    Once,
    /// Makes one mapping, continues with the better of it and the given one, and uses all the time
    /// for V-cycles and restarts.
    All(Option<&'a [u32]>),
    /// Makes one mapping. If the time ends early, the parts that are not yet divided are filled by
    /// size. The result is `None` if that violates the bounds, if there are constraints other than
    /// load bounds, or if there are more than [`BLOCKS`] blocks.
    FillBySize,
}

/// Improves a mapping by V-cycles and by restarts with little effort, until the time ends.
///
/// Returns the best mapping. Returns `None` if the time has already ended, or if the instance has
/// more blocks than a distance table can hold. Without a time limit, it ends only after the
/// deadline or if the search is cancelled.
pub(crate) fn restarts(
    inst: &Instance,
    block: &[u32],
    budget: &Budget<'_>,
    random: &mut Random,
) -> Option<Vec<u32>> {
    if inst.k() > BLOCKS || budget.is_over() {
        return None;
    }
    let finest = Level::of(inst);
    let order = Order::of(&finest, random);
    let whole = Stage::new(inst, FAST, order, budget);
    let mut divided = Divided::among_blocks(&whole.tree, block.to_vec());
    let restarts = Restarts::new(&FAST, 0.0, random.clone());
    whole.use_up(&finest, &mut divided, Some(restarts), random);
    Some(divided.part)
}

/// Improves a mapping by moves of vertices. Constraints that the mapping satisfies stay satisfied.
/// Ends early if the time is over. With more than [`BLOCKS`] blocks, vertices move only inside
/// groups of blocks.
pub(crate) fn improve(
    inst: &Instance,
    block: Vec<u32>,
    budget: &Budget<'_>,
    random: &mut Random,
) -> Vec<u32> {
    if inst.k() > BLOCKS {
        return groups::improve(inst, &block, budget, random).unwrap_or(block);
    }
    let whole = Stage::new(inst, GOOD, Order::Random, budget);
    let mut divided = Divided::among_blocks(&whole.tree, block);
    whole.refine(&Level::of(inst), &mut divided, random);
    divided.part
}

/// Maps an instance whose distance table fits in memory. V-cycles and restarts use the remaining
/// time only with [`TimeUse::All`]. Returns `None` if the time ends before a mapping is complete.
/// With [`TimeUse::FillBySize`], returns `None` only if filling by size fails.
fn mapped(
    inst: &Instance,
    wanted: &Effort,
    (budget, time_use): (&Budget<'_>, TimeUse<'_>),
    random: &mut Random,
) -> Option<Vec<u32>> {
    if budget.is_over() && time_use != TimeUse::FillBySize {
        return None;
    }
    let uses_all = matches!(time_use, TimeUse::All(_));
    let begun = budget.used();
    // The restarts use a copy from here, because they must not depend on how far this mapping gets.
    let seeds = random.clone();
    let narrow = inst.is_plain().then(|| narrow::map(inst, wanted, random));
    let narrow = narrow.flatten();
    if narrow.is_some() && !uses_all {
        return narrow;
    }
    let finest = Level::of(inst);
    let order = Order::of(&finest, random);
    let mut whole = Stage::new(inst, *wanted, order, budget);
    let ordered = narrow.is_some();
    let mut divided = if let Some(block) = narrow {
        Divided::among_blocks(&whole.tree, block)
    } else {
        let mut levels = Levels::from(&finest);
        let mut divided = Divided::whole(&whole.tree, finest.len());
        let small =
            (wanted.small.max(wanted.per_block * inst.k())).max(finest.len() / wanted.share);
        match contracted(&finest, small, order, &mut divided, random) {
            Some((coarse, _)) if is_hub_dominated(&finest, &coarse) => {
                whole = Stage::new(inst, wanted.hub_dominated(), order, budget);
                divided = Divided::whole(&whole.tree, finest.len());
            }
            Some(first) => {
                levels.coarser.push(first);
                whole.contract(&mut levels, small, &mut divided, random);
            }
            None => {}
        }
        whole.divide_all(levels, divided, random)
    };
    if !ordered && budget.is_over() {
        return match time_use {
            TimeUse::FillBySize => finish::by_size(&whole.tree, &divided),
            _ => None,
        };
    }
    if let TimeUse::All(known) = time_use {
        if let Some(known) = known.filter(|_| budget.used() < LAST_BEGUN) {
            let mut known = Divided::among_blocks(&whole.tree, known.to_vec());
            if rank(&finest, &mut known) < rank(&finest, &mut divided) {
                divided = known;
            }
        }
        let restarts = (!ordered).then(|| Restarts::new(wanted, budget.used() - begun, seeds));
        whole.use_up(&finest, &mut divided, restarts, random);
    }
    Some(divided.part)
}

/// Returns the excess of a division over all limits, and its cost. A smaller pair is better.
fn rank(level: &Level, divided: &mut Divided) -> (i64, i64) {
    let seen = Mapping::new(level, &divided.parts, &mut divided.part);
    (seen.excess(), seen.cost())
}

/// State of a network that is being divided.
#[derive(Clone)]
struct Divided {
    parts: Parts,
    /// Part of each vertex.
    part: Vec<u32>,
}

impl Divided {
    /// Returns the undivided state, in which one part contains all vertices.
    fn whole(tree: &BisectionTree<'_>, vertices: usize) -> Self {
        Self {
            parts: Parts::whole(tree),
            part: vec![0; vertices],
        }
    }

    /// Returns the fully divided state, in which the part of a vertex is its block.
    fn among_blocks(tree: &BisectionTree<'_>, block: Vec<u32>) -> Self {
        Self {
            parts: Parts::blocks(tree),
            part: block,
        }
    }
}

/// Levels, each contracted from the one before it.
struct Levels<'a> {
    finest: &'a Level,
    /// Coarser levels, finest first. Each has the map from the vertices of the level before it to
    /// its own.
    coarser: Vec<(Level, Vec<u32>)>,
}

impl<'a> From<&'a Level> for Levels<'a> {
    fn from(finest: &'a Level) -> Self {
        let coarser = Vec::new();
        Self { finest, coarser }
    }
}

impl Levels<'_> {
    fn coarsest(&self) -> &Level {
        self.coarser.last().map_or(self.finest, |l| &l.0)
    }
}

/// Returns true if the first contraction leaves most edges in place, as in a network with large
/// hubs. Such a coarse level costs as much to refine as the whole network, and represents it badly.
fn is_hub_dominated(fine: &Level, coarse: &Level) -> bool {
    coarse.arcs() as f64 > HUB_DOMINATED * fine.arcs() as f64
}

/// Contracts a level once, towards about `target` vertices, inside the parts. Returns the new level
/// and its vertex for each old one, and transfers the parts to the new level. Returns `None`, and
/// changes no part, if the level is small enough, or if the result would hardly be smaller.
fn contracted(
    fine: &Level,
    target: usize,
    order: Order,
    divided: &mut Divided,
    random: &mut Random,
) -> Option<(Level, Vec<u32>)> {
    if fine.len() <= target {
        return None;
    }
    let joins = fine.held.as_ref();
    let joins = joins.map(|held| Joins::new(held, fine.len(), target, order == Order::Numbered));
    // Vertices that are kept in clusters of their own cannot be contracted, so they do not count.
    let alone = joins.as_ref().map_or(0, Joins::count_single);
    if fine.len() <= target + alone {
        return None;
    }
    let total = fine.total_load();
    // No cluster may become several times heavier than the average.
    let like = 5 * total / fine.len() as i64;
    let heaviest = like.min(3 * total / target as i64).max(1);
    let within = (divided.parts.len() > 1).then_some(&divided.part[..]);
    let free = joins.is_none();
    let (mut map, mut clusters) = cluster(fine, within, order, heaviest, joins, random);
    if clusters * 20 > fine.len() * 19 && free {
        (map, clusters) = leaves(fine, within, heaviest, (map, clusters));
    }
    if clusters * 20 > fine.len() * 19 {
        return None;
    }
    divided.part = lifted(&map, clusters, &divided.part);
    Some((fine.contract(&map, clusters), map))
}

/// Division into all parts that are at least the distance `least` apart.
struct Stage<'a> {
    tree: BisectionTree<'a>,
    effort: Effort,
    order: Order,
    least: i64,
    budget: &'a Budget<'a>,
}

impl<'a> Stage<'a> {
    /// Returns a stage that divides into all blocks.
    fn new(inst: &'a Instance, effort: Effort, order: Order, budget: &'a Budget<'a>) -> Self {
        Self {
            tree: BisectionTree::new(inst, effort.slack_share),
            effort,
            order,
            least: 0,
            budget,
        }
    }

    /// Divides the whole network into blocks, one class of distances after the other, and returns
    /// the division. If the time ends, some parts may not be divided. The effort must have a stage.
    fn divide_all(
        &mut self,
        levels: Levels<'_>,
        mut divided: Divided,
        random: &mut Random,
    ) -> Divided {
        // Full blocks restrict later changes of the cuts above them. So the most expensive cuts are
        // refined down to the finest level before any part is divided further. The same holds for
        // each class of distances.
        let machine = &self.tree.inst.shared.machine;
        let base = i64::from(machine.collocated());
        let beyond = (machine.nodes().iter()).map(|n| i64::from(n.distance) - base);
        let mut distances: Vec<i64> = beyond.filter(|&d| d > 0).collect();
        distances.sort_unstable_by_key(|d| std::cmp::Reverse(*d));
        distances.dedup();
        // If there are more classes than stages, the last stage covers all shorter distances.
        distances.pop();
        distances.truncate(self.effort.stages - 1);
        distances.push(0);
        for least in distances {
            self.least = least;
            if divided.parts.divisible(&self.tree, least) {
                divided = self.divide(levels.coarsest(), divided, random);
            }
        }
        self.grow(levels, &mut divided, random);
        divided
    }

    fn divide(&self, finest: &Level, mut divided: Divided, random: &mut Random) -> Divided {
        let effort = &self.effort;
        let target = effort.core.max(4 * effort.per_part * divided.parts.len());
        let mut levels = Levels::from(finest);
        self.contract(&mut levels, target, &mut divided, random);
        let core = levels.coarsest();
        let attempts = 0..effort.attempts[usize::from(divided.parts.len() > 1)];
        let attempts = attempts.take_while(|&made| made == 0 || self.budget.used() <= TRYING);
        let tried = attempts.map(|_| {
            let mut found = self.attempt(core, divided.clone(), random);
            (rank(core, &mut found), found)
        });
        let (_, mut divided) = tried.min_by_key(|tried| tried.0).expect("an attempt");
        self.grow(levels, &mut divided, random);
        while self.unfinished(&divided) {
            self.halve(finest, &mut divided, random);
        }
        let seen = Mapping::new(finest, &divided.parts, &mut divided.part);
        let bordering = (0..finest.len() as u32).filter(|&v| seen.at_boundary(v));
        let dense = 2 * bordering.count() > finest.len();
        let cycles = if dense {
            effort.cycles_if_dense
        } else {
            effort.cycles
        };
        for _ in (0..cycles).take_while(|_| self.budget.used() <= CYCLING) {
            divided = self.attempt(finest, divided, random);
        }
        divided
    }

    /// Divides a small level further, as far as its number of vertices permits, through coarser
    /// levels of its own. Returns the new division.
    fn attempt(&self, core: &Level, mut divided: Divided, random: &mut Random) -> Divided {
        let target = 2 * self.effort.per_part * divided.parts.len();
        let mut levels = Levels::from(core);
        self.contract(&mut levels, target, &mut divided, random);
        self.raise(levels.coarsest(), &mut divided, random);
        self.grow(levels, &mut divided, random);
        divided
    }

    /// Contracts inside the parts down to about `target` vertices, and transfers the parts to the
    /// new levels. Ends early if the time is over.
    fn contract(
        &self,
        levels: &mut Levels<'_>,
        target: usize,
        divided: &mut Divided,
        random: &mut Random,
    ) {
        while !self.budget.is_over()
            && let Some(next) = contracted(levels.coarsest(), target, self.order, divided, random)
        {
            levels.coarser.push(next);
        }
    }

    /// Uncoarsens to the finest level, with [`Self::raise`] on each level after the coarsest.
    fn grow(&self, mut levels: Levels<'_>, divided: &mut Divided, random: &mut Random) {
        while let Some((_, map)) = levels.coarser.pop() {
            divided.part = lowered(&map, &divided.part);
            self.raise(levels.coarsest(), divided, random);
        }
    }

    /// Returns true if time is left, and some part has halves at least the distance of the stage
    /// apart.
    fn unfinished(&self, divided: &Divided) -> bool {
        !self.budget.is_over() && divided.parts.divisible(&self.tree, self.least)
    }

    /// Refines a level, and halves its parts as often as its number of vertices permits.
    fn raise(&self, level: &Level, divided: &mut Divided, random: &mut Random) {
        self.refine(level, divided, random);
        while self.unfinished(divided)
            && level.len() >= 2 * self.effort.per_part * divided.parts.len()
        {
            self.halve(level, divided, random);
        }
    }

    fn halve(&self, level: &Level, divided: &mut Divided, random: &mut Random) {
        split::split(self, level, divided, random);
        self.refine(level, divided, random);
    }

    fn refine(&self, level: &Level, divided: &mut Divided, random: &mut Random) {
        // When the time is over, the mapping is discarded or finished by size.
        if divided.parts.len() == 1 || self.budget.is_over() {
            return;
        }
        let effort = &self.effort;
        let mut mapping = Mapping::new(level, &divided.parts, &mut divided.part);
        mapping.budget = Some(self.budget);
        refine::unload(&mut mapping);
        repair::repair(&mut mapping);
        refine::sweep(&mut mapping, effort.sweeps, random);
        pairs::refine(&mut mapping, effort.rounds, effort.edge_visits, random);
        for _ in 0..effort.passes {
            if mapping.is_late() || refine::search(&mut mapping, effort.patience, random) == 0 {
                break;
            }
        }
    }
}
