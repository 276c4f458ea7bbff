//! The report of a run: measurements, as a table, as JSON, and as a profile.

use std::collections::BTreeSet;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use crate::room_waits::{self, ADVISED, RoomWaits};
use graphmap_executor::exec::report;
use graphmap_executor::exec::report::Directory;
use graphmap_executor::exec::statistics::Statistics;
use graphmap_executor::exec::statistics::Sum;
use graphmap_executor::exec::wait_graph::Grow;
use graphmap_executor::quote::quote;

/// Report of a run that ended without an error.
pub struct Report {
    /// Duration of the run, including the creation of the processes and channels.
    pub elapsed: Duration,
    /// Number of processes.
    pub processes: usize,
    /// Statistics of each kind, in the order of the network. Empty unless
    /// [`Options::stats`](crate::Options::stats) or [`Options::profile`](crate::Options::profile)
    /// is set.
    pub kinds: Vec<KindStats>,
    /// Statistics of each scheduler. Schedulers that shared a thread count as one.
    pub schedulers: Vec<SchedulerStats>,
    /// Number of schedulers that were requested.
    pub schedulers_asked: usize,
    /// Channels whose capacity grew to end an artificial deadlock, in the order of growth.
    pub growths: Vec<Growth>,
    /// Readers that left before they had read all tokens of their channel. `None` if there were
    /// none.
    pub left_early: Option<EarlyLeave>,
    /// Messages between [ranks](crate::mpi) that were never received. `None` if there were none.
    pub unreceived: Option<Unreceived>,
    pub(crate) profile: Option<Profile>,
    room: Option<RoomWaits>,
}

/// Statistics of the processes of a kind, as sums.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindStats {
    /// Name of the kind.
    pub kind: String,
    /// Number of processes of the kind.
    pub processes: usize,
    /// Number of polls.
    pub polls: u64,
    /// Number of tokens read. Tokens that were never read are counted in neither `tokens_in` nor
    /// `tokens_out`, unless a reader on another scheduler left them in the channel.
    pub tokens_in: u64,
    /// Number of tokens written.
    pub tokens_out: u64,
    /// Time spent in polls.
    pub busy: Duration,
}

/// Statistics of a scheduler.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SchedulerStats {
    /// Number of processes.
    pub processes: usize,
    /// Number of polls. 0 unless measured.
    pub switches: u64,
    /// Number of tokens sent to processes of other schedulers. 0 unless measured.
    pub sent: u64,
    /// Number of wake-ups sent to other schedulers.
    pub wakes: u64,
    /// Number of times that the scheduler went to sleep.
    pub sleeps: u64,
    /// Number of times that the scheduler reported the waits of its processes to deadlock
    /// detection, because all schedulers slept.
    pub standstills: u64,
    /// Number of waits in these reports, as a sum. Each report has only the changes since the
    /// previous one.
    pub waits_told: u64,
    /// Number of frames sent over the link between OS processes. A frame here is a token, or a
    /// message about a channel, such as credit or the end of a stream. `None` if the run has one OS
    /// process.
    pub frames: Option<u64>,
    /// Number of MPI messages that carried the frames, including the link's own messages. `None` if
    /// the link is not MPI.
    pub messages: Option<u64>,
    /// Core to which the OS process was pinned, if any.
    pub core: Option<u32>,
}

/// Readers that left before they had read all tokens that were or would have been written.
///
/// The time at which such a writer gets [`Stopped`](crate::Stopped), if it gets it, depends on the
/// order in which processes run. The same applies to everything that the writer then writes to
/// other channels. Whether there are such readers does not depend on the order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlyLeave {
    /// Number of channels.
    pub channels: usize,
    /// Description of one of these channels, with its position.
    pub first: String,
}

/// Messages between [ranks](crate::mpi) that were never received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreceived {
    /// Number of messages.
    pub messages: u64,
    /// Description of one of them, with its position.
    pub first: String,
}

/// A channel whose capacity grew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// Description of the channel, with its position.
    pub channel: String,
    /// Capacity after the growth.
    pub capacity: usize,
}

/// Measured load of each process and traffic of each channel.
pub(crate) struct Profile {
    directory: Arc<dyn Directory>,
    /// Kind, index and time of each process.
    loads: Vec<(u32, u32, Duration)>,
    /// Number of tokens of each channel, by channel number.
    traffic: Vec<(u32, u64)>,
    /// Number of bytes of each channel whose bytes were counted, by channel number.
    bytes: Vec<(u32, u64)>,
    /// Traffic between ranks.
    ranks: Sum,
}

/// Makes the report of a run from the statistics of its schedulers, which are in the order of the
/// schedulers.
pub(crate) fn report(
    directory: &Arc<dyn Directory>,
    all_statistics: Vec<Statistics>,
    growths: Vec<Grow>,
    schedulers_asked: usize,
    elapsed: Duration,
) -> Report {
    let growths = growths.into_iter().map(|grow| Growth {
        channel: report::channel(&**directory, grow.number),
        capacity: grow.capacity as usize,
    });
    let growths = growths.collect();
    // Both schedulers of a channel may report it.
    let left_early: BTreeSet<u32> = all_statistics
        .iter()
        .flat_map(|statistics| statistics.left_early.iter().copied())
        .filter(|&number| !directory.channel(number).control)
        .collect();
    let left_early = left_early.first().map(|&number| EarlyLeave {
        channels: left_early.len(),
        first: report::channel(&**directory, number),
    });
    let unreceived = |statistics: &Statistics| statistics.unreceived.clone();
    let unreceived = all_statistics
        .iter()
        .map(unreceived)
        .reduce(|(a, first), (b, other)| (a + b, first.or(other)));
    let unreceived = unreceived.and_then(|(messages, first)| {
        Some(Unreceived {
            messages,
            first: first?,
        })
    });
    let room = room_waits::of(&**directory, &all_statistics);
    let measured = all_statistics.iter().any(|statistics| statistics.measured);
    let profiled = all_statistics.iter().any(|statistics| statistics.profiled);
    let mut kinds = Vec::new();
    if measured {
        for kind in 0..directory.kinds() {
            let (name, processes) = directory.kind(kind as u32);
            kinds.push(KindStats {
                kind: name,
                processes,
                ..KindStats::default()
            });
        }
    }
    let mut schedulers = vec![SchedulerStats::default(); all_statistics.len()];
    let mut profile = Profile {
        directory: Arc::clone(directory),
        loads: Vec::new(),
        traffic: Vec::new(),
        bytes: Vec::new(),
        ranks: Sum::default(),
    };
    for (at, statistics) in all_statistics.into_iter().enumerate() {
        for (stats, (polls, busy)) in kinds.iter_mut().zip(&statistics.kinds) {
            stats.polls += polls;
            stats.busy += *busy;
        }
        for (class, &tokens) in statistics.classes.iter().enumerate() {
            if let Some(class) = directory.class(class).filter(|class| !class.control) {
                kinds[class.from as usize].tokens_out += tokens;
                kinds[class.to as usize].tokens_in += tokens;
            }
        }
        for (home, tokens) in statistics.sent_by {
            if let Some(scheduler) = schedulers.get_mut(home as usize) {
                scheduler.sent += tokens;
            }
        }
        schedulers[at].core = statistics.core;
        schedulers[at].processes = statistics.processes;
        schedulers[at].switches = statistics.polls;
        schedulers[at].wakes = statistics.sent;
        schedulers[at].sleeps = statistics.sleeps;
        (schedulers[at].standstills, schedulers[at].waits_told) = statistics.wait_reports;
        schedulers[at].frames = statistics.frames.map(|(frames, _)| frames);
        schedulers[at].messages = statistics.frames.and_then(|(_, messages)| messages);
        profile.loads.extend(statistics.loads);
        profile.traffic.extend(statistics.traffic);
        profile.bytes.extend(statistics.bytes);
        profile.ranks.add(statistics.ranks);
    }
    profile
        .loads
        .sort_by_key(|&(kind, index, _)| directory.rank(kind, index));
    profile.traffic.sort_unstable();
    profile.bytes.sort_unstable();
    Report {
        elapsed,
        processes: directory.processes(),
        kinds,
        schedulers,
        schedulers_asked,
        left_early,
        unreceived,
        growths,
        profile: profiled.then_some(profile),
        room,
    }
}

/// A column of the table of schedulers: its heading, and a function that returns the number of a
/// scheduler, if it has one.
type Column = (&'static str, fn(&SchedulerStats) -> Option<u64>);

/// Columns of the table of schedulers. A column in which no scheduler has a number is omitted.
const COLUMNS: &[Column] = &[
    ("processes", |one| Some(one.processes as u64)),
    ("polls", |one| Some(one.switches)),
    ("tokens sent", |one| Some(one.sent)),
    ("wake-ups", |one| Some(one.wakes)),
    ("sleeps", |one| Some(one.sleeps)),
    ("frames sent", |one| one.frames),
    ("MPI messages", |one| one.messages),
    ("core", |one| one.core.map(u64::from)),
];

/// Version of the format of a profile.
const PROFILE_VERSION: u32 = 1;

/// Sleeps per second above which a scheduler loses more time by sleeping and waking up, about ten
/// microseconds each time, than it saves.
const RESTLESS: f64 = 2000.0;

impl Report {
    /// Returns advice on how to make the next run faster.
    ///
    /// Returns `None` if the run had only one scheduler (schedulers that share a thread count as
    /// one), or if none went to sleep more than 2,000 times per second. A run of less than 10 ms
    /// counts as one of 10 ms.
    pub fn advice(&self) -> Option<String> {
        advice(&self.schedulers, self.room.as_ref(), self.elapsed)
    }

    /// Returns the profile of the run as JSON, from which a mapping can be computed. Returns `None`
    /// unless [`Options::profile`](crate::Options::profile) is set. The format is:
    ///
    /// ```text
    /// {"processes":[{"rank":0,"name":"a","load":0.012}, ...],
    ///  "channels":[{"from":"a","src":"out","to":"b","dst":"in","messages":7,"bytes":56}, ...],
    ///  "graphmap":1,
    ///  "unmeasured":["farm::types::Task"],
    ///  "communicators":[{"name":"world","calls":12}, ...],
    ///  "pairs":[{"communicator":0,"from":0,"to":3,"messages":7,"bytes":56}, ...]}
    /// ```
    ///
    /// `graphmap` is the version of the format. A load is in seconds.
    ///
    /// Bytes are those of the tokens' [`Payload`](crate::Payload). Types without a payload are
    /// listed as unmeasured. Their tokens count as their size in memory, without the memory that
    /// they own.
    ///
    /// If processes are [ranks](crate::mpi), a pair has the messages that one world rank sent to
    /// another in a communicator, which is an index into `communicators`. The `calls` of a
    /// communicator are the collective calls of all its ranks together. Without ranks, these two
    /// fields are missing.
    ///
    /// Channels of a [`Local`](crate::Local) network have no names and are omitted.
    pub fn profile(&self) -> Option<String> {
        let profile = self.profile.as_ref()?;
        let directory = &profile.directory;
        let mut json = String::from("{\"processes\":[");
        for (n, &(kind, index, load)) in profile.loads.iter().enumerate() {
            let process = directory.process(kind, index);
            let comma = if n > 0 { ",\n" } else { "" };
            let (name, rank) = (quote(&process.name), process.rank);
            let load = load.as_secs_f64();
            let _ = write!(
                json,
                "{comma}{{\"rank\":{rank},\"name\":{name},\"load\":{load:.9}}}"
            );
        }
        json.push_str("],\n\"channels\":[");
        let mut first = true;
        let mut unmeasured = BTreeSet::new();
        let mut measured = profile.bytes.iter().peekable();
        for &(number, tokens) in &profile.traffic {
            while measured.next_if(|&&(of, _)| of < number).is_some() {}
            let counted = measured.next_if(|&&(of, _)| of == number);
            let channel = directory.channel(number);
            let (Some(from), Some(to), false) = (channel.from, channel.to, channel.control) else {
                continue;
            };
            let class = directory.class(directory.class_of(number));
            let size = class.as_ref().map_or(0, |class| class.size as u64);
            if let Some(class) = class.filter(|class| !class.is_payload) {
                unmeasured.insert(class.token.to_string());
            }
            let bytes = counted.map_or(tokens.saturating_mul(size), |&(_, bytes)| bytes);
            let comma = if first { "" } else { ",\n" };
            first = false;
            let _ = write!(
                json,
                "{comma}{{\"from\":{},\"src\":{},\"to\":{},\"dst\":{},\"messages\":{tokens},\"bytes\":{bytes}}}",
                quote(&from.process),
                quote(&from.port),
                quote(&to.process),
                quote(&to.port),
            );
        }
        let unmeasured: Vec<String> = unmeasured.iter().map(|name| quote(name)).collect();
        let _ = write!(
            json,
            "],\n\"graphmap\":{PROFILE_VERSION},\n\"unmeasured\":[{}]",
            unmeasured.join(",")
        );
        json.push_str(&profile.ranks.json());
        json.push_str("}\n");
        Some(json)
    }

    /// Returns the statistics as lines of JSON, with one object per line. Its field `what` is
    /// `kind`, `scheduler`, `growth`, `left_early`, `unreceived` or `run`. Times are in seconds.
    /// Lines of kinds exist only if [`kinds`](Self::kinds) is not empty. Unknown numbers are
    /// omitted.
    pub fn json_lines(&self) -> String {
        let mut json = String::new();
        for k in &self.kinds {
            let _ = writeln!(
                json,
                "{{\"what\":\"kind\",\"kind\":{},\"processes\":{},\"polls\":{},\"tokens_in\":{},\"tokens_out\":{},\"busy\":{:.9}}}",
                quote(&k.kind),
                k.processes,
                k.polls,
                k.tokens_in,
                k.tokens_out,
                k.busy.as_secs_f64(),
            );
        }
        for (n, s) in self.schedulers.iter().enumerate() {
            let known = |name: &str, number: Option<u64>| {
                number.map_or_else(String::new, |number| format!(",\"{name}\":{number}"))
            };
            let _ = writeln!(
                json,
                "{{\"what\":\"scheduler\",\"scheduler\":{n},\"processes\":{},\"switches\":{},\"sent\":{},\"wakes\":{},\"sleeps\":{},\"standstills\":{},\"waits_told\":{}{}{}{}}}",
                s.processes,
                s.switches,
                s.sent,
                s.wakes,
                s.sleeps,
                s.standstills,
                s.waits_told,
                known("frames", s.frames),
                known("messages", s.messages),
                known("core", s.core.map(u64::from)),
            );
        }
        for growth in &self.growths {
            let (channel, capacity) = (quote(&growth.channel), growth.capacity);
            let _ = writeln!(
                json,
                "{{\"what\":\"growth\",\"channel\":{channel},\"capacity\":{capacity}}}"
            );
        }
        if let Some(EarlyLeave { channels, first }) = &self.left_early {
            let first = quote(first);
            let _ = writeln!(
                json,
                "{{\"what\":\"left_early\",\"channels\":{channels},\"first\":{first}}}"
            );
        }
        if let Some(Unreceived { messages, first }) = &self.unreceived {
            let first = quote(first);
            let _ = writeln!(
                json,
                "{{\"what\":\"unreceived\",\"messages\":{messages},\"first\":{first}}}"
            );
        }
        let (elapsed, processes) = (self.elapsed.as_secs_f64(), self.processes);
        let _ = writeln!(
            json,
            "{{\"what\":\"run\",\"elapsed\":{elapsed:.9},\"processes\":{processes}}}"
        );
        json
    }
}

fn advice(
    schedulers: &[SchedulerStats],
    room: Option<&RoomWaits>,
    elapsed: Duration,
) -> Option<String> {
    let seconds = elapsed.as_secs_f64().max(0.01);
    let rate = |count: u64| count as f64 / seconds;
    let most = schedulers.iter().map(|one| one.sleeps).max()?;
    if schedulers.len() < 2 || rate(most) <= RESTLESS {
        return None;
    }
    let room = match room.filter(|room| rate(room.count) > RESTLESS) {
        Some(room) => format!(
            "raise the capacity of the channels between schedulers (`capacity={ADVISED}`), first \
             that of {}, or ",
            room.most
        ),
        None => String::new(),
    };
    Some(format!(
        "advice: a scheduler went to sleep {:.0} times per second to wait for another: {room}use \
         fewer schedulers",
        rate(most)
    ))
}

/// Formats the table that `GRAPHMAP_STATS=1` prints.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .kinds
            .iter()
            .map(|kind| kind.kind.chars().count())
            .max()
            .unwrap_or(0)
            .max(9);
        let head = ["processes", "polls", "tokens in", "tokens out", "busy ms"];
        write!(f, "{:width$}", "kind")?;
        head.iter().try_for_each(|head| write!(f, " {head:>12}"))?;
        writeln!(f)?;
        for k in &self.kinds {
            let busy = k.busy.as_secs_f64() * 1e3;
            let KindStats {
                kind,
                processes,
                polls,
                tokens_in,
                tokens_out,
                ..
            } = k;
            writeln!(
                f,
                "{kind:width$} {processes:>12} {polls:>12} {tokens_in:>12} {tokens_out:>12} {busy:>12.3}"
            )?;
        }
        write!(f, "{:width$}", "scheduler")?;
        let has_numbers = |(_, number): &&Column| {
            self.schedulers.is_empty() || self.schedulers.iter().any(|one| number(one).is_some())
        };
        let columns: Vec<&Column> = COLUMNS.iter().filter(has_numbers).collect();
        for (head, _) in &columns {
            write!(f, " {head:>12}")?;
        }
        writeln!(f)?;
        for (n, one) in self.schedulers.iter().enumerate() {
            write!(f, "{n:<width$}")?;
            for (_, number) in &columns {
                match number(one) {
                    Some(number) => write!(f, " {number:>12}")?,
                    None => write!(f, " {:>12}", "-")?,
                }
            }
            writeln!(f)?;
        }
        for growth in &self.growths {
            writeln!(
                f,
                "capacity grew to {}: {}",
                growth.capacity, growth.channel
            )?;
        }
        if self.schedulers.len() < self.schedulers_asked {
            let (asked, threads) = (self.schedulers_asked, self.schedulers.len());
            writeln!(f, "{asked} schedulers share {threads} threads")?;
        }
        if let Some(left) = &self.left_early {
            let EarlyLeave { channels, first } = left;
            let (readers, such) = match channels {
                1 => ("reader", ":"),
                _ => ("readers", ", such as that of"),
            };
            writeln!(
                f,
                "{channels} {readers} left before reading all tokens{such} {first}"
            )?;
        }
        if let Some(Unreceived { messages, first }) = &self.unreceived {
            let (were, such) = match messages {
                1 => ("message was", ":"),
                _ => ("messages were", ", such as"),
            };
            writeln!(f, "{messages} {were} never received{such} {first}")?;
        }
        if let Some(advice) = self.advice() {
            writeln!(f, "{advice}")?;
        }
        write!(
            f,
            "{} processes in {:.6} s",
            self.processes,
            self.elapsed.as_secs_f64()
        )
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report")
            .field("elapsed", &self.elapsed)
            .field("processes", &self.processes)
            .field("kinds", &self.kinds)
            .field("schedulers", &self.schedulers)
            .field("growths", &self.growths)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_link_are_columns_of_the_schedulers() {
        let mut report = Report {
            elapsed: Duration::ZERO,
            processes: 2,
            kinds: Vec::new(),
            schedulers: vec![SchedulerStats::default(); 2],
            schedulers_asked: 2,
            growths: Vec::new(),
            left_early: None,
            unreceived: None,
            profile: None,
            room: None,
        };
        let lines = |report: &Report| -> Vec<Vec<String>> {
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
            report.to_string().lines().map(words).collect()
        };
        let plain = [
            "scheduler",
            "processes",
            "polls",
            "tokens",
            "sent",
            "wake-ups",
            "sleeps",
        ];
        assert_eq!(lines(&report)[1], plain);
        for (one, frames) in report.schedulers.iter_mut().zip([14_580, 755]) {
            (one.frames, one.messages) = (Some(frames), Some(3));
        }
        report.schedulers[1].core = Some(7);
        let lines = lines(&report);
        let of_link = ["frames", "sent", "MPI", "messages", "core"];
        assert_eq!(lines[1], [&plain[..], &of_link[..]].concat());
        assert_eq!(lines[2], ["0", "0", "0", "0", "0", "0", "14580", "3", "-"]);
        assert_eq!(lines[3], ["1", "0", "0", "0", "0", "0", "755", "3", "7"]);
    }

    #[test]
    fn frequent_sleeps_give_advice() {
        let of = |sleeps: &[u64], milliseconds| {
            let one = |&sleeps: &u64| SchedulerStats {
                sleeps,
                ..SchedulerStats::default()
            };
            let all: Vec<SchedulerStats> = sleeps.iter().map(one).collect();
            let room = RoomWaits {
                count: sleeps.iter().sum(),
                most: "the channel from a to b".into(),
            };
            advice(&all, Some(&room), Duration::from_millis(milliseconds))
        };
        let told = of(&[10, 30_000], 2000).expect("advice");
        assert!(told.contains("15000 times per second"), "{told}");
        assert!(
            told.contains("`capacity=64`), first that of the channel from a"),
            "{told}"
        );
        assert!(told.contains("fewer schedulers"), "{told}");
        assert_eq!(of(&[1000, 3900], 2000), None);
        // A single scheduler waits for no other.
        assert_eq!(of(&[30_000], 2000), None);
        // In such a short run, a few sleeps are not significant.
        assert_eq!(of(&[15, 15], 1), None);
        assert_eq!(of(&[], 1), None);
    }

    #[test]
    fn capacity_is_advised_only_if_writers_wait() {
        let told = |count: Option<u64>| {
            let one = SchedulerStats {
                sleeps: 30_000,
                ..SchedulerStats::default()
            };
            let room = count.map(|count| RoomWaits {
                count,
                most: String::new(),
            });
            advice(&[one.clone(), one], room.as_ref(), Duration::from_secs(2)).expect("advice")
        };
        assert!(told(Some(30_000)).contains("capacity=64"));
        for of_lock_step in [None, Some(1000)] {
            let told = told(of_lock_step);
            assert!(!told.contains("capacity"), "{told}");
            assert!(told.ends_with(": use fewer schedulers"), "{told}");
        }
    }
}
