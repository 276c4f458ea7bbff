//! The page that all OS processes of a run read: which schedulers are awake, how the run ends, and
//! why.
//!
//! # Schedulers that are awake
//!
//! `awake` counts the schedulers that are awake. A scheduler that goes to sleep sets a flag (its
//! *bell*) and subtracts itself from the count. A sender that has put a frame into the byte ring of
//! a sleeper clears the flag, counts the sleeper as awake on its behalf, and wakes it. So the
//! scheduler that decrements the count to 0 has proof that all sleep, and that no frame is on its
//! way. Only a scheduler that is counted sends, and the receiver is counted before the sender is
//! subtracted.
//!
//! The sender stores the tail of a byte ring and then loads the bell. The sleeper stores the bell
//! and then checks its byte rings. Between store and load each has a SeqCst fence, so at least one
//! of the two sees the store of the other.

use std::process;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use super::memory::{self, SharedMemory};
use super::ring::RING_SIZE;
use crate::error::CAUSE;

/// Maximum number of schedulers of a run on one host.
pub const MAX_SCHEDULERS: usize = 1024;

/// Maximum time to write a cause, unless the writer is killed.
const WRITING: Duration = Duration::from_millis(500);

/// The states of a run.
pub const RUNNING: u32 = 0;
pub const ENDED: u32 = 1;
pub const FAILED: u32 = 2;

/// The states of an OS process.
const DONE: u32 = 1;
const GONE: u32 = 2;

#[repr(C, align(64))]
struct Bell {
    /// 1 while its owner sleeps.
    asleep: AtomicU32,
    /// [`DONE`] after the OS process of which this is the first scheduler has finished its work,
    /// [`GONE`] if it has ended before that.
    done: AtomicU32,
    /// The process id of that OS process on this host.
    id: AtomicU32,
    /// A value that is equal for all OS processes that can run together: see [`host`](super::host).
    agreement: AtomicU64,
}

#[repr(C)]
struct Page {
    /// The key by which child processes recognise the page: see [`SharedMemory::inherit`].
    key: AtomicU64,
    /// A digest that must be equal for all: see [`ControlPage::agrees`].
    table: AtomicU64,
    awake: AtomicU32,
    /// 1 if a process has run since the last quiescence check.
    has_activity: AtomicU32,
    /// Twice the number of quiescence checks that have ended, plus 1 during one.
    detection: AtomicU32,
    state: AtomicU32,
    /// Number of requests for the state of the run.
    asked: AtomicU32,
    /// 1 while the cause is being written, 2 when it is complete.
    cause: AtomicU32,
    cause_len: AtomicU32,
    cause_bytes: [AtomicU32; CAUSE / 4],
    bells: [Bell; MAX_SCHEDULERS],
}

const RINGS_OFFSET: usize = size_of::<Page>().next_multiple_of(4096);

/// The page, from the view of one scheduler. Schedulers are numbered through all OS processes, in
/// the order of these.
pub struct ControlPage {
    memory: Arc<SharedMemory>,
    me: usize,
    count: usize,
    each: usize,
    /// The numbers of these OS processes in the run, if the run has others.
    numbers: Option<Vec<usize>>,
}

impl ControlPage {
    /// Returns the size in bytes of the memory that `count` schedulers share: the page and a byte
    /// ring for each pair. Most of it is never written, so it takes no physical memory.
    pub fn size(count: usize) -> usize {
        RINGS_OFFSET + count * count * RING_SIZE
    }

    /// Creates the view of the first scheduler of OS process `os_process`, of `os_processes` with
    /// `each` schedulers. Does not change the memory.
    ///
    /// # Panics
    /// Panics if `os_process >= os_processes`, if `each` is 0, or if there are more than
    /// [`MAX_SCHEDULERS`] schedulers.
    pub fn new(
        memory: Arc<SharedMemory>,
        os_process: usize,
        os_processes: usize,
        each: usize,
    ) -> Self {
        let (me, count) = (os_process * each, os_processes * each);
        assert!(me < count && count <= MAX_SCHEDULERS);
        ControlPage {
            memory,
            me,
            count,
            each,
            numbers: None,
        }
    }

    /// Sets the numbers that these OS processes have in the run, of which they are only a part: one
    /// for each, in order.
    pub fn set_numbers(&mut self, numbers: Vec<usize>) {
        self.numbers = Some(numbers);
    }

    /// Returns the views of all schedulers of this OS process, in order. Must be called on the view
    /// of its first scheduler. The views do not have the numbers of [`ControlPage::set_numbers`].
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

    /// Initialises the page before the other OS processes start. Sets the key, and the digest that
    /// [`ControlPage::agrees`] compares (`table`). All schedulers count as awake, and a process
    /// counts as having run.
    pub fn begin(&self, key: u64, table: u64) {
        self.page().key.store(key, Ordering::SeqCst);
        self.page().table.store(table, Ordering::SeqCst);
        self.page().awake.store(self.count as u32, Ordering::SeqCst);
        self.page().has_activity.store(1, Ordering::SeqCst);
    }

    fn page(&self) -> &Page {
        let page: NonNull<Page> = self.memory.at(0, size_of::<Page>()).cast();
        // SAFETY: the page is at the start of the memory, so it is within it and aligned. All of it
        // is atomics, for which any bytes are valid.
        unsafe { page.as_ref() }
    }

    /// Returns the key, which only the OS processes that share the page know.
    pub fn key(&self) -> u64 {
        self.page().key.load(Ordering::SeqCst)
    }

    pub fn memory(&self) -> &Arc<SharedMemory> {
        &self.memory
    }

    pub fn me(&self) -> usize {
        self.me
    }

    /// Returns the index of the OS process to which a scheduler belongs.
    pub fn os_process_of(&self, scheduler: usize) -> usize {
        scheduler / self.each
    }

    /// Returns the number in the run of the OS process of a scheduler. Without
    /// [`ControlPage::set_numbers`], it is the same as [`ControlPage::os_process_of`].
    pub fn number_of(&self, scheduler: usize) -> usize {
        let os_process = self.os_process_of(scheduler);
        let numbers = self.numbers.as_ref();
        (numbers.and_then(|numbers| numbers.get(os_process))).map_or(os_process, |&number| number)
    }

    pub fn os_process(&self) -> usize {
        self.os_process_of(self.me)
    }

    /// Returns the number of schedulers of each OS process.
    pub fn each(&self) -> usize {
        self.each
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the offset in bytes of the byte ring from one scheduler to another in the memory.
    pub fn ring_offset(&self, from: usize, to: usize) -> usize {
        RINGS_OFFSET + (from * self.count + to) * RING_SIZE
    }

    /// Returns true if `table`, a digest of the network of this OS process, equals the digest that
    /// was passed to [`ControlPage::begin`].
    pub fn agrees(&self, table: u64) -> bool {
        self.page().table.load(Ordering::SeqCst) == table
    }

    /// Returns [`RUNNING`], [`ENDED`] or [`FAILED`].
    pub fn state(&self) -> u32 {
        self.page().state.load(Ordering::Acquire)
    }

    /// Records that a process has run, so that a quiescence check starts when all schedulers sleep.
    pub fn note_activity(&self) {
        if self.page().has_activity.load(Ordering::Relaxed) == 0 {
            self.page().has_activity.store(1, Ordering::SeqCst);
        }
    }

    /// Records that everything that has run until now was examined.
    pub fn clear_activity(&self) {
        self.page().has_activity.store(0, Ordering::SeqCst);
    }

    /// Wakes a scheduler if it sleeps, and counts it as awake. Called after a frame was put into
    /// its byte ring. Begins with a SeqCst fence, so that the frame is visible before the sleep is
    /// checked.
    ///
    /// # Panics
    /// Panics if `scheduler` is not below [`MAX_SCHEDULERS`].
    pub fn ring(&self, scheduler: usize) {
        fence(Ordering::SeqCst);
        let asleep = &self.page().bells[scheduler].asleep;
        if asleep.load(Ordering::SeqCst) == 1 && self.clear_asleep(scheduler) {
            memory::wake(asleep);
        }
    }

    /// Clears the flag of a sleeper, and counts it as awake. Returns false, with the count as
    /// before, if the flag was not set.
    fn clear_asleep(&self, scheduler: usize) -> bool {
        let asleep = &self.page().bells[scheduler].asleep;
        // Counted first, because otherwise the count could be 0 while a scheduler is awake.
        self.page().awake.fetch_add(1, Ordering::SeqCst);
        let taken = asleep
            .compare_exchange(1, 0, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok();
        if !taken {
            self.leave();
        }
        taken
    }

    /// Wakes all schedulers that sleep.
    pub fn ring_all(&self) {
        (0..self.count).for_each(|scheduler| self.ring(scheduler));
    }

    /// Sleeps until another thread rings, or until the timeout expires. May return early if
    /// `at_most` is given. Calls `stay` after the flag is set, and does not sleep if that returns
    /// true. `stay` must check for the end of the run, because the end rings only once. The last
    /// scheduler to go to sleep starts a quiescence check if a process has run since the last
    /// check.
    pub fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        let page = self.page();
        let asleep = &page.bells[self.me].asleep;
        asleep.store(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if stay() {
            // The thread that has cleared the flag has counted this scheduler once more.
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
            self.clear_asleep(self.me);
        }
    }

    /// Decrements the count of awake schedulers. If it is 0 then and a process has run since the
    /// last quiescence check, starts a check.
    fn leave(&self) {
        let page = self.page();
        if page.awake.fetch_sub(1, Ordering::SeqCst) == 1
            && page.has_activity.load(Ordering::SeqCst) == 1
        {
            self.start_detection();
        }
    }

    fn start_detection(&self) {
        let detection = &self.page().detection;
        let now = detection.load(Ordering::SeqCst);
        if now.is_multiple_of(2)
            && detection
                .compare_exchange(now, now + 1, Ordering::SeqCst, Ordering::SeqCst)
                .is_ok()
        {
            self.ring_all();
        }
    }

    /// Returns the number of the current quiescence check, which is odd, or `None` if none is in
    /// progress.
    pub fn detection(&self) -> Option<u32> {
        let detection = self.page().detection.load(Ordering::SeqCst);
        (!detection.is_multiple_of(2)).then_some(detection)
    }

    /// Ends the quiescence check that is in progress. Called by its leader.
    pub fn end_detection(&self) {
        self.page().detection.fetch_add(1, Ordering::SeqCst);
    }

    /// Ends the run successfully, and wakes all schedulers. The state of a run that has failed does
    /// not change.
    pub fn end(&self) {
        let state = &self.page().state;
        let _ = state.compare_exchange(RUNNING, ENDED, Ordering::SeqCst, Ordering::SeqCst);
        self.ring_all();
    }

    /// Makes the run fail, and wakes all schedulers. If there are several causes, the first one is
    /// kept. Bytes of the cause after the first [`CAUSE`] are cut.
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

    /// Returns the cause of the failure. Blocks for up to 500 ms while it is being written. Returns
    /// `None` if no cause was given, or if the cause is not complete after that time.
    pub fn cause(&self) -> Option<Vec<u8>> {
        let page = self.page();
        let end = Instant::now() + WRITING;
        // One thread may be writing the cause while another has found a later one and marked the
        // run as failed.
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

    /// Returns the counter of requests for the state of the run. Each request increments it.
    pub fn asked(&self) -> &AtomicU32 {
        &self.page().asked
    }

    /// Sleeps until the run fails, or until the timeout expires. May return early. Returns true if
    /// the run has failed, at once if it had failed before.
    pub fn wait_for_failure(&self, at_most: Duration) -> bool {
        let state = self.state();
        if state != FAILED {
            memory::wait(&self.page().state, state, Some(at_most));
        }
        self.state() == FAILED
    }

    /// Records that OS process `number`, counted among those that share the page, has started with
    /// process id `id` on the host. It is only a store.
    ///
    /// # Panics
    /// Panics if the first scheduler of that OS process is not below [`MAX_SCHEDULERS`].
    pub fn has_started(&self, number: usize, id: u32) {
        self.page().bells[number * self.each]
            .id
            .store(id, Ordering::SeqCst);
    }

    /// Returns true if `id` equals the process id that was recorded for this OS process. Must be
    /// called on the view of its first scheduler.
    pub fn is_of(&self, id: u32) -> bool {
        self.page().bells[self.me].id.load(Ordering::SeqCst) == id
    }

    /// Claims the entry of this OS process in the memory, and records its process id there. Returns
    /// false if the entry has already been claimed. Must be called on the view of its first
    /// scheduler.
    pub fn claim(&self) -> bool {
        let id = &self.page().bells[self.me].id;
        let mine = process::id().max(1);
        id.compare_exchange(0, mine, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// Sets a value for this scheduler that must be equal for all OS processes that can run
    /// together. [`ControlPage::agreement`] returns it to others.
    pub fn agree(&self, agreement: u64) {
        let place = &self.page().bells[self.me].agreement;
        place.store(agreement, Ordering::SeqCst);
    }

    /// Returns the value that scheduler `of` has set by [`ControlPage::agree`], or 0 if it has not
    /// set one.
    ///
    /// # Panics
    /// Panics if `of` is not below [`MAX_SCHEDULERS`].
    pub fn agreement(&self, of: usize) -> u64 {
        self.page().bells[of].agreement.load(Ordering::SeqCst)
    }

    /// Records that this OS process has finished its work. Called by its first scheduler.
    pub fn done(&self) {
        self.page().bells[self.me]
            .done
            .store(DONE, Ordering::SeqCst);
    }

    /// Returns true if an OS process has recorded by [`ControlPage::done`] that it has finished its
    /// work, and has not been recorded as gone.
    ///
    /// # Panics
    /// Panics if the first scheduler of that OS process is not below [`MAX_SCHEDULERS`].
    pub fn is_done(&self, os_process: usize) -> bool {
        self.end_of(os_process).load(Ordering::SeqCst) == DONE
    }

    /// Records that an OS process has ended before it finished its work. It sends no more frames.
    ///
    /// # Panics
    /// Panics if the first scheduler of that OS process is not below [`MAX_SCHEDULERS`].
    pub fn has_gone(&self, os_process: usize) {
        self.end_of(os_process).store(GONE, Ordering::SeqCst);
    }

    /// Returns true if [`ControlPage::has_gone`] was called for an OS process.
    ///
    /// # Panics
    /// Panics if the first scheduler of that OS process is not below [`MAX_SCHEDULERS`].
    pub fn is_gone(&self, os_process: usize) -> bool {
        self.end_of(os_process).load(Ordering::SeqCst) == GONE
    }

    fn end_of(&self, os_process: usize) -> &AtomicU32 {
        &self.page().bells[os_process * self.each].done
    }
}
