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
use super::instance::wake_all;
use super::others::{Distribution, Others};
use super::state::{CollectiveMessage, CommunicatorState, Distributed, Shares};
use graphmap_executor::exec::user_code;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

impl Distributed {
    /// Records the types of the call, when the first rank of this scheduler arrives. Later calls
    /// have no effect.
    pub(super) fn set_types<T: Payload + 'static, R: Payload + 'static>(&mut self) {
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

/// Returns the location of the ranks, and the other schedulers of the run. `None` if all ranks are
/// here.
fn location(shared: &CommunicatorState) -> Option<(&Distribution, &Others)> {
    shared
        .distribution
        .as_deref()
        .zip(shared.world.others.as_ref())
}

impl CommunicatorState {
    /// Returns the scheduler that leads the collective calls. `None` if it is this scheduler, which
    /// includes communicators with all ranks here.
    fn leader(&self) -> Option<u32> {
        let (distribution, others) = location(self)?;
        Some(distribution.leader).filter(|&leader| leader != others.me())
    }

    fn send_message(&self, to: u32, number: u32, message: &CollectiveMessage) {
        if let Some(others) = &self.world.others {
            let bytes = Encoder::behind(number.to_ne_bytes().to_vec(), message);
            let context = self.number();
            others.send(to, Frame::Collective { context, bytes });
        }
    }

    fn send_message_to_others(&self, number: u32, message: &CollectiveMessage) {
        let others = location(self).map(|(distribution, _)| &distribution.others);
        for &other in others.into_iter().flatten() {
            self.send_message(other, number, message);
        }
    }

    /// Encodes the parts of an outcome for the other schedulers. Parts for ranks of these
    /// schedulers are removed from the outcome. The result is empty if all ranks are here. `root`
    /// is the rank that gets a `CallOutcome::Root`. Calls user code.
    pub(super) fn shares<R: Payload>(
        &self,
        outcome: &mut CallOutcome<R>,
        root: Option<usize>,
    ) -> Shares {
        let Some((distribution, others)) = location(self) else {
            return Vec::new();
        };
        let process = |rank: u32| self.world.process_of(self.group().at(rank)?);
        let scheduler = |rank: u32| Some(others.scheduler_of(process(rank)?));
        match outcome {
            CallOutcome::None => self.to_all(&[NOTHING]),
            CallOutcome::Shared(value) => self.to_all(&Encoder::behind(vec![SHARED], value)),
            CallOutcome::Root(_) => {
                let root = root.and_then(|root| scheduler(root as u32));
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
                    if let Some(scheduler) =
                        scheduler(rank).filter(|&scheduler| scheduler != others.me())
                        && let Some(part) = part.take()
                    {
                        parts.entry(scheduler).or_default().push((rank, part));
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

    /// Returns the same bytes for each other scheduler with ranks of the communicator. The result
    /// is empty if all ranks are here.
    fn to_all(&self, bytes: &[u8]) -> Shares {
        let others = location(self).map(|(distribution, _)| &distribution.others);
        let others = others.into_iter().flatten();
        others.map(|&other| (other, bytes.to_vec())).collect()
    }

    /// Keeps the communicator alive while calls are in progress.
    /// [`CommunicatorState::close_instances`] releases it.
    pub(super) fn keep_busy(self: &Rc<Self>) {
        let mut busy = self.world.busy.borrow_mut();
        busy.entry(self.number()).or_insert_with(|| Rc::clone(self));
    }

    /// Sends the value of the root to the other schedulers, for collective instance `number`.
    /// `signature` belongs to the call, and `shares` contains the encoded part of each scheduler.
    pub(super) fn send_root(&self, number: u32, signature: u64, shares: Shares) {
        for (other, outcome) in shares {
            self.send_message(
                other,
                number,
                &CollectiveMessage::Root { signature, outcome },
            );
        }
    }

    /// Reports an error in the call of a rank of this scheduler, whose ranks already have the
    /// error. The leader closes the instance and sends the error to all other schedulers. Another
    /// scheduler sends it to the leader.
    pub(super) fn report_error(&self, number: u32, error: Error) {
        match self.leader() {
            Some(leader) => {
                self.send_message(leader, number, &CollectiveMessage::Rejected { error })
            }
            None => {
                if let Some(of) = self.instances.borrow_mut().get(number)
                    && let Some(of) = &mut of.distributed
                {
                    of.closed = true;
                }
                self.send_message_to_others(number, &CollectiveMessage::Failed { error });
            }
        }
    }

    /// Sends the contributions of this scheduler to the leader, after all its ranks have arrived.
    /// At the leader: keeps them, and computes the result if all other contributions have arrived.
    /// Has no effect if the instance has an error. Calls user code, whose panic fails the run and
    /// is resumed.
    pub(super) fn local_ranks_arrived<T: Payload + 'static, R: Payload + 'static>(
        self: &Rc<Self>,
        number: u32,
        call: &Call,
        mut make: impl Combine<T, R>,
    ) {
        let data = self
            .instances
            .borrow_mut()
            .get(number)
            .and_then(|instance| {
                let is_well = instance.error.is_none();
                instance.data.take_if(|_| is_well)
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
        let mut instances = self.instances.borrow_mut();
        let Some(instance) = instances.get(number) else {
            return;
        };
        instance.data = Some(data);
        let Some((call, rank, at)) = instance.call else {
            return;
        };
        match (self.leader(), &mut instance.distributed) {
            (Some(leader), _) => {
                drop(instances);
                let caller = call.by(rank, at);
                let parts = bytes;
                self.send_message(
                    leader,
                    number,
                    &CollectiveMessage::Arrived { caller, parts },
                );
            }
            (None, Some(distributed)) => {
                distributed.finish = Some(Box::new(move |shared, data, others, given| {
                    finish(shared, &call, data, others, given, make)
                }));
                drop(instances);
                self.try_to_finish(number);
            }
            (None, None) => {}
        }
    }

    /// Computes the result at the leader and sends it, if all contributions have arrived. Has no
    /// effect before that, and if the instance has an error. A panic, or contributions that cannot
    /// be decoded, fail the run.
    fn try_to_finish(&self, number: u32) {
        let Some((distribution, others)) = location(self) else {
            return;
        };
        let mut instances = self.instances.borrow_mut();
        let Some(instance) = instances
            .get(number)
            .filter(|instance| instance.error.is_none())
        else {
            return;
        };
        let Some(distributed) = &mut instance.distributed else {
            return;
        };
        if distributed.parts.len() < distribution.others.len() {
            return;
        }
        let (Some(finish), Some((call, ..))) = (distributed.finish.take(), instance.call) else {
            return;
        };
        let (parts, given) = (std::mem::take(&mut distributed.parts), instance.root_came);
        distributed.closed = true;
        let Some(mut data) = instance.data.take() else {
            return;
        };
        drop(instances);
        // Calls user code, so it must not hold a borrow.
        let mut made = Ok(Vec::new());
        let caught = user_code::caught(|| made = finish(self, &mut *data, parts, given));
        let why = match (caught, made) {
            (Ok(()), Ok(shares)) => {
                let signature = call.signature();
                for (other, outcome) in shares {
                    self.send_message(
                        other,
                        number,
                        &CollectiveMessage::Complete { signature, outcome },
                    );
                }
                self.complete(number, data);
                self.close_instances();
                return;
            }
            (Err(panic), _) => format!("panicked: {panic}"),
            (_, Err(error)) => format!("cannot be decoded: {error}"),
        };
        user_code::quietly(|| drop(data));
        others.fail(format!("{} of {} {why}", call.text(), self.name()));
    }

    /// Handles a frame of another scheduler for a collective instance. Frames for instances that
    /// are over are ignored.
    ///
    /// Returns `None` if the frame is invalid: if it cannot be decoded, its sender has no rank of
    /// the communicator, the instance is too far ahead, or all ranks are here.
    pub(super) fn handle_message(self: &Rc<Self>, from: u32, bytes: &[u8]) -> Option<()> {
        let (distribution, _) = location(self)?;
        let (number, bytes) = bytes.split_first_chunk()?;
        let number = u32::from_ne_bytes(*number);
        let message: CollectiveMessage = Decoder::from_slice(bytes).ok()?;
        if !distribution.others.contains(&from) {
            return None;
        }
        if self.instances.borrow().is_past(number) {
            return Some(());
        }
        self.keep_busy();
        self.instances.borrow_mut().reach(number, true)?;
        match message {
            CollectiveMessage::Arrived { caller, parts } => {
                self.remote_ranks_arrived(number, caller, parts)
            }
            CollectiveMessage::Rejected { error } => self.fail_instance(number, error),
            message => self.take_message(number, message),
        }
        self.close_instances();
        Some(())
    }

    /// Records at the leader that all ranks of another scheduler have made collective call
    /// `number`. `caller` is one of them. Fails the instance if the call of `caller` does not match
    /// the first call. Otherwise computes the result if this was the last contribution.
    fn remote_ranks_arrived(&self, number: u32, caller: Caller, parts: Vec<u8>) {
        let mut instances = self.instances.borrow_mut();
        let Some(instance) = instances.get(number) else {
            return;
        };
        let here = instance.call.map(|(call, rank, at)| call.by(rank, at));
        let Some(distributed) = &mut instance.distributed else {
            return;
        };
        let first = here.or_else(|| distributed.caller.clone());
        distributed.parts.push(parts);
        distributed.caller.get_or_insert_with(|| caller.clone());
        drop(instances);
        match first.filter(|first| first.signature != caller.signature) {
            Some(first) => {
                let mismatch = Box::new(first.against(caller));
                self.fail_instance(number, Error::Mismatch(mismatch));
            }
            None => self.try_to_finish(number),
        }
    }

    /// Ends a collective instance at the leader with an error for all ranks, and wakes the ranks
    /// here. Has no effect if the instance already has an error or is over.
    fn fail_instance(&self, number: u32, error: Error) {
        let mut instances = self.instances.borrow_mut();
        let Some(instance) = instances
            .get(number)
            .filter(|instance| instance.error.is_none())
        else {
            return;
        };
        if let Some(distributed) = &mut instance.distributed {
            distributed.closed = true;
        }
        instance.error = Some(error.clone());
        wake_all(self, instances);
        self.send_message_to_others(number, &CollectiveMessage::Failed { error });
    }

    /// Handles the frames that arrived before the first rank of this scheduler. At the leader,
    /// fails the instance if the call of that rank does not match the first remote call.
    pub(super) fn take_pending(&self, number: u32) {
        let mut instances = self.instances.borrow_mut();
        let distributed = instances
            .get(number)
            .and_then(|instance| instance.distributed.as_mut());
        let pending = distributed.map(|of| std::mem::take(&mut of.pending));
        let caller = instances.get(number).and_then(|instance| {
            let (call, rank, at) = instance.call?;
            let remote = instance.distributed.as_mut()?.caller.clone()?;
            let first = instance.arrived == 1 && remote.signature != call.signature();
            first.then(|| remote.against(call.by(rank, at)))
        });
        drop(instances);
        if let Some(mismatch) = caller {
            self.fail_instance(number, Error::Mismatch(Box::new(mismatch)));
        }
        for message in pending.into_iter().flatten() {
            self.take_message(number, message);
        }
    }

    /// Handles a frame with the result or the error for the ranks of this scheduler, and wakes
    /// them. Keeps a result until the first rank here arrives. A result of a call that does not
    /// match the call here is ignored, because the leader reports the error. A result that cannot
    /// be decoded fails the run.
    fn take_message(&self, number: u32, message: CollectiveMessage) {
        let mut instances = self.instances.borrow_mut();
        let Some(instance) = instances.get(number) else {
            return;
        };
        let Some(distributed) = &mut instance.distributed else {
            return;
        };
        let (signature, bytes, closes) = match (message, distributed.accept) {
            (CollectiveMessage::Failed { error }, _) => {
                distributed.closed = true;
                instance.error.get_or_insert(error);
                wake_all(self, instances);
                return;
            }
            (message, None) => {
                distributed.pending.push(message);
                return;
            }
            (CollectiveMessage::Root { signature, outcome }, _) => (signature, outcome, false),
            (CollectiveMessage::Complete { signature, outcome }, _) => (signature, outcome, true),
            (CollectiveMessage::Arrived { .. } | CollectiveMessage::Rejected { .. }, _) => return,
        };
        let accept = distributed.accept;
        // If the calls differ, the leader reports the error.
        let fits = instance
            .call
            .is_some_and(|(call, ..)| call.signature() == signature);
        distributed.closed |= closes;
        let given = bytes.first() == Some(&GIVEN);
        let (Some(accept), true) = (accept, fits) else {
            return;
        };
        let (call, mut data) = (instance.call, instance.data.take());
        drop(instances);
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
        let mut instances = self.instances.borrow_mut();
        if let Some(instance) = instances.get(number) {
            instance.data = data;
            instance.root_came |= !closes;
            // The value of the root may arrive after the message of the leader.
            instance.complete |= closes && !given;
        }
        wake_all(self, instances);
    }
}

/// Computes the result of all contributions at the leader, and returns the parts of other
/// schedulers. `others` are the encoded contributions of the other schedulers. If `given` is true,
/// the root sends the result itself, so only that is reported. Returns an error if contributions
/// cannot be decoded. Calls user code.
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
