//! Reports and decisions of the schedulers in a deadlock detection, and the limit for the growth of
//! channels. `deadlock.rs` has the procedure.

use super::hooks::Side;
use super::report;
use super::report::Calls;
use super::report::Directory;
use super::report::WaitingCall;
use super::wait_graph::Grow;
use super::wait_graph::Update;
use super::wait_graph::Wait;
use super::wait_graph::WaitGraph;
use crate::overgrown::Overgrown;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

/// Quiet period: the time for which a network that can be woken from outside is quiescent before
/// this is reported. After each report the period is multiplied by `QUIET_FACTOR`.
pub(super) const QUIET: Duration = Duration::from_secs(2);
/// Factor by which the quiet period grows.
pub(super) const QUIET_FACTOR: u32 = 4;

/// Report of a scheduler to a deadlock detection.
#[derive(Default)]
pub struct WaitReport {
    /// Number of processes that have not ended.
    pub live: usize,
    /// True if something can run.
    pub moved: bool,
    /// True if code outside of the runtime holds a waker in the OS process of the scheduler.
    pub foreign: bool,
    /// True if a timer is set, which is going to wake a process.
    pub timers: bool,
    /// Waits that have changed since the last detection.
    pub updates: Vec<Update>,
    /// Ranks of the processes that have ended since the last detection.
    pub ended: Vec<u32>,
    /// Ranks of all processes that have not ended. Empty unless the previous decision was
    /// [`Decision::ReportAll`].
    pub ranks: Vec<u32>,
    /// True if processes may wait in calls.
    pub above: bool,
    /// Calls in which processes wait. Empty unless the previous decision was
    /// [`Decision::ReportAll`].
    pub calls: Vec<WaitingCall>,
}

impl WaitReport {
    /// Adds the report of another scheduler. The order does not matter, because one scheduler
    /// reports each side of a channel.
    pub fn join(&mut self, mut other: WaitReport) {
        self.live += other.live;
        self.moved |= other.moved;
        self.foreign |= other.foreign;
        self.timers |= other.timers;
        self.updates.append(&mut other.updates);
        self.ended.append(&mut other.ended);
        self.ranks.append(&mut other.ranks);
        self.above |= other.above;
        self.calls.append(&mut other.calls);
    }
}

/// Decision of a deadlock detection.
#[derive(Clone)]
pub enum Decision {
    /// The run continues. These channels grow, each on the scheduler of its writer.
    Resume(Arc<[Grow]>),
    /// Each scheduler reports its remaining processes, in a further detection.
    ReportAll,
    /// All wait for a timer, or for something outside of the network. The scheduler that gets a
    /// duration must request a report after that time.
    Wait(Option<Duration>),
    End,
}

impl Decision {
    /// Returns the time at which the scheduler must request a report. Returns `None` if it need
    /// not, because the decision is not [`Decision::Wait`] with a duration, or if that time is too
    /// far away.
    pub(super) fn report_at(&self) -> Option<Instant> {
        match self {
            Decision::Wait(quiet) => Instant::now().checked_add((*quiet)?),
            _ => None,
        }
    }
}

/// State of the deadlock detection in this OS process.
#[derive(Default)]
pub(super) struct Detection {
    pub(super) number: u64,
    pub(super) arrived: usize,
    pub(super) report: WaitReport,
    pub(super) graph: WaitGraph,
    pub(super) growths: Vec<Grow>,
    pub(super) growth_limit: GrowthLimit,
    pub(super) decision: Option<Decision>,
    /// Length of the next quiet period.
    pub(super) quiet: Duration,
    /// True if a quiet period has passed, and the blocked network must be reported.
    pub(super) report_due: bool,
}

/// Number of bytes by which channels may grow, and by which they have grown.
#[derive(Default)]
pub(crate) struct GrowthLimit {
    most: Option<u64>,
    grown: u64,
}

impl GrowthLimit {
    pub(crate) fn new(most: Option<u64>) -> Self {
        GrowthLimit { most, grown: 0 }
    }

    /// Counts growths, either all of them or none. Has no effect if there is no limit. The growths
    /// of one detection belong to cycles that are not examined again, so no subset of them may be
    /// applied.
    ///
    /// # Errors
    /// Returns the description of the first channel whose growth would exceed the limit.
    pub(crate) fn admit(
        &mut self,
        growths: &[Grow],
        graph: &WaitGraph,
        calls: &Calls,
        directory: &dyn Directory,
    ) -> Result<(), Overgrown> {
        let Some(ceiling) = self.most else {
            return Ok(());
        };
        let mut grown = self.grown;
        for grow in growths {
            let capacity = graph.capacity(grow.number);
            // A token of size 0 counts as one byte, because it may be stored together with data
            // that needs memory.
            let token = directory.token_size(grow.number).max(1);
            let more = u64::from(grow.capacity.saturating_sub(capacity));
            grown = grown.saturating_add(more.saturating_mul(token as u64));
            if grown > ceiling {
                let (cycle, cycle_len) =
                    report::processes(&graph.cycle(grow.number), graph, calls, directory);
                return Err(Overgrown {
                    channel: report::channel(directory, grow.number),
                    capacity: capacity as usize,
                    wanted: grow.capacity as usize,
                    token,
                    grown: self.grown,
                    ceiling,
                    cycle,
                    cycle_len,
                });
            }
        }
        self.grown = grown;
        Ok(())
    }
}

crate::payload!(
    enum Side {
        Read,
        Write,
    }
);
crate::payload!(Wait {
    rank,
    peer,
    hint,
    stop,
    capacity
});
crate::payload!(Update { number, side, wait });
crate::payload!(WaitReport {
    live,
    moved,
    foreign,
    timers,
    updates,
    ended,
    ranks,
    above,
    calls
});
crate::payload!(Grow { number, capacity });
