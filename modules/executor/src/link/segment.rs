//! Slots for more tokens than a ring holds in its own cache lines. They are allocated when they are
//! first needed, and doubled when more are needed.
//!
//! The slots are in a chain of segments. Each holds the tokens from some index up to the first
//! index of the next segment. When the producer needs more slots, it creates a wider segment, links
//! it to the old one, stores the index there, and then stores a `tail` behind the index. A consumer
//! that sees such a `tail` also sees the link and the index. It moves to the next segment when it
//! has read all tokens of the old one. So a ring allocates only slots that it uses. The producer
//! alone lets it grow, independently of the consumer.

use std::mem::MaybeUninit;
use std::ptr;

use super::pace::Pace;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// A value in a cache line of its own.
#[repr(align(64))]
pub(super) struct Line<T>(pub(super) T);

pub(super) type Slot<T> = UnsafeCell<MaybeUninit<T>>;

#[inline]
pub(super) fn slot<T>() -> Slot<T> {
    UnsafeCell::new(MaybeUninit::uninit())
}

/// The state that each side of a ring keeps about the segments, in a cache line that the other side
/// does not access.
pub(super) struct Segments<T> {
    /// The first index whose token is not in the slots of the ring itself.
    pub(super) from: u64,
    writing: Line<UnsafeCell<Writing<T>>>,
    reading: Line<UnsafeCell<Reading<T>>>,
}

/// The state of the producer.
pub(super) struct Writing<T> {
    /// The producer knows that the slots below this index are free.
    pub(super) limit: u64,
    /// The segment that the producer writes, and the first index in it.
    segment: *const Segment<T>,
    start: u64,
    pub(super) pace: Pace,
}

/// The state of the consumer.
pub(super) struct Reading<T> {
    /// The consumer knows that all tokens below this index were put in.
    pub(super) seen: u64,
    segment: *const Segment<T>,
    pub(super) pace: Pace,
}

struct Segment<T> {
    /// The length is a power of two.
    slots: Box<[Slot<T>]>,
    until: AtomicU64,
    next: AtomicPtr<Segment<T>>,
}

/// Maximum number of slots of the first segment.
const FIRST: u64 = 8;

impl<T> Segment<T> {
    fn create(slots: u64) -> *mut Self {
        let mut all = Vec::with_capacity(slots as usize);
        all.resize_with(slots as usize, slot);
        Box::into_raw(Box::new(Segment {
            slots: all.into_boxed_slice(),
            until: AtomicU64::new(u64::MAX),
            next: AtomicPtr::new(ptr::null_mut()),
        }))
    }

    fn len(&self) -> u64 {
        self.slots.len() as u64
    }

    #[inline(always)]
    fn slot(&self, at: u64) -> &Slot<T> {
        // In bounds, because the length is a power of two.
        &self.slots[at as usize & (self.slots.len() - 1)]
    }
}

impl<T> Segments<T> {
    /// Creates the segments of a ring with this capacity, for the tokens from index `from` on. The
    /// first segment has at most 8 slots.
    pub(super) fn create(from: u64, capacity: u64) -> Box<Self> {
        let segment = Segment::create(capacity.next_power_of_two().min(FIRST));
        Box::new(Segments {
            from,
            writing: Line(UnsafeCell::new(Writing {
                limit: from,
                segment,
                start: from,
                pace: Pace::new(),
            })),
            reading: Line(UnsafeCell::new(Reading {
                seen: 0,
                segment,
                pace: Pace::new(),
            })),
        })
    }

    /// Calls `f` with a pointer to the state of the producer, and returns its result. Only the
    /// producer's thread may use the pointer.
    #[inline(always)]
    pub(super) fn writing<R>(&self, f: impl FnOnce(*mut Writing<T>) -> R) -> R {
        self.writing.0.with_mut(f)
    }

    /// Calls `f` with a pointer to the state of the consumer, and returns its result. Only the
    /// consumer's thread may use the pointer.
    #[inline(always)]
    pub(super) fn reading<R>(&self, f: impl FnOnce(*mut Reading<T>) -> R) -> R {
        self.reading.0.with_mut(f)
    }
}

impl<T> Writing<T> {
    /// Returns the slot for the token with index `at`, which is the next to be put in.
    ///
    /// # Safety
    /// Only the producer's thread may call this, and the ring must have space.
    #[inline(always)]
    pub(super) unsafe fn slot(&self, at: u64) -> *const Slot<T> {
        // SAFETY: the consumer frees a segment when it leaves it, and it never moves beyond the
        // segment of the producer.
        unsafe { (*self.segment).slot(at) }
    }

    /// Updates `limit`, so that the producer can put in the token `tail`. If the current segment is
    /// full, first moves to a new one of twice the width. The ring contains the tokens from `head`
    /// up to `tail`, and has space for tokens below `end`, which must be greater than `tail`.
    ///
    /// # Safety
    /// Only the producer's thread may call this.
    #[inline]
    pub(super) unsafe fn make_room(&mut self, head: u64, tail: u64, end: u64) {
        // SAFETY: as in `slot`.
        let len = unsafe { (*self.segment).len() };
        if tail - head.max(self.start) >= len {
            self.widen(tail, len * 2);
        }
        // SAFETY: as in `slot`.
        let len = unsafe { (*self.segment).len() };
        self.limit = end.min(head.max(self.start) + len);
    }

    #[cold]
    #[inline(never)]
    fn widen(&mut self, tail: u64, slots: u64) {
        let wider = Segment::create(slots);
        // SAFETY: as in `slot`.
        let old = unsafe { &*self.segment };
        old.next.store(wider, Ordering::Release);
        old.until.store(tail, Ordering::Release);
        (self.segment, self.start) = (wider, tail);
    }
}

impl<T> Reading<T> {
    /// Returns the slot of the token with index `at`, which is the next to be taken out. If that
    /// token is the first of the next segment, moves there and frees the old segment.
    ///
    /// # Safety
    /// Only the consumer's thread may call this, after it has seen a `tail` beyond the index.
    #[inline(always)]
    pub(super) unsafe fn slot(&mut self, at: u64) -> *const Slot<T> {
        // SAFETY: the segment of the consumer has not been freed.
        if unsafe { (*self.segment).until.load(Ordering::Relaxed) } == at {
            self.go_over();
        }
        // SAFETY: as above.
        unsafe { (*self.segment).slot(at) }
    }

    /// Moves to the next segment, and frees the old one.
    #[cold]
    #[inline(never)]
    fn go_over(&mut self) {
        // SAFETY: the segment of the consumer has not been freed. The next one was linked before
        // `until` was stored, and `until` before a `tail` that the consumer has loaded with
        // Acquire.
        let next = unsafe { (*self.segment).next.load(Ordering::Acquire) };
        let left = std::mem::replace(&mut self.segment, next);
        // SAFETY: `create` allocated it, both sides have left it, and its tokens have been taken.
        drop(unsafe { Box::from_raw(left.cast_mut()) });
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        let mut segment = self.segment.cast_mut();
        while !segment.is_null() {
            // SAFETY: none of the segments from the consumer's on has been freed, and both sides
            // have ended.
            let all = unsafe { Box::from_raw(segment) };
            segment = all.next.load(Ordering::Relaxed);
        }
    }
}
