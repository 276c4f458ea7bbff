//! What a scheduler counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::calls::UnreceivedMessages;
use super::directory::Directory;
use super::traffic::RankTraffic;
use crate::options::Options;
use crate::payload::{Decoder, Encoder};
use crate::trace::{Part, Trace};

/// The counters of one scheduler.
#[derive(Clone, Default)]
pub struct Tally {
    pub measured: bool,
    pub profiled: bool,
    /// That the run is traced, for the scheduler; and what others have recorded, on its way to the first.
    pub trace: Option<Trace>,
    pub recorded: Vec<Part>,
    directory: Option<Arc<dyn Directory>>,
    pub kinds: Vec<(u64, Duration)>,
    pub classes: Vec<u64>,
    /// By id: kind, index and time of a process; empty unless profiled.
    pub loads: Vec<(u32, u32, Duration)>,
    pub traffic: Vec<(u32, u64)>,
    /// Bytes read from channels whose tokens can be measured, by number.
    pub bytes: Vec<(u32, u64)>,
    pub sent_by: BTreeMap<u32, u64>,
    pub switches: u64,
    pub sent: u64,
    pub sleeps: u64,
    /// How often a process waited for room in each channel to another scheduler, by number.
    pub room_waits: BTreeMap<u32, u64>,
    /// How many times it told what its processes wait for, and how many waits that were.
    pub told: (u64, u64),
    /// Frames that were sent over the link between OS processes, and in how many messages, where it packs them into such.
    pub frames: Option<(u64, Option<u64>)>,
    pub processes: usize,
    /// The core that it was pinned to.
    pub core: Option<u32>,
    /// Channels whose readers left without all that was written to them, or was to be, by number.
    pub left_early: BTreeSet<u32>,
    /// Messages between ranks that nobody has received.
    pub unreceived: UnreceivedMessages,
    /// What ranks have sent each other; empty unless profiled.
    pub ranks: RankTraffic,
}

impl Tally {
    pub fn new(directory: &Arc<dyn Directory>, processes: usize, options: &Options) -> Self {
        let profiled = options.profiled;
        Tally {
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
            ..Tally::default()
        }
    }

    /// What was counted, for another OS process.
    pub fn to_bytes(&self) -> Vec<u8> {
        let tally = self.clone();
        let left_early: Vec<u32> = tally.left_early.into_iter().collect();
        Encoder::to_vec(&(
            (tally.measured, tally.profiled, tally.kinds, tally.classes),
            (tally.loads, tally.traffic, tally.bytes, tally.sent_by),
            (tally.switches, tally.sent, tally.sleeps, tally.told),
            (left_early, tally.core, tally.frames, tally.recorded),
            (
                tally.processes,
                tally.unreceived,
                tally.ranks,
                tally.room_waits,
            ),
        ))
        .clone()
    }

    /// What another OS process has counted.
    pub fn from_bytes(bytes: &[u8], directory: &Arc<dyn Directory>) -> Option<Tally> {
        let (flags, lists, numbers, rest, last) = Decoder::from_slice(bytes).ok()?;
        let (processes, unreceived, ranks, room_waits) = last;
        let (measured, profiled, kinds, classes) = flags;
        let (loads, traffic, bytes, sent_by) = lists;
        let (switches, sent, sleeps, told) = numbers;
        let (left_early, core, frames, recorded) = rest;
        let left_early: Vec<u32> = left_early;
        Some(Tally {
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
            switches,
            sent,
            sleeps,
            room_waits,
            told,
            frames,
            processes,
            core,
            left_early: left_early.into_iter().collect(),
            unreceived,
            ranks,
        })
    }

    pub fn poll(&mut self, id: u32, who: Option<(u32, u32)>, time: Duration) {
        let Some((kind, index)) = who else { return };
        self.switches += 1;
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

    /// The reader of a channel has left without all that was written to it, or was to be.
    pub fn left_early(&mut self, number: u32) {
        self.left_early.insert(number);
    }

    /// A channel is gone: `tokens` went through it. `writer` is the writer's scheduler if the
    /// channel was between two.
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
