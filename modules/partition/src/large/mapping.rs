//! A mapping of one level that is being changed: parts, their loads, and the gains of moves.

use super::bisection_tree::Parts;
use super::level::Level;
use super::limits::ConstraintState;
use crate::budget::Budget;

/// Work, in edges and parts visited, between two checks of the clock.
const CLOCK: usize = 1 << 14;

/// Traffic of one vertex to each adjacent part.
struct Around {
    /// Adjacent parts, in order of first appearance.
    parts: Vec<u32>,
    /// Traffic to each part, 0 for parts that are not adjacent.
    weight: Vec<i64>,
}

impl Around {
    #[inline]
    fn fill(&mut self, level: &Level, part: &[u32], v: u32) {
        for &p in &self.parts {
            self.weight[p as usize] = 0;
        }
        self.parts.clear();
        for (u, w) in level.row(v) {
            let p = part[u as usize];
            let weight = &mut self.weight[p as usize];
            if *weight == 0 {
                self.parts.push(p);
            }
            *weight += w;
        }
    }

    /// Returns the cost of the edges of the vertex of the last [`Around::fill`], if it were in part
    /// `p`.
    #[inline]
    fn cost(&self, parts: &Parts, p: u32) -> i64 {
        let distances = parts.distances(p);
        self.parts
            .iter()
            .map(|&q| self.weight[q as usize] * distances[q as usize])
            .sum()
    }
}

/// A mapping of a level onto parts.
pub(crate) struct Mapping<'a> {
    pub(crate) level: &'a Level,
    pub(crate) parts: &'a Parts,
    pub(crate) part: &'a mut [u32],
    pub(crate) load: Vec<i64>,
    /// Vertices with smaller numbers do not move.
    pub(crate) fixed: u32,
    /// Constraints other than the load.
    pub(crate) constraints: Option<ConstraintState<'a>>,
    /// Edges and parts that [`Mapping::best`] has visited.
    pub(crate) visited: usize,
    /// Edges and parts that all computations of gains have visited.
    pub(crate) work: usize,
    /// Budget of the search. There is no time limit if it is `None`.
    pub(crate) budget: Option<&'a Budget<'a>>,
    /// Amount of work at which the clock is read next.
    check: usize,
    late: bool,
    around: Around,
}

impl<'a> Mapping<'a> {
    pub(crate) fn new(level: &'a Level, parts: &'a Parts, part: &'a mut [u32]) -> Self {
        let mut load = vec![0; parts.len()];
        for (&p, &l) in part.iter().zip(level.load.iter()) {
            load[p as usize] += l;
        }
        let limits = parts.limits.as_deref();
        Self {
            level,
            parts,
            constraints: limits.and_then(|limits| ConstraintState::new(level, limits, part)),
            part,
            load,
            fixed: 0,
            visited: 0,
            work: 0,
            budget: None,
            check: 0,
            late: false,
            around: Around {
                parts: Vec::new(),
                weight: vec![0; parts.len()],
            },
        }
    }

    /// Returns true if no more moves should be tried, because the budget was used up when it was
    /// last checked. Returns false without a budget. Calls are cheap, because the budget is checked
    /// only after a certain amount of work.
    #[inline]
    pub(crate) fn is_late(&mut self) -> bool {
        if !self.late && self.work >= self.check {
            self.check = self.work + CLOCK;
            self.late = self.budget.is_some_and(Budget::is_over);
        }
        self.late
    }

    /// Computes the traffic of a vertex to its adjacent parts.
    #[inline]
    fn sum_adjacent_traffic(&mut self, v: u32) {
        self.around.fill(self.level, self.part, v);
        self.work += 1 + self.level.degree(v);
    }

    #[inline]
    pub(crate) fn fits(&self, v: u32, to: u32) -> bool {
        self.level.load[v as usize] <= self.spare(to) && self.allows(v, to)
    }

    /// Returns true if a move violates no constraint other than, perhaps, the load bound.
    #[inline]
    pub(crate) fn allows(&self, v: u32, to: u32) -> bool {
        let kept = self.constraints.as_ref();
        kept.is_none_or(|kept| kept.allows(v, to, self.part))
    }

    /// Returns true if a vertex cannot move, because it is fixed or only one part is open to it.
    /// Such a vertex does not move even if it is in another part.
    #[inline]
    pub(crate) fn stays(&self, v: u32) -> bool {
        v < self.fixed || self.constraints.as_ref().is_some_and(|kept| kept.stays(v))
    }

    /// Returns true if the part of a vertex is not open to it, or is in the same place as a vertex
    /// that it must be kept apart from.
    pub(crate) fn is_misplaced(&self, v: u32) -> bool {
        let here = self.part[v as usize];
        self.constraints.as_ref().is_some_and(|kept| {
            !kept.limits.is_open(kept.held.set(v), here) || kept.meets(v, here, self.part)
        })
    }

    /// Returns the load above the bounds, plus all other violations in units of load.
    pub(crate) fn excess(&self) -> i64 {
        let load: i64 = (0..self.load.len() as u32).map(|p| self.over(p)).sum();
        load + self.violation()
    }

    /// Returns the violation of constraints other than load bounds, in units of load. It is 0 if
    /// there is none.
    pub(crate) fn violation(&self) -> i64 {
        let kept = self.constraints.as_ref();
        kept.map_or(0, |kept| kept.excess(self.level, self.part))
    }

    #[inline]
    pub(crate) fn over(&self, p: u32) -> i64 {
        (-self.spare(p)).max(0)
    }

    #[inline]
    pub(crate) fn shift(&mut self, v: u32, to: u32) {
        let load = self.level.load[v as usize];
        let from = self.part[v as usize];
        self.load[from as usize] -= load;
        self.load[to as usize] += load;
        self.part[v as usize] = to;
        if let Some(kept) = &mut self.constraints {
            kept.shift(v, from, to);
        }
    }

    /// Returns true if a vertex has a neighbour in another part.
    #[inline]
    pub(crate) fn at_boundary(&self, v: u32) -> bool {
        let here = self.part[v as usize];
        let mut around = self.level.around(v).iter();
        around.any(|&u| self.part[u as usize] != here)
    }

    /// Returns the gain of the best move to an adjacent part that violates no constraint, and that
    /// part. The gain may be negative. Among parts of equal gain, returns the part with the most
    /// space. Returns `None` if there is no such part, or if the vertex cannot move.
    #[inline]
    pub(crate) fn best(&mut self, v: u32) -> Option<(i64, u32)> {
        if self.stays(v) {
            return None;
        }
        let here = self.part[v as usize];
        self.sum_adjacent_traffic(v);
        match self.around.parts[..] {
            [] => return None,
            [only] if only == here => return None,
            _ => {}
        }
        let touched = self.around.parts.len();
        self.visited += self.level.degree(v) + touched * touched;
        self.work += touched * touched;
        let now = self.around.cost(self.parts, here);
        let mut best: Option<(i64, u32)> = None;
        for &p in &self.around.parts {
            if p == here || !self.fits(v, p) {
                continue;
            }
            let gain = now - self.around.cost(self.parts, p);
            let better =
                best.is_none_or(|(g, q)| gain > g || (gain == g && self.spare(p) > self.spare(q)));
            if better {
                best = Some((gain, p));
            }
        }
        best
    }

    #[inline]
    pub(crate) fn spare(&self, p: u32) -> i64 {
        self.parts.bound[p as usize] - self.load[p as usize]
    }

    /// Returns the gain of the best move to another part, adjacent or not, that violates no
    /// constraint, and that part. The gain may be negative. Among parts of equal gain, returns the
    /// lowest. Returns `None` if there is no such part, or if the vertex cannot move.
    pub(crate) fn anywhere(&mut self, v: u32) -> Option<(i64, u32)> {
        if self.stays(v) {
            return None;
        }
        self.cheapest(v, 0..self.parts.len() as u32, false)
    }

    /// Returns the gain of the best move to one of some parts that violates no constraint, and that
    /// part. The gain may be negative. Among parts of equal gain, returns the lowest. If `fill` is
    /// true, load bounds are ignored. Returns `None` if there is no such part. Does not check
    /// whether the vertex is fixed.
    pub(crate) fn cheapest(
        &mut self,
        v: u32,
        among: impl ExactSizeIterator<Item = u32>,
        fill: bool,
    ) -> Option<(i64, u32)> {
        let here = self.part[v as usize];
        self.sum_adjacent_traffic(v);
        self.work += among.len() * self.around.parts.len();
        let now = self.around.cost(self.parts, here);
        let may = if fill { Self::allows } else { Self::fits };
        among
            .filter(|&p| p != here && may(self, v, p))
            .map(|p| (now - self.around.cost(self.parts, p), p))
            .max_by_key(|&(gain, p)| (gain, std::cmp::Reverse(p)))
    }

    /// Returns the sum over edges of weight times distance, where distances are without the
    /// collocated one.
    pub(crate) fn cost(&self) -> i64 {
        let mut twice = 0;
        for v in 0..self.level.len() as u32 {
            let distances = self.parts.distances(self.part[v as usize]);
            for (u, w) in self.level.row(v) {
                twice += w * distances[self.part[u as usize] as usize];
            }
        }
        twice / 2
    }
}
