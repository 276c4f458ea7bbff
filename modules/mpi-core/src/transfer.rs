//! Matching of messages that arrive from other schedulers or are kept for them.

use std::panic::Location;

use super::entry::EntryState;
use super::envelope::Envelope;
use super::erased::{Erased, RemoteValue, Wanted};
use super::error::Error;
use super::frame::ValueDestination;
use super::matching::{Action, Matching, SendMode};

/// Message from another scheduler.
pub(super) struct Arrival {
    /// Receiving member.
    pub(super) member: u32,
    pub(super) envelope: Envelope,
    pub(super) value: Erased,
    /// Scheduler of the sender.
    pub(super) from: u32,
    /// Credit in bytes to return to the sender.
    pub(super) credit: u32,
}

impl Matching {
    /// Matches a message, or the announcement of one, from another scheduler. If no receive
    /// matches, queues the message if `waits` is true, and otherwise drops it. Returns true if the
    /// message was matched or queued. The wake-up, the return of credit and the request for an
    /// announced value are added as actions.
    pub(super) fn arrive(
        &mut self,
        arrival: Arrival,
        waits: bool,
        at: &'static Location<'static>,
    ) -> bool {
        let Arrival {
            member,
            envelope,
            value,
            from,
            credit,
        } = arrival;
        let is_remote = value.as_remote().is_some();
        if let Some((receive, entry)) = self.take_posted_at(member, envelope) {
            (entry.value, entry.from, entry.credit) = (Some(value), from, credit);
            if !is_remote {
                let word = std::mem::take(&mut entry.word);
                self.actions.push(Action::Wake(word));
            }
            self.take_arrived(receive);
            return true;
        }
        if waits {
            let message = self.add(EntryState::Unexpected, member, envelope, Some(value), at);
            let entry = &mut self.slab.entries[message as usize];
            (entry.from, entry.credit) = (from, credit);
            self.queue_message(member, message);
        }
        waits
    }

    /// Requests the value of the entry at `at` from its sender, by an action, unless the value was
    /// already requested. When the value arrives, it is stored in this entry.
    pub(super) fn ask(&mut self, remote: RemoteValue, at: u32) {
        self.asked.insert((remote.scheduler, remote.entry), at);
        if !remote.asked {
            self.slab.entries[at as usize].value = Some(Erased::remote(RemoteValue {
                asked: true,
                ..remote
            }));
            self.actions
                .push(Action::ClearToSend(remote.scheduler, remote.entry));
        }
    }

    /// Stores a requested value in the entry here that waits for it, and wakes the waiting receive.
    /// `from` and `entry` are the scheduler of the sender and the entry there. Returns the replaced
    /// value, or `value` itself if no entry waits for it.
    pub(super) fn value_arrived(&mut self, from: u32, entry: u32, value: Erased) -> Option<Erased> {
        let Some(at) = self.asked.remove(&(from, entry)) else {
            return Some(value);
        };
        let entry = &mut self.slab.entries[at as usize];
        if entry.state == EntryState::Arriving {
            entry.state = EntryState::Taken;
            let word = std::mem::take(&mut entry.word);
            self.actions.push(Action::Wake(word));
        }
        entry.value.replace(value)
    }

    /// Returns the type that the receive of a message arriving from scheduler `from` expects.
    /// `None` if no receive waits for the message, or the type is not known.
    pub(super) fn wanted(&self, from: u32, destination: ValueDestination) -> Option<Wanted> {
        let at = match destination {
            ValueDestination::Message(member, envelope) => {
                let mailbox = self.mailboxes.get(member)?;
                mailbox
                    .posted
                    .first_that_takes(&self.slab.entries, envelope)?
            }
            ValueDestination::Asked(entry) => *self.asked.get(&(from, entry))?,
            ValueDestination::None => return None,
        };
        self.slab.entries.get(at as usize)?.wanted
    }

    /// Creates the entry for an access to the memory of a rank of a window, and returns its number.
    /// `context` is the number of the communicator of the window, `target` the rank in it, and
    /// `what` the number of the operation.
    pub(super) fn access(
        &mut self,
        member: u32,
        (context, target): (u32, u32),
        what: i32,
        at: &'static Location<'static>,
    ) -> u32 {
        let envelope = Envelope::new(context, Some(target), Some(what));
        self.add(EntryState::Accessing, member, envelope, None, at)
    }

    /// Stores the answer to the access at entry `at`, wakes its waiter and returns `None`. Returns
    /// the answer if no access waits at the entry. An entry whose access was abandoned is then
    /// freed.
    pub(super) fn answered(&mut self, at: u32, answer: Erased) -> Option<Erased> {
        let Some(entry) = self.slab.entries.get_mut(at as usize) else {
            return Some(answer);
        };
        match entry.state {
            EntryState::Accessing => {
                (entry.state, entry.value) = (EntryState::Answered, Some(answer));
                let word = std::mem::take(&mut entry.word);
                self.actions.push(Action::Wake(word));
                None
            }
            EntryState::Abandoned => {
                self.slab.remove(at);
                Some(answer)
            }
            _ => Some(answer),
        }
    }

    /// Keeps a message until another scheduler requests it. Returns its entry. Its sender waits
    /// unless the mode is [`SendMode::Buffered`].
    pub(super) fn keep(
        &mut self,
        member: u32,
        envelope: Envelope,
        value: Erased,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> u32 {
        // The sender of a buffered message does not wait.
        let state = match mode {
            SendMode::Buffered => EntryState::Unexpected,
            _ => EntryState::Held,
        };
        self.add(state, member, envelope, Some(value), at)
    }

    /// Returns true if an entry can be a message that is kept for another scheduler: the entry
    /// exists, and its receiver has no mailbox here.
    fn may_be_kept(&self, at: u32) -> bool {
        let entry = self.slab.entries.get(at as usize);
        entry.is_some_and(|entry| self.mailboxes.get(entry.member).is_none())
    }

    /// Takes and returns a kept message that another scheduler requests. Completes the send if its
    /// sender waits. Returns `None` if no such message is kept.
    pub(super) fn release(&mut self, at: u32) -> Option<Erased> {
        if !self.may_be_kept(at) {
            return None;
        }
        let entry = &mut self.slab.entries[at as usize];
        match entry.state {
            EntryState::Held => {
                entry.state = EntryState::Done;
                let word = std::mem::take(&mut entry.word);
                self.actions.push(Action::Wake(word));
                entry.value.take()
            }
            EntryState::Unexpected => {
                let value = entry.value.take();
                self.slab.remove(at);
                value
            }
            _ => None,
        }
    }

    /// Completes a ready send with [`Error::NotReady`], because another scheduler has no receive
    /// for it. Returns the message, or `None` if no such message is kept. If the sender no longer
    /// waits, the message is only removed and returned.
    pub(super) fn refused(&mut self, at: u32) -> Option<Erased> {
        if !self.may_be_kept(at) {
            return None;
        }
        let entry = &mut self.slab.entries[at as usize];
        if entry.state != EntryState::Held {
            return self.release(at);
        }
        entry.state = EntryState::Done;
        let word = std::mem::take(&mut entry.word);
        self.actions.push(Action::Wake(word));
        entry.value.replace(Erased::error(Error::NotReady))
    }

    /// Completes the match of a receive with a message of another scheduler: returns credit, and
    /// requests the value if it is still with its sender.
    pub(super) fn take_arrived(&mut self, message: u32) {
        let entry = &mut self.slab.entries[message as usize];
        let credit = std::mem::take(&mut entry.credit);
        if credit > 0 {
            self.actions.push(Action::Credit(entry.from, credit));
        }
        if let Some(remote) = entry.value.as_ref().and_then(Erased::as_remote) {
            entry.state = EntryState::Arriving;
            self.ask(remote, message);
        }
    }
}
