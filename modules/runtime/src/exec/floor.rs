//! What else than channels processes of a scheduler may wait at: a floor above, of which this one knows no more
//! than what is here.

use std::any::Any;
use std::cell::OnceCell;
use std::rc::Rc;

use super::current;
use super::hooks::Behind;
use super::point::Side;
use super::scheduler::Scheduler;
use super::task::Header;
use super::waits::{UNKNOWN, Update, Wait};
use crate::link::waiter::{ARMED, HOOK, ID};
use crate::place::Place;

/// Takes a wait: who waits by which word, for which rank (none: for any of several), in which call.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(u32, Option<u32>, &dyn Fn() -> (String, Place));

/// Messages that nobody has received: how many, and the first of them in words.
pub(crate) type Unreceived = (u64, Option<String>);

/// A floor above, as a scheduler sees the part of it that is its own.
pub(crate) trait Floor: Any {
    /// Tells of every wait.
    fn calls(&self, tell: Tell<'_>);

    /// The run is over, and its processes have gone: lets go of all that is kept for them. How many messages nobody has
    /// received, and one of them in words.
    fn close(&self) -> Unreceived;
}

/// A call in which a process waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// The process that waits, by rank.
    pub(crate) rank: u32,
    /// For whom; [`UNKNOWN`]: for any of several.
    pub(crate) peer: u32,
    /// The call in words.
    pub(crate) text: String,
    /// Where it is in the program.
    pub(crate) place: Place,
}

crate::payload!(Call {
    rank,
    peer,
    text,
    place
});

/// The calls that were told, with the numbers that they have among waits: those behind the channels'.
#[derive(Default)]
pub(crate) struct Calls {
    first: u32,
    calls: Vec<Call>,
}

impl Calls {
    pub(crate) fn new(channels: u32, calls: Vec<Call>) -> Self {
        Calls {
            first: channels,
            calls,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call of a number.
    pub(crate) fn get(&self, number: u32) -> Option<&Call> {
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

/// The part of a floor that a scheduler has.
#[derive(Default)]
pub(crate) struct Above(OnceCell<Rc<dyn Floor>>);

impl Above {
    /// The floor, which is made if it is not there yet; `None` if there is one of another type.
    pub(crate) fn get<F: Floor>(&self, make: impl FnOnce() -> Rc<F>) -> Option<Rc<F>> {
        let floor: Rc<dyn Any> = Rc::clone(self.0.get_or_init(|| make())) as Rc<dyn Any>;
        floor.downcast().ok()
    }

    pub(super) fn close(&self) -> Unreceived {
        self.0.get().map_or((0, None), |floor| floor.close())
    }
}

impl Scheduler {
    /// The calls in which processes of this scheduler wait that have not been woken.
    pub(super) fn calls(&self) -> Vec<Call> {
        let mut calls = Vec::new();
        let Some(floor) = self.above.0.get() else {
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
            let awake = |id| self.header(id).is_some_and(Header::is_queued);
            let id = id.filter(|&id| word & ARMED != 0 && !awake(id));
            if let Some(rank) = id.and_then(|id| self.rank(id)) {
                let (text, place) = what();
                let peer = peer.unwrap_or(UNKNOWN);
                calls.push(Call {
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
        self.above.0.get().is_some()
    }
}

/// Calls `f` with the scheduler of this thread if it has all processes of its run, with the number of ranks and the
/// rank of the process that is running.
pub(crate) fn alone<R>(f: impl FnOnce(&Scheduler, u32, u32) -> R) -> Alone<R> {
    let alone = current::with_current(|scheduler| {
        let (kind, index) = scheduler.running()?;
        let shared = scheduler.shared();
        if shared.inboxes() > 1 || shared.os_process().is_some_and(|(_, count)| count > 1) {
            return Some(None);
        }
        let directory = scheduler.directory();
        let rank = directory.rank(kind, index);
        Some(Some(f(scheduler, directory.processes() as u32, rank)))
    });
    match alone.flatten() {
        None => Alone::NoProcess,
        Some(None) => Alone::OfSeveral,
        Some(Some(answer)) => Alone::Yes(answer),
    }
}

/// Whether a scheduler has all processes of its run.
pub(crate) enum Alone<R> {
    Yes(R),
    /// There are other schedulers.
    OfSeveral,
    /// No process is running.
    NoProcess,
}
