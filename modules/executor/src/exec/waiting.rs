//! How processes begin to wait on a side of a point, are woken there, and cease to wait.

use super::current;
use super::point::Point;
use super::registry;
use super::side::Side;
use crate::link::waiter::{ARMED, GONE, HOOK, ID, STOP, may_be_hooked, waits};

impl Point {
    /// Somebody waits on a side, by a word. A hook that waited there before must have been freed.
    #[inline(always)]
    pub fn arm(&self, side: Side, word: u32) {
        self.set(side, word);
        self.touch();
    }

    /// Wakes whoever waits on a side.
    #[inline(always)]
    pub fn wake(&self, side: Side, how: impl Fn(u32)) {
        if let Some(id) = self.release(side) {
            self.touch();
            how(id);
        }
    }

    /// Nobody waits on a side any more: a future was dropped. Frees the hook of a foreign waker.
    #[inline(always)]
    pub fn disarm(&self, side: Side) {
        let word = self.word(side);
        if waits(word) {
            self.set(side, word & !(ARMED | STOP));
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
    pub fn leave(&self, side: Side, with: u32) {
        self.disarm(side);
        self.set(side, GONE | with);
    }

    /// Wakes the other side, which waits for this one or for its leaving. If it does neither, `last` is told who waited there last: it
    /// may have been woken already and have had no turn since.
    pub fn wake_left(&self, side: Side, how: impl Fn(u32), last: impl Fn(u32)) {
        let word = self.word(side);
        if word & (STOP | ARMED | GONE) == STOP {
            self.set(side, word & !STOP);
            self.touch();
            debug_assert!(word & HOOK == 0, "a hook that waits to be stopped is armed");
            how(word & ID);
        } else if let Some(id) = self.release(side) {
            self.touch();
            how(id);
        } else if word & (GONE | HOOK) == 0 {
            last(word & ID);
        }
    }

    #[inline(always)]
    fn touch(&self) {
        if self.mark() {
            registry::touch(self);
        }
    }
}
