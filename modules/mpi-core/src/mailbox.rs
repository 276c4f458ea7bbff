//! What waits at each rank of a scheduler.

use std::collections::HashMap;

use super::envelope::Mixing;
use super::queue::MatchQueue;

/// What waits at one rank.
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

/// The mailboxes of the ranks here.
pub(super) struct Mailboxes {
    /// Those of the processes, where all are here.
    all: Vec<Mailbox>,
    /// Of others that have sent or received something: endpoints, and processes where not all are here.
    some: HashMap<u32, Mailbox, Mixing>,
}

impl Mailboxes {
    /// Of so many ranks, all of which are here; or of those that are.
    pub(super) fn new(ranks: Option<u32>) -> Self {
        let ranks = 0..ranks.unwrap_or(0);
        Mailboxes {
            all: ranks.map(|_| Mailbox::EMPTY).collect(),
            some: HashMap::default(),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, home: u32) -> Option<&Mailbox> {
        match self.all.get(home as usize) {
            None => self.some.get(&home),
            found => found,
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, home: u32) -> Option<&mut Mailbox> {
        match self.all.get_mut(home as usize) {
            None => look_up(&mut self.some, home),
            found => found,
        }
    }

    /// That of a rank that is here.
    #[inline(always)]
    pub(super) fn of(&mut self, home: u32) -> &mut Mailbox {
        match self.all.get_mut(home as usize) {
            None => self.some.entry(home).or_insert(Mailbox::EMPTY),
            Some(found) => found,
        }
    }

    /// Nothing is kept for a rank for which nothing waits, if it is none of those that all are here.
    pub(super) fn tidy(&mut self, home: u32) {
        let is_empty = |mailbox: &Mailbox| {
            mailbox.posted.first().is_none() && mailbox.unexpected.first().is_none()
        };
        if self.some.get(&home).is_some_and(is_empty) {
            self.some.remove(&home);
        }
    }
}

/// Away from the short way of a message, in whose code it would be otherwise.
#[inline(never)]
fn look_up(some: &mut HashMap<u32, Mailbox, Mixing>, home: u32) -> Option<&mut Mailbox> {
    some.get_mut(&home)
}
