//! Ascending ranges by their starts and lengths, both in Elias-Fano code.

use crate::error::Error;
use crate::form::elias_fano::EliasFano;
use crate::progression::Progression;

/// Ascending ranges of neighbours: the world ranks and the group ranks at which they begin, both as
/// gaps. They take about `2 * (2 + log2(u / r))` bits for each of `r` ranges.
///
/// SELECT and RANK access each sequence once or twice. They take constant time, unless the ranges
/// are clustered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunLengths {
    starts: EliasFano,
    firsts: EliasFano,
    len: u64,
}

impl RunLengths {
    /// Collects `count` ascending ranges that are not adjacent, with `len` ranks in total. The last
    /// range has `last_len` ranks from `last_start` on. There must be at least one range. `each` is
    /// called twice, and must give the same ranges.
    pub(crate) fn collect(
        count: u64,
        len: u64,
        last_start: u32,
        last_len: u64,
        each: impl Fn(&mut dyn FnMut(Progression)),
    ) -> Self {
        let starts = EliasFano::collect(count, u64::from(last_start) + 1, |take| {
            each(&mut |run| take(run.start()));
        });
        let firsts = EliasFano::collect(count, len - last_len + 1, |take| {
            let mut first = 0_u64;
            each(&mut |run| {
                take(first as u32);
                first += run.len();
            });
        });
        RunLengths {
            starts,
            firsts,
            len,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn count(&self) -> u64 {
        self.starts.len()
    }

    pub(crate) fn parts(&self) -> (&EliasFano, &EliasFano) {
        (&self.starts, &self.firsts)
    }

    /// Decodes ranges from the world ranks (`starts`) and the group ranks (`firsts`) at which they
    /// begin, and their total length `len`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if they are not ascending ranges that are not empty and not adjacent,
    /// if there is no range, or if a range exceeds 2^32.
    pub(crate) fn from_parts(
        starts: EliasFano,
        firsts: EliasFano,
        len: u64,
    ) -> Result<Self, Error> {
        let wrong = Err(Error::Malformed("ranges"));
        if starts.len() != firsts.len() || starts.len() == 0 || firsts.at(0) != 0 {
            return wrong;
        }
        let runs = RunLengths {
            starts,
            firsts,
            len,
        };
        let (mut free, mut first) = (0_u64, 0_u64);
        for index in 0..runs.count() {
            let (start, next) = (
                u64::from(runs.starts.at(index as u32)),
                runs.first(index + 1),
            );
            let size = next.saturating_sub(first);
            if size == 0 || start < free || start + size > 1 << 32 {
                return wrong;
            }
            // Adjacent ranges would be a single range.
            (free, first) = (start + size + 1, next);
        }
        Ok(runs)
    }

    fn first(&self, index: u64) -> u64 {
        match index < self.count() {
            true => u64::from(self.firsts.at(index as u32)),
            false => self.len,
        }
    }

    /// Returns the index of the last of some ascending numbers that is not above `number`, or
    /// `None` if there is none.
    #[inline]
    fn last_not_above(numbers: &EliasFano, number: u32) -> Option<u32> {
        let (below, equal) = numbers.find(u64::from(number));
        if equal {
            Some(below as u32)
        } else {
            (below as u32).checked_sub(1)
        }
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let run = RunLengths::last_not_above(&self.firsts, index).unwrap_or(0);
        self.starts.at(run) + (index - self.firsts.at(run))
    }

    /// Returns the number of members below `rank`, and true if `rank` is a member.
    #[inline]
    pub(crate) fn find(&self, rank: u64) -> (u64, bool) {
        let (below, equal) = self.starts.find(rank);
        if equal {
            return (self.first(below), true);
        }
        let Some(run) = below.checked_sub(1) else {
            return (0, false);
        };
        let within = rank - u64::from(self.starts.at(run as u32));
        let (first, next) = (self.first(run), self.first(run + 1));
        match within < next - first {
            true => (first + within, true),
            false => (next, false),
        }
    }

    /// Gives the members from group rank `from` up to `to` (exclusive), as far as they exist, as
    /// ascending ranges.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let (mut from, to) = (from, to.min(self.len));
        if from >= to {
            return;
        }
        let mut run = RunLengths::last_not_above(&self.firsts, from as u32).unwrap_or(0);
        while from < to {
            let (first, next) = (self.first(u64::from(run)), self.first(u64::from(run) + 1));
            let start = u64::from(self.starts.at(run)) + (from - first);
            let size = next.min(to) - from;
            give(Progression::between(start, start + size));
            from += size;
            run += 1;
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.starts.bytes() + self.firsts.bytes()
    }

    /// Returns the size on the heap in bytes for `count` ranges with `len` ranks in total, of which
    /// the last has `last_len` ranks from `last_start` on.
    pub(crate) fn bytes_for(count: u64, len: u64, last_start: u32, last_len: u64) -> usize {
        EliasFano::bytes_for(count, u64::from(last_start) + 1)
            + EliasFano::bytes_for(count, len - last_len + 1)
    }
}
