//! A channel between processes of two schedulers: a ring, and where its ends are at home.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Context;

use super::channel::{Put, Take};
use graphmap_executor::exec::current::{self, with_current};
use graphmap_executor::exec::hooks::Owner;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::polled_waits::WaitFns;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::exec::shared::Shared;
use graphmap_executor::exec::wait_points::{CrossEnd, Registry};
use graphmap_executor::finally::Finally;
use graphmap_executor::link::spsc::{Offered, Pop, Push, Ring};
use graphmap_executor::link::waiter::{ARMED, HOOK, ID, NOBODY, waits};
use graphmap_executor::placement::SchedulerIndex;

pub(crate) struct Cross<T> {
    ring: Ring<T, About>,
}

/// What does not change in a channel's life but for its slots, once each.
struct About {
    /// The run it belongs to, and which schedulers of this OS process its ends are at.
    shared: Arc<Shared>,
    reader_home: SchedulerIndex,
    writer_home: SchedulerIndex,
    number: u32,
    /// The slots of its ends in the registries of their schedulers. Each is used by its end alone.
    slots: [AtomicU32; 2],
}

/// What has become of a token that may be left in the rendezvous slot.
pub(crate) enum Offer<T> {
    Put(Put<T>),
    Offered,
}

impl<T> Cross<T> {
    pub(crate) fn create(
        number: u32,
        capacity: u32,
        homes: (SchedulerIndex, SchedulerIndex),
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let (writer_home, reader_home) = homes;
        let about = About {
            shared: Arc::clone(shared),
            reader_home,
            writer_home,
            number,
            slots: [const { AtomicU32::new(u32::MAX) }; 2],
        };
        Arc::new(Cross {
            ring: Ring::new(capacity, about),
        })
    }

    fn about(&self) -> &About {
        self.ring.about()
    }

    fn slot(&self, side: Side) -> u32 {
        self.about().slots[side as usize].load(Ordering::Relaxed)
    }

    /// Its number, if it is a channel of this run.
    pub(crate) fn number(&self, run: u64) -> Option<u32> {
        (self.about().shared.run == run).then_some(self.about().number)
    }

    /// What the hook of a foreign waker knows the word of an end by.
    pub(crate) fn owner(&self, side: Side) -> Owner {
        (&raw const *self).addr() + side as usize
    }

    /// An end is taken over by its scheduler.
    pub(crate) fn register(self: &Arc<Self>, registry: &Registry, side: Side)
    where
        T: Send + 'static,
    {
        let end: Arc<dyn CrossEnd> = Arc::clone(self) as Arc<dyn CrossEnd>;
        let slot = registry.add_cross(self.about().number, side, end);
        self.about().slots[side as usize].store(slot, Ordering::Relaxed);
    }

    /// A token of which this end knows already: of many in a row most.
    ///
    /// # Safety
    /// As for [`Cross::take`].
    #[inline(always)]
    pub(crate) unsafe fn take_at_once(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        let (token, waiter) = unsafe { self.ring.pop_at_once() }?;
        match waiter {
            None => self.defer(Side::Read),
            Some(_) => self.wake(Side::Write, waiter),
        }
        Some(token)
    }

    /// As [`Cross::take`], of a channel that never held more than one token, as those have that answer each other; `None` where more has
    /// to be looked at.
    ///
    /// # Safety
    /// As for [`Cross::take`].
    #[inline(always)]
    pub(crate) unsafe fn take_in_place(&self) -> Option<Take<T>> {
        // SAFETY: the caller's promise.
        Some(self.taken(unsafe { self.ring.pop_in_place() }?))
    }

    /// What this end did last is told to the other when it is worth that, or the turn is over.
    #[inline(always)]
    fn defer(&self, side: Side) {
        with_current(|scheduler| {
            let this: *const Self = &raw const *self;
            // SAFETY: made from this type; `forget` is called before the end goes.
            unsafe {
                scheduler.deferred().defer(
                    side as usize,
                    this.cast(),
                    match side {
                        Side::Read => |end| (*end.cast::<Self>()).tell_taken(),
                        Side::Write => |end| (*end.cast::<Self>()).tell_put(),
                    },
                );
            }
        });
    }

    /// # Safety
    /// Only for the one reading end, which stays on one thread.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Take<T> {
        // SAFETY: the caller's promise.
        self.taken(unsafe { self.ring.pop() })
    }

    /// What was popped; whoever is to hear of it does.
    #[inline(always)]
    fn taken(&self, popped: Pop<T>) -> Take<T> {
        match popped {
            Pop::Value(token, waiter) => {
                match waiter {
                    None => self.defer(Side::Read),
                    Some(_) => self.wake(Side::Write, waiter),
                }
                Take::Token(token)
            }
            Pop::Empty => Take::Empty,
            Pop::End => Take::End,
        }
    }

    /// Puts a token in where this end knows of room, and asks for it then: false, there may be none.
    ///
    /// # Safety
    /// As for [`Cross::put`]; `token` does not touch the channel.
    #[inline(always)]
    pub(crate) unsafe fn put_at_once(&self, token: impl FnOnce() -> T) -> bool {
        // SAFETY: the caller's promise.
        self.was_put(unsafe { self.ring.push_at_once(token) })
    }

    /// The same for a channel that never held more than one token, and is known to be empty.
    ///
    /// # Safety
    /// As for [`Cross::put_at_once`].
    #[inline(always)]
    pub(crate) unsafe fn put_in_place(&self, token: impl FnOnce() -> T) -> bool {
        // SAFETY: the caller's promise.
        self.was_put(unsafe { self.ring.push_in_place(token) })
    }

    #[inline(always)]
    fn was_put(&self, waiter: Option<Option<u32>>) -> bool {
        match waiter {
            None => return false,
            Some(None) => self.defer(Side::Write),
            Some(waiter) => self.wake(Side::Read, waiter),
        }
        true
    }

    /// # Safety
    /// Only for the one writing end, which stays on one thread.
    #[inline]
    pub(crate) unsafe fn put(&self, token: T) -> Put<T> {
        // SAFETY: the caller's promise.
        match unsafe { self.push(token, false) } {
            Offer::Put(put) => put,
            Offer::Offered => Put::Done,
        }
    }

    /// Puts a token in, or leaves it in the rendezvous slot: then [`Cross::offered`] tells what becomes of it.
    ///
    /// # Safety
    /// As for [`Cross::put`].
    #[inline]
    pub(crate) unsafe fn offer(&self, token: T) -> Offer<T> {
        // SAFETY: the caller's promise.
        unsafe { self.push(token, true) }
    }

    /// # Safety
    /// As for [`Cross::put`].
    #[inline(always)]
    unsafe fn push(&self, token: T, offer: bool) -> Offer<T> {
        // SAFETY: the caller's promise.
        let (waiter, offer) = match unsafe { self.ring.push(token, offer) } {
            Push::Done(waiter) => (waiter, Offer::Put(Put::Done)),
            Push::Offered(waiter) => (waiter, Offer::Offered),
            Push::Full(token) => return Offer::Put(Put::Full(token)),
            Push::Gone(token) => {
                self.note_unread();
                return Offer::Put(Put::Stopped(token));
            }
        };
        match waiter {
            Some(_) => self.wake(Side::Read, waiter),
            None => self.defer(Side::Write),
        }
        offer
    }

    /// What has become of the token in the rendezvous slot.
    ///
    /// # Safety
    /// As for [`Cross::put`], after [`Cross::offer`] left one there.
    pub(crate) unsafe fn offered(&self) -> Offered {
        // SAFETY: the caller's promise.
        let offered = unsafe { self.ring.offered() };
        if let Offered::Refused = offered {
            self.note_unread();
        }
        offered
    }

    /// Takes the token in the rendezvous slot back, unless the reader has it.
    ///
    /// # Safety
    /// As for [`Cross::offered`].
    pub(crate) unsafe fn take_back(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        let token = unsafe { self.ring.take_back() };
        if token.is_none() {
            self.wake(Side::Read, self.ring.flush_put());
        }
        token
    }

    /// Wakes who waits for the tokens that were taken out, behind a fence.
    fn tell_taken(&self) {
        self.wake(Side::Write, self.ring.unarm_writer());
    }

    /// Wakes who waits for the tokens that were put in, behind a fence.
    fn tell_put(&self) {
        self.wake(Side::Read, self.ring.unarm_reader());
    }

    /// Wakes who waits at an end.
    #[inline(never)]
    fn wake(&self, side: Side, waiter: Option<u32>) {
        if let Some(id) = waiter {
            let about = self.about();
            let home = match side {
                Side::Read => about.reader_home,
                Side::Write => about.writer_home,
            };
            current::count_sent();
            about.shared.send(home, id);
        }
    }

    /// Somebody waits at an end, or does no more.
    fn touch(&self, scheduler: &Scheduler, side: Side) {
        assert!(
            scheduler.run() == self.about().shared.run,
            "a process of a nested run cannot wait at a port of the outer run whose other end is \
             on another scheduler"
        );
        // SAFETY: the end is on this thread: it is about to wait there, or does no more.
        unsafe { self.ring.set_waits(side == Side::Write, true) };
        scheduler.registry().touch_cross(self.slot(side));
    }

    /// Has whoever polls with `context` woken when something changes at the other end; false: it has changed already.
    pub(crate) fn wait_for_change(
        &self,
        scheduler: &Scheduler,
        context: &Context<'_>,
        side: Side,
    ) -> bool {
        if side == Side::Write {
            scheduler.count_room_wait(self.about().number);
        }
        let id = scheduler.waiter(context, 0, self.owner(side));
        if id & HOOK == 0 && self.poll_for(scheduler, id, side) {
            return true;
        }
        self.arm(scheduler, id, side)
    }

    /// Has `scheduler` poll for tokens, or for room, for its process `id`; false if it polls for enough
    /// others.
    fn poll_for(&self, scheduler: &Scheduler, id: u32, side: Side) -> bool {
        self.touch(scheduler, side);
        self.unhook(side);
        if side == Side::Write {
            // SAFETY: this is the one writing end.
            unsafe { self.ring.pace_writer() };
        } else {
            // SAFETY: this is the one reading end.
            unsafe { self.ring.pace_reader() };
        }
        let fns = match side {
            Side::Read => &Self::READS,
            Side::Write => &Self::WRITES,
        };
        // SAFETY: the functions are of this type, and both ends have the schedulers of their threads forget
        // them before they go.
        unsafe { scheduler.polled().add((&raw const *self).cast(), id, fns) }
    }

    const READS: WaitFns = WaitFns {
        // SAFETY: made from this type; in the list as long as it is alive, and on the thread of the
        // end.
        poll: |end, idle| unsafe { (*end.cast::<Self>()).ring.reader_is_ready(idle) },
        // SAFETY: as above.
        arm: |end, id| unsafe { (*end.cast::<Self>()).arm_ring(id, Side::Read) },
    };

    const WRITES: WaitFns = WaitFns {
        // SAFETY: as above.
        poll: |end, idle| unsafe { (*end.cast::<Self>()).ring.writer_is_ready(idle) },
        // SAFETY: as above.
        arm: |end, id| unsafe { (*end.cast::<Self>()).arm_ring(id, Side::Write) },
    };

    /// Has an id woken by the other side; false: something has changed already.
    pub(crate) fn arm(&self, scheduler: &Scheduler, id: u32, side: Side) -> bool {
        self.touch(scheduler, side);
        self.look_no_more(scheduler);
        self.arm_ring(id, side)
    }

    /// A wait that the scheduler polls may be over without its knowledge: who waited was polled for another
    /// reason, and found the token. Who waits now must not be taken for that one when the scheduler goes to sleep.
    fn look_no_more(&self, scheduler: &Scheduler) {
        scheduler.polled().forget((&raw const *self).cast());
    }

    fn arm_ring(&self, id: u32, side: Side) -> bool {
        self.unhook_other(side, id);
        let waits = match side {
            Side::Read => self.ring.arm_reader(id),
            Side::Write => self.ring.arm_writer(id),
        };
        if !waits {
            self.unhook(side);
        }
        waits
    }

    /// Has the id in `word` woken when the reader leaves; true: it has left already.
    pub(crate) fn arm_stop(&self, scheduler: &Scheduler, word: u32) -> bool {
        self.touch(scheduler, Side::Write);
        self.look_no_more(scheduler);
        self.unhook_other(Side::Write, word & ID);
        let stopped = self.ring.arm_stop(word);
        if stopped {
            self.unhook(Side::Write);
        }
        stopped
    }

    /// Nobody waits at an end any more: a future is dropped.
    ///
    /// # Safety
    /// Only for the thread of that end.
    #[inline]
    pub(crate) unsafe fn disarm(&self, side: Side) {
        // SAFETY: the caller's promise.
        if unsafe { self.ring.set_waits(side == Side::Write, false) } {
            self.disarm_now(side);
        }
    }

    #[inline(never)]
    fn disarm_now(&self, side: Side) {
        current::with_run(self.about().shared.run, |scheduler| {
            let polled = scheduler.polled().forget((&raw const *self).cast());
            if polled || waits(self.ring.word(side == Side::Write)) {
                self.unhook(side);
                scheduler.registry().touch_cross(self.slot(side));
            }
        });
    }

    /// Nobody waits at an end any more: frees the hook of a foreign waker. One that has been
    /// disarmed by the other side is in the inbox, and is freed when it fires.
    fn unhook(&self, side: Side) {
        self.unhook_other(side, NOBODY);
    }

    /// As [`Cross::unhook`], but not of the hook `new`, which is to wait next: the word may name one that has fired for nothing (a
    /// wake-up that came late was for a hook that had gone), and the new one may have got its number.
    fn unhook_other(&self, side: Side, new: u32) {
        let id = match side {
            Side::Read => self.ring.disarm_reader(),
            Side::Write => self.ring.disarm_writer(),
        };
        if let Some(id) = id.filter(|id| id & ID != new) {
            current::with_run(self.about().shared.run, |scheduler| {
                scheduler.unhook(ARMED | id, self.owner(side));
            });
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.ring.is_stopped()
    }

    /// The port of an end goes. The other side sees that when the turn of this one's process is over.
    pub(crate) fn leave(self: Arc<Self>, side: Side) {
        current::forget(Arc::as_ptr(&self).cast());
        self.unhook(side);
        let run = self.about().shared.run;
        current::with_run(run, |scheduler| {
            scheduler.registry().remove_cross(self.slot(side));
        });
        let close: unsafe fn(*const ()) = match side {
            // SAFETY: the pointer is of this type and of a count of its own; the end, whose port is gone, is nobody else's.
            Side::Read => |end| unsafe { Arc::from_raw(end.cast::<Self>()).close_reader() },
            // SAFETY: as above.
            Side::Write => |end| unsafe { Arc::from_raw(end.cast::<Self>()).close_writer() },
        };
        let end = Arc::into_raw(self).cast();
        // SAFETY: once, by whom it says; tokens of a network borrow nothing, so the channel may outlive its process.
        unsafe {
            if !current::close_later(run, end, close) {
                close(end);
            }
        }
    }

    /// # Safety
    /// Only for the reading end, which must not be used afterwards.
    unsafe fn close_reader(&self) {
        self.wake(Side::Write, self.ring.close_reader());
        // What nobody read goes after the reader: it may be, or hold, the writing end of this channel.
        // SAFETY: the caller's promise.
        unsafe { self.drop_unread() };
    }

    /// Drops the tokens that nobody has read. If one panics, the others are dropped all the same.
    ///
    /// # Safety
    /// As for [`Cross::close_reader`].
    unsafe fn drop_unread(&self) {
        // SAFETY: the caller's promise.
        while let Pop::Value(token, waiter) = unsafe { self.ring.pop() } {
            self.wake(Side::Write, waiter);
            self.note_unread();
            // SAFETY: the caller's promise.
            let rest = Finally(|| unsafe { self.drop_unread() });
            drop(token);
            mem::forget(rest);
        }
    }

    /// The reader has not read all that was written, or was to be.
    #[cold]
    fn note_unread(&self) {
        current::left_early(|_| Some(self.about().number));
    }

    fn close_writer(&self) {
        self.wake(Side::Read, self.ring.close_writer());
    }
}

impl<T: Send> CrossEnd for Cross<T> {
    fn word(&self, side: Side) -> u32 {
        self.ring.word(side == Side::Write)
    }

    fn capacity(&self) -> u32 {
        u32::try_from(self.ring.capacity()).unwrap_or(u32::MAX)
    }

    fn grow(&self, capacity: u32) -> Option<u32> {
        // SAFETY: the registry that calls is that of the writer's scheduler.
        unsafe { self.ring.grow(capacity) };
        self.ring.disarm_writer()
    }
}

impl<T> Drop for Cross<T> {
    fn drop(&mut self) {
        let (number, home) = (self.about().number, self.about().writer_home);
        let taken = self.ring.taken();
        current::with_run(self.about().shared.run, |s| {
            let home = s.shared().number(home);
            s.tally().borrow_mut().channel(number, taken, Some(home.0));
        });
    }
}
