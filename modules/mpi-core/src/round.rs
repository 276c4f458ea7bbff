//! Synchronization of the ranks of a communicator in a collective call.
//!
//! The n-th collective call of each rank belongs to the n-th collective instance. A rank stores its
//! contribution at its index, so the result does not depend on the order of arrival. The last rank
//! to arrive computes the result once. So a call of n ranks takes O(n) work and no messages. A rank
//! can continue as soon as it has the data that it needs, but not by more than [`AHEAD`] instances.
//! `distributed.rs` handles ranks on several schedulers.

use std::any::Any;
use std::cell::{Ref, RefCell};
use std::panic::Location;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use super::call::{Brought, Call, CallOutcome, Combine, Data, Needs, Taker, place};
use super::entry::{EntryState, NONE};
use super::error::Error;
use super::request::Request;
use super::state::{CommunicatorState, Round, Rounds};
use super::world::wake;
use graphmap_executor::exec::upper_layer::TellWait;
use graphmap_executor::exec::user_code::uninterrupted;
use graphmap_executor::payload::Payload;

/// Number of instances that can be active before a rank waits for the others.
const AHEAD: u32 = 8;
/// Maximum number of instances that another scheduler can be ahead. It is larger than [`AHEAD`],
/// because a rank that drops the futures of its calls does not wait.
const FAR_AHEAD: u32 = 1 << 16;

/// Maximum number of ranks for which the numbers of the next instances are kept between calls. For
/// more ranks they are recomputed, so that an idle communicator takes no memory per rank.
const KEPT: usize = 1024;

impl Rounds {
    pub(super) fn get(&mut self, turn: u32) -> Option<&mut Round> {
        self.open.get_mut(turn.wrapping_sub(self.first) as usize)
    }

    /// Returns an active or future instance. Returns `None` if it is over, or too far ahead.
    pub(super) fn reach(&mut self, turn: u32, distributed: bool) -> Option<&mut Round> {
        let ahead = turn.wrapping_sub(self.first);
        if ahead >= FAR_AHEAD {
            return None;
        }
        while self.open.len() <= ahead as usize {
            self.open.push_back(Round {
                call: None,
                arrived: 0,
                left: 0,
                root_came: false,
                complete: false,
                error: None,
                data: None,
                waiting: Vec::new(),
                distributed: distributed.then(Box::default),
            });
        }
        self.get(turn)
    }

    /// Returns the number of the instance of the next call of the rank at index `place`, and
    /// advances it. `here` is the number of ranks here.
    fn next_turn(&mut self, place: Option<usize>, here: u32) -> u32 {
        if self.turns.is_empty() {
            // Without an active instance, the next one of all ranks is `first`.
            self.turns = vec![self.first; here as usize];
        }
        let next = place.and_then(|place| self.turns.get_mut(place));
        next.map_or(0, |next| std::mem::replace(next, next.wrapping_add(1)))
    }

    /// Returns true if an instance is over.
    pub(super) fn is_past(&self, turn: u32) -> bool {
        turn.wrapping_sub(self.first) > u32::MAX / 2
    }

    /// Reports the ranks that wait in collective calls.
    pub(super) fn calls(this: &RefCell<Self>, shared: &CommunicatorState, tell: TellWait<'_>) {
        let rounds: Ref<'_, Rounds> = this.borrow();
        for (number, round) in rounds.open.iter().enumerate() {
            let Some((call, ..)) = &round.call else {
                continue;
            };
            let turn = rounds.first.wrapping_add(number as u32);
            let root = call
                .root
                .filter(|_| !round.root_came && matches!(call.name, "bcast" | "scatter"));
            let missing = || {
                let is_behind = |next: u32| turn.wrapping_sub(next) < u32::MAX / 2;
                let mut turns = (0..).zip(&rounds.turns);
                let (place, _) = turns.find(|&(_, next)| is_behind(*next))?;
                shared.at_place(place).map(|rank| rank as usize)
            };
            let peer = root
                .or_else(missing)
                .and_then(|rank| shared.group().at(rank as u32));
            let peer = shared.world.awaited(None, peer);
            let what = |at: &'static Location<'static>| {
                let (call, name, here) = (call.text(), shared.name(), shared.here());
                let place_of_all = if round.distributed.is_some() {
                    " here"
                } else {
                    ""
                };
                (
                    format!(
                        "{call} ({name}, {} of {here} ranks{place_of_all} have called)",
                        round.arrived
                    ),
                    place(at),
                )
            };
            let matching = shared.world.matching.borrow();
            for &entry in round.waiting.iter().filter(|&&entry| entry != NONE) {
                let entry = &matching.slab.entries[entry as usize];
                tell(entry.word, peer, &|| what(entry.at));
            }
        }
    }
}

/// A started collective call. Dropping it does not cancel the call: the other ranks continue.
#[must_use = "if the collective call is not awaited, its completion is unknown"]
pub struct Collective<R> {
    shared: Rc<CommunicatorState>,
    /// Number of the instance. `None` after the outcome was returned.
    turn: Option<u32>,
    rank: u32,
    needs: Needs,
    entry: u32,
    /// Index of `entry` in `Round::waiting`.
    place: usize,
    take: fn(&mut dyn Any, Taker) -> Option<R>,
    at: &'static Location<'static>,
}

/// A call that a rank makes, and its position.
pub(super) struct Calling<'a> {
    pub(super) shared: &'a Rc<CommunicatorState>,
    pub(super) rank: u32,
    pub(super) call: Call,
    pub(super) at: &'static Location<'static>,
}

/// Consequences of the arrival of a rank at an instance.
#[derive(Default)]
struct Arrival {
    /// Error of this call that all ranks receive.
    mistake: Option<Error>,
    /// This rank is the root, and has contributed the value that all ranks need.
    root_came: bool,
    /// This is the last rank here to arrive, and no call was an error.
    all_here: bool,
}

impl Round {
    /// Records the call of a rank and its contribution. Returns a contribution that it cannot
    /// record, because dropping that runs user code.
    fn arrive<T: Payload + 'static, R: Payload + 'static>(
        &mut self,
        calling: &Calling<'_>,
        brought: Result<Brought<T, R>, Error>,
    ) -> (Arrival, Option<Brought<T, R>>) {
        let (shared, rank, call, at) = (calling.shared, calling.rank, calling.call, calling.at);
        let (first_call, first, place) = *self.call.get_or_insert((call, rank, at));
        if self.arrived == 0 {
            self.data = Some(Box::new(Data::<T, R>::new()));
        }
        if let Some(distributed) = &mut self.distributed {
            distributed.be_of::<T, R>();
        }
        self.arrived += 1;
        let is_root = matches!(brought, Ok(Brought::Outcome(_)));
        let (mistake, unused) = match brought {
            Err(error) => (Some(error), None),
            Ok(brought) if !first_call.fits(&call) => {
                let mismatch = first_call.by(first, place).against(call.by(rank, at));
                (Some(Error::Mismatch(Box::new(mismatch))), Some(brought))
            }
            Ok(brought) => (None, self.put(rank, shared.group().len(), brought)),
        };
        // All ranks receive the same error: the first.
        let mistake = mistake.filter(|_| self.error.is_none());
        if mistake.is_some() {
            self.error.clone_from(&mistake);
        }
        let arrival = Arrival {
            mistake,
            root_came: is_root && unused.is_none(),
            all_here: self.arrived == shared.here() && self.error.is_none(),
        };
        (arrival, unused)
    }

    /// Stores the contribution of a rank. Returns it if user code works on the data.
    fn put<T: 'static, R: 'static>(
        &mut self,
        rank: u32,
        size: u32,
        brought: Brought<T, R>,
    ) -> Option<Brought<T, R>> {
        let data = self.data.as_mut();
        let Some(data) = data.and_then(|data| data.downcast_mut::<Data<T, R>>()) else {
            return Some(brought);
        };
        match brought {
            Brought::Part(part) if self.distributed.is_some() => data.parts.push((rank, part)),
            Brought::Part(part) => {
                if data.slots.is_empty() {
                    data.slots.resize_with(size as usize, || None);
                }
                data.slots[rank as usize] = Some(part);
            }
            Brought::Outcome(outcome) => (data.outcome, self.root_came) = (outcome, true),
            Brought::Nothing => {}
        }
        None
    }
}

/// Starts the next collective call of a rank. `make` computes the result from the contributions of
/// all ranks, in rank order, if this rank is the last to arrive. `take` extracts the part of this
/// rank.
pub(super) fn begin<T: Payload + 'static, R: Payload + 'static, Out>(
    calling: Calling<'_>,
    brought: Result<Brought<T, R>, Error>,
    needs: Needs,
    make: impl Combine<T, R>,
    take: fn(&mut dyn Any, Taker) -> Option<Out>,
) -> Collective<Out> {
    let shared = calling.shared;
    let mut brought = brought;
    // This runs user code, so no state is borrowed.
    let for_others = match &mut brought {
        Ok(Brought::Outcome(outcome)) => shared.shares(outcome, calling.call.root),
        _ => Vec::new(),
    };
    if let Some(traffic) = &shared.world.traffic {
        traffic.borrow_mut().call(shared.known());
    }
    let distributed = shared.distribution.is_some();
    let mut rounds = shared.rounds.borrow_mut();
    let turn = rounds.next_turn(shared.place_here(calling.rank), shared.here());
    let (arrival, unused, finished) = match rounds.reach(turn, distributed) {
        Some(round) => {
            let (arrival, unused) = round.arrive(&calling, brought);
            let is_finished = arrival.all_here && !distributed;
            let finished = round.data.take_if(|_| is_finished);
            if round.error.is_some() || round.root_came {
                wake_all(shared, rounds);
            } else {
                drop(rounds);
            }
            (arrival, unused, finished)
        }
        None => {
            drop(rounds);
            (Arrival::default(), brought.ok(), None)
        }
    };
    if distributed {
        shared.keep_busy();
        if let Some(mistake) = arrival.mistake {
            shared.mistaken(turn, mistake);
        }
        if arrival.root_came {
            shared.send_root(turn, calling.call.sign(), for_others);
        }
        shared.take_pending(turn);
        if arrival.all_here {
            shared.all_here_have_come(turn, &calling.call, make);
        }
    } else if let Some(data) = finished {
        shared.finish(turn, &calling.call, data, make);
    }
    let collective = Collective {
        shared: Rc::clone(shared),
        turn: Some(turn),
        rank: calling.rank,
        needs,
        entry: NONE,
        place: 0,
        take,
        at: calling.at,
    };
    // This drop runs user code, so it comes last. If it panics, `collective` is dropped, which
    // leaves the instance.
    drop(unused);
    collective
}

/// Wakes all ranks that wait at an instance in which they may be able to continue.
pub(super) fn wake_all(shared: &CommunicatorState, mut rounds: std::cell::RefMut<'_, Rounds>) {
    let mut woken = Vec::new();
    for round in &mut rounds.open {
        if round.complete || round.root_came || round.error.is_some() {
            woken.append(&mut round.waiting);
        }
    }
    drop(rounds);
    for entry in woken.into_iter().filter(|&entry| entry != NONE) {
        let word = shared.world.change(|matching| {
            matching.slab.entries[entry as usize].state = EntryState::Done;
            matching.take_word(entry)
        });
        wake(word);
    }
}

impl CommunicatorState {
    /// Runs user code that computes the value that all ranks of a call wait for.
    pub(super) fn make_for_all<T>(&self, call: &Call, make: impl FnOnce() -> T) -> T {
        let what = || format!("{} of {}", call.text(), self.name());
        self.world.make_for_all(what, make)
    }

    /// Computes the result of an instance whose ranks are all here.
    fn finish<T: 'static, R: 'static>(
        &self,
        turn: u32,
        call: &Call,
        mut data: Box<dyn Any>,
        make: impl Combine<T, R>,
    ) {
        // This runs user code, so no state is borrowed.
        if let Some(data) = data.downcast_mut::<Data<T, R>>() {
            let parts = std::mem::take(&mut data.slots);
            if matches!(data.outcome, CallOutcome::None) {
                let make = || make.make(parts.into_iter().flatten().collect());
                data.outcome = self.make_for_all(call, make);
            }
        }
        self.complete(turn, data);
    }

    /// Stores the result of an instance, and wakes the ranks that wait for it.
    pub(super) fn complete(&self, turn: u32, data: Box<dyn Any>) {
        let mut rounds = self.rounds.borrow_mut();
        if let Some(round) = rounds.get(turn) {
            (round.data, round.complete) = (Some(data), true);
        }
        wake_all(self, rounds);
    }

    /// Removes instances that all ranks have left and that expect no more messages.
    pub(super) fn close_rounds(&self) {
        let here = self.here();
        let mut gone = Vec::new();
        let mut rounds = self.rounds.borrow_mut();
        let is_over = |round: &Round| {
            let closed = round.distributed.as_ref().is_none_or(|of| of.is_closed());
            round.left == here && closed
        };
        while rounds.open.front().is_some_and(is_over) {
            gone.extend(rounds.open.pop_front());
            rounds.first = rounds.first.wrapping_add(1);
        }
        let idle = rounds.open.is_empty();
        if idle && rounds.turns.len() > KEPT {
            rounds.turns = Vec::new();
        }
        drop(rounds);
        // This drop runs user code.
        drop(gone);
        if idle && self.distribution.is_some() {
            let kept = self.world.busy.borrow_mut().remove(&self.number());
            drop(kept);
        }
    }
}

impl<R> Collective<R> {
    /// Returns true if awaiting it would not block.
    pub fn is_done(&self) -> bool {
        self.turn.is_none_or(|turn| {
            let mut rounds = self.shared.rounds.borrow_mut();
            self.shared.world.is_over() || is_ready(&mut rounds, turn, self.needs)
        })
    }

    /// Marks this rank as done with the instance.
    fn leave(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let entry = std::mem::replace(&mut self.entry, NONE);
        let this_place = self.place;
        let mut rounds = self.shared.rounds.borrow_mut();
        if let Some(round) = rounds.get(turn) {
            round.left += 1;
            // The indices of other entries stay the same.
            if let Some(waiting) = round.waiting.get_mut(this_place)
                && *waiting == entry
            {
                *waiting = NONE;
            }
        }
        drop(rounds);
        if entry != NONE {
            self.shared.world.give_up(entry);
        }
        self.shared.close_rounds();
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
            // If user code works on the result and polls this meanwhile, this waits until the
            // result is returned.
            let is_lent = |round: &mut Round| round.data.is_none() && round.error.is_none();
            if is_ready(&mut rounds, turn, this.needs) && !rounds.get(turn).is_some_and(is_lent) {
                break;
            }
            let Some(round) = rounds.get(turn) else { break };
            let context_of = this.shared.number();
            if this.entry == NONE {
                this.entry = world.change(|matching| matching.meet(context_of, this.at));
                this.place = round.waiting.len();
                round.waiting.push(this.entry);
            } else {
                let meets = |entry: &mut super::entry::Entry| {
                    std::mem::replace(&mut entry.state, EntryState::Meeting) == EntryState::Meeting
                };
                let mut matching = world.matching.borrow_mut();
                if !meets(&mut matching.slab.entries[this.entry as usize]) {
                    this.place = round.waiting.len();
                    round.waiting.push(this.entry);
                }
            }
            drop(rounds);
            if world.wait(context, this.entry, EntryState::Meeting) {
                return Poll::Pending;
            }
        }
        let mut rounds = this.shared.rounds.borrow_mut();
        let found = rounds.get(turn);
        let here = this.shared.here();
        let found = found.map(|round| {
            (
                round.error.clone(),
                round.data.take(),
                round.left + 1 == here,
            )
        });
        drop(rounds);
        let (error, data, is_last) = found.unwrap_or_default();
        let rank = this.rank;
        let taker = Taker { rank, is_last };
        let shared = &this.shared;
        let mut lent = Lent { shared, turn, data };
        // This runs user code, so no state is borrowed.
        let taken = match (error, &mut lent.data) {
            (Some(error), _) => Err(error),
            (None, Some(data)) => {
                let taken = uninterrupted(|| (this.take)(&mut **data, taker));
                taken.ok_or(Error::Inactive)
            }
            (None, None) => Err(Error::Inactive),
        };
        drop(lent);
        this.leave();
        Poll::Ready(taken)
    }
}

/// The data of an instance while a rank takes its part. Dropping this returns them to the instance,
/// also after a panic.
struct Lent<'a> {
    shared: &'a CommunicatorState,
    turn: u32,
    data: Option<Box<dyn Any>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut rounds = self.shared.rounds.borrow_mut();
        let Some(round) = rounds.get(self.turn) else {
            return;
        };
        round.data = self.data.take();
        if !round.waiting.is_empty() {
            wake_all(self.shared, rounds);
        }
    }
}

impl<R> Request for Collective<R> {
    type Outcome = R;

    fn is_active(&self) -> bool {
        self.turn.is_some()
    }

    fn is_done(&self) -> bool {
        Collective::is_done(self)
    }

    /// Returns false. A collective call cannot be cancelled, because the other ranks continue.
    fn cancel(self) -> bool {
        false
    }

    fn disarm(&mut self) {
        if self.entry != NONE {
            let world = &self.shared.world;
            let word = world.change(|matching| matching.take_word(self.entry));
            world.unhook(self.entry, word);
        }
    }
}

impl<R> Drop for Collective<R> {
    fn drop(&mut self) {
        self.leave();
    }
}
