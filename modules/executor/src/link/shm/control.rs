//! The page that all OS processes of a run look at: who is awake, how the run ends, and why.
//!
//! # Who is awake
//!
//! `awake` counts the schedulers that are. Who goes to sleep raises a flag (its *bell*) and takes itself
//! off the count; who has put something into the lane of a sleeper takes the flag down, counts the
//! sleeper as awake on its behalf, and wakes it. So whoever takes the count to 0 has proof that all sleep and
//! that nothing is on its way to anybody: what is sent is sent by somebody who is counted, and the one it
//! is sent to is counted before the sender is not any more.
//!
//! The sender stores the tail of a lane and then loads the bell; the sleeper stores the bell and then looks at its
//! lanes. Between store and load each has a SeqCst fence, so at least one sees what the other stored.

use std::process;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use super::memory::{self, SharedMemory};
use super::ring::LANE;
use crate::error::CAUSE;

/// Most schedulers of a run on one host.
pub const MOST: usize = 1024;

/// How long a cause takes to be written down, where who does that is not killed.
const WRITING: Duration = Duration::from_millis(500);

/// How a run stands.
pub const RUNNING: u32 = 0;
pub const ENDED: u32 = 1;
pub const FAILED: u32 = 2;

/// What an OS process has come to.
const DONE: u32 = 1;
const GONE: u32 = 2;

#[repr(C, align(64))]
struct Bell {
    /// 1 while its owner sleeps.
    asleep: AtomicU32,
    /// [`DONE`] from when the OS process whose first scheduler it is has done all it had to, [`GONE`] when it has ended
    /// without that.
    done: AtomicU32,
    /// Which OS process of this host that is.
    id: AtomicU32,
    /// What it has in common with those that it can run with: see [`host`](super::host).
    agreement: AtomicU64,
}

#[repr(C)]
struct Page {
    /// By which relatives know that this is the page: see [`SharedMemory::inherit`].
    key: AtomicU64,
    /// What has to be equal for all: see [`ControlPage::agrees`].
    table: AtomicU64,
    awake: AtomicU32,
    /// Something has run since the last meeting.
    stirred: AtomicU32,
    /// How many meetings were called; odd while one is on.
    meeting: AtomicU32,
    state: AtomicU32,
    /// How often it was asked what the run is doing.
    asked: AtomicU32,
    /// 1 while somebody writes down the cause, 2 when it is there.
    cause: AtomicU32,
    cause_len: AtomicU32,
    cause_bytes: [AtomicU32; CAUSE / 4],
    bells: [Bell; MOST],
}

const LANES: usize = size_of::<Page>().next_multiple_of(4096);

/// The page, as one scheduler sees it. Schedulers are numbered through all OS processes: those of the first come first.
pub struct ControlPage {
    memory: Arc<SharedMemory>,
    me: usize,
    count: usize,
    each: usize,
    /// The numbers in the run of these OS processes, if they are only some of it.
    numbers: Option<Vec<usize>>,
}

impl ControlPage {
    /// How much memory so many schedulers share. Most of it is never touched.
    pub fn size(count: usize) -> usize {
        LANES + count * count * LANE
    }

    /// For the first scheduler of OS process `os_process` of so many, each with `each` of them.
    pub fn new(
        memory: Arc<SharedMemory>,
        os_process: usize,
        os_processes: usize,
        each: usize,
    ) -> Self {
        let (me, count) = (os_process * each, os_processes * each);
        assert!(me < count && count <= MOST);
        ControlPage {
            memory,
            me,
            count,
            each,
            numbers: None,
        }
    }

    /// Sets the numbers that these OS processes have in the run, of which they are only some.
    pub fn of_run(&mut self, numbers: Vec<usize>) {
        self.numbers = Some(numbers);
    }

    /// The same page, for each scheduler of this OS process: this is that of the first.
    pub fn schedulers(self: &Arc<Self>) -> Vec<Arc<ControlPage>> {
        let of = |at| ControlPage {
            memory: Arc::clone(&self.memory),
            me: self.me + at,
            count: self.count,
            each: self.each,
            numbers: None,
        };
        (0..self.each).map(|at| Arc::new(of(at))).collect()
    }

    /// Before the others are there: all count as awake.
    pub fn begin(&self, key: u64, table: u64) {
        self.page().key.store(key, Ordering::SeqCst);
        self.page().table.store(table, Ordering::SeqCst);
        self.page().awake.store(self.count as u32, Ordering::SeqCst);
        self.page().stirred.store(1, Ordering::SeqCst);
    }

    fn page(&self) -> &Page {
        let page: NonNull<Page> = self.memory.at(0, size_of::<Page>()).cast();
        // SAFETY: within the memory, at its start, so aligned; all of it is atomics, for which any bytes
        // are a value.
        unsafe { page.as_ref() }
    }

    /// What all relatives know, and nobody else.
    pub fn key(&self) -> u64 {
        self.page().key.load(Ordering::SeqCst)
    }

    pub fn memory(&self) -> &Arc<SharedMemory> {
        &self.memory
    }

    pub fn me(&self) -> usize {
        self.me
    }

    /// The OS process of a scheduler.
    pub fn os_process_of(&self, scheduler: usize) -> usize {
        scheduler / self.each
    }

    /// The number in the run of the OS process of a scheduler.
    pub fn number_of(&self, scheduler: usize) -> usize {
        let os_process = self.os_process_of(scheduler);
        let numbers = self.numbers.as_ref();
        (numbers.and_then(|numbers| numbers.get(os_process))).map_or(os_process, |&number| number)
    }

    pub fn os_process(&self) -> usize {
        self.os_process_of(self.me)
    }

    /// How many schedulers each OS process has.
    pub fn each(&self) -> usize {
        self.each
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Where the lane from one to another begins.
    pub fn lane(&self, from: usize, to: usize) -> usize {
        LANES + (from * self.count + to) * LANE
    }

    /// Whether the network of this OS process is that of the first.
    pub fn agrees(&self, table: u64) -> bool {
        self.page().table.load(Ordering::SeqCst) == table
    }

    pub fn state(&self) -> u32 {
        self.page().state.load(Ordering::Acquire)
    }

    /// Something has run: if all are found asleep, there is something to be looked at.
    pub fn stir(&self) {
        if self.page().stirred.load(Ordering::Relaxed) == 0 {
            self.page().stirred.store(1, Ordering::SeqCst);
        }
    }

    pub fn unstir(&self) {
        self.page().stirred.store(0, Ordering::SeqCst);
    }

    /// Wakes a scheduler, if it sleeps. To be called after something was put into its lane.
    pub fn ring(&self, who: usize) {
        fence(Ordering::SeqCst);
        let asleep = &self.page().bells[who].asleep;
        if asleep.load(Ordering::SeqCst) == 1 && self.take_down(who) {
            memory::wake(asleep);
        }
    }

    /// Takes the flag of a sleeper down, and counts it as awake.
    fn take_down(&self, who: usize) -> bool {
        let asleep = &self.page().bells[who].asleep;
        // Counted first: else the count could be 0 for a moment in which somebody is awake.
        self.page().awake.fetch_add(1, Ordering::SeqCst);
        let taken = asleep
            .compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if !taken {
            self.leave();
        }
        taken
    }

    pub fn ring_all(&self) {
        (0..self.count).for_each(|who| self.ring(who));
    }

    /// Sleeps until somebody rings, or for a time. `stay` is asked once the flag is up whether there is
    /// something to do after all: by then perhaps the run has ended, of which all are told by ringing once. Who is the last to fall asleep, where something has run since the last
    /// meeting, calls one.
    pub fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        let page = self.page();
        let asleep = &page.bells[self.me].asleep;
        asleep.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if stay() {
            // Whoever has taken the flag down has counted this one once more.
            if asleep.swap(0, Ordering::SeqCst) == 0 {
                self.leave();
            }
            return;
        }
        self.leave();
        while asleep.load(Ordering::SeqCst) == 1 {
            memory::wait(asleep, 1, at_most);
            if at_most.is_some() {
                break;
            }
        }
        if asleep.load(Ordering::SeqCst) == 1 {
            self.take_down(self.me);
        }
    }

    /// One is awake no more. If it was the last, and there is something to be looked at, all meet.
    fn leave(&self) {
        let page = self.page();
        if page.awake.fetch_sub(1, Ordering::SeqCst) == 1
            && page.stirred.load(Ordering::SeqCst) == 1
        {
            self.call_meeting();
        }
    }

    fn call_meeting(&self) {
        let meeting = &self.page().meeting;
        let now = meeting.load(Ordering::SeqCst);
        if now.is_multiple_of(2)
            && meeting
                .compare_exchange(now, now + 1, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        {
            self.ring_all();
        }
    }

    /// The number of the meeting that is on, if one is.
    pub fn meeting(&self) -> Option<u32> {
        let meeting = self.page().meeting.load(Ordering::SeqCst);
        (!meeting.is_multiple_of(2)).then_some(meeting)
    }

    /// The meeting is over: for who leads it.
    pub fn close_meeting(&self) {
        self.page().meeting.fetch_add(1, Ordering::SeqCst);
    }

    /// The run has ended well.
    pub fn end(&self) {
        let state = &self.page().state;
        let _ = state.compare_exchange(RUNNING, ENDED, Ordering::SeqCst, Ordering::SeqCst);
        self.ring_all();
    }

    /// The run fails. Of several causes the first is kept.
    pub fn fail(&self, cause: &[u8]) {
        let page = self.page();
        if page
            .cause
            .compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
        {
            let cause = &cause[..cause.len().min(CAUSE)];
            for (word, bytes) in page.cause_bytes.iter().zip(cause.chunks(4)) {
                let mut four = [0; 4];
                four[..bytes.len()].copy_from_slice(bytes);
                word.store(u32::from_ne_bytes(four), Ordering::Relaxed);
            }
            page.cause_len.store(cause.len() as u32, Ordering::Relaxed);
            page.cause.store(2, Ordering::SeqCst);
        }
        page.state.store(FAILED, Ordering::SeqCst);
        memory::wake(&page.state);
        self.ring_all();
    }

    /// What was written down as the cause.
    pub fn cause(&self) -> Option<Vec<u8>> {
        let page = self.page();
        let end = Instant::now() + WRITING;
        // Somebody may be at it while another has found the run failed for a later reason.
        while page.cause.load(Ordering::SeqCst) != 2 {
            if page.cause.load(Ordering::SeqCst) == 0 || Instant::now() > end {
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let len = (page.cause_len.load(Ordering::Relaxed) as usize).min(CAUSE);
        let words = page.cause_bytes.iter();
        let bytes = words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes());
        Some(bytes.take(len).collect())
    }

    /// A word to be counted up by who asks what the run is doing.
    pub fn asked(&self) -> &AtomicU32 {
        &self.page().asked
    }

    /// Sleeps until the run fails, or for a time.
    pub fn wait_for_failure(&self, at_most: Duration) -> bool {
        let state = self.state();
        if state != FAILED {
            memory::wait(&self.page().state, state, Some(at_most));
        }
        self.state() == FAILED
    }

    /// OS process `number` of the run has been started, and is this one of the host. All that is done is a store.
    pub fn has_started(&self, number: usize, id: u32) {
        self.page().bells[number * self.each]
            .id
            .store(id, Ordering::SeqCst);
    }

    /// Whether that one of the host is this OS process of the run.
    pub fn is_of(&self, id: u32) -> bool {
        self.page().bells[self.me].id.load(Ordering::SeqCst) == id
    }

    /// Takes the place of this OS process in the memory; false: another has.
    pub fn claim(&self) -> bool {
        let id = &self.page().bells[self.me].id;
        let mine = process::id().max(1);
        id.compare_exchange(0, mine, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    pub fn agree(&self, agreement: u64) {
        let place = &self.page().bells[self.me].agreement;
        place.store(agreement, Ordering::SeqCst);
    }

    pub fn agreement(&self, of: usize) -> u64 {
        self.page().bells[of].agreement.load(Ordering::SeqCst)
    }

    /// This OS process has done all it had to: by its first scheduler.
    pub fn done(&self) {
        self.page().bells[self.me]
            .done
            .store(DONE, Ordering::SeqCst);
    }

    pub fn is_done(&self, os_process: usize) -> bool {
        self.end_of(os_process).load(Ordering::SeqCst) == DONE
    }

    /// An OS process has ended without having done all it had to: nothing more comes of it.
    pub fn has_gone(&self, os_process: usize) {
        self.end_of(os_process).store(GONE, Ordering::SeqCst);
    }

    pub fn is_gone(&self, os_process: usize) -> bool {
        self.end_of(os_process).load(Ordering::SeqCst) == GONE
    }

    fn end_of(&self, os_process: usize) -> &AtomicU32 {
        &self.page().bells[os_process * self.each].done
    }
}
