//! What a scheduler answers when it is asked what its processes are doing, between two turns.

use std::ptr::NonNull;

use super::inquiry::{Seated, Snapshot};
use super::registry::Look;
use super::scheduler::Scheduler;
use super::waits::{UNKNOWN, Update, Wait};
use crate::link::waiter::{ARMED, GONE, STOP};

/// A scheduler can be asked while this lives.
pub(super) struct Seat<'a>(&'a Scheduler);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.0.shared().inquiry.leave(self.0.index());
    }
}

impl Scheduler {
    /// The scheduler begins to live, and can be asked.
    pub(super) fn sit(&self) -> Seat<'_> {
        let seated = Seated {
            running: NonNull::from(&self.core.running),
            waiting: NonNull::from(self.queue.waiting()),
            base: self.base,
        };
        let inquiry = &self.shared().inquiry;
        // SAFETY: `Seat` borrows the scheduler until it takes them away.
        unsafe { inquiry.sit(self.index(), seated) };
        Seat(self)
    }

    /// Answers, if this one was asked: between turns.
    #[inline]
    pub(super) fn answer(&self) {
        if self.shared().inquiry.is_on() {
            self.answer_now();
        }
    }

    #[cold]
    fn answer_now(&self) {
        let inquiry = &self.shared().inquiry;
        if inquiry.is_asked(self.index()) {
            inquiry.answer(self.index(), self.snapshot());
        }
    }

    fn snapshot(&self) -> Snapshot {
        // Who is polled for does not wait by a word, until it is armed.
        self.polled.arm(|id| self.wake(id));
        let mut snapshot = Snapshot::default();
        for task in &self.tasks {
            let Some(header) = task.get() else { continue };
            // SAFETY: what is in the table is alive.
            let header = unsafe { header.as_ref() };
            if header.is_queued() {
                snapshot.ready += 1;
            } else {
                let rank = self.directory.rank(header.kind(), header.index());
                snapshot.waiting.push((rank, header.kind()));
            }
        }
        self.registry.each(|look| {
            if let Some(update) = self.waits(look) {
                snapshot.waits.push(update);
            }
        });
        snapshot.calls = self.calls();
        snapshot
    }

    /// Who waits at a side of a channel, as [`Scheduler::wait`], which tells the standstill; bundles included, and
    /// nothing is noted.
    fn waits(&self, look: Look) -> Option<Update> {
        let Look {
            number,
            side,
            word,
            capacity,
            ..
        } = look;
        if word & GONE != 0 || word & (ARMED | STOP) == 0 {
            return None;
        }
        let header = self.header(self.hooks.process(word)?)?;
        if header.is_queued() {
            return None;
        }
        let wait = Wait {
            rank: self.directory.rank(header.kind(), header.index()),
            peer: UNKNOWN,
            hint: false,
            stop: word & STOP != 0,
            capacity,
        };
        Some(Update {
            number,
            side,
            wait: Some(wait),
        })
    }
}
