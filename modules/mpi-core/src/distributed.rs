//! Collective calls of communicators whose ranks are on several schedulers.
//!
//! On each scheduler, the local ranks arrive as if all ranks were local. When all have arrived,
//! their combined contributions are sent to the *leader*, which is the scheduler of rank 0. The
//! leader computes the result when it has all contributions, and sends each scheduler the part for
//! its ranks. This takes two hops, and in each direction one message per other scheduler. If the
//! root alone provides the data, its scheduler sends each other scheduler its part directly.
//!
//! Each scheduler checks that its ranks make the same call, and the leader compares the schedulers.
//! The first error that it receives is reported to all ranks. A collective instance remains until
//! the leader has ended it, so that a scheduler cannot get far ahead of the others.

use std::any::Any;
use std::collections::BTreeMap;
use std::rc::Rc;

use super::call::{Call, CallOutcome, Caller, Combine, Data};
use super::error::Error;
use super::frame::Frame;
use super::others::{Distribution, Others};
use super::round::wake_all;
use super::state::{CommunicatorState, Distributed, Shares, Word};
use graphmap_executor::exec::user_code;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

impl Distributed {
    /// Records the types of the call, when the first rank of this scheduler arrives.
    pub(super) fn be_of<T: Payload + 'static, R: Payload + 'static>(&mut self) {
        self.accept.get_or_insert(accept::<T, R>);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }
}

/// First byte of an encoded outcome.
const NOTHING: u8 = 0;
const SHARED: u8 = 1;
const EACH: u8 = 2;
const ROOT: u8 = 3;
/// The root sends the value to all schedulers itself. It may arrive later than this.
const GIVEN: u8 = 4;

fn accept<T: Payload + 'static, R: Payload + 'static>(
    shared: &CommunicatorState,
    data: &mut dyn Any,
    bytes: &[u8],
) -> Result<(), DecodeError> {
    let Some((data, (kind, bytes))) = data.downcast_mut::<Data<T, R>>().zip(bytes.split_first())
    else {
        return Ok(());
    };
    match *kind {
        SHARED => data.outcome = CallOutcome::Shared(Decoder::from_slice(bytes)?),
        ROOT => data.outcome = CallOutcome::Root(Decoder::from_slice(bytes)?),
        EACH => {
            let parts: Vec<(u32, R)> = Decoder::from_slice(bytes)?;
            let mut each: Vec<Option<R>> = Vec::new();
            each.resize_with(shared.group().size(), || None);
            for (rank, part) in parts {
                if let Some(place) = each.get_mut(rank as usize) {
                    *place = Some(part);
                }
            }
            data.outcome = CallOutcome::Each(each);
        }
        _ => {}
    }
    Ok(())
}

/// Returns the location of the ranks, and the other schedulers.
fn whereabouts(shared: &CommunicatorState) -> Option<(&Distribution, &Others)> {
    shared
        .distribution
        .as_deref()
        .zip(shared.world.others.as_ref())
}

impl CommunicatorState {
    /// Returns the leader of the collective calls. `None` if it is this scheduler.
    fn leader(&self) -> Option<u32> {
        let (distribution, others) = whereabouts(self)?;
        Some(distribution.leader).filter(|&leader| leader != others.me())
    }

    fn tell(&self, to: u32, turn: u32, word: &Word) {
        if let Some(others) = &self.world.others {
            let bytes = Encoder::behind(turn.to_ne_bytes().to_vec(), word);
            let context = self.number();
            others.send(to, Frame::Round { context, bytes });
        }
    }

    fn tell_others(&self, turn: u32, word: &Word) {
        let others = whereabouts(self).map(|(distribution, _)| &distribution.others);
        for &other in others.into_iter().flatten() {
            self.tell(other, turn, word);
        }
    }

    /// Encodes the parts of an outcome for the other schedulers. Parts for single ranks are removed
    /// from the outcome. Calls user code.
    pub(super) fn shares<R: Payload>(
        &self,
        outcome: &mut CallOutcome<R>,
        root: Option<usize>,
    ) -> Shares {
        let Some((distribution, others)) = whereabouts(self) else {
            return Vec::new();
        };
        let process = |rank: u32| self.world.process_of(self.group().at(rank)?);
        let home = |rank: u32| Some(others.home_of(process(rank)?));
        match outcome {
            CallOutcome::None => self.to_all(&[NOTHING]),
            CallOutcome::Shared(value) => self.to_all(&Encoder::behind(vec![SHARED], value)),
            CallOutcome::Root(_) => {
                let root = root.and_then(|root| home(root as u32));
                let mut shares = self.to_all(&[NOTHING]);
                if let Some(share) = shares.iter_mut().find(|share| Some(share.0) == root)
                    && let CallOutcome::Root(value) = std::mem::replace(outcome, CallOutcome::None)
                {
                    share.1 = Encoder::behind(vec![ROOT], &value);
                    drop(value);
                }
                shares
            }
            CallOutcome::Each(each) => {
                let mut parts: BTreeMap<u32, Vec<(u32, R)>> = BTreeMap::new();
                for (rank, part) in (0..).zip(each.iter_mut()) {
                    if let Some(home) = home(rank).filter(|&home| home != others.me())
                        && let Some(part) = part.take()
                    {
                        parts.entry(home).or_default().push((rank, part));
                    }
                }
                let of = |&other: &u32| {
                    let parts = parts.remove(&other).unwrap_or_default();
                    let share = Encoder::behind(vec![EACH], &parts);
                    // Drops the parts before the result exists. If a drop panicked at the end of
                    // the scope, the result would leak.
                    drop(parts);
                    (other, share)
                };
                distribution.others.iter().map(of).collect()
            }
        }
    }

    /// Returns the same bytes for each other scheduler.
    fn to_all(&self, bytes: &[u8]) -> Shares {
        let others = whereabouts(self).map(|(distribution, _)| &distribution.others);
        let others = others.into_iter().flatten();
        others.map(|&other| (other, bytes.to_vec())).collect()
    }

    /// Keeps the communicator alive while calls are in progress.
    pub(super) fn keep_busy(self: &Rc<Self>) {
        let mut busy = self.world.busy.borrow_mut();
        busy.entry(self.number()).or_insert_with(|| Rc::clone(self));
    }

    /// Sends the value of the root to the other schedulers.
    pub(super) fn send_root(&self, turn: u32, sign: u64, shares: Shares) {
        for (other, outcome) in shares {
            self.tell(other, turn, &Word::Root { sign, outcome });
        }
    }

    /// Reports an error in the call of a rank of this scheduler, whose ranks already have the
    /// error.
    pub(super) fn mistaken(&self, turn: u32, error: Error) {
        match self.leader() {
            Some(leader) => self.tell(leader, turn, &Word::Mistaken { error }),
            None => {
                if let Some(of) = self.rounds.borrow_mut().get(turn)
                    && let Some(of) = &mut of.distributed
                {
                    of.closed = true;
                }
                self.tell_others(turn, &Word::Failed { error });
            }
        }
    }

    /// Sends the contributions of this scheduler to the leader, after all its ranks have arrived.
    /// At the leader: keeps them, and computes the result if all other contributions have arrived.
    pub(super) fn all_here_have_come<T: Payload + 'static, R: Payload + 'static>(
        self: &Rc<Self>,
        turn: u32,
        call: &Call,
        mut make: impl Combine<T, R>,
    ) {
        let data = self.rounds.borrow_mut().get(turn).and_then(|round| {
            let is_well = round.error.is_none();
            round.data.take_if(|_| is_well)
        });
        let Some(mut data) = data else { return };
        // Calls user code, so it must not hold a borrow.
        let mut bytes = Vec::new();
        if let Some(data) = data.downcast_mut::<Data<T, R>>() {
            let mut parts = std::mem::take(&mut data.parts);
            parts.sort_unstable_by_key(|part| part.0);
            bytes = self.make_for_all(call, || {
                data.parts = make.combine(parts);
                if self.leader().is_none() {
                    return Vec::new();
                }
                let bytes = Encoder::to_vec(&data.parts).clone();
                drop(std::mem::take(&mut data.parts));
                bytes
            });
        }
        let mut rounds = self.rounds.borrow_mut();
        let Some(round) = rounds.get(turn) else {
            return;
        };
        round.data = Some(data);
        let Some((call, rank, at)) = round.call else {
            return;
        };
        match (self.leader(), &mut round.distributed) {
            (Some(leader), _) => {
                drop(rounds);
                let caller = call.by(rank, at);
                let parts = bytes;
                self.tell(leader, turn, &Word::Arrived { caller, parts });
            }
            (None, Some(distributed)) => {
                distributed.finish = Some(Box::new(move |shared, data, others, given| {
                    finish(shared, &call, data, others, given, make)
                }));
                drop(rounds);
                self.try_to_finish(turn);
            }
            (None, None) => {}
        }
    }

    /// Computes the result at the leader, if all contributions have arrived.
    fn try_to_finish(&self, turn: u32) {
        let Some((distribution, others)) = whereabouts(self) else {
            return;
        };
        let mut rounds = self.rounds.borrow_mut();
        let Some(round) = rounds.get(turn).filter(|round| round.error.is_none()) else {
            return;
        };
        let Some(distributed) = &mut round.distributed else {
            return;
        };
        if distributed.parts.len() < distribution.others.len() {
            return;
        }
        let (Some(finish), Some((call, ..))) = (distributed.finish.take(), round.call) else {
            return;
        };
        let (parts, given) = (std::mem::take(&mut distributed.parts), round.root_came);
        distributed.closed = true;
        let Some(mut data) = round.data.take() else {
            return;
        };
        drop(rounds);
        // Calls user code, so it must not hold a borrow.
        let mut made = Ok(Vec::new());
        let caught = user_code::caught(|| made = finish(self, &mut *data, parts, given));
        let why = match (caught, made) {
            (Ok(()), Ok(shares)) => {
                let sign = call.sign();
                for (other, outcome) in shares {
                    self.tell(other, turn, &Word::Complete { sign, outcome });
                }
                self.complete(turn, data);
                self.close_rounds();
                return;
            }
            (Err(panic), _) => format!("panicked: {panic}"),
            (_, Err(error)) => format!("cannot be decoded: {error}"),
        };
        user_code::quietly(|| drop(data));
        others.fail(format!("{} of {} {why}", call.text(), self.name()));
    }

    /// Handles a frame of another scheduler for a collective instance. Returns `None` if it is
    /// invalid.
    pub(super) fn hear(self: &Rc<Self>, from: u32, bytes: &[u8]) -> Option<()> {
        let (distribution, _) = whereabouts(self)?;
        let (turn, bytes) = bytes.split_first_chunk()?;
        let turn = u32::from_ne_bytes(*turn);
        let word: Word = Decoder::from_slice(bytes).ok()?;
        if !distribution.others.contains(&from) {
            return None;
        }
        if self.rounds.borrow().is_past(turn) {
            return Some(());
        }
        self.keep_busy();
        self.rounds.borrow_mut().reach(turn, true)?;
        match word {
            Word::Arrived { caller, parts } => self.others_have_come(turn, caller, parts),
            Word::Mistaken { error } => self.fail_round(turn, error),
            word => self.take_word(turn, word),
        }
        self.close_rounds();
        Some(())
    }

    /// Records at the leader that all ranks of another scheduler have arrived.
    fn others_have_come(&self, turn: u32, caller: Caller, parts: Vec<u8>) {
        let mut rounds = self.rounds.borrow_mut();
        let Some(round) = rounds.get(turn) else {
            return;
        };
        let here = round.call.map(|(call, rank, at)| call.by(rank, at));
        let Some(distributed) = &mut round.distributed else {
            return;
        };
        let first = here.or_else(|| distributed.caller.clone());
        distributed.parts.push(parts);
        distributed.caller.get_or_insert_with(|| caller.clone());
        drop(rounds);
        match first.filter(|first| first.sign != caller.sign) {
            Some(first) => {
                let mismatch = Box::new(first.against(caller));
                self.fail_round(turn, Error::Mismatch(mismatch));
            }
            None => self.try_to_finish(turn),
        }
    }

    /// Ends a collective instance at the leader with an error, unless it already has one.
    fn fail_round(&self, turn: u32, error: Error) {
        let mut rounds = self.rounds.borrow_mut();
        let Some(round) = rounds.get(turn).filter(|round| round.error.is_none()) else {
            return;
        };
        if let Some(distributed) = &mut round.distributed {
            distributed.closed = true;
        }
        round.error = Some(error.clone());
        wake_all(self, rounds);
        self.tell_others(turn, &Word::Failed { error });
    }

    /// Handles the frames that arrived before the first rank of this scheduler.
    pub(super) fn take_pending(&self, turn: u32) {
        let mut rounds = self.rounds.borrow_mut();
        let distributed = rounds
            .get(turn)
            .and_then(|round| round.distributed.as_mut());
        let pending = distributed.map(|of| std::mem::take(&mut of.pending));
        let caller = rounds.get(turn).and_then(|round| {
            let (call, rank, at) = round.call?;
            let elsewhere = round.distributed.as_mut()?.caller.clone()?;
            let first = round.arrived == 1 && elsewhere.sign != call.sign();
            first.then(|| elsewhere.against(call.by(rank, at)))
        });
        drop(rounds);
        if let Some(mismatch) = caller {
            self.fail_round(turn, Error::Mismatch(Box::new(mismatch)));
        }
        for word in pending.into_iter().flatten() {
            self.take_word(turn, word);
        }
    }

    /// Handles a frame with the result or the error for the ranks of this scheduler.
    fn take_word(&self, turn: u32, word: Word) {
        let mut rounds = self.rounds.borrow_mut();
        let Some(round) = rounds.get(turn) else {
            return;
        };
        let Some(distributed) = &mut round.distributed else {
            return;
        };
        let (sign, bytes, closes) = match (word, distributed.accept) {
            (Word::Failed { error }, _) => {
                distributed.closed = true;
                round.error.get_or_insert(error);
                wake_all(self, rounds);
                return;
            }
            (word, None) => {
                distributed.pending.push(word);
                return;
            }
            (Word::Root { sign, outcome }, _) => (sign, outcome, false),
            (Word::Complete { sign, outcome }, _) => (sign, outcome, true),
            (Word::Arrived { .. } | Word::Mistaken { .. }, _) => return,
        };
        let accept = distributed.accept;
        // If the calls differ, the leader reports the error.
        let fits = round.call.is_some_and(|(call, ..)| call.sign() == sign);
        distributed.closed |= closes;
        let given = bytes.first() == Some(&GIVEN);
        let (Some(accept), true) = (accept, fits) else {
            return;
        };
        let (call, mut data) = (round.call, round.data.take());
        drop(rounds);
        let mut read = Ok(());
        let caught = user_code::caught(|| {
            if let Some(data) = &mut data {
                read = accept(self, &mut **data, &bytes);
            }
        });
        let why = match (caught, read) {
            (Ok(()), Ok(())) => None,
            (Err(panic), _) => Some(format!("panicked: {panic}")),
            (_, Err(error)) => Some(error.to_string()),
        };
        if let (Some(why), Some(others)) = (why, &self.world.others) {
            let what = call.map_or_else(String::new, |(call, ..)| call.text());
            others.fail(format!(
                "cannot read data of {what} of {}: {why}",
                self.name()
            ));
        }
        let mut rounds = self.rounds.borrow_mut();
        if let Some(round) = rounds.get(turn) {
            round.data = data;
            round.root_came |= !closes;
            // The value of the root may arrive after the message of the leader.
            round.complete |= closes && !given;
        }
        wake_all(self, rounds);
    }
}

/// Computes the result of all contributions at the leader, and returns the parts of other
/// schedulers.
fn finish<T: Payload + 'static, R: Payload + 'static>(
    shared: &CommunicatorState,
    call: &Call,
    data: &mut dyn Any,
    others: Vec<Vec<u8>>,
    given: bool,
    make: impl Combine<T, R>,
) -> Result<Shares, DecodeError> {
    let Some(data) = data.downcast_mut::<Data<T, R>>() else {
        return Ok(Vec::new());
    };
    let mut all = std::mem::take(&mut data.parts);
    for bytes in others {
        let mut parts: Vec<(u32, T)> = Decoder::from_slice(&bytes)?;
        all.append(&mut parts);
    }
    all.sort_unstable_by_key(|part| part.0);
    if !given {
        data.outcome = make.make(all.into_iter().map(|part| part.1).collect());
        return Ok(shared.shares(&mut data.outcome, call.root));
    }
    Ok(shared.to_all(&[GIVEN]))
}
