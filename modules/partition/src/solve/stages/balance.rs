//! The balance bound: checks whether a mapping can be within it, and raises it if not.

use std::time::Instant;

use super::Stages;
use crate::diagnose;
use crate::draft::Draft;
use crate::error::{Conflict, Error, Part};
use crate::exact::branch;
use crate::exact::fill::Fit;
use crate::exact::limit::Limit;
use crate::explain::explain;
use crate::instance::Instance;
use crate::pack;
use crate::pigeonhole;
use crate::problem::{Constraint, Objective};
use crate::shares::Shares;
use crate::tuning::small::NETWORK;
use crate::tuning::time::{BRIEF_PACKING, DIAGNOSING, FEASIBLE, SET_ASIDE_ROUNDS, SETTLING};

impl Stages<'_> {
    /// Lowers the load bounds if the objective is the largest load. Raises them if it is known
    /// without a search that no mapping is within them.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Infeasible`] if no mapping is within the bounds and they must not be
    /// raised, or if raising them does not lead to a mapping.
    pub(crate) fn bound_loads(&mut self) -> Result<(), Error> {
        let begun = Instant::now();
        let (problem, options) = (self.problem, self.options);
        let lowers = problem.objective == Objective::LargestLoad;
        let lowered = lowers.then(|| {
            let mut effort = self.packing(BRIEF_PACKING);
            effort.steps /= 4;
            let fewest = |shares: &Shares, inst: &Instance| {
                let inst = shares.at(inst, 1.0);
                let bounds: f64 = (0..inst.k()).map(|b| inst.load_bound(b) as f64).sum();
                inst.total_load() as f64 / bounds.max(1.0)
            };
            self.fit(true, fewest, effort)
        });
        let all: Vec<usize> = (0..problem.constraints.len()).collect();
        // Without constraints every vertex may be in any block.
        let confined = (!all.is_empty()).then(|| Draft::new(problem, &all));
        let overload = confined.and_then(|draft| pigeonhole::overload(&draft, problem));
        // If the bounds were lowered, the heavy vertices count with lower loads. So this uses the
        // requested bounds.
        let heavy = too_heavy(&self.wanted).is_some();
        self.unavoidable = heavy || overload.is_some();
        let mut least = 1.0_f64;
        if let Some((clash, factor)) = overload {
            if options.strict_balance {
                return Err(Error::Infeasible(explain(problem, clash)));
            }
            least = factor;
        }
        least = match lowers {
            true => 1.0,
            false => least
                .max(self.indivisible())
                .max(pigeonhole::counted(problem)),
        };
        self.unavoidable |= least > 1.0;
        if self.unavoidable {
            let plain = problem.constraints.is_empty() && self.inst.dims() == 1;
            // With a strict balance bound, the conflict names a vertex that is too heavy, if there
            // is one. Then no proof by branch and bound is needed.
            let settles = match options.strict_balance {
                true => !heavy,
                false => !plain,
            };
            let lowered = lowered.flatten().filter(|_| !options.strict_balance);
            self.packed = Some(match lowered {
                Some((packed, excess)) => {
                    self.raised = Some(excess);
                    packed
                }
                None => {
                    if settles {
                        self.settle()?;
                    }
                    self.raise(least)?
                }
            });
        }
        self.bounding_took = begun.elapsed();
        Ok(())
    }

    /// Returns the effort for packing, which takes at most this share of the time.
    pub(super) fn packing(&self, share: f64) -> pack::Effort {
        pack::Effort {
            steps: (self.inst.len() as u64 * 1000).clamp(10_000, 2_000_000),
            stop_at: self.budget.time.map(|t| Instant::now() + t.mul_f64(share)),
        }
    }

    /// Searches for a feasible mapping by branch and bound, after search and packing found none.
    /// Returns `None` if none is found, or if the instance is too large for this search. Records
    /// whether it is proved that no mapping is within the balance bound.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Infeasible`] if it is proved that no mapping is feasible, and if the bound
    /// must not be raised or a higher bound cannot help.
    pub(super) fn settle(&mut self) -> Result<Option<Vec<u32>>, Error> {
        let (inst, problem, budget) = (&self.inst, self.problem, self.budget);
        // Branch and bound takes quadratic time only to order the vertices.
        if inst.len() > NETWORK {
            return Ok(None);
        }
        let limit = |share: f64| Limit {
            nodes: SETTLING,
            stop_at: budget.settling_deadline(share),
            watch: budget.watch,
        };
        let complete = match branch::feasible(inst, limit(FEASIBLE)) {
            Fit::Found(block) => return Ok(Some(block)),
            fit => fit == Fit::Never,
        };
        if !problem.constraints.is_empty() || inst.dims() > 1 {
            let free = inst.without_load_bounds();
            if branch::feasible(&free, limit(FEASIBLE)) == Fit::Never {
                return Err(Error::Infeasible(diagnose::smallest(
                    problem,
                    limit(DIAGNOSING),
                )));
            }
        }
        if self.options.strict_balance && complete {
            let conflict = diagnose::smallest_balanced(problem, limit(DIAGNOSING));
            return Err(Error::Infeasible(conflict));
        }
        self.unavoidable |= complete;
        Ok(None)
    }

    /// Raises the load bounds to the least ones that packing finds. If all blocks get the same
    /// factor, it is at least `least`. Returns a mapping within the bounds.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Infeasible`] if the bounds must not be raised, or if packing finds no
    /// mapping.
    pub(super) fn raise(&mut self, least: f64) -> Result<Vec<u32>, Error> {
        if self.options.strict_balance {
            return Err(Error::Infeasible(self.unbalanced()));
        }
        let effort = pack::Effort {
            steps: (self.inst.len() as u64 * 200).clamp(4_000, 250_000),
            stop_at: self.budget.settling_deadline(BRIEF_PACKING),
        };
        let low = |shares: &Shares, inst: &Instance| {
            let whole = shares.indivisible(inst);
            // A factor of the requested bounds does not apply to bounds of another shape.
            if shares.is_shaped() {
                whole
            } else {
                whole.max(least)
            }
        };
        let Some((packed, excess)) = self.fit(false, low, effort) else {
            let reason = "the search found none within memory, slots and constraints, even without a balance limit";
            let parts = (0..self.problem.constraints.len()).map(Part::Constraint);
            return Err(Conflict::unproved(parts.collect(), reason));
        };
        self.log.push(format!(
            "balance limit raised by a factor of {excess:.3}; no mapping is within it"
        ));
        self.raised = Some(self.raised.unwrap_or(1.0).max(excess));
        Ok(packed)
    }

    /// Returns the reason why no mapping is within the requested bounds. This is a vertex or group
    /// that alone is too heavy, if there is one. Otherwise the conflict is without parts and not
    /// proved.
    fn unbalanced(&self) -> Conflict {
        let Some(heavy) = too_heavy(&self.wanted) else {
            return Conflict {
                parts: Vec::new(),
                proved: false,
                minimal: false,
                reason: "the search found none within the balance limit".to_owned(),
            };
        };
        let inside = |v: &u32| self.group.get(*v as usize).map_or(*v, |&g| g) == heavy;
        let members: Vec<u32> = (0..self.problem.graph.vertices() as u32)
            .filter(inside)
            .collect();
        let (mut parts, reason): (Vec<Part>, _) = match members[..] {
            [v] => (
                vec![Part::Vertex(v)],
                "one vertex is heavier than the balance limit of every block",
            ),
            _ => {
                let joins = |c: &Constraint| match c {
                    Constraint::Together { vertices } => vertices.iter().any(inside),
                    _ => false,
                };
                let all = self.problem.constraints.iter().enumerate();
                (
                    all.filter(|(_, c)| joins(c))
                        .map(|(c, _)| Part::Constraint(c))
                        .collect(),
                    "vertices that must be together are heavier than the balance limit of every block",
                )
            }
        };
        let minimal = parts.len() == 1;
        parts.extend((0..self.wanted.k() as u32).map(Part::Balance));
        Conflict {
            parts,
            proved: true,
            minimal,
            reason: reason.to_owned(),
        }
    }

    /// Replaces the load bounds by the least ones that packing finds, above the requested ones only
    /// where necessary. `lowers` is true for the objective of a small largest load. `low` returns
    /// the least factor of the bounds to try. Returns a mapping within them, and the largest factor
    /// between a bound and the requested one. Returns `None`, and keeps the load bounds, if packing
    /// finds no mapping.
    fn fit(
        &mut self,
        lowers: bool,
        low: impl Fn(&Shares, &Instance) -> f64,
        effort: pack::Effort,
    ) -> Option<(Vec<u32>, f64)> {
        let (inst, imbalance) = (&self.wanted, self.problem.imbalance);
        let random = &mut self.random;
        let mut shares = Shares::new(inst, imbalance, lowers, None);
        let mut found = pack::least_factor(inst, &shares, low(&shares, inst), random, effort);
        if found.is_none() && shares.is_shaped() {
            shares = Shares::even(inst, if lowers { 0.0 } else { imbalance });
            found = pack::least_factor(inst, &shares, low(&shares, inst), random, effort);
        }
        let (mut factor, mut packed) = found?;
        for _ in 0..SET_ASIDE_ROUNDS {
            let Some(held) = shares.overfull(inst, factor, &packed) else {
                break;
            };
            let other = Shares::new(inst, imbalance, lowers, Some((&held, &packed)));
            let least = low(&other, inst);
            let Some(found) = pack::least_factor(inst, &other, least, random, effort) else {
                break;
            };
            (shares, (factor, packed)) = (other, found);
        }
        let bounded = match lowers || factor < 1.0 + 1e-9 {
            true => shares.at(inst, factor),
            false => shares.tolerant(inst, factor),
        };
        let excess = shares.excess(inst, &bounded);
        (self.inst, self.shaped) = (bounded, shares.is_shaped());
        Some((packed, excess))
    }

    /// Returns the factor, at least 1, by which the bounds must be raised because loads are
    /// multiples of a number.
    fn indivisible(&self) -> f64 {
        Shares::plain(&self.inst).indivisible(&self.inst)
    }
}

/// Returns the first vertex that is heavier than the bound of every block, or `None`.
fn too_heavy(inst: &Instance) -> Option<u32> {
    let most = (0..inst.k()).map(|b| inst.load_bound(b)).max().unwrap_or(0);
    (0..inst.len() as u32).find(|&v| inst.load(v) > most)
}
