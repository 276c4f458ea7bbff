//! A turn of a process.

use std::cell::Cell;
use std::ptr::NonNull;
use std::task::Context;
use std::time::{Duration, Instant};

use super::scheduler::{Scheduler, Slot};
use super::task::{self, TaskHeader};
use crate::link::waiter::NOBODY;

/// How many processes run before the inbox is looked at again.
const BATCH: usize = 64;
/// Fewest turns that are worth a look at the clock.
const FEW: usize = 4;
/// Turns that take longer than this, as many as a batch has at most, keep others waiting. Far more than where turns move a hundred tokens
/// each between schedulers (64 of them take 0.2 to 0.4 ms): to look around after each of those takes longer than they do.
const LONG: Duration = Duration::from_millis(1);

/// How many turns a batch has. Where processes compute for long in their turns each turn is a batch, so that what has come from others is
/// looked at between them, and not after all of them.
pub(super) struct BatchSize {
    turns: Cell<usize>,
    /// Turns since the last look at the clock, where each is a batch.
    since: Cell<usize>,
    last: Cell<Instant>,
}

impl BatchSize {
    pub(super) fn new() -> Self {
        BatchSize {
            turns: Cell::new(BATCH),
            since: Cell::new(0),
            last: Cell::new(Instant::now()),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self) -> usize {
        self.turns.get()
    }

    /// So many turns are over.
    #[inline(always)]
    fn adapt(&self, turns: usize) {
        if self.is_to_look(turns) {
            self.look(Instant::now());
        }
    }

    #[inline(always)]
    fn is_to_look(&self, turns: usize) -> bool {
        if self.turns.get() == BATCH {
            return turns >= FEW;
        }
        self.since.set(self.since.get() + turns);
        self.since.get() >= BATCH
    }

    /// From one look to the next there may have been nothing at all, or batches that were too short for a look: then each turn is a batch
    /// for a while.
    #[inline(never)]
    fn look(&self, now: Instant) {
        self.since.set(0);
        let is_long = now - self.last.replace(now) > LONG;
        self.turns.set(if is_long { 1 } else { BATCH });
    }
}

impl Scheduler {
    /// A batch of so many turns is over.
    #[inline(always)]
    pub(super) fn adapt_batch(&self, turns: usize) {
        if self.outside.is_some() || self.core.shared.inboxes() > 1 {
            self.batch_size.adapt(turns);
        }
    }

    /// A turn of a process, and of those that end with it. `turn` is its number in a batch, `told` whether waits have been told.
    #[inline(always)]
    pub(super) fn step(&self, turn: usize, id: u32, told: bool, context: &mut Context<'_>) {
        if self.step_alone(turn, id, told, context) {
            self.pass_stop_on(told, context);
        }
        self.flush_deferred();
    }

    /// A turn of a process and of no other; true if it has ended.
    #[inline(always)]
    pub(super) fn step_alone(
        &self,
        turn: usize,
        id: u32,
        told: bool,
        context: &mut Context<'_>,
    ) -> bool {
        debug_assert!(self.slot(id).is_some(), "only ids of the table are queued");
        let Some(slot) = self.slot(id) else {
            return false;
        };
        let Some(header) = slot.get() else {
            return false;
        };
        let header = self.predictions.confirm(turn, header);
        self.core.running.set(id);
        // SAFETY: what is in the table is alive.
        unsafe { header.as_ref() }.dequeue();
        self.poll(slot, header, told, context)
    }

    /// Polls the process of a slot; true if it has ended, and has left the table. `told` is whether
    /// waits have been told.
    #[inline(always)]
    fn poll(
        &self,
        slot: &Slot,
        header: NonNull<TaskHeader>,
        told: bool,
        context: &mut Context<'_>,
    ) -> bool {
        let told = match told {
            // SAFETY: what is in the table is alive.
            true => Some(self.tell_woken(unsafe { header.as_ref() })),
            false => None,
        };
        // SAFETY: as above, and no other process is being polled; one that has ended leaves the
        // table here.
        let ended = unsafe { task::poll(header, context) };
        if ended {
            slot.set(None);
            self.live.set(self.live.get() - 1);
            if let Some(told) = told {
                self.ended.borrow_mut().push(told);
            }
        }
        ended
    }

    /// A process that was perhaps told to wait has a turn. Its kind and index.
    #[inline(never)]
    fn tell_woken(&self, header: &TaskHeader) -> (u32, u32) {
        if header.take_told() {
            let id = self.core.running.id();
            self.registry.take_told(id);
        }
        (header.kind(), header.index())
    }

    /// A process has ended: polls the one it asked to stop, and so on up a chain, before all others
    /// that can run. Else each of them would have a turn for each link of the chain, for nothing.
    fn pass_stop_on(&self, told: bool, context: &mut Context<'_>) {
        while let Some(id) = self.take_asked() {
            if !self.poll_asked(id, told, context) {
                return;
            }
        }
    }

    /// The process that may have been asked to stop last, if it is there.
    pub(super) fn take_asked(&self) -> Option<u32> {
        let id = self.asked.replace(NOBODY);
        self.header(id).map(|_| id)
    }

    /// Polls a process that may have been asked to stop; true if it has ended.
    ///
    /// The process stays marked as queued, and in the queue, where it is passed by or polled again.
    pub(super) fn poll_asked(&self, id: u32, told: bool, context: &mut Context<'_>) -> bool {
        let Some(slot) = self.slot(id) else {
            return false;
        };
        let Some(header) = slot.get() else {
            return false;
        };
        self.core.running.set(id);
        self.poll(slot, header, told, context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns of so many microseconds, and for each how many its batch had at most.
    fn turns(size: &BatchSize, now: &mut Instant, count: usize, microseconds: u64) -> Vec<usize> {
        let mut sizes = Vec::new();
        while sizes.len() < count {
            let turns = size.get().min(count - sizes.len());
            sizes.extend(std::iter::repeat_n(size.get(), turns));
            *now += turns as u32 * Duration::from_micros(microseconds);
            if size.is_to_look(turns) {
                size.look(*now);
            }
        }
        sizes
    }

    #[test]
    fn long_turns_are_batches_until_they_are_short() {
        let size = BatchSize::new();
        let mut now = size.last.get();
        assert!(
            turns(&size, &mut now, 6 * BATCH, 1)
                .iter()
                .all(|&n| n == BATCH)
        );
        let long = turns(&size, &mut now, 6 * BATCH, 100);
        assert_eq!(
            long.iter().filter(|&&n| n == BATCH).count(),
            BATCH,
            "the first batch"
        );
        assert_eq!(size.get(), 1);
        let short = turns(&size, &mut now, 6 * BATCH, 1);
        assert_eq!(short.iter().filter(|&&n| n == 1).count(), BATCH);
        assert_eq!(size.get(), BATCH);
    }

    /// To look at the clock takes longer than many a turn.
    #[test]
    fn batches_of_few_turns_are_not_looked_at() {
        let size = BatchSize::new();
        for turns in 0..FEW {
            assert!(!size.is_to_look(turns));
        }
        assert!(size.is_to_look(FEW));
    }
}
