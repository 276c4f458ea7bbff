//! A channel between two processes of the same scheduler.
//!
//! It is one allocation: a point ([`Point`]), the state of a ring, and two slots. The fields before
//! the slots take 40 bytes, so that a channel of capacity one fits into one cache line. More slots
//! are allocated when they are first needed, and are doubled up to the capacity. This saves cache,
//! because in a network with large capacities most channels never hold more than a few tokens.
//!
//! A writer that finds the channel full leaves its token in one additional slot, the *rendezvous
//! slot*, and waits until the reader has taken a token. Its write is not complete before that, so
//! the capacity is kept. When the reader is woken, it finds that token too, which saves half of the
//! switches between processes. A write that is cancelled takes its token back, unless the reader
//! already has it.
//!
//! When the reader leaves, its unread tokens are moved out of the channel, and dropped afterwards.
//! Their destructors are user code, which may use the writing end (`exec/deferred.rs`).

use std::cell::{Cell, UnsafeCell};
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use graphmap_executor::exec::current;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::wait_points::Point;
use graphmap_executor::exec::wait_points::{self, Registry};
use graphmap_executor::link::waiter::GONE;

/// Result of taking a token out.
pub(crate) enum Take<T> {
    Token(T),
    Empty,
    End,
}

/// Result of putting a token in.
pub(crate) enum Put<T> {
    Done,
    Full(T),
    Stopped(T),
}

/// Channel, to which both ends point. The end that leaves last frees it.
#[repr(C)]
pub(crate) struct Channel<T> {
    /// First, because the registry expects it at the address of the channel.
    point: Point,
    /// Number of tokens taken out so far.
    head: Cell<u64>,
    len: Cell<u32>,
    /// If `len` is below this, there is a free slot within the capacity. It is at most the
    /// capacity, and at most the number of slots, so that one comparison replaces two. If it is
    /// reached, `make_room` checks the capacity, which may be larger.
    room: Cell<u32>,
    /// Number of slots minus one. The number of slots is a power of two.
    mask: Cell<u32>,
    store: UnsafeCell<Store<T>>,
}

/// Mark in the state word of a reader that has left, which has no id any more: the reader did not
/// take the token in the rendezvous slot.
const REFUSED: u32 = 1;

/// Number of slots in the channel itself.
const IN_PLACE: u32 = 2;

/// Two slots in place, or more in an allocation of their own. `mask` says which.
union Store<T> {
    two: ManuallyDrop<MaybeUninit<[T; 2]>>,
    many: *mut MaybeUninit<T>,
}

impl<T> Channel<T> {
    pub(crate) fn create(registry: &Registry, number: u32, capacity: u32) -> NonNull<Self> {
        let channel = NonNull::from(Box::leak(Box::new(Channel {
            point: Point::new(registry.next(), capacity),
            head: Cell::new(0),
            len: Cell::new(0),
            room: Cell::new(capacity.min(IN_PLACE)),
            mask: Cell::new(IN_PLACE - 1),
            store: UnsafeCell::new(Store {
                two: ManuallyDrop::new(MaybeUninit::uninit()),
            }),
        })));
        // SAFETY: a channel begins with its point, and `free` calls `remove_point` first.
        // The ends of channels are not `Send`, so that happens on this thread.
        unsafe { registry.add(channel.cast(), number) };
        channel
    }

    #[inline(always)]
    pub(crate) fn point(&self) -> &Point {
        &self.point
    }

    #[inline(always)]
    fn slot(&self, at: u64) -> *mut MaybeUninit<T> {
        let mask = self.mask.get();
        let store = self.store.get();
        let first = if mask == IN_PLACE - 1 {
            store.cast()
        } else {
            // SAFETY: with more than two slots, `many` is the active field.
            unsafe { (*store).many }
        };
        // SAFETY: the masked index is below the number of slots.
        unsafe { first.add((at as u32 & mask) as usize) }
    }

    /// Takes a token out, and wakes the writer if it waits. If the channel is empty, returns
    /// `Take::End` if the writer has left, and otherwise `Take::Empty`.
    #[inline(always)]
    pub(crate) fn take(&self) -> Take<T> {
        let len = self.len.get();
        if len == 0 {
            return if self.point.is_gone(Side::Write) {
                Take::End
            } else {
                Take::Empty
            };
        }
        let head = self.head.get();
        // SAFETY: `len` tokens are initialised from `head` on. This one is moved out, and `head`
        // passes it.
        let token = unsafe { (*self.slot(head)).assume_init_read() };
        self.head.set(head + 1);
        self.len.set(len - 1);
        self.point.wake(Side::Write, current::wake);
        Take::Token(token)
    }

    /// Puts a token in, and wakes the reader if it waits. Never uses the rendezvous slot. Returns
    /// the token if the channel is full or the reader has left. The latter is recorded for the
    /// report of the run.
    pub(crate) fn put(&self, token: T) -> Put<T> {
        if self.has_room() {
            // SAFETY: `has_room` has just returned true.
            unsafe { self.put_in(token) };
            Put::Done
        } else if self.point.is_gone(Side::Read) {
            self.note_unread();
            Put::Stopped(token)
        } else {
            Put::Full(token)
        }
    }

    /// Records for the report of the run that the reader has left before it read all tokens, or
    /// before the writer had finished. Has no effect outside of a run or after it has stopped.
    #[cold]
    fn note_unread(&self) {
        current::left_early(|registry| registry.number_of(&self.point));
    }

    /// Returns true if a token can be put in within the capacity. Allocates slots if there are too
    /// few. Returns false if the reader has left, because `end_room` then sets the capacity to 0.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        let len = self.len.get();
        len < self.room.get() || (len < self.point.capacity.get() && self.make_room())
    }

    /// Raises `room`, because the capacity allows more tokens than are in the channel. Allocates
    /// slots if none is free. Returns true.
    #[cold]
    #[inline(never)]
    fn make_room(&self) -> bool {
        if self.len.get() > self.mask.get() {
            self.widen();
        }
        self.room
            .set(self.point.capacity.get().min(self.mask.get() + 1));
        true
    }

    /// Removes all space for tokens, because the reader leaves.
    fn end_room(&self) {
        self.point.capacity.set(0);
        self.room.set(0);
    }

    /// Puts a token in, and wakes the reader if it waits.
    ///
    /// # Safety
    /// [`has_room`](Self::has_room) must have returned true, and no token may have been put in
    /// since.
    #[inline(always)]
    pub(crate) unsafe fn put_in(&self, token: T) {
        debug_assert!(self.len.get() < self.room.get());
        // SAFETY: `room` is at most the number of slots, so a slot is free.
        unsafe { self.append(token) };
        self.point.wake(Side::Read, current::wake_next);
    }

    /// Returns true if the number of tokens exceeds the capacity: one is in the rendezvous slot.
    #[inline(always)]
    pub(crate) fn has_offer(&self) -> bool {
        self.len.get() > self.point.capacity.get()
    }

    /// Leaves a token in the rendezvous slot, and allocates slots if none is free. The channel must
    /// be exactly full, so no reader waits.
    #[inline(always)]
    pub(crate) fn offer(&self, token: T) {
        debug_assert!(self.len.get() == self.point.capacity.get() && self.len.get() > 0);
        if self.len.get() > self.mask.get() {
            self.widen();
        }
        // SAFETY: a slot is free, after `widen` if necessary.
        unsafe { self.append(token) };
    }

    /// Returns true if the reader has left without the token in the rendezvous slot. If it took the
    /// token and left before the writer was polled, the write is complete, and this returns false.
    pub(crate) fn refused(&self) -> bool {
        self.point.word(Side::Read) & (GONE | REFUSED) == GONE | REFUSED
    }

    /// Takes the writer's last token back, which was in the rendezvous slot and is therefore the
    /// last one in the channel. Returns `None` if the reader has taken it, so that the channel is
    /// empty.
    pub(crate) fn take_back(&self) -> Option<T> {
        let len = self.len.get().checked_sub(1)?;
        self.len.set(len);
        // SAFETY: the last token is initialised, and `len` no longer counts it.
        Some(unsafe { (*self.slot(self.head.get() + u64::from(len))).assume_init_read() })
    }

    /// Returns true if a process at `side` that found no token, or no space, must still wait. The
    /// reader must wait while the channel is empty and the writer has not left. The writer must
    /// wait while there is no space and the reader has not left.
    pub(crate) fn is_unchanged(&self, side: Side) -> bool {
        let gone = self.point.is_gone(side.other());
        match side {
            Side::Read => self.len.get() == 0 && !gone,
            Side::Write => !self.has_room() && !gone,
        }
    }

    /// Puts a token behind the last one.
    ///
    /// # Safety
    /// A slot must be free.
    #[inline(always)]
    unsafe fn append(&self, token: T) {
        let len = self.len.get();
        debug_assert!(len <= self.mask.get());
        // SAFETY: the slot behind the last token is free.
        unsafe { (*self.slot(self.head.get() + u64::from(len))).write(token) };
        self.len.set(len + 1);
    }

    /// Doubles the number of slots.
    #[cold]
    #[inline(never)]
    fn widen(&self) {
        let old = self.mask.get() + 1;
        let new = old * 2;
        let wide = ManuallyDrop::new(Vec::<MaybeUninit<T>>::with_capacity(new as usize));
        let wide = wide.as_ptr().cast_mut();
        let head = self.head.get();
        for at in head..head + u64::from(self.len.get()) {
            // SAFETY: the token is initialised. The new slots are more than the old ones, and do
            // not overlap them.
            unsafe {
                self.slot(at)
                    .copy_to_nonoverlapping(wide.add((at as u32 & (new - 1)) as usize), 1)
            };
        }
        // SAFETY: `many` is the active field if there were more than two slots.
        unsafe { self.free_slots(old) };
        self.mask.set(new - 1);
        // SAFETY: no reference into the store exists, and only this thread uses the channel.
        unsafe { (*self.store.get()).many = wide };
    }

    /// Frees the slots that are not in place. Has no effect if all are.
    ///
    /// # Safety
    /// `slots` must be the number of slots. The store must not be used again before it is set.
    unsafe fn free_slots(&self, slots: u32) {
        if slots > IN_PLACE {
            // SAFETY: `widen` allocated this with the same capacity. The length is 0, so no token
            // is dropped.
            drop(unsafe { Vec::from_raw_parts((*self.store.get()).many, 0, slots as usize) });
        }
    }

    /// Closes the reading end, wakes the writer if it waits, and drops the unread tokens. Frees the
    /// channel if the writer has left. Unread tokens are recorded for the report of the run. The
    /// destructors of tokens may run later, at the latest after the current poll.
    ///
    /// # Safety
    /// The reader must call this only once, and must not use `channel` afterwards.
    pub(crate) unsafe fn close_reader(channel: NonNull<Self>) {
        // SAFETY: this end has not left yet, so the channel is alive.
        let this = unsafe { channel.as_ref() };
        let len = this.len.get();
        if len == 0 {
            // SAFETY: guaranteed by the caller, and the channel has no tokens.
            return unsafe { Self::reader_has_left(channel, 0) };
        }
        let refused = if this.has_offer() { REFUSED } else { 0 };
        // The head stays, because it counts only tokens that were read.
        this.note_unread();
        this.len.set(0);
        if !mem::needs_drop::<T>() {
            // SAFETY: as above.
            return unsafe { Self::reader_has_left(channel, refused) };
        }
        let head = this.head.get();
        let tokens = (head..head + u64::from(len))
            // SAFETY: the tokens were initialised, and `len` no longer counts them.
            .map(|at| unsafe { (*this.slot(at)).assume_init_read() })
            .collect();
        // SAFETY: as above.
        unsafe { Self::reader_has_left(channel, refused) };
        current::drop_tokens::<T>(tokens);
    }

    /// Records that the reader has left, and wakes the writer. `refused` is [`REFUSED`] if a token
    /// was left in the rendezvous slot, otherwise 0. Frees the channel if the writer has left.
    ///
    /// # Safety
    /// The reader must call this only once, and must not use `channel` afterwards. The channel must
    /// have no tokens.
    unsafe fn reader_has_left(channel: NonNull<Self>, refused: u32) {
        // SAFETY: the reader leaves only below, so the channel is alive. No user code is called.
        let this = unsafe { channel.as_ref() };
        this.end_room();
        this.point.leave(Side::Read, refused);
        this.point
            .wake_left(Side::Write, current::wake_stopped, current::stopped_soon);
        if this.point.is_gone(Side::Write) {
            // SAFETY: both ends have left.
            unsafe { Self::free(channel) };
        }
    }

    /// Closes the writing end, and wakes the reader if it waits. Frees the channel if the reader
    /// has left.
    ///
    /// # Safety
    /// The writer must call this only once, and must not use `channel` afterwards.
    pub(crate) unsafe fn close_writer(channel: NonNull<Self>) {
        // SAFETY: this end has not left yet, so the channel is alive. No user code is called.
        let this = unsafe { channel.as_ref() };
        this.point.leave(Side::Write, 0);
        this.point.wake_left(Side::Read, current::wake, |_| {});
        if this.point.is_gone(Side::Read) {
            // SAFETY: both ends have left.
            unsafe { Self::free(channel) };
        }
    }

    /// Frees the channel, and adds the number of tokens that were read to the statistics of its
    /// run.
    ///
    /// # Safety
    /// Both ends must have left, and `channel` must not be used afterwards.
    unsafe fn free(channel: NonNull<Self>) {
        // SAFETY: the channel is alive until the end of this function.
        let number = wait_points::remove_point(unsafe { channel.as_ref().point() });
        // SAFETY: `create` made the Box, no end is left, and the registry has removed the point. No
        // token is in the channel, because the reader took them all and none is put in after it has
        // left.
        let this = unsafe { Box::from_raw(channel.as_ptr()) };
        if let Some(number) = number {
            current::channel_is_gone(number, this.head.get());
        }
        // SAFETY: the number of slots is correct, and the store is not used again.
        unsafe { this.free_slots(this.mask.get() + 1) };
    }
}
