//! Mailboxes: the queues of receives and messages of each rank of a scheduler.

use std::collections::HashMap;

use super::envelope::Mixing;
use super::queue::MatchQueue;

/// The queues of one rank.
pub(super) struct Mailbox {
    /// Receives that wait for messages.
    pub(super) posted: MatchQueue,
    /// Messages that no receive has taken yet.
    pub(super) unexpected: MatchQueue,
}

impl Mailbox {
    const EMPTY: Mailbox = Mailbox {
        posted: MatchQueue::EMPTY,
        unexpected: MatchQueue::EMPTY,
    };
}

/// The mailboxes of the ranks of this scheduler.
pub(super) struct Mailboxes {
    /// Mailboxes of all processes by rank, if all are on this scheduler. Otherwise empty.
    all: Vec<Mailbox>,
    /// Other mailboxes, created on demand: of endpoints, and of processes if `all` is empty.
    some: HashMap<u32, Mailbox, Mixing>,
}

impl Mailboxes {
    /// Creates the mailboxes, without messages and receives. `ranks` is the number of ranks of the
    /// run if all are on this scheduler, and `None` otherwise. With `None`, the mailboxes of all
    /// ranks are created on demand.
    pub(super) fn new(ranks: Option<u32>) -> Self {
        let ranks = 0..ranks.unwrap_or(0);
        Mailboxes {
            all: ranks.map(|_| Mailbox::EMPTY).collect(),
            some: HashMap::default(),
        }
    }

    /// Returns the mailbox of a rank or endpoint. `None` if it was not created, as for ranks of
    /// other schedulers.
    #[inline(always)]
    pub(super) fn get(&self, member: u32) -> Option<&Mailbox> {
        match self.all.get(member as usize) {
            None => self.some.get(&member),
            found => found,
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, member: u32) -> Option<&mut Mailbox> {
        match self.all.get_mut(member as usize) {
            None => look_up(&mut self.some, member),
            found => found,
        }
    }

    /// Returns the mailbox of a rank or endpoint of this scheduler. Creates an empty one if it does
    /// not exist.
    #[inline(always)]
    pub(super) fn of(&mut self, member: u32) -> &mut Mailbox {
        match self.all.get_mut(member as usize) {
            None => self.some.entry(member).or_insert(Mailbox::EMPTY),
            Some(found) => found,
        }
    }

    /// Drops the mailbox of `member` if it has neither receives nor messages. Does nothing if it
    /// does not exist, or if it was created by [`Mailboxes::new`].
    pub(super) fn remove_if_empty(&mut self, member: u32) {
        let is_empty = |mailbox: &Mailbox| {
            mailbox.posted.first().is_none() && mailbox.unexpected.first().is_none()
        };
        if self.some.get(&member).is_some_and(is_empty) {
            self.some.remove(&member);
        }
    }
}

/// Returns the mailbox of `member` in `some`, or `None` if there is none. Not inlined, so that the
/// fast path of a message stays small.
#[inline(never)]
fn look_up(some: &mut HashMap<u32, Mailbox, Mixing>, member: u32) -> Option<&mut Mailbox> {
    some.get_mut(&member)
}
