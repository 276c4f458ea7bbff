//! Who may work on the memory of a rank: first come, first served.
//!
//! But who shares several locks passes those who wait to be alone. If it had to wait behind one of them, who waits for a lock
//! that it has already, two ranks that want all locks could wait for each other for ever.

use std::collections::VecDeque;

/// Whom to answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Asker {
    /// The scheduler.
    pub(in super::super) scheduler: u32,
    /// Its entry there; [`NONE`](super::super::entry::NONE): nobody waits for an answer.
    pub(in super::super) entry: u32,
}

/// How a lock is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Shared,
    /// By a rank that has or wants other locks.
    SharedToo,
    Alone,
}

struct Wanted {
    origin: u32,
    how: How,
    asker: Asker,
}

/// The lock of a rank's memory.
#[derive(Default)]
pub(super) struct Lock {
    /// The ranks that hold it, and whether the one that does shares it with none.
    holders: Vec<u32>,
    alone: bool,
    queue: VecDeque<Wanted>,
}

impl Lock {
    /// A rank wants it: whether it has it at once.
    pub(super) fn want(&mut self, origin: u32, how: How, asker: Asker) -> bool {
        let passes = |wanted: &Wanted| how == How::SharedToo && wanted.how != How::SharedToo;
        let at = self.queue.iter().position(passes);
        let wanted = Wanted { origin, how, asker };
        self.queue.insert(at.unwrap_or(self.queue.len()), wanted);
        let granted = self.grant();
        !granted.is_empty()
    }

    /// A rank wants it no more: who has it now.
    pub(super) fn give_back(&mut self, origin: u32) -> Vec<Asker> {
        match self.holders.iter().position(|&holder| holder == origin) {
            Some(at) => drop(self.holders.swap_remove(at)),
            None => self.queue.retain(|wanted| wanted.origin != origin),
        }
        self.grant()
    }

    /// Whoever comes next, as far as they can have it together.
    fn grant(&mut self) -> Vec<Asker> {
        let mut granted = Vec::new();
        while let Some(next) = self.queue.front() {
            let alone = next.how == How::Alone;
            if !self.holders.is_empty() && (self.alone || alone) {
                break;
            }
            self.alone = alone;
            self.holders.push(next.origin);
            granted.push(next.asker);
            self.queue.pop_front();
        }
        granted
    }

    /// There is nothing to hold any more: who waited for it.
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
        assert!(lock.want(1, How::Shared, asker(1)) && lock.want(2, How::Shared, asker(2)));
        assert!(!lock.want(3, How::Alone, asker(3)));
        // Who comes later does not overtake who waits to be alone.
        assert!(!lock.want(4, How::Shared, asker(4)) && !lock.want(5, How::Shared, asker(5)));
        assert_eq!(lock.give_back(1), []);
        assert_eq!(lock.give_back(2), [asker(3)]);
        assert_eq!(lock.give_back(3), [asker(4), asker(5)]);
    }

    #[test]
    fn who_shares_several_waits_for_nobody_who_waits() {
        let mut lock = Lock::default();
        assert!(lock.want(1, How::Shared, asker(1)));
        assert!(!lock.want(2, How::Alone, asker(2)) && !lock.want(3, How::Shared, asker(3)));
        assert!(lock.want(4, How::SharedToo, asker(4)));
        assert_eq!(lock.give_back(1), []);
        assert_eq!(lock.give_back(4), [asker(2)]);
        // Only for who is alone.
        assert!(!lock.want(5, How::Alone, asker(5)) && !lock.want(6, How::SharedToo, asker(6)));
        assert!(!lock.want(7, How::SharedToo, asker(7)));
        assert_eq!(lock.give_back(2), [asker(6), asker(7), asker(3)]);
    }

    #[test]
    fn who_waits_no_more_is_passed_by() {
        let mut lock = Lock::default();
        assert!(lock.want(1, How::Shared, asker(1)));
        assert!(!lock.want(2, How::Alone, asker(2)) && !lock.want(3, How::Shared, asker(3)));
        assert_eq!(lock.give_back(2), [asker(3)]);
        assert_eq!(lock.give_back(7), []);
        assert!(!lock.want(4, How::Alone, asker(4)));
        assert_eq!(lock.close(), [asker(4)]);
    }
}
