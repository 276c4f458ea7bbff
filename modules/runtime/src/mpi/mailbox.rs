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
pub(super) enum Mailboxes {
    /// All ranks are here.
    All(Vec<Mailbox>),
    /// Some are: those that have sent or received something.
    Some(HashMap<u32, Mailbox, Mixing>),
}

impl Mailboxes {
    /// Of so many ranks, all of which are here; or of those that are.
    pub(super) fn new(ranks: Option<u32>) -> Self {
        match ranks {
            Some(ranks) => Mailboxes::All((0..ranks).map(|_| Mailbox::EMPTY).collect()),
            None => Mailboxes::Some(HashMap::default()),
        }
    }

    #[inline(always)]
    pub(super) fn get(&self, home: u32) -> Option<&Mailbox> {
        match self {
            Mailboxes::All(all) => all.get(home as usize),
            Mailboxes::Some(some) => some.get(&home),
        }
    }

    #[inline(always)]
    pub(super) fn get_mut(&mut self, home: u32) -> Option<&mut Mailbox> {
        match self {
            Mailboxes::All(all) => all.get_mut(home as usize),
            Mailboxes::Some(some) => some.get_mut(&home),
        }
    }

    /// That of a rank that is here.
    #[inline(always)]
    pub(super) fn of(&mut self, home: u32) -> &mut Mailbox {
        match self {
            Mailboxes::All(all) => &mut all[home as usize],
            Mailboxes::Some(some) => some.entry(home).or_insert(Mailbox::EMPTY),
        }
    }
}
