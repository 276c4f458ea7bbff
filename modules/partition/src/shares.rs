//! Load bounds that are raised only where necessary.
//!
//! The balance limit gives every block its share of the load and a tolerance. One heavy vertex or
//! one rule may put more than that into a block. Such a block is set aside with the load that it
//! must hold, and the other blocks share the load that remains.
//!
//! A heavy vertex may be in any block that the rules allow. Its load counts as the bound of that
//! block. So there is hardly any room beside it, and the bounds of all blocks stay the same. A
//! block that a rule overfills gets its own bound.
//!
//! The remaining vertices may still not fit within the bounds, because loads cannot be split. Then
//! one factor raises the bounds of all blocks that have no bound of their own.

use crate::aside::{Aside, bound};
use crate::instance::Instance;
use crate::scale::gcd;

/// Largest load of each block, as a function of one factor.
#[derive(Clone, Debug)]
pub(crate) struct Shares {
    /// Bound of each block at factor 1.
    base: Vec<i64>,
    /// Load that rules force into each block.
    forced: Vec<Forced>,
    /// Heavy vertices.
    heavy: Vec<Heavy>,
    /// Load allowed beside a heavy vertex, and above a raised bound, as a fraction of it.
    tolerance: f64,
    /// True if the bounds at factor 1 differ from the original ones.
    shaped: bool,
}

/// Load that rules force into a block beyond its share.
#[derive(Clone, Copy, Debug, Default)]
struct Forced {
    /// Least load of the block, or 0 if no rule forces more than its share into it.
    load: i64,
    /// Tolerance on top of that load.
    room: i64,
    /// True if the load cannot be in another block. The bound of other blocks then limits `room`,
    /// as it does beside a heavy vertex.
    alone: bool,
}

impl Forced {
    /// Returns the bound of the block: its load plus the tolerance. `other` is the bound that the
    /// block would have without forced load.
    fn bound(self, other: i64) -> i64 {
        self.load
            + if self.alone {
                self.room.min(beside(other))
            } else {
                self.room
            }
    }
}

/// Returns the most load beside a heavy vertex in a block with this bound. It is less than half of
/// the bound, because two heavy vertices must not fit into one block.
fn beside(bound: i64) -> i64 {
    (bound - 1) / 2
}

/// A vertex that is heavier than the bound of any block.
#[derive(Clone, Debug)]
struct Heavy {
    vertex: u32,
    /// Block set aside for it. In every block, the vertex counts with the bound of this one.
    block: u32,
    /// Blocks at least as fast as that one and not overfull. `None` if these are all blocks.
    open: Option<Vec<bool>>,
}

impl Shares {
    /// Sets aside all load that exceeds the share of a block. `imbalance` is the tolerance as a
    /// fraction.
    ///
    /// With `lowers` there is no tolerance, for the objective of a small largest load. `held` fixes
    /// the marked blocks to the loads that they have in the given mapping.
    pub(crate) fn new(
        inst: &Instance,
        imbalance: f64,
        lowers: bool,
        held: Option<(&[bool], &[u32])>,
    ) -> Self {
        let mut aside = Aside::new(inst, imbalance, held);
        while aside.next() {}
        if aside.bound_by_limits() {
            while aside.next() {}
        }
        let (tolerance, exact) = match lowers {
            true => (0.0, 0.0),
            false => (imbalance, aside.imbalance),
        };
        let level = aside.level();
        let speeds = || aside.speed.iter();
        let plain = aside.total as f64 / speeds().sum::<f64>();
        let shaped = aside.is_shaped() || !lowers && level > plain * (1.0 + 1e-9);
        let base = |b: usize| match shaped {
            true => bound(level * aside.speed[b], exact),
            false => inst.load_bound(b).max(1),
        };
        let forced = |b: usize| match aside.forced[b] {
            load if load > 0.0 => Forced {
                load: bound(load, 0.0),
                room: bound(load, exact) - bound(load, 0.0),
                alone: aside.alone[b],
            },
            _ => Forced::default(),
        };
        let heavy = |(vertex, block, own): &(u32, u32, Option<Vec<bool>>)| {
            let (speed, speeds) = (aside.speed[*block as usize], &aside.speed);
            let inside = |b: usize| match own {
                Some(own) => own[b],
                None => aside.forced[b] == 0.0,
            };
            let open = (0..inst.k()).map(|b| speeds[b] >= speed && inside(b));
            let open: Vec<bool> = open.collect();
            Heavy {
                vertex: *vertex,
                block: *block,
                open: open.contains(&false).then_some(open),
            }
        };
        Self {
            base: (0..inst.k()).map(base).collect(),
            forced: (0..inst.k()).map(forced).collect(),
            heavy: aside.heavy.iter().map(heavy).collect(),
            tolerance,
            shaped,
        }
    }

    /// Returns shares with the original bounds, without load set aside and without a tolerance.
    pub(crate) fn plain(inst: &Instance) -> Self {
        Self {
            base: (0..inst.k()).map(|b| inst.load_bound(b).max(1)).collect(),
            forced: vec![Forced::default(); inst.k()],
            heavy: Vec::new(),
            tolerance: 0.0,
            shaped: false,
        }
    }

    /// Returns shares with the original bounds, to which a tolerance is added when they are raised.
    pub(crate) fn even(inst: &Instance, tolerance: f64) -> Self {
        Self {
            tolerance,
            ..Self::plain(inst)
        }
    }

    /// Returns the bound of a block at a factor.
    fn bound(&self, block: usize, factor: f64) -> i64 {
        let base = scaled(self.base[block], factor);
        self.forced[block].bound(base).max(base)
    }

    /// Returns the instance with its bounds at a factor.
    pub(crate) fn at(&self, inst: &Instance, factor: f64) -> Instance {
        let bounds: Vec<i64> = (0..inst.k()).map(|b| self.bound(b, factor)).collect();
        self.within(inst, &bounds)
    }

    /// Returns the instance with these bounds. Heavy vertices get loads that nearly fill the bounds
    /// of their blocks, and are confined to the blocks open to them.
    fn within(&self, inst: &Instance, bounds: &[i64]) -> Instance {
        let loads = self.heavy.iter().map(|heavy| {
            let (load, bound) = (inst.load(heavy.vertex), bounds[heavy.block as usize]);
            let room = ((load as f64 * self.tolerance) as i64).min(beside(bound));
            (heavy.vertex, load.min(bound - room))
        });
        let mut bounded = inst.with_load_bounds(bounds).with_loads(loads);
        for heavy in &self.heavy {
            if let Some(open) = &heavy.open {
                bounded.confine(heavy.vertex, open);
            }
        }
        bounded
    }

    /// Returns the instance at a raised factor with the tolerance. Bounds are rounded down to the
    /// step of the loads, but not below the bound without the tolerance. Bounds that forced load
    /// raises are not rounded.
    pub(crate) fn tolerant(&self, inst: &Instance, factor: f64) -> Instance {
        let step = self.step(inst).max(1);
        let tolerant = factor * (1.0 + self.tolerance);
        let whole = |b: usize| match self.bound(b, tolerant) {
            bound if bound == scaled(self.base[b], tolerant) => {
                (bound / step * step).max(self.bound(b, factor))
            }
            bound => bound,
        };
        let bounds: Vec<i64> = (0..inst.k()).map(whole).collect();
        self.within(inst, &bounds)
    }

    /// Returns the greatest common divisor of the loads of all vertices that are not heavy, or 0 if
    /// these have no load.
    fn step(&self, inst: &Instance) -> i64 {
        let heavy = self.marks(inst);
        let light = (0..inst.len() as u32).filter(|&v| !heavy[v as usize]);
        light.fold(0, |step, v| gcd(step, inst.load(v)))
    }

    fn marks(&self, inst: &Instance) -> Vec<bool> {
        let mut heavy = vec![false; inst.len()];
        self.heavy
            .iter()
            .for_each(|h| heavy[h.vertex as usize] = true);
        heavy
    }

    /// Returns the factor of the bounds that a mapping needs. For a block with a heavy vertex, it
    /// may not be the least such factor. It is infinite if a heavy vertex is in a block that is not
    /// open to that vertex.
    pub(crate) fn needed(&self, inst: &Instance, block: &[u32]) -> f64 {
        let astray = |heavy: &Heavy| {
            let b = block[heavy.vertex as usize] as usize;
            heavy.open.as_ref().is_some_and(|open| !open[b])
        };
        if self.heavy.iter().any(astray) {
            return f64::INFINITY;
        }
        let heavy = self.marks(inst);
        let k = inst.k();
        let (mut load, mut heavies) = (vec![0_i64; k], vec![(0, 0_i64); k]);
        for (v, &b) in (0..).zip(block) {
            let there = &mut heavies[b as usize];
            match heavy[v as usize] {
                true => *there = (there.0 + 1, there.1 + inst.load(v)),
                false => load[b as usize] += inst.load(v),
            }
        }
        let factor = |b: usize| {
            let (beside, (count, filled)) = (load[b], heavies[b]);
            let room = (filled as f64 * self.tolerance) as i64;
            let forced = self.forced[b];
            let above = beside + filled - forced.load;
            let least = match count {
                _ if above <= 0 || !forced.alone && above <= forced.room => 0,
                _ if above <= forced.room => 2 * above + 2,
                1 if beside == 0 => 0,
                1 if beside <= room => 2 * beside + 2,
                _ => beside + filled,
            };
            least as f64 / self.base[b] as f64
        };
        (0..k).map(factor).fold(0.0, f64::max)
    }

    /// Returns about the least factor at which whole loads fit, if all loads are multiples of a
    /// number above 1. Returns 1 if they fit within the bounds as they are, or if there is no such
    /// number. Heavy vertices and their blocks do not count.
    pub(crate) fn indivisible(&self, inst: &Instance) -> f64 {
        let step = self.step(inst);
        if step < 2 {
            return 1.0;
        }
        let heavy: i64 = self.heavy.iter().map(|h| inst.load(h.vertex)).sum();
        let total = inst.total_load() - heavy;
        let whole = |bound: i64| bound / step * step;
        let fits = |factor: f64| {
            let all = (0..inst.k()).map(|b| whole(self.bound(b, factor)));
            let taken = (self.heavy.iter()).map(|h| whole(self.bound(h.block as usize, factor)));
            all.fold(0, i64::saturating_add) - taken.fold(0, i64::saturating_add) >= total
        };
        if fits(1.0) {
            return 1.0;
        }
        let (mut low, mut high) = (1.0, 2.0);
        while !fits(high) && high < 1e18 {
            (low, high) = (high, high * 2.0);
        }
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            (low, high) = if fits(middle) {
                (low, middle)
            } else {
                (middle, high)
            };
        }
        high
    }

    /// Marks the blocks that a mapping fills above their share by more than the load of the
    /// heaviest vertex that is not set aside. Rules or limits other than load force this load into
    /// them. Blocks that have forced load already are marked too. Returns `None` if there are no
    /// new such blocks, or if the factor raises no bound by more than that.
    pub(crate) fn overfull(
        &self,
        inst: &Instance,
        factor: f64,
        block: &[u32],
    ) -> Option<Vec<bool>> {
        let heavy = self.marks(inst);
        let light = (0..inst.len() as u32).filter(|&v| !heavy[v as usize]);
        let most = light.map(|v| inst.load(v)).max().unwrap_or(0);
        let spoilt = |b: usize| self.bound(b, factor) > self.bound(b, 1.0) + most;
        let load = self.at(inst, factor).loads(block);
        let full = |b: usize| self.forced[b].load > 0 || load[b] > self.base[b] + most;
        let found: Vec<bool> = (0..inst.k()).map(full).collect();
        let more = (0..inst.k()).any(|b| found[b] && self.forced[b].load == 0);
        ((0..inst.k()).any(spoilt) && more).then_some(found)
    }

    /// Returns the largest factor by which a block may exceed its original bound, because of heavy
    /// vertices or the bounds of `raised`. It is at least 1.
    pub(crate) fn excess(&self, inst: &Instance, raised: &Instance) -> f64 {
        let wanted = |b: usize| inst.load_bound(b).max(1) as f64;
        let blocks = (0..inst.k()).map(|b| raised.load_bound(b) as f64 / wanted(b));
        let most = (0..inst.k()).map(wanted).fold(1.0, f64::max);
        let heavy = self.heavy.iter().map(|h| inst.load(h.vertex) as f64 / most);
        blocks.chain(heavy).fold(1.0, f64::max)
    }

    /// Returns true if the bounds at factor 1 differ from the original ones.
    pub(crate) fn is_shaped(&self) -> bool {
        self.shaped
    }
}

fn scaled(bound: i64, factor: f64) -> i64 {
    ((bound as f64 * factor).floor() as i64).max(1)
}
