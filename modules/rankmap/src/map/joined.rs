//! Maps made of maps: a complement, a composition, a concatenation.

use crate::map::RankMap;
use crate::progression::Progression;

/// How many maps one behind the other are asked before they are put into one.
pub(crate) const PARTS: usize = 16;
/// How many maps may be in each other before a group of a group is written down by itself.
pub(crate) const DEEP: usize = 16;
/// How many complements may be in each other: SELECT of each asks the one within some thirty times.
pub(crate) const COMPLEMENTS: usize = 2;

/// The ranks from 0 up to before an end that an ascending map does not have.
///
/// SELECT halves the members of the map: the logarithm of their number, times their SELECT. RANK is theirs.
pub(crate) struct Complement {
    pub(crate) of: RankMap,
    pub(crate) end: u64,
}

impl Complement {
    pub(crate) fn len(&self) -> u64 {
        self.end - self.of.len()
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        // Before the k-th member of the map, `member - k` are not in it.
        let (mut low, mut high) = (0, self.of.len());
        while low < high {
            let middle = (low + high) / 2;
            if u64::from(self.of.at(middle as u32)) - middle <= u64::from(index) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (u64::from(index) + low) as u32
    }

    pub(crate) fn find(&self, rank: u64) -> (u64, bool) {
        if rank >= self.end {
            return (self.len(), false);
        }
        let (below, equal) = self.of.find(rank);
        (rank - below, !equal)
    }

    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        if from >= to {
            return;
        }
        let mut next = u64::from(self.at(from as u32));
        let mut left = to - from;
        let passed = self.of.find(next).0;
        self.of.each(passed, self.of.len(), &mut |piece| {
            let terms = if piece.step() == 1 { 1 } else { piece.len() };
            for term in 0..terms {
                let stop = u64::from(piece.at(term as u32));
                let gap = (stop - next).min(left);
                if gap > 0 {
                    give(Progression::between(next, next + gap));
                }
                left -= gap;
                next = if piece.step() == 1 {
                    stop + piece.len()
                } else {
                    stop + 1
                };
            }
        });
        if left > 0 {
            give(Progression::between(next, next + left));
        }
    }

    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        if out.is_empty() {
            return;
        }
        let mut next = u64::from(self.at(from as u32));
        let mut passed = self.of.find(next).0;
        let mut at = 0;
        while at < out.len() {
            let stop = match passed < self.of.len() {
                true => u64::from(self.of.at(passed as u32)),
                false => self.end,
            };
            let gap = ((stop - next) as usize).min(out.len() - at);
            for (out, rank) in out[at..at + gap].iter_mut().zip(next..) {
                *out = rank as u32;
            }
            at += gap;
            next = stop + 1;
            passed += 1;
        }
    }

    pub(crate) fn pieces(&self) -> u64 {
        match self.of.in_pieces() && self.of.pieces() < self.of.len() / 8 {
            // At most as many gaps as terms, and one behind.
            true => (self.of.len() + 1).min(self.len()),
            false => self.of.len() + 1,
        }
    }
}

/// One map after the other: a set in another order, or a group of a group, stored relative to its parent.
///
/// SELECT and RANK cost what both cost.
pub(crate) struct Composition {
    pub(crate) outer: RankMap,
    pub(crate) inner: RankMap,
}

impl Composition {
    pub(crate) fn len(&self) -> u64 {
        self.inner.len()
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.outer.at(self.inner.at(index))
    }

    #[inline]
    pub(crate) fn rank(&self, rank: u32) -> Option<u32> {
        self.inner.rank(self.outer.rank(rank)?)
    }

    pub(crate) fn is_ascending(&self) -> bool {
        self.outer.is_ascending() && self.inner.is_ascending()
    }

    pub(crate) fn find(&self, rank: u64) -> (u64, bool) {
        let (below, equal) = self.outer.find(rank);
        let (index, inside) = self.inner.find(below);
        (index, equal && inside)
    }

    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        self.inner.each(from, to, &mut |piece| match piece.step() {
            1 => {
                let start = u64::from(piece.start());
                self.outer.each(start, start + piece.len(), give);
            }
            -1 => self.backwards(piece, give),
            _ => {
                for term in 0..piece.len() {
                    let rank = self.outer.at(piece.at(term as u32));
                    give(Progression::valid(rank, 1, 1));
                }
            }
        });
    }

    /// What the outer map has at descending indices: piece by piece where these are few.
    fn backwards(&self, piece: Progression, give: &mut dyn FnMut(Progression)) {
        const SOME: u64 = 1024;
        let mut high = u64::from(piece.start()) + 1;
        let end = u64::from(piece.last());
        let mut some = Vec::new();
        while high > end {
            let low = high.saturating_sub(SOME).max(end);
            some.clear();
            self.outer.each(low, high, &mut |part| some.push(part));
            some.iter().rev().for_each(|part| give(part.reversed()));
            high = low;
        }
    }

    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        if self.inner.in_pieces() {
            let (mut at, to) = (0, from + out.len() as u64);
            self.inner.each(from, to, &mut |piece| {
                let out = &mut out[at..at + piece.len() as usize];
                at += out.len();
                if piece.step() == 1 {
                    return self.outer.read(u64::from(piece.start()), out);
                }
                for (term, out) in out.iter_mut().enumerate() {
                    *out = self.outer.at(piece.at(term as u32));
                }
            });
        } else {
            self.inner.read(from, out);
            for rank in out {
                *rank = self.outer.at(*rank);
            }
        }
    }

    pub(crate) fn pieces(&self) -> u64 {
        // Pieces of the inner map may be cut by those of the outer, or be read term by term.
        match self.inner.pieces() {
            1 if matches!(self.inner.in_step(), Some(1 | -1)) => self.outer.pieces(),
            _ => self.len(),
        }
    }
}

/// Maps one after the other that have nothing in common.
///
/// SELECT halves the parts, RANK asks them all.
pub(crate) struct Concatenation {
    parts: Vec<RankMap>,
    /// The group rank at which each begins.
    first: Vec<u32>,
    len: u64,
    ascending: bool,
}

impl Concatenation {
    /// Parts of which none is empty and no two have a member in common.
    pub(crate) fn new(parts: Vec<RankMap>) -> Self {
        let (mut first, mut len) = (Vec::with_capacity(parts.len()), 0);
        for part in &parts {
            first.push(len as u32);
            len += part.len();
        }
        let ascending = parts.iter().all(RankMap::is_ascending)
            && parts
                .windows(2)
                .all(|pair| pair[0].last() < pair[1].first());
        Concatenation {
            parts,
            first,
            len,
            ascending,
        }
    }

    pub(crate) fn parts(&self) -> &[RankMap] {
        &self.parts
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_ascending(&self) -> bool {
        self.ascending
    }

    fn part_of(&self, index: u32) -> usize {
        self.first.partition_point(|first| *first <= index) - 1
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let part = self.part_of(index);
        self.parts[part].at(index - self.first[part])
    }

    #[inline]
    pub(crate) fn rank(&self, rank: u32) -> Option<u32> {
        let mut parts = self.parts.iter().zip(&self.first);
        parts.find_map(|(part, first)| Some(first + part.rank(rank)?))
    }

    pub(crate) fn find(&self, rank: u64) -> (u64, bool) {
        let part = self
            .parts
            .partition_point(|part| part.first().is_some_and(|first| u64::from(first) <= rank));
        let Some(part) = part.checked_sub(1) else {
            return (0, false);
        };
        let (below, equal) = self.parts[part].find(rank);
        (u64::from(self.first[part]) + below, equal)
    }

    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let mut from = from;
        while from < to.min(self.len) {
            let part = self.part_of(from as u32);
            let first = u64::from(self.first[part]);
            let end = first + self.parts[part].len();
            self.parts[part].each(from - first, to.min(end) - first, give);
            from = end;
        }
    }

    pub(crate) fn pieces(&self) -> u64 {
        self.parts.iter().map(RankMap::pieces).sum()
    }

    /// The bytes on the heap, without those of the parts.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<RankMap>() + self.first.capacity() * 4
    }
}
