//! Walks through the members of a map in group order, as progressions or as single ranks.

use super::{Complement, Composition, Concatenation, Form, RankMap};
use crate::progression::{Grouping, Progression};

/// Number of ranks that are read at a time.
pub(super) const CHUNK: usize = 64;

impl RankMap {
    /// Fills `out` with the world ranks from group rank `from` on. The map must have enough
    /// members. Otherwise the method panics, or a part of `out` is arbitrary.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        match &self.form {
            Form::Bitmap(bitmap) => bitmap.read(from, out),
            Form::EliasFano(gaps) => gaps.read(from, out),
            Form::Diagram(diagram) => diagram.read(from, out),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => roaring.read(from, out),
            Form::List(list) => list.read(from, out),
            Form::Permutation(permutation) => permutation.read(from, out),
            Form::Wavelet(wavelet) => {
                for (rank, out) in (from as u32..).zip(out) {
                    *out = wavelet.at(rank);
                }
            }
            Form::Composition(both) => both.read(from, out),
            Form::Complement(complement) => complement.read(from, out),
            _ => {
                let (mut at, to) = (0, from + out.len() as u64);
                self.each(from, to, &mut |piece| {
                    let len = piece.len() as usize;
                    let (step, mut rank) = (piece.step(), i64::from(piece.start()));
                    for out in &mut out[at..at + len] {
                        *out = rank as u32;
                        rank += step;
                    }
                    at += len;
                });
            }
        }
    }

    /// Gives the world ranks from group rank `from` up to `to` (exclusive) as progressions, in the
    /// order of the group and without storing them. A `to` beyond the length counts as the length.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let to = to.min(self.len());
        if from >= to {
            return;
        }
        match &self.form {
            Form::Progression(progression) => give(progression.slice(from, to)),
            Form::Grid(grid) => grid.each(from, to, give),
            Form::Runs(runs) => runs.each(from, to, give),
            Form::RunLengths(runs) => runs.each(from, to, give),
            Form::Diagram(diagram) => diagram.each(from, to, give),
            Form::Complement(complement) => complement.each(from, to, give),
            Form::Composition(both) => both.each(from, to, give),
            Form::Concatenation(parts) => parts.each(from, to, give),
            _ => {
                let mut grouping = Grouping::new();
                let mut at = from;
                let mut some = [0; CHUNK];
                while at < to {
                    let len = (to - at).min(CHUNK as u64) as usize;
                    self.read(at, &mut some[..len]);
                    for rank in &some[..len] {
                        grouping.push(Progression::valid(*rank, 1, 1), give);
                    }
                    at += len as u64;
                }
                grouping.finish(give);
            }
        }
    }

    /// Gives all world ranks as progressions, in the order of the group.
    pub(crate) fn all(&self, give: &mut dyn FnMut(Progression)) {
        self.each(0, self.len(), give);
    }

    /// Returns an upper bound for the number of progressions of [`RankMap::each`]: the cost of a
    /// walk.
    pub(crate) fn pieces(&self) -> u64 {
        match &self.form {
            Form::Progression(_) => 1,
            Form::Grid(grid) => grid.pieces(),
            Form::Runs(runs) => runs.count() as u64,
            Form::RunLengths(runs) => runs.count(),
            Form::Diagram(diagram) => diagram.ranges(),
            #[cfg(feature = "roaring")]
            Form::Roaring(_) => self.len(),
            Form::Bitmap(_)
            | Form::EliasFano(_)
            | Form::List(_)
            | Form::Permutation(_)
            | Form::Wavelet(_) => self.len(),
            Form::Complement(complement) => complement.pieces(),
            Form::Composition(both) => both.pieces(),
            Form::Concatenation(parts) => parts.pieces(),
        }
    }

    /// Returns true if the form gives progressions in [`RankMap::each`] without reading rank by
    /// rank. It is always true for combined maps, whatever their parts are.
    pub(crate) fn in_pieces(&self) -> bool {
        #[cfg(feature = "roaring")]
        if let Form::Roaring(_) = self.form {
            return false;
        }
        !matches!(
            self.form,
            Form::Bitmap(_)
                | Form::EliasFano(_)
                | Form::List(_)
                | Form::Permutation(_)
                | Form::Wavelet(_)
        )
    }
}

impl Complement {
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
            // At most one gap before each member, and one after the last.
            true => (self.of.len() + 1).min(self.len()),
            false => self.of.len() + 1,
        }
    }
}

impl Composition {
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

    /// Gives the members of the outer map at the ranks in `piece`, whose step must be -1. Reverses
    /// whole progressions of the outer map.
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
        // The outer map may cut the pieces of the inner map, or they are read term by term.
        match self.inner.pieces() {
            1 if matches!(self.inner.in_step(), Some(1 | -1)) => self.outer.pieces(),
            _ => self.len(),
        }
    }
}

impl Concatenation {
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
}
