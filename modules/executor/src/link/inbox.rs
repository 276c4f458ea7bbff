//! Wake-ups and letters for one scheduler from the others of its OS process; wake-ups from foreign threads too.
//!
//! Only a wake-up that finds its process asleep comes here, a token never does, so a lock held
//! for one push is cheap enough; the owner sees by a flag alone whether there is anything.

use std::any::Any;
use std::mem;

use super::waiter::NOBODY;
use crate::sync::{AtomicBool, Mutex, Ordering, lock};

/// Something for the floor above from another scheduler, whose number it is with.
pub type Letter = (u32, Box<dyn Any + Send>);

/// Ids of processes and hooks to wake, and letters. In a cache line of its own: its owner looks at it often.
#[repr(align(64))]
pub struct Inbox {
    filled: AtomicBool,
    ids: Mutex<Vec<u32>>,
    letters: Mutex<Vec<Letter>>,
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Inbox {
            filled: AtomicBool::new(false),
            ids: Mutex::new(Vec::new()),
            letters: Mutex::new(Vec::new()),
        }
    }

    /// Adds an id. The caller then has to wake the owner (see `parker.rs` for the ordering).
    pub fn push(&self, id: u32) {
        let mut ids = lock(&self.ids);
        ids.push(id);
        // Inside the lock, so that it cannot come after the owner's emptying of this very id.
        self.filled.store(true, Ordering::SeqCst);
    }

    /// Adds a letter, behind those that are there. The caller then has to wake the owner.
    pub fn post(&self, letter: Letter) {
        let mut letters = lock(&self.letters);
        letters.push(letter);
        // Inside the lock, as above: the owner empties this list after it has cleared the flag.
        self.filled.store(true, Ordering::SeqCst);
    }

    /// Whether something may be in it.
    #[inline]
    pub fn is_filled(&self) -> bool {
        self.filled.load(Ordering::SeqCst)
    }

    /// Whether somebody else than this one is to be woken.
    pub fn has_other(&self, than: u32) -> bool {
        lock(&self.ids).iter().any(|&id| id != NOBODY && id != than)
    }

    /// Whether it has a letter with this number.
    pub fn has_letter_of(&self, number: u32) -> bool {
        lock(&self.letters).iter().any(|letter| letter.0 == number)
    }

    /// Swaps the ids with `empty`, which must be empty.
    pub fn drain(&self, empty: &mut Vec<u32>) {
        let mut ids = lock(&self.ids);
        mem::swap(&mut *ids, empty);
        self.filled.store(false, Ordering::SeqCst);
    }

    /// Takes the letters out: after [`Inbox::drain`], so that none is left with the flag cleared.
    pub fn letters(&self) -> Vec<Letter> {
        mem::take(&mut *lock(&self.letters))
    }
}
