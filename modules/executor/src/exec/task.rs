//! A process in memory, as its scheduler sees it: a header of 16 bytes, followed by its future
//! (`future.rs`). And a prediction of the process that is polled next: value prediction by a
//! program (M. Lipasti, C. Wilkerson and J. Shen, "Value locality and load value prediction",
//! ASPLOS 1996, have processors do it).

use crate::link::waiter::HOOK;
use crate::link::waiter::NOBODY;
use std::ptr;
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Context;

const QUEUED: u32 = 1 << 31;
const DONE: u32 = 1 << 30;
const TOLD: u32 = 1 << 29;
/// How many kinds there may be.
pub const MAX_KINDS: u32 = TOLD;

/// Polls a process with a context; without one, drops it. True when it has ended and the memory is
/// free.
pub(super) type Call = unsafe fn(NonNull<TaskHeader>, Option<&mut Context<'_>>) -> bool;

/// The part of a process that does not depend on its function.
#[repr(C)]
pub struct TaskHeader {
    call: Call,
    /// Number of the kind, and the marks QUEUED, DONE and TOLD. Atomic, though one thread alone has
    /// it, so that it is always written whole: a byte of it that was just written holds up who
    /// reads all of it.
    kind: AtomicU32,
    /// Which one of its kind.
    index: u32,
}

impl TaskHeader {
    #[inline]
    pub(super) fn new(call: Call, kind: u32, index: u32) -> Self {
        TaskHeader {
            call,
            kind: AtomicU32::new(kind),
            index,
        }
    }

    #[inline]
    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed) & !(QUEUED | DONE | TOLD)
    }

    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Marks the process as queued; false if it was.
    #[inline]
    pub fn enqueue(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind | QUEUED, Relaxed);
        kind & QUEUED == 0
    }

    #[inline]
    pub fn is_queued(&self) -> bool {
        self.kind.load(Relaxed) & QUEUED != 0
    }

    /// Marks the process as one that was told to wait at a channel between schedulers.
    #[inline]
    pub fn set_told(&self) {
        self.kind.store(self.kind.load(Relaxed) | TOLD, Relaxed);
    }

    /// Takes that mark off; whether it was there.
    #[inline]
    pub fn take_told(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind & !TOLD, Relaxed);
        kind & TOLD != 0
    }

    #[inline]
    pub fn dequeue(&self) {
        self.kind.store(self.kind.load(Relaxed) & !QUEUED, Relaxed);
    }

    /// Marks the process as one whose future is being dropped; false if it was.
    #[inline]
    pub(super) fn finish(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind | DONE, Relaxed);
        kind & DONE == 0
    }
}

/// Lets the process go on until it waits or ends; true: it has ended and its memory is free.
///
/// # Safety
/// `header` came from `future::allocate`, and no earlier call ended it.
#[inline]
pub unsafe fn poll(header: NonNull<TaskHeader>, context: &mut Context<'_>) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, Some(context)) }
}

/// Drops the process where it stands.
///
/// # Safety
/// As for [`poll`]; the process must not be used afterwards.
#[inline]
pub unsafe fn discard(header: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, None) };
}

/// Who had the last turn of an even number in a batch, and the last of an odd one: two who write to
/// each other run in turns.
///
/// Who is to run stands in memory: the process that woke it wrote it there, and had it from a
/// channel, where it wrote itself in a turn of its own. A processor that could do the work of
/// several turns at once waits for that chain of stores and loads. Where the prediction is right
/// the turn goes on with it, and it is no part of the chain: whether it is right is a branch, which
/// the processor predicts.
pub(super) struct Predictions([AtomicPtr<TaskHeader>; 2]);

impl Predictions {
    #[inline]
    pub(super) fn new() -> Self {
        Predictions([const { AtomicPtr::new(ptr::null_mut()) }; 2])
    }

    /// Whether nobody has had a turn.
    #[inline]
    pub(super) fn are_unused(&self) -> bool {
        self.0.iter().all(|place| place.load(Relaxed).is_null())
    }

    /// The same process as the one that is given, which has the turn of this number in a batch.
    #[inline(always)]
    pub(super) fn confirm(&self, turn: usize, header: NonNull<TaskHeader>) -> NonNull<TaskHeader> {
        let predicted = &self.0[turn & 1];
        let same = predicted.load(Relaxed);
        // It is loaded once more, and atomic for that: of two that it knows to be equal the
        // compiler would take what is given.
        if predicted.load(Relaxed) == header.as_ptr() {
            // SAFETY: one thread alone writes it, so it is `header`, which is not null. The caller
            // follows it for `header`: it may, as it is of the same task. No task is made after the
            // first turn (`Scheduler::put`), so none has the address of another.
            return unsafe { NonNull::new_unchecked(same) };
        }
        predicted.store(header.as_ptr(), Relaxed);
        header
    }
}

/// The process that a scheduler polls, and the task of it, for other threads to read.
///
/// Atomic for the sake of threads which a process starts and joins within one poll; Relaxed,
/// because starting and joining order everything.
pub(crate) struct RunningTask {
    /// A process, or the hook of a task of one.
    current: AtomicU32,
    /// While that is a hook: the process.
    process: AtomicU32,
    batches: AtomicU32,
}

impl RunningTask {
    pub(super) fn new() -> Self {
        RunningTask {
            current: AtomicU32::new(NOBODY),
            process: AtomicU32::new(NOBODY),
            batches: AtomicU32::new(0),
        }
    }

    /// Whom to wake for what is being polled: a process, or the hook of a task of one.
    #[inline(always)]
    pub(super) fn id(&self) -> u32 {
        self.current.load(Ordering::Relaxed)
    }

    /// The id of the process that is being polled.
    #[inline(always)]
    pub(super) fn process(&self) -> u32 {
        match self.id() {
            id if id & HOOK == 0 => id,
            _ => self.process.load(Ordering::Relaxed),
        }
    }

    /// A task of the process is being polled, which is woken by this hook. What was before, to be
    /// [set](Self::set) when that is over.
    pub(super) fn set_task(&self, hook: u32) -> u32 {
        self.process.store(self.process(), Ordering::Relaxed);
        self.current.swap(hook, Ordering::Relaxed)
    }

    /// This process is being polled from now on.
    #[inline(always)]
    pub(super) fn set(&self, id: u32) {
        self.current.store(id, Ordering::Relaxed);
    }

    /// Counts batches of turns: who sees it stand still knows that one goes on.
    pub(super) fn batches(&self) -> u32 {
        self.batches.load(Ordering::Relaxed)
    }

    /// A batch of turns is over.
    #[inline(always)]
    pub(super) fn end_batch(&self) {
        self.set(NOBODY);
        // One thread writes it.
        let batches = self.batches();
        self.batches
            .store(batches.wrapping_add(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod prediction_tests {
    use super::*;

    #[test]
    fn whoever_was_predicted_it_is_the_one_that_is_given() {
        let places = [0u64; 3];
        let headers: [NonNull<TaskHeader>; 3] =
            std::array::from_fn(|at| NonNull::from(&places[at]).cast());
        let predictions = Predictions::new();
        for turn in 0..100 {
            for header in [headers[turn & 1], headers[turn % 3]] {
                assert_eq!(predictions.confirm(turn, header), header);
            }
        }
    }
}
