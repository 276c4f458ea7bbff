//! Where processes of one scheduler wait for each other.
//!
//! A *point* has two sides, and a word for each that says who waits there (`link/waiter.rs`). A
//! channel begins with one; whatever else processes wait at can begin with one too. What is known of
//! waits when the network stands still is read from these words: a wait costs nothing but the
//! word it needs anyway, and one look at a mark.

use std::cell::Cell;

use super::current;
use super::hooks::Owner;
use super::registry;
use crate::link::waiter::{ARMED, GONE, HOOK, ID, NOBODY, STOP, may_be_hooked, waits};

/// The two sides of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Read = 0,
    Write = 1,
}

impl Side {
    pub(crate) fn other(self) -> Side {
        match self {
            Side::Read => Side::Write,
            Side::Write => Side::Read,
        }
    }
}

/// In `slot`: the words have changed since they were last collected, and the registry knows.
const TOUCHED: u32 = 1 << 31;
/// Most points of a registry.
pub(crate) const MOST: u32 = TOUCHED - 1;

/// The part of a channel that does not depend on the type of its tokens.
#[repr(C)]
pub(crate) struct Point {
    reader: Cell<u32>,
    writer: Cell<u32>,
    /// Its place in the registry it was made for, and the mark TOUCHED.
    slot: Cell<u32>,
    /// How many tokens there may be: 0 once the reader has left.
    pub(crate) capacity: Cell<u32>,
}

impl Point {
    pub(crate) fn new(slot: u32, capacity: u32) -> Self {
        Point {
            reader: Cell::new(NOBODY),
            writer: Cell::new(NOBODY),
            // As it is new, the registry knows that it has to be looked at.
            slot: Cell::new(slot | TOUCHED),
            capacity: Cell::new(capacity),
        }
    }

    pub(crate) fn slot(&self) -> u32 {
        self.slot.get() & !TOUCHED
    }

    #[inline(always)]
    pub(crate) fn word(&self, side: Side) -> u32 {
        self.cell(side).get()
    }

    /// What the hook of a foreign waker knows the word of a side by.
    pub(crate) fn owner(&self, side: Side) -> Owner {
        (&raw const *self.cell(side)).addr()
    }

    #[inline(always)]
    fn cell(&self, side: Side) -> &Cell<u32> {
        match side {
            Side::Read => &self.reader,
            Side::Write => &self.writer,
        }
    }

    #[inline(always)]
    pub(crate) fn is_gone(&self, side: Side) -> bool {
        self.word(side) & GONE != 0
    }

    /// Somebody waits on a side, by a word. A hook that waited there before must have been freed.
    #[inline(always)]
    pub(crate) fn arm(&self, side: Side, word: u32) {
        self.cell(side).set(word);
        self.touch();
    }

    /// Wakes whoever waits on a side.
    #[inline(always)]
    pub(crate) fn wake(&self, side: Side, how: impl Fn(u32)) {
        let word = self.word(side);
        if word & ARMED != 0 {
            self.cell(side).set(word & !(ARMED | STOP));
            self.touch();
            how(word & ID);
        }
    }

    /// Nobody waits on a side any more: a future was dropped. Frees the hook of a foreign waker.
    #[inline(always)]
    pub(crate) fn disarm(&self, side: Side) {
        let word = self.word(side);
        if waits(word) {
            self.cell(side).set(word & !(ARMED | STOP));
            self.touch();
            if may_be_hooked(word) {
                self.unhook(side, word);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn unhook(&self, side: Side, word: u32) {
        current::with_current(|scheduler| scheduler.unhook(word, self.owner(side)));
    }

    /// A side leaves, for ever; `with` is kept in its word.
    pub(crate) fn leave(&self, side: Side, with: u32) {
        self.disarm(side);
        self.cell(side).set(GONE | with);
    }

    /// Wakes the other side, which waits for this one or for its leaving.
    pub(crate) fn wake_left(&self, side: Side, how: impl Fn(u32)) {
        let word = self.word(side);
        if word & (STOP | ARMED | GONE) == STOP {
            self.cell(side).set(word & !STOP);
            self.touch();
            debug_assert!(word & HOOK == 0, "a hook that waits to be stopped is armed");
            how(word & ID);
        } else {
            self.wake(side, how);
        }
    }

    /// The words are going to be collected; whether they were marked.
    pub(crate) fn untouch(&self) {
        self.slot.set(self.slot());
    }

    #[inline(always)]
    fn touch(&self) {
        let slot = self.slot.get();
        if slot & TOUCHED == 0 {
            self.slot.set(slot | TOUCHED);
            registry::touch(self);
        }
    }
}
