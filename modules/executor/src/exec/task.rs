//! A process in memory, as its scheduler sees it: 16 bytes, behind which is its future (`future.rs`).

use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Context;

const QUEUED: u32 = 1 << 31;
const DONE: u32 = 1 << 30;
const TOLD: u32 = 1 << 29;
/// How many kinds there may be.
pub const MAX_KINDS: u32 = TOLD;

/// Polls a process with a context; without one, drops it. True when it has ended and the memory is free.
pub(super) type Call = unsafe fn(NonNull<TaskHeader>, Option<&mut Context<'_>>) -> bool;

/// The part of a process that does not depend on its function.
#[repr(C)]
pub struct TaskHeader {
    call: Call,
    /// Number of the kind, and the marks QUEUED, DONE and TOLD. Atomic, though one thread alone has it, so that it is always
    /// written whole: a byte of it that was just written holds up who reads all of it.
    kind: AtomicU32,
    /// Which one of its kind.
    index: u32,
}

impl TaskHeader {
    pub(super) fn new(call: Call, kind: u32, index: u32) -> Self {
        TaskHeader {
            call,
            kind: AtomicU32::new(kind),
            index,
        }
    }

    pub fn kind(&self) -> u32 {
        self.kind.load(Relaxed) & !(QUEUED | DONE | TOLD)
    }

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

    pub fn is_queued(&self) -> bool {
        self.kind.load(Relaxed) & QUEUED != 0
    }

    /// Marks the process as one that was told to wait at a channel between schedulers.
    pub fn set_told(&self) {
        self.kind.store(self.kind.load(Relaxed) | TOLD, Relaxed);
    }

    /// Takes that mark off; whether it was there.
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
pub unsafe fn discard(header: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    unsafe { (header.as_ref().call)(header, None) };
}
