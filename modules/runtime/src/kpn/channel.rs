//! A channel between two processes of the same scheduler.
//!
//! A ring behind a point ([`Point`]), in one allocation. The fields fill 40 bytes; two slots are right
//! behind them, so that a channel of capacity one lives in one cache line. A wider ring is
//! allocated when it is first needed and doubles up to the capacity: most channels of a network
//! with generous capacities never hold more than a few tokens, and the cache thanks.
//!
//! A writer that finds the channel full leaves its token in one slot more, the *rendezvous slot*, and waits
//! until the reader has taken one. Its write is not done before, so the capacity is kept; but the
//! reader, once awake, finds that token too, and half of the switches are saved. A write that is
//! cancelled takes its token back, unless the reader has it already.
//!
//! Where the reader leaves, the tokens that it has not read are moved out, and dropped when it has left: to drop them is code of the
//! user, which may use the writing end (`exec/deferred.rs`).

use std::cell::{Cell, UnsafeCell};
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use graphmap_executor::exec::current;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::wait_points::Point;
use graphmap_executor::exec::wait_points::{self, Registry};
use graphmap_executor::link::waiter::GONE;

/// What taking a token out gave.
pub(crate) enum Take<T> {
    Token(T),
    Empty,
    End,
}

/// What putting a token in gave.
pub(crate) enum Put<T> {
    Done,
    Full(T),
    Stopped(T),
}

/// The channel. Both ends point to it; the second to leave frees it.
#[repr(C)]
pub(crate) struct Channel<T> {
    /// At the beginning, where the registry looks for it.
    point: Point,
    /// Tokens taken out so far.
    head: Cell<u64>,
    len: Cell<u32>,
    /// With fewer tokens than this there is room for one more, in a slot that is there: at most the capacity and the slots.
    /// One look instead of two, and looked at again (`make_room`) where it says no.
    room: Cell<u32>,
    /// Slots there are, less one: they are a power of two.
    mask: Cell<u32>,
    store: UnsafeCell<Store<T>>,
}

/// In the word of a reader that has left, where no id is of use any more: there was a token in the rendezvous slot
/// that it did not take.
const REFUSED: u32 = 1;

/// Slots that are in the channel itself.
const IN_PLACE: u32 = 2;

/// Two slots in place, or more elsewhere: `mask` tells.
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
        // SAFETY: a channel begins with its point, and `free` strikes it. Ends of channels are not
        // `Send`, so it is freed on this thread.
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
            // SAFETY: with more than two slots `many` is the field in use.
            unsafe { (*store).many }
        };
        // SAFETY: the masked index is below the number of slots.
        unsafe { first.add((at as u32 & mask) as usize) }
    }

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
        // SAFETY: `len` tokens are there from `head` on; this one is moved out and forgotten.
        let token = unsafe { (*self.slot(head)).assume_init_read() };
        self.head.set(head + 1);
        self.len.set(len - 1);
        self.point.wake(Side::Write, current::wake);
        Take::Token(token)
    }

    pub(crate) fn put(&self, token: T) -> Put<T> {
        if self.has_room() {
            // SAFETY: it was asked just now.
            unsafe { self.put_in(token) };
            Put::Done
        } else if self.point.is_gone(Side::Read) {
            self.note_unread();
            Put::Stopped(token)
        } else {
            Put::Full(token)
        }
    }

    /// The reader has not read all that was written, or was to be.
    #[cold]
    fn note_unread(&self) {
        current::left_early(|registry| registry.number_of(&self.point));
    }

    /// Whether a token can be put in. Never when the reader has left: that takes all room away.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        let len = self.len.get();
        len < self.room.get() || (len < self.point.capacity.get() && self.make_room())
    }

    /// The capacity allows for more than was known: true.
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

    /// The reader leaves, and takes all room away.
    fn end_room(&self) {
        self.point.capacity.set(0);
        self.room.set(0);
    }

    /// Puts a token in; [`has_room`](Self::has_room) has to have said that there is room.
    ///
    /// # Safety
    /// Nothing has been put in since.
    #[inline(always)]
    pub(crate) unsafe fn put_in(&self, token: T) {
        debug_assert!(self.len.get() < self.room.get());
        // SAFETY: there is no more room than slots.
        unsafe { self.append(token) };
        self.point.wake(Side::Read, current::wake_next);
    }

    /// Whether more tokens are here than the capacity allows: one is in the rendezvous slot.
    #[inline(always)]
    pub(crate) fn has_offer(&self) -> bool {
        self.len.get() > self.point.capacity.get()
    }

    /// Leaves a token in the rendezvous slot. The channel has to be just full, so no reader waits.
    #[inline(always)]
    pub(crate) fn offer(&self, token: T) {
        debug_assert!(self.len.get() == self.point.capacity.get() && self.len.get() > 0);
        if self.len.get() > self.mask.get() {
            self.widen();
        }
        // SAFETY: a slot is free.
        unsafe { self.append(token) };
    }

    /// Whether the reader has left without the token in the rendezvous slot. It may as well have taken that token
    /// and left before its writer had a turn: then the write was done.
    pub(crate) fn refused(&self) -> bool {
        self.point.word(Side::Read) & (GONE | REFUSED) == GONE | REFUSED
    }

    /// Takes the writer's last token back, unless the reader has it: it was in the rendezvous slot, so it is the
    /// last that was put in.
    pub(crate) fn take_back(&self) -> Option<T> {
        let len = self.len.get().checked_sub(1)?;
        self.len.set(len);
        // SAFETY: the last token is there, and after this it is forgotten.
        Some(unsafe { (*self.slot(self.head.get() + u64::from(len))).assume_init_read() })
    }

    /// Whether somebody who found nothing to take, or no room, need still wait.
    pub(crate) fn is_unchanged(&self, side: Side) -> bool {
        let gone = self.point.is_gone(side.other());
        match side {
            Side::Read => self.len.get() == 0 && !gone,
            Side::Write => !self.has_room() && !gone,
        }
    }

    /// # Safety
    /// A slot has to be free.
    #[inline(always)]
    unsafe fn append(&self, token: T) {
        let len = self.len.get();
        debug_assert!(len <= self.mask.get());
        // SAFETY: the slot behind the last token is free.
        unsafe { (*self.slot(self.head.get() + u64::from(len))).write(token) };
        self.len.set(len + 1);
    }

    /// Doubles the slots.
    #[cold]
    #[inline(never)]
    fn widen(&self) {
        let old = self.mask.get() + 1;
        let new = old * 2;
        let wide = ManuallyDrop::new(Vec::<MaybeUninit<T>>::with_capacity(new as usize));
        let wide = wide.as_ptr().cast_mut();
        let head = self.head.get();
        for at in head..head + u64::from(self.len.get()) {
            // SAFETY: moves the tokens that are there into memory that is as wide as needed.
            unsafe {
                self.slot(at)
                    .copy_to_nonoverlapping(wide.add((at as u32 & (new - 1)) as usize), 1)
            };
        }
        // SAFETY: `many` is in use if there were more than two slots.
        unsafe { self.free_slots(old) };
        self.mask.set(new - 1);
        // SAFETY: nobody looks at the store now; a channel is its thread's own.
        unsafe { (*self.store.get()).many = wide };
    }

    /// # Safety
    /// `slots` must be how many there are; the store is not to be used before it is set anew.
    unsafe fn free_slots(&self, slots: u32) {
        if slots > IN_PLACE {
            // SAFETY: `widen` made this with just this capacity; the tokens are not its own.
            drop(unsafe { Vec::from_raw_parts((*self.store.get()).many, 0, slots as usize) });
        }
    }

    /// The reader leaves; its tokens go with it.
    ///
    /// # Safety
    /// Not to be called twice, and `channel` is not to be used by the reader afterwards.
    pub(crate) unsafe fn close_reader(channel: NonNull<Self>) {
        // SAFETY: the end that leaves has not left yet.
        let this = unsafe { channel.as_ref() };
        let len = this.len.get();
        if len == 0 {
            // SAFETY: the caller's promise; there are no tokens.
            return unsafe { Self::reader_has_left(channel, 0) };
        }
        let refused = if this.has_offer() { REFUSED } else { 0 };
        // Tokens that nobody has read do not count, so the head stays.
        this.note_unread();
        this.len.set(0);
        if !mem::needs_drop::<T>() {
            // SAFETY: as above.
            return unsafe { Self::reader_has_left(channel, refused) };
        }
        let head = this.head.get();
        let tokens = (head..head + u64::from(len))
            // SAFETY: the tokens were there, and as `len` says they are no more.
            .map(|at| unsafe { (*this.slot(at)).assume_init_read() })
            .collect();
        // SAFETY: as above.
        unsafe { Self::reader_has_left(channel, refused) };
        current::drop_tokens::<T>(tokens);
    }

    /// # Safety
    /// As for [`Channel::close_reader`], which calls this when there are no tokens any more.
    unsafe fn reader_has_left(channel: NonNull<Self>, refused: u32) {
        // SAFETY: the reader leaves here, and not before. No code of the user is called.
        let this = unsafe { channel.as_ref() };
        this.end_room();
        this.point.leave(Side::Read, refused);
        this.point
            .wake_left(Side::Write, current::wake_stopped, current::stopped_soon);
        if this.point.is_gone(Side::Write) {
            // SAFETY: the other end has left too.
            unsafe { Self::free(channel) };
        }
    }

    /// The writer leaves.
    ///
    /// # Safety
    /// As for the reader.
    pub(crate) unsafe fn close_writer(channel: NonNull<Self>) {
        // SAFETY: the end that leaves has not left yet. No code of the user is called here.
        let this = unsafe { channel.as_ref() };
        this.point.leave(Side::Write, 0);
        this.point.wake_left(Side::Read, current::wake, |_| {});
        if this.point.is_gone(Side::Read) {
            // SAFETY: the other end has left too.
            unsafe { Self::free(channel) };
        }
    }

    /// # Safety
    /// Both ends must have left, and nobody may use the channel afterwards.
    unsafe fn free(channel: NonNull<Self>) {
        // SAFETY: it is there until the end of this function.
        let number = wait_points::strike(unsafe { channel.as_ref().point() });
        // SAFETY: `create` made the Box, no end is left, and the registry has forgotten it. It holds
        // no tokens: the reader took them, and nothing is put in once the reader has gone.
        let this = unsafe { Box::from_raw(channel.as_ptr()) };
        if let Some(number) = number {
            current::channel_is_gone(number, this.head.get());
        }
        // SAFETY: the count is right, and the store is not used again.
        unsafe { this.free_slots(this.mask.get() + 1) };
    }
}
