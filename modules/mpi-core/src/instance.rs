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
use super::state::{CommunicatorState, Instance, Instances};
use super::world::wake;
use graphmap_executor::exec::upper_layer::ReportWait;
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

impl Instances {
    /// Returns an active instance. `None` if it is over or does not exist yet.
    pub(super) fn get(&mut self, number: u32) -> Option<&mut Instance> {
        self.open.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Returns an active or future instance, and creates it and those before it if needed. Returns
    /// `None` if it is over, or at least [`FAR_AHEAD`] instances ahead. `distributed` is true if
    /// the communicator has ranks on several schedulers.
    pub(super) fn reach(&mut self, number: u32, distributed: bool) -> Option<&mut Instance> {
        let ahead = number.wrapping_sub(self.first);
        if ahead >= FAR_AHEAD {
            return None;
        }
        while self.open.len() <= ahead as usize {
            self.open.push_back(Instance {
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
        self.get(number)
    }

    /// Returns the number of the instance of the next call of the rank at index `place`, and
    /// advances the number of that rank. `here` is the number of ranks here. Returns 0 if the rank
    /// is not here.
    fn next_number(&mut self, place: Option<usize>, here: u32) -> u32 {
        if self.next_numbers.is_empty() {
            // Without an active instance, the next one of all ranks is `first`.
            self.next_numbers = vec![self.first; here as usize];
        }
        let next = place.and_then(|place| self.next_numbers.get_mut(place));
        next.map_or(0, |next| std::mem::replace(next, next.wrapping_add(1)))
    }

    /// Returns true if an instance is over.
    pub(super) fn is_past(&self, number: u32) -> bool {
        number.wrapping_sub(self.first) > u32::MAX / 2
    }

    /// Reports the ranks here that wait in collective calls of `shared`, each with the call and a
    /// rank that it waits for, if one is known.
    pub(super) fn calls(this: &RefCell<Self>, shared: &CommunicatorState, report: ReportWait<'_>) {
        let instances: Ref<'_, Instances> = this.borrow();
        for (number, instance) in instances.open.iter().enumerate() {
            let Some((call, ..)) = &instance.call else {
                continue;
            };
            let number = instances.first.wrapping_add(number as u32);
            let root = call
                .root
                .filter(|_| !instance.root_came && matches!(call.name, "bcast" | "scatter"));
            let missing = || {
                let is_behind = |next: u32| number.wrapping_sub(next) < u32::MAX / 2;
                let mut next_numbers = (0..).zip(&instances.next_numbers);
                let (place, _) = next_numbers.find(|&(_, next)| is_behind(*next))?;
                shared.rank_at_local_index(place).map(|rank| rank as usize)
            };
            let peer = root
                .or_else(missing)
                .and_then(|rank| shared.group().at(rank as u32));
            let peer = shared.world.awaited(None, peer);
            let what = |at: &'static Location<'static>| {
                let (call, name, here) = (call.text(), shared.name(), shared.local_count());
                let place_of_all = if instance.distributed.is_some() {
                    " here"
                } else {
                    ""
                };
                (
                    format!(
                        "{call} ({name}, {} of {here} ranks{place_of_all} have called)",
                        instance.arrived
                    ),
                    place(at),
                )
            };
            let matching = shared.world.matching.borrow();
            for &entry in instance.waiting.iter().filter(|&&entry| entry != NONE) {
                let entry = &matching.slab.entries[entry as usize];
                report(entry.word, peer, &|| what(entry.at));
            }
        }
    }
}

/// A started collective call. Dropping it does not cancel the call: the other ranks continue, and
/// get the contribution of this rank. Awaiting the call again after its outcome returns
/// [`Error::Inactive`].
#[must_use = "if the collective call is not awaited, its completion is unknown"]
pub struct Collective<R> {
    shared: Rc<CommunicatorState>,
    /// Number of the instance. `None` after the outcome was returned.
    number: Option<u32>,
    rank: u32,
    needs: Needs,
    entry: u32,
    /// Index of `entry` in `Instance::waiting`.
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

impl Instance {
    /// Records the call of a rank and its contribution, and returns the consequences. A call that
    /// does not match the first call here is an error of the instance. Also returns a contribution
    /// that cannot be recorded, because its drop runs user code.
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
            distributed.set_types::<T, R>();
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
            all_here: self.arrived == shared.local_count() && self.error.is_none(),
        };
        (arrival, unused)
    }

    /// Stores the contribution of a rank. Returns it instead if user code works on the data, or if
    /// the data has other types. `size` is the number of ranks.
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
/// rank. An error in `brought` is reported to all ranks. `needs` is the data that this rank waits
/// for. If the rank is too many calls ahead, its contribution is dropped, and the call returns
/// [`Error::Inactive`]. Calls user code. Panics in `make` fail the run and are resumed, unless
/// another scheduler computes the result.
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
    let mut instances = shared.instances.borrow_mut();
    let number = instances.next_number(shared.local_index(calling.rank), shared.local_count());
    let (arrival, unused, finished) = match instances.reach(number, distributed) {
        Some(instance) => {
            let (arrival, unused) = instance.arrive(&calling, brought);
            let is_finished = arrival.all_here && !distributed;
            let finished = instance.data.take_if(|_| is_finished);
            if instance.error.is_some() || instance.root_came {
                wake_all(shared, instances);
            } else {
                drop(instances);
            }
            (arrival, unused, finished)
        }
        None => {
            drop(instances);
            (Arrival::default(), brought.ok(), None)
        }
    };
    if distributed {
        shared.keep_busy();
        if let Some(mistake) = arrival.mistake {
            shared.report_error(number, mistake);
        }
        if arrival.root_came {
            shared.send_root(number, calling.call.signature(), for_others);
        }
        shared.take_pending(number);
        if arrival.all_here {
            shared.local_ranks_arrived(number, &calling.call, make);
        }
    } else if let Some(data) = finished {
        shared.finish(number, &calling.call, data, make);
    }
    let collective = Collective {
        shared: Rc::clone(shared),
        number: Some(number),
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

/// Wakes all ranks that wait at an instance that is complete, has failed, or has the value of its
/// root. Ends the borrow of `instances` before.
pub(super) fn wake_all(
    shared: &CommunicatorState,
    mut instances: std::cell::RefMut<'_, Instances>,
) {
    let mut woken = Vec::new();
    for instance in &mut instances.open {
        if instance.complete || instance.root_came || instance.error.is_some() {
            woken.append(&mut instance.waiting);
        }
    }
    drop(instances);
    for entry in woken.into_iter().filter(|&entry| entry != NONE) {
        let word = shared.world.change(|matching| {
            matching.slab.entries[entry as usize].state = EntryState::Done;
            matching.take_word(entry)
        });
        wake(word);
    }
}

impl CommunicatorState {
    /// Runs user code that computes the value that all ranks of a call wait for. A panic fails the
    /// run and is then resumed.
    pub(super) fn make_for_all<T>(&self, call: &Call, make: impl FnOnce() -> T) -> T {
        let what = || format!("{} of {}", call.text(), self.name());
        self.world.make_for_all(what, make)
    }

    /// Computes the result of an instance whose ranks are all here, unless the root has contributed
    /// it. Stores it, and wakes the ranks that wait for it. A panic of `make` fails the run and is
    /// resumed.
    fn finish<T: 'static, R: 'static>(
        &self,
        number: u32,
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
        self.complete(number, data);
    }

    /// Stores the result of an instance, marks the instance as complete, and wakes the ranks that
    /// wait for it.
    pub(super) fn complete(&self, number: u32, data: Box<dyn Any>) {
        let mut instances = self.instances.borrow_mut();
        if let Some(instance) = instances.get(number) {
            (instance.data, instance.complete) = (Some(data), true);
        }
        wake_all(self, instances);
    }

    /// Removes the oldest instances that all ranks here have left and that expect no more messages.
    /// Stops at the first other instance. If none is left, the communicator is not kept alive for
    /// messages any more.
    pub(super) fn close_instances(&self) {
        let here = self.local_count();
        let mut gone = Vec::new();
        let mut instances = self.instances.borrow_mut();
        let is_over = |instance: &Instance| {
            let closed = instance
                .distributed
                .as_ref()
                .is_none_or(|of| of.is_closed());
            instance.left == here && closed
        };
        while instances.open.front().is_some_and(is_over) {
            gone.extend(instances.open.pop_front());
            instances.first = instances.first.wrapping_add(1);
        }
        let idle = instances.open.is_empty();
        if idle && instances.next_numbers.len() > KEPT {
            instances.next_numbers = Vec::new();
        }
        drop(instances);
        // This drop runs user code.
        drop(gone);
        if idle && self.distribution.is_some() {
            let kept = self.world.busy.borrow_mut().remove(&self.number());
            drop(kept);
        }
    }
}

impl<R> Collective<R> {
    /// Returns true if awaiting the call would not block. This includes calls whose outcome has
    /// been returned, and all calls after the run.
    pub fn is_done(&self) -> bool {
        self.number.is_none_or(|number| {
            let mut instances = self.shared.instances.borrow_mut();
            self.shared.world.is_over() || is_ready(&mut instances, number, self.needs)
        })
    }

    /// Marks this rank as done with the instance. Does nothing if it already is.
    fn leave(&mut self) {
        let Some(number) = self.number.take() else {
            return;
        };
        let entry = std::mem::replace(&mut self.entry, NONE);
        let this_place = self.place;
        let mut instances = self.shared.instances.borrow_mut();
        if let Some(instance) = instances.get(number) {
            instance.left += 1;
            // The indices of other entries stay the same.
            if let Some(waiting) = instance.waiting.get_mut(this_place)
                && *waiting == entry
            {
                *waiting = NONE;
            }
        }
        drop(instances);
        if entry != NONE {
            self.shared.world.withdraw(entry);
        }
        self.shared.close_instances();
    }
}

/// Returns true if a rank can continue: the instance is complete, over or failed, or the rank has
/// what it `needs` and is not [`AHEAD`] instances ahead.
fn is_ready(instances: &mut Instances, number: u32, needs: Needs) -> bool {
    let is_near = number.wrapping_sub(instances.first) < AHEAD;
    instances.get(number).is_none_or(|instance| {
        instance.complete
            || instance.error.is_some()
            || is_near
                && match needs {
                    Needs::Nothing => true,
                    Needs::Root => instance.root_came,
                    Needs::All => false,
                }
    })
}
impl<R> Future for Collective<R> {
    type Output = Result<R, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(number) = this.number else {
            return Poll::Ready(Err(Error::Inactive));
        };
        let world = Rc::clone(&this.shared.world);
        loop {
            if world.is_over() {
                this.leave();
                return Poll::Ready(Err(Error::Over));
            }
            let mut instances = this.shared.instances.borrow_mut();
            // If user code works on the result and polls this meanwhile, this waits until the
            // result is returned.
            let is_lent =
                |instance: &mut Instance| instance.data.is_none() && instance.error.is_none();
            if is_ready(&mut instances, number, this.needs)
                && !instances.get(number).is_some_and(is_lent)
            {
                break;
            }
            let Some(instance) = instances.get(number) else {
                break;
            };
            let context_of = this.shared.number();
            if this.entry == NONE {
                this.entry =
                    world.change(|matching| matching.add_collective_wait(context_of, this.at));
                this.place = instance.waiting.len();
                instance.waiting.push(this.entry);
            } else {
                let meets = |entry: &mut super::entry::Entry| {
                    std::mem::replace(&mut entry.state, EntryState::InCollective)
                        == EntryState::InCollective
                };
                let mut matching = world.matching.borrow_mut();
                if !meets(&mut matching.slab.entries[this.entry as usize]) {
                    this.place = instance.waiting.len();
                    instance.waiting.push(this.entry);
                }
            }
            drop(instances);
            if world.wait(context, this.entry, EntryState::InCollective) {
                return Poll::Pending;
            }
        }
        let mut instances = this.shared.instances.borrow_mut();
        let found = instances.get(number);
        let here = this.shared.local_count();
        let found = found.map(|instance| {
            (
                instance.error.clone(),
                instance.data.take(),
                instance.left + 1 == here,
            )
        });
        drop(instances);
        let (error, data, is_last) = found.unwrap_or_default();
        let rank = this.rank;
        let taker = Taker { rank, is_last };
        let shared = &this.shared;
        let mut lent = Lent {
            shared,
            number,
            data,
        };
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
    number: u32,
    data: Option<Box<dyn Any>>,
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut instances = self.shared.instances.borrow_mut();
        let Some(instance) = instances.get(self.number) else {
            return;
        };
        instance.data = self.data.take();
        if !instance.waiting.is_empty() {
            wake_all(self.shared, instances);
        }
    }
}

impl<R> Request for Collective<R> {
    type Outcome = R;

    fn is_active(&self) -> bool {
        self.number.is_some()
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
