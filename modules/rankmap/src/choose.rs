//! Choice of the form: estimates the cost of each form from a survey, and weighs it by a strategy.

use crate::form::bitmap::Bitmap;
use crate::form::diagram::Diagram;
use crate::form::elias_fano::EliasFano;
use crate::form::grid::{Closed, Grid};
use crate::form::list::List;
use crate::form::permutation::Permutation;
use crate::form::run_lengths::RunLengths;
use crate::form::runs::Runs;
use crate::form::wavelet::Wavelet;
use crate::map::{Complement, Composition, Form, RankMap};
use crate::representation::Representation;
use crate::survey::Survey;

/// Criterion for the choice between representations of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// The fewest bytes.
    Space,
    /// The shortest look-ups. SELECT and RANK count equally.
    Time,
    /// The least `alpha * T + (1 - alpha) * S`, where `T` and `S` are the logarithms of time and
    /// bytes.
    Hybrid {
        /// Weight of time relative to bytes, from 0 to 1.
        alpha: f64,
    },
}

impl Default for Strategy {
    /// Returns the hybrid strategy with the thesis's `alpha` of 0.25.
    fn default() -> Self {
        Strategy::Hybrid { alpha: 0.25 }
    }
}

impl Strategy {
    /// Returns the weight of a form. The form with the least weight is chosen. The weight is the
    /// natural logarithm of the bytes, of the mean time of SELECT and RANK, or a weighted sum of
    /// both.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011 (3.8.1 to 3.8.3).
    pub fn weight(&self, estimate: &Estimate) -> f64 {
        let time = ((estimate.select + estimate.rank) / 2.0).ln();
        let space = (estimate.bytes as f64).ln();
        match self {
            Strategy::Space => space,
            Strategy::Time => time,
            Strategy::Hybrid { alpha } => alpha * time + (1.0 - alpha) * space,
        }
    }
}

impl Strategy {
    /// Returns the largest size in bytes at which a form with these times weighs at most `weight`.
    /// If the strategy ignores sizes, returns infinity, or 0 if the times alone weigh more than
    /// `weight`.
    pub(crate) fn most_bytes(&self, weight: f64, (select, rank): time::Time) -> f64 {
        let time = ((select + rank) / 2.0).ln();
        match self {
            Strategy::Space => weight.exp(),
            Strategy::Hybrid { alpha } if *alpha < 1.0 => {
                ((weight - alpha * time) / (1.0 - alpha)).exp()
            }
            _ if time <= weight => f64::INFINITY,
            _ => 0.0,
        }
    }
}

/// Cost of a form, measured or estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The form.
    pub representation: Representation,
    /// Size in memory in bytes, everything included.
    pub bytes: usize,
    /// Time of a SELECT of a random rank, in nanoseconds.
    pub select: f64,
    /// Time of a RANK of a random member, in nanoseconds.
    pub rank: f64,
}

/// Returns the size in bytes of a map whose form is a `T` behind an `Arc`, without the heap storage
/// of the form: the map, the counters of the `Arc`, and the `T`.
fn around<T>() -> usize {
    size_of::<RankMap>() + 2 * size_of::<usize>() + size_of::<T>()
}

/// Returns the cost of each form that the surveyed map can have, except for a decision diagram. An
/// empty map has only a progression. `complement` is the survey of the missing ranks.
pub(crate) fn estimates(survey: &Survey, complement: Option<&Survey>) -> Vec<Estimate> {
    let mut found: Vec<Estimate> = closed(survey).into_iter().collect();
    if survey.len == 0 {
        return found;
    }
    found.extend([runs(survey), list(survey)]);
    match survey.ascending {
        true => {
            found.extend(sets(survey));
            found.extend(complement.and_then(without));
        }
        false => found.extend(permutations(survey)),
    }
    found
}

fn estimate(representation: Representation, bytes: usize, (select, rank): time::Time) -> Estimate {
    Estimate {
        representation,
        bytes,
        select,
        rank,
    }
}

fn closed(survey: &Survey) -> Option<Estimate> {
    Some(match survey.closed.as_ref()? {
        Closed::Progression(_) => {
            let bytes = size_of::<RankMap>();
            estimate(Representation::Progression, bytes, time::PROGRESSION)
        }
        Closed::Grid(grid) => {
            let time = time::grid(grid.axes().count());
            estimate(Representation::Grid, around::<Grid>() + grid.bytes(), time)
        }
    })
}

/// Estimates progressions, or ranges of neighbours if these take fewer bytes.
fn runs(survey: &Survey) -> Estimate {
    let unordered = !survey.ascending;
    let pieces = Runs::bytes_for(survey.pieces, !survey.same_step, unordered);
    let ranges = Runs::bytes_for(survey.ranges, false, unordered);
    let (bytes, count) = match pieces < ranges {
        true => (pieces, survey.pieces),
        false => (ranges, survey.ranges),
    };
    estimate(
        Representation::Runs,
        around::<Runs>() + bytes,
        time::runs(count),
    )
}

fn list(survey: &Survey) -> Estimate {
    let (len, unordered) = (survey.len, !survey.ascending);
    let bytes = List::bytes_for(len, survey.min, survey.max, unordered);
    let time = time::list(len, unordered);
    estimate(Representation::List, around::<List>() + bytes, time)
}

/// Estimates the three forms of a map that is a permutation of a set: shortcuts, inverse and
/// wavelet tree. Only the size and extent of the set are known.
fn permutations(survey: &Survey) -> [Estimate; 3] {
    let (len, end) = (survey.len, u64::from(survey.max) + 1);
    let bits = end - u64::from(survey.min);
    let full = bits == len;
    let (set, of_set) = match (full, EliasFano::fits(len, end)) {
        (true, _) => (0, (0.0, time::PROGRESSION.1)),
        (_, true) => (
            around::<EliasFano>() + EliasFano::bytes_for(len, end),
            time::ELIAS_FANO,
        ),
        _ => (
            around::<Bitmap>() + Bitmap::bytes_for(len, bits, true),
            time::bitmap(bits, true),
        ),
    };
    let set = match full && survey.min == 0 {
        true => 0,
        false => set + 2 * size_of::<usize>() + size_of::<Composition>(),
    };
    let with = |representation, bytes: usize, (select, rank): time::Time| {
        let time = (of_set.0 + select, of_set.1 + rank);
        estimate(representation, set + bytes, time)
    };
    let permutation =
        |inverse| around::<Permutation>() + Permutation::bytes_for(len, inverse, survey.frames);
    let wavelet = around::<Wavelet>() + Wavelet::bytes_for(len, survey.ascents);
    [
        with(
            Representation::Shortcuts,
            permutation(false),
            time::SHORTCUTS,
        ),
        with(Representation::Inverse, permutation(true), time::INVERSE),
        with(
            Representation::Wavelet,
            wavelet,
            time::wavelet(survey.ascents),
        ),
    ]
}

/// Estimates the forms of ascending maps.
fn sets(survey: &Survey) -> Vec<Estimate> {
    let (len, end) = (survey.len, u64::from(survey.max) + 1);
    let bits = end - u64::from(survey.min);
    let bitmap = |representation, indexed| {
        let bytes = around::<Bitmap>() + Bitmap::bytes_for(len, bits, indexed);
        estimate(representation, bytes, time::bitmap(bits, indexed))
    };
    let mut found = Vec::new();
    if EliasFano::fits(len, end) {
        let bytes = around::<EliasFano>() + EliasFano::bytes_for(len, end);
        found.push(estimate(Representation::EliasFano, bytes, time::ELIAS_FANO));
    }
    found.push(bitmap(Representation::Bitmap, true));
    found.push(bitmap(Representation::BareBitmap, false));
    if EliasFano::fits(survey.ranges, end) {
        let last = survey.last_range;
        let bytes = RunLengths::bytes_for(survey.ranges, len, last.start(), last.len());
        let bytes = around::<RunLengths>() + bytes;
        let time = time::RUN_LENGTHS;
        found.push(estimate(Representation::RunLengths, bytes, time));
    }
    #[cfg(feature = "roaring")]
    {
        use crate::form::roaring::Roaring;
        let (bytes, chunks) = Roaring::bytes_for(len, survey.ranges, survey.min, survey.max);
        let bytes = around::<Roaring>() + bytes;
        let time = time::roaring(chunks);
        found.push(estimate(Representation::Roaring, bytes, time));
    }
    found
}

/// Estimates a complement from the survey of the missing ranks. The missing ranks have the form
/// that is best by the default strategy. Returns `None` if they have no estimate.
fn without(complement: &Survey) -> Option<Estimate> {
    let weight = |estimate: &Estimate| Strategy::default().weight(estimate);
    let of = estimates(complement, None);
    let best = of.iter().min_by(|a, b| weight(a).total_cmp(&weight(b)))?;
    let bytes = best.bytes + around::<Complement>();
    let time = time::complement(complement.len, best.select, best.rank);
    Some(estimate(Representation::Complement, bytes, time))
}

/// Returns the size of a map that is a decision diagram in bytes, without its nodes and words.
pub(crate) fn around_diagram() -> usize {
    around::<Diagram>()
}

/// Returns the cost of a decision diagram that was built.
pub(crate) fn of_diagram(diagram: &Diagram) -> Estimate {
    let (select, rank) = time::diagram(diagram.height());
    Estimate {
        representation: Representation::DecisionDiagram,
        bytes: around_diagram() + diagram.bytes(),
        select,
        rank,
    }
}

impl RankMap {
    /// Returns the estimated times of SELECT and RANK of random ranks, in nanoseconds.
    pub(crate) fn time(&self) -> (f64, f64) {
        match &self.form {
            Form::Progression(_) => time::PROGRESSION,
            Form::Grid(grid) => time::grid(grid.axes().count()),
            Form::Runs(runs) => time::runs(runs.count() as u64),
            Form::RunLengths(_) => time::RUN_LENGTHS,
            Form::Bitmap(bitmap) => {
                time::bitmap(bitmap.words().len() as u64 * 64, bitmap.is_indexed())
            }
            Form::EliasFano(_) => time::ELIAS_FANO,
            Form::List(list) => time::list(list.len(), !list.is_ascending()),
            Form::Permutation(permutation) if permutation.has_inverse() => time::INVERSE,
            Form::Permutation(_) => time::SHORTCUTS,
            Form::Wavelet(wavelet) => time::wavelet(wavelet.sequences() as u64),
            Form::Diagram(diagram) => time::diagram(diagram.height()),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => time::roaring(roaring.chunks()),
            Form::Complement(complement) => {
                let (select, rank) = complement.of.time();
                time::complement(complement.of.len(), select, rank)
            }
            Form::Composition(both) => {
                let (outer, inner) = (both.outer.time(), both.inner.time());
                (outer.0 + inner.0, outer.1 + inner.1)
            }
            Form::Concatenation(parts) => {
                let times = parts.parts().iter().map(RankMap::time);
                let most = times.clone().map(|time| time.0).fold(0.0, f64::max);
                // RANK tries the parts in order, half of them on average.
                let all: f64 = times.map(|time| time.1).sum();
                (2.0 + most, all / 2.0 + 2.0)
            }
        }
    }

    /// Returns the form, the size in bytes, and the times of look-ups. The times are estimates from
    /// measurements of the form.
    ///
    /// Cost: as [`RankMap::bytes`]. Source: measured times (`benches/rankmap/run constants`), used
    /// as in Mir Taheri 2011 (3.8.3).
    pub fn cost(&self) -> Estimate {
        let (select, rank) = self.time();
        Estimate {
            representation: self.representation(),
            bytes: self.bytes(),
            select,
            rank,
        }
    }
}

/// Times of SELECT and RANK of random ranks, in nanoseconds.
///
/// They are the rounded output of `benches/rankmap/run constants` on one machine (AMD EPYC, 24 and
/// 25 November 2026). Only their proportions matter.
pub(crate) mod time {
    pub(crate) type Time = (f64, f64);

    pub(crate) const PROGRESSION: Time = (1.4, 3.3);
    pub(crate) const ELIAS_FANO: Time = (4.0, 27.0);
    pub(crate) const RUN_LENGTHS: Time = (40.0, 36.0);
    /// RANK takes a third of this time for a thousand members, and twice the time for a million.
    pub(crate) const SHORTCUTS: Time = (6.2, 60.0);
    pub(crate) const INVERSE: Time = (6.2, 4.3);

    /// Estimates the times of a wavelet tree of `sequences` ascending sequences. RANK takes one
    /// RANK of a bitmap for each level of the tree, and SELECT a binary search for each level.
    pub(crate) fn wavelet(sequences: u64) -> Time {
        let levels = (sequences.max(1) as f64).log2();
        (1.0 + 51.0 * levels, 3.8 + 13.5 * levels)
    }

    /// Estimates the times of a decision diagram with `height` halvings from the whole range to
    /// words. They were measured for unions of faces of a hypercube (`benches/rankmap/run D`). A
    /// look-up visits at most one node for each halving.
    pub(crate) fn diagram(height: u32) -> Time {
        let height = f64::from(height);
        (14.0 + 6.0 * height, 6.0 + 2.6 * height)
    }

    /// Estimates the times of a roaring bitmap: a visit of each chunk, then a search in the ranges
    /// or words of one chunk.
    #[cfg(feature = "roaring")]
    pub(crate) fn roaring(chunks: u64) -> Time {
        let chunks = chunks as f64;
        (60.0 + 4.0 * chunks, 60.0 + 2.4 * chunks)
    }

    pub(crate) fn grid(axes: usize) -> Time {
        (1.2 + 0.3 * axes as f64, 2.4 + 1.4 * axes as f64)
    }

    pub(crate) fn runs(count: u64) -> Time {
        let halvings = (count as f64).log2();
        (4.4 + 4.7 * halvings, 3.3 + 5.0 * halvings)
    }

    /// Estimates the times of a list of `len` ranks. SELECT is one access. RANK is a binary search,
    /// with another access for each step if an order is stored (`ordered`). Short lists fit in the
    /// nearest cache.
    pub(crate) fn list(len: u64, ordered: bool) -> Time {
        let halvings = (len as f64).log2();
        let rank = match ordered {
            true => (14.2 * halvings - 79.0).max(4.0 + 6.0 * halvings),
            false => (7.3 * halvings - 23.0).max(2.0 + 4.0 * halvings),
        };
        (5.0 + 0.08 * halvings, rank)
    }

    pub(crate) fn bitmap(bits: u64, indexed: bool) -> Time {
        match indexed {
            true => (30.0, 15.7),
            // Half of the words are counted. SELECT also checks them one by one.
            false => (17.0 + bits as f64 / 94.0, 13.0 + bits as f64 / 256.0),
        }
    }

    pub(crate) fn complement(of: u64, select: f64, rank: f64) -> Time {
        (9.3 + 1.6 * ((of + 1) as f64).log2() * select, 1.0 + rank)
    }
}
