//! A mapping of one level under change: parts, their loads, and the gains of moves.

use super::bisection_tree::Parts;
use super::level::Level;
use super::limits::ConstraintState;
use crate::budget::Budget;

/// The clock is looked at after so many edges and parts.
const CLOCK: usize = 1 << 14;

/// The traffic of one vertex to each part around it.
struct Around {
    /// Parts that are touched, in order of appearance.
    parts: Vec<u32>,
    /// By part; 0 for those not touched.
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

    /// What the edges of the vertex cost if it lay in a part.
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
    /// Vertices below this one stay where they are.
    pub(crate) fixed: u32,
    /// What else than the load is kept.
    pub(crate) kept: Option<ConstraintState<'a>>,
    /// Edges and parts looked at by [`Mapping::best`].
    pub(crate) looked: usize,
    /// Edges and parts looked at in all, to learn what moves gain.
    pub(crate) work: usize,
    /// How long moves are looked for; for ever if that is not said.
    pub(crate) budget: Option<&'a Budget<'a>>,
    /// The work after which the clock is looked at next.
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
            kept: limits.and_then(|limits| ConstraintState::new(level, limits, part)),
            part,
            load,
            fixed: 0,
            looked: 0,
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

    /// Whether no more moves are to be looked for. To be asked often: the clock is looked at when
    /// enough was done since.
    #[inline]
    pub(crate) fn is_late(&mut self) -> bool {
        if !self.late && self.work >= self.check {
            self.check = self.work + CLOCK;
            self.late = self.budget.is_some_and(Budget::is_over);
        }
        self.late
    }

    /// Learns the traffic of a vertex to the parts around it.
    #[inline]
    fn look_around(&mut self, v: u32) {
        self.around.fill(self.level, self.part, v);
        self.work += 1 + self.level.degree(v);
    }

    #[inline]
    pub(crate) fn fits(&self, v: u32, to: u32) -> bool {
        self.level.load[v as usize] <= self.spare(to) && self.allows(v, to)
    }

    /// Whether nothing is broken by a move, but perhaps the load bound.
    #[inline]
    pub(crate) fn allows(&self, v: u32, to: u32) -> bool {
        let kept = self.kept.as_ref();
        kept.is_none_or(|kept| kept.allows(v, to, self.part))
    }

    /// Whether a vertex is not to move: it is fixed, or no other part is open to it.
    #[inline]
    pub(crate) fn stays(&self, v: u32) -> bool {
        v < self.fixed || self.kept.as_ref().is_some_and(|kept| kept.stays(v))
    }

    /// Whether a vertex lies where it may not, or meets one that it is to keep apart from.
    pub(crate) fn is_misplaced(&self, v: u32) -> bool {
        let here = self.part[v as usize];
        self.kept.as_ref().is_some_and(|kept| {
            !kept.limits.is_open(kept.held.set(v), here) || kept.meets(v, here, self.part)
        })
    }

    /// Load over the bounds, and whatever else is broken as if it were load.
    pub(crate) fn excess(&self) -> i64 {
        let load: i64 = (0..self.load.len() as u32).map(|p| self.over(p)).sum();
        load + self.broken()
    }

    /// What is broken beside load bounds; 0 when nothing is.
    pub(crate) fn broken(&self) -> i64 {
        let kept = self.kept.as_ref();
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
        if let Some(kept) = &mut self.kept {
            kept.shift(v, from, to);
        }
    }

    /// Whether a vertex has a neighbour in another part.
    #[inline]
    pub(crate) fn at_boundary(&self, v: u32) -> bool {
        let here = self.part[v as usize];
        let mut around = self.level.around(v).iter();
        around.any(|&u| self.part[u as usize] != here)
    }

    /// The best part to move to among those the vertex touches that have room, with the gain; of
    /// equally good ones the emptiest.
    #[inline]
    pub(crate) fn best(&mut self, v: u32) -> Option<(i64, u32)> {
        if self.stays(v) {
            return None;
        }
        let here = self.part[v as usize];
        self.look_around(v);
        match self.around.parts[..] {
            [] => return None,
            [only] if only == here => return None,
            _ => {}
        }
        let touched = self.around.parts.len();
        self.looked += self.level.degree(v) + touched * touched;
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

    /// The cheapest part with room, touched or not.
    pub(crate) fn anywhere(&mut self, v: u32) -> Option<(i64, u32)> {
        if self.stays(v) {
            return None;
        }
        self.cheapest(v, 0..self.parts.len() as u32, false)
    }

    /// The cheapest of some parts that breaks nothing: with `fill`, full or not.
    pub(crate) fn cheapest(
        &mut self,
        v: u32,
        among: impl ExactSizeIterator<Item = u32>,
        fill: bool,
    ) -> Option<(i64, u32)> {
        let here = self.part[v as usize];
        self.look_around(v);
        self.work += among.len() * self.around.parts.len();
        let now = self.around.cost(self.parts, here);
        let may = if fill { Self::allows } else { Self::fits };
        among
            .filter(|&p| p != here && may(self, v, p))
            .map(|p| (now - self.around.cost(self.parts, p), p))
            .max_by_key(|&(gain, p)| (gain, std::cmp::Reverse(p)))
    }

    /// Sum over edges of weight times distance.
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
