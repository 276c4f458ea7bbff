//! Which message goes to which receive.
//!
//! Each rank has a list of receives that wait for messages, and one of messages that no receive has taken yet, both in
//! order. A message goes to the first receive that takes it, a receive gets the first message that it takes: so of two
//! messages from one rank to another that one receive could take, the first that was sent is the first to be received
//! (MPI 4.1, 3.5). Nothing here calls code of the user: values go in and out as parcels, and whom to wake is said.

use std::collections::HashMap;
use std::panic::Location;

use super::entry::{Entry, EntryState, NONE, Slab};
use super::envelope::Envelope;
use super::error::Error;
use super::mailbox::Mailboxes;
use super::parcel::{Parcel, Wanted};
use graphmap_executor::link::waiter::ARMED;

/// So many messages wait at a rank without their senders waiting for them.
pub(super) const EAGER: u32 = 64;

/// How a message is sent (MPI 4.1, 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// The sender waits if too much is waiting already.
    Standard,
    /// The sender waits until it has been taken.
    Synchronous,
    /// The sender never waits.
    Buffered,
    /// A receive has to wait for it.
    Ready,
}

/// What is to be done when a change is made, which must not be done at once.
pub(super) enum Then {
    /// Who waits by this word is to be woken.
    Wake(u32),
    /// There is room again for so many bytes of a scheduler.
    Credit(u32, u32),
    /// A scheduler is to send the message of an entry.
    ClearToSend(u32, u32),
}

/// What became of a message.
pub(super) enum Sent {
    /// A receive has it, whose word this was.
    Taken(u32),
    /// It waits, and its sender need not.
    Left,
    /// It waits, and so does its sender: the entry.
    Held(u32),
    /// No receive has waited for it.
    Refused(Parcel),
}

pub(super) struct Matching {
    pub(super) slab: Slab,
    pub(super) mailboxes: Mailboxes,
    order: u64,
    /// Those who look for messages, by rank.
    probing: HashMap<u32, Vec<u32>>,
    pub(super) then: Vec<Then>,
    /// Values that were asked for: for which entry each is, by scheduler and entry there.
    pub(super) asked: HashMap<(u32, u32), u32>,
    pub(super) is_over: bool,
    /// A message may go straight to a receive that waits for it: not when all is over, and not where it is to be counted.
    pub(super) straight: bool,
}

impl Matching {
    /// For so many ranks, all of which are here; or for those that are.
    pub(super) fn new(ranks: Option<u32>, counted: bool) -> Self {
        Matching {
            slab: Slab::new(),
            mailboxes: Mailboxes::new(ranks),
            order: 0,
            probing: HashMap::new(),
            then: Vec::new(),
            asked: HashMap::new(),
            is_over: false,
            straight: !counted,
        }
    }

    #[inline]
    pub(super) fn add(
        &mut self,
        state: EntryState,
        home: u32,
        envelope: Envelope,
        parcel: Option<Parcel>,
        at: &'static Location<'static>,
    ) -> u32 {
        self.order += 1;
        let entry = self.slab.add(state, home, envelope, self.order, None, at);
        if parcel.is_some() {
            self.slab.entries[entry as usize].parcel = parcel;
        }
        entry
    }

    /// The word of who waits at an entry, who is going to be woken.
    #[inline]
    pub(super) fn take_word(&mut self, at: u32) -> u32 {
        std::mem::replace(&mut self.slab.entries[at as usize].word, 0)
    }

    /// The receive of a rank that takes a message, which is its own from here on: the entry, whose parcel is to be put there.
    #[inline(always)]
    pub(super) fn hand(&mut self, home: u32, envelope: Envelope) -> Option<&mut Entry> {
        Some(self.hand_at(home, envelope)?.1)
    }

    /// As [`Matching::hand`], with its number.
    #[inline(always)]
    pub(super) fn hand_at(&mut self, home: u32, envelope: Envelope) -> Option<(u32, &mut Entry)> {
        let mailbox = self.mailboxes.get_mut(home)?;
        let entries = &mut self.slab.entries;
        let (receive, entry) = mailbox.posted.take_first_that_takes(entries, envelope)?;
        // It is the message now, in the order of messages.
        self.order += 1;
        entry.order = self.order;
        entry.envelope = envelope;
        entry.state = EntryState::Taken;
        Some((receive, entry))
    }

    /// Sends a message to a rank of the world.
    #[inline]
    pub(super) fn send(
        &mut self,
        home: u32,
        envelope: Envelope,
        parcel: Parcel,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> Sent {
        if let Some(entry) = self.hand(home, envelope) {
            entry.put(parcel);
            return Sent::Taken(std::mem::take(&mut entry.word));
        }
        let mailbox = self.mailboxes.of(home);
        let held = match mode {
            SendMode::Ready => return Sent::Refused(parcel),
            SendMode::Buffered => false,
            SendMode::Standard => mailbox.unexpected.len() >= EAGER,
            SendMode::Synchronous => true,
        };
        let state = if held {
            EntryState::Held
        } else {
            EntryState::Unexpected
        };
        let entry = self.add(state, home, envelope, Some(parcel), at);
        self.leave(home, entry);
        if held { Sent::Held(entry) } else { Sent::Left }
    }

    /// A message waits for a receive of a rank.
    #[inline]
    pub(super) fn leave(&mut self, home: u32, message: u32) {
        let mailbox = self.mailboxes.of(home);
        mailbox.unexpected.push(&mut self.slab.entries, message);
        let envelope = self.slab.entries[message as usize].envelope;
        self.tell_probes(home, envelope);
    }

    fn tell_probes(&mut self, home: u32, envelope: Envelope) {
        if self.probing.is_empty() {
            return;
        }
        for &probe in self.probing.get(&home).into_iter().flatten() {
            let entry = &mut self.slab.entries[probe as usize];
            if entry.envelope.takes(envelope) && entry.word & ARMED != 0 {
                let word = std::mem::take(&mut entry.word);
                self.then.push(Then::Wake(word));
            }
        }
    }

    /// The short way of a receive: its entry, if no message at all waits at the rank.
    #[inline(always)]
    pub(super) fn post(
        &mut self,
        home: u32,
        envelope: Envelope,
        wanted: Wanted,
        at: &'static Location<'static>,
    ) -> Option<u32> {
        let mailbox = self.mailboxes.get_mut(home)?;
        if self.is_over || mailbox.unexpected.len() > 0 {
            return None;
        }
        self.order += 1;
        let receive = self.slab.add(
            EntryState::Posted,
            home,
            envelope,
            self.order,
            Some(wanted),
            at,
        );
        mailbox.posted.push(&mut self.slab.entries, receive);
        Some(receive)
    }

    /// A receive of a rank: its entry, and the word of the sender that waited for it.
    #[inline]
    pub(super) fn receive(
        &mut self,
        home: u32,
        envelope: Envelope,
        at: &'static Location<'static>,
    ) -> (u32, u32) {
        match self.find(home, envelope) {
            Some(message) => self.take(message, at),
            None => {
                let receive = self.add(EntryState::Posted, home, envelope, None, at);
                let mailbox = self.mailboxes.of(home);
                mailbox.posted.push(&mut self.slab.entries, receive);
                (receive, 0)
            }
        }
    }

    /// A receive of a rank that is not to wait.
    pub(super) fn receive_now(
        &mut self,
        home: u32,
        envelope: Envelope,
        at: &'static Location<'static>,
    ) -> Option<(u32, u32)> {
        let message = self.find(home, envelope)?;
        Some(self.take(message, at))
    }

    /// Takes a message for a receive: the entry of that, and the word of the sender that waited.
    #[inline]
    fn take(&mut self, message: u32, at: &'static Location<'static>) -> (u32, u32) {
        let entries = &mut self.slab.entries;
        let home = entries[message as usize].home;
        let mailbox = self.mailboxes.of(home);
        mailbox.unexpected.remove(entries, message);
        let entry = &mut entries[message as usize];
        if entry.state != EntryState::Held {
            entry.state = EntryState::Taken;
            entry.at = at;
            if entry.from != NONE {
                self.take_arrived(message);
            }
            return (message, 0);
        }
        // The sender has the number of this one.
        entry.state = EntryState::Done;
        let (envelope, order, parcel) = (entry.envelope, entry.order, entry.parcel.take());
        let word = self.take_word(message);
        let receive = self.add(EntryState::Taken, home, envelope, parcel, at);
        self.slab.entries[receive as usize].order = order;
        (receive, word)
    }

    /// The first message that a receive would take.
    #[inline]
    pub(super) fn find(&self, home: u32, envelope: Envelope) -> Option<u32> {
        let mailbox = self.mailboxes.get(home)?;
        mailbox.unexpected.first_for(&self.slab.entries, envelope)
    }

    /// Somebody looks for a message: its entry.
    pub(super) fn probe(
        &mut self,
        home: u32,
        envelope: Envelope,
        at: &'static Location<'static>,
    ) -> u32 {
        let probe = self.add(EntryState::Probing, home, envelope, None, at);
        self.probing.entry(home).or_default().push(probe);
        probe
    }

    /// A rank waits in a collective call of a communicator: its entry.
    pub(super) fn meet(&mut self, context: u32, at: &'static Location<'static>) -> u32 {
        let envelope = Envelope::new(context, None, None);
        self.add(EntryState::Meeting, 0, envelope, None, at)
    }

    /// An entry for a call that could not be made.
    pub(super) fn failed(&mut self, error: Error, at: &'static Location<'static>) -> u32 {
        let envelope = Envelope::new(0, None, None);
        let error = Parcel::error(error);
        self.add(EntryState::Done, 0, envelope, Some(error), at)
    }

    /// A receive or a probe is not wanted any more: what its parcel was, and the word of who waited there. A message that it
    /// has taken already goes back to where it was.
    pub(super) fn give_up(&mut self, at: u32) -> (Option<Parcel>, u32) {
        let word = self.take_word(at);
        let entries = &mut self.slab.entries;
        let Entry {
            home,
            state,
            envelope,
            ..
        } = entries[at as usize];
        match state {
            EntryState::Posted => self.mailboxes.of(home).posted.remove(entries, at),
            EntryState::Probing => {
                if let Some(all) = self.probing.get_mut(&home) {
                    all.retain(|&probe| probe != at);
                    if all.is_empty() {
                        self.probing.remove(&home);
                    }
                }
            }
            EntryState::Taken | EntryState::Coming
                if !self.is_over
                    && let Entry {
                        parcel: Some(parcel),
                        buffer,
                        ..
                    } = &mut entries[at as usize] =>
            {
                // Nobody looks at its buffer any more.
                if let Some(buffer) = buffer.take()
                    && parcel.is_placed()
                {
                    *parcel = Parcel::one(buffer.take_back());
                }
                self.return_message(at, home, envelope);
                return (None, word);
            }
            // The answer comes all the same.
            EntryState::Accessing if !self.is_over => {
                entries[at as usize].state = EntryState::Forgotten;
                return (None, word);
            }
            // A sender that waits no more has still sent its message.
            EntryState::Held => {
                entries[at as usize].state = EntryState::Unexpected;
                return (None, word);
            }
            _ => {}
        }
        let parcel = self.slab.entries[at as usize].parcel.take();
        self.slab.remove(at);
        (parcel, word)
    }

    /// A message that was taken is for whoever would have got it otherwise.
    pub(super) fn return_message(&mut self, at: u32, home: u32, envelope: Envelope) {
        let mailbox = self.mailboxes.of(home);
        let entries = &mut self.slab.entries;
        if let Some(receive) = mailbox.posted.first_that_takes(entries, envelope) {
            mailbox.posted.remove(entries, receive);
            let message = &mut entries[at as usize];
            let (parcel, order, from) = (message.parcel.take(), message.order, message.from);
            let far = parcel.as_ref().and_then(Parcel::as_far);
            let entry = &mut entries[receive as usize];
            (entry.envelope, entry.parcel, entry.order) = (envelope, parcel, order);
            entry.from = from;
            self.slab.remove(at);
            match far {
                Some(far) => {
                    self.slab.entries[receive as usize].state = EntryState::Coming;
                    self.ask(far, receive);
                }
                None => {
                    self.slab.entries[receive as usize].state = EntryState::Taken;
                    let word = self.take_word(receive);
                    self.then.push(Then::Wake(word));
                }
            }
        } else {
            entries[at as usize].state = EntryState::Unexpected;
            mailbox.unexpected.insert(entries, at);
            self.tell_probes(home, envelope);
        }
    }

    /// Takes a message back that no receive has taken.
    pub(super) fn unsend(&mut self, at: u32) -> Option<(Parcel, u32)> {
        let entry = &mut self.slab.entries[at as usize];
        if entry.state != EntryState::Held {
            return None;
        }
        let home = entry.home;
        // Another scheduler knows of it, and may have asked for it.
        let mailbox = self
            .mailboxes
            .get_mut(home)
            .filter(|_| entry.from == NONE)?;
        let parcel = entry.parcel.take();
        let word = std::mem::take(&mut entry.word);
        mailbox.unexpected.remove(&mut self.slab.entries, at);
        self.slab.remove(at);
        parcel.map(|parcel| (parcel, word))
    }

    /// A communicator is gone: takes what waits for receives of its ranks. Whoever waits for one of these to be received goes
    /// on waiting.
    pub(super) fn purge(&mut self, context: u32, homes: impl Iterator<Item = u32>) -> Vec<Lost> {
        let mut lost = Vec::new();
        if self.is_over {
            return lost;
        }
        for home in homes {
            let Some(mailbox) = self.mailboxes.get_mut(home) else {
                continue;
            };
            let queue = &mut mailbox.unexpected;
            let mut next = queue.first();
            while let Some(at) = next {
                let entry = &mut self.slab.entries[at as usize];
                next = Some(entry.next).filter(|&next| next != NONE);
                if entry.envelope.context == context && entry.state == EntryState::Unexpected {
                    let credit = std::mem::take(&mut entry.credit);
                    if credit > 0 {
                        self.then.push(Then::Credit(entry.from, credit));
                    }
                    if let Some(far) = entry.parcel.as_ref().and_then(Parcel::as_far) {
                        self.asked.remove(&(far.scheduler, far.entry));
                    }
                    lost.extend(Lost::of(entry));
                    queue.remove(&mut self.slab.entries, at);
                    self.slab.remove(at);
                }
            }
            self.mailboxes.tidy(home);
        }
        lost
    }

    /// The run is over: all that was not received.
    pub(super) fn close(&mut self) -> Vec<Lost> {
        (self.is_over, self.straight) = (true, false);
        let entries = self.slab.entries.iter_mut();
        entries
            .filter(|entry| !matches!(entry.state, EntryState::Done | EntryState::Answered))
            .filter_map(Lost::of)
            .collect()
    }
}

/// A message that nobody will receive, to be dropped.
pub(super) struct Lost {
    pub(super) envelope: Envelope,
    pub(super) home: u32,
    pub(super) order: u64,
    pub(super) at: &'static Location<'static>,
    pub(super) parcel: Parcel,
    /// The scheduler that it has come from; [`NONE`]: this one.
    pub(super) from: u32,
}

impl Lost {
    /// A message that is still with its sender is lost there.
    fn of(entry: &mut Entry) -> Option<Self> {
        let parcel = entry.parcel.take()?;
        parcel.as_far().is_none().then(|| Lost {
            parcel,
            envelope: entry.envelope,
            home: entry.home,
            order: entry.order,
            at: entry.at,
            from: entry.from,
        })
    }
}
