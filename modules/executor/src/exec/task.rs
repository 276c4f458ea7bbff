//! A process in memory: a header of 16 bytes, followed by its future (`future.rs`).
//!
//! `Predictions` predicts the process that is polled next. It is value prediction in software.
//! Processors do it in M. Lipasti, C. Wilkerson and J. Shen, "Value locality and load value
//! prediction", ASPLOS 1996.

use crate::link::waiter::HOOK;
use crate::link::waiter::NO_ID;
use std::ptr;
use std::ptr::NonNull;
use std::sync::atomic::AtomicPtr;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Context;

const QUEUED: u32 = 1 << 31;
const DONE: u32 = 1 << 30;
const REPORTED: u32 = 1 << 29;
/// Maximum number of kinds.
pub const MAX_KINDS: u32 = REPORTED;

/// Polls a process with a context, or drops it without one. Returns true if the process has ended
/// and its memory has been freed.
pub(super) type Call = unsafe fn(NonNull<TaskHeader>, Option<&mut Context<'_>>) -> bool;

/// The part of a process that does not depend on its function.
#[repr(C)]
pub struct TaskHeader {
    call: Call,
    /// Number of the kind, and the marks QUEUED, DONE and REPORTED. Only one thread uses it. It is
    /// atomic so that it is always written as a whole, because a load of all bytes after a store of
    /// one byte stalls.
    kind: AtomicU32,
    /// Index in the kind.
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

    /// Returns the number of the kind of the process, without the marks that share its word.
    #[inline]
    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed) & !(QUEUED | DONE | REPORTED)
    }

    /// Returns the index of the process in its kind.
    #[inline]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Marks the process as queued, but does not put it into a queue. Returns true if it was not
    /// marked before.
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

    /// Records that a wait of the process at a channel between schedulers was reported.
    #[inline]
    pub fn set_reported(&self) {
        self.kind.store(self.kind.load(Relaxed) | REPORTED, Relaxed);
    }

    /// Clears the mark of [`TaskHeader::set_reported`]. Returns true if it was set.
    #[inline]
    pub fn take_reported(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind & !REPORTED, Relaxed);
        kind & REPORTED != 0
    }

    /// Marks the process as not queued.
    #[inline]
    pub fn dequeue(&self) {
        self.kind.store(self.kind.load(Relaxed) & !QUEUED, Relaxed);
    }

    /// Marks the process as ended, because its future is going to be dropped. Returns true if it
    /// was not marked as ended before.
    #[inline]
    pub(super) fn finish(&self) -> bool {
        let kind = self.kind.load(Relaxed);
        self.kind.store(kind | DONE, Relaxed);
        kind & DONE == 0
    }
}

/// Polls the process. Returns true if it has ended and its memory has been freed. An error that the
/// process returns is reported to the run. If the future or its destructor panics, the panic comes
/// out of this call, and the memory has not been freed.
///
/// # Safety
/// `header` must be a result of `future::allocate`, and no earlier call may have ended the process.
/// No other reference to the future may exist during the call.
#[inline]
pub unsafe fn poll(header: NonNull<TaskHeader>, context: &mut Context<'_>) -> bool {
    // SAFETY: the caller guarantees it.
    unsafe { (header.as_ref().call)(header, Some(context)) }
}

/// Drops the future of the process in its present state, and frees its memory. If the future was
/// dropped before, only frees the memory.
///
/// # Safety
/// The conditions of [`poll`] apply. The process must not be used afterwards. If this call panics,
/// the memory has not been freed, and `discard` may be called once more.
#[inline]
pub unsafe fn discard(header: NonNull<TaskHeader>) {
    // SAFETY: the caller guarantees it.
    unsafe { (header.as_ref().call)(header, None) };
}

/// The process of the last poll with an even number in a batch, and that of the last one with an
/// odd number. Two processes that write to each other are polled alternately.
///
/// The id of the next process is loaded from memory that the previous poll wrote. That poll loaded
/// it from a channel, where the next process had written its own id in an earlier poll. A processor
/// that could execute several polls at once waits for this chain of stores and loads. A correct
/// prediction breaks the chain, because the poll continues with the predicted pointer. The
/// comparison with the loaded pointer is a branch, which the processor predicts.
pub(super) struct Predictions([AtomicPtr<TaskHeader>; 2]);

impl Predictions {
    #[inline]
    pub(super) fn new() -> Self {
        Predictions([const { AtomicPtr::new(ptr::null_mut()) }; 2])
    }

    /// Returns true if [`Predictions::confirm`] has not been called, so no process has been polled.
    #[inline]
    pub(super) fn are_unused(&self) -> bool {
        self.0.iter().all(|place| place.load(Relaxed).is_null())
    }

    /// Returns a pointer that is equal to `header`, which is the process of the poll with number
    /// `index` in a batch. If the prediction is correct, the pointer is the predicted one.
    /// Otherwise it is `header` itself, which becomes the prediction for the numbers of the same
    /// parity.
    #[inline(always)]
    pub(super) fn confirm(&self, index: usize, header: NonNull<TaskHeader>) -> NonNull<TaskHeader> {
        let predicted = &self.0[index & 1];
        let same = predicted.load(Relaxed);
        // The pointer is loaded a second time, and is atomic for this reason. If the compiler knew
        // that the two pointers are equal, it would use `header`.
        if predicted.load(Relaxed) == header.as_ptr() {
            // SAFETY: only one thread writes the prediction, so `same` is equal to `header`, which
            // is not null. Both point to the same task, because no task is created after the first
            // poll (`Scheduler::put`) and no address is used by two tasks. Therefore the caller may
            // dereference `same` instead of `header`.
            return unsafe { NonNull::new_unchecked(same) };
        }
        predicted.store(header.as_ptr(), Relaxed);
        header
    }
}

/// The process that a scheduler is polling, and the task of it. Other threads may read it.
///
/// It is atomic because a process may start and join threads within one poll. Relaxed suffices,
/// because starting and joining a thread order all accesses.
pub(crate) struct RunningTask {
    /// Id of the process, or of the hook of one of its tasks.
    current: AtomicU32,
    /// Id of the process while `current` is a hook.
    process: AtomicU32,
    /// Number of batches of polls that have ended.
    batches: AtomicU32,
}

impl RunningTask {
    pub(super) fn new() -> Self {
        RunningTask {
            current: AtomicU32::new(NO_ID),
            process: AtomicU32::new(NO_ID),
            batches: AtomicU32::new(0),
        }
    }

    /// Returns the id to wake for the present poll: a process, or the hook of one of its tasks.
    /// Returns `NO_ID` if no process is being polled.
    #[inline(always)]
    pub(super) fn id(&self) -> u32 {
        self.current.load(Ordering::Relaxed)
    }

    /// Returns the id of the process that is being polled, also while one of its tasks is. Returns
    /// `NO_ID` if no process is being polled.
    #[inline(always)]
    pub(super) fn process(&self) -> u32 {
        match self.id() {
            id if id & HOOK == 0 => id,
            _ => self.process.load(Ordering::Relaxed),
        }
    }

    /// Records that a task of the current process is being polled, and that `hook` is the id that
    /// wakes this task. Returns the id from before: the process, or the hook of the task around
    /// this one. The caller must pass that id to [`set`](Self::set) after the poll.
    pub(super) fn set_task(&self, hook: u32) -> u32 {
        self.process.store(self.process(), Ordering::Relaxed);
        self.current.swap(hook, Ordering::Relaxed)
    }

    /// Records the id to wake for the present poll: a process, the hook of one of its tasks, or
    /// `NO_ID` if no process is being polled.
    #[inline(always)]
    pub(super) fn set(&self, id: u32) {
        self.current.store(id, Ordering::Relaxed);
    }

    /// Returns the number of batches of polls that have ended, modulo 2^32. While it does not
    /// change, the same batch is running.
    pub(super) fn batches(&self) -> u32 {
        self.batches.load(Ordering::Relaxed)
    }

    /// Records that a batch of polls has ended, and that no process is being polled.
    #[inline(always)]
    pub(super) fn end_batch(&self) {
        self.set(NO_ID);
        // Only one thread writes the counter.
        let batches = self.batches();
        self.batches
            .store(batches.wrapping_add(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod prediction_tests {
    use super::*;

    #[test]
    fn confirm_returns_its_argument() {
        let places = [0u64; 3];
        let headers: [NonNull<TaskHeader>; 3] =
            std::array::from_fn(|at| NonNull::from(&places[at]).cast());
        let predictions = Predictions::new();
        for index in 0..100 {
            for header in [headers[index & 1], headers[index % 3]] {
                assert_eq!(predictions.confirm(index, header), header);
            }
        }
    }
}
