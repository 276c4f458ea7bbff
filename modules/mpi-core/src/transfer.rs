//! Matching of messages that arrive from other schedulers or are kept for them.

use std::panic::Location;

use super::entry::EntryState;
use super::envelope::Envelope;
use super::error::Error;
use super::frame::Whose;
use super::matching::{Matching, SendMode, Then};
use super::parcel::{Far, Parcel, Wanted};

/// Message from another scheduler.
pub(super) struct Arrival {
    /// Receiving member.
    pub(super) home: u32,
    pub(super) envelope: Envelope,
    pub(super) parcel: Parcel,
    /// Scheduler of the sender.
    pub(super) from: u32,
    /// Credit in bytes to return to the sender.
    pub(super) credit: u32,
}

impl Matching {
    /// Matches a message, or the announcement of one, from another scheduler. If no receive
    /// matches, queues it if `waits` is true, and returns `waits`.
    pub(super) fn arrive(
        &mut self,
        arrival: Arrival,
        waits: bool,
        at: &'static Location<'static>,
    ) -> bool {
        let Arrival {
            home,
            envelope,
            parcel,
            from,
            credit,
        } = arrival;
        let is_far = parcel.as_far().is_some();
        if let Some((receive, entry)) = self.hand_at(home, envelope) {
            (entry.parcel, entry.from, entry.credit) = (Some(parcel), from, credit);
            if !is_far {
                let word = std::mem::take(&mut entry.word);
                self.then.push(Then::Wake(word));
            }
            self.take_arrived(receive);
            return true;
        }
        if waits {
            let message = self.add(EntryState::Unexpected, home, envelope, Some(parcel), at);
            let entry = &mut self.slab.entries[message as usize];
            (entry.from, entry.credit) = (from, credit);
            self.leave(home, message);
        }
        waits
    }

    /// Requests the value of the entry at `at` from its sender.
    pub(super) fn ask(&mut self, far: Far, at: u32) {
        self.asked.insert((far.scheduler, far.entry), at);
        if !far.asked {
            self.slab.entries[at as usize].parcel = Some(Parcel::far(Far { asked: true, ..far }));
            self.then.push(Then::ClearToSend(far.scheduler, far.entry));
        }
    }

    /// Stores a requested value in its entry. Returns the replaced value, or `value` itself if it
    /// is no longer needed.
    pub(super) fn come(&mut self, from: u32, entry: u32, value: Parcel) -> Option<Parcel> {
        let Some(at) = self.asked.remove(&(from, entry)) else {
            return Some(value);
        };
        let entry = &mut self.slab.entries[at as usize];
        if entry.state == EntryState::Coming {
            entry.state = EntryState::Taken;
            let word = std::mem::take(&mut entry.word);
            self.then.push(Then::Wake(word));
        }
        entry.parcel.replace(value)
    }

    /// Returns the type that the receive of an arriving message expects.
    pub(super) fn wanted(&self, from: u32, whose: Whose) -> Option<Wanted> {
        let at = match whose {
            Whose::Message(home, envelope) => {
                let mailbox = self.mailboxes.get(home)?;
                mailbox
                    .posted
                    .first_that_takes(&self.slab.entries, envelope)?
            }
            Whose::Asked(entry) => *self.asked.get(&(from, entry))?,
            Whose::Nobody => return None,
        };
        self.slab.entries.get(at as usize)?.wanted
    }

    /// Creates the entry for an access to the memory of a rank of a window.
    pub(super) fn access(
        &mut self,
        home: u32,
        (context, target): (u32, u32),
        what: i32,
        at: &'static Location<'static>,
    ) -> u32 {
        let envelope = Envelope::new(context, Some(target), Some(what));
        self.add(EntryState::Accessing, home, envelope, None, at)
    }

    /// Stores the answer to an access. Returns it if it is no longer needed.
    pub(super) fn answered(&mut self, at: u32, answer: Parcel) -> Option<Parcel> {
        let Some(entry) = self.slab.entries.get_mut(at as usize) else {
            return Some(answer);
        };
        match entry.state {
            EntryState::Accessing => {
                (entry.state, entry.parcel) = (EntryState::Answered, Some(answer));
                let word = std::mem::take(&mut entry.word);
                self.then.push(Then::Wake(word));
                None
            }
            EntryState::Forgotten => {
                self.slab.remove(at);
                Some(answer)
            }
            _ => Some(answer),
        }
    }

    /// Keeps a message until another scheduler requests it. Returns its entry.
    pub(super) fn keep(
        &mut self,
        home: u32,
        envelope: Envelope,
        parcel: Parcel,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> u32 {
        // The sender of a buffered message does not wait.
        let state = match mode {
            SendMode::Buffered => EntryState::Unexpected,
            _ => EntryState::Held,
        };
        self.add(state, home, envelope, Some(parcel), at)
    }

    /// Returns true if an entry can be a message that is kept for another scheduler, which means
    /// that its receiver is not here.
    fn may_be_kept(&self, at: u32) -> bool {
        let entry = self.slab.entries.get(at as usize);
        entry.is_some_and(|entry| self.mailboxes.get(entry.home).is_none())
    }

    /// Removes a kept message that another scheduler requests. Returns `None` if it does not exist.
    pub(super) fn release(&mut self, at: u32) -> Option<Parcel> {
        if !self.may_be_kept(at) {
            return None;
        }
        let entry = &mut self.slab.entries[at as usize];
        match entry.state {
            EntryState::Held => {
                entry.state = EntryState::Done;
                let word = std::mem::take(&mut entry.word);
                self.then.push(Then::Wake(word));
                entry.parcel.take()
            }
            EntryState::Unexpected => {
                let parcel = entry.parcel.take();
                self.slab.remove(at);
                parcel
            }
            _ => None,
        }
    }

    /// Completes a ready send with [`Error::NotReady`], because another scheduler has no receive
    /// for it. Returns the message.
    pub(super) fn refused(&mut self, at: u32) -> Option<Parcel> {
        if !self.may_be_kept(at) {
            return None;
        }
        let entry = &mut self.slab.entries[at as usize];
        if entry.state != EntryState::Held {
            return self.release(at);
        }
        entry.state = EntryState::Done;
        let word = std::mem::take(&mut entry.word);
        self.then.push(Then::Wake(word));
        entry.parcel.replace(Parcel::error(Error::NotReady))
    }

    /// Completes the match of a receive with a message of another scheduler: returns credit, and
    /// requests the value if it is still with its sender.
    pub(super) fn take_arrived(&mut self, message: u32) {
        let entry = &mut self.slab.entries[message as usize];
        let credit = std::mem::take(&mut entry.credit);
        if credit > 0 {
            self.then.push(Then::Credit(entry.from, credit));
        }
        if let Some(far) = entry.parcel.as_ref().and_then(Parcel::as_far) {
            entry.state = EntryState::Coming;
            self.ask(far, message);
        }
    }
}
