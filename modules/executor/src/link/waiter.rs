//! The word that says who waits at one end of a channel.
//!
//! It holds an *id*, not a pointer: a stale id wakes somebody who then finds nothing and waits
//! again, where a stale pointer would be undefined behaviour. So nothing has to be deregistered
//! when a future is cancelled, forgotten, or carried into another process.

/// The one named by the id waits and must be woken by whoever changes the channel.
pub const ARMED: u32 = 1 << 31;
/// This end of the channel has been dropped.
pub const GONE: u32 = 1 << 30;
/// The id is an index into the scheduler's table of hooks, not of processes.
pub const HOOK: u32 = 1 << 29;
/// The one named by the id waits for the other side to leave, and for nothing else: what moves
/// through the channel wakes nobody. (With a hook the word is armed as well, and wakes more often:
/// a hook may get another owner once it has fired, so only an armed word may name one.)
pub const STOP: u32 = 1 << 28;
/// The bits of an id: the hook bit and the index.
pub const ID: u32 = HOOK | INDEX;
/// The bits of an index.
pub const INDEX: u32 = STOP - 1;
/// The id of nobody: no process and no hook has it.
pub const NOBODY: u32 = INDEX;
/// The id of whoever is at this end in another OS process.
pub const ELSEWHERE: u32 = INDEX - 1;

/// Whether a hook waits by this word, at an end that has not left.
#[inline(always)]
pub fn is_hooked(word: u32) -> bool {
    word & (ARMED | HOOK | GONE) == ARMED | HOOK
}

/// Whether a hook may wait by this word: a look that costs less, for where it hardly ever is so.
#[inline(always)]
pub fn may_be_hooked(word: u32) -> bool {
    word & HOOK != 0
}

/// Whether somebody waits by this word: at an end that has not left, as that takes the marks away.
#[inline(always)]
pub fn waits(word: u32) -> bool {
    word & (ARMED | STOP) != 0
}
