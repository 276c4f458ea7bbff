//! Lock of the memory of a rank, granted in the order of requests.
//!
//! One exception: a rank that shares several locks passes requests for an exclusive lock. If it
//! waited behind a rank that waits for a lock which it already has, two ranks that request all
//! locks could deadlock.

use std::collections::VecDeque;

/// Address for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Asker {
    /// Requesting scheduler.
    pub(in super::super) scheduler: u32,
    /// Entry on that scheduler, or [`NONE`](super::super::entry::NONE) if no answer is expected.
    pub(in super::super) entry: u32,
}

/// Mode of a lock request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockMode {
    Shared,
    /// Shared, by a rank that has or requests other locks.
    SharedToo,
    Exclusive,
}

struct Wanted {
    origin: u32,
    mode: LockMode,
    asker: Asker,
}

/// The lock of a rank's memory.
#[derive(Default)]
pub(super) struct Lock {
    /// Ranks that hold the lock.
    holders: Vec<u32>,
    /// Whether the lock is held exclusively.
    is_exclusive: bool,
    queue: VecDeque<Wanted>,
}

impl Lock {
    /// Requests the lock for `origin`, which must not hold or request it already. A request in mode
    /// [`LockMode::SharedToo`] precedes all waiting requests of other modes. Returns true if the
    /// lock is granted at once. Returns false if the request waits, and a later
    /// [`release`](Self::release) returns `asker` when it is granted.
    pub(super) fn want(&mut self, origin: u32, mode: LockMode, asker: Asker) -> bool {
        let passes =
            |wanted: &Wanted| mode == LockMode::SharedToo && wanted.mode != LockMode::SharedToo;
        let at = self.queue.iter().position(passes);
        let wanted = Wanted {
            origin,
            mode,
            asker,
        };
        self.queue.insert(at.unwrap_or(self.queue.len()), wanted);
        let granted = self.grant();
        !granted.is_empty()
    }

    /// Releases the lock of `origin`, or withdraws its waiting request. Does nothing for `origin`
    /// if it has neither. Returns the requests that are granted as a result, in the order of the
    /// queue.
    pub(super) fn release(&mut self, origin: u32) -> Vec<Asker> {
        match self.holders.iter().position(|&holder| holder == origin) {
            Some(at) => drop(self.holders.swap_remove(at)),
            None => self.queue.retain(|wanted| wanted.origin != origin),
        }
        self.grant()
    }

    /// Grants waiting requests in order, up to the first that is not compatible with the holders.
    /// Moves them from the queue to the holders, and returns their `asker`s.
    fn grant(&mut self) -> Vec<Asker> {
        let mut granted = Vec::new();
        while let Some(next) = self.queue.front() {
            let is_exclusive = next.mode == LockMode::Exclusive;
            if !self.holders.is_empty() && (self.is_exclusive || is_exclusive) {
                break;
            }
            self.is_exclusive = is_exclusive;
            self.holders.push(next.origin);
            granted.push(next.asker);
            self.queue.pop_front();
        }
        granted
    }

    /// Removes and returns the requests that wait for the lock, in order. Its holders keep it.
    pub(super) fn close(&mut self) -> Vec<Asker> {
        self.queue.drain(..).map(|wanted| wanted.asker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asker(entry: u32) -> Asker {
        Asker {
            scheduler: 0,
            entry,
        }
    }

    #[test]
    fn first_come_first_served() {
        let mut lock = Lock::default();
        assert!(
            lock.want(1, LockMode::Shared, asker(1)) && lock.want(2, LockMode::Shared, asker(2))
        );
        assert!(!lock.want(3, LockMode::Exclusive, asker(3)));
        // A later request does not pass one for an exclusive lock.
        assert!(
            !lock.want(4, LockMode::Shared, asker(4)) && !lock.want(5, LockMode::Shared, asker(5))
        );
        assert_eq!(lock.release(1), []);
        assert_eq!(lock.release(2), [asker(3)]);
        assert_eq!(lock.release(3), [asker(4), asker(5)]);
    }

    #[test]
    fn shared_lock_of_several_passes_exclusive_requests() {
        let mut lock = Lock::default();
        assert!(lock.want(1, LockMode::Shared, asker(1)));
        assert!(
            !lock.want(2, LockMode::Exclusive, asker(2))
                && !lock.want(3, LockMode::Shared, asker(3))
        );
        assert!(lock.want(4, LockMode::SharedToo, asker(4)));
        assert_eq!(lock.release(1), []);
        assert_eq!(lock.release(4), [asker(2)]);
        // An exclusive holder is not passed.
        assert!(
            !lock.want(5, LockMode::Exclusive, asker(5))
                && !lock.want(6, LockMode::SharedToo, asker(6))
        );
        assert!(!lock.want(7, LockMode::SharedToo, asker(7)));
        assert_eq!(lock.release(2), [asker(6), asker(7), asker(3)]);
    }

    #[test]
    fn withdrawn_requests_are_skipped() {
        let mut lock = Lock::default();
        assert!(lock.want(1, LockMode::Shared, asker(1)));
        assert!(
            !lock.want(2, LockMode::Exclusive, asker(2))
                && !lock.want(3, LockMode::Shared, asker(3))
        );
        assert_eq!(lock.release(2), [asker(3)]);
        assert_eq!(lock.release(7), []);
        assert!(!lock.want(4, LockMode::Exclusive, asker(4)));
        assert_eq!(lock.close(), [asker(4)]);
    }
}
