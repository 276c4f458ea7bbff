//! The state that the schedulers of a run share in one OS process: inboxes, the stop flag,
//! failures, and where ranks are.

use super::meeting::Ceiling;
use super::meeting::Meeting;
use super::meeting::QUIET;
use super::parker::Parker;
use super::parker::Unparked;
use super::report::Directory;
use super::report::ProcessInfo;
use super::snapshots::Inquiry;
use super::snapshots::Overlong;
use super::user_code;
use super::wait_graph::Grow;
use crate::block::BlockedProcess;
use crate::error::Failure;
use crate::error::RunError;
use crate::host;
use crate::link::between::Doorbell;
use crate::link::inbox::Inbox;
use crate::link::inbox::Letter;
use crate::options::Notice;
use crate::options::Options;
use crate::placement::Placement;
use crate::placement::SchedulerId;
use crate::placement::SchedulerIndex;
use crate::sync::AtomicBool;
use crate::sync::Condvar;
use crate::sync::Mutex;
use crate::sync::lock;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::AtomicIsize;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// How long a scheduler looks for mail before it sleeps. A sleep and a wake-up by the kernel
/// take about this long.
const PATIENCE: Duration = Duration::from_micros(20);

pub struct Shared {
    pub run: u64,
    pub directory: Arc<dyn Directory>,
    /// Whether what is sent is counted.
    pub profiled: bool,
    placement: Option<Placement>,
    pub(super) inboxes: Vec<Inbox>,
    parker: Parker,
    /// Clones of wakers held outside of the runtime.
    foreign: AtomicIsize,
    /// Something has run since the last meeting.
    pub(super) stirred: AtomicBool,
    stop: AtomicBool,
    failure: Mutex<Option<RunError>>,
    pub(super) meeting: Mutex<Meeting>,
    pub(super) decided: Condvar,
    patience: Option<Duration>,
    pub(super) inquiry: Inquiry,
    pub(super) overlong: Mutex<Overlong>,
    /// Where the run is one of several OS processes.
    among: Option<Among>,
    /// Given back when the run ends: a waker that is kept keeps this whole struct.
    pub(super) notice: Mutex<Option<Notice>>,
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
    pub(super) fn locate(&self, processes: &mut [BlockedProcess]) {
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

    pub(super) fn stop(&self) {
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
}
