//! What else than channels processes of a scheduler may wait at: a floor above, of which this one knows no more
//! than what is here.

use std::any::Any;
use std::cell::{Cell, OnceCell};
use std::rc::Rc;

use super::current;
use super::hooks::Behind;
use super::point::Side;
use super::scheduler::Scheduler;
use super::task::TaskHeader;
use super::waits::{UNKNOWN, Update, Wait};
use crate::link::between;
use crate::link::inbox::Letter;
use crate::link::waiter::{ARMED, HOOK, ID};
use crate::place::Place;

/// Takes a wait: who waits by which word, for which rank (none: for any of several), in which call.
pub(crate) type TellWait<'a> = &'a mut dyn FnMut(u32, Option<u32>, &dyn Fn() -> (String, Place));

/// Messages that nobody has received: how many, and the first of them in words.
pub(crate) type UnreceivedMessages = (u64, Option<String>);

/// From here on kinds of frames are those of a floor above.
pub(crate) const ABOVE: u32 = 64;

/// A floor above, as a scheduler sees the part of it that is its own.
pub(crate) trait Floor: Any {
    /// Tells of every wait.
    fn calls(&self, tell: TellWait<'_>);

    /// The run is over, and its processes have gone: lets go of all that is kept for them. How many messages nobody has
    /// received, and one of them in words.
    fn close(&self) -> UnreceivedMessages;

    /// Something has come from another scheduler of this OS process.
    fn letter(&self, letter: Letter);

    /// A frame has come from a scheduler of another OS process.
    ///
    /// # Errors
    /// It cannot be one.
    fn frame(&self, from: u32, header: between::Header, bytes: &[u8]) -> Result<(), String>;
}

/// Makes the part of a floor that a scheduler has.
pub(crate) type MakeFloor = fn(&Scheduler) -> Rc<dyn Floor>;

/// A call in which a process waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitingCall {
    /// The process that waits, by rank.
    pub(crate) rank: u32,
    /// For whom; [`UNKNOWN`]: for any of several.
    pub(crate) peer: u32,
    /// The call in words.
    pub(crate) text: String,
    /// Where it is in the program.
    pub(crate) place: Place,
}

crate::payload!(WaitingCall {
    rank,
    peer,
    text,
    place
});

/// The calls that were told, with the numbers that they have among waits: those behind the channels'.
#[derive(Default)]
pub(crate) struct Calls {
    first: u32,
    calls: Vec<WaitingCall>,
}

impl Calls {
    pub(crate) fn new(channels: u32, calls: Vec<WaitingCall>) -> Self {
        Calls {
            first: channels,
            calls,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call of a number.
    pub(crate) fn get(&self, number: u32) -> Option<&WaitingCall> {
        self.calls.get(number.checked_sub(self.first)? as usize)
    }

    /// Each as a wait that begins, or, if they are `over`, that has ended.
    pub(crate) fn updates(&self, over: bool) -> impl Iterator<Item = Update> {
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

/// The part of a floor that a scheduler has: made when a process first asks for it, or something comes for it.
#[derive(Default)]
pub(crate) struct Above {
    floor: OnceCell<Rc<dyn Floor>>,
    make: Cell<Option<MakeFloor>>,
}

impl Above {
    /// Says what the floor is.
    pub(crate) fn set(&self, make: MakeFloor) {
        self.make.set(Some(make));
    }

    fn close(&self) -> UnreceivedMessages {
        self.floor.get().map_or((0, None), |floor| floor.close())
    }
}

impl Scheduler {
    /// The calls in which processes of this scheduler wait that have not been woken.
    pub(super) fn calls(&self) -> Vec<WaitingCall> {
        let mut calls = Vec::new();
        let Some(floor) = self.above.floor.get() else {
            return calls;
        };
        floor.calls(&mut |word, peer, what| {
            let id = match word & HOOK {
                0 => Some(word & ID),
                _ => match self.hooks.behind(word) {
                    Some(Behind::Process(id)) => Some(id),
                    _ => None,
                },
            };
            let awake = |id| self.header(id).is_some_and(TaskHeader::is_queued);
            let id = id.filter(|&id| word & ARMED != 0 && !awake(id));
            if let Some(rank) = id.and_then(|id| self.rank(id)) {
                let (text, place) = what();
                let peer = peer.unwrap_or(UNKNOWN);
                calls.push(WaitingCall {
                    rank,
                    peer,
                    text,
                    place,
                });
            }
        });
        calls
    }

    /// Whether processes may wait in calls.
    pub(super) fn has_floor_above(&self) -> bool {
        self.above.floor.get().is_some()
    }

    /// The floor above; none if there is none.
    fn floor(&self) -> Option<&Rc<dyn Floor>> {
        if let Some(floor) = self.above.floor.get() {
            return Some(floor);
        }
        let make = self.above.make.get()?;
        Some(self.above.floor.get_or_init(|| make(self)))
    }

    /// Gives the floor above what has come for it.
    pub(super) fn take_letters(&self, letters: Vec<Letter>) {
        for letter in letters {
            self.guarded(|| {
                if let Some(floor) = self.floor() {
                    floor.letter(letter);
                }
            });
        }
    }

    /// The same, from another OS process.
    pub(super) fn take_frame(&self, from: u32, header: between::Header, bytes: &[u8]) {
        let Some(floor) = self.floor() else { return };
        if let Err(why) = floor.frame(from, header, bytes) {
            self.fail_without_process(why);
        }
    }

    /// The processes of this run have gone: closes the floor above.
    pub(super) fn close_above(&self) -> UnreceivedMessages {
        self.above.close()
    }
}

/// The floor above the scheduler of this thread, and the rank of the process that is running; `None` if none is, or if the
/// floor is none of this type.
pub(crate) fn current<F: Floor>() -> Option<(Rc<F>, u32)> {
    let found = current::with_current(|scheduler| {
        let (kind, index) = scheduler.running()?;
        let floor = Rc::clone(scheduler.floor()?) as Rc<dyn Any>;
        let rank = scheduler.directory().rank(kind, index);
        Some((floor.downcast().ok()?, rank))
    });
    found.flatten()
}
