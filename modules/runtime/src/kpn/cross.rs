//! A channel between processes of two schedulers: a ring, and where its ends are at home.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::channel::{Put, Take};
use crate::exec::current;
use crate::exec::point::Side;
use crate::exec::registry::{CrossEnd, Registry};
use crate::exec::scheduler::Scheduler;
use crate::exec::shared::Shared;
use crate::exec::watch::Watch;
use crate::link::spsc::{Pop, Push, Ring};
use crate::link::waiter::{ARMED, GONE, waits};

pub(crate) struct Cross<T> {
    ring: Ring<T>,
    number: u32,
    /// The run it belongs to, and the schedulers of its ends there.
    shared: Arc<Shared>,
    reader_home: u32,
    writer_home: u32,
    /// The slots of its ends in the registries of their schedulers. Each is used by its end alone.
    slots: [AtomicU32; 2],
}

impl<T> Cross<T> {
    pub(crate) fn create(
        number: u32,
        capacity: u32,
        homes: (u32, u32),
        shared: &Arc<Shared>,
    ) -> Arc<Self> {
        let (writer_home, reader_home) = homes;
        Arc::new(Cross {
            ring: Ring::new(capacity),
            number,
            shared: Arc::clone(shared),
            reader_home,
            writer_home,
            slots: [const { AtomicU32::new(u32::MAX) }; 2],
        })
    }

    /// Its number, if it is a channel of this run.
    pub(crate) fn number(&self, run: u64) -> Option<u32> {
        (self.shared.run == run).then_some(self.number)
    }

    /// An end is taken over by its scheduler.
    pub(crate) fn register(self: &Arc<Self>, registry: &Registry, side: Side)
    where
        T: Send + 'static,
    {
        let end: Arc<dyn CrossEnd> = Arc::clone(self) as Arc<dyn CrossEnd>;
        let slot = registry.add_cross(self.number, side, end);
        self.slots[side as usize].store(slot, Ordering::Relaxed);
    }

    /// # Safety
    /// Only for the one reading end, which stays on one thread.
    #[inline]
    pub(crate) unsafe fn take(&self) -> Take<T> {
        // SAFETY: the caller's promise.
        match unsafe { self.ring.pop() } {
            Pop::Value(token, waiter) => {
                match waiter {
                    Some(_) => self.wake(self.writer_home, waiter),
                    // SAFETY: made from this type; `forget` is called before the end goes.
                    None => unsafe {
                        current::owe(0, (&raw const *self).cast(), |end| {
                            (*end.cast::<Self>()).settle_taken();
                        });
                    },
                }
                Take::Token(token)
            }
            Pop::Empty => Take::Empty,
            Pop::End => Take::End,
        }
    }

    /// # Safety
    /// Only for the one writing end, which stays on one thread.
    #[inline]
    pub(crate) unsafe fn put(&self, token: T) -> Put<T> {
        // SAFETY: the caller's promise.
        match unsafe { self.ring.push(token) } {
            Push::Done(waiter) => {
                match waiter {
                    Some(_) => self.wake(self.reader_home, waiter),
                    // SAFETY: made from this type; `forget` is called before the end goes.
                    None => unsafe {
                        current::owe(1, (&raw const *self).cast(), |end| {
                            (*end.cast::<Self>()).settle_put();
                        });
                    },
                }
                Put::Done
            }
            Push::Full(token) => Put::Full(token),
            Push::Gone(token) => Put::Stopped(token),
        }
    }

    #[inline(never)]
    fn settle_taken(&self) {
        self.wake(self.writer_home, self.ring.settle_taken());
    }

    #[inline(never)]
    fn settle_put(&self) {
        self.wake(self.reader_home, self.ring.settle_put());
    }

    #[inline]
    fn wake(&self, home: u32, waiter: Option<u32>) {
        if let Some(id) = waiter {
            current::count_sent();
            self.shared.send(home, id);
        }
    }

    /// Somebody waits at an end, or does no more.
    fn touch(&self, scheduler: &Scheduler, side: Side) {
        assert!(
            scheduler.run() == self.shared.run,
            "a process cannot wait at a port of the run around its own whose other end is on another scheduler"
        );
        // SAFETY: the end is on this thread: it is about to wait there, or does no more.
        unsafe { self.ring.set_waits(side == Side::Write, true) };
        let slot = self.slots[side as usize].load(Ordering::Relaxed);
        scheduler.registry().touch_cross(slot);
    }

    /// Has `scheduler` look for tokens, or for room, for its process `id`; false if it has enough to
    /// look after.
    pub(crate) fn watch(&self, scheduler: &Scheduler, id: u32, side: Side) -> bool {
        self.touch(scheduler, side);
        self.unhook(side);
        let mut watch = Watch {
            end: (&raw const *self).cast(),
            id,
            // SAFETY: made from this type just above; in the list as long as it is alive, and on
            // the thread of the end.
            look: |end, idle| unsafe { (*end.cast::<Self>()).ring.reader_is_ready(idle) },
            // SAFETY: as above.
            arm: |end, id| unsafe { (*end.cast::<Self>()).arm_ring(id, Side::Read) },
        };
        if side == Side::Write {
            // SAFETY: as above.
            watch.look = |end, idle| unsafe { (*end.cast::<Self>()).ring.writer_is_ready(idle) };
            // SAFETY: as above.
            watch.arm = |end, id| unsafe { (*end.cast::<Self>()).arm_ring(id, Side::Write) };
            // SAFETY: this is the one writing end.
            unsafe { self.ring.pace_writer() };
        } else {
            // SAFETY: this is the one reading end.
            unsafe { self.ring.pace_reader() };
        }
        // SAFETY: both ends have the schedulers of their threads forget them before they go.
        unsafe { scheduler.watches().add(watch) }
    }

    /// Has an id woken by the other side; false: something has changed already.
    pub(crate) fn arm(&self, scheduler: &Scheduler, id: u32, side: Side) -> bool {
        self.touch(scheduler, side);
        self.arm_ring(id, side)
    }

    fn arm_ring(&self, id: u32, side: Side) -> bool {
        self.unhook(side);
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
        self.unhook(Side::Write);
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
        current::with_run(self.shared.run, |scheduler| {
            let watched = scheduler.watches().forget((&raw const *self).cast());
            if watched || waits(self.ring.word(side == Side::Write)) {
                self.unhook(side);
                let slot = self.slots[side as usize].load(Ordering::Relaxed);
                scheduler.registry().touch_cross(slot);
            }
        });
    }

    /// Nobody waits at an end any more: frees the hook of a foreign waker. One that has been
    /// disarmed by the other side is in the inbox, and is freed when it fires.
    fn unhook(&self, side: Side) {
        let id = match side {
            Side::Read => self.ring.disarm_reader(),
            Side::Write => self.ring.disarm_writer(),
        };
        if let Some(id) = id {
            current::with_run(self.shared.run, |scheduler| scheduler.unhook(ARMED | id));
        }
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.ring.is_stopped()
    }

    /// # Safety
    /// Only for the reading end, which must not be used afterwards.
    pub(crate) unsafe fn close_reader(&self) {
        let _leave = super::leaving::Finally(|| {
            if self.ring.word(true) & GONE == 0 {
                current::left_early(|_| Some(self.number));
            }
            self.leave(Side::Read);
            self.wake(self.writer_home, self.ring.close_reader());
        });
        // SAFETY: the caller's promise.
        while let Take::Token(token) = unsafe { self.take() } {
            drop(token);
        }
    }

    pub(crate) fn close_writer(&self) {
        self.leave(Side::Write);
        self.wake(self.reader_home, self.ring.close_writer());
    }

    fn leave(&self, side: Side) {
        current::forget((&raw const *self).cast());
        self.unhook(side);
        current::with_run(self.shared.run, |scheduler| {
            let slot = self.slots[side as usize].load(Ordering::Relaxed);
            scheduler.registry().remove_cross(slot);
        });
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
        let (number, taken, home) = (self.number, self.ring.taken(), self.writer_home);
        current::with_run(self.shared.run, |s| {
            s.tally().borrow_mut().channel(number, taken, Some(home));
        });
    }
}
