//! Records of a traced run: polls of processes and messages. Each scheduler hands in its part when
//! it ends.
//!
//! A scheduler keeps its last events up to a fixed number. So the size of a trace does not depend
//! on the length of the run or the size of the network.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sync::{Mutex, lock};

/// Default number of events that each scheduler keeps: about 2.5 MB in memory.
pub const EVENTS: usize = 1 << 16;
/// Largest number of events that each scheduler keeps.
pub const MOST_EVENTS: usize = 1 << 24;

/// A side of a channel in a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    Write,
    Read,
    /// The writing side, which waits for the reader to leave instead of writing.
    Stop,
}

crate::payload!(
    enum Way {
        Write,
        Read,
        Stop,
    }
);

/// State of a process after a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum After {
    Ended,
    /// The process has yielded.
    Ready,
    /// The process waits for a side of a channel, given by its number if it is known.
    Waits(Option<(u32, Way)>),
}

crate::payload!(
    enum After {
        Ended,
        Ready,
        Waits(what),
    }
);

/// An event on a scheduler. Times are nanoseconds of `clock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A token was put into a channel or taken out of it. `ordinal` is its number in the channel.
    /// The message belongs to the next `Poll` in the list.
    Message {
        way: Way,
        channel: u32,
        ordinal: u64,
    },
    /// A process was polled. `index` is its number within its kind.
    Poll {
        kind: u32,
        index: u32,
        start: u64,
        end: u64,
        after: After,
    },
    /// Number of processes that could run.
    Ready { count: u32, at: u64 },
}

crate::payload!(
    enum Event {
        Message {
            way,
            channel,
            ordinal,
        },
        Poll {
            kind,
            index,
            start,
            end,
            after,
        },
        Ready {
            count,
            at,
        },
    }
);

/// Events that one scheduler has recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub os_process: u32,
    /// Number of the scheduler among all schedulers of the run.
    pub scheduler: u32,
    /// Id of the OS process in the operating system.
    pub pid: u32,
    pub host: Option<String>,
    /// Nanoseconds by which the time of day is ahead of the clock of the host.
    pub time_of_day_offset: i64,
    /// Number of polls and of messages that were discarded for later ones.
    pub polls_dropped: u64,
    pub messages_dropped: u64,
    pub events: Vec<Event>,
}

crate::payload!(Part {
    os_process,
    scheduler,
    pid,
    host,
    time_of_day_offset,
    polls_dropped,
    messages_dropped,
    events
});

/// A trace: its file, and the events that schedulers have handed in. Clones refer to the same
/// trace.
#[derive(Debug, Clone)]
pub struct Trace {
    file: PathBuf,
    pub events: usize,
    parts: Arc<Mutex<Vec<Part>>>,
    notice: Arc<Mutex<Option<String>>>,
}

impl Trace {
    /// Creates an empty trace for this file, in which each scheduler keeps [`EVENTS`] events. Does
    /// not access the file.
    pub fn new(file: &Path) -> Self {
        Trace {
            // Absolute, because a process may change the working directory.
            file: std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()),
            events: EVENTS,
            parts: Arc::default(),
            notice: Arc::default(),
        }
    }

    /// Returns a handle of the same trace for a scheduler that keeps `events` events. Does not
    /// change `self`.
    pub fn with_events(&self, events: usize) -> Self {
        Trace {
            events,
            ..self.clone()
        }
    }

    /// Returns the path of the file for the trace. It is absolute, unless that could not be
    /// determined.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Adds the events of a scheduler that has ended to those that [`Trace::take`] returns.
    pub fn add(&self, part: Part) {
        lock(&self.parts).push(part);
    }

    /// Removes and returns the parts that were handed in, in the order of [`Trace::add`].
    pub fn take(&self) -> Vec<Part> {
        std::mem::take(&mut lock(&self.parts))
    }

    /// Stores a message about the file for [`Trace::take_notice`]. It replaces an earlier message.
    pub fn note(&self, notice: String) {
        *lock(&self.notice) = Some(notice);
    }

    /// Returns the message about the file, and removes it. Returns `None` if no message is stored.
    pub fn take_notice(&self) -> Option<String> {
        lock(&self.notice).take()
    }
}

/// Compares the file and the number of events, but not the recorded events.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.file, self.events) == (&other.file, other.events)
    }
}

impl Eq for Trace {}
