//! A guess at who runs next.

use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::Ordering::Relaxed;

use super::task::TaskHeader;

/// Who ran in the last turn and in the one before: two who write to each other run in turns.
///
/// Who is to run stands in memory, where the process wrote it that woke it, which found it in a channel, where it wrote itself when it
/// had its turn. A processor that could do the work of several turns at once waits for this chain of stores and loads, from turn to turn.
/// Where the guess is right the turn goes on with the guess, which is no part of it: that it is right is a branch, which the
/// processor predicts.
pub(super) struct Guesses([AtomicPtr<TaskHeader>; 2]);

impl Guesses {
    pub(super) fn new() -> Self {
        Guesses([const { AtomicPtr::new(ptr::null_mut()) }; 2])
    }

    /// The same process as the one that is given, which has a turn of this number.
    #[inline(always)]
    pub(super) fn confirm(&self, turn: usize, header: NonNull<TaskHeader>) -> NonNull<TaskHeader> {
        let guess = &self.0[turn & 1];
        let same = guess.load(Relaxed);
        // It is loaded once more, and atomic for that: of two that it knows to be equal the compiler would take what is given.
        if guess.load(Relaxed) == header.as_ptr() {
            // SAFETY: one thread alone writes it, so it is `header`.
            return unsafe { NonNull::new_unchecked(same) };
        }
        guess.store(header.as_ptr(), Relaxed);
        header
    }
}
