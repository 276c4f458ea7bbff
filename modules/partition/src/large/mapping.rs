//! A mapping of one level under change: parts, their loads, and the gains of moves.

use super::halving::Parts;
use super::level::Level;

/// The traffic of one vertex to each part around it.
#[derive(Clone, Debug)]
pub(crate) struct Around {
    /// Parts that are touched, in order of appearance.
    parts: Vec<u32>,
    /// By part; 0 for those not touched.
    weight: Vec<i64>,
}

impl Around {
    pub(crate) fn new(parts: usize) -> Self {
        Self {
            parts: Vec::new(),
            weight: vec![0; parts],
        }
    }

    #[inline]
    fn fill(&mut self, level: &Level, part: &[u32], v: u32) {
        for &p in &self.parts {
            self.weight[p as usize] = 0;
        }
        self.parts.clear();
        for arc in level.row(v) {
            let p = part[arc.to as usize];
            let weight = &mut self.weight[p as usize];
            if *weight == 0 {
                self.parts.push(p);
            }
            *weight += arc.weight;
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
    /// Edges and parts looked at by [`Mapping::best`].
    pub(crate) looked: usize,
    around: Around,
}

impl<'a> Mapping<'a> {
    pub(crate) fn new(level: &'a Level, parts: &'a Parts, part: &'a mut [u32]) -> Self {
        let mut load = vec![0; parts.len()];
        for (&p, &l) in part.iter().zip(level.load.iter()) {
            load[p as usize] += l;
        }
        Self {
            level,
            parts,
            part,
            load,
            fixed: 0,
            looked: 0,
            around: Around::new(parts.len()),
        }
    }

    #[inline]
    pub(crate) fn fits(&self, v: u32, to: u32) -> bool {
        let load = self.load[to as usize] + self.level.load[v as usize];
        load <= self.parts.bound[to as usize]
    }

    pub(crate) fn overfull(&self, p: u32) -> bool {
        self.load[p as usize] > self.parts.bound[p as usize]
    }

    /// Load over the bounds.
    pub(crate) fn excess(&self) -> i64 {
        (0..self.load.len() as u32).map(|p| self.over(p)).sum()
    }

    #[inline]
    pub(crate) fn over(&self, p: u32) -> i64 {
        (self.load[p as usize] - self.parts.bound[p as usize]).max(0)
    }

    #[inline]
    pub(crate) fn shift(&mut self, v: u32, to: u32) {
        let load = self.level.load[v as usize];
        let from = self.part[v as usize];
        self.load[from as usize] -= load;
        self.load[to as usize] += load;
        self.part[v as usize] = to;
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
        if v < self.fixed {
            return None;
        }
        let here = self.part[v as usize];
        self.around.fill(self.level, self.part, v);
        match self.around.parts[..] {
            [] => return None,
            [only] if only == here => return None,
            _ => {}
        }
        let touched = self.around.parts.len();
        self.looked += self.level.around(v).len() + touched * touched;
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
        if v < self.fixed {
            return None;
        }
        let here = self.part[v as usize];
        self.around.fill(self.level, self.part, v);
        let now = self.around.cost(self.parts, here);
        (0..self.parts.len() as u32)
            .filter(|&p| p != here && self.fits(v, p))
            .map(|p| (now - self.around.cost(self.parts, p), p))
            .max_by_key(|&(gain, p)| (gain, std::cmp::Reverse(p)))
    }

    /// Sum over edges of weight times distance.
    pub(crate) fn cost(&self) -> i64 {
        let mut twice = 0;
        for v in 0..self.level.len() as u32 {
            let distances = self.parts.distances(self.part[v as usize]);
            for arc in self.level.row(v) {
                twice += arc.weight * distances[self.part[arc.to as usize] as usize];
            }
        }
        twice / 2
    }
}
