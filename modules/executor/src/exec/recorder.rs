//! What a scheduler of a traced run records: the last of its events, in a ring.

use std::cell::{Cell, RefCell};

use crate::clock;
use crate::host;
use crate::trace::{After, Event, Part, Trace, Way};

/// The last events of a scheduler.
pub struct Recorder {
    trace: Trace,
    ring: RefCell<Ring>,
    /// A process has its turn: what ports are used for belongs to it.
    in_turn: Cell<bool>,
    /// What the process that has its turn waits for, as far as it is known.
    waits: Cell<Option<(u32, Way)>>,
    /// Until when the last turn took.
    last: Cell<u64>,
    ready: Cell<u32>,
}

#[derive(Default)]
struct Ring {
    events: Vec<Event>,
    /// Where the oldest is, once there are as many as there may be.
    oldest: usize,
    turns_left_out: u64,
    messages_left_out: u64,
}

impl Ring {
    #[inline]
    fn push(&mut self, event: Event, most: usize) {
        if self.events.len() < most {
            self.events.push(event);
            return;
        }
        let Some(oldest) = self.events.get_mut(self.oldest) else {
            return;
        };
        match std::mem::replace(oldest, event) {
            Event::Turn { .. } => self.turns_left_out += 1,
            Event::Message { .. } => self.messages_left_out += 1,
            Event::Ready { .. } => {}
        }
        self.oldest = if self.oldest + 1 == most {
            0
        } else {
            self.oldest + 1
        };
    }
}

impl Recorder {
    pub(super) fn new(trace: Trace) -> Self {
        Recorder {
            trace,
            ring: RefCell::default(),
            in_turn: Cell::new(false),
            waits: Cell::new(None),
            last: Cell::new(0),
            ready: Cell::new(0),
        }
    }

    #[inline]
    fn push(&self, event: Event) {
        self.ring.borrow_mut().push(event, self.trace.events);
    }

    /// Processes have turns now, of whom so many can run.
    pub(super) fn begin(&self, ready: u32) {
        let now = clock::now().max(self.last.get());
        self.last.set(now);
        self.ready(ready, now);
    }

    /// Nobody can run any more: the scheduler is going to sleep.
    pub(super) fn idle(&self) {
        self.ready(0, clock::now().max(self.last.get()));
    }

    fn ready(&self, count: u32, at: u64) {
        if self.ready.replace(count) != count {
            self.push(Event::Ready { count, at });
        }
    }

    /// A process has its turn.
    pub(super) fn open(&self) {
        self.in_turn.set(true);
        self.waits.set(None);
    }

    /// Whether one has.
    pub(super) fn is_open(&self) -> bool {
        self.in_turn.get()
    }

    /// Its turn is over. Its kind, and which one of its kind it is; none if it was none.
    pub(super) fn close(&self, who: Option<(u32, u32)>, ended: bool, ready: bool) {
        self.in_turn.set(false);
        let start = self.last.get();
        // No two turns of a scheduler have a moment in common, however coarse the clock is.
        let end = clock::now().max(start + 1);
        self.last.set(end);
        let Some((kind, index)) = who else { return };
        let after = match (ended, self.waits.get()) {
            (true, _) => After::Ended,
            (false, None) if ready => After::Ready,
            (false, waits) => After::Waits(waits),
        };
        self.push(Event::Turn {
            kind,
            index,
            start,
            end,
            after,
        });
    }

    /// A token was put in or taken out.
    pub fn message(&self, way: Way, channel: u32, ordinal: u64) {
        if self.in_turn.get() {
            // Whatever was waited for until now is not what the turn ends with.
            self.waits.set(None);
            self.push(Event::Message {
                way,
                channel,
                ordinal,
            });
        }
    }

    /// The process whose turn it is found nothing, or no room, and is going to wait.
    pub fn waits(&self, way: Way, channel: u32) {
        self.waits.set(Some((channel, way)));
    }

    /// The trace of which this is a part.
    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Hands in what was recorded.
    pub(super) fn hand_in(&self, os_process: usize, scheduler: u32) {
        let ring = self.ring.take();
        let mut events = ring.events;
        events.rotate_left(ring.oldest);
        self.trace.add(Part {
            os_process: os_process as u32,
            scheduler,
            pid: std::process::id(),
            host: host::name(),
            behind: clock::behind(),
            turns_left_out: ring.turns_left_out,
            messages_left_out: ring.messages_left_out,
            events,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_events_are_kept() {
        let mut ring = Ring::default();
        for at in 0..10 {
            ring.push(Event::Ready { count: 0, at }, 4);
        }
        ring.events.rotate_left(ring.oldest);
        let at = |event: &Event| match event {
            Event::Ready { at, .. } => *at,
            _ => unreachable!(),
        };
        let kept: Vec<_> = ring.events.iter().map(at).collect();
        assert_eq!(kept, [6, 7, 8, 9]);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri keeps files and the time of day away")]
    fn turns_of_a_scheduler_have_no_moment_in_common() {
        let trace = Trace::new("x".as_ref());
        let recorder = Recorder::new(trace.clone());
        recorder.begin(1);
        for index in 0..1000 {
            recorder.open();
            recorder.message(Way::Read, 7, u64::from(index));
            recorder.close(Some((0, index)), false, true);
            // Between turns nothing is recorded.
            recorder.message(Way::Read, 7, 0);
        }
        recorder.hand_in(0, 0);
        let part = trace.take().pop().unwrap();
        let turns: Vec<_> = part
            .events
            .iter()
            .filter_map(|event| match *event {
                Event::Turn { start, end, .. } => Some((start, end)),
                _ => None,
            })
            .collect();
        assert_eq!(turns.len(), 1000);
        assert!(turns.iter().all(|(start, end)| start < end));
        assert!(turns.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        assert_eq!(part.events.len(), 2001);
    }
}
