//! The reports and decisions of schedulers when all of them are quiescent, and the bound on the
//! growth of channels. `deadlock.rs` has the procedure.

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

/// How long a network stands still that something outside may wake before that is told, and how
/// many times longer the next time.
pub(super) const QUIET: Duration = Duration::from_secs(2);
pub(super) const QUIETER: u32 = 4;

/// What a scheduler brings to the meeting about a standstill.
#[derive(Default)]
pub struct Told {
    /// How many processes it has left.
    pub live: usize,
    /// Something can run after all.
    pub moved: bool,
    /// Something outside of the network, in another OS process, holds wakers.
    pub foreign: bool,
    /// What has become of waits since the last meeting.
    pub updates: Vec<Update>,
    /// Processes that have ended, by rank: of those told as waiting, at least.
    pub ended: Vec<u32>,
    /// All that are left, by rank; only where that was asked for.
    pub ranks: Vec<u32>,
    /// Some may wait in calls, of which is told only where that was asked for.
    pub above: bool,
    pub calls: Vec<WaitingCall>,
}

impl Told {
    /// What another brings is known too. What comes later counts, but of each side of a channel
    /// only one of them tells.
    pub fn join(&mut self, mut other: Told) {
        self.live += other.live;
        self.moved |= other.moved;
        self.foreign |= other.foreign;
        self.updates.append(&mut other.updates);
        self.ended.append(&mut other.ended);
        self.ranks.append(&mut other.ranks);
        self.above |= other.above;
        self.calls.append(&mut other.calls);
    }
}

/// What the schedulers decided about a standstill.
#[derive(Clone)]
pub enum Verdict {
    /// These channels grow, each by the hand of its writer's scheduler, and the run goes on.
    Resume(Arc<[Grow]>),
    /// Each tells which processes it has left, in another meeting.
    Census,
    /// Nothing can be done but wait for something outside of the network. The scheduler told so is
    /// to say when that has taken as long as this.
    Wait(Option<Duration>),
    End,
}

impl Verdict {
    /// When the scheduler told so is to say that nothing has happened.
    pub(super) fn told_at(&self) -> Option<Instant> {
        match self {
            Verdict::Wait(quiet) => Instant::now().checked_add((*quiet)?),
            _ => None,
        }
    }
}

/// The state of the meeting of the schedulers of this OS process.
#[derive(Default)]
pub(super) struct Meeting {
    pub(super) number: u64,
    pub(super) arrived: usize,
    pub(super) told: Told,
    pub(super) graph: WaitGraph,
    pub(super) growths: Vec<Grow>,
    pub(super) ceiling: Ceiling,
    pub(super) verdict: Option<Verdict>,
    /// How long the next quiet while is before it is told.
    pub(super) quiet: Duration,
    /// A quiet while has passed: the standstill is to be told.
    pub(super) asked: bool,
}

/// By how many bytes channels may grow, and by how many they have grown.
#[derive(Default)]
pub(crate) struct Ceiling {
    most: Option<u64>,
    grown: u64,
}

impl Ceiling {
    pub(crate) fn new(most: Option<u64>) -> Self {
        Ceiling { most, grown: 0 }
    }

    /// Counts growths, all of them or none: those of one standstill stand for cycles that are not
    /// looked at again.
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
            // One that takes no memory as a value may be kept with something that does.
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
crate::payload!(Told {
    live,
    moved,
    foreign,
    updates,
    ended,
    ranks,
    above,
    calls
});
crate::payload!(Grow { number, capacity });
