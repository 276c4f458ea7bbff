//! The scheduler, OS process and thread of each rank.

use std::sync::Arc;
use std::thread;

use crate::error::RunError;
use crate::options::Options;
use crate::sequence::Sequence;

/// Largest number of schedulers in a run.
pub const MOST: usize = 4096;

/// Number of a scheduler among all schedulers of the run. Schedulers that share a thread count as
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SchedulerId(pub u32);

/// Index of a scheduler in its OS process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct SchedulerIndex(pub u32);

impl SchedulerId {
    /// The leader, to which all schedulers report.
    pub const LEADER: SchedulerId = SchedulerId(0);
    /// Placeholder for a process without a scheduler.
    pub const NONE: SchedulerId = SchedulerId(u32::MAX);
}

/// The scheduler of each rank, and the OS process and the thread of each scheduler.
///
/// Schedulers are numbered through all OS processes, beginning with the first OS process.
#[derive(Debug, Clone)]
pub struct Placement {
    assignment: Assignment,
    schedulers: u64,
    /// Number of schedulers in each OS process.
    each: u64,
    threads: u64,
    processes: u64,
}

/// The scheduler of each rank.
#[derive(Debug, Clone)]
enum Assignment {
    /// Blocks whose sizes differ by at most one.
    Blocks,
    Mapping(Sequence),
    /// Runs of ranks as pairs of first rank and scheduler. Used if there is a mapping and OS
    /// processes have several schedulers.
    Runs(Arc<[(u32, u32)]>),
}

impl Options {
    /// Returns the placement of `processes` ranks with these options.
    ///
    /// # Errors
    ///
    /// Returns [`RunError::Options`] if the mapping does not fit the number of ranks or OS
    /// processes, or if the number of OS processes, schedulers or threads is out of range.
    pub fn placement(&self, processes: usize) -> Result<Placement, RunError> {
        let fail = |message: String| Err(RunError::Options(message));
        // This check precedes the iteration over the mapping, which may be for any number of ranks.
        if let Some(len) = self.mapping.as_ref().map(Sequence::len)
            && len != processes
        {
            return fail(format!(
                "the mapping is for {len} processes, but the network has {processes} \
                 (GRAPHMAP_MAPPING, GRAPHMAP_PLACEMENT)"
            ));
        }
        let highest = self
            .mapping
            .as_ref()
            .and_then(|mapping| mapping.iter().max());
        let named = highest.map_or(1, |highest| highest as usize + 1);
        let os_processes = self.os_processes.unwrap_or(named);
        if os_processes == 0 || os_processes > MOST {
            return fail(format!(
                "{os_processes} OS processes: expected 1 to {MOST} (GRAPHMAP_OS_PROCESSES or the \
                 mapping)"
            ));
        }
        let each = self.schedulers.unwrap_or(1);
        if each == 0 || each > MOST / os_processes {
            let most = MOST / os_processes;
            return fail(format!(
                "{each} schedulers in each of {os_processes} OS processes: expected 1 to {most} (GRAPHMAP_SCHEDULERS)"
            ));
        }
        if self.mapping.is_some() && named > os_processes {
            let highest = named - 1;
            return fail(format!(
                "the mapping names OS process {highest}, but the last one is {} \
                 (GRAPHMAP_OS_PROCESSES)",
                os_processes - 1
            ));
        }
        let schedulers = os_processes * each;
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        let threads = threads(self.threads, schedulers, cores);
        if threads == 0 {
            return fail("0 threads: expected at least 1 (GRAPHMAP_THREADS)".into());
        }
        let assignment = match &self.mapping {
            None => Assignment::Blocks,
            Some(mapping) if each == 1 => Assignment::Mapping(mapping.clone()),
            Some(mapping) => Assignment::Runs(split(mapping, os_processes, each)),
        };
        Ok(Placement {
            assignment,
            schedulers: schedulers as u64,
            each: each as u64,
            threads: threads as u64,
            processes: processes as u64,
        })
    }
}

/// Returns the number of threads on which the schedulers run: `asked`, but at most `schedulers`. If
/// `asked` is not given, it is the result of `cores`, because more threads than cores would only
/// alternate. Returns 0 if `asked` is 0.
fn threads(asked: Option<usize>, schedulers: usize, cores: impl FnOnce() -> usize) -> usize {
    asked.unwrap_or_else(cores).min(schedulers)
}

/// Distributes the ranks of each OS process to its schedulers, in blocks whose sizes differ by at
/// most one. `each` is the number of schedulers in an OS process. A run is a sequence of adjacent
/// ranks with the same scheduler. Returns pairs of the first rank of a run and its scheduler, in
/// order of rank.
///
/// # Panics
/// Panics if the mapping names an OS process that is not below `os_processes`.
fn split(mapping: &Sequence, os_processes: usize, each: usize) -> Arc<[(u32, u32)]> {
    let mut counts = vec![0_u64; os_processes];
    for os_process in mapping.iter() {
        counts[os_process as usize] += 1;
    }
    let mut before = vec![0_u64; os_processes];
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for (rank, os_process) in mapping.iter().enumerate() {
        let at = os_process as usize;
        let block = before[at] * each as u64 / counts[at];
        before[at] += 1;
        let scheduler = os_process * each as u32 + block as u32;
        if runs.last().is_none_or(|&(_, last)| last != scheduler) {
            runs.push((rank as u32, scheduler));
        }
    }
    runs.into()
}

impl Placement {
    /// Returns the number of schedulers of the run.
    pub fn schedulers(&self) -> usize {
        self.schedulers as usize
    }

    /// Returns the number of schedulers in each OS process.
    pub fn each(&self) -> usize {
        self.each as usize
    }

    /// Returns the number of OS processes of the run.
    pub fn os_processes(&self) -> usize {
        (self.schedulers / self.each) as usize
    }

    /// Returns the number of threads on which the schedulers of the run are placed.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }

    /// Returns the thread of a rank, from 0 to [`Placement::threads`] - 1. Adjacent schedulers
    /// share a thread. As in [`Placement::of`], the rank must be below the number of ranks of the
    /// run.
    #[inline]
    pub fn thread_of(&self, rank: u32) -> SchedulerId {
        let scheduler = self.of(rank);
        if self.threads == self.schedulers {
            return SchedulerId(scheduler);
        }
        SchedulerId((u64::from(scheduler) * self.threads / self.schedulers) as u32)
    }

    /// Returns true if the run has only one scheduler.
    #[inline]
    pub fn is_one(&self) -> bool {
        self.schedulers == 1
    }

    /// Returns the scheduler of a rank, numbered through all OS processes. The rank must be below
    /// the number of ranks of the run. Otherwise the result has no meaning.
    #[inline]
    pub fn of(&self, rank: u32) -> u32 {
        if self.schedulers == 1 {
            return 0;
        }
        match &self.assignment {
            Assignment::Blocks => {
                (u64::from(rank) * self.schedulers / self.processes.max(1)) as u32
            }
            Assignment::Mapping(mapping) => mapping.get(rank as usize).unwrap_or(0),
            Assignment::Runs(runs) => {
                let behind = runs.partition_point(|&(first, _)| first <= rank);
                behind.checked_sub(1).map_or(0, |at| runs[at].1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &Options, n: u32) -> Result<Vec<u32>, RunError> {
        let placement = options.placement(n as usize)?;
        Ok((0..n).map(|rank| placement.of(rank)).collect())
    }

    fn mapping(text: &str) -> Options {
        Options::new().mapping(text.parse().unwrap())
    }

    #[test]
    fn placements() {
        let os = |count| Options::new().os_processes(count);
        assert_eq!(of(&Options::new(), 3).unwrap(), [0, 0, 0]);
        assert_eq!(of(&os(2), 5).unwrap(), [0, 0, 0, 1, 1]);
        assert_eq!(of(&os(5), 2).unwrap(), [0, 2]);
        assert_eq!(of(&mapping("1 0 1"), 3).unwrap(), [1, 0, 1]);
        assert!(of(&mapping("1 0 1"), 4).is_err());
        assert!(of(&mapping("1 0 5").os_processes(5), 3).is_err());
        assert!(of(&os(0), 3).is_err());
        assert!(of(&Options::new().threads(0), 3).is_err());
    }

    #[test]
    fn there_are_no_more_threads_than_cores_unless_asked_for() {
        assert_eq!(threads(None, 5, || 2), 2);
        assert_eq!(threads(None, 2, || 8), 2);
        assert_eq!(threads(Some(5), 5, || 2), 5);
        assert_eq!(threads(Some(7), 3, || 2), 3);
    }

    #[test]
    fn threads_are_shared() {
        let threads = |schedulers: usize, threads| {
            let options = Options::new().os_processes(schedulers).threads(threads);
            let placement = options.placement(schedulers).unwrap();
            let ranks = 0..schedulers as u32;
            ranks
                .map(|rank| placement.thread_of(rank).0)
                .collect::<Vec<_>>()
        };
        assert_eq!(threads(5, 2), [0, 0, 0, 1, 1]);
        assert_eq!(threads(3, 1), [0, 0, 0]);
        assert_eq!(threads(3, 7), [0, 1, 2]);
    }

    #[test]
    fn several_schedulers_in_each_os_process() {
        let blocks = Options::new().os_processes(2).schedulers(2);
        assert_eq!(of(&blocks, 8).unwrap(), [0, 0, 1, 1, 2, 2, 3, 3]);
        let dealt = mapping("0 1 0 1 0 1 0").schedulers(2);
        assert_eq!(of(&dealt, 7).unwrap(), [0, 2, 0, 2, 1, 3, 1]);
        let placement = dealt.placement(7).unwrap();
        assert_eq!((placement.os_processes(), placement.each()), (2, 2));
        let first = mapping("0 0 0 1").schedulers(3).os_processes(4);
        assert_eq!(of(&first, 4).unwrap(), [0, 1, 2, 3]);
        assert!(of(&Options::new().schedulers(0), 3).is_err());
        assert!(of(&Options::new().os_processes(2).schedulers(4000), 3).is_err());
    }
}
