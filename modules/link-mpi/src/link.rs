//! The link of one OS process in an MPI job.

mod job;
mod ways;

use std::cell::{Cell, RefCell};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use graphmap_runtime::between::{Doorbell, Header, Job, Link, OverMpi, ReceivedSlices, RunState};
use graphmap_runtime::{Encoder, RunError};

use crate::backoff::Backoff;
use crate::bell::Bell;
use crate::calls;
use crate::frames;
use crate::messages::{Messages, OURS};
use crate::receiving::MessageError;
use crate::same_host::SameHost;
use crate::world::World;
use crate::{watch, waves};
use waves::{Counts, Found, Waves};

/// Kinds of the frames of the link itself. OS process 0 asks for the counts of frames, and the
/// others answer.
const ASK: u32 = OURS;
const ANSWER: u32 = OURS + 1;
/// OS process 0 begins or ends a global deadlock detection.
const DETECTION: u32 = OURS + 2;
/// The state of all schedulers has been examined.
const SETTLE: u32 = OURS + 3;
/// To OS process 0: a process has run since the last `SETTLE`.
const ACTIVITY: u32 = OURS + 4;
/// The run has ended without an error.
const END: u32 = OURS + 5;
/// To OS process 0, which forwards it to all: the run fails, with the cause.
const FAIL: u32 = OURS + 6;
/// To OS process 0: an empty frame, sent for the agreement in its message.
const HELLO: u32 = OURS + 7;

/// After this number of checks since the last send, the scheduler is considered idle.
const IN_VAIN: u32 = 3;

/// The link of this OS process: byte rings to the OS processes of this host, and MPI to the others.
pub(crate) struct MpiLink {
    me: usize,
    count: usize,
    hosts: Vec<String>,
    bell: Arc<Bell>,
    messages: RefCell<Messages>,
    same_host: Option<SameHost>,
    /// Number of consecutive receives from this host.
    same_host_in_a_row: Cell<u32>,
    known: Known,
    /// Used by OS process 0 only.
    waves: RefCell<Waves>,
    polled: Cell<Option<Instant>>,
    /// True if the last check has found the messages that are to be received.
    fresh: Cell<bool>,
    /// Number of checks for messages since the last send.
    polls: Cell<u32>,
    wrong: RefCell<Option<String>>,
    /// Slices of the message that is being delivered.
    slices: Cell<Option<ReceivedSlices>>,
    /// Reason why the run cannot continue, if the launcher of this OS process has ended.
    launcher_is_gone: Arc<OnceLock<String>>,
    /// True if OS process 0 has reported the failure and will make the launcher end all OS
    /// processes.
    is_reported: Cell<bool>,
}

/// State of the run as far as it is known here, and counters.
struct Known {
    state: Cell<RunState>,
    cause: RefCell<Option<Vec<u8>>>,
    detection: Cell<u32>,
    /// Number of frames of the runtime that were sent and received.
    sent: Cell<u64>,
    received: Cell<u64>,
    /// Number of the wave that is to be answered.
    asked: Cell<Option<u32>>,
    /// On OS process 0: a process has run, so another wave is useful. On the others: OS process 0
    /// has been notified that a process has run.
    activity_reported: Cell<bool>,
    /// Result of the waves, on OS process 0 only.
    found: Cell<Option<bool>>,
}

fn header(kind: u32, number: u32) -> Header {
    Header {
        kind,
        number,
        extra: 0,
    }
}

impl MpiLink {
    /// Creates the link. All OS processes must call this function, and it blocks until they do.
    /// Spawns the threads of [`watch`], and registers an exit handler.
    pub(crate) fn new(world: World, settings: OverMpi) -> MpiLink {
        calls::watch_exit();
        let hosts = world.hosts();
        let addresses = world.gather(&watch::local_addresses());
        if let Some(limit) = settings.unreachable {
            watch::others_than(world.me(), &hosts, &addresses, limit);
        }
        let same_host = SameHost::new(&world, settings.shared_memory);
        let bell = Arc::new(Bell::new(same_host.as_ref().map(SameHost::rings)));
        let launcher_is_gone = watch::launcher(&hosts[world.me()], &bell);
        MpiLink {
            slices: Cell::default(),
            is_reported: Cell::new(false),
            me: world.me(),
            count: world.count(),
            hosts,
            launcher_is_gone,
            bell,
            messages: RefCell::new(Messages::new(world)),
            same_host,
            same_host_in_a_row: Cell::new(0),
            known: Known {
                state: Cell::new(RunState::Running),
                cause: RefCell::default(),
                detection: Cell::new(0),
                sent: Cell::new(0),
                received: Cell::new(0),
                asked: Cell::new(None),
                activity_reported: Cell::new(true),
                found: Cell::new(None),
            },
            waves: RefCell::new(Waves::new()),
            polled: Cell::new(None),
            fresh: Cell::new(false),
            polls: Cell::new(0),
            wrong: RefCell::default(),
        }
    }

    fn send_own(&self, to: usize, header: Header, bytes: &[u8]) {
        match self.rings_to(to) {
            Some((rings, number)) => rings.send(number, header, bytes),
            None => self.messages.borrow_mut().send(to, header, bytes),
        }
    }

    /// Sets the state of the run, and marks the byte rings of this host as over.
    fn set_state(&self, state: RunState) {
        self.known.state.set(state);
        if let Some(same_host) = &self.same_host {
            same_host.rings().over(state == RunState::Failed);
        }
    }

    fn send_own_to_all(&self, header: Header, bytes: &[u8]) {
        let others = (0..self.count).filter(|&other| other != self.me);
        others.for_each(|other| self.send_own(other, header, bytes));
    }

    fn counts(&self) -> Counts {
        Counts {
            sent: self.known.sent.get(),
            received: self.known.received.get(),
            has_activity: self.bell.has_activity(),
        }
    }

    /// Polls MPI, and handles the frames of the link itself that have come. If the launcher has
    /// ended, or an invalid or foreign message has come, the run fails. After a failure, frames of
    /// the runtime from this host are discarded.
    fn poll(&self) {
        if let Some(why) = self.launcher_is_gone.get() {
            self.fail(&Encoder::to_vec(&RunError::Lost(why.clone())));
        }
        if self.known.state.get() == RunState::Failed {
            // Frames of the runtime are discarded after a failure.
            let _ = self.receive_same_host(&mut |_, _, _| ());
        }
        let mut messages = self.messages.borrow_mut();
        let polled = messages.poll(|from, header, bytes| self.see(from, header, bytes));
        let Err((from, wrong)) = polled else { return };
        let error = match wrong {
            MessageError::InvalidMessage => {
                RunError::Lost(format!("invalid message from OS process {from} over MPI"))
            }
            MessageError::Other(other) => differs(from, self.me, messages.difference(other)),
        };
        drop(messages);
        self.fail(&Encoder::to_vec(&error));
    }

    /// Handles a frame of the link itself that came from OS process `from`. Records a frame of
    /// unknown kind as an error.
    fn see(&self, from: usize, header: Header, bytes: &[u8]) {
        let known = &self.known;
        match header.kind {
            ASK => known.asked.set(Some(header.number)),
            ANSWER => {
                let long = |at| frames::long(bytes, at).unwrap_or_default();
                let counts = Counts {
                    sent: long(0),
                    received: long(8),
                    has_activity: header.extra != 0,
                };
                let found = self.waves.borrow_mut().answer(header.number, counts);
                self.found(found);
            }
            DETECTION => known.detection.set(header.number),
            SETTLE => {
                self.bell.clear_activity();
                known.activity_reported.set(false);
            }
            ACTIVITY => known.activity_reported.set(true),
            END if known.state.get() == RunState::Running => self.set_state(RunState::Ended),
            FAIL => {
                // This applies even if this OS process has failed by itself.
                self.is_reported.set(self.is_reported.get() || from == 0);
                if known.state.get() != RunState::Failed {
                    self.set_state(RunState::Failed);
                    *known.cause.borrow_mut() = Some(bytes.to_vec());
                }
            }
            END | HELLO => {}
            other => {
                let why = format!("OS process {from} sent a frame of unknown kind {other}");
                self.wrong.borrow_mut().get_or_insert(why);
            }
        }
    }

    fn found(&self, found: Found) {
        if let Found::Quiescence(has_activity) = found {
            self.known.found.set(Some(has_activity));
        }
    }

    /// Must be called when this OS process is idle. OS process 0 begins a wave if it is useful and
    /// allowed, or begins a detection after quiescence. The others report activity and answer a
    /// wave.
    ///
    /// Returns the time until the next wave may begin. Returns `None` if no time is known, and on
    /// all OS processes except 0.
    fn rest(&self, now: Instant) -> Option<Duration> {
        let known = &self.known;
        if self.me > 0 {
            if self.bell.has_activity() && !known.activity_reported.replace(true) {
                self.send_own(0, header(ACTIVITY, 0), &[]);
            }
            if let Some(number) = known.asked.take() {
                let counts = self.counts();
                let mut bytes = counts.sent.to_ne_bytes().to_vec();
                bytes.extend_from_slice(&counts.received.to_ne_bytes());
                let header = Header {
                    extra: u32::from(counts.has_activity),
                    ..header(ANSWER, number)
                };
                self.send_own(0, header, &bytes);
            }
            return None;
        }
        if !known.detection.get().is_multiple_of(2) || known.state.get() != RunState::Running {
            return None;
        }
        if self.bell.has_activity() {
            known.activity_reported.set(true);
        }
        match known.found.take() {
            Some(true) => {
                let detection = known.detection.get() + 1;
                known.detection.set(detection);
                self.send_own_to_all(header(DETECTION, detection), &[]);
                return None;
            }
            // No process has run. There is nothing to ask for until an OS process reports a change.
            Some(false) => known.activity_reported.set(false),
            None => {}
        }
        if !known.activity_reported.get() {
            return None;
        }
        let begun = self
            .waves
            .borrow_mut()
            .begin(now, self.counts(), self.count - 1);
        if let Some(number) = begun {
            self.send_own_to_all(header(ASK, number), &[]);
            if self.count == 1 {
                let found = self.waves.borrow_mut().found();
                self.found(found);
            }
        }
        self.waves.borrow().rest(now)
    }
}

/// Returns the error for the OS processes `from` and `me` with different programs or networks.
/// `what` is the part that differs: `network` or `program`.
fn differs(from: usize, me: usize, what: &str) -> RunError {
    let host = calls::host();
    let same = match what {
        "network" => {
            "all must have the same arguments and read the same files to build the network"
        }
        _ => "all hosts must have the same file of the program: build it once and copy it",
    };
    RunError::Wiring(vec![format!(
        "the {what} of OS process {from} differs from that of OS process {me} (on {host}): {same}"
    )])
}

impl Link for MpiLink {
    fn me(&self) -> usize {
        self.me
    }

    fn count(&self) -> usize {
        self.count
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::clone(&self.bell) as Arc<dyn Doorbell>
    }

    fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        self.known.sent.set(self.known.sent.get() + 1);
        if let Some((rings, number)) = self.rings_to(to) {
            return rings.send(number, header, bytes);
        }
        self.polls.set(0);
        self.messages.borrow_mut().send(to, header, bytes);
    }

    fn flush(&self) -> bool {
        self.push(false)
    }

    fn is_filled(&self) -> bool {
        if self.same_host_is_ready() || self.messages.borrow().is_filled() {
            return true;
        }
        if self.is_alone() {
            return false;
        }
        self.poll();
        let is_filled = self.messages.borrow().is_filled();
        self.fresh.set(is_filled);
        // Repeated checks mean that the scheduler is idle, so frames that wait for others to share
        // their message are sent.
        let polls = self.polls.get() + 1;
        self.polls.set(polls % IN_VAIN);
        if polls == IN_VAIN && !is_filled {
            self.messages.borrow_mut().push(true);
        }
        is_filled
    }

    fn sleep(&self, stay: &dyn Fn() -> bool, at_most: Option<Duration>) {
        let (until, state) = (
            at_most.map(|at_most| Instant::now() + at_most),
            self.known.state.get(),
        );
        let rings = self.same_host.as_ref().map(SameHost::rings);
        let mut backoff = Backoff::default();
        loop {
            let flushed = self.push(true);
            self.poll();
            let same_host_is_ready = self.same_host_is_ready();
            let lends = self.keeps_values();
            let is_filled = self.messages.borrow().is_filled();
            self.fresh.set(is_filled);
            if same_host_is_ready || is_filled || self.bell.take() || stay() {
                return;
            }
            if self.known.state.get() != state {
                self.poll();
                return;
            }
            if backoff.polls_again() {
                continue;
            }
            let (now, mut rest) = (Instant::now(), None);
            // An OS process that still has to send frames or to return values is not idle, because
            // these may own ends of channels.
            if flushed && !lends {
                rest = self.rest(now);
                self.push(true);
            }
            if stay() {
                return;
            }
            if let Some(rings) = rings
                && !rings.flush()
            {
                return rings.wait_for_room();
            }
            let left = until.map(|until| until.saturating_duration_since(now));
            if left.is_some_and(|left| left.is_zero()) {
                return;
            }
            let pause = backoff.pause(now, self.messages.borrow().under_way());
            if pause.is_zero() {
                thread::yield_now();
                continue;
            }
            // If no message arrives over MPI, every arrival ends the wait.
            let pause = (!self.is_alone()).then_some(pause);
            let at_most = pause.into_iter().chain(rest).chain(left).min();
            self.bell.wait(rings, at_most);
            // MPICH 4 detects a message in one poll and reports it in the next, so a second poll
            // follows.
            self.poll();
        }
    }

    fn detection(&self) -> Option<u32> {
        let detection = self.known.detection.get();
        (!detection.is_multiple_of(2)).then_some(detection)
    }

    fn clear_activity(&self) {
        self.bell.clear_activity();
        self.known.activity_reported.set(false);
        self.send_own_to_all(header(SETTLE, 0), &[]);
    }

    fn end_detection(&self) {
        let detection = self.known.detection.get() + 1;
        self.known.detection.set(detection);
        self.send_own_to_all(header(DETECTION, detection), &[]);
        self.waves.borrow_mut().reset();
    }

    fn state(&self) -> RunState {
        self.known.state.get()
    }

    fn end(&self) {
        if self.known.state.get() == RunState::Running {
            self.set_state(RunState::Ended);
            self.send_own_to_all(header(END, 0), &[]);
        }
    }

    fn fail(&self, cause: &[u8]) {
        if self.known.state.get() == RunState::Failed {
            return;
        }
        self.set_state(RunState::Failed);
        *self.known.cause.borrow_mut() = Some(cause.to_vec());
        if self.me > 0 {
            self.send_own(0, header(FAIL, 0), cause);
            self.push(true);
        }
    }

    fn cause(&self) -> Option<Vec<u8>> {
        self.known.cause.borrow().clone()
    }

    fn done(&self) {}
}
