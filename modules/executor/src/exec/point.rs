//! Where processes of one scheduler wait for each other.
//!
//! A *point* has two sides, and a word for each that says who waits there (`link/waiter.rs`). A
//! channel begins with one; whatever else processes wait at can begin with one too. What is known of
//! waits when the network stands still is read from these words: a wait costs nothing but the
//! word it needs anyway, and one look at a mark. How processes begin and cease to wait is in `waiting.rs`.

use std::cell::Cell;

use super::hooks::Owner;
use super::side::Side;
use crate::link::waiter::{ARMED, GONE, ID, NOBODY, STOP};

/// In `slot`: the words have changed since they were last collected, and the registry knows.
const TOUCHED: u32 = 1 << 31;
/// Most points of a registry.
pub const MOST: u32 = TOUCHED - 1;

/// The part of a channel that does not depend on the type of its tokens.
#[repr(C)]
pub struct Point {
    reader: Cell<u32>,
    writer: Cell<u32>,
    /// Its place in the registry it was made for, and the mark TOUCHED.
    slot: Cell<u32>,
    /// How many tokens there may be: 0 once the reader has left.
    pub capacity: Cell<u32>,
}

impl Point {
    pub fn new(slot: u32, capacity: u32) -> Self {
        Point {
            reader: Cell::new(NOBODY),
            writer: Cell::new(NOBODY),
            // As it is new, the registry knows that it has to be looked at.
            slot: Cell::new(slot | TOUCHED),
            capacity: Cell::new(capacity),
        }
    }

    pub fn slot(&self) -> u32 {
        self.slot.get() & !TOUCHED
    }

    #[inline(always)]
    pub fn word(&self, side: Side) -> u32 {
        self.cell(side).get()
    }

    /// What the hook of a foreign waker knows the word of a side by.
    pub fn owner(&self, side: Side) -> Owner {
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
    pub fn is_gone(&self, side: Side) -> bool {
        self.word(side) & GONE != 0
    }

    /// Sets the word of a side, which is to be told of ([`Point::mark`]).
    #[inline(always)]
    pub(super) fn set(&self, side: Side, word: u32) {
        self.cell(side).set(word);
    }

    /// Takes out who waits on a side, by id, as [`Point::set`] does.
    #[inline(always)]
    pub(super) fn release(&self, side: Side) -> Option<u32> {
        let word = self.word(side);
        (word & ARMED != 0).then(|| {
            self.set(side, word & !(ARMED | STOP));
            word & ID
        })
    }

    /// Marks that words have changed; whether they were not marked.
    #[inline(always)]
    pub(super) fn mark(&self) -> bool {
        let slot = self.slot.get();
        if slot & TOUCHED == 0 {
            self.slot.set(slot | TOUCHED);
        }
        slot & TOUCHED == 0
    }

    /// The words are going to be collected: takes the mark off.
    pub(super) fn untouch(&self) {
        self.slot.set(self.slot());
    }
}
