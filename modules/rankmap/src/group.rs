//! Operations on groups, with MPI's names and orders, applied to the forms directly.

use std::sync::Arc;

use crate::build::{Builder, Source};
use crate::error::Error;
use crate::form::diagram::{Combination, Unique};
use crate::form::runs::Runs;
use crate::map::{Form, RankMap};
use crate::merge::merge_ascending;
use crate::progression::Progression;

/// Result of comparing two groups, as in `MPI_Group_compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same members in the same order.
    Identical,
    /// The same members in another order.
    Similar,
    /// Different members.
    Unequal,
}

/// A range of ranks as in MPI: the first rank, the last rank (a bound), and the stride.
pub type RangeTriplet = (u32, u32, i64);

impl RankMap {
    /// Returns all members of this group, followed by the members of `other` that this group lacks,
    /// in the order of `other` (`MPI_Group_union`).
    ///
    /// Cost: as [`RankMap::intersection`]. Sets without a pattern are merged in `O(n k log k)` for
    /// a union of `k` sets, if the merged form is smaller than a concatenation. Source:
    /// MPI 4.1 (7.3.2), Mir Taheri 2011 (3.7), Bryant 1986 for decision diagrams.
    pub fn union(&self, other: &RankMap) -> RankMap {
        let rest = other.difference(self);
        Builder::new().concatenate(&[self.clone(), rest])
    }

    /// Returns the members of this group that are also in `other`, in the order of this group
    /// (`MPI_Group_intersection`).
    ///
    /// Cost: `O(p log p)` for closed forms and runs with `p` progressions in all. If one map has no
    /// progressions, a walk through the members of the smaller map, or through both maps if both
    /// ascend. Only the result is stored. Source: MPI 4.1 (7.3.2), Mir Taheri 2011 (3.7), the
    /// Chinese remainder theorem for progressions, Bryant 1986 for decision diagrams.
    pub fn intersection(&self, other: &RankMap) -> RankMap {
        let builder = Builder::new();
        if let Some(made) = combined(&builder, Combination::Intersection, self, other) {
            return made;
        }
        let both = positions(&builder, self, other);
        builder.join(self, &both)
    }

    /// Returns the members of this group that are not in `other`, in the order of this group
    /// (`MPI_Group_difference`).
    ///
    /// Cost: as [`RankMap::intersection`]. Source: MPI 4.1 (7.3.2), Mir Taheri 2011 (3.7).
    pub fn difference(&self, other: &RankMap) -> RankMap {
        let builder = Builder::new();
        if let Some(made) = combined(&builder, Combination::Difference, self, other) {
            return made;
        }
        let both = positions(&builder, self, other);
        let rest = builder.rest(&both, self.len());
        builder.join(self, &rest)
    }

    /// Returns the members with the given ranks, in the given order (`MPI_Group_incl`).
    ///
    /// Cost: `O(n)` for `n` ranks that ascend, otherwise `O(n log n)`. Source: MPI 4.1 (7.3.2).
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if a rank occurs twice. [`Error::NoSuchRank`] if the group has no such
    /// rank.
    pub fn include(&self, ranks: &[u32]) -> Result<RankMap, Error> {
        self.compose(&RankMap::from_slice(ranks)?)
    }

    /// Returns the members except the ones with the given ranks, in the order of this group
    /// (`MPI_Group_excl`).
    ///
    /// Cost: `O(n log n)` for `n` ranks, independent of the size of the group. Source:
    /// MPI 4.1 (7.3.2).
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if a rank occurs twice. [`Error::NoSuchRank`] if the group has no such
    /// rank.
    pub fn exclude(&self, ranks: &[u32]) -> Result<RankMap, Error> {
        let set = RankMap::from_slice(ranks)?.to_set();
        self.without(&set)
    }

    /// Returns the members with the ranks of the given ranges, range by range
    /// (`MPI_Group_range_incl`).
    ///
    /// Cost: `O(r log r)` for `r` ranges. Source: MPI 4.1 (7.3.2).
    ///
    /// # Errors
    ///
    /// [`Error::BadRange`] if a stride is zero, or leads away from the last rank of its range.
    /// [`Error::NoSuchRank`] if the group lacks a rank. [`Error::Duplicate`] if a rank occurs
    /// twice.
    pub fn range_include(&self, ranges: &[RangeTriplet]) -> Result<RankMap, Error> {
        self.compose(&of_ranges(ranges, self.len())?)
    }

    /// Returns the members except the members with the ranks of the given ranges, in the order of
    /// this group (`MPI_Group_range_excl`).
    ///
    /// Cost: `O(r log r)` for `r` ranges. Source: MPI 4.1 (7.3.2).
    ///
    /// # Errors
    ///
    /// As [`RankMap::range_include`].
    pub fn range_exclude(&self, ranges: &[RangeTriplet]) -> Result<RankMap, Error> {
        let mut all = RankMap::empty();
        let given = of_ranges(ranges, self.len())?;
        match &given.form {
            // The ranges interleave, so they are united one by one.
            Form::Concatenation(parts) => {
                for part in parts.parts() {
                    all = all.union(&part.to_set()).to_set();
                }
            }
            _ => all = given.to_set(),
        }
        self.without(&all)
    }

    /// Returns the members except the members whose ranks are in `set`, which must ascend.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if the group does not have a rank of `set`.
    fn without(&self, set: &RankMap) -> Result<RankMap, Error> {
        let len = self.len();
        if let Some(most) = set.last().map(u64::from).filter(|most| *most >= len) {
            return Err(Error::NoSuchRank { rank: most, len });
        }
        let builder = Builder::new();
        Ok(builder.join(self, &builder.rest(set, len)))
    }

    /// Compares two groups: the same members in the same order, in another order, or different
    /// members (`MPI_Group_compare`).
    ///
    /// Cost: constant time if the forms show that the maps are equal. Otherwise a walk through the
    /// progressions of both maps, and [`RankMap::intersection`] if the order differs. Source:
    /// MPI 4.1 (7.3.1).
    pub fn compare(&self, other: &RankMap) -> Comparison {
        if self.len() != other.len() {
            return Comparison::Unequal;
        }
        if self.is_same(other) || follows(self, other) {
            return Comparison::Identical;
        }
        if self.is_ascending() && other.is_ascending() {
            return Comparison::Unequal;
        }
        let seen = |k: u64| other.rank(self.at((k % self.len()) as u32)).is_some();
        // A sample is checked first, because most maps that differ do so in many ranks.
        let sample = (0..64_u64).all(|k| seen(k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8));
        match sample && positions(&Builder::new(), self, other).len() == self.len() {
            true => Comparison::Similar,
            false => Comparison::Unequal,
        }
    }

    /// Returns the same members in ascending order.
    ///
    /// Cost: constant time if the form has its ascending order; otherwise `O(n log n)`. Source:
    /// Mir Taheri 2011 (3.5).
    pub fn to_set(&self) -> RankMap {
        if self.is_ascending() {
            return self.clone();
        }
        let builder = Builder::new();
        match self.sorted() {
            Some(set) => set,
            None => {
                let mut all: Vec<u32> = self.iter().collect();
                all.sort_unstable();
                let made = builder.slice(&all);
                made.unwrap_or_else(|_| unreachable!("no member is there twice"))
            }
        }
    }

    /// Returns the same members in ascending order, or `None` if that would require sorting the
    /// single members.
    fn sorted(&self) -> Option<RankMap> {
        if self.is_ascending() {
            return Some(self.clone());
        }
        match &self.form {
            Form::Progression(progression) => Some(progression.reversed().into()),
            Form::Grid(grid) => grid.sorted().map(RankMap::closed),
            Form::Runs(runs) => {
                let sorted = runs.sorted();
                Builder::new().progressions(&sorted).ok()
            }
            Form::Permutation(_) | Form::Wavelet(_) => Some(RankMap::identity(self.len())),
            Form::List(list) => {
                let ranks = (0..list.len()).map(|index| list.in_order(index));
                Builder::new().iter(ranks).ok()
            }
            Form::Concatenation(parts) => {
                let sets = parts.parts().iter().map(RankMap::sorted);
                let sets: Vec<RankMap> = sets.collect::<Option<_>>()?;
                Builder::new()
                    .source(&|give| merge_ascending(&sets, give))
                    .ok()
            }
            Form::Composition(both) => {
                // A permutation of a set, or a part of one.
                let inner = both.inner.sorted()?;
                let outer = both.outer.sorted()?;
                match inner.is_identity() && inner.len() == outer.len() {
                    true => Some(outer),
                    false if both.outer.is_ascending() => Some(Builder::new().join(&outer, &inner)),
                    false => None,
                }
            }
            _ => None,
        }
    }

    /// Returns true if two maps share their storage, or are equal closed forms. Maps with the same
    /// members can still return false.
    fn is_same(&self, other: &RankMap) -> bool {
        match (&self.form, &other.form) {
            (Form::Progression(a), Form::Progression(b)) => a == b,
            (Form::Grid(a), Form::Grid(b)) => Arc::ptr_eq(a, b) || a == b,
            (Form::Runs(a), Form::Runs(b)) => Arc::ptr_eq(a, b),
            (Form::RunLengths(a), Form::RunLengths(b)) => Arc::ptr_eq(a, b),
            (Form::Bitmap(a), Form::Bitmap(b)) => Arc::ptr_eq(a, b),
            (Form::EliasFano(a), Form::EliasFano(b)) => Arc::ptr_eq(a, b),
            (Form::List(a), Form::List(b)) => Arc::ptr_eq(a, b),
            (Form::Permutation(a), Form::Permutation(b)) => Arc::ptr_eq(a, b),
            (Form::Wavelet(a), Form::Wavelet(b)) => Arc::ptr_eq(a, b),
            (Form::Diagram(a), Form::Diagram(b)) => Arc::ptr_eq(a, b) || a == b,
            #[cfg(feature = "roaring")]
            (Form::Roaring(a), Form::Roaring(b)) => Arc::ptr_eq(a, b),
            (Form::Complement(a), Form::Complement(b)) => {
                Arc::ptr_eq(a, b) || (a.end == b.end && a.of.is_same(&b.of))
            }
            (Form::Composition(a), Form::Composition(b)) => {
                Arc::ptr_eq(a, b) || (a.outer.is_same(&b.outer) && a.inner.is_same(&b.inner))
            }
            (Form::Concatenation(a), Form::Concatenation(b)) => {
                let pairs = a.parts().iter().zip(b.parts());
                Arc::ptr_eq(a, b)
                    || (a.parts().len() == b.parts().len()
                        && pairs.into_iter().all(|(a, b)| a.is_same(b)))
            }
            _ => false,
        }
    }
}

impl Builder {
    /// Returns the first world rank of `a`, in the order of `a`, that `b` contains, or `None` if
    /// there is none.
    pub(crate) fn common(&self, a: &RankMap, b: &RankMap) -> Option<u32> {
        positions(self, a, b).first().map(|rank| a.at(rank))
    }
}

impl PartialEq for RankMap {
    /// Returns true if both maps have the same members in the same order. Their forms may differ.
    fn eq(&self, other: &RankMap) -> bool {
        self.len() == other.len() && (self.is_same(other) || follows(self, other))
    }
}

impl Eq for RankMap {}

/// Returns true if two maps have the same members in the same order. The maps must have the same
/// length. Otherwise the result is arbitrary, or the function panics.
fn follows(a: &RankMap, b: &RankMap) -> bool {
    let len = a.len();
    // A sample is checked first, because most maps that differ do so in many ranks.
    let differs = |k: u64| {
        let rank = (k % len) as u32;
        a.at(rank) != b.at(rank)
    };
    if len > 0 && (0..64_u64).any(|k| differs(k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8)) {
        return false;
    }
    if !a.in_pieces() || !b.in_pieces() {
        return a.iter().eq(b.iter());
    }
    let (mut at, mut same) = (0, true);
    a.all(&mut |piece| {
        let mut within = 0;
        // After the first difference, no further pieces of `b` are read.
        let end = if same { at + piece.len() } else { at };
        b.each(at, end, &mut |other| {
            same &= other == piece.slice(within, within + other.len());
            within += other.len();
        });
        at += piece.len();
    });
    same
}

/// Returns the map of the given MPI ranges in a group of `len` members.
///
/// # Errors
///
/// As [`RankMap::range_include`].
fn of_ranges(ranges: &[RangeTriplet], len: u64) -> Result<RankMap, Error> {
    let mut given = Vec::with_capacity(ranges.len());
    for &(first, last, stride) in ranges {
        let distance = i64::from(last) - i64::from(first);
        let bad = stride == 0 || (distance != 0 && (distance > 0) != (stride > 0));
        if bad {
            return Err(Error::BadRange {
                first,
                last,
                stride,
            });
        }
        let reached = i64::from(first) + distance / stride * stride;
        for rank in [u64::from(first), reached as u64] {
            if rank >= len {
                return Err(Error::NoSuchRank { rank, len });
            }
        }
        given.push(Progression::valid(
            first,
            stride,
            (distance / stride) as u64 + 1,
        ));
    }
    if Runs::new(&given) == Err(Error::Unsuitable) && given.len() <= 64 {
        for (k, a) in given.iter().enumerate() {
            for b in &given[..k] {
                let common = a.ascending().common(&b.ascending());
                if !common.is_empty() {
                    return Err(Error::Duplicate(common.start()));
                }
            }
        }
        let parts: Vec<RankMap> = given.into_iter().map(RankMap::from).collect();
        return Ok(Builder::new().concatenate(&parts));
    }
    Builder::new().progressions(&given)
}

/// Combines two decision diagrams node by node, so that the cost does not depend on the number of
/// members. Returns `None` if a map has another form, or the diagrams are too different.
fn combined(builder: &Builder, with: Combination, a: &RankMap, b: &RankMap) -> Option<RankMap> {
    let (Form::Diagram(a), Form::Diagram(b)) = (&a.form, &b.form) else {
        return None;
    };
    let made = Unique::combine(with, a, b)?;
    Some(match made.len() {
        0 => RankMap::empty(),
        _ => builder.shorter(RankMap::of(Form::Diagram(Arc::new(made)))),
    })
}

/// Returns the group ranks in `a` of the members of `a` that are also in `b`. The result ascends.
fn positions(builder: &Builder, a: &RankMap, b: &RankMap) -> RankMap {
    if a.is_empty() || b.is_empty() {
        return RankMap::empty();
    }
    if a.is_same(b) {
        return RankMap::identity(a.len());
    }
    let made = |each: Source<'_>| {
        let made = builder.source(each);
        made.unwrap_or_else(|_| unreachable!("positions ascend"))
    };
    if let Form::Complement(complement) = &b.form
        && a.max().is_some_and(|most| u64::from(most) < complement.end)
    {
        let inside = positions(builder, a, &complement.of);
        return builder.rest(&inside, a.len());
    }
    if let Form::Composition(both) = &a.form
        && both.outer.pieces() <= 1 + both.inner.len() / 16
    {
        let of_outer = positions(builder, &both.outer, b);
        return positions(builder, &both.inner, &of_outer);
    }
    let sorted = match b.is_ascending() {
        true => Some(b.clone()),
        false if b.in_pieces() => b.sorted(),
        false => None,
    };
    if let Some(set) = &sorted
        && a.pieces() <= 1 + a.len() / 8
    {
        return made(&|give| by_pieces(a, set, give));
    }
    match sorted {
        Some(set) if a.is_ascending() && set.len() < a.len() / 16 => made(&|give| {
            let found = set.iter().filter_map(|world| a.rank(world));
            found.for_each(|rank| give(Progression::valid(rank, 1, 1)));
        }),
        Some(set) if a.is_ascending() && set.len() / 16 <= a.len() => {
            made(&|give| merged(a, &set, give))
        }
        _ => made(&|give| {
            for (rank, world) in (0..=u32::MAX).zip(a) {
                if b.contains(world) {
                    give(Progression::valid(rank, 1, 1));
                }
            }
        }),
    }
}

/// Gives the group ranks in `a` of the members of `a` that are also in `set`, in ascending order.
/// `set` must ascend. This is fast if `a` has few progressions.
fn by_pieces(a: &RankMap, set: &RankMap, give: &mut dyn FnMut(Progression)) {
    let mut offset = 0;
    a.all(&mut |piece| {
        if piece.is_empty() {
            return;
        }
        let rising = piece.ascending();
        let mut backwards = Vec::new();
        let from = set.find(u64::from(piece.min())).0;
        let to = set.find(u64::from(piece.max()) + 1).0;
        set.each(from, to, &mut |other| {
            let common = rising.common(&other);
            let Some(first) = (!common.is_empty())
                .then(|| piece.index_of(common.start()))
                .flatten()
            else {
                return;
            };
            let step = common.step() / piece.step();
            let found = Progression::valid(first + offset as u32, step, common.len());
            match piece.step() > 0 {
                true => give(found),
                false => backwards.push(found.reversed()),
            }
        });
        backwards.into_iter().rev().for_each(&mut *give);
        offset += piece.len();
    });
}

/// Gives the group ranks in `a` of the members of `a` that are also in `b`, in ascending order.
/// Both maps must ascend.
fn merged(a: &RankMap, b: &RankMap, give: &mut dyn FnMut(Progression)) {
    let mut others = b.iter();
    let mut other = others.next();
    for (rank, world) in (0..=u32::MAX).zip(a) {
        while other.is_some_and(|other| other < world) {
            other = others.next();
        }
        match other {
            None => return,
            Some(other) if other == world => give(Progression::valid(rank, 1, 1)),
            Some(_) => {}
        }
    }
}
