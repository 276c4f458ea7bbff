//! Options of a run.

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
/// All of them are checked at the start, even those that the run does not use. An empty variable
/// counts as unset.
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
    /// Text of the tables that replace the tables in the wiring.
    #[doc(hidden)]
    pub tables: Option<Arc<str>>,
    /// Hash of the processes that the mapping was made for.
    #[doc(hidden)]
    pub placed: Option<u64>,
    #[doc(hidden)]
    pub notice: Option<Notice>,
    /// Files for the standard output and the standard error of each OS process after the first.
    #[doc(hidden)]
    pub streams: Vec<[PathBuf; 2]>,
    /// True if OS processes are not pinned to cores.
    #[doc(hidden)]
    pub unpinned: bool,
    /// `Some(true)`: large tokens are read directly from the writer's memory. `Some(false)`: they
    /// go through shared memory. `None`: the faster of the two.
    #[doc(hidden)]
    pub single_copy: Option<bool>,
    /// Cores of each OS process.
    #[doc(hidden)]
    pub cores: Option<Vec<Vec<u32>>>,
    /// Trace that records polls and messages.
    #[doc(hidden)]
    pub trace: Option<Trace>,
    #[doc(hidden)]
    pub trace_events: Option<usize>,
    /// Where the run registers itself while it lasts.
    #[doc(hidden)]
    pub running: Option<Running>,
    /// Settings that only a link over MPI uses.
    #[doc(hidden)]
    pub over_mpi: OverMpi,
}

/// Transport between the OS processes of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[doc(hidden)]
pub enum Link {
    /// The OS processes are threads of one OS process.
    #[default]
    Threads,
    /// The OS processes share memory.
    SharedMemory,
    /// An MPI launcher starts the OS processes.
    Mpi,
}

/// Callback for a quiescence that an event outside of the network may end.
#[derive(Clone)]
#[doc(hidden)]
pub struct Notice(Arc<dyn Fn(&Block) + Send + Sync>);

impl Notice {
    /// Calls the callback, which is user code and may panic, with the waiting processes.
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
    /// Returns the default options: one scheduler, first in first out, without measurements.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets the number of OS processes [default: one more than the highest number in the mapping,
    /// or 1 without a mapping]. `run` runs them as threads of one OS process.
    ///
    /// The number must be from 1 to 4096. For any other number, the run fails with
    /// [`RunError::Options`].
    pub fn os_processes(mut self, count: usize) -> Self {
        self.os_processes = Some(count);
        self
    }

    /// Sets the number of schedulers in each OS process [default: 1]. The schedulers share the
    /// processes of their OS process, in order of rank, in blocks whose sizes differ by at most
    /// one.
    ///
    /// The number must be at least 1, and at most 4096 divided by the number of OS processes. For
    /// any other number, the run fails with [`RunError::Options`].
    pub fn schedulers(mut self, count: usize) -> Self {
        self.schedulers = Some(count);
        self
    }

    /// Sets the number of threads that the schedulers share, at least 1 [default: number of cores].
    /// There are never more threads than schedulers. Two schedulers on one core, but on different
    /// threads, would need a context switch for each token between them. On one thread they do not.
    /// A process that blocks its thread (it sleeps, or waits for a file) blocks all schedulers on
    /// that thread. For 0 threads, the run fails with [`RunError::Options`].
    pub fn threads(mut self, count: usize) -> Self {
        self.threads = Some(count);
        self
    }

    /// Runs processes in a random order that the seed determines. A deterministic network gives the
    /// same results in any order.
    pub fn shuffle(mut self, seed: u64) -> Self {
        self.shuffle = Some(seed);
        self
    }

    /// Limits the growth of all channels together that ends artificial deadlocks, in bytes
    /// [default: no limit]. A growth counts as its number of tokens times the size of a token
    /// (at least one byte). Memory that a token owns is not counted. A run that would need more
    /// ends with [`RunError::Memory`].
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Determines whether the kinds of processes are measured for `Report::kinds` [default: no].
    /// This makes a run slower.
    pub fn stats(mut self, on: bool) -> Self {
        self.stats = on;
        self
    }

    /// Determines whether each process and channel is measured for `Report::profile` [default: no].
    pub fn profile(mut self, on: bool) -> Self {
        self.profiled = on;
        self
    }

    /// Writes a trace of polls and messages to a file when the run ends, with or without an error.
    /// The file has the JSON format of Chrome's traces, which [Perfetto](https://ui.perfetto.dev)
    /// displays. Each scheduler keeps its last [`Options::trace_events`] events. The trace of a
    /// `Local` network contains polls but no messages. Tracing makes a run slower.
    pub fn trace(mut self, file: impl AsRef<Path>) -> Self {
        self.trace = Some(Trace::new(file.as_ref()));
        self
    }

    /// Sets the number of events that each scheduler keeps for [`Options::trace`] [default:
    /// 65,536]. 0 counts as 1, and a number above 2^24 counts as 2^24. An event is a poll of a
    /// process, a token written, a token read, or a change of the number of processes that could
    /// run. It takes 40 bytes during the run and about 150 in the file.
    pub fn trace_events(mut self, count: usize) -> Self {
        self.trace_events = Some(count.clamp(1, MOST_EVENTS));
        self
    }

    /// Returns the trace into which a scheduler records events, with [`Options::trace_events`].
    /// Returns `None` if the run is not traced.
    #[doc(hidden)]
    pub fn recording(&self) -> Option<Trace> {
        let events = self.trace_events.unwrap_or(EVENTS);
        self.trace.as_ref().map(|trace| trace.with_events(events))
    }

    /// Sets the OS process of each rank. The default of [`Options::os_processes`] is then the
    /// highest number in the mapping plus one.
    ///
    /// The run fails with [`RunError::Options`] if the length of the mapping is not the number of
    /// ranks, or if the mapping names an OS process that does not exist.
    pub fn mapping(mut self, mapping: Sequence) -> Self {
        self.mapping = Some(mapping);
        self
    }

    /// Calls a function when all processes have waited for two seconds and an event outside of the
    /// network may still wake one (a timer, a socket of another library). It is not called while a
    /// process sleeps ([`sleep`](crate::sleep())). The function gets the waiting processes. While
    /// they wait, it is called again at intervals that grow by a factor of 4. The run is suspended
    /// during the call, so the function should be short. A panic in it is ignored. `main` installs
    /// a function that prints its argument.
    pub fn on_quiet(mut self, report: impl Fn(&Block) + Send + Sync + 'static) -> Self {
        self.notice = Some(Notice(Arc::new(report)));
        self
    }

    /// Completes the options for a run in `count` OS processes that a launcher has started: sets
    /// the number of OS processes to `count` and the link to [`Link::Mpi`].
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Options`] if the options ask explicitly for a different number of OS
    /// processes, for shared memory, or for several schedulers in each OS process.
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
