//! Slots for more tokens than a ring has in its own lines: made when they are first needed, and
//! doubled as more is.
//!
//! A chain of segments, each for the tokens from some index on, up to that at which the next begins.
//! The producer goes on in a new, wider one: it links that to the old one, stores the index there,
//! and then `tail` behind it. Who sees a `tail` beyond the index sees both, and goes over when it has
//! read what is before. So a ring allocates what it uses, and grows by the hand of its producer alone,
//! whatever the consumer does meanwhile.

use std::mem::MaybeUninit;
use std::ptr;

use super::pace::Pace;
use crate::sync::{AtomicPtr, AtomicU64, Ordering, UnsafeCell};

/// A cache line of its own.
#[repr(align(64))]
pub(super) struct Line<T>(pub(super) T);

pub(super) type Slot<T> = UnsafeCell<MaybeUninit<T>>;

#[inline]
pub(super) fn slot<T>() -> Slot<T> {
    UnsafeCell::new(MaybeUninit::uninit())
}

/// What each side of a ring knows of its segments, in a line that the other does not look at.
pub(super) struct Wide<T> {
    /// The first index that is not in the slots of the ring itself.
    pub(super) from: u64,
    writing: Line<UnsafeCell<Writing<T>>>,
    reading: Line<UnsafeCell<Reading<T>>>,
}

/// What the producer knows.
pub(super) struct Writing<T> {
    /// Up to this index there is room, as far as is known.
    pub(super) limit: u64,
    /// Where it writes, and from which index on.
    segment: *const Segment<T>,
    start: u64,
    pub(super) pace: Pace,
}

/// What the consumer knows.
pub(super) struct Reading<T> {
    /// Up to this index there are tokens, as far as is known.
    pub(super) seen: u64,
    segment: *const Segment<T>,
    pub(super) pace: Pace,
}

struct Segment<T> {
    /// A power of two.
    slots: Box<[Slot<T>]>,
    until: AtomicU64,
    next: AtomicPtr<Segment<T>>,
}

/// Slots of the first segment, at most.
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
        // In bounds: the length is a power of two.
        &self.slots[at as usize & (self.slots.len() - 1)]
    }
}

impl<T> Wide<T> {
    /// Segments for the tokens from the index `from` on, of a ring of this capacity.
    pub(super) fn create(from: u64, capacity: u64) -> Box<Self> {
        let segment = Segment::create(capacity.next_power_of_two().min(FIRST));
        Box::new(Wide {
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

    /// What the producer knows: for its thread alone.
    #[inline(always)]
    pub(super) fn writing<R>(&self, f: impl FnOnce(*mut Writing<T>) -> R) -> R {
        self.writing.0.with_mut(f)
    }

    /// What the consumer knows: for its thread alone.
    #[inline(always)]
    pub(super) fn reading<R>(&self, f: impl FnOnce(*mut Reading<T>) -> R) -> R {
        self.reading.0.with_mut(f)
    }
}

impl<T> Writing<T> {
    /// The slot of the token that is to be put in.
    ///
    /// # Safety
    /// Only for the producer's thread, where there is room.
    #[inline(always)]
    pub(super) unsafe fn slot(&self, at: u64) -> *const Slot<T> {
        // SAFETY: a segment is freed when the consumer has left it, and it goes where the producer is
        // and no further.
        unsafe { (*self.segment).slot(at) }
    }

    /// Goes over to a wider segment if there is room in the ring, for tokens up to `end`, but not in
    /// the segment.
    ///
    /// # Safety
    /// Only for the producer's thread.
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
    /// The slot of the token that is to be taken out.
    ///
    /// # Safety
    /// Only for the consumer's thread, which has seen a `tail` beyond the index.
    #[inline(always)]
    pub(super) unsafe fn slot(&mut self, at: u64) -> *const Slot<T> {
        // SAFETY: the consumer's segment has not been freed.
        if unsafe { (*self.segment).until.load(Ordering::Relaxed) } == at {
            self.go_over();
        }
        // SAFETY: as above.
        unsafe { (*self.segment).slot(at) }
    }

    /// The consumer goes over to the next segment, and frees the one it leaves.
    #[cold]
    #[inline(never)]
    fn go_over(&mut self) {
        // SAFETY: the consumer's segment has not been freed. The next one was linked before `until`
        // was stored, and that before a `tail` which the consumer has seen by Acquire.
        let next = unsafe { (*self.segment).next.load(Ordering::Acquire) };
        let left = std::mem::replace(&mut self.segment, next);
        // SAFETY: `create` made it, both sides have left it, and its tokens have been taken.
        drop(unsafe { Box::from_raw(left.cast_mut()) });
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        let mut segment = self.segment.cast_mut();
        while !segment.is_null() {
            // SAFETY: of the segments from the consumer's on none has been freed, and both sides have
            // left.
            let all = unsafe { Box::from_raw(segment) };
            segment = all.next.load(Ordering::Relaxed);
        }
    }
}
