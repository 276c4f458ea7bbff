//! SELECT and RANK: calls are forwarded to the form. A combined map calls these functions of its
//! parts.

use super::{Complement, Composition, Concatenation, Form, RankMap};

/// Evaluates an expression with the form that the map has.
macro_rules! each_form {
    ($form:expr, $inner:ident => $do:expr) => {
        match $form {
            Form::Progression($inner) => $do,
            Form::Grid($inner) => $do,
            Form::Runs($inner) => $do,
            Form::RunLengths($inner) => $do,
            Form::Bitmap($inner) => $do,
            Form::EliasFano($inner) => $do,
            Form::List($inner) => $do,
            Form::Permutation($inner) => $do,
            Form::Wavelet($inner) => $do,
            Form::Diagram($inner) => $do,
            #[cfg(feature = "roaring")]
            Form::Roaring($inner) => $do,
            Form::Complement($inner) => $do,
            Form::Composition($inner) => $do,
            Form::Concatenation($inner) => $do,
        }
    };
}

impl RankMap {
    /// Returns the number of members.
    ///
    /// Cost: constant time. Source: stored in the form.
    pub fn len(&self) -> u64 {
        each_form!(&self.form, form => form.len())
    }

    /// Returns true if the map has no members.
    ///
    /// Cost: constant time. Source: stored in the form.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// SELECT: returns the world rank of a rank of the group, or `None` if the group has no such
    /// rank.
    ///
    /// Cost: see the table of the [crate](crate), by form. Source: there, by form. The name is by
    /// Jacobson 1989.
    #[inline(always)]
    pub fn select(&self, rank: u32) -> Option<u32> {
        // One match instead of two (length, then look-up) for the forms in which the match
        // dominates the cost.
        let known = u64::from(rank);
        match &self.form {
            Form::Progression(form) => (known < form.len()).then(|| form.at(rank)),
            Form::Grid(form) => (known < form.len()).then(|| form.at(rank)),
            Form::EliasFano(form) => form.select(rank),
            _ => self.select_else(rank),
        }
    }

    /// Does the same as [`RankMap::select`], without the special cases. It is not inlined, because
    /// the forms that it serves are too large.
    #[inline(never)]
    fn select_else(&self, rank: u32) -> Option<u32> {
        (u64::from(rank) < self.len()).then(|| self.at(rank))
    }

    /// Returns the world rank of a rank that must exist. Otherwise the result is arbitrary, or the
    /// function panics.
    #[inline]
    pub(crate) fn at(&self, rank: u32) -> u32 {
        each_form!(&self.form, form => form.at(rank))
    }

    /// RANK: returns the rank in the group of a world rank, or `None` if the group does not contain
    /// the world rank.
    ///
    /// Cost: see the table of the [crate](crate), by form. Source: there, by form. The name is by
    /// Jacobson 1989.
    #[inline]
    pub fn rank(&self, world: u32) -> Option<u32> {
        match &self.form {
            Form::Progression(progression) => progression.index_of(world),
            Form::Grid(grid) => grid.rank(world),
            Form::Runs(runs) => runs.rank(world),
            Form::RunLengths(runs) => found(runs.find(u64::from(world))),
            Form::Bitmap(bitmap) => match bitmap.contains(world) {
                true => found(bitmap.find(u64::from(world))),
                false => None,
            },
            Form::EliasFano(gaps) => found(gaps.find(u64::from(world))),
            Form::List(list) => list.find(u64::from(world)).1,
            Form::Permutation(permutation) => permutation.rank(world),
            Form::Wavelet(wavelet) => wavelet.rank(world),
            Form::Diagram(diagram) => found(diagram.find(u64::from(world))),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => found(roaring.find(u64::from(world))),
            Form::Complement(complement) => found(complement.find(u64::from(world))),
            Form::Composition(both) => both.rank(world),
            Form::Concatenation(parts) => parts.rank(world),
        }
    }

    /// Returns true if a world rank is a member.
    ///
    /// Cost: at most one RANK. Source: as RANK, by form.
    pub fn contains(&self, world: u32) -> bool {
        match &self.form {
            Form::Bitmap(bitmap) => bitmap.contains(world),
            _ => self.rank(world).is_some(),
        }
    }

    /// Returns true if the form shows that the world ranks ascend with the ranks of the group, so
    /// that the map is a set. The result can be false for a permutation or composition that happens
    /// to ascend.
    ///
    /// Cost: constant time; the sum of both maps for a composition. Source: Mir Taheri 2011 (3.5).
    pub fn is_ascending(&self) -> bool {
        match &self.form {
            Form::Progression(progression) => progression.step() > 0,
            Form::Grid(grid) => grid.is_ascending(),
            Form::Runs(runs) => runs.is_ascending(),
            Form::List(list) => list.is_ascending(),
            Form::Permutation(_) => self.len() < 2,
            Form::Wavelet(wavelet) => wavelet.sequences() < 2,
            #[cfg(feature = "roaring")]
            Form::Roaring(_) => true,
            Form::RunLengths(_)
            | Form::Bitmap(_)
            | Form::EliasFano(_)
            | Form::Diagram(_)
            | Form::Complement(_) => true,
            Form::Composition(both) => both.is_ascending(),
            Form::Concatenation(parts) => parts.is_ascending(),
        }
    }

    /// Returns the number of members below `world`, and true if `world` is a member. The map must
    /// ascend.
    pub(crate) fn find(&self, world: u64) -> (u64, bool) {
        let is = |world: u64| u32::try_from(world).is_ok_and(|world| self.rank(world).is_some());
        match &self.form {
            Form::Progression(progression) => (progression.below(world), is(world)),
            Form::Grid(grid) => (grid.below(world), is(world)),
            Form::Runs(runs) => (runs.below(world), is(world)),
            Form::RunLengths(runs) => runs.find(world),
            Form::Bitmap(bitmap) => bitmap.find(world),
            Form::EliasFano(gaps) => gaps.find(world),
            Form::Diagram(diagram) => diagram.find(world),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => roaring.find(world),
            Form::List(list) => {
                let (below, equal) = list.find(world);
                (below, equal.is_some())
            }
            // Of these forms, only the identity ascends.
            Form::Permutation(_) | Form::Wavelet(_) => (world.min(self.len()), is(world)),
            Form::Complement(complement) => complement.find(world),
            Form::Composition(both) => both.find(world),
            Form::Concatenation(parts) => parts.find(world),
        }
    }

    /// Returns the first member, which is the smallest if the map ascends. Returns `None` if there
    /// are no members.
    pub(crate) fn first(&self) -> Option<u32> {
        self.select(0)
    }

    /// Returns the last member, which is the largest if the map ascends. Returns `None` if there
    /// are no members.
    pub(crate) fn last(&self) -> Option<u32> {
        self.len().checked_sub(1).map(|last| self.at(last as u32))
    }
}

/// Converts the result of [`RankMap::find`] to the result of RANK: the number of members below, or
/// `None` if there is no member.
#[inline]
fn found((below, equal): (u64, bool)) -> Option<u32> {
    equal.then_some(below as u32)
}

impl Complement {
    pub(crate) fn len(&self) -> u64 {
        self.end - self.of.len()
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        // `member - k` ranks are missing from the map before its k-th member.
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
}

impl Concatenation {
    /// Creates a concatenation. The parts must be non-empty and disjoint.
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

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn is_ascending(&self) -> bool {
        self.ascending
    }

    pub(super) fn part_of(&self, index: u32) -> usize {
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
}
