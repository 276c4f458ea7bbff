//! Messages that come from other schedulers, or are kept for them, among those that wait.

use std::panic::Location;

use super::entry::EntryState;
use super::envelope::Envelope;
use super::error::Error;
use super::frame::Whose;
use super::matching::{Matching, SendMode, Then};
use super::parcel::{Far, Parcel, Wanted};

/// What comes from another scheduler.
pub(super) struct Arrival {
    /// The rank that it is for.
    pub(super) home: u32,
    pub(super) envelope: Envelope,
    pub(super) parcel: Parcel,
    /// The scheduler.
    pub(super) from: u32,
    /// What its sender is to be told that there is room for again, in bytes.
    pub(super) credit: u32,
}

impl Matching {
    /// A message has come from another scheduler, or word of one; false: no receive waits for it, and it is not to wait.
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

    /// The value of an entry is wanted.
    pub(super) fn ask(&mut self, far: Far, at: u32) {
        self.asked.insert((far.scheduler, far.entry), at);
        if !far.asked {
            self.slab.entries[at as usize].parcel = Some(Parcel::far(Far { asked: true, ..far }));
            self.then.push(Then::ClearToSend(far.scheduler, far.entry));
        }
    }

    /// A value has come that was asked for: it goes where it is wanted. What it replaces, or itself, if it is not wanted any more.
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

    /// What somebody waits for who would have what comes.
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

    /// A rank has asked for something of the memory of another, a rank of a window: its entry.
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

    /// The answer to that has come. If nobody wants it any more, it comes back.
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

    /// A message is kept until another scheduler asks for it, which is told of it: its entry.
    pub(super) fn keep(
        &mut self,
        home: u32,
        envelope: Envelope,
        parcel: Parcel,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> u32 {
        // Who sends so does not wait.
        let state = match mode {
            SendMode::Buffered => EntryState::Unexpected,
            _ => EntryState::Held,
        };
        self.add(state, home, envelope, Some(parcel), at)
    }

    /// Whether an entry may be a message which is kept for another scheduler: not if its rank is here.
    fn may_be_kept(&self, at: u32) -> bool {
        let entry = self.slab.entries.get(at as usize);
        entry.is_some_and(|entry| self.mailboxes.get(entry.home).is_none())
    }

    /// Another scheduler asks for a message that was kept; `None`: there is none.
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

    /// Another scheduler has no receive for a ready send: the message comes back.
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

    /// A receive has a message of another scheduler.
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
