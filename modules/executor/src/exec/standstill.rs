//! The quiescence check of a scheduler: what it tells and does where all stand still. No process runs meanwhile, and nothing
//! that a process made is called: waits are read from the words of the points at which they are.

use super::hooks::Behind;
use super::registry::Look;
use super::scheduler::Scheduler;
use super::shared::{Told, Verdict};
use super::side::Side;
use super::waits::{UNKNOWN, Update, Wait};
use crate::link::waiter::{ARMED, ELSEWHERE, GONE, HOOK, ID, STOP, is_hooked};

impl Scheduler {
    /// Everyone slept: tells what has become of the waits of its processes, and does what the
    /// schedulers decide.
    #[cold]
    pub(super) fn standstill(&self) -> Verdict {
        let mut verdict = self.meet(self.tell());
        if let Verdict::Census = verdict {
            let ranks = (0..self.tasks.len() as u32).filter_map(|at| self.rank(self.base + at));
            verdict = self.meet(Told {
                ranks: ranks.collect(),
                calls: self.calls(),
                ..self.tell()
            });
        }
        if let Verdict::Resume(grow) = &verdict {
            for channel in &**grow {
                let wake = |id| self.wake(id);
                self.registry.grow(channel.number, channel.capacity, wake);
            }
        }
        verdict
    }

    /// What has become of the waits since this was last asked.
    fn tell(&self) -> Told {
        let ended = self.ended.take();
        self.told.set(self.live.get() > 0);
        // Before the mail: who wakes puts mail in and lets go of the waker then, so one of the two is seen.
        let foreign = self.core.shared.has_foreign_wakers();
        let mut told = Told {
            live: self.live.get(),
            // What comes from other OS processes now is about the meeting, or somebody there has moved.
            moved: self.outside.as_ref().is_some_and(|o| o.moved.get())
                || !self.queue.is_empty()
                || self.hooks.has_loose()
                || self.core.shared.inbox(self.index()).is_filled(),
            foreign,
            above: self.has_floor_above(),
            ended: ended
                .into_iter()
                .map(|(kind, index)| self.directory.rank(kind, index))
                .collect(),
            ..Told::default()
        };
        if told.live == 0 {
            // Nobody is left who waits, and those who were told to wait have ended.
            return told;
        }
        self.registry.collect(|look| {
            if let Some(update) = self.update(look) {
                told.updates.push(update);
            }
        });
        for ready in self.hooks.take_touched() {
            ready.collect(|number, side, word| {
                let wait = word.and_then(|word| {
                    let look = self.registry.look(number, side);
                    self.wait(Look { word, ..look })
                });
                told.updates.push(Update { number, side, wait });
            });
        }
        let (times, waits) = &mut self.tally.borrow_mut().told;
        *times += 1;
        *waits += told.updates.len() as u64;
        told
    }

    /// What is to be told of one side of a channel; `None` if a bundle tells it.
    fn update(&self, look: Look) -> Option<Update> {
        let Look {
            number,
            side,
            word,
            cross,
            ..
        } = look;
        if cross.is_none() && word & ID == ELSEWHERE && word & (GONE | ARMED) == 0 {
            // It is in another OS process, which tells. (At an end of ours it says that nobody waits.)
            return None;
        }
        if is_hooked(word) && matches!(self.hooks.behind(word), Some(Behind::Bundle(true))) {
            return None;
        }
        let wait = self.wait(look);
        Some(Update { number, side, wait })
    }

    /// Who waits at a side of a channel.
    fn wait(&self, look: Look) -> Option<Wait> {
        let Look {
            number,
            side,
            word,
            capacity,
            other,
            cross,
        } = look;
        if word & GONE != 0 || word & (ARMED | STOP) == 0 {
            return None;
        }
        let id = match word & HOOK {
            0 => word & ID,
            _ => match self.hooks.behind(word)? {
                Behind::Process(id) => id,
                Behind::Bundle(_) => return None,
            },
        };
        if let (Some(slot), Some(header)) = (cross, self.header(id)) {
            header.set_told();
            self.registry.set_told(id, slot);
        }
        let (from, to) = self.directory.peers(number);
        let known = match side {
            Side::Read => from,
            Side::Write => to,
        };
        // Where channels have no table, who waited last at the other side is a hint.
        let guess = || {
            (from.is_none() && to.is_none())
                .then(|| self.rank(other & ID))
                .flatten()
        };
        Some(Wait {
            rank: self.rank(id)?,
            peer: known.or_else(guess).unwrap_or(UNKNOWN),
            hint: known.is_none(),
            stop: word & STOP != 0,
            capacity,
        })
    }

    /// The rank of a process that has not ended.
    pub(super) fn rank(&self, id: u32) -> Option<u32> {
        let header = self.header(id)?;
        Some(self.directory.rank(header.kind(), header.index()))
    }
}
