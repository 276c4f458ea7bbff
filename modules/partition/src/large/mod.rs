//! Mapping of large instances: coarsened once, divided while they grow again; or, where few channels
//! pass over any point of the order, cut in that order, see [`narrow`].
//!
//! The network is contracted once to some hundred vertices a block, mapped in that form, and
//! refined on traffic times distance while it grows again. Where that would leave most of its edges
//! in place it is mapped as it is.
//!
//! What is left of it is mapped for one class of distances after the other, the farthest first. Each
//! time it is contracted further, until little is left; on the way back up, whenever a level has
//! enough vertices for twice as many parts, every part is halved along the tree of the machine (as
//! in deep multilevel partitioning, Gottesbüren, Heuer, Sanders, Schulz, Seemaier 2021); all parts
//! are then refined together. So the most expensive cuts, those between hosts, are refined on every level,
//! and no level is bisected as a whole.

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

/// Maps an instance: by its order where that is narrow, else by contraction; more blocks than there is a
/// table of distances for, group by group. `None` where the time is over before there is a mapping:
/// what is half done counts for nothing, so that more time never gives a worse one.
pub(crate) fn map(
    inst: &Instance,
    effort: &Effort,
    (budget, manner): (&Budget<'_>, Manner<'_>),
    random: &mut Random,
) -> Option<Vec<u32>> {
    match manner {
        Manner::Finishes if inst.k() > BLOCKS || !inst.is_plain() => None,
        _ if inst.k() > BLOCKS => groups::map(inst, effort, budget, random),
        Manner::GoesOn(_) if budget.time.is_none() || effort.cycles == 0 => {
            mapped(inst, effort, (budget, Manner::Once), random)
        }
        _ => mapped(inst, effort, (budget, manner), random),
    }
}

/// One mapping, however long it takes.
pub(crate) fn map_in_full(inst: &Instance, effort: &Effort, random: &mut Random) -> Vec<u32> {
    let no_hurry = Budget::until(None);
    let block = map(inst, effort, (&no_hurry, Manner::Once), random);
    block.expect("what takes the time that it needs ends")
}

/// What is done with a time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner<'a> {
    /// Nothing beyond one mapping, or none when it is over before.
    Once,
    /// All of it is used, from the better of that and another: V-cycles go on while it lasts, and other mappings are made.
    GoesOn(Option<&'a [u32]>),
    /// One mapping; what is divided only in part when it is over is finished by size. None where that does not keep
    /// the bounds.
    Finishes,
}

/// The best of a mapping and of those made in a hurry while there is time, each improved by V-cycles while they gain;
/// `None` where it is over, and for more blocks than there is a table of distances for.
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

/// Improves a mapping by moves of vertices; what it keeps it still keeps.
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

/// Maps an instance that there is a table of distances for; V-cycles and other mappings use what time there
/// is only if they are to go on.
fn mapped(
    inst: &Instance,
    wanted: &Effort,
    (budget, manner): (&Budget<'_>, Manner<'_>),
    random: &mut Random,
) -> Option<Vec<u32>> {
    if budget.is_over() && manner != Manner::Finishes {
        return None;
    }
    let goes_on = matches!(manner, Manner::GoesOn(_));
    let begun = budget.used();
    // What is made later does not depend on how far this comes.
    let seeds = random.clone();
    let narrow = inst.is_plain().then(|| narrow::map(inst, wanted, random));
    let narrow = narrow.flatten();
    if narrow.is_some() && !goes_on {
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
        return match manner {
            Manner::Finishes => finish::by_size(&whole.tree, &divided),
            _ => None,
        };
    }
    if let Manner::GoesOn(known) = manner {
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

/// What is broken, and the cost.
fn rank(level: &Level, divided: &mut Divided) -> (i64, i64) {
    let seen = Mapping::new(level, &divided.parts, &mut divided.part);
    (seen.excess(), seen.cost())
}

/// A network divided so far.
#[derive(Clone)]
struct Divided {
    parts: Parts,
    /// The part of each vertex.
    part: Vec<u32>,
}

impl Divided {
    /// Nothing divided.
    fn whole(tree: &BisectionTree<'_>, vertices: usize) -> Self {
        Self {
            parts: Parts::whole(tree),
            part: vec![0; vertices],
        }
    }

    /// As far as can be, so that the part of a vertex is its block.
    fn among_blocks(tree: &BisectionTree<'_>, block: Vec<u32>) -> Self {
        Self {
            parts: Parts::blocks(tree),
            part: block,
        }
    }
}

/// Levels, each contracted from the one before.
struct Levels<'a> {
    finest: &'a Level,
    /// Finest first, each with the cluster of every vertex of the one before.
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

/// Whether the first contraction leaves most edges in place, as where hubs tie everything to
/// everything. What is contracted then costs as much to refine as the whole, and says less about
/// it.
fn is_hub_dominated(fine: &Level, coarse: &Level) -> bool {
    coarse.arcs() as f64 > HUB_DOMINATED * fine.arcs() as f64
}

/// The next level on the way to about `target` vertices, unless it would hardly be smaller.
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
    // Who stays alone does not count.
    let alone = joins.as_ref().map_or(0, Joins::loners);
    if fine.len() <= target + alone {
        return None;
    }
    let total = fine.total_load();
    // No cluster gets several times heavier than its like.
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

/// Dividing into all parts that are at least some distance apart.
struct Stage<'a> {
    tree: BisectionTree<'a>,
    effort: Effort,
    order: Order,
    least: i64,
    budget: &'a Budget<'a>,
}

impl<'a> Stage<'a> {
    /// Into all blocks.
    fn new(inst: &'a Instance, effort: Effort, order: Order, budget: &'a Budget<'a>) -> Self {
        Self {
            tree: BisectionTree::new(inst, effort.slack_share),
            effort,
            order,
            least: 0,
            budget,
        }
    }

    /// Divides the whole into blocks, one class of distances after the other.
    fn divide_all(
        &mut self,
        levels: Levels<'_>,
        mut divided: Divided,
        random: &mut Random,
    ) -> Divided {
        // Blocks that fill up pin the cuts above them. So the most expensive cuts are refined down to the
        // smallest vertex there is before anything is divided more finely, and so on for each class of
        // distances.
        let machine = &self.tree.inst.shared.machine;
        let base = i64::from(machine.collocated());
        let beyond = (machine.nodes().iter()).map(|n| i64::from(n.distance) - base);
        let mut distances: Vec<i64> = beyond.filter(|&d| d > 0).collect();
        distances.sort_unstable_by_key(|d| std::cmp::Reverse(*d));
        distances.dedup();
        // Finer classes go together where there are more than wanted.
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

    /// Divides a small level as far as it has vertices for, through coarser levels of its own.
    fn attempt(&self, core: &Level, mut divided: Divided, random: &mut Random) -> Divided {
        let target = 2 * self.effort.per_part * divided.parts.len();
        let mut levels = Levels::from(core);
        self.contract(&mut levels, target, &mut divided, random);
        self.raise(levels.coarsest(), &mut divided, random);
        self.grow(levels, &mut divided, random);
        divided
    }

    /// Contracts inside the parts down to about `target` vertices; carries the parts along.
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

    /// Raises all levels up to the finest.
    fn grow(&self, mut levels: Levels<'_>, divided: &mut Divided, random: &mut Random) {
        while let Some((_, map)) = levels.coarser.pop() {
            divided.part = lowered(&map, &divided.part);
            self.raise(levels.coarsest(), divided, random);
        }
    }

    /// Whether there is something left to divide, and time for it.
    fn unfinished(&self, divided: &Divided) -> bool {
        !self.budget.is_over() && divided.parts.divisible(&self.tree, self.least)
    }

    /// Refines a level, and halves its parts as often as it has vertices for.
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
        // What is not finished in time counts for nothing.
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
