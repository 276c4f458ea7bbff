//! The state word of one end of a channel: it names the process or waiter that waits there.
//!
//! It contains an *id*, not a pointer. A stale id wakes a process that finds no change and waits
//! again, but a stale pointer would be undefined behaviour. So a future need not be deregistered
//! when it is cancelled, forgotten, or moved into another process.

/// The process or waiter with this id waits, and the side that changes the channel must wake it.
pub const ARMED: u32 = 1 << 31;
/// This end of the channel has been dropped.
pub const GONE: u32 = 1 << 30;
/// The id is an index into the scheduler's table of waiters, not of processes.
pub const HOOK: u32 = 1 << 29;
/// The process or waiter with this id waits only for the other side to leave. Tokens that pass do
/// not wake it. The word of a waiter is armed as well, and wakes more often: a waiter may get
/// another owner after it has fired, so only an armed word may name one.
pub const STOP: u32 = 1 << 28;
/// The bits of an id: the bit HOOK and the index.
pub const ID: u32 = HOOK | INDEX;
/// The bits of an index.
pub const INDEX: u32 = STOP - 1;
/// An id that no process and no waiter has.
pub const NO_ID: u32 = INDEX;
/// The id of an end in another OS process.
pub const REMOTE: u32 = INDEX - 1;

/// Returns true if a waiter waits by this word, at an end that has not left.
#[inline(always)]
pub fn is_hooked(word: u32) -> bool {
    word & (ARMED | HOOK | GONE) == ARMED | HOOK
}

/// Returns true if a waiter may wait by this word. This check is cheaper than [`is_hooked`], for
/// callers that rarely find one.
#[inline(always)]
pub fn may_be_hooked(word: u32) -> bool {
    word & HOOK != 0
}

/// Returns true if a process or waiter waits by this word. The end has not left then, because an
/// end that leaves clears these marks.
#[inline(always)]
pub fn waits(word: u32) -> bool {
    word & (ARMED | STOP) != 0
}
