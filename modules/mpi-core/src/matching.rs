//! Matching of messages and receives.
//!
//! Each rank has a queue of posted receives and a queue of messages that no receive has taken yet,
//! both in order. A message goes to the first posted receive that accepts it. A receive gets the
//! first message that it accepts. If a receive accepts two messages from the same rank, it
//! therefore gets the one that was sent first (MPI 4.1, section 3.5). No function here calls user
//! code: values stay type-erased, and the callers do the wake-ups.

use std::collections::HashMap;
use std::panic::Location;

use super::entry::{Entry, EntryState, NONE, Slab};
use super::envelope::Envelope;
use super::erased::{Erased, Wanted};
use super::error::Error;
use super::mailbox::Mailboxes;
use graphmap_executor::link::waiter::ARMED;

/// Number of messages that may wait at a rank before the sender of a standard send waits as well.
pub(super) const EAGER: u32 = 64;

/// Mode of a send (MPI 4.1, section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendMode {
    /// The sender waits if 64 messages already wait at the receiver. If the receiver is on another
    /// scheduler, the sender waits if the message has more than 64 KiB or the credit is not
    /// sufficient.
    Standard,
    /// The sender waits until a receive has taken the message.
    Synchronous,
    /// The sender never waits.
    Buffered,
    /// A receive must already be posted. Otherwise the send fails with [`Error::NotReady`].
    Ready,
}

/// An action that must follow a change, after the borrow of the [`Matching`] has ended.
pub(super) enum Action {
    /// Wake the waiter with this state word.
    Wake(u32),
    /// Return this credit to a scheduler, in bytes.
    Credit(u32, u32),
    /// Ask a scheduler to send the message of an entry.
    ClearToSend(u32, u32),
}

/// Result of a send.
pub(super) enum Sent {
    /// A receive has the message. The value is the state word of that receive.
    Taken(u32),
    /// The message waits for a receive, and the sender need not wait.
    Left,
    /// The message waits for a receive, and the sender waits at this entry.
    Held(u32),
    /// No receive was posted for a ready send.
    Refused(Erased),
}

pub(super) struct Matching {
    pub(super) slab: Slab,
    pub(super) mailboxes: Mailboxes,
    order: u64,
    /// Entries of waiting probes, by rank.
    probing: HashMap<u32, Vec<u32>>,
    pub(super) actions: Vec<Action>,
    /// Values requested from other schedulers. The key is the scheduler and its entry, the value is
    /// the entry here.
    pub(super) asked: HashMap<(u32, u32), u32>,
    pub(super) is_over: bool,
    /// True if a message may be stored directly in a posted receive. False if messages are counted,
    /// and after the run has ended.
    pub(super) straight: bool,
}

impl Matching {
    /// Creates the state of a scheduler. `ranks` is the number of ranks of the run if all are on
    /// this scheduler, and `None` otherwise. `counted` is true if messages are counted for a
    /// profile. Then no message is stored directly in a posted receive.
    pub(super) fn new(ranks: Option<u32>, counted: bool) -> Self {
        Matching {
            slab: Slab::new(),
            mailboxes: Mailboxes::new(ranks),
            order: 0,
            probing: HashMap::new(),
            actions: Vec::new(),
            asked: HashMap::new(),
            is_over: false,
            straight: !counted,
        }
    }

    #[inline]
    pub(super) fn add(
        &mut self,
        state: EntryState,
        member: u32,
        envelope: Envelope,
        value: Option<Erased>,
        at: &'static Location<'static>,
    ) -> u32 {
        self.order += 1;
        let entry = self.slab.add(state, member, envelope, self.order, None, at);
        if value.is_some() {
            self.slab.entries[entry as usize].value = value;
        }
        entry
    }

    /// Takes the state word of the waiter at an entry, and sets it to 0. Returns 0 if there is no
    /// waiter. Panics if the entry does not exist. The caller must wake or unregister the waiter.
    #[inline]
    pub(super) fn take_word(&mut self, at: u32) -> u32 {
        std::mem::replace(&mut self.slab.entries[at as usize].word, 0)
    }

    /// Removes the first posted receive that accepts a message from its queue, and turns its entry
    /// into the entry of the message: its state becomes [`EntryState::Taken`]. Returns `None` if no
    /// posted receive of `member` accepts it. The caller must put the value into the entry, and
    /// wake its waiter.
    #[inline(always)]
    pub(super) fn take_posted(&mut self, member: u32, envelope: Envelope) -> Option<&mut Entry> {
        Some(self.take_posted_at(member, envelope)?.1)
    }

    /// Removes a posted receive like [`Matching::take_posted`], and also returns its entry number.
    #[inline(always)]
    pub(super) fn take_posted_at(
        &mut self,
        member: u32,
        envelope: Envelope,
    ) -> Option<(u32, &mut Entry)> {
        let mailbox = self.mailboxes.get_mut(member)?;
        let entries = &mut self.slab.entries;
        let (receive, entry) = mailbox.posted.take_first_that_takes(entries, envelope)?;
        // The entry is a message from here on, so it gets the next number in the order of messages.
        self.order += 1;
        entry.order = self.order;
        entry.envelope = envelope;
        entry.state = EntryState::Taken;
        Some((receive, entry))
    }

    /// Sends a message to a rank of this scheduler. The first posted receive that accepts it gets
    /// it ([`Sent::Taken`]), and the caller must wake the waiter of that receive. Otherwise a
    /// message in mode [`SendMode::Ready`] is returned ([`Sent::Refused`]), and any other is
    /// queued. The result is then [`Sent::Held`] in mode [`SendMode::Synchronous`], and in mode
    /// [`SendMode::Standard`] if at least [`EAGER`] messages already wait at the rank. Otherwise it
    /// is [`Sent::Left`].
    #[inline]
    pub(super) fn send(
        &mut self,
        member: u32,
        envelope: Envelope,
        value: Erased,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> Sent {
        if let Some(entry) = self.take_posted(member, envelope) {
            entry.put(value);
            return Sent::Taken(std::mem::take(&mut entry.word));
        }
        let mailbox = self.mailboxes.of(member);
        let held = match mode {
            SendMode::Ready => return Sent::Refused(value),
            SendMode::Buffered => false,
            SendMode::Standard => mailbox.unexpected.len() >= EAGER,
            SendMode::Synchronous => true,
        };
        let state = if held {
            EntryState::Held
        } else {
            EntryState::Unexpected
        };
        let entry = self.add(state, member, envelope, Some(value), at);
        self.queue_message(member, entry);
        if held { Sent::Held(entry) } else { Sent::Left }
    }

    /// Appends the entry `message` to the queue of a rank. Adds an action that wakes each waiting
    /// probe that accepts it.
    #[inline]
    pub(super) fn queue_message(&mut self, member: u32, message: u32) {
        let mailbox = self.mailboxes.of(member);
        mailbox.unexpected.push(&mut self.slab.entries, message);
        let envelope = self.slab.entries[message as usize].envelope;
        self.wake_probes(member, envelope);
    }

    fn wake_probes(&mut self, member: u32, envelope: Envelope) {
        if self.probing.is_empty() {
            return;
        }
        for &probe in self.probing.get(&member).into_iter().flatten() {
            let entry = &mut self.slab.entries[probe as usize];
            if entry.envelope.takes(envelope) && entry.word & ARMED != 0 {
                let word = std::mem::take(&mut entry.word);
                self.actions.push(Action::Wake(word));
            }
        }
    }

    /// Posts a receive and returns its entry: the fast path. Returns `None` if the general path is
    /// needed, which is the case if any message waits at the rank, the rank has no mailbox yet, or
    /// the run has ended.
    #[inline(always)]
    pub(super) fn post(
        &mut self,
        member: u32,
        envelope: Envelope,
        wanted: Wanted,
        at: &'static Location<'static>,
    ) -> Option<u32> {
        let mailbox = self.mailboxes.get_mut(member)?;
        if self.is_over || mailbox.unexpected.len() > 0 {
            return None;
        }
        self.order += 1;
        let receive = self.slab.add(
            EntryState::Posted,
            member,
            envelope,
            self.order,
            Some(wanted),
            at,
        );
        mailbox.posted.push(&mut self.slab.entries, receive);
        Some(receive)
    }

    /// Takes the first matching message, or posts a receive if there is none. Returns the entry of
    /// the receive, and the state word of the waiting sender, or 0 if no sender waits. If the value
    /// of the message is still on another scheduler, it is requested, and the state of the entry is
    /// [`EntryState::Arriving`].
    #[inline]
    pub(super) fn receive(
        &mut self,
        member: u32,
        envelope: Envelope,
        at: &'static Location<'static>,
    ) -> (u32, u32) {
        match self.find(member, envelope) {
            Some(message) => self.take(message, at),
            None => {
                let receive = self.add(EntryState::Posted, member, envelope, None, at);
                let mailbox = self.mailboxes.of(member);
                mailbox.posted.push(&mut self.slab.entries, receive);
                (receive, 0)
            }
        }
    }

    /// Takes the first matching message like [`Matching::receive`], but returns `None` if no
    /// message matches, instead of posting a receive.
    pub(super) fn receive_now(
        &mut self,
        member: u32,
        envelope: Envelope,
        at: &'static Location<'static>,
    ) -> Option<(u32, u32)> {
        let message = self.find(member, envelope)?;
        Some(self.take(message, at))
    }

    /// Takes the queued message at entry `message` for a receive. Returns the entry of the receive,
    /// and the state word of the waiting sender, or 0 if no sender waits. The receive has the entry
    /// of the message, or another one if the message was held. A value that is still on another
    /// scheduler is requested.
    #[inline]
    fn take(&mut self, message: u32, at: &'static Location<'static>) -> (u32, u32) {
        let entries = &mut self.slab.entries;
        let member = entries[message as usize].member;
        let mailbox = self.mailboxes.of(member);
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
        // The request of the sender has the number of this entry, so the receive needs another
        // entry.
        entry.state = EntryState::Done;
        let (envelope, order, value) = (entry.envelope, entry.order, entry.value.take());
        let word = self.take_word(message);
        let receive = self.add(EntryState::Taken, member, envelope, value, at);
        self.slab.entries[receive as usize].order = order;
        (receive, word)
    }

    /// Returns the entry of the first message that a receive with this envelope would take, or
    /// `None`.
    #[inline]
    pub(super) fn find(&self, member: u32, envelope: Envelope) -> Option<u32> {
        let mailbox = self.mailboxes.get(member)?;
        mailbox.unexpected.first_for(&self.slab.entries, envelope)
    }

    /// Adds an entry for a waiting probe, and returns its number. Does not search the queue.
    pub(super) fn probe(
        &mut self,
        member: u32,
        envelope: Envelope,
        at: &'static Location<'static>,
    ) -> u32 {
        let probe = self.add(EntryState::Probing, member, envelope, None, at);
        self.probing.entry(member).or_default().push(probe);
        probe
    }

    /// Adds an entry for a rank that waits in a collective call of the communicator with the number
    /// `context`. Returns the number of the entry.
    pub(super) fn add_collective_wait(
        &mut self,
        context: u32,
        at: &'static Location<'static>,
    ) -> u32 {
        let envelope = Envelope::new(context, None, None);
        self.add(EntryState::InCollective, 0, envelope, None, at)
    }

    /// Adds an entry for a call that failed with `error`, and returns its number. The entry is
    /// done, so a request with it completes at once with the error.
    pub(super) fn failed(&mut self, error: Error, at: &'static Location<'static>) -> u32 {
        let envelope = Envelope::new(0, None, None);
        let error = Erased::error(error);
        self.add(EntryState::Done, 0, envelope, Some(error), at)
    }

    /// Ends the request at an entry, which must exist. Returns its value, which the caller must
    /// drop, and the state word of its waiter, or 0 if it has none. In the three cases below, the
    /// returned value is `None`. Otherwise, the entry is freed.
    ///
    /// A message that a receive has taken goes to another receive or back to the queue, unless the
    /// run has ended. A message whose sender waits stays in the queue and is still delivered. An
    /// access whose answer has not arrived continues, unless the run has ended.
    pub(super) fn withdraw(&mut self, at: u32) -> (Option<Erased>, u32) {
        let word = self.take_word(at);
        let entries = &mut self.slab.entries;
        let Entry {
            member,
            state,
            envelope,
            ..
        } = entries[at as usize];
        match state {
            EntryState::Posted => self.mailboxes.of(member).posted.remove(entries, at),
            EntryState::Probing => {
                if let Some(all) = self.probing.get_mut(&member) {
                    all.retain(|&probe| probe != at);
                    if all.is_empty() {
                        self.probing.remove(&member);
                    }
                }
            }
            EntryState::Taken | EntryState::Arriving
                if !self.is_over
                    && let Entry {
                        value: Some(value),
                        buffer,
                        ..
                    } = &mut entries[at as usize] =>
            {
                // The buffer is not valid after the receive, so the bytes are copied from it.
                if let Some(buffer) = buffer.take()
                    && value.is_placed()
                {
                    *value = Erased::one(buffer.take_back());
                }
                self.return_message(at, member, envelope);
                return (None, word);
            }
            // The answer still arrives later.
            EntryState::Accessing if !self.is_over => {
                entries[at as usize].state = EntryState::Abandoned;
                return (None, word);
            }
            // The message has been sent, even if its sender no longer waits.
            EntryState::Held => {
                entries[at as usize].state = EntryState::Unexpected;
                return (None, word);
            }
            _ => {}
        }
        let value = self.slab.entries[at as usize].value.take();
        self.slab.remove(at);
        (value, word)
    }

    /// Gives a taken message to the first posted receive that accepts it, or puts it back into the
    /// queue at its old position. `at` is the entry of the message. A receive that gets the message
    /// keeps its own entry, and `at` is freed. Adds actions that wake the receive, or the probes
    /// that accept the message. A value that is still on another scheduler is requested for the
    /// receive.
    pub(super) fn return_message(&mut self, at: u32, member: u32, envelope: Envelope) {
        let mailbox = self.mailboxes.of(member);
        let entries = &mut self.slab.entries;
        if let Some(receive) = mailbox.posted.first_that_takes(entries, envelope) {
            mailbox.posted.remove(entries, receive);
            let message = &mut entries[at as usize];
            let (value, order, from) = (message.value.take(), message.order, message.from);
            let remote = value.as_ref().and_then(Erased::as_remote);
            let entry = &mut entries[receive as usize];
            (entry.envelope, entry.value, entry.order) = (envelope, value, order);
            entry.from = from;
            self.slab.remove(at);
            match remote {
                Some(remote) => {
                    self.slab.entries[receive as usize].state = EntryState::Arriving;
                    self.ask(remote, receive);
                }
                None => {
                    self.slab.entries[receive as usize].state = EntryState::Taken;
                    let word = self.take_word(receive);
                    self.actions.push(Action::Wake(word));
                }
            }
        } else {
            entries[at as usize].state = EntryState::Unexpected;
            mailbox.unexpected.insert(entries, at);
            self.wake_probes(member, envelope);
        }
    }

    /// Withdraws the message at an entry, which must exist, if its sender still waits. Frees the
    /// entry, and returns the message and the state word of the sender, or 0 if the sender has no
    /// waiter. Returns `None`, and changes nothing, if the entry is not a message whose sender
    /// waits, or for a message to another scheduler.
    pub(super) fn withdraw_send(&mut self, at: u32) -> Option<(Erased, u32)> {
        let entry = &mut self.slab.entries[at as usize];
        if entry.state != EntryState::Held {
            return None;
        }
        let member = entry.member;
        // A message to another scheduler cannot be withdrawn, because that scheduler may have asked
        // for it.
        let mailbox = self
            .mailboxes
            .get_mut(member)
            .filter(|_| entry.from == NONE)?;
        let value = entry.value.take();
        let word = std::mem::take(&mut entry.word);
        mailbox.unexpected.remove(&mut self.slab.entries, at);
        self.slab.remove(at);
        value.map(|value| (value, word))
    }

    /// Returns the position of the newest entry in the order of messages.
    pub(super) fn last(&self) -> u64 {
        self.order
    }

    /// Removes the message with the position `order` from the queue of a rank of this scheduler,
    /// and returns it with the state word of its sender. Returns `None`, and changes nothing, if such a
    /// message does not wait there, or was sent by another scheduler.
    pub(super) fn recall(&mut self, member: u32, order: u64) -> Option<(Erased, u32)> {
        let queue = &self.mailboxes.get(member)?.unexpected;
        let mut next = queue.first();
        while let Some(at) = next {
            let entry = &mut self.slab.entries[at as usize];
            if entry.order != order {
                next = Some(entry.next).filter(|&next| next != NONE);
                continue;
            }
            // The message of a waiting sender belongs to its request.
            if entry.state != EntryState::Unexpected || entry.from != NONE {
                return None;
            }
            entry.state = EntryState::Held;
            return self.withdraw_send(at);
        }
        None
    }

    /// Removes and returns the waiting messages of a communicator that was dropped. `number` is
    /// its number. `members` are its members, of which only those on this scheduler have messages
    /// here. The result is empty after the run. If the sender of a message waits on this scheduler,
    /// the message stays and the sender continues to wait. A message whose value is still on
    /// another scheduler is removed, but not returned. Credit for the removed messages is returned
    /// by actions. Mailboxes of the members that are then empty are dropped.
    pub(super) fn purge(&mut self, number: u32, members: impl Iterator<Item = u32>) -> Vec<Lost> {
        let mut lost = Vec::new();
        if self.is_over {
            return lost;
        }
        for member in members {
            let Some(mailbox) = self.mailboxes.get_mut(member) else {
                continue;
            };
            let queue = &mut mailbox.unexpected;
            let mut next = queue.first();
            while let Some(at) = next {
                let entry = &mut self.slab.entries[at as usize];
                next = Some(entry.next).filter(|&next| next != NONE);
                if entry.envelope.number() == number && entry.state == EntryState::Unexpected {
                    let credit = std::mem::take(&mut entry.credit);
                    if credit > 0 {
                        self.actions.push(Action::Credit(entry.from, credit));
                    }
                    if let Some(remote) = entry.value.as_ref().and_then(Erased::as_remote) {
                        self.asked.remove(&(remote.scheduler, remote.entry));
                    }
                    lost.extend(Lost::of(entry));
                    queue.remove(&mut self.slab.entries, at);
                    self.slab.remove(at);
                }
            }
            self.mailboxes.remove_if_empty(member);
        }
        lost
    }

    /// Ends the matching at the end of the run. Takes all messages that were not received out of
    /// their entries and returns them, ordered by entry. Messages that are still with a sender on
    /// another scheduler are not returned.
    pub(super) fn close(&mut self) -> Vec<Lost> {
        (self.is_over, self.straight) = (true, false);
        let entries = self.slab.entries.iter_mut();
        entries
            .filter(|entry| !matches!(entry.state, EntryState::Done | EntryState::Answered))
            .filter_map(Lost::of)
            .collect()
    }
}

/// A message that will never be received and must be dropped.
pub(super) struct Lost {
    pub(super) envelope: Envelope,
    pub(super) member: u32,
    pub(super) order: u64,
    pub(super) at: &'static Location<'static>,
    pub(super) value: Erased,
    /// Scheduler that sent the message. [`NONE`] if it was sent on this one.
    pub(super) from: u32,
}

impl Lost {
    /// Takes the value out of an entry, and returns it as a lost message. Returns `None` if the
    /// entry has no value, or if the value is still on another scheduler, because it is counted
    /// there.
    fn of(entry: &mut Entry) -> Option<Self> {
        let value = entry.value.take()?;
        value.as_remote().is_none().then(|| Lost {
            value,
            envelope: entry.envelope,
            member: entry.member,
            order: entry.order,
            at: entry.at,
            from: entry.from,
        })
    }
}
