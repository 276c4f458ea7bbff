//! Where the ranks of a communicator meet for a collective call.
//!
//! The n-th collective call of each rank belongs to the n-th round. Who comes leaves what it brings in its place, so the
//! order of ranks is kept whoever comes first; the last to come makes the result of it all, once. So a call of n ranks
//! takes work in proportion to n, and no messages. A rank may go on without the others as soon as it has what it needs,
//! but not by more than some rounds.

use std::any::{Any, TypeId};
use std::cell::{Ref, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::communicator::Shared;
use super::entry::{NONE, State};
use super::error::{Error, Mismatch};
use super::world::{place, wake};
use crate::exec::floor::Tell;

/// So many rounds may be under way before a rank waits for the others.
const AHEAD: u32 = 8;

/// Which call it is. All ranks have to make the same.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) root: Option<usize>,
    /// What the ranks bring.
    of: TypeId,
    type_name: &'static str,
}

impl Call {
    pub(super) fn new<T: 'static>(name: &'static str, root: Option<usize>) -> Self {
        Call {
            name,
            root,
            of: TypeId::of::<T>(),
            type_name: std::any::type_name::<T>(),
        }
    }

    fn fits(&self, other: &Call) -> bool {
        self.name == other.name && self.root == other.root && self.of == other.of
    }

    fn text(&self) -> String {
        match (self.root, self.type_name) {
            (None, "()") => self.name.to_string(),
            (None, name) => format!("{} of `{name}`", self.name),
            (Some(root), name) => format!("{} of `{name}` with root {root}", self.name),
        }
    }
}

/// What a rank needs before it goes on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// What the root brings.
    Root,
    All,
}

/// What comes of a round.
pub(super) enum Outcome<R> {
    /// There is none yet, or it has been taken.
    None,
    /// One for all, and for how many yet.
    Shared(R, u32),
    /// One for each.
    Each(Vec<Option<R>>),
    /// One for the root.
    Root(R),
}

/// What the ranks bring to a round, by rank, and what comes of it.
pub(super) struct Data<T, R> {
    slots: Vec<Option<T>>,
    outcome: Outcome<R>,
}

impl<T, R> Data<T, R> {
    /// The share of one of all who get the same.
    pub(super) fn shared(&mut self) -> Option<R>
    where
        R: Clone,
    {
        if let Outcome::Shared(value, left) = &mut self.outcome
            && *left > 1
        {
            *left -= 1;
            return Some(value.clone());
        }
        self.root()
    }

    /// All of it.
    pub(super) fn root(&mut self) -> Option<R> {
        match std::mem::replace(&mut self.outcome, Outcome::None) {
            Outcome::Shared(value, _) | Outcome::Root(value) => Some(value),
            Outcome::None | Outcome::Each(_) => None,
        }
    }

    /// The part of a rank.
    pub(super) fn part(&mut self, rank: u32) -> Option<R> {
        match &mut self.outcome {
            Outcome::Each(parts) => parts.get_mut(rank as usize)?.take(),
            _ => None,
        }
    }
}

struct Round {
    call: Call,
    /// Who came first, and where its call is.
    first: (u32, &'static Location<'static>),
    arrived: u32,
    left: u32,
    /// The root has brought what all need.
    root_came: bool,
    complete: bool,
    error: Option<Error>,
    /// A `Data`; not while code of the user works on it.
    data: Option<Box<dyn Any>>,
    /// The entries of those who wait.
    waiting: Vec<u32>,
}

/// The rounds of a communicator that are under way.
#[derive(Default)]
pub(super) struct Rounds {
    /// The number of each rank's next round.
    turns: Vec<u32>,
    /// The number of the first round in the list.
    first: u32,
    open: VecDeque<Round>,
}

impl Rounds {
    fn get(&mut self, turn: u32) -> Option<&mut Round> {
        self.open.get_mut(turn.wrapping_sub(self.first) as usize)
    }

    /// Tells of those who wait in collective calls.
    pub(super) fn calls(this: &RefCell<Self>, shared: &Shared, tell: Tell<'_>) {
        let rounds: Ref<'_, Rounds> = this.borrow();
        for (number, round) in rounds.open.iter().enumerate() {
            let turn = rounds.first.wrapping_add(number as u32);
            let root = round
                .call
                .root
                .filter(|_| !round.root_came && matches!(round.call.name, "bcast" | "scatter"));
            let missing = || {
                let is_behind = |next: &u32| turn.wrapping_sub(*next) < u32::MAX / 2;
                rounds.turns.iter().position(is_behind)
            };
            let peer = root
                .or_else(missing)
                .and_then(|rank| shared.group().at(rank as u32));
            let what = |at: &'static Location<'static>| {
                let (call, name) = (round.call.text(), shared.name());
                let size = shared.group().len();
                (
                    format!("{call} ({name}, {} of {size} have come)", round.arrived),
                    place(at),
                )
            };
            let matching = shared.world.matching.borrow();
            for &entry in &round.waiting {
                let entry = &matching.slab.entries[entry as usize];
                tell(entry.word, peer, &|| what(entry.at));
            }
        }
    }
}

/// What a rank brings.
pub(super) enum Brought<T, R> {
    /// Its part.
    Part(T),
    /// Nothing: another brings what is needed.
    Nothing,
    /// What all need.
    Outcome(Outcome<R>),
}

/// A collective call that was begun. To let go of it takes nothing back: the others go on.
#[must_use = "who does not wait for a collective call does not know when it is done"]
pub struct Collective<R> {
    shared: Rc<Shared>,
    /// The round; none if there is nothing to be told any more.
    turn: Option<u32>,
    rank: u32,
    needs: Needs,
    entry: u32,
    take: fn(&mut dyn Any, u32) -> Option<R>,
    at: &'static Location<'static>,
}

/// The call that a rank makes, and where that is.
pub(super) struct Calling<'a> {
    pub(super) shared: &'a Rc<Shared>,
    pub(super) rank: u32,
    pub(super) call: Call,
    pub(super) at: &'static Location<'static>,
}

/// Begins the next collective call of a rank: `make` is to make the result of what all have brought, in the order of ranks,
/// if this is the last to come, and `take` takes this rank's part of it.
pub(super) fn begin<T: 'static, R: 'static, Out>(
    calling: Calling<'_>,
    brought: Result<Brought<T, R>, Error>,
    needs: Needs,
    make: impl FnOnce(Vec<T>) -> Outcome<R>,
    take: fn(&mut dyn Any, u32) -> Option<Out>,
) -> Collective<Out> {
    let Calling {
        shared,
        rank,
        call,
        at,
    } = calling;
    let size = shared.group().len();
    let mut rounds = shared.rounds.borrow_mut();
    if rounds.turns.is_empty() {
        rounds.turns = vec![0; size as usize];
    }
    let turn = rounds.turns[rank as usize];
    rounds.turns[rank as usize] = turn.wrapping_add(1);
    if rounds.get(turn).is_none() {
        rounds.open.push_back(Round {
            call,
            first: (rank, at),
            arrived: 0,
            left: 0,
            root_came: false,
            complete: false,
            error: None,
            data: Some(Box::new(Data::<T, R> {
                slots: Vec::new(),
                outcome: Outcome::None,
            })),
            waiting: Vec::new(),
        });
    }
    let mut unused = None;
    let mut finished = None;
    if let Some(round) = rounds.get(turn) {
        round.arrived += 1;
        match brought {
            Err(error) => drop(round.error.get_or_insert(error)),
            Ok(_) if !round.call.fits(&call) => {
                let (first, place) = round.first;
                let mismatch = Mismatch {
                    first: (first as usize, round.call.text(), place),
                    second: (rank as usize, call.text(), at),
                };
                round
                    .error
                    .get_or_insert(Error::Mismatch(Box::new(mismatch)));
            }
            Ok(brought) => {
                let data = round
                    .data
                    .as_mut()
                    .and_then(|data| data.downcast_mut::<Data<T, R>>());
                match (brought, data) {
                    (Brought::Part(part), Some(data)) => {
                        if data.slots.is_empty() {
                            data.slots.resize_with(size as usize, || None);
                        }
                        data.slots[rank as usize] = Some(part);
                    }
                    (Brought::Outcome(outcome), Some(data)) => {
                        data.outcome = outcome;
                        round.root_came = true;
                    }
                    (Brought::Nothing, _) => {}
                    (brought, None) => unused = Some(brought),
                }
            }
        }
        if round.arrived == size && round.error.is_none() {
            finished = round.data.take();
        }
        if round.error.is_some() || round.root_came {
            wake_all(shared, rounds);
        } else {
            drop(rounds);
        }
    } else {
        drop(rounds);
    }
    drop(unused);
    if let Some(mut data) = finished {
        // Code of the user, with nothing borrowed.
        if let Some(data) = data.downcast_mut::<Data<T, R>>() {
            let parts = std::mem::take(&mut data.slots);
            if matches!(data.outcome, Outcome::None) {
                data.outcome = make(parts.into_iter().flatten().collect());
            }
        }
        let mut rounds = shared.rounds.borrow_mut();
        if let Some(round) = rounds.get(turn) {
            (round.data, round.complete) = (Some(data), true);
        }
        wake_all(shared, rounds);
    }
    Collective {
        shared: Rc::clone(shared),
        turn: Some(turn),
        rank,
        needs,
        entry: NONE,
        take,
        at,
    }
}

/// Wakes those who wait for what has changed: all that wait at a round which may go on.
fn wake_all(shared: &Shared, mut rounds: std::cell::RefMut<'_, Rounds>) {
    let mut woken = Vec::new();
    for round in &mut rounds.open {
        if round.complete || round.root_came || round.error.is_some() {
            woken.append(&mut round.waiting);
        }
    }
    drop(rounds);
    for entry in woken {
        let word = shared.world.change(|matching| {
            matching.slab.entries[entry as usize].state = State::Done;
            matching.take_word(entry)
        });
        wake(word);
    }
}

impl<R> Collective<R> {
    /// Whether it need not be waited for.
    pub fn is_done(&self) -> bool {
        self.turn.is_none_or(|turn| {
            let mut rounds = self.shared.rounds.borrow_mut();
            self.shared.world.is_over() || is_ready(&mut rounds, turn, self.needs)
        })
    }

    /// This rank has done with the round.
    fn leave(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let entry = std::mem::replace(&mut self.entry, NONE);
        let mut rounds = self.shared.rounds.borrow_mut();
        let size = self.shared.group().len();
        if let Some(round) = rounds.get(turn) {
            round.left += 1;
            if entry != NONE {
                round.waiting.retain(|&waiting| waiting != entry);
            }
        }
        let mut gone = Vec::new();
        while rounds.open.front().is_some_and(|round| round.left == size) {
            gone.extend(rounds.open.pop_front());
            rounds.first = rounds.first.wrapping_add(1);
        }
        drop(rounds);
        if entry != NONE {
            self.shared.world.give_up(entry);
        }
        // Code of the user.
        drop(gone);
    }
}

fn is_ready(rounds: &mut Rounds, turn: u32, needs: Needs) -> bool {
    let is_near = turn.wrapping_sub(rounds.first) < AHEAD;
    rounds.get(turn).is_none_or(|round| {
        round.complete
            || round.error.is_some()
            || is_near
                && match needs {
                    Needs::Nothing => true,
                    Needs::Root => round.root_came,
                    Needs::All => false,
                }
    })
}

impl<R> Future for Collective<R> {
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(turn) = this.turn else {
            return Poll::Ready(Err(Error::Inactive));
        };
        let world = Rc::clone(&this.shared.world);
        loop {
            if world.is_over() {
                this.leave();
                return Poll::Ready(Err(Error::Over));
            }
            let mut rounds = this.shared.rounds.borrow_mut();
            if is_ready(&mut rounds, turn, this.needs) {
                break;
            }
            let Some(round) = rounds.get(turn) else { break };
            let context_of = this.shared.number();
            if this.entry == NONE {
                this.entry = world.change(|matching| matching.meet(context_of, this.at));
                round.waiting.push(this.entry);
            } else {
                let meets = |entry: &mut super::entry::Entry| {
                    std::mem::replace(&mut entry.state, State::Meeting) == State::Meeting
                };
                let mut matching = world.matching.borrow_mut();
                if !meets(&mut matching.slab.entries[this.entry as usize]) {
                    round.waiting.push(this.entry);
                }
            }
            drop(rounds);
            if world.wait(context, this.entry, State::Meeting) {
                return Poll::Pending;
            }
        }
        let mut rounds = this.shared.rounds.borrow_mut();
        let (error, data) = match rounds.get(turn) {
            Some(round) => (round.error.clone(), round.data.take()),
            None => (None, None),
        };
        drop(rounds);
        // Code of the user, with nothing borrowed.
        let taken = match (error, data) {
            (Some(error), data) => (Err(error), data),
            (None, Some(mut data)) => {
                let taken = (this.take)(&mut *data, this.rank).ok_or(Error::Inactive);
                (taken, Some(data))
            }
            (None, None) => (Err(Error::Inactive), None),
        };
        if let Some(round) = this.shared.rounds.borrow_mut().get(turn) {
            round.data = taken.1;
        }
        this.leave();
        Poll::Ready(taken.0)
    }
}

impl<R> Drop for Collective<R> {
    fn drop(&mut self) {
        self.leave();
    }
}
