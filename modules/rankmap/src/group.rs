//! The operations on groups, as MPI names and orders them, on forms as they are.

use std::sync::Arc;

use crate::build::{Builder, Source};
use crate::error::Error;
use crate::form::diagram::{Combination, Unique};
use crate::form::runs::Runs;
use crate::map::{Form, RankMap};
use crate::merge::in_turn;
use crate::progression::Progression;

/// How two groups compare, as `MPI_Group_compare` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same members in the same order.
    Identical,
    /// The same members in another order.
    Similar,
    /// Other members.
    Unequal,
}

/// A range of ranks as MPI gives it: the first, the last that may be reached, and the stride.
pub type RangeTriplet = (u32, u32, i64);

impl RankMap {
    /// All of this group, then those of the other that are not in it, in their order there.
    ///
    /// Cost: that of [`RankMap::intersection`]; sets without a pattern are merged, `O(n k log k)` for a union of `k`,
    /// where that is smaller than to keep them one behind the other. Source: MPI 4.1, 7.3.2; Mir Taheri 2011, 3.7; of
    /// decision diagrams Bryant 1986.
    pub fn union(&self, other: &RankMap) -> RankMap {
        let rest = other.difference(self);
        Builder::new().behind(&[self.clone(), rest])
    }

    /// Those of this group that are also in the other, in their order here.
    ///
    /// Cost: `O(p log p)` for so many progressions of both, on closed forms and runs; where one of them is known by its
    /// members only, a walk through the members of the smaller one, or through both where both ascend. Nothing is
    /// written out but the result. Source: MPI 4.1, 7.3.2; Mir Taheri 2011, 3.7; of progressions the Chinese remainder
    /// theorem, of decision diagrams Bryant 1986.
    pub fn intersection(&self, other: &RankMap) -> RankMap {
        let builder = Builder::new();
        if let Some(made) = combined(&builder, Combination::Intersection, self, other) {
            return made;
        }
        let both = positions(&builder, self, other);
        builder.join(self, &both)
    }

    /// Those of this group that are not in the other, in their order here.
    ///
    /// Cost: that of [`RankMap::intersection`]. Source: MPI 4.1, 7.3.2; Mir Taheri 2011, 3.7.
    pub fn difference(&self, other: &RankMap) -> RankMap {
        let builder = Builder::new();
        if let Some(made) = combined(&builder, Combination::Difference, self, other) {
            return made;
        }
        let both = positions(&builder, self, other);
        let rest = builder.rest(&both, self.len());
        builder.join(self, &rest)
    }

    /// The members with these ranks, in this order: `MPI_Group_incl`.
    ///
    /// Cost: `O(n)` for so many ranks, `O(n log n)` if they do not ascend. Source: MPI 4.1, 7.3.2.
    pub fn include(&self, ranks: &[u32]) -> Result<RankMap, Error> {
        self.compose(&RankMap::from_slice(ranks)?)
    }

    /// All but the members with these ranks, in their order here: `MPI_Group_excl`.
    ///
    /// Cost: `O(n log n)` for so many ranks, however large the group. Source: MPI 4.1, 7.3.2.
    pub fn exclude(&self, ranks: &[u32]) -> Result<RankMap, Error> {
        let set = RankMap::from_slice(ranks)?.to_set();
        self.without(&set)
    }

    /// The members with the ranks of these ranges, one after the other: `MPI_Group_range_incl`.
    ///
    /// Cost: `O(r log r)` for so many ranges. Source: MPI 4.1, 7.3.2.
    pub fn range_include(&self, ranges: &[RangeTriplet]) -> Result<RankMap, Error> {
        self.compose(&of_ranges(ranges, self.len())?)
    }

    /// All but the members with the ranks of these ranges: `MPI_Group_range_excl`.
    ///
    /// Cost: `O(r log r)` for so many ranges. Source: MPI 4.1, 7.3.2.
    pub fn range_exclude(&self, ranges: &[RangeTriplet]) -> Result<RankMap, Error> {
        let mut all = RankMap::empty();
        let given = of_ranges(ranges, self.len())?;
        match &given.form {
            // Ranges between each other: put together one by one.
            Form::Concatenation(parts) => {
                for part in parts.parts() {
                    all = all.union(&part.to_set()).to_set();
                }
            }
            _ => all = given.to_set(),
        }
        self.without(&all)
    }

    /// All but the members whose ranks are in an ascending map.
    fn without(&self, set: &RankMap) -> Result<RankMap, Error> {
        let len = self.len();
        if let Some(most) = set.last().map(u64::from).filter(|most| *most >= len) {
            return Err(Error::NoSuchRank { rank: most, len });
        }
        let builder = Builder::new();
        Ok(builder.join(self, &builder.rest(set, len)))
    }

    /// Whether two groups are the same, or the same but for the order.
    ///
    /// Cost: constant time where it can be seen; else that of going through the progressions of both, and for the same
    /// members in another order that of [`RankMap::intersection`]. Source: MPI 4.1, 7.3.1.
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
        // Most that differ do so at once.
        let sample = (0..64_u64).all(|k| seen(k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 8));
        match sample && positions(&Builder::new(), self, other).len() == self.len() {
            true => Comparison::Similar,
            false => Comparison::Unequal,
        }
    }

    /// The same members in ascending order.
    ///
    /// Cost: constant time where the form knows; else `O(n log n)`. Source: Mir Taheri 2011, 3.5.
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

    /// The same members in ascending order, if that needs no sorting of members.
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
                Builder::new().source(&|give| in_turn(&sets, give)).ok()
            }
            Form::Composition(both) => {
                // A permutation of a set; or a part of one.
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

    /// Whether two maps are one, or closed forms that are equal.
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
    /// A world rank that two maps have in common.
    pub(crate) fn common(&self, a: &RankMap, b: &RankMap) -> Option<u32> {
        positions(self, a, b).first().map(|rank| a.at(rank))
    }
}

impl PartialEq for RankMap {
    /// The same members in the same order, in whatever form.
    fn eq(&self, other: &RankMap) -> bool {
        self.len() == other.len() && (self.is_same(other) || follows(self, other))
    }
}

impl Eq for RankMap {}

/// Whether two maps of the same length have the same members in the same order.
fn follows(a: &RankMap, b: &RankMap) -> bool {
    let len = a.len();
    // Most that differ do so at once.
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
        // Of what differs, no more is looked at than this piece.
        let end = if same { at + piece.len() } else { at };
        b.each(at, end, &mut |other| {
            same &= other == piece.slice(within, within + other.len());
            within += other.len();
        });
        at += piece.len();
    });
    same
}

/// Ranges as MPI gives them, of a group with so many members.
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
        return Ok(Builder::new().behind(&parts));
    }
    Builder::new().progressions(&given)
}

/// What becomes of two decision diagrams, node by node: how many members they have does not matter.
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

/// The ranks in `a` of those of its members that are also in `b`, ascending.
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

/// The ranks in `a`, whose progressions are few, of what an ascending map also has.
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

/// The ranks in `a` of what two ascending maps have in common.
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
