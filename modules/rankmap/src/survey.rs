//! Examines a sequence of ranks in one walk, without storing the ranks.

use crate::form::grid::{Axis, Closed, Grid};
use crate::form::permutation::images::{BLOCK, frame_width};
use crate::progression::{Grouping, Progression};

/// Properties of a sequence of ranks.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    pub(crate) len: u64,
    pub(crate) min: u32,
    pub(crate) max: u32,
    /// True if each rank is larger than the rank before it.
    pub(crate) ascending: bool,
    /// Number of progressions of any step, as [`Grouping`] forms them.
    pub(crate) pieces: u64,
    /// True if all progressions of two or more terms have the same step.
    pub(crate) same_step: bool,
    /// Number of ascending runs of neighbours.
    pub(crate) ranges: u64,
    /// The last of these runs.
    pub(crate) last_range: Progression,
    /// Number of maximal ascending sequences, which determines the size of a wavelet tree.
    pub(crate) ascents: u64,
    /// Estimated size of the blocks of a permutation of the ranks, in pieces (see [`Images`]). An
    /// upper bound for the blocks from the first descent on.
    pub(crate) frames: u64,
    /// The closed form, if the sequence has one.
    pub(crate) closed: Option<Closed>,
}

impl Survey {
    /// Calls `each` once, and returns the properties of the ranks that it gives as progressions.
    /// Without ranks, `min` is `u32::MAX` and `max` is 0.
    pub(crate) fn of(each: impl FnOnce(&mut dyn FnMut(Progression))) -> Survey {
        let mut walk = Walk::new();
        let mut grouping = Grouping::new();
        each(&mut |piece| grouping.push(piece, &mut |piece| walk.take(piece)));
        grouping.finish(&mut |piece| walk.take(piece));
        walk.survey.closed = walk.odometer.closed();
        // Counts the last block if it is incomplete.
        let (least, most) = walk.block;
        walk.survey.frames += u64::from(
            most.checked_sub(least)
                .map_or(0, |_| frame_width(least, most)),
        );
        walk.survey
    }
}

struct Walk {
    survey: Survey,
    /// Smallest and largest rank of the current block.
    block: (u32, u32),
    step: Option<i64>,
    odometer: Odometer,
}

impl Walk {
    fn new() -> Self {
        Walk {
            survey: Survey {
                len: 0,
                min: u32::MAX,
                max: 0,
                ascending: true,
                pieces: 0,
                same_step: true,
                ranges: 0,
                last_range: Progression::EMPTY,
                ascents: 0,
                frames: 0,
                closed: None,
            },
            block: (u32::MAX, 0),
            step: None,
            odometer: Odometer::default(),
        }
    }

    fn take(&mut self, piece: Progression) {
        if piece.is_empty() {
            return;
        }
        let survey = &mut self.survey;
        let last = survey.last_range;
        let rises = last.is_empty() || last.last() < piece.start();
        survey.ascents += u64::from(last.is_empty() || !rises);
        if piece.step() < 0 {
            survey.ascents += piece.len() - 1;
        }
        survey.ascending &= rises && piece.step() > 0;
        survey.pieces += 1;
        if piece.len() > 1 {
            survey.same_step &= *self.step.get_or_insert(piece.step()) == piece.step();
        }
        let joins = !last.is_empty() && u64::from(last.last()) + 1 == u64::from(piece.start());
        if piece.step() == 1 {
            survey.last_range = match joins {
                true => Progression::valid(last.start(), 1, last.len() + piece.len()),
                false => piece,
            };
            survey.ranges += u64::from(!joins);
        } else {
            survey.ranges += piece.len() - u64::from(joins);
            survey.last_range = Progression::valid(piece.last(), 1, 1);
        }
        let before = survey.len;
        survey.len += piece.len();
        survey.min = survey.min.min(piece.min());
        survey.max = survey.max.max(piece.max());
        self.odometer.take(piece);
        if !self.survey.ascending {
            self.frame(before, piece);
        }
    }

    /// Adds a piece to the blocks of [`BLOCK`] ranks. `before` is the number of ranks before the
    /// piece. Adds the width of each block that the piece completes to `frames`. The blocks of a
    /// sequence matter only if it does not ascend, so this is not called for its ascending
    /// beginning.
    fn frame(&mut self, before: u64, piece: Progression) {
        let mut from = 0;
        while from < piece.len() {
            let to = piece.len().min(from + BLOCK - (before + from) % BLOCK);
            let (first, last) = (piece.at(from as u32), piece.at((to - 1) as u32));
            let (least, most) = self.block;
            self.block = (least.min(first).min(last), most.max(first).max(last));
            if (before + to).is_multiple_of(BLOCK) {
                self.survey.frames += u64::from(frame_width(self.block.0, self.block.1));
                self.block = (u32::MAX, 0);
            }
            from = to;
        }
    }
}

/// Finds the axes of a regular section. Each axis extends as far as possible, and the rank that
/// does not fit begins the next axis.
#[derive(Default)]
struct Odometer {
    start: i64,
    /// Completed axes, the fastest first: stride and count.
    ended: Vec<(i64, u64)>,
    /// Stride of the current axis, once it is known.
    stride: Option<i64>,
    /// Number of ranks for each step of the current axis.
    weight: u64,
    len: u64,
    failed: bool,
}

impl Odometer {
    fn take(&mut self, piece: Progression) {
        let mut at = 0;
        while at < piece.len() && !self.failed {
            let rank = i64::from(piece.at(at as u32));
            let taken = if self.len == 0 {
                (self.start, self.weight) = (rank, 1);
                1
            } else {
                self.follow(rank, piece.step(), piece.len() - at)
            };
            self.len += taken;
            at += taken;
        }
    }

    /// Takes ranks from `rank` on, at distance `step`, of which `left` are given. Returns how many
    /// it has taken: at least one. The caller must add that number to `len`. The second rank of all
    /// determines the stride of the first axis. A later rank that is not the predicted one begins
    /// the next axis. That rank sets `failed` instead if the number of ranks so far is not a
    /// multiple of `weight`, or if 32 axes are complete.
    fn follow(&mut self, rank: i64, step: i64, left: u64) -> u64 {
        let Some(stride) = self.stride else {
            self.stride = Some(rank - self.start);
            return 1;
        };
        let (coordinate, within) = (self.len / self.weight, self.len % self.weight);
        let mut foreseen = self.start + coordinate as i64 * stride;
        let mut rest = within;
        for (stride, count) in &self.ended {
            foreseen += (rest % count) as i64 * stride;
            rest /= count;
        }
        if foreseen == rank {
            return match self.ended.first() {
                None if step == stride => left,
                Some((inner, count)) if step == *inner => left.min(count - within % count),
                _ => 1,
            };
        }
        if within == 0 && self.ended.len() < 32 {
            self.ended.push((stride, coordinate));
            self.weight *= coordinate;
            self.stride = Some(rank - self.start);
            return 1;
        }
        self.failed = true;
        1
    }

    fn closed(&self) -> Option<Closed> {
        if self.failed {
            return None;
        }
        if self.len == 0 {
            return Some(Closed::Progression(Progression::EMPTY));
        }
        let open = self
            .stride
            .map(|stride| (stride, self.len.div_ceil(self.weight)));
        if let (Some((stride, len)), []) = (open, &self.ended[..]) {
            let progression = Progression::new(self.start as u32, stride, len).ok()?;
            return Some(Closed::Progression(progression));
        }
        let axes = open.iter().chain(self.ended.iter().rev());
        let axes: Vec<Axis> = axes
            .map(|(stride, count)| Some(Axis::line(u32::try_from(*count).ok()?, *stride)))
            .collect::<Option<_>>()?;
        Grid::closed(self.start, &axes, self.len).ok()
    }
}
