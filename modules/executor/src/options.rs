//! What can be chosen for a run.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::block::Block;
use crate::error::RunError;
use crate::over_mpi::OverMpi;
use crate::running::Running;
use crate::sequence::Sequence;
use crate::trace::{EVENTS, MOST_EVENTS, Trace};

/// The options of a run. `main` reads them from the environment:
///
#[doc = include_str!("variables.md")]
///
/// All of them are checked at the start, whatever the run uses. An empty variable is as if it were
/// not set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    #[doc(hidden)]
    pub os_processes: Option<usize>,
    #[doc(hidden)]
    pub schedulers: Option<usize>,
    #[doc(hidden)]
    pub link: Link,
    #[doc(hidden)]
    pub threads: Option<usize>,
    #[doc(hidden)]
    pub shuffle: Option<u64>,
    #[doc(hidden)]
    pub memory: Option<u64>,
    #[doc(hidden)]
    pub stats: bool,
    #[doc(hidden)]
    pub stats_file: Option<PathBuf>,
    #[doc(hidden)]
    pub profile: Option<PathBuf>,
    #[doc(hidden)]
    pub profiled: bool,
    #[doc(hidden)]
    pub mapping: Option<Sequence>,
    /// The processes that the mapping was made for.
    #[doc(hidden)]
    pub placed: Option<u64>,
    #[doc(hidden)]
    pub notice: Option<Notice>,
    /// Standard output and standard error of the OS processes after the first.
    #[doc(hidden)]
    pub streams: Vec<[PathBuf; 2]>,
    /// OS processes are left on whatever cores they are.
    #[doc(hidden)]
    pub unpinned: bool,
    /// Large tokens are read where they are, or take the way through shared memory like all others;
    /// or what takes less time.
    #[doc(hidden)]
    pub single_copy: Option<bool>,
    /// The cores of each OS process.
    #[doc(hidden)]
    pub cores: Option<Vec<Vec<u32>>>,
    /// What it does is recorded.
    #[doc(hidden)]
    pub trace: Option<Trace>,
    #[doc(hidden)]
    pub trace_events: Option<usize>,
    /// Where the run says that it is on.
    #[doc(hidden)]
    pub running: Option<Running>,
    /// Settings that only a link over MPI uses.
    #[doc(hidden)]
    pub over_mpi: OverMpi,
}

/// What joins the OS processes of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum Link {
    /// They are threads of one.
    #[default]
    Threads,
    /// They share memory.
    SharedMemory,
    /// A launcher of MPI has started them.
    Mpi,
}

/// What is told of a standstill that something outside of the network may end.
#[derive(Clone)]
#[doc(hidden)]
pub struct Notice(Arc<dyn Fn(&Block) + Send + Sync>);

impl Notice {
    /// Tells it: code of the user.
    #[doc(hidden)]
    pub fn give(&self, block: &Block) {
        (self.0)(block);
    }
}

impl PartialEq for Notice {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Notice {}

impl fmt::Debug for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notice").finish_non_exhaustive()
    }
}

impl Options {
    /// One scheduler, first in first out, nothing measured.
    pub fn new() -> Self {
        Options::default()
    }

    /// How many OS processes there are: at least 1. `run` runs them as threads of one.
    pub fn os_processes(mut self, count: usize) -> Self {
        self.os_processes = Some(count);
        self
    }

    /// How many schedulers each OS process has: at least 1. They share its processes in blocks of
    /// consecutive ranks.
    pub fn schedulers(mut self, count: usize) -> Self {
        self.schedulers = Some(count);
        self
    }

    /// How many threads the schedulers share: at least 1. Without this there are as many as cores
    /// at most: two schedulers on one core would give it to each other by the kernel for each token
    /// that they pass on, and on one thread they pass it on themselves. A process that holds up its
    /// thread (it sleeps, or waits for a file) holds up all that share it.
    pub fn threads(mut self, count: usize) -> Self {
        self.threads = Some(count);
        self
    }

    /// Runs processes in a random order that the seed decides. A deterministic network gives the
    /// same results in any order.
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// How many bytes channels may grow by, all together, to resolve blocks: of each that grows,
    /// what it may hold more times what a token takes as a value (not what that owns elsewhere), at
    /// least one byte. A run that would need more ends with [`RunError::Memory`]. Without this
    /// there is no bound.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Measures what `Report::kinds` tells. It makes a run slower.
    pub fn stats(mut self, on: bool) -> Self {
        self.stats = on;
        self
    }

    /// Measures each process and channel for `Report::profile`.
    pub fn profile(mut self, on: bool) -> Self {
        self.profiled = on;
        self
    }

    /// Writes what each process did when, and who read what of whom, to a file in the JSON format
    /// of Chrome's traces, which [Perfetto](https://ui.perfetto.dev) shows: at the end of the run,
    /// whether it ends well or not. Each scheduler keeps its last [`Options::trace_events`]. Of a
    /// `Local` network there are turns and no messages. It makes a run slower.
    pub fn trace(mut self, file: impl AsRef<Path>) -> Self {
        self.trace = Some(Trace::new(file.as_ref()));
        self
    }

    /// How many events each scheduler keeps for [`Options::trace`]: turns of processes, tokens
    /// written and tokens read. At least 1 and at most 2^24; 65,536 if not said. An event takes 40
    /// bytes during the run and some 150 in the file.
    pub fn trace_events(mut self, count: usize) -> Self {
        self.trace_events = Some(count.clamp(1, MOST_EVENTS));
        self
    }

    /// Where a scheduler is to record what it does.
    #[doc(hidden)]
    pub fn recording(&self) -> Option<Trace> {
        let events = self.trace_events.unwrap_or(EVENTS);
        self.trace.as_ref().map(|trace| trace.keeping(events))
    }

    /// The OS process of each rank. Without [`Options::os_processes`] there are as many as it
    /// names.
    pub fn mapping(mut self, mapping: Sequence) -> Self {
        self.mapping = Some(mapping);
        self
    }

    /// Calls a function when all processes have waited for two seconds while something outside of
    /// the network may still wake one (a timer, a socket of another library), and ever more rarely
    /// after that: with who waits for what. The run goes on, and waits meanwhile; so the function
    /// should be short. `main` prints it.
    pub fn on_quiet(mut self, tell: impl Fn(&Block) + Send + Sync + 'static) -> Self {
        self.notice = Some(Notice(Arc::new(tell)));
        self
    }

    /// The options of a run in so many OS processes that a launcher has started.
    #[doc(hidden)]
    pub fn started(mut self, count: usize) -> Result<Self, RunError> {
        if let Some(asked) = self.os_processes
            && asked != count
        {
            return Err(RunError::Options(format!(
                "GRAPHMAP_OS_PROCESSES={asked}, but the launcher started {count}: omit the \
                 variable, or start {asked}"
            )));
        }
        if self.link == Link::SharedMemory {
            return Err(RunError::Options(format!(
                "GRAPHMAP_LINK=shm, but a launcher started {count} OS processes, which MPI \
                 connects: omit the variable, or start the program without the launcher"
            )));
        }
        if let Some(asked) = self.schedulers
            && asked != 1
        {
            return Err(RunError::Options(format!(
                "GRAPHMAP_SCHEDULERS={asked}, but each OS process has one scheduler when MPI \
                 connects them"
            )));
        }
        self.os_processes = Some(count);
        self.link = Link::Mpi;
        Ok(self)
    }
}
