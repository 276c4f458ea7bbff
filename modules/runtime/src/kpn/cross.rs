//! A channel between processes of two schedulers: a ring, and where its ends are at home.

use std::sync::Arc;

use super::channel::{Put, Take};
use crate::exec::scheduler::{self, Scheduler};
use crate::exec::watch::Watch;
use crate::link::spsc::{Pop, Push, Ring};
use crate::link::waiter::ARMED;

pub(crate) struct Cross<T> {
    ring: Ring<T>,
    pub(crate) number: u32,
    /// The schedulers of the two ends.
    reader_home: u32,
    writer_home: u32,
    /// The run it belongs to: another run must not grow it.
    pub(crate) run: u64,
}

impl<T> Cross<T> {
    pub(crate) fn create(number: u32, capacity: u32, homes: (u32, u32), run: u64) -> Arc<Self> {
        let (writer_home, reader_home) = homes;
        Arc::new(Cross {
            ring: Ring::new(capacity),
            number,
            reader_home,
            writer_home,
            run,
        })
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
                        scheduler::owe(0, (&raw const *self).cast(), |end| {
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
                        scheduler::owe(1, (&raw const *self).cast(), |end| {
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
            scheduler::wake_at(home, id);
        }
    }

    /// Has `scheduler` look for tokens, or for room, for its process `id`; false if it has enough to
    /// look after.
    pub(crate) fn watch(&self, scheduler: &Scheduler, id: u32, write: bool) -> bool {
        let mut watch = Watch {
            end: (&raw const *self).cast(),
            id,
            // SAFETY: made from this type just above; in the list as long as it is alive, and on
            // the thread of the end.
            look: |end, idle| unsafe { (*end.cast::<Self>()).ring.reader_is_ready(idle) },
            // SAFETY: as above.
            arm: |end, id| unsafe { (*end.cast::<Self>()).arm_reader(id) },
        };
        if write {
            // SAFETY: as above.
            watch.look = |end, idle| unsafe { (*end.cast::<Self>()).ring.writer_is_ready(idle) };
            // SAFETY: as above.
            watch.arm = |end, id| unsafe { (*end.cast::<Self>()).arm_writer(id) };
            self.unhook_writer();
            // SAFETY: this is the one writing end.
            unsafe { self.ring.pace_writer() };
        } else {
            self.unhook_reader();
            // SAFETY: this is the one reading end.
            unsafe { self.ring.pace_reader() };
        }
        // SAFETY: both ends have the schedulers of their threads forget them before they go.
        unsafe { scheduler.watches().add(watch) }
    }

    /// Has the reader's `id` woken by the writer; false: something has changed already.
    pub(crate) fn arm_reader(&self, id: u32) -> bool {
        self.unhook_reader();
        let waits = self.ring.arm_reader(id);
        if !waits {
            self.unhook_reader();
        }
        waits
    }

    /// Has the writer's `id` woken by the reader; false: something has changed already.
    pub(crate) fn arm_writer(&self, id: u32) -> bool {
        self.unhook_writer();
        let waits = self.ring.arm_writer(id);
        if !waits {
            self.unhook_writer();
        }
        waits
    }

    /// Has the id in `word` woken when the reader leaves; true: it has left already.
    pub(crate) fn arm_stop(&self, word: u32) -> bool {
        self.unhook_writer();
        let stopped = self.ring.arm_stop(word);
        if stopped {
            self.unhook_writer();
        }
        stopped
    }

    /// Nobody waits at the reading end any more: frees the hook of a foreign waker. One that has
    /// been disarmed by the other side is in the inbox, and is freed when it fires.
    fn unhook_reader(&self) {
        unhook(self.ring.disarm_reader());
    }

    fn unhook_writer(&self) {
        unhook(self.ring.disarm_writer());
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.ring.is_stopped()
    }

    pub(crate) fn capacity(&self) -> u32 {
        // SAFETY: a growing ring has both its threads standing still, so this is not one of them.
        unsafe { self.ring.capacity() as u32 }
    }

    /// # Safety
    /// As for [`Ring::grow`].
    pub(crate) unsafe fn grow(&self, capacity: u32) {
        // SAFETY: the caller's promise.
        unsafe { self.ring.grow(capacity) };
    }

    /// # Safety
    /// Only for the reading end, which must not be used afterwards.
    pub(crate) unsafe fn close_reader(&self) {
        // SAFETY: the caller's promise.
        while let Take::Token(token) = unsafe { self.take() } {
            drop(token);
        }
        scheduler::forget((&raw const *self).cast());
        self.unhook_reader();
        self.wake(self.writer_home, self.ring.close_reader());
    }

    pub(crate) fn close_writer(&self) {
        scheduler::forget((&raw const *self).cast());
        self.unhook_writer();
        self.wake(self.reader_home, self.ring.close_writer());
    }
}

fn unhook(id: Option<u32>) {
    if let Some(id) = id {
        scheduler::with_current(|scheduler| scheduler.unhook(ARMED | id));
    }
}

impl<T> Drop for Cross<T> {
    fn drop(&mut self) {
        let (number, taken, home) = (self.number, self.ring.taken(), self.writer_home);
        scheduler::with_current(|s| s.tally().borrow_mut().channel(number, taken, Some(home)));
    }
}
