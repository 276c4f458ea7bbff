//! State that the schedulers of a run share in one OS process: inboxes, the stop flag, failures,
//! and the scheduler of each rank.

use super::detection::Detection;
use super::detection::GrowthLimit;
use super::detection::QUIET;
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
use crate::link::inbox::SchedulerRequest;
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

/// Maximum time for which a scheduler polls its inbox before it sleeps. A sleep and a wake-up by
/// the kernel take about this long.
const PATIENCE: Duration = Duration::from_micros(20);

/// State of a run in one OS process.
pub struct Shared {
    pub run: u64,
    pub directory: Arc<dyn Directory>,
    /// Whether messages are counted.
    pub profiled: bool,
    placement: Option<Placement>,
    pub(super) inboxes: Vec<Inbox>,
    parker: Parker,
    /// Number of clones of wakers that code outside the runtime holds.
    foreign: AtomicIsize,
    /// Whether a process has run since the last deadlock detection.
    pub(super) has_activity: AtomicBool,
    stop: AtomicBool,
    failure: Mutex<Option<RunError>>,
    pub(super) detection: Mutex<Detection>,
    pub(super) decided: Condvar,
    patience: Option<Duration>,
    pub(super) inquiry: Inquiry,
    pub(super) overlong: Mutex<Overlong>,
    /// This OS process, if the run has several.
    among: Option<Among>,
    /// Taken when the run ends, because a waker that outlives the run keeps this whole struct.
    pub(super) notice: Mutex<Option<Notice>>,
}

/// One OS process of several.
pub struct Among {
    /// Number of this OS process.
    pub me: usize,
    /// Number of OS processes.
    pub count: usize,
    /// Bell of each scheduler of this OS process.
    pub bells: Vec<Arc<dyn Doorbell>>,
    /// Whether each scheduler of the run has a core of its own.
    pub apart: bool,
    /// Host of each OS process, if known. If absent, all OS processes are on this host.
    pub hosts: Option<Vec<String>>,
}

impl Shared {
    /// Creates the state of a run that has `schedulers` schedulers in this OS process, and
    /// registers the run at `Options::running`. `among` describes this OS process if the run has
    /// several. Each call gives the run a new number.
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
            // Each scheduler of the run has a core of its own.
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
            has_activity: AtomicBool::new(true),
            stop: AtomicBool::new(false),
            failure: Mutex::new(None),
            detection: Mutex::new(Detection {
                quiet: QUIET,
                growth_limit: GrowthLimit::new(options.memory),
                ..Detection::default()
            }),
            decided: Condvar::new(),
            // A single scheduler has no other to wait for. On a shared core, spinning keeps other
            // threads from running.
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

    /// Returns the number of schedulers that were requested. Some of them may share a thread. The
    /// other methods count the schedulers of a thread as one, except [`Shared::scheduler_of`].
    pub fn schedulers(&self) -> usize {
        self.placement.as_ref().map_or(1, Placement::schedulers)
    }

    /// Returns the scheduler that was requested for a rank, from 0. Returns 0 if there is no
    /// placement.
    pub fn scheduler_of(&self, rank: u32) -> usize {
        self.placement
            .as_ref()
            .map_or(0, |placement| placement.of(rank) as usize)
    }

    /// Returns the number of this OS process and the number of OS processes. Returns `None` if the
    /// run has only one.
    pub fn os_process(&self) -> Option<(usize, usize)> {
        self.among.as_ref().map(|among| (among.me, among.count))
    }

    /// Converts the index of a scheduler of this OS process to its number among all of the run.
    #[inline]
    pub fn number(&self, scheduler: SchedulerIndex) -> SchedulerId {
        let before = self.among.as_ref().map_or(0, |among| among.me);
        SchedulerId((before * self.inboxes.len()) as u32 + scheduler.0)
    }

    /// Converts the number of a scheduler to its index in this OS process. Returns `None` if it is
    /// in another one.
    #[inline]
    pub fn here(&self, number: SchedulerId) -> Option<SchedulerIndex> {
        let here = number.0.checked_sub(self.number(SchedulerIndex(0)).0)?;
        (here < self.inboxes.len() as u32).then_some(SchedulerIndex(here))
    }

    /// Returns the number of the scheduler that runs a rank, or 0 if there is no placement.
    /// Schedulers that share a thread have one number.
    #[inline]
    pub fn owner_of(&self, rank: u32) -> SchedulerId {
        let placement = self.placement.as_ref();
        placement.map_or(SchedulerId(0), |placement| placement.thread_of(rank))
    }

    /// Returns the OS process of a scheduler, from 0. Panics if this OS process has no scheduler.
    pub fn os_process_of(&self, scheduler: SchedulerId) -> usize {
        scheduler.0 as usize / self.inboxes.len()
    }

    /// Returns the OS process of a rank, from 0. Returns 0 if the run has only one OS process.
    pub fn os_process_of_rank(&self, rank: u32) -> usize {
        match &self.among {
            Some(among) => self.scheduler_of(rank) * among.count / self.schedulers(),
            None => 0,
        }
    }

    /// Returns the name of the host of an OS process, or `None` if it is not known. If the run does
    /// not know the hosts of its OS processes, returns the name of this host.
    pub fn host_of(&self, os_process: usize) -> Option<String> {
        match self.among.as_ref().and_then(|among| among.hosts.as_ref()) {
            Some(hosts) => hosts.get(os_process).cloned(),
            None => host::name(),
        }
    }

    /// Returns the name of the host of an OS process. Returns `None` if the run has only one host,
    /// if its hosts are not known, or if the OS process does not exist.
    pub(super) fn host_of_several(&self, os_process: usize) -> Option<String> {
        let hosts = self.among.as_ref()?.hosts.as_ref()?;
        let several = hosts.iter().any(|host| *host != hosts[0]);
        hosts.get(os_process).filter(|_| several).cloned()
    }

    /// Sets the OS process and, if the run has several hosts, the host of each process. Has no
    /// effect if the run has only one OS process.
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

    /// Returns the rank of the process with index `at` on a scheduler of this OS process, or `None`
    /// if the scheduler has fewer processes. Takes time linear in the number of processes.
    pub(super) fn rank_at(&self, scheduler: usize, at: u32) -> Option<u32> {
        let home = self.number(SchedulerIndex(scheduler as u32));
        let of = |rank: &u32| self.owner_of(*rank) == home;
        let ranks = 0..self.directory.processes() as u32;
        ranks.filter(of).nth(at as usize)
    }

    /// Returns the number of schedulers of this OS process. Schedulers that share a thread count as
    /// one.
    pub fn inboxes(&self) -> usize {
        self.inboxes.len()
    }

    /// Returns the inbox of a scheduler of this OS process.
    ///
    /// # Panics
    /// If this OS process has no scheduler with this index.
    pub fn inbox(&self, scheduler: usize) -> &Inbox {
        &self.inboxes[scheduler]
    }

    /// Returns the time for which an idle scheduler spins before it sleeps. Returns `None` if it
    /// must not spin, because it is the only scheduler or there are more schedulers than cores.
    pub fn patience(&self) -> Option<Duration> {
        self.patience
    }

    /// Wakes a process or a hook of a scheduler of this OS process. With `NO_ID`, only ends the
    /// sleep of the scheduler. Has no effect if the run has ended or the scheduler does not exist.
    pub fn send(&self, scheduler: SchedulerIndex, id: u32) {
        // A waker can outlive the run and be woken at any time.
        if !self.stopped()
            && let Some(inbox) = self.inboxes.get(scheduler.0 as usize)
        {
            inbox.push(id);
            self.unpark(scheduler.0 as usize);
        }
    }

    /// Sends a request to a scheduler of this OS process. Drops the request if the run has ended or
    /// the scheduler does not exist.
    pub fn send_request(&self, scheduler: SchedulerIndex, request: SchedulerRequest) {
        match self.inboxes.get(scheduler.0 as usize) {
            Some(inbox) if !self.stopped() => {
                inbox.push_request(request);
                self.unpark(scheduler.0 as usize);
            }
            // The request has no receiver. Dropping it runs user code.
            _ => user_code::quietly(|| drop(request)),
        }
    }

    /// Adds `change` to the number of foreign wakers and returns the new number.
    pub fn foreign_wakers(&self, change: isize) -> isize {
        // SeqCst: when the last scheduler that falls asleep reads this count as 0, it must also see
        // the last wake-up of each waker that was dropped. The inbox is SeqCst for the same reason.
        self.foreign.fetch_add(change, Ordering::SeqCst) + change
    }

    /// Returns true if code outside of the runtime holds a waker in this OS process.
    pub fn has_foreign_wakers(&self) -> bool {
        self.foreign.load(Ordering::SeqCst) != 0
    }

    /// Returns true if the run has ended, with or without an error, as far as it is known in this
    /// OS process.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Ends the run with an error, and wakes all schedulers of this OS process. Only the first
    /// error is kept.
    pub fn end(&self, error: RunError) {
        lock(&self.failure).get_or_insert(error);
        self.stop();
    }

    /// Ends the run without an error here, because the cause is known in another OS process. Wakes
    /// all schedulers of this OS process.
    pub fn halt(&self) {
        self.stop();
    }

    /// Returns the error that ended the run, if it is known in this OS process.
    pub fn failure(&self) -> Option<RunError> {
        lock(&self.failure).clone()
    }

    /// Marks the run as stopped, and wakes all schedulers of this OS process.
    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::SeqCst);
        for scheduler in 0..self.inboxes.len() {
            self.unpark(scheduler);
        }
    }

    /// Ends the sleep of a scheduler of this OS process, if it sleeps. Panics if the scheduler does
    /// not exist.
    fn unpark(&self, scheduler: usize) {
        match &self.among {
            Some(among) => among.bells[scheduler].ring(),
            None => self.parker.unpark(scheduler),
        }
    }

    /// Ends the run because a process, or the runtime if `process` is `None`, has failed. If the
    /// run has several OS processes, the message gets the number and, if the run has several hosts,
    /// the host of this one. Only the first error of a run is kept.
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

    /// Takes the outcome of the run: the growths of channels in order. A second call returns an
    /// empty list. Drops the callback for quiescence and the requests that were not handled, which
    /// may run user code.
    ///
    /// # Errors
    /// Returns the error that ended the run.
    pub fn outcome(&self) -> Result<Vec<Grow>, RunError> {
        let notice = lock(&self.notice).take();
        user_code::quietly(|| drop(notice));
        // Requests that arrived after their receiver had ended.
        let requests = self.inboxes.iter().flat_map(Inbox::take_requests);
        requests.for_each(|request| user_code::quietly(|| drop(request)));
        match lock(&self.failure).take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut lock(&self.detection).growths)),
        }
    }

    /// Notes that a process has run, so that a deadlock detection begins when all schedulers are
    /// asleep. If the run has several OS processes, notes this for all of them.
    pub fn note_activity(&self) {
        self.has_activity.store(true, Ordering::SeqCst);
        if let Some(among) = &self.among {
            among.bells[0].note_activity();
        }
    }

    /// Blocks the scheduler `me` until a wake-up, until all schedulers of this OS process are
    /// asleep and a process has run since the last detection, or for at most `at_most`. Returns the
    /// reason. Returns at once if the inbox is filled or the run has stopped. Without `at_most`,
    /// the time is not limited.
    pub(crate) fn sleep(&self, me: usize, at_most: Option<Duration>) -> Unparked {
        let stay = || self.inboxes[me].is_filled() || self.stopped();
        let counts = || self.has_activity.load(Ordering::SeqCst);
        self.parker.park(me, stay, counts, at_most)
    }

    /// Makes the next detection report blocked processes, because a wait for a foreign waker has
    /// lasted too long. The detection begins when all schedulers are asleep.
    pub fn request_report(&self) {
        lock(&self.detection).report_due = true;
        self.note_activity();
    }
}
