//! What a port holds: one end of a channel, within a scheduler or between two.

use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::Context;

use super::block::Wait;
use super::channel::Channel;
use super::cross::Cross;
use crate::exec::scheduler;
use crate::link::waiter::{ARMED, GONE, HOOK, ID};

/// A pointer to a channel of either make, in one word: the lowest bit says which.
pub(crate) struct End<T> {
    pub(crate) pointer: Option<NonNull<u8>>,
    _token: PhantomData<*const T>,
}

pub(crate) enum Make<'a, T> {
    Here(&'a Channel<T>),
    Cross(&'a Cross<T>),
    None,
}

const CROSS: usize = 1;

impl<T> Clone for End<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for End<T> {}

impl<T> End<T> {
    pub(crate) const NONE: Self = End {
        pointer: None,
        _token: PhantomData,
    };

    /// The two ends of a new channel within a scheduler: for the writer and for the reader.
    pub(crate) fn here(number: u32, capacity: u32) -> (Self, Self) {
        let end = End {
            pointer: Some(Channel::<T>::create(number, capacity).cast()),
            _token: PhantomData,
        };
        (end, end)
    }

    /// The two ends of a new channel between schedulers.
    pub(crate) fn cross(number: u32, capacity: u32, homes: (u32, u32), run: u64) -> (Self, Self) {
        let writer = Cross::<T>::create(number, capacity, homes, run);
        let end = |cross: Arc<Cross<T>>| End {
            pointer: NonNull::new(
                Arc::into_raw(cross)
                    .cast_mut()
                    .map_addr(|a| a | CROSS)
                    .cast(),
            ),
            _token: PhantomData,
        };
        (end(Arc::clone(&writer)), end(writer))
    }

    pub(crate) fn into_raw(self) -> *mut u8 {
        self.pointer.map_or(std::ptr::null_mut(), NonNull::as_ptr)
    }

    /// # Safety
    /// `raw` came from [`End::into_raw`] of the same type, and this is the only use of it.
    pub(crate) unsafe fn from_raw(raw: *mut u8) -> Self {
        End {
            pointer: NonNull::new(raw),
            _token: PhantomData,
        }
    }

    #[inline(always)]
    pub(crate) fn make(&self) -> Make<'_, T> {
        let Some(pointer) = self.pointer else {
            return Make::None;
        };
        if pointer.as_ptr().addr() & CROSS == 0 {
            // SAFETY: an end keeps its channel alive; this kind of channel has no mark.
            Make::Here(unsafe { &*pointer.as_ptr().cast::<Channel<T>>() })
        } else {
            // SAFETY: as above, with the mark taken off.
            Make::Cross(unsafe { &*pointer.as_ptr().cast::<Cross<T>>().map_addr(|a| a & !CROSS) })
        }
    }

    /// The channel, if it is one within the scheduler: the way that has to be fast.
    #[inline(always)]
    pub(crate) fn near(&self) -> Option<&Channel<T>> {
        match self.pointer {
            Some(pointer) if pointer.as_ptr().addr() & CROSS == 0 => {
                // SAFETY: an end keeps its channel alive; this kind of channel has no mark.
                Some(unsafe { &*pointer.as_ptr().cast::<Channel<T>>() })
            }
            _ => None,
        }
    }

    pub(crate) fn channel(&self) -> Option<NonNull<Channel<T>>> {
        self.pointer.map(NonNull::cast)
    }

    /// Gives the [`Arc`] of a channel between schedulers back, to be dropped.
    ///
    /// # Safety
    /// Once for each end, and only for this make.
    pub(crate) unsafe fn release(&self) {
        if let Some(pointer) = self.pointer {
            // SAFETY: the caller's promise.
            drop(unsafe {
                Arc::from_raw(pointer.as_ptr().cast::<Cross<T>>().map_addr(|a| a & !CROSS))
            });
        }
    }

    /// The word of an end within a scheduler. (A channel between two looks after its words itself.)
    #[inline(always)]
    pub(crate) fn word(&self, write: bool) -> u32 {
        match self.make() {
            Make::Here(channel) => channel.word(write).get(),
            _ => 0,
        }
    }

    /// Has `waiter` woken when something changes at the other end; false: it has changed already.
    #[inline(always)]
    pub(crate) fn arm(&self, waiter: u32, write: bool) -> bool {
        match self.make() {
            Make::Here(channel) => {
                channel.word(write).set(ARMED | waiter);
                true
            }
            Make::Cross(channel) if write => channel.arm_writer(waiter),
            Make::Cross(channel) => channel.arm_reader(waiter),
            Make::None => false,
        }
    }

    /// Has whoever polls with `context` woken when something changes at the other end; false: it
    /// has changed already.
    pub(crate) fn wait_for_change(&self, context: &Context<'_>, write: bool) -> bool {
        scheduler::waiting(|scheduler| {
            let waiter = scheduler.waiter(context, self.word(write));
            if scheduler.probing() {
                scheduler.note(self.wait(write));
            } else if waiter & HOOK == 0
                && let Make::Cross(channel) = self.make()
                && channel.watch(scheduler, waiter, write)
            {
                return true;
            }
            self.arm(waiter, write)
        })
    }

    pub(crate) fn wait(&self, write: bool) -> Wait {
        let mut wait = Wait::unknown();
        wait.write = write;
        match self.make() {
            Make::Here(channel) => {
                wait.number = channel.number();
                wait.capacity = channel.capacity();
                wait.last_seen = channel.word(!write).get() & ID;
                wait.channel = (&raw const *channel).cast();
                wait.grow = Some(|channel, capacity| {
                    // SAFETY: made from this type just above; alive, as its writer waits at it.
                    unsafe { &*channel.cast::<Channel<T>>() }.grow(capacity);
                });
            }
            Make::Cross(channel) => {
                wait.number = channel.number;
                wait.capacity = channel.capacity();
                wait.run = channel.run;
                wait.channel = (&raw const *channel).cast();
                wait.grow = Some(|channel, capacity| {
                    // SAFETY: as above; that the threads stand still is the contract of `grow`.
                    unsafe { (*channel.cast::<Cross<T>>()).grow(capacity) };
                });
            }
            Make::None => {}
        }
        wait
    }

    /// Whether the reader has left; `None` if the port is joined to nothing.
    pub(crate) fn is_stopped(&self) -> Option<bool> {
        match self.make() {
            Make::Here(channel) => Some(channel.reader().get() & GONE != 0),
            Make::Cross(channel) => Some(channel.is_stopped()),
            Make::None => None,
        }
    }

    /// What a writer waits for that waits for its reader to leave: more room is no help.
    pub(crate) fn wait_for_stop(&self) -> Wait {
        Wait {
            stop: true,
            grow: None,
            ..self.wait(true)
        }
    }
}
