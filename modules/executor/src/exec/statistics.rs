//! The statistics of a scheduler: counters of processes and channels, traffic between ranks, and,
//! in a traced run, the last of its events in a ring buffer.

use super::report::{Directory, UnreceivedMessages};
use crate::options::Options;
use crate::payload::{Decoder, Encoder};
use crate::quote::quote;
use crate::trace::{After, Event, Part, Trace, Way};
use crate::{clock, host};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Messages and bytes between ranks, and collective calls, by communicator. It contains only pairs
/// that have exchanged messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RankTraffic {
    /// Name of each communicator, and the number of collective calls that all its ranks have made.
    pub communicators: Vec<(String, u64)>,
    /// Communicator and ranks of each pair, with its messages and bytes.
    pub pairs: Vec<(Pair, Volume)>,
}

/// Index of a communicator in [`RankTraffic::communicators`], and the world ranks of the sender and
/// of the receiver.
pub type Pair = (u32, u32, u32);
/// Messages and bytes.
pub type Volume = (u64, u64);

crate::payload!(RankTraffic {
    communicators,
    pairs
});

/// Sum of the traffic that several schedulers have counted.
#[derive(Default)]
pub struct Sum {
    communicators: BTreeMap<String, Counted>,
}

/// Sum for all communicators of one name.
#[derive(Default)]
struct Counted {
    calls: u64,
    /// By sender and receiver.
    pairs: BTreeMap<(u32, u32), Volume>,
}

impl Sum {
    /// Adds the traffic that a scheduler has counted. Communicators of the same name are added
    /// together. Sums saturate.
    pub fn add(&mut self, counted: RankTraffic) {
        for (name, calls) in &counted.communicators {
            let all = self.communicators.entry(name.clone()).or_default();
            all.calls = all.calls.saturating_add(*calls);
        }
        for ((communicator, from, to), (messages, bytes)) in counted.pairs {
            let name = counted.communicators.get(communicator as usize);
            if let Some(all) = name.and_then(|(name, _)| self.communicators.get_mut(name)) {
                let volume = all.pairs.entry((from, to)).or_default();
                volume.0 = volume.0.saturating_add(messages);
                volume.1 = volume.1.saturating_add(bytes);
            }
        }
    }

    /// Returns the fields `communicators` and `pairs` of a JSON object, each with a comma before
    /// it. The text is empty if there is no communicator.
    pub fn json(&self) -> String {
        let mut json = String::new();
        if self.communicators.is_empty() {
            return json;
        }
        json.push_str(",\n\"communicators\":[");
        for (n, (name, Counted { calls, .. })) in self.communicators.iter().enumerate() {
            let comma = if n > 0 { ",\n" } else { "" };
            let _ = write!(
                json,
                "{comma}{{\"name\":{},\"calls\":{calls}}}",
                quote(name)
            );
        }
        json.push_str("],\n\"pairs\":[");
        let mut comma = "";
        for (n, Counted { pairs, .. }) in self.communicators.values().enumerate() {
            for ((from, to), (messages, bytes)) in pairs {
                let _ = write!(
                    json,
                    "{comma}{{\"communicator\":{n},\"from\":{from},\"to\":{to},\"messages\":{messages},\"bytes\":{bytes}}}"
                );
                comma = ",\n";
            }
        }
        json.push(']');
        json
    }
}

/// The counters of one scheduler.
#[derive(Clone, Default)]
pub struct Statistics {
    pub measured: bool,
    pub profiled: bool,
    /// The trace of the run, if it is traced. The scheduler takes it when it is created.
    pub trace: Option<Trace>,
    /// The events that other OS processes have recorded, on their way to the first.
    pub recorded: Vec<Part>,
    directory: Option<Arc<dyn Directory>>,
    pub kinds: Vec<(u64, Duration)>,
    pub classes: Vec<u64>,
    /// Kind, index and time of each process, by id. Empty unless profiled.
    pub loads: Vec<(u32, u32, Duration)>,
    pub traffic: Vec<(u32, u64)>,
    /// Bytes read from channels whose tokens have a payload, by number of the channel.
    pub bytes: Vec<(u32, u64)>,
    pub sent_by: BTreeMap<u32, u64>,
    pub polls: u64,
    pub sent: u64,
    pub sleeps: u64,
    /// Number of waits for space in each channel to another scheduler, by number of the channel.
    pub room_waits: BTreeMap<u32, u64>,
    /// Number of reports of waits, and number of waits in them.
    pub wait_reports: (u64, u64),
    /// Number of frames that were sent to other OS processes, and number of messages if the link
    /// packs frames into messages.
    pub frames: Option<(u64, Option<u64>)>,
    pub processes: usize,
    /// The core to which it was pinned.
    pub core: Option<u32>,
    /// Numbers of the channels whose readers left before they had read all tokens.
    pub left_early: BTreeSet<u32>,
    /// Messages between ranks that no rank has received.
    pub unreceived: UnreceivedMessages,
    /// Traffic between ranks. Empty unless profiled.
    pub ranks: RankTraffic,
}

impl Statistics {
    /// Creates the counters of a scheduler with this number of processes. The options decide
    /// whether the run is measured, profiled and traced.
    pub fn new(directory: &Arc<dyn Directory>, processes: usize, options: &Options) -> Self {
        let profiled = options.profiled;
        Statistics {
            measured: options.stats || profiled,
            profiled,
            trace: options.recording(),
            directory: Some(Arc::clone(directory)),
            loads: if profiled {
                vec![(0, 0, Duration::ZERO); processes]
            } else {
                Vec::new()
            },
            processes,
            ..Statistics::default()
        }
    }

    /// Encodes the counters for another OS process, with the recorded events but without the trace
    /// and the directory.
    pub fn to_bytes(&self) -> Vec<u8> {
        let statistics = self.clone();
        let left_early: Vec<u32> = statistics.left_early.into_iter().collect();
        Encoder::to_vec(&(
            (
                statistics.measured,
                statistics.profiled,
                statistics.kinds,
                statistics.classes,
            ),
            (
                statistics.loads,
                statistics.traffic,
                statistics.bytes,
                statistics.sent_by,
            ),
            (
                statistics.polls,
                statistics.sent,
                statistics.sleeps,
                statistics.wait_reports,
            ),
            (
                left_early,
                statistics.core,
                statistics.frames,
                statistics.recorded,
            ),
            (
                statistics.processes,
                statistics.unreceived,
                statistics.ranks,
                statistics.room_waits,
            ),
        ))
        .clone()
    }

    /// Decodes the counters of another OS process. Returns `None` if the bytes are invalid.
    pub fn from_bytes(bytes: &[u8], directory: &Arc<dyn Directory>) -> Option<Statistics> {
        let (flags, lists, numbers, rest, last) = Decoder::from_slice(bytes).ok()?;
        let (processes, unreceived, ranks, room_waits) = last;
        let (measured, profiled, kinds, classes) = flags;
        let (loads, traffic, bytes, sent_by) = lists;
        let (polls, sent, sleeps, wait_reports) = numbers;
        let (left_early, core, frames, recorded) = rest;
        let left_early: Vec<u32> = left_early;
        Some(Statistics {
            measured,
            profiled,
            trace: None,
            recorded,
            directory: Some(Arc::clone(directory)),
            kinds,
            classes,
            loads,
            traffic,
            bytes,
            sent_by,
            polls,
            sent,
            sleeps,
            room_waits,
            wait_reports,
            frames,
            processes,
            core,
            left_early: left_early.into_iter().collect(),
            unreceived,
            ranks,
        })
    }

    /// Counts a poll of the process with index `id` on this scheduler, which took `time`. `who` is
    /// its kind and index. Has no effect if `who` is `None`.
    pub fn poll(&mut self, id: u32, who: Option<(u32, u32)>, time: Duration) {
        let Some((kind, index)) = who else { return };
        self.polls += 1;
        let at = kind as usize;
        if self.kinds.len() <= at {
            self.kinds.resize(at + 1, (0, Duration::ZERO));
        }
        self.kinds[at].0 += 1;
        self.kinds[at].1 += time;
        if let Some(load) = self.loads.get_mut(id as usize) {
            *load = (kind, index, load.2 + time);
        }
    }

    /// Notes that the reader of the channel `number` left before it had read all tokens. A repeated
    /// note has no effect.
    pub fn left_early(&mut self, number: u32) {
        self.left_early.insert(number);
    }

    /// Counts the tokens that went through a channel which has been dropped. `writer` is the
    /// scheduler of the writer if the channel was between two schedulers. Has no effect if the run
    /// is not measured.
    pub fn channel(&mut self, number: u32, tokens: u64, writer: Option<u32>) {
        if !self.measured {
            return;
        }
        let Some(directory) = &self.directory else {
            return;
        };
        let class = directory.class_of(number);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, 0);
        }
        self.classes[class] += tokens;
        if let Some(home) = writer {
            *self.sent_by.entry(home).or_default() += tokens;
        }
        if self.profiled {
            self.traffic.push((number, tokens));
        }
    }
}

/// The last events of a scheduler.
pub struct Recorder {
    trace: Trace,
    ring: RefCell<Ring>,
    /// Whether a process is being polled. The use of ports belongs to this poll.
    in_poll: Cell<bool>,
    /// The last wait that the polled process began, unless a token was moved since.
    waits: Cell<Option<(u32, Way)>>,
    /// Time at which the last poll ended or the batch began.
    last: Cell<u64>,
    ready: Cell<u32>,
}

#[derive(Default)]
struct Ring {
    events: Vec<Event>,
    /// Index of the oldest event, if the buffer is full.
    oldest: usize,
    polls_dropped: u64,
    messages_dropped: u64,
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
            Event::Poll { .. } => self.polls_dropped += 1,
            Event::Message { .. } => self.messages_dropped += 1,
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
            in_poll: Cell::new(false),
            waits: Cell::new(None),
            last: Cell::new(0),
            ready: Cell::new(0),
        }
    }

    #[inline]
    fn push(&self, event: Event) {
        self.ring.borrow_mut().push(event, self.trace.events);
    }

    /// Notes that a batch begins while `ready` processes are ready.
    pub(super) fn begin(&self, ready: u32) {
        let now = clock::now().max(self.last.get());
        self.last.set(now);
        self.ready(ready, now);
    }

    /// Notes that no process is ready, because the scheduler is going to sleep.
    pub(super) fn idle(&self) {
        self.ready(0, clock::now().max(self.last.get()));
    }

    fn ready(&self, count: u32, at: u64) {
        if self.ready.replace(count) != count {
            self.push(Event::Ready { count, at });
        }
    }

    /// Notes that the poll of a process begins.
    pub(super) fn open(&self) {
        self.in_poll.set(true);
        self.waits.set(None);
    }

    /// Returns true if a poll has begun and not ended.
    pub(super) fn is_open(&self) -> bool {
        self.in_poll.get()
    }

    /// Records the end of the poll that [`open`](Self::open) began. `who` is kind and index of the
    /// process that was polled, or `None` if none was. Then only the time is noted. `ended` is true
    /// if the process has ended, `ready` if it did not wait.
    pub(super) fn close(&self, who: Option<(u32, u32)>, ended: bool, ready: bool) {
        self.in_poll.set(false);
        let start = self.last.get();
        // Polls of a scheduler do not overlap, even if the clock is coarse.
        let end = clock::now().max(start + 1);
        self.last.set(end);
        let Some((kind, index)) = who else { return };
        let after = match (ended, self.waits.get()) {
            (true, _) => After::Ended,
            (false, None) if ready => After::Ready,
            (false, waits) => After::Waits(waits),
        };
        self.push(Event::Poll {
            kind,
            index,
            start,
            end,
            after,
        });
    }

    /// Records that a token was put into a channel or taken out, as `way` says. `ordinal` is the
    /// number of the token in the channel. Has no effect outside of a poll.
    pub fn message(&self, way: Way, channel: u32, ordinal: u64) {
        if self.in_poll.get() {
            // The process continued after its last wait, so the poll does not end with that wait.
            self.waits.set(None);
            self.push(Event::Message {
                way,
                channel,
                ordinal,
            });
        }
    }

    /// Notes that the polled process is going to wait at a channel.
    pub fn waits(&self, way: Way, channel: u32) {
        self.waits.set(Some((channel, way)));
    }

    /// Returns the trace that this recorder belongs to.
    pub(super) fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Moves the recorded events to the trace. The recorder is empty afterwards.
    pub(super) fn hand_in(&self, os_process: usize, scheduler: u32) {
        let ring = self.ring.take();
        let mut events = ring.events;
        events.rotate_left(ring.oldest);
        self.trace.add(Part {
            os_process: os_process as u32,
            scheduler,
            pid: std::process::id(),
            host: host::name(),
            time_of_day_offset: clock::time_of_day_offset(),
            polls_dropped: ring.polls_dropped,
            messages_dropped: ring.messages_dropped,
            events,
        });
    }
}

#[cfg(test)]
mod traffic_tests {
    use super::{RankTraffic, Sum};

    #[test]
    fn traffic_is_added_by_communicator_name() {
        let mut sum = Sum::default();
        assert_eq!(sum.json(), "");
        sum.add(RankTraffic {
            communicators: vec![("world".into(), 2), ("world.dup".into(), 0)],
            pairs: vec![((1, 0, 1), (1, 8)), ((0, 3, 2), (2, 7))],
        });
        sum.add(RankTraffic {
            communicators: vec![("world.dup".into(), u64::MAX), ("world".into(), 1)],
            pairs: vec![((0, 0, 1), (1, u64::MAX)), ((1, 0, 2), (1, 1))],
        });
        let expected = ",\n\
            \"communicators\":[{\"name\":\"world\",\"calls\":3},\n\
            {\"name\":\"world.dup\",\"calls\":18446744073709551615}],\n\
            \"pairs\":[{\"communicator\":0,\"from\":0,\"to\":2,\"messages\":1,\"bytes\":1},\n\
            {\"communicator\":0,\"from\":3,\"to\":2,\"messages\":2,\"bytes\":7},\n\
            {\"communicator\":1,\"from\":0,\"to\":1,\"messages\":2,\"bytes\":18446744073709551615}]";
        assert_eq!(sum.json(), expected);
    }
}

#[cfg(test)]
mod recorder_tests {
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
    fn polls_of_a_scheduler_do_not_overlap() {
        let trace = Trace::new("x".as_ref());
        let recorder = Recorder::new(trace.clone());
        recorder.begin(1);
        for index in 0..1000 {
            recorder.open();
            recorder.message(Way::Read, 7, u64::from(index));
            recorder.close(Some((0, index)), false, true);
            // Outside a poll, messages are not recorded.
            recorder.message(Way::Read, 7, 0);
        }
        recorder.hand_in(0, 0);
        let part = trace.take().pop().unwrap();
        let turns: Vec<_> = part
            .events
            .iter()
            .filter_map(|event| match *event {
                Event::Poll { start, end, .. } => Some((start, end)),
                _ => None,
            })
            .collect();
        assert_eq!(turns.len(), 1000);
        assert!(turns.iter().all(|(start, end)| start < end));
        assert!(turns.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        assert_eq!(part.events.len(), 2001);
    }
}
