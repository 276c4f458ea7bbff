//! How much channels may grow by, all of a run together.
//!
//! What the schedulers of a run share, and the meeting in which they look at a standstill.

use super::inquiry::{Inquiry, Overlong};
use super::parker::{Parker, Unparked};
use super::report::{Calls, Directory, ProcessInfo, WaitingCall};
use super::wait_graph::{Grow, Update, WaitGraph};
use super::{report, user_code};
use crate::block::{Block, BlockedProcess};
use crate::error::{Failure, RunError};
use crate::host;
use crate::link::between::Doorbell;
use crate::link::inbox::{Inbox, Letter};
use crate::options::{Notice, Options};
use crate::overgrown::Overgrown;
use crate::placement::{Placement, SchedulerId, SchedulerIndex};
use crate::sync::{Condvar, Mutex, PoisonError, lock};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

/// What there may be, and what there is.
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

/// How long a scheduler looks for mail before it sleeps. A sleep and a wake-up by the kernel
/// take about this long.
const PATIENCE: Duration = Duration::from_micros(20);

/// How long a network stands still that something outside may wake before that is told, and how
/// many times longer the next time.
const QUIET: Duration = Duration::from_secs(2);
const QUIETER: u32 = 4;

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

pub struct Shared {
    pub run: u64,
    pub directory: Arc<dyn Directory>,
    /// Whether what is sent is counted.
    pub profiled: bool,
    placement: Option<Placement>,
    inboxes: Vec<Inbox>,
    parker: Parker,
    /// Clones of wakers held outside of the runtime.
    foreign: AtomicIsize,
    /// Something has run since the last meeting.
    stirred: AtomicBool,
    stop: AtomicBool,
    failure: Mutex<Option<RunError>>,
    meeting: Mutex<Meeting>,
    decided: Condvar,
    patience: Option<Duration>,
    pub(super) inquiry: Inquiry,
    pub(super) overlong: Mutex<Overlong>,
    /// Where the run is one of several OS processes.
    among: Option<Among>,
    /// Given back when the run ends: a waker that is kept keeps this whole struct.
    notice: Mutex<Option<Notice>>,
}

/// One OS process of several, as its threads know it.
pub struct Among {
    pub me: usize,
    pub count: usize,
    /// Of each of its schedulers.
    pub bells: Vec<Arc<dyn Doorbell>>,
    /// No core is two schedulers'.
    pub apart: bool,
    /// The host of each OS process, as far as it is known; without it, all are on this one.
    pub hosts: Option<Vec<String>>,
}

#[derive(Default)]
struct Meeting {
    number: u64,
    arrived: usize,
    told: Told,
    graph: WaitGraph,
    growths: Vec<Grow>,
    ceiling: Ceiling,
    verdict: Option<Verdict>,
    /// How long the next quiet while is before it is told.
    quiet: Duration,
    /// A quiet while has passed: the standstill is to be told.
    asked: bool,
}

impl Shared {
    pub fn new(
        schedulers: usize,
        directory: Arc<dyn Directory>,
        placement: Option<Placement>,
        options: &Options,
        among: Option<Among>,
    ) -> Arc<Self> {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        let all = among.as_ref().map_or(1, |among| among.count) * schedulers;
        let cores = match among.as_ref().is_some_and(|among| among.apart) {
            // Of all there are, each has its own.
            true => all,
            false => thread::available_parallelism().map_or(1, usize::from),
        };
        let shared = Arc::new(Shared {
            run: RUNS.fetch_add(1, Ordering::Relaxed),
            directory,
            profiled: options.profiled,
            placement,
            inboxes: (0..schedulers).map(|_| Inbox::new()).collect(),
            parker: Parker::new(schedulers),
            foreign: AtomicIsize::new(0),
            stirred: AtomicBool::new(true),
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            meeting: Mutex::new(Meeting {
                quiet: QUIET,
                ceiling: Ceiling::new(options.memory),
                ..Meeting::default()
            }),
            decided: Condvar::new(),
            // Alone there is nobody to wait for, and on a shared core waiting keeps others off.
            patience: (all > 1 && all <= cores).then_some(PATIENCE),
            inquiry: Inquiry::new(schedulers),
            overlong: Mutex::default(),
            among,
            notice: Mutex::new(options.notice.clone()),
        });
        if let Some(running) = &options.running {
            let run: Weak<Self> = Arc::downgrade(&shared);
            running.begin(run);
        }
        shared
    }

    /// How many schedulers were asked for. Those that share a thread are one here.
    pub fn schedulers(&self) -> usize {
        self.placement.as_ref().map_or(1, Placement::schedulers)
    }

    /// The scheduler that was asked for a rank.
    pub fn scheduler_of(&self, rank: u32) -> usize {
        self.placement
            .as_ref()
            .map_or(0, |placement| placement.of(rank) as usize)
    }

    /// Which OS process of how many this is, where there are several.
    pub fn os_process(&self) -> Option<(usize, usize)> {
        self.among.as_ref().map(|among| (among.me, among.count))
    }

    /// The number of a scheduler of this OS process, among all of the run.
    #[inline]
    pub fn number(&self, scheduler: SchedulerIndex) -> SchedulerId {
        let before = self.among.as_ref().map_or(0, |among| among.me);
        SchedulerId((before * self.inboxes.len()) as u32 + scheduler.0)
    }

    /// Which scheduler of this OS process has a number among all of the run, if it is here.
    #[inline]
    pub fn here(&self, number: SchedulerId) -> Option<SchedulerIndex> {
        let here = number.0.checked_sub(self.number(SchedulerIndex(0)).0)?;
        (here < self.inboxes.len() as u32).then_some(SchedulerIndex(here))
    }

    /// The number of the scheduler that a rank is on, among all of the run. Those that share a
    /// thread are one.
    #[inline]
    pub fn home_of(&self, rank: u32) -> SchedulerId {
        let placement = self.placement.as_ref();
        placement.map_or(SchedulerId(0), |placement| placement.thread_of(rank))
    }

    /// The OS process of a scheduler.
    pub fn os_process_of(&self, scheduler: SchedulerId) -> usize {
        scheduler.0 as usize / self.inboxes.len()
    }

    /// The OS process of a rank.
    pub fn os_process_of_rank(&self, rank: u32) -> usize {
        match &self.among {
            Some(among) => self.scheduler_of(rank) * among.count / self.schedulers(),
            None => 0,
        }
    }

    /// The name of the host that an OS process is on, if it can be told.
    pub fn host_of(&self, os_process: usize) -> Option<String> {
        match self.among.as_ref().and_then(|among| among.hosts.as_ref()) {
            Some(hosts) => hosts.get(os_process).cloned(),
            None => host::name(),
        }
    }

    /// The name of the host that an OS process is on, where the run has several.
    pub(super) fn host_of_several(&self, os_process: usize) -> Option<String> {
        let hosts = self.among.as_ref()?.hosts.as_ref()?;
        let several = hosts.iter().any(|host| *host != hosts[0]);
        hosts.get(os_process).filter(|_| several).cloned()
    }

    /// Says where processes are, if there are several places.
    fn locate(&self, processes: &mut [BlockedProcess]) {
        if self.among.is_none() {
            return;
        }
        for process in processes {
            let os_process = self.os_process_of_rank(process.rank as u32);
            process.host = self.host_of_several(os_process);
            process.os_process = Some(os_process);
        }
    }

    /// The rank of a process of a scheduler, by its place among those.
    pub(super) fn resident(&self, scheduler: usize, at: u32) -> Option<u32> {
        let home = self.number(SchedulerIndex(scheduler as u32));
        let of = |rank: &u32| self.home_of(*rank) == home;
        let ranks = 0..self.directory.processes() as u32;
        ranks.filter(of).nth(at as usize)
    }

    pub fn inboxes(&self) -> usize {
        self.inboxes.len()
    }

    pub fn inbox(&self, scheduler: usize) -> &Inbox {
        &self.inboxes[scheduler]
    }

    pub fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Wakes a process or hook of any scheduler.
    pub fn send(&self, scheduler: SchedulerIndex, id: u32) {
        // A waker may be kept for long after the run, and be woken ever again.
        if !self.stopped()
            && let Some(inbox) = self.inboxes.get(scheduler.0 as usize)
        {
            inbox.push(id);
            self.unpark(scheduler.0 as usize);
        }
    }

    /// Gives a scheduler of this OS process a letter.
    pub fn post(&self, scheduler: SchedulerIndex, letter: Letter) {
        match self.inboxes.get(scheduler.0 as usize) {
            Some(inbox) if !self.stopped() => {
                inbox.post(letter);
                self.unpark(scheduler.0 as usize);
            }
            // What it brings is nobody's any more: to drop it is code of the user.
            _ => user_code::quietly(|| drop(letter)),
        }
    }

    /// Counts foreign wakers up or down, and tells how many there are then.
    pub fn foreign_wakers(&self, change: isize) -> isize {
        // SeqCst: the last sleeper's look at the count must not come before the drop of a waker
        // whose last wake-up it has not seen; the inbox is SeqCst too.
        self.foreign.fetch_add(change, Ordering::SeqCst) + change
    }

    pub fn has_foreign_wakers(&self) -> bool {
        self.foreign.load(Ordering::SeqCst) != 0
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Ends the run. Of several failures the first is kept.
    pub fn end(&self, error: RunError) {
        lock(&self.failure).get_or_insert(error);
        self.stop();
    }

    /// The run is over, for a reason that is known elsewhere.
    pub fn halt(&self) {
        self.stop();
    }

    /// Why the run does not end well, if it is known here.
    pub fn failure(&self) -> Option<RunError> {
        lock(&self.failure).clone()
    }

    fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for scheduler in 0..self.inboxes.len() {
            self.unpark(scheduler);
        }
    }

    /// Ends the sleep of a scheduler.
    fn unpark(&self, scheduler: usize) {
        match &self.among {
            Some(among) => among.bells[scheduler].ring(),
            None => self.parker.unpark(scheduler),
        }
    }

    pub fn fail(&self, process: Option<ProcessInfo>, message: String) {
        let (name, rank, place) = match process {
            Some(process) => (process.name, process.rank as usize, process.place),
            None => (String::new(), 0, None),
        };
        let message = match &self.among {
            Some(among) => {
                let host = self.host_of_several(among.me);
                let on = host.map(|host| format!(" on {host}")).unwrap_or_default();
                format!("{message} (in OS process {}{on})", among.me)
            }
            None => message,
        };
        self.end(RunError::Failed(Failure {
            process: name,
            rank,
            place,
            message,
        }));
    }

    /// Takes out how the run ended: the growths, in order.
    pub fn outcome(&self) -> Result<Vec<Grow>, RunError> {
        let notice = lock(&self.notice).take();
        user_code::quietly(|| drop(notice));
        // What was posted when its receiver had gone.
        let letters = self.inboxes.iter().flat_map(Inbox::letters);
        letters.for_each(|letter| user_code::quietly(|| drop(letter)));
        match lock(&self.failure).take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut lock(&self.meeting).growths)),
        }
    }

    /// Something has run: if all are found asleep, there is something to be looked at.
    pub fn stir(&self) {
        self.stirred.store(true, Ordering::SeqCst);
        if let Some(among) = &self.among {
            among.bells[0].stir();
        }
    }

    pub(crate) fn sleep(&self, me: usize, at_most: Option<Duration>) -> Unparked {
        let stay = || self.inboxes[me].is_filled() || self.stopped();
        let counts = || self.stirred.load(Ordering::SeqCst);
        self.parker.park(me, stay, counts, at_most)
    }

    /// The quiet while is over: the standstill is to be told.
    pub fn ask(&self) {
        lock(&self.meeting).asked = true;
        self.stir();
    }

    /// Everyone slept: each tells what it knows, and the last to come decides for all.
    pub fn meet(&self, mut told: Told) -> Verdict {
        let mut meeting = lock(&self.meeting);
        meeting.arrived += 1;
        meeting.told.live += told.live;
        meeting.told.moved |= told.moved;
        meeting.told.foreign |= told.foreign;
        for rank in told.ended {
            meeting.graph.remove(rank);
        }
        // Later ones come later: what was told by those who arrived first concerns other channels.
        meeting.told.updates.append(&mut told.updates);
        meeting.told.ranks.append(&mut told.ranks);
        meeting.told.above |= told.above;
        meeting.told.calls.append(&mut told.calls);
        if meeting.arrived < self.inboxes.len() {
            let number = meeting.number;
            while meeting.number == number {
                meeting = self
                    .decided
                    .wait(meeting)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            return match &meeting.verdict {
                // One who waits is enough.
                Some(Verdict::Wait(_)) => Verdict::Wait(None),
                verdict => verdict.clone().unwrap_or(Verdict::End),
            };
        }
        let told = std::mem::take(&mut meeting.told);
        let verdict = self.decide(&mut meeting, told);
        meeting.number += 1;
        meeting.arrived = 0;
        meeting.verdict = Some(verdict.clone());
        self.decided.notify_all();
        verdict
    }

    /// Decides by what those of all OS processes have told.
    pub fn decide_for_all(&self, mut told: Told) -> Verdict {
        let mut meeting = lock(&self.meeting);
        for rank in std::mem::take(&mut told.ended) {
            meeting.graph.remove(rank);
        }
        self.decide(&mut meeting, told)
    }

    fn decide(&self, meeting: &mut Meeting, told: Told) -> Verdict {
        for update in told.updates {
            meeting.graph.update(update);
        }
        if self.stopped() {
            return Verdict::End;
        }
        if told.live == 0 {
            self.stop();
            return Verdict::End;
        }
        // Before the mail: who wakes puts mail in and lets go of the waker then, so one of the two
        // is seen.
        let foreign = told.foreign || self.has_foreign_wakers();
        let mail = self.inboxes.iter().any(Inbox::is_filled);
        if told.moved || mail {
            // A quiet while that somebody has ended begins anew.
            meeting.asked = false;
            return Verdict::Resume(Arc::default());
        }
        if !told.ranks.is_empty() {
            let calls = Calls::new(self.directory.channels(), told.calls);
            calls
                .updates(false)
                .for_each(|wait| meeting.graph.update(wait));
            let verdict = self.decide_by_all(meeting, told.ranks, &calls, foreign);
            calls
                .updates(true)
                .for_each(|wait| meeting.graph.update(wait));
            return verdict;
        }
        let grow = meeting.graph.grow();
        if !grow.is_empty() {
            return self.resume(meeting, grow, &Calls::default());
        }
        // Calls are known once all is told.
        if foreign && !meeting.asked && !told.above {
            return self.wait(meeting);
        }
        Verdict::Census
    }

    /// Decides when all processes that are left are known, and the calls in which they wait.
    fn decide_by_all(
        &self,
        meeting: &mut Meeting,
        ranks: Vec<u32>,
        calls: &Calls,
        foreign: bool,
    ) -> Verdict {
        if !calls.is_empty() {
            let grow = meeting.graph.grow_for_calls();
            if !grow.is_empty() {
                return self.resume(meeting, grow, calls);
            }
        }
        if foreign && !meeting.asked {
            return self.wait(meeting);
        }
        let mut block = report::describe(&mut meeting.graph, ranks, calls, &*self.directory);
        self.locate(&mut block.cycle);
        self.locate(&mut block.others);
        self.tell(meeting, block, foreign)
    }

    /// Channels are to grow, if they may.
    fn resume(&self, meeting: &mut Meeting, grow: Vec<Grow>, calls: &Calls) -> Verdict {
        let Meeting { ceiling, graph, .. } = &mut *meeting;
        if let Err(mut overgrown) = ceiling.admit(&grow, graph, calls, &*self.directory) {
            self.locate(&mut overgrown.cycle);
            self.end(RunError::Memory(overgrown));
            return Verdict::End;
        }
        meeting.growths.extend_from_slice(&grow);
        Verdict::Resume(grow.into())
    }

    /// Something outside of the network may wake somebody.
    fn wait(&self, meeting: &Meeting) -> Verdict {
        self.stirred.store(false, Ordering::SeqCst);
        Verdict::Wait(lock(&self.notice).is_some().then_some(meeting.quiet))
    }

    /// A standstill has been described: it is told, and ends the run unless something outside of
    /// it may wake somebody.
    fn tell(&self, meeting: &mut Meeting, block: Block, foreign: bool) -> Verdict {
        if !foreign {
            self.end(RunError::Blocked(block));
            return Verdict::End;
        }
        meeting.asked = false;
        meeting.quiet = meeting.quiet.saturating_mul(QUIETER);
        self.stirred.store(false, Ordering::SeqCst);
        let notice = lock(&self.notice).clone();
        // It is told again after a longer while, if nothing moves until then.
        let again = notice.is_some().then_some(meeting.quiet);
        user_code::quietly(|| {
            if let Some(notice) = notice {
                notice.give(&block);
            }
        });
        Verdict::Wait(again)
    }
}
