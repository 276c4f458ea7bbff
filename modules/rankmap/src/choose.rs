//! Which form: what each would cost, told from a survey without building it, and weighed by a strategy.

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

/// How to choose between several representations of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strategy {
    /// The fewest bytes.
    Space,
    /// The shortest look-ups. SELECT and RANK count the same.
    Time,
    /// The least `alpha * T + (1 - alpha) * S`, where `T` and `S` are the logarithms of time and bytes.
    Hybrid {
        /// How much time counts beside bytes, from 0 to 1.
        alpha: f64,
    },
}

impl Default for Strategy {
    /// Hybrid, with the thesis' alpha of 0.25.
    fn default() -> Self {
        Strategy::Hybrid { alpha: 0.25 }
    }
}

impl Strategy {
    /// How badly a form does: the least is chosen.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011, 3.8.1 to 3.8.3.
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
    /// Up to how many bytes a form that takes such times weighs no more than this.
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

/// What a form costs, or would.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Which form.
    pub representation: Representation,
    /// How many bytes it takes in memory, all included.
    pub bytes: usize,
    /// How long SELECT of a random rank takes, in nanoseconds.
    pub select: f64,
    /// How long RANK of a random member takes, in nanoseconds.
    pub rank: f64,
}

/// The counters of an `Arc`, the form behind them, and the map itself.
fn around<T>() -> usize {
    size_of::<RankMap>() + 2 * size_of::<usize>() + size_of::<T>()
}

/// Returns the cost of each form for the surveyed map, except for a decision diagram.
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

/// Progressions, or ranges of neighbours if these take fewer bytes.
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

/// A set in another order. Of the set nothing is known but its size and extent.
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

/// The forms of ascending maps.
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

/// What is left out, in the form that is best by the default strategy.
fn without(complement: &Survey) -> Option<Estimate> {
    let weight = |estimate: &Estimate| Strategy::default().weight(estimate);
    let of = estimates(complement, None);
    let best = of.iter().min_by(|a, b| weight(a).total_cmp(&weight(b)))?;
    let bytes = best.bytes + around::<Complement>();
    let time = time::complement(complement.len, best.select, best.rank);
    Some(estimate(Representation::Complement, bytes, time))
}

/// The bytes of a decision diagram beside those of its nodes and words.
pub(crate) fn around_diagram() -> usize {
    around::<Diagram>()
}

/// What a decision diagram costs that was made.
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
    /// How long SELECT and RANK of random ranks take, in nanoseconds, as far as the form tells.
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
                // RANK asks the parts one after the other, half of them on average.
                let all: f64 = times.map(|time| time.1).sum();
                (2.0 + most, all / 2.0 + 2.0)
            }
        }
    }

    /// What this map costs: its form, its bytes, and how long look-ups take by what was measured of such forms.
    ///
    /// Cost: that of [`RankMap::bytes`]. Source: measured times (`benches/rankmap/run constants`), as Mir Taheri 2011,
    /// 3.8.3 has them.
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

/// How long SELECT and RANK of random ranks take in nanoseconds: what `benches/rankmap/run constants` prints, rounded, as
/// measured on one machine (AMD EPYC, 24 and 25 November 2026); what matters are their proportions.
pub(crate) mod time {
    pub(crate) type Time = (f64, f64);

    pub(crate) const PROGRESSION: Time = (1.4, 3.3);
    pub(crate) const ELIAS_FANO: Time = (4.0, 27.0);
    pub(crate) const RUN_LENGTHS: Time = (40.0, 36.0);
    /// RANK takes a third of it in a thousand and twice as long in a million.
    pub(crate) const SHORTCUTS: Time = (6.2, 60.0);
    pub(crate) const INVERSE: Time = (6.2, 4.3);

    /// A level of the tree is a RANK of a bitmap, and for SELECT one that has to halve.
    pub(crate) fn wavelet(sequences: u64) -> Time {
        let levels = (sequences.max(1) as f64).log2();
        (1.0 + 51.0 * levels, 3.8 + 13.5 * levels)
    }

    /// A node for each halving, at most; many that choose nothing are not there, so this is that of unions of faces of the
    /// hypercube (`benches/rankmap/run D`).
    pub(crate) fn diagram(height: u32) -> Time {
        let height = f64::from(height);
        (14.0 + 6.0 * height, 6.0 + 2.6 * height)
    }

    /// Chunk by chunk, and then the ranges or words of one.
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

    /// An order is one more look for each halving. Short ones are in the nearest cache.
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
            // Half of the words are counted, and for SELECT looked at one by one.
            false => (17.0 + bits as f64 / 94.0, 13.0 + bits as f64 / 256.0),
        }
    }

    pub(crate) fn complement(of: u64, select: f64, rank: f64) -> Time {
        (9.3 + 1.6 * ((of + 1) as f64).log2() * select, 1.0 + rank)
    }
}
