//! Acknowledgements: each token from another scheduler brings how much that scheduler has taken from a channel.
//!
//! So a writer that is answered knows that there is room without a look at the reader's cache line, which costs as
//! much as a token does.

use std::cell::Cell;

use crate::link::spsc::Ack;

/// Channels of which is known how much was taken: a power of two.
const KNOWN: usize = 16;

/// The acknowledgements of one scheduler, for channels of its own run alone.
pub(crate) struct Acks {
    /// For the channel that it took from last.
    last: Place,
    /// What the others said of channels that it puts into; each has one place where it may be.
    known: [Place; KNOWN],
}

struct Place {
    channel: Cell<u32>,
    taken: Cell<u64>,
}

impl Place {
    const fn new() -> Self {
        Place {
            channel: Cell::new(Ack::NONE.channel),
            taken: Cell::new(Ack::NONE.taken),
        }
    }

    #[inline(always)]
    fn set(&self, ack: Ack) {
        self.channel.set(ack.channel);
        self.taken.set(ack.taken);
    }
}

impl Acks {
    pub(crate) fn new() -> Self {
        Acks {
            last: Place::new(),
            known: [const { Place::new() }; KNOWN],
        }
    }

    #[inline(always)]
    fn place(&self, channel: u32) -> &Place {
        &self.known[channel as usize % KNOWN]
    }

    /// A token has been taken, with what came with it.
    #[inline(always)]
    pub(crate) fn took(&self, own: Ack, others: Ack) {
        self.last.set(own);
        let place = self.place(others.channel);
        if place.channel.get() == others.channel {
            place.taken.set(others.taken);
        }
    }

    /// A token is going to be put into a channel: how many are known to have been taken from it, and
    /// what is to go with the token.
    #[inline(always)]
    pub(crate) fn puts(&self, channel: u32) -> (u64, Ack) {
        let place = self.place(channel);
        if place.channel.get() != channel {
            place.set(Ack { channel, taken: 0 });
        }
        let last = Ack {
            channel: self.last.channel.get(),
            taken: self.last.taken.get(),
        };
        (place.taken.get(), last)
    }
}
