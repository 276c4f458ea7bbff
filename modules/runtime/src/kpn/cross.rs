//! A channel between processes of two schedulers of one OS process: a ring, and the schedulers of
//! its ends.

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
use graphmap_executor::link::waiter::{ARMED, HOOK, ID, NO_ID, waits};
use graphmap_executor::placement::SchedulerIndex;

pub(crate) struct Cross<T> {
    ring: Ring<T, About>,
}

/// Constants of a channel, and its slots, which are set once each.
struct About {
    /// Run of the channel, and the schedulers of its ends in this OS process.
    shared: Arc<Shared>,
    reader_scheduler: SchedulerIndex,
    writer_scheduler: SchedulerIndex,
    number: u32,
    /// Slots of the ends in the registries of their schedulers. Each end uses only its own.
    slots: [AtomicU32; 2],
}

/// Result of putting in a token that may be left in the rendezvous slot.
pub(crate) enum Offer<T> {
    Put(Put<T>),
    Offered,
}

impl<T> Cross<T> {
    pub(crate) fn create(
        number: u32,
        capacity: u32,
        schedulers: (SchedulerIndex, SchedulerIndex),
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let (writer_scheduler, reader_scheduler) = schedulers;
        let about = About {
            shared: Arc::clone(shared),
            reader_scheduler,
            writer_scheduler,
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

    /// Returns the number of the channel, if the channel belongs to the run with number `run`.
    /// Returns `None` otherwise.
    pub(crate) fn number(&self, run: u64) -> Option<u32> {
        (self.about().shared.run == run).then_some(self.about().number)
    }

    /// Returns the key by which the hook of a foreign waker identifies the state word of an end.
    pub(crate) fn owner(&self, side: Side) -> Owner {
        (&raw const *self).addr() + side as usize
    }

    /// Adds the end `side` to `registry`, which must be that of its scheduler.
    pub(crate) fn register(self: &Arc<Self>, registry: &Registry, side: Side)
    where
        T: Send + 'static,
    {
        let end: Arc<dyn CrossEnd> = Arc::clone(self) as Arc<dyn CrossEnd>;
        let slot = registry.add_cross(self.about().number, side, end);
        self.about().slots[side as usize].store(slot, Ordering::Relaxed);
    }

    /// Takes a token that this end already knows of. In a sequence of tokens, most are. Wakes the
    /// writer, or defers that. Returns `None` if this end knows of no token, even if one has come
    /// since.
    ///
    /// # Safety
    /// Only the one reading end may call this, always on the same thread.
    #[inline(always)]
    pub(crate) unsafe fn take_at_once(&self) -> Option<T> {
        // SAFETY: guaranteed by the caller.
        let (token, waiter) = unsafe { self.ring.try_pop_cached() }?;
        match waiter {
            None => self.defer(Side::Read),
            Some(_) => self.wake(Side::Write, waiter),
        }
        Some(token)
    }

    /// Takes a token as [`Cross::take`] does, from a channel that never held more than one token.
    /// Channels between processes that answer each other are like that. Returns `None` if
    /// [`Cross::take`] must decide.
    ///
    /// # Safety
    /// Only the one reading end may call this, always on the same thread.
    #[inline(always)]
    pub(crate) unsafe fn take_in_place(&self) -> Option<Take<T>> {
        // SAFETY: guaranteed by the caller.
        Some(self.taken(unsafe { self.ring.pop_in_place() }?))
    }

    /// Defers the wake-up of the end opposite to `side` until the poll ends, or until this process
    /// uses another channel between schedulers in the same direction.
    #[inline(always)]
    fn defer(&self, side: Side) {
        with_current(|scheduler| {
            let this: *const Self = &raw const *self;
            // SAFETY: `this` was made from this type. `leave` calls `forget` before the end goes.
            unsafe {
                scheduler.deferred().defer(
                    side as usize,
                    this.cast(),
                    match side {
                        Side::Read => |end| (*end.cast::<Self>()).wake_writer(),
                        Side::Write => |end| (*end.cast::<Self>()).wake_reader(),
                    },
                );
            }
        });
    }

    /// Takes a token out, and wakes the writer or defers that. Returns [`Take::Empty`] if there is
    /// none, or [`Take::End`] if there is none and the writer has left.
    ///
    /// # Safety
    /// Only the one reading end may call this, always on the same thread.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Take<T> {
        // SAFETY: guaranteed by the caller.
        self.taken(unsafe { self.ring.pop() })
    }

    /// Converts the result of a pop. If it has a token, wakes the writer, or defers that.
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

    /// Puts a token in if this end knows of space, and calls `token` only then. Returns false if
    /// there may be no space.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread. `token` must not use the
    /// channel.
    #[inline(always)]
    pub(crate) unsafe fn put_at_once(&self, token: impl FnOnce() -> T) -> bool {
        // SAFETY: guaranteed by the caller.
        self.was_put(unsafe { self.ring.try_push_cached(token) })
    }

    /// Puts a token in as [`Cross::put_at_once`] does, into a channel that never held more than one
    /// token and is empty. Returns false, without a call of `token`, if [`Cross::put`] must decide.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread. `token` must not use the
    /// channel.
    #[inline(always)]
    pub(crate) unsafe fn put_in_place(&self, token: impl FnOnce() -> T) -> bool {
        // SAFETY: guaranteed by the caller.
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

    /// Puts a token in, and wakes the reader or defers that. Never uses the rendezvous slot.
    /// Returns the token in [`Put::Full`] if there is no space, or in [`Put::Stopped`] if the
    /// reader has left.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread.
    #[inline]
    pub(crate) unsafe fn put(&self, token: T) -> Put<T> {
        // SAFETY: guaranteed by the caller.
        match unsafe { self.push(token, false) } {
            Offer::Put(put) => put,
            Offer::Offered => Put::Done,
        }
    }

    /// Puts a token in as [`Cross::put`] does, or leaves it in the rendezvous slot if the channel
    /// has capacity one and is full. In the latter case, [`Cross::offered`] returns its state.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread.
    #[inline]
    pub(crate) unsafe fn offer(&self, token: T) -> Offer<T> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.push(token, true) }
    }

    /// Puts a token in, and wakes the reader or defers that. If `offer`, leaves the token in the
    /// rendezvous slot if the channel has capacity one and is full. Returns the token if there is
    /// no space for it or the reader has left.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread.
    #[inline(always)]
    unsafe fn push(&self, token: T, offer: bool) -> Offer<T> {
        // SAFETY: guaranteed by the caller.
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

    /// Returns the state of the token in the rendezvous slot. If the reader has refused the token,
    /// this is recorded for the report of the run.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread. [`Cross::offer`] must
    /// have left a token there.
    pub(crate) unsafe fn offered(&self) -> Offered {
        // SAFETY: guaranteed by the caller.
        let offered = unsafe { self.ring.offered() };
        if let Offered::Refused = offered {
            self.note_unread();
        }
        offered
    }

    /// Takes the token in the rendezvous slot back. Returns `None` if the reader has it.
    ///
    /// # Safety
    /// Only the one writing end may call this, always on the same thread. [`Cross::offer`] must
    /// have left a token there.
    pub(crate) unsafe fn take_back(&self) -> Option<T> {
        // SAFETY: guaranteed by the caller.
        let token = unsafe { self.ring.take_back() };
        if token.is_none() {
            self.wake(Side::Read, self.ring.flush_put());
        }
        token
    }

    /// Wakes the writer if it waits. A `SeqCst` fence must separate this call from the reads of the
    /// tokens.
    fn wake_writer(&self) {
        self.wake(Side::Write, self.ring.unarm_writer());
    }

    /// Wakes the reader if it waits. A `SeqCst` fence must separate this call from the writes of
    /// the tokens.
    fn wake_reader(&self) {
        self.wake(Side::Read, self.ring.unarm_reader());
    }

    /// Wakes the process or hook `waiter`, which waits at the end `side`. Has no effect without a
    /// `waiter`.
    #[inline(never)]
    fn wake(&self, side: Side, waiter: Option<u32>) {
        if let Some(id) = waiter {
            let about = self.about();
            let scheduler = match side {
                Side::Read => about.reader_scheduler,
                Side::Write => about.writer_scheduler,
            };
            current::count_sent();
            about.shared.send(scheduler, id);
        }
    }

    /// Records that a process is about to wait at an end.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
    fn touch(&self, scheduler: &Scheduler, side: Side) {
        assert!(
            scheduler.run() == self.about().shared.run,
            "a process of a nested run cannot wait at a port of the outer run whose other end is \
             on another scheduler"
        );
        // SAFETY: the end belongs to this thread, whose process is about to wait there.
        unsafe { self.ring.set_waits(side == Side::Write, true) };
        scheduler.registry().touch_cross(self.slot(side));
    }

    /// Registers the waker of `context` for a change at the other end. Returns false if the other
    /// end has changed already.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
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

    /// Lets `scheduler` poll for tokens or space on behalf of its process `id`. Returns false if it
    /// already polls the maximum number of waits.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
    fn poll_for(&self, scheduler: &Scheduler, id: u32, side: Side) -> bool {
        self.touch(scheduler, side);
        self.unhook(side);
        if side == Side::Write {
            // SAFETY: this is the thread of the one writing end.
            unsafe { self.ring.pace_writer() };
        } else {
            // SAFETY: this is the thread of the one reading end.
            unsafe { self.ring.pace_reader() };
        }
        let fns = match side {
            Side::Read => &Self::READS,
            Side::Write => &Self::WRITES,
        };
        // SAFETY: the functions belong to this type. Each end has the schedulers of its thread
        // forget it before it goes.
        unsafe { scheduler.polled().add((&raw const *self).cast(), id, fns) }
    }

    const READS: WaitFns = WaitFns {
        // SAFETY: the pointer was made from this type. It is in the list only while the end is
        // alive, and only on the thread of the end.
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

    /// Arms a wait of `id` for a change at the other end. Returns false if the other end has
    /// changed already.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
    pub(crate) fn arm(&self, scheduler: &Scheduler, id: u32, side: Side) -> bool {
        self.touch(scheduler, side);
        self.forget_polled_wait(scheduler);
        self.arm_ring(id, side)
    }

    /// Removes a polled wait. It may be over without the knowledge of the scheduler, if its process
    /// was polled for another reason and found the token. The process that waits now must not be
    /// mistaken for that one when the scheduler goes to sleep.
    fn forget_polled_wait(&self, scheduler: &Scheduler) {
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

    /// Arms a wait of the id in `word` for the departure of the reader. Returns true if the reader
    /// has left already.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
    pub(crate) fn arm_stop(&self, scheduler: &Scheduler, word: u32) -> bool {
        self.touch(scheduler, Side::Write);
        self.forget_polled_wait(scheduler);
        self.unhook_other(Side::Write, word & ID);
        let stopped = self.ring.arm_stop(word);
        if stopped {
            self.unhook(Side::Write);
        }
        stopped
    }

    /// Cancels the wait at an end, because a future is dropped.
    ///
    /// # Safety
    /// Only the thread of that end may call this.
    #[inline]
    pub(crate) unsafe fn disarm(&self, side: Side) {
        // SAFETY: guaranteed by the caller.
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

    /// Frees the hook of a foreign waker, because no process waits at the end any more. If the
    /// other side has disarmed the hook, it is in the inbox, and is freed when it fires.
    fn unhook(&self, side: Side) {
        self.unhook_other(side, NO_ID);
    }

    /// Frees a hook as [`Cross::unhook`] does, except the hook `new`, which waits next. The word
    /// may name a hook that has been freed: a late wake-up for an earlier hook of the same index
    /// has fired it. `new` may have got that index.
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

    /// Removes an end, because its port is dropped. The other side sees that when the current poll
    /// ends. Outside of a poll, in a nested run and after the run has stopped, the other side sees
    /// that at once.
    pub(crate) fn leave(self: Arc<Self>, side: Side) {
        current::forget(Arc::as_ptr(&self).cast());
        self.unhook(side);
        let run = self.about().shared.run;
        current::with_run(run, |scheduler| {
            scheduler.registry().remove_cross(self.slot(side));
        });
        let close: unsafe fn(*const ()) = match side {
            // SAFETY: the pointer comes from an Arc of this type, and has a count of its own. The
            // port of the end is gone, so this is its only user.
            Side::Read => |end| unsafe { Arc::from_raw(end.cast::<Self>()).close_reader() },
            // SAFETY: as above.
            Side::Write => |end| unsafe { Arc::from_raw(end.cast::<Self>()).close_writer() },
        };
        let end = Arc::into_raw(self).cast();
        // SAFETY: `close` is called once with its end: here, or by `close_later`. Tokens of a
        // network borrow nothing, so the channel may outlive the process.
        unsafe {
            if !current::close_later(run, end, close) {
                close(end);
            }
        }
    }

    /// Closes the reading end, wakes the writer if it waits, and then drops the unread tokens.
    ///
    /// # Safety
    /// Only the reading end may call this. It must not be used afterwards.
    unsafe fn close_reader(&self) {
        self.wake(Side::Write, self.ring.close_reader());
        // The reader leaves first, because an unread token may be, or contain, the writing end of
        // this channel.
        // SAFETY: guaranteed by the caller.
        unsafe { self.drop_unread() };
    }

    /// Drops the unread tokens, and records each for the report of the run. If the destructor of
    /// one panics, the others are dropped nevertheless.
    ///
    /// # Safety
    /// Only the reading end may call this. It must not be used afterwards.
    unsafe fn drop_unread(&self) {
        // SAFETY: guaranteed by the caller.
        while let Pop::Value(token, waiter) = unsafe { self.ring.pop() } {
            self.wake(Side::Write, waiter);
            self.note_unread();
            // SAFETY: guaranteed by the caller.
            let rest = Finally(|| unsafe { self.drop_unread() });
            drop(token);
            mem::forget(rest);
        }
    }

    /// Records that the reader has left before it read all tokens, or before the writer had
    /// finished.
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
        // SAFETY: only the registry of the writer's scheduler calls this for a writing end, on its
        // thread.
        unsafe { self.ring.grow(capacity) };
        self.ring.disarm_writer()
    }
}

impl<T> Drop for Cross<T> {
    fn drop(&mut self) {
        let (number, scheduler) = (self.about().number, self.about().writer_scheduler);
        let taken = self.ring.taken();
        current::with_run(self.about().shared.run, |s| {
            let scheduler = s.shared().number(scheduler);
            s.statistics()
                .borrow_mut()
                .channel(number, taken, Some(scheduler.0));
        });
    }
}
