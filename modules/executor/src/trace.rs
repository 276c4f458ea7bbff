//! What a traced run has recorded: the turns of its processes and the messages of each, as each scheduler hands
//! them in when it is done.
//!
//! A scheduler keeps the last of its events and no more than are asked for, so a trace is bounded however long the run
//! and however large the network is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::sync::{Mutex, lock};

/// How many events each scheduler keeps where nothing else is said: some 2.5 MB, and five times as much in the file.
pub const EVENTS: usize = 1 << 16;
/// Most that may be asked for.
pub const MOST_EVENTS: usize = 1 << 24;

/// A side of a channel, as a trace knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    Write,
    Read,
    /// Not to write, but to be told that the reader has left.
    Stop,
}

crate::payload!(
    enum Way {
        Write,
        Read,
        Stop,
    }
);

/// What a process does after a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum After {
    Ended,
    /// It has let others have a turn.
    Ready,
    /// For a side of a channel, by number, where it is known.
    Waits(Option<(u32, Way)>),
}

crate::payload!(
    enum After {
        Ended,
        Ready,
        Waits(what),
    }
);

/// What has happened on a scheduler. Times are those of `clock`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A token was put into a channel or taken out of it, the how manieth of the channel. It belongs to the turn that
    /// comes next in the list.
    Message {
        way: Way,
        channel: u32,
        ordinal: u64,
    },
    /// A process had a turn: its kind, which one of its kind it is, from when until when.
    Turn {
        kind: u32,
        index: u32,
        start: u64,
        end: u64,
        after: After,
    },
    /// So many processes could run.
    Ready { count: u32, at: u64 },
}

crate::payload!(
    enum Event {
        Message {
            way,
            channel,
            ordinal,
        },
        Turn {
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

/// What one scheduler has recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub os_process: u32,
    /// Its number among all of the run.
    pub scheduler: u32,
    /// The number by which the operating system knows the OS process.
    pub pid: u32,
    pub host: Option<String>,
    /// What the clock of the host is behind the time of day.
    pub behind: i64,
    /// Turns and messages that had to make room for later ones.
    pub turns_left_out: u64,
    pub messages_left_out: u64,
    pub events: Vec<Event>,
}

crate::payload!(Part {
    os_process,
    scheduler,
    pid,
    host,
    behind,
    turns_left_out,
    messages_left_out,
    events
});

/// That a run is traced: into which file, and what its schedulers have handed in. Clones are the same trace.
#[derive(Debug, Clone)]
pub struct Trace {
    file: PathBuf,
    pub events: usize,
    parts: Arc<Mutex<Vec<Part>>>,
    notice: Arc<Mutex<Option<String>>>,
}

impl Trace {
    pub fn new(file: &Path) -> Self {
        Trace {
            // Absolute, because a process may change the working directory.
            file: std::path::absolute(file).unwrap_or_else(|_| file.to_path_buf()),
            events: EVENTS,
            parts: Arc::default(),
            notice: Arc::default(),
        }
    }

    /// The same trace, for a scheduler that keeps so many events.
    pub fn keeping(&self, events: usize) -> Self {
        Trace {
            events,
            ..self.clone()
        }
    }

    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A scheduler is done.
    pub fn add(&self, part: Part) {
        lock(&self.parts).push(part);
    }

    /// Takes out what has been handed in.
    pub fn take(&self) -> Vec<Part> {
        std::mem::take(&mut lock(&self.parts))
    }

    /// What is to be said of the file, for [`Trace::take_notice`].
    pub fn note(&self, notice: String) {
        *lock(&self.notice) = Some(notice);
    }

    /// What is to be said of the file, once.
    pub fn take_notice(&self) -> Option<String> {
        lock(&self.notice).take()
    }
}

/// What is to be written is the same; what was recorded does not count.
impl PartialEq for Trace {
    fn eq(&self, other: &Self) -> bool {
        (&self.file, self.events) == (&other.file, other.events)
    }
}

impl Eq for Trace {}
