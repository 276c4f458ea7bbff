//! What else than channels processes wait in: calls of a floor above, in words.

use super::side::Side;
use super::waits::{Update, Wait};
use crate::place::Place;

/// Messages that nobody has received: how many, and the first of them in words.
pub type UnreceivedMessages = (u64, Option<String>);

/// A call in which a process waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCall {
    /// The process that waits, by rank.
    pub rank: u32,
    /// For whom; `UNKNOWN`: for any of several.
    pub peer: u32,
    /// The call in words.
    pub text: String,
    /// Where it is in the program.
    pub place: Place,
}

crate::payload!(WaitingCall {
    rank,
    peer,
    text,
    place
});

/// The calls that were told, with the numbers that they have among waits: those behind the channels'.
#[derive(Default)]
pub struct Calls {
    first: u32,
    calls: Vec<WaitingCall>,
}

impl Calls {
    pub fn new(channels: u32, calls: Vec<WaitingCall>) -> Self {
        Calls {
            first: channels,
            calls,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call of a number.
    pub fn get(&self, number: u32) -> Option<&WaitingCall> {
        self.calls.get(number.checked_sub(self.first)? as usize)
    }

    /// Each as a wait that begins, or, if they are `over`, that has ended.
    pub fn updates(&self, over: bool) -> impl Iterator<Item = Update> {
        self.calls
            .iter()
            .zip(self.first..)
            .map(move |(call, number)| {
                let wait = Wait {
                    rank: call.rank,
                    peer: call.peer,
                    hint: false,
                    stop: false,
                    capacity: 0,
                };
                Update {
                    number,
                    side: Side::Read,
                    wait: (!over).then_some(wait),
                }
            })
    }
}
