//! Runs: a sequence of progressions.

use crate::error::Error;
use crate::progression::Progression;

/// Runs whose spans do not overlap, in any order.
///
/// SELECT is a binary search for the group rank at which a run begins. RANK is a binary search for
/// the smallest rank of a run. Both take the logarithm of the number of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs {
    /// Group rank at which each run begins.
    first: Box<[u32]>,
    start: Box<[u32]>,
    step: Steps,
    /// Runs in order of their smallest ranks, if that differs from the order of the group.
    order: Option<Box<[u32]>>,
    len: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Steps {
    Same(i32),
    Each(Box<[i32]>),
}

impl Runs {
    /// Creates runs in the order of the group. No run may be empty, which is not checked.
    ///
    /// # Errors
    ///
    /// [`Error::BeyondRanks`] if there are more than 2^32 ranks. If the spans of runs overlap, the
    /// first two of them in the order of their smallest ranks decide: [`Error::Duplicate`] if these
    /// have a rank in common, and otherwise [`Error::Unsuitable`]. Also [`Error::Unsuitable`] if a
    /// step does not fit into an `i32`.
    pub(crate) fn new(runs: &[Progression]) -> Result<Self, Error> {
        let mut first = Vec::with_capacity(runs.len());
        let mut len = 0_u64;
        for run in runs {
            first.push(len as u32);
            len += run.len();
        }
        if len > 1 << 32 {
            return Err(Error::BeyondRanks);
        }
        let mut order: Vec<u32> = (0..runs.len() as u32).collect();
        order.sort_unstable_by_key(|k| runs[*k as usize].min());
        for pair in order.windows(2) {
            let [low, high] = [runs[pair[0] as usize], runs[pair[1] as usize]];
            if high.min() <= low.max() {
                let common = low.ascending().common(&high.ascending());
                return Err(match common.is_empty() {
                    true => Error::Unsuitable,
                    false => Error::Duplicate(common.start()),
                });
            }
        }
        let steps = runs
            .iter()
            .filter(|run| run.len() > 1)
            .map(Progression::step);
        let same = steps.clone().next().unwrap_or(1);
        let step = match steps.clone().all(|step| step == same) {
            true => Steps::Same(narrow(same)?),
            false => Steps::Each(
                runs.iter()
                    .map(|run| narrow(run.step()))
                    .collect::<Result<_, _>>()?,
            ),
        };
        let in_order = order.iter().copied().eq(0..runs.len() as u32);
        Ok(Runs {
            first: first.into(),
            start: runs.iter().map(Progression::start).collect(),
            step,
            order: (!in_order).then(|| order.into()),
            len,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    pub(crate) fn count(&self) -> usize {
        self.start.len()
    }

    pub(crate) fn is_ascending(&self) -> bool {
        let rising = match &self.step {
            Steps::Same(step) => *step > 0,
            Steps::Each(steps) => steps.iter().all(|step| *step > 0),
        };
        rising && self.order.is_none()
    }

    /// Returns the run with an index, in the order of the group. Panics if there is no such run.
    pub(crate) fn run(&self, index: usize) -> Progression {
        let next = self
            .first
            .get(index + 1)
            .map_or(self.len, |first| u64::from(*first));
        let step = self.step(index);
        Progression::valid(self.start[index], step, next - u64::from(self.first[index]))
    }

    #[inline]
    fn step(&self, index: usize) -> i64 {
        match &self.step {
            Steps::Same(step) => i64::from(*step),
            Steps::Each(steps) => i64::from(steps[index]),
        }
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let run = last_not_above(&self.first, index);
        let within = i64::from(index - self.first[run]);
        (i64::from(self.start[run]) + within * self.step(run)) as u32
    }

    #[inline]
    pub(crate) fn rank(&self, rank: u32) -> Option<u32> {
        let run = match &self.order {
            None if self.step == Steps::Same(1) => {
                if rank < self.start[0] {
                    return None;
                }
                last_not_above(&self.start, rank)
            }
            None => partition(self.count(), |k| self.run(k).min() <= rank).checked_sub(1)?,
            Some(order) => {
                let found = partition(order.len(), |k| self.run(order[k] as usize).min() <= rank);
                order[found.checked_sub(1)?] as usize
            }
        };
        Some(self.first[run] + self.run(run).index_of(rank)?)
    }

    /// Returns the number of members below `rank`. The runs must ascend.
    pub(crate) fn below(&self, rank: u64) -> u64 {
        let found = partition(self.count(), |k| u64::from(self.start[k]) < rank);
        match found.checked_sub(1) {
            Some(run) => u64::from(self.first[run]) + self.run(run).below(rank),
            None => 0,
        }
    }

    /// Gives the members from group rank `from` up to `to` (exclusive), as far as they exist, as
    /// progressions.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let (mut from, to) = (from, to.min(self.len));
        if from >= to {
            return;
        }
        let mut index = last_not_above(&self.first, from as u32);
        while from < to {
            let (run, first) = (self.run(index), u64::from(self.first[index]));
            let part = run.slice(from - first, to - first);
            give(part);
            from += part.len();
            index += 1;
        }
    }

    /// Returns the same runs in order of their smallest ranks, each ascending.
    pub(crate) fn sorted(&self) -> Vec<Progression> {
        let mut runs: Vec<_> = (0..self.count()).map(|k| self.run(k).ascending()).collect();
        runs.sort_unstable_by_key(Progression::start);
        runs
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let steps = match &self.step {
            Steps::Same(_) => 0,
            Steps::Each(steps) => size_of_val(&**steps),
        };
        let order = self.order.as_ref().map_or(0, |order| size_of_val(&**order));
        self.count() * 8 + steps + order
    }

    /// Returns the size on the heap in bytes for `count` runs. `steps` is true if their steps
    /// differ, and `order` is true if they are not in the order of their smallest ranks.
    pub(crate) fn bytes_for(count: u64, steps: bool, order: bool) -> usize {
        count as usize * (8 + 4 * usize::from(steps) + 4 * usize::from(order))
    }
}

fn narrow(step: i64) -> Result<i32, Error> {
    // With three terms or more, a step always fits. Two terms can be two runs.
    i32::try_from(step).map_err(|_| Error::Unsuitable)
}

/// Returns the number of leading indices in `0..len` that satisfy the predicate. Indices after the
/// first that does not satisfy it must not satisfy it either.
fn partition(len: usize, first: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, len);
    while low < high {
        let middle = (low + high) / 2;
        if first(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// Returns the index of the last number that is not above `number`. The numbers must ascend. The
/// result is 0 if there is no such number.
#[inline]
fn last_not_above(numbers: &[u32], number: u32) -> usize {
    // Without branches that could be mispredicted.
    let (mut base, mut len) = (0, numbers.len());
    while len > 1 {
        let half = len / 2;
        base += usize::from(numbers[base + half] <= number) * half;
        len -= half;
    }
    base
}
