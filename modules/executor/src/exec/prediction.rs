//! A prediction of who runs next: value prediction by a program (M. Lipasti, C. Wilkerson and J. Shen, "Value locality and load
//! value prediction", ASPLOS 1996, have processors do it).

use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use super::task::TaskHeader;

/// Who had the last turn of an even number in a batch, and the last of an odd one: two who write to each other run in turns.
///
/// Who is to run stands in memory: the process that woke it wrote it there, and had it from a channel, where it wrote itself in a
/// turn of its own. A processor that could do the work of several turns at once waits for that chain of stores and loads. Where
/// the prediction is right the turn goes on with it, and it is no part of the chain: whether it is right is a branch, which the
/// processor predicts.
pub(super) struct Predictions([AtomicPtr<TaskHeader>; 2]);

impl Predictions {
    pub(super) fn new() -> Self {
        Predictions([const { AtomicPtr::new(ptr::null_mut()) }; 2])
    }

    /// Whether nobody has had a turn.
    pub(super) fn are_unused(&self) -> bool {
        self.0.iter().all(|place| place.load(Relaxed).is_null())
    }

    /// The same process as the one that is given, which has the turn of this number in a batch.
    #[inline(always)]
    pub(super) fn confirm(&self, turn: usize, header: NonNull<TaskHeader>) -> NonNull<TaskHeader> {
        let predicted = &self.0[turn & 1];
        let same = predicted.load(Relaxed);
        // It is loaded once more, and atomic for that: of two that it knows to be equal the compiler would take what is given.
        if predicted.load(Relaxed) == header.as_ptr() {
            // SAFETY: one thread alone writes it, so it is `header`, which is not null. The caller follows it for `header`: it may, as
            // it is of the same task. No task is made after the first turn (`Scheduler::put`), so none has the address of another.
            return unsafe { NonNull::new_unchecked(same) };
        }
        predicted.store(header.as_ptr(), Relaxed);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_was_predicted_it_is_the_one_that_is_given() {
        let places = [0u64; 3];
        let headers: [NonNull<TaskHeader>; 3] =
            std::array::from_fn(|at| NonNull::from(&places[at]).cast());
        let predictions = Predictions::new();
        for turn in 0..100 {
            for header in [headers[turn & 1], headers[turn % 3]] {
                assert_eq!(predictions.confirm(turn, header), header);
            }
        }
    }
}
