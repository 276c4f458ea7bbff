//! A channel between two processes of the same scheduler.
//!
//! A ring and two waiting ids in one allocation. The fields fill 32 bytes; two slots are right
//! behind them, so that a channel of capacity one lives in one cache line. A wider ring is
//! allocated when it is first needed and doubles up to the capacity: most channels of a network
//! with generous capacities never hold more than a few tokens, and the cache thanks.
//!
//! A writer that finds the channel full leaves its token in one slot more, *in hand*, and waits
//! until the reader has taken one. Its write is not done before, so the capacity is kept; but the
//! reader, once awake, finds that token too, and half of the switches are saved. A write that is
//! cancelled takes the token back.

use std::cell::{Cell, UnsafeCell};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

use crate::exec::scheduler;
use crate::link::waiter::{ARMED, GONE, HOOK, ID, NOBODY};

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
    /// Who reads: a word as in `link/waiter.rs`.
    reader: Cell<u32>,
    writer: Cell<u32>,
    number: u32,
    capacity: Cell<u32>,
    /// Tokens taken out so far.
    head: Cell<u64>,
    len: Cell<u32>,
    /// Slots there are: a power of two.
    slots: Cell<u32>,
    store: UnsafeCell<Store<T>>,
}

/// In the word of a reader that has left, where no id is of use any more: there was a token in hand
/// that it did not take.
const REFUSED: u32 = 1;

/// Slots that are in the channel itself.
const IN_PLACE: u32 = 2;

/// Two slots in place, or more elsewhere: `slots` tells.
union Store<T> {
    two: ManuallyDrop<MaybeUninit<[T; 2]>>,
    many: *mut MaybeUninit<T>,
}

impl<T> Channel<T> {
    pub(crate) fn create(number: u32, capacity: u32) -> NonNull<Self> {
        NonNull::from(Box::leak(Box::new(Channel {
            reader: Cell::new(NOBODY),
            writer: Cell::new(NOBODY),
            number,
            capacity: Cell::new(capacity),
            head: Cell::new(0),
            len: Cell::new(0),
            slots: Cell::new(IN_PLACE),
            store: UnsafeCell::new(Store {
                two: ManuallyDrop::new(MaybeUninit::uninit()),
            }),
        })))
    }

    #[inline(always)]
    fn slot(&self, at: u64) -> *mut MaybeUninit<T> {
        let slots = self.slots.get();
        let store = self.store.get();
        let first = if slots == IN_PLACE {
            store.cast()
        } else {
            // SAFETY: with more than two slots `many` is the field in use.
            unsafe { (*store).many }
        };
        // SAFETY: the masked index is below the number of slots.
        unsafe { first.add((at as u32 & (slots - 1)) as usize) }
    }

    #[inline(always)]
    pub(crate) fn take(&self) -> Take<T> {
        let len = self.len.get();
        if len == 0 {
            return if self.writer.get() & GONE != 0 {
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
        wake(&self.writer, scheduler::wake);
        Take::Token(token)
    }

    pub(crate) fn put(&self, token: T) -> Put<T> {
        if self.has_room() {
            self.put_in(token);
            Put::Done
        } else if self.reader.get() & GONE != 0 {
            Put::Stopped(token)
        } else {
            Put::Full(token)
        }
    }

    /// Whether a token can be put in. Never when the reader has left: that takes all room away.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.len.get() < self.capacity.get()
    }

    /// Puts a token in; there has to be room.
    #[inline(always)]
    pub(crate) fn put_in(&self, token: T) {
        debug_assert!(self.has_room());
        self.append(token);
        wake(&self.reader, scheduler::wake_next);
    }

    /// Whether more tokens are here than the capacity allows: one is in hand.
    #[inline(always)]
    pub(crate) fn has_one_in_hand(&self) -> bool {
        self.len.get() > self.capacity.get()
    }

    /// Leaves a token in hand. The channel has to be just full, so no reader waits.
    #[inline(always)]
    pub(crate) fn hand(&self, token: T) {
        debug_assert!(self.len.get() == self.capacity.get() && self.len.get() > 0);
        self.append(token);
    }

    /// Whether the reader has left without the token in hand. It may as well have taken that token
    /// and left before its writer had a turn: then the write was done.
    pub(crate) fn refused(&self) -> bool {
        self.reader.get() & (GONE | REFUSED) == GONE | REFUSED
    }

    /// Takes the token in hand back.
    pub(crate) fn take_back(&self) -> Option<T> {
        if !self.has_one_in_hand() {
            return None;
        }
        let len = self.len.get() - 1;
        self.len.set(len);
        // SAFETY: the last token is there, and after this it is forgotten.
        Some(unsafe { (*self.slot(self.head.get() + u64::from(len))).assume_init_read() })
    }

    #[inline(always)]
    fn append(&self, token: T) {
        let len = self.len.get();
        if len == self.slots.get() {
            self.widen();
        }
        // SAFETY: the slot behind the last token is free.
        unsafe { (*self.slot(self.head.get() + u64::from(len))).write(token) };
        self.len.set(len + 1);
    }

    /// Doubles the slots.
    #[cold]
    #[inline(never)]
    fn widen(&self) {
        let (old, new) = (self.slots.get(), self.slots.get() * 2);
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
        self.slots.set(new);
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

    pub(crate) fn reader(&self) -> &Cell<u32> {
        &self.reader
    }

    pub(crate) fn writer(&self) -> &Cell<u32> {
        &self.writer
    }

    /// The word of the writer, or of the reader.
    #[inline(always)]
    pub(crate) fn word(&self, writer: bool) -> &Cell<u32> {
        if writer { &self.writer } else { &self.reader }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    pub(crate) fn capacity(&self) -> u32 {
        self.capacity.get()
    }

    pub(crate) fn grow(&self, capacity: u32) {
        if self.reader.get() & GONE == 0 {
            self.capacity.set(capacity.max(self.capacity.get()));
        }
    }

    /// The reader leaves; its tokens go with it.
    ///
    /// # Safety
    /// Not to be called twice, and `channel` is not to be used by the reader afterwards.
    pub(crate) unsafe fn close_reader(channel: NonNull<Self>) {
        // SAFETY: an end that has not left keeps the channel alive.
        let this = unsafe { channel.as_ref() };
        let refused = if this.has_one_in_hand() { REFUSED } else { 0 };
        // Before the mark: a token may hold the writing end of this very channel, which then
        // leaves in the middle of this loop and must not free the channel.
        let read = this.head.get();
        while let Take::Token(token) = this.take() {
            drop(token);
        }
        // The channel is empty, so its head is a count and no place any more: nobody read these.
        this.head.set(read);
        this.reader.set(GONE | refused);
        this.capacity.set(0);
        // A writer that is named but not armed may wait for just this (`Output::stopped`). The id
        // may also be a stale one: then somebody is polled once too often.
        let writer = this.writer.get();
        if writer & (HOOK | GONE | ARMED) == 0 {
            scheduler::wake_stopped(writer & ID);
        }
        wake(&this.writer, scheduler::wake_stopped);
        if this.writer.get() & GONE != 0 {
            // SAFETY: the other end has left too.
            unsafe { Self::free(channel) };
        }
    }

    /// The writer leaves.
    ///
    /// # Safety
    /// As for the reader.
    pub(crate) unsafe fn close_writer(channel: NonNull<Self>) {
        // SAFETY: an end that has not left keeps the channel alive.
        let this = unsafe { channel.as_ref() };
        this.writer.set(this.writer.get() | GONE);
        wake(&this.reader, scheduler::wake);
        if this.reader.get() & GONE != 0 {
            // SAFETY: the other end has left too.
            unsafe { Self::free(channel) };
        }
    }

    /// # Safety
    /// Both ends must have left, and nobody may use the channel afterwards.
    unsafe fn free(channel: NonNull<Self>) {
        // SAFETY: `create` made the Box, and no end is left. It holds no tokens: the reader took
        // them, and nothing is put in once the reader has gone.
        let this = unsafe { Box::from_raw(channel.as_ptr()) };
        scheduler::with_current(|s| {
            s.tally()
                .borrow_mut()
                .channel(this.number, this.head.get(), None)
        });
        // SAFETY: the count is right, and the store is not used again.
        unsafe { this.free_slots(this.slots.get()) };
    }
}

/// Wakes whoever waits by this word.
#[inline(always)]
fn wake(word: &Cell<u32>, how: impl Fn(u32)) {
    let waiter = word.get();
    if waiter & ARMED != 0 {
        word.set(waiter & !ARMED);
        how(waiter & ID);
    }
}
