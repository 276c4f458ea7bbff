//! Construction of rank maps from sequences of ranks.

use std::sync::Arc;

use crate::choose::{Estimate, Strategy, around_diagram, estimates, of_diagram, time};
use crate::error::Error;
use crate::form::bitmap::Bitmap;
use crate::form::diagram::{Diagram, Unique, height_of};
use crate::form::elias_fano::EliasFano;
use crate::form::list::List;
use crate::form::permutation::Permutation;
use crate::form::run_lengths::RunLengths;
use crate::form::runs::Runs;
use crate::form::wavelet::Wavelet;
use crate::map::{COMPLEMENTS, Complement, Composition, Form, RankMap};
use crate::progression::{Grouping, Progression};
use crate::representation::Representation;
use crate::survey::Survey;

/// A sequence of ranks that can be walked repeatedly: a function that calls back with progressions.
pub(crate) type Source<'a> = &'a dyn Fn(&mut dyn FnMut(Progression));

/// Number of ranges below which a decision diagram is never the smallest form.
const FEW_RANGES: u64 = 16;

/// Builds rank maps by a strategy, or in a prescribed representation.
///
/// The input is walked at least twice: first to examine it, then to store it in the form that suits
/// the strategy best. Ascending ranks are never collected in an array in between.
///
/// ```
/// use graphmap_rankmap::{Builder, RankMap, Representation, Strategy};
///
/// let odd = Builder::new().iter((0..500_000).map(|k| 2 * k + 1))?;
/// assert_eq!(odd.representation(), Representation::Progression);
/// let squares = Builder::new().strategy(Strategy::Space).iter((0..1000_u32).map(|k| k * k))?;
/// assert_eq!(squares.representation(), Representation::EliasFano);
/// assert_eq!((squares.select(30), squares.rank(900), squares.rank(901)), (Some(900), Some(30), None));
/// # Ok::<(), graphmap_rankmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Builder {
    strategy: Strategy,
    only: Option<Representation>,
}

impl Builder {
    /// Creates a builder that chooses by [`Strategy::default`].
    ///
    /// Cost: constant time. Source: Mir Taheri 2011 (3.8.3) for the default.
    pub fn new() -> Self {
        Builder::default()
    }

    /// Sets the strategy.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011 (3.8).
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.strategy = strategy;
        self
    }

    /// Prescribes a representation, regardless of its cost. Building then fails with
    /// [`Error::Unsuitable`] for ranks that it cannot represent.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011 (3.4).
    pub fn representation(mut self, representation: Representation) -> Self {
        self.only = Some(representation);
        self
    }

    /// Builds a map of the ranks of a slice, in that order.
    ///
    /// Cost: `O(n)` if they ascend, otherwise `O(n log n)`. Source: Mir Taheri 2011 (3.4 and 3.5).
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if a rank occurs twice. [`Error::BeyondRanks`] if there are more than
    /// 2^32 ranks. [`Error::Unsuitable`] if the prescribed representation cannot represent the
    /// ranks, for some representations also if a rank occurs twice.
    pub fn slice(&self, ranks: &[u32]) -> Result<RankMap, Error> {
        self.iter(ranks.iter().copied())
    }

    /// Builds a map of the ranks of an iterator, in that order. The iterator is cloned for each
    /// walk, and each clone must return the same ranks. Otherwise the map is wrong, or the method
    /// panics.
    ///
    /// Cost: `O(n)` if they ascend, without an array of the members; otherwise `O(n log n)`.
    /// Source: Mir Taheri 2011 (3.4 and 3.5).
    ///
    /// # Errors
    ///
    /// As [`Builder::slice`].
    pub fn iter<I>(&self, ranks: I) -> Result<RankMap, Error>
    where
        I: IntoIterator<Item = u32>,
        I::IntoIter: Clone,
    {
        let ranks = ranks.into_iter();
        self.source(&|give| {
            ranks
                .clone()
                .for_each(|rank| give(Progression::valid(rank, 1, 1)))
        })
    }

    /// Builds a map of ranges with strides, one after the other. Empty ranges have no effect.
    ///
    /// Cost: `O(r log r)` for `r` ranges. Source: Chaarawi and Gabriel 2008, Mir Taheri 2011
    /// (4.1.1).
    ///
    /// # Errors
    ///
    /// As [`Builder::iter`].
    pub fn progressions(&self, ranges: &[Progression]) -> Result<RankMap, Error> {
        self.source(&|give| ranges.iter().for_each(|range| give(*range)))
    }

    /// Builds another representation of the same group, by the strategy of this builder.
    ///
    /// Cost: as [`Builder::iter`] for its members, or as [`Builder::progressions`] if its form has
    /// progressions. Source: Mir Taheri 2011 (3.4).
    ///
    /// # Errors
    ///
    /// [`Error::Unsuitable`] if the prescribed representation cannot represent the group.
    pub fn rebuild(&self, map: &RankMap) -> Result<RankMap, Error> {
        self.source(&|give| map.all(give))
    }

    pub(crate) fn weigh(&self, estimate: &Estimate) -> f64 {
        self.strategy.weight(estimate)
    }

    pub(crate) fn source(&self, each: Source<'_>) -> Result<RankMap, Error> {
        self.within(f64::INFINITY, each)
    }

    /// Builds the lightest form of the given ranks, with a weight of at most `most`. `each` is
    /// called several times, and must give the same ranks each time.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if a rank occurs twice. [`Error::BeyondRanks`] if there are more than
    /// 2^32 ranks. [`Error::Unsuitable`] if no form has such a weight, or if the prescribed
    /// representation cannot represent the ranks, for some representations also if a rank occurs
    /// twice.
    pub(crate) fn within(&self, most: f64, each: Source<'_>) -> Result<RankMap, Error> {
        self.among(most, each, true)
    }

    /// Does the same as [`Builder::within`], with the same errors, but excludes the forms that need
    /// an array of all members if the ranks do not ascend.
    pub(crate) fn unlisted(&self, most: f64, each: Source<'_>) -> Result<RankMap, Error> {
        self.among(most, each, false)
    }

    /// Returns true if no representation is prescribed.
    pub(crate) fn chooses(&self) -> bool {
        self.only.is_none()
    }

    fn among(&self, most: f64, each: Source<'_>, listed: bool) -> Result<RankMap, Error> {
        let survey = Survey::of(each);
        if survey.len > 1 << 32 {
            return Err(Error::BeyondRanks);
        }
        let complement = complement_of(&survey, each);
        let mut choices = estimates(&survey, complement.as_ref());
        let mut diagram = self.diagram(&survey, &choices, most, each);
        choices.extend(diagram.as_ref().map(of_diagram));
        choices.retain(|choice| self.only.is_none_or(|only| only == choice.representation));
        choices.retain(|choice| listed || survey.ascending || !takes_list(choice.representation));
        choices.sort_by(|a, b| self.strategy.weight(a).total_cmp(&self.strategy.weight(b)));
        let mut found: Result<(f64, RankMap), Error> = Err(Error::Unsuitable);
        for mut choice in choices {
            let foreseen = self.weigh(&choice);
            if foreseen > most || found.as_ref().is_ok_and(|(weight, _)| *weight <= foreseen) {
                break;
            }
            let built = match diagram
                .take_if(|_| choice.representation == Representation::DecisionDiagram)
            {
                Some(diagram) => Ok(RankMap::of(Form::Diagram(Arc::new(diagram)))),
                None => self.build(choice.representation, &survey, each),
            };
            match built {
                Err(Error::Unsuitable) => {}
                Err(other) if found.is_err() => found = Err(other),
                Err(_) => {}
                Ok(built) => {
                    // Runs that interleave take more bytes than estimated.
                    choice.bytes = built.bytes();
                    let weight = self.weigh(&choice);
                    if weight <= most && found.as_ref().map_or(true, |(least, _)| weight < *least) {
                        found = Ok((weight, built));
                    }
                }
            }
        }
        found.map(|(_, built)| built)
    }

    fn build(
        &self,
        representation: Representation,
        survey: &Survey,
        each: Source<'_>,
    ) -> Result<RankMap, Error> {
        let ranks = |take: &mut dyn FnMut(u32)| {
            each(&mut |piece| (0..piece.len()).for_each(|index| take(piece.at(index as u32))));
        };
        let (len, min, max) = (survey.len, survey.min, survey.max);
        let end = u64::from(max) + 1;
        let form = match representation {
            Representation::Progression | Representation::Grid => {
                let closed = survey.closed.clone().ok_or(Error::Unsuitable)?;
                return Ok(RankMap::closed(closed));
            }
            Representation::Runs => return runs(survey, each, self.only.is_some()),
            Representation::RunLengths => {
                let last = survey.last_range;
                let ranges = |give: &mut dyn FnMut(Progression)| ranges(each, give);
                Form::RunLengths(Arc::new(RunLengths::collect(
                    survey.ranges,
                    len,
                    last.start(),
                    last.len(),
                    ranges,
                )))
            }
            Representation::Bitmap => {
                Form::Bitmap(Arc::new(Bitmap::collect(min, end, true, ranks)))
            }
            Representation::BareBitmap => {
                Form::Bitmap(Arc::new(Bitmap::collect(min, end, false, ranks)))
            }
            Representation::EliasFano => {
                Form::EliasFano(Arc::new(EliasFano::collect(len, end, ranks)))
            }
            Representation::List if survey.ascending => {
                Form::List(Arc::new(List::ascending(len, min, max, ranks)))
            }
            Representation::List => {
                let mut all = Vec::with_capacity(len as usize);
                ranks(&mut |rank| all.push(rank));
                let order = order_of(&all)?;
                Form::List(Arc::new(List::ordered(&all, &order)))
            }
            Representation::Shortcuts | Representation::Inverse | Representation::Wavelet => {
                return self.permuted(representation, len, ranks);
            }
            #[cfg(feature = "roaring")]
            Representation::Roaring if survey.ascending => {
                Form::Roaring(Arc::new(crate::form::roaring::Roaring::collect(ranks)))
            }
            Representation::Complement => {
                let builder = Builder {
                    only: None,
                    ..*self
                };
                let of = builder.source(&|give| gaps(end, each, give))?;
                if of.complements() >= COMPLEMENTS {
                    return Err(Error::Unsuitable);
                }
                Form::Complement(Arc::new(Complement { of, end }))
            }
            _ => return Err(Error::Unsuitable),
        };
        Ok(RankMap::of(form))
    }
}

impl Builder {
    /// Returns the decision diagram if it is prescribed, or if it weighs at most as much as the
    /// lightest of `choices` and at most `most`. Its size is known only by building it, so building
    /// stops as soon as it is too large.
    ///
    /// Returns `None` if the ranks are empty or do not ascend. Unless the diagram is prescribed,
    /// also returns `None` in these cases: another representation is prescribed, the ranks have a
    /// closed form or fewer than [`FEW_RANGES`] ranges, or the diagram takes more than four times
    /// the bytes of the smallest choice.
    fn diagram(
        &self,
        survey: &Survey,
        choices: &[Estimate],
        most: f64,
        each: Source<'_>,
    ) -> Option<Diagram> {
        let end = u64::from(survey.max) + 1;
        if !survey.ascending || survey.len == 0 {
            return None;
        }
        if self.only == Some(Representation::DecisionDiagram) {
            return Unique::collect(end, usize::MAX, each);
        }
        if self.only.is_some() || survey.closed.is_some() || survey.ranges < FEW_RANGES {
            return None;
        }
        let least =
            |of: &dyn Fn(&Estimate) -> f64| choices.iter().map(of).fold(f64::INFINITY, f64::min);
        let time = time::diagram(height_of(end));
        let lightest = least(&|choice| self.weigh(choice)).min(most);
        let most = self.strategy.most_bytes(lightest, time);
        // A diagram is never many times larger than another form, however fast it is.
        let most = most.min(4.0 * least(&|choice| choice.bytes as f64)) as usize;
        let limit = most.checked_sub(around_diagram())?;
        let found = Unique::collect(end, limit, each)?;
        (of_diagram(&found).bytes <= most).then_some(found)
    }

    /// Builds a set and a permutation of it, in the given representation of permutations. The
    /// permutation alone is the result if the set is an identity. `ranks` calls back with `len`
    /// ranks.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if a rank occurs twice.
    fn permuted(
        &self,
        representation: Representation,
        len: u64,
        ranks: impl FnOnce(&mut dyn FnMut(u32)),
    ) -> Result<RankMap, Error> {
        let mut all = Vec::with_capacity(len as usize);
        ranks(&mut |rank| all.push(rank));
        let order = order_of(&all)?;
        let sorted = order.iter().map(|index| all[*index as usize]);
        let any = Builder {
            only: None,
            ..*self
        };
        let set = any.iter(sorted)?;
        // Replaces each world rank by its rank in the set.
        for (place, index) in (0..).zip(&order) {
            all[*index as usize] = place;
        }
        let form = match representation {
            Representation::Wavelet => Form::Wavelet(Arc::new(Wavelet::new(&all)?)),
            _ => {
                let inverse = representation == Representation::Inverse;
                Form::Permutation(Arc::new(Permutation::new(&all, inverse)?))
            }
        };
        let permutation = RankMap::of(form);
        if set.is_identity() {
            return Ok(permutation);
        }
        Ok(RankMap::of(Form::Composition(Arc::new(Composition {
            outer: set,
            inner: permutation,
        }))))
    }
}

/// Returns true if the representation needs an array of the members when they do not ascend.
fn takes_list(representation: Representation) -> bool {
    matches!(
        representation,
        Representation::List
            | Representation::Shortcuts
            | Representation::Inverse
            | Representation::Wavelet
    )
}

/// Returns the indices of the ranks in ascending order of rank.
///
/// # Errors
///
/// [`Error::Duplicate`] if a rank occurs twice.
pub(crate) fn order_of(ranks: &[u32]) -> Result<Vec<u32>, Error> {
    let mut order: Vec<u32> = (0..ranks.len() as u32).collect();
    order.sort_unstable_by_key(|index| ranks[*index as usize]);
    let twice = order
        .windows(2)
        .find(|pair| ranks[pair[0] as usize] == ranks[pair[1] as usize]);
    match twice {
        Some(pair) => Err(Error::Duplicate(ranks[pair[0] as usize])),
        None => Ok(order),
    }
}

fn runs(survey: &Survey, each: Source<'_>, asked: bool) -> Result<RankMap, Error> {
    let (mut all, mut grouping) = (Vec::new(), Grouping::new());
    each(&mut |piece| grouping.push(piece, &mut |piece| all.push(piece)));
    grouping.finish(&mut |piece| all.push(piece));
    let pieces = Runs::new(&all);
    let bytes = |runs: &Runs| runs.bytes();
    let shorter = survey.ranges as usize * 8;
    let runs = match pieces {
        Ok(pieces) if bytes(&pieces) <= shorter => pieces,
        Err(Error::Duplicate(rank)) => return Err(Error::Duplicate(rank)),
        // The progressions interleave. Ranges of neighbours may still be disjoint. They are not
        // tried if there are more than four times as many, because that amounts to storing single
        // members.
        Err(_) if survey.ranges / 4 > survey.pieces && !asked => return Err(Error::Unsuitable),
        _ => {
            let mut all = Vec::with_capacity(survey.ranges as usize);
            ranges(each, &mut |range| all.push(range));
            Runs::new(&all)?
        }
    };
    Ok(RankMap::of(Form::Runs(Arc::new(runs))))
}

/// Calls `give` with the longest runs of consecutive ascending ranks, in the order of the sequence.
fn ranges(each: Source<'_>, give: &mut dyn FnMut(Progression)) {
    let mut current = Progression::EMPTY;
    let mut add = |piece: Progression| {
        let joins =
            !current.is_empty() && u64::from(current.last()) + 1 == u64::from(piece.start());
        if joins {
            current = Progression::valid(current.start(), 1, current.len() + piece.len());
        } else {
            if !current.is_empty() {
                give(current);
            }
            current = piece;
        }
    };
    each(&mut |piece| match piece.step() {
        1 if !piece.is_empty() => add(piece),
        _ => {
            (0..piece.len()).for_each(|index| add(Progression::valid(piece.at(index as u32), 1, 1)))
        }
    });
    if !current.is_empty() {
        give(current);
    }
}

/// Calls `give` with the ranks below `end` that the sequence does not contain, as ascending ranges.
/// The ranks of the sequence must ascend and be below `end`.
fn gaps(end: u64, each: Source<'_>, give: &mut dyn FnMut(Progression)) {
    let mut next = 0;
    ranges(each, &mut |range| {
        let start = u64::from(range.start());
        if start > next {
            give(Progression::between(next, start));
        }
        next = start + range.len();
    });
    if end > next {
        give(Progression::between(next, end));
    }
}

/// Surveys the ranks below the largest member that are not members. Returns `None` if they are at
/// least as many as the members, if the members do not ascend, or if the members are a progression.
fn complement_of(survey: &Survey, each: Source<'_>) -> Option<Survey> {
    let end = u64::from(survey.max) + 1;
    let closed = matches!(
        survey.closed,
        Some(crate::form::grid::Closed::Progression(_))
    );
    if closed || !survey.ascending || survey.len <= end / 2 {
        return None;
    }
    Some(Survey::of(|give| gaps(end, each, give)))
}

impl RankMap {
    /// Builds a map of the ranks of a slice, in that order, as [`Builder::slice`] does.
    ///
    /// Cost: as [`Builder::slice`]. Source: Mir Taheri 2011 (3.4).
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if a rank occurs twice. [`Error::BeyondRanks`] if there are more than
    /// 2^32 ranks.
    pub fn from_slice(ranks: &[u32]) -> Result<Self, Error> {
        Builder::new().slice(ranks)
    }

    /// Returns the map of `len` ranks from `start` on, at distance `step`, which may be negative.
    /// The map is empty if `len` is 0.
    ///
    /// Cost: constant time, no heap storage. Source: Chaarawi and Gabriel 2008,
    /// Mir Taheri 2011 (4.1.1).
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if a member is not a rank. [`Error::Duplicate`] if `step` is 0 and
    /// `len` is above 1.
    pub fn range(start: u32, step: i64, len: u64) -> Result<Self, Error> {
        Progression::new(start, step, len).map(RankMap::from)
    }
}

impl From<Progression> for RankMap {
    fn from(progression: Progression) -> Self {
        RankMap::of(Form::Progression(progression))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns test ranks: in order, in ranges, at random, or permuted.
    fn ranks(seed: u32) -> Vec<u32> {
        let mixed = |k: u32| (k ^ seed).wrapping_mul(0x9E37_79B9).rotate_left(11);
        let (len, part) = (mixed(1) % 400, 2 + mixed(2) % 40);
        let mut ranks: Vec<u32> = match seed % 6 {
            0 => (0..len).map(|k| mixed(3) % 99 + part * k).collect(),
            1 => (0..len).filter(|k| k / part % 2 == 0).collect(),
            2 => (0..len).filter(|k| mixed(*k) % part == 0).collect(),
            3 => (0..len).filter(|k| mixed(*k) % part > 0).collect(),
            4 => (0..len).map(|k| 512 * k + mixed(k) % 512).collect(),
            _ => (0..len).filter(|k| mixed(k / part) % 3 > 0).collect(),
        };
        match mixed(4) % 4 {
            0 => ranks.sort_by_key(|rank| mixed(*rank)),
            1 => ranks.sort_by_key(|rank| rank % part),
            _ => {}
        }
        ranks
    }

    #[test]
    #[cfg_attr(miri, ignore = "safe code, which takes minutes there")]
    fn estimates_match_built_sizes() {
        for seed in 0..2000 {
            let ranks = ranks(seed);
            let each: Source<'_> = &|give| {
                ranks
                    .iter()
                    .for_each(|rank| give(Progression::valid(*rank, 1, 1)))
            };
            let survey = Survey::of(each);
            let complement = complement_of(&survey, each);
            let found = estimates(&survey, complement.as_ref());
            assert!(found.len() > 1 || ranks.is_empty(), "{seed}");
            for Estimate {
                representation,
                bytes,
                ..
            } in found
            {
                let built = Builder::new().representation(representation).slice(&ranks);
                let built = match built {
                    Ok(built) => built,
                    Err(error) => {
                        assert_eq!(error, Error::Unsuitable);
                        continue;
                    }
                };
                let exact = match representation {
                    // A complement is estimated by the default strategy.
                    Representation::Complement => built.bytes() <= 2 * bytes,
                    // The number of ranks in each chunk is not known beforehand.
                    #[cfg(feature = "roaring")]
                    Representation::Roaring => built.bytes() <= bytes,
                    // The estimate does not show whether runs interleave, because that requires
                    // sorting them.
                    Representation::Runs if !built.is_ascending() => bytes <= 2 * built.bytes(),
                    // Only the number and extent of members that do not ascend are known before
                    // they are sorted.
                    Representation::Shortcuts
                    | Representation::Inverse
                    | Representation::Wavelet => true,
                    _ => built.bytes() == bytes,
                };
                assert!(exact, "{seed}: {bytes} bytes for {built:?}");
            }
        }
    }
}
