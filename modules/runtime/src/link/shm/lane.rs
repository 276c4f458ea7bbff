//! A lane: frames from one OS process to another, in order.
//!
//! A ring of bytes in shared memory with one writer and one reader. A frame is a header of 16 bytes and what it
//! carries, in one piece, at a multiple of 32. The first word of its header says that it is there: it is stored last,
//! with Release, and looked at first, with Acquire; before that, the first word of where the next frame will begin is
//! set to 0, so the reader stops there. So a small frame moves one cache line, the one that its reader looks at anyway,
//! and a writer that is killed leaves no half of one. A frame that does not fit before the end of the ring begins at
//! its start, and a word says that the rest is passed by. `head` counts the bytes that were read: it is stored with
//! Release after they were, and loaded with Acquire before anything is written over them.
//!
//! A frame may be withheld, for a time: then those behind it cannot be reached, and all are published by one store.
//!
//! The reader trusts nothing: what cannot be a frame is an error. Its place is its own, and nothing is looked at
//! outside of the ring.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::memory::Memory;
use crate::link::between::Header;

/// Bytes that are on the way at most: a power of two.
const ROOM: u64 = 1 << 18;
/// Where a word is that says whether the reader can read the memory of the writer: in a line that is hardly ever looked at.
const ACCESS: usize = 64;
/// Where the bytes begin, behind the counter and that line: two lines come at a time.
const BYTES: usize = 128;
/// What a lane takes.
pub(crate) const LANE: usize = BYTES + ROOM as usize;
const HEADER: usize = 16;
/// Frames begin at multiples of this: half a cache line, so that small ones are within one.
const UNIT: u64 = 32;
/// Most that one frame carries: a quarter of the ring, so that writing and reading overlap.
pub(crate) const MOST: usize = ROOM as usize / 4 - HEADER;

/// The first word of what is no frame yet. That of a frame is its length and 1.
const NOTHING: u32 = 0;
/// In place of that: the next frame begins at the start of the ring.
const PASS: u32 = u32::MAX;

/// Whether the reader can read the memory of the writer; 0: it has not said so.
const GRANTED: u32 = 1;
const DENIED: u32 = 2;

/// A frame that cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Where a lane is, in memory that is kept as long.
struct Ring {
    head: NonNull<AtomicU64>,
    bytes: NonNull<u8>,
    _memory: Arc<Memory>,
}

// SAFETY: it points into memory that is everybody's, by the rules of a lane: each end has one user at a time.
unsafe impl Send for Ring {}

impl Ring {
    /// The lane that starts at a place of the memory.
    fn new(memory: &Arc<Memory>, at: usize) -> Self {
        assert!(at.is_multiple_of(64));
        Ring {
            head: memory.at(at, 8).cast(),
            bytes: memory.at(at + BYTES, ROOM as usize),
            _memory: Arc::clone(memory),
        }
    }

    #[inline(always)]
    fn head(&self) -> &AtomicU64 {
        // SAFETY: within the memory, aligned as a lane is, and used as an atomic by everybody.
        unsafe { self.head.as_ref() }
    }

    #[inline]
    fn access(&self) -> &AtomicU32 {
        // SAFETY: between the counter and the bytes, so within the memory, aligned, and used as an atomic by everybody.
        unsafe { self.head.byte_add(ACCESS).cast().as_ref() }
    }

    /// The place of an index, and how many bytes there are from it to the end of the ring.
    #[inline(always)]
    fn place(&self, at: u64) -> (NonNull<u8>, u64) {
        let at = at & (ROOM - 1);
        // SAFETY: the masked index is within the bytes.
        (unsafe { self.bytes.add(at as usize) }, ROOM - at)
    }

    /// The first word of a frame at an index, which is a multiple of [`UNIT`].
    #[inline(always)]
    fn first(&self, at: u64) -> &AtomicU32 {
        debug_assert!(at.is_multiple_of(UNIT));
        // SAFETY: a unit is within the bytes, aligned; what may be a first word to anybody is used as an atomic by
        // both, or is written where the reader does not look.
        unsafe { self.place(at).0.cast().as_ref() }
    }
}

#[inline(always)]
fn size_of(len: usize) -> u64 {
    ((HEADER + len) as u64).next_multiple_of(UNIT)
}

/// The writing end.
pub(crate) struct Sender {
    ring: Ring,
    /// Where the next frame begins. There is nothing there.
    tail: Cell<u64>,
    /// How much was read, as far as is known.
    head: Cell<u64>,
    /// Where a frame is withheld, and its first word.
    held: Cell<Option<(u64, u32)>>,
}

impl Sender {
    /// # Safety
    /// It is the one sender of this lane there ever is.
    pub(crate) unsafe fn new(memory: &Arc<Memory>, at: usize) -> Self {
        Sender {
            ring: Ring::new(memory, at),
            tail: Cell::new(0),
            head: Cell::new(0),
            held: Cell::new(None),
        }
    }

    /// Whether there is room for so many bytes more, in memory, and for the word behind them.
    #[inline(always)]
    fn has_room(&self, size: u64) -> bool {
        self.tail.get() - self.head.get() + size + UNIT <= ROOM || self.look(size)
    }

    #[inline(never)]
    fn look(&self, size: u64) -> bool {
        let (known, tail) = (self.head.get(), self.tail.get());
        let head = self.ring.head().load(Ordering::Acquire);
        // A head that cannot be is as if nothing had been read.
        if (known..=tail).contains(&head) && head.is_multiple_of(UNIT) {
            self.head.set(head);
        }
        tail - self.head.get() + size + UNIT <= ROOM
    }

    /// Whether a frame with so many bytes can be sent now.
    pub(crate) fn is_ready(&self, len: usize) -> bool {
        let (size, (_, rest)) = (size_of(len), self.ring.place(self.tail.get()));
        self.has_room(if rest < size { rest + size } else { size })
    }

    /// Sends a frame with at most [`MOST`] bytes; false: there is no room at the moment. One that can `wait` is withheld
    /// until another follows that cannot, or [`Sender::publish`] is called.
    #[inline]
    pub(crate) fn try_send(&self, header: Header, bytes: &[u8], wait: bool) -> bool {
        assert!(bytes.len() <= MOST);
        let (mut at, size) = (self.tail.get(), size_of(bytes.len()));
        let (_, rest) = self.ring.place(at);
        let passed = if rest < size { rest } else { 0 };
        if !self.has_room(passed + size) {
            return false;
        }
        if passed > 0 {
            self.ring
                .first(at + passed)
                .store(NOTHING, Ordering::Relaxed);
            self.say(at, PASS, true);
            at += passed;
        }
        let (place, _) = self.ring.place(at);
        // SAFETY: there is room for header and bytes up to the end of the ring. The reader has read what was there, and does
        // not look at more than the first word before that says that there is a frame.
        unsafe {
            let words = [header.kind, header.number, header.extra];
            place.cast::<u32>().add(1).cast::<[u32; 3]>().write(words);
            let to = place.add(HEADER);
            to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        self.ring.first(at + size).store(NOTHING, Ordering::Relaxed);
        self.say(at, bytes.len() as u32 + 1, wait);
        self.tail.set(at + size);
        true
    }

    /// Stores a first word, or withholds it.
    #[inline(always)]
    fn say(&self, at: u64, word: u32, wait: bool) {
        match self.held.get() {
            // Nobody reaches it before the one that is withheld.
            Some(held) => {
                self.ring.first(at).store(word, Ordering::Relaxed);
                if !wait {
                    self.tell(held);
                }
            }
            None if wait => self.held.set(Some((at, word))),
            None => self.ring.first(at).store(word, Ordering::Release),
        }
    }

    fn tell(&self, (at, word): (u64, u32)) {
        self.held.set(None);
        self.ring.first(at).store(word, Ordering::Release);
    }

    /// Whether the reader can read the memory of this OS process, once it has said so.
    pub(crate) fn access(&self) -> Option<bool> {
        match self.ring.access().load(Ordering::Acquire) {
            0 => None,
            access => Some(access == GRANTED),
        }
    }

    /// Publishes what is withheld.
    #[inline]
    pub(crate) fn publish(&self) {
        if let Some(held) = self.held.get() {
            self.tell(held);
        }
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: Ring,
    head: Cell<u64>,
}

/// A frame that is still in its lane.
pub(crate) struct Frame {
    pub(crate) header: Header,
    /// What it carries: there until [`Receiver::pass`] is called.
    pub(crate) bytes: NonNull<[u8]>,
    /// Where the next one begins.
    end: u64,
}

impl Receiver {
    /// # Safety
    /// It is the one receiver of this lane there ever is.
    pub(crate) unsafe fn new(memory: &Arc<Memory>, at: usize) -> Self {
        Receiver {
            ring: Ring::new(memory, at),
            head: Cell::new(0),
        }
    }

    /// Says whether this OS process can read the memory of the writer.
    pub(crate) fn tell_access(&self, granted: bool) {
        let access = if granted { GRANTED } else { DENIED };
        self.ring.access().store(access, Ordering::Release);
    }

    /// Whether a frame is there.
    #[inline(always)]
    pub(crate) fn is_filled(&self) -> bool {
        self.ring.first(self.head.get()).load(Ordering::Acquire) != NOTHING
    }

    /// The next frame, which stays the next.
    #[inline]
    pub(crate) fn next(&self) -> Result<Option<Frame>, Garbled> {
        let mut at = self.head.get();
        let mut word = self.ring.first(at).load(Ordering::Acquire);
        if word == NOTHING {
            return Ok(None);
        }
        if word == PASS {
            at += self.ring.place(at).1;
            word = self.ring.first(at).load(Ordering::Acquire);
            // The frame was there before it was said where it is.
            if word == NOTHING || word == PASS {
                return Err(Garbled);
            }
        }
        let (place, rest) = self.ring.place(at);
        let (len, size) = (word as usize - 1, size_of(word as usize - 1));
        if len > MOST || size > rest {
            return Err(Garbled);
        }
        // SAFETY: it is within the ring. What there is was written before the first word, and is not written again before
        // `head` is beyond it. Any bytes are numbers.
        let [kind, number, extra] = unsafe { place.cast::<u32>().add(1).cast::<[u32; 3]>().read() };
        // SAFETY: as above.
        let bytes = NonNull::slice_from_raw_parts(unsafe { place.add(HEADER) }, len);
        Ok(Some(Frame {
            header: Header {
                kind,
                number,
                extra,
            },
            bytes,
            end: at + size,
        }))
    }

    /// The frame was read.
    #[inline]
    pub(crate) fn pass(&self, frame: &Frame) {
        self.head.set(frame.end);
        self.ring.head().store(frame.end, Ordering::Release);
    }
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use super::*;

    fn lane() -> (Arc<Memory>, Sender, Receiver) {
        let memory = Arc::new(Memory::new(LANE).unwrap());
        // SAFETY: the one sender, the one receiver.
        let (sender, receiver) = unsafe { (Sender::new(&memory, 0), Receiver::new(&memory, 0)) };
        (memory, sender, receiver)
    }

    /// Takes the next frame out, with what it carries.
    fn receive(receiver: &Receiver, bytes: &mut Vec<u8>) -> Result<Option<Header>, Garbled> {
        bytes.clear();
        let Some(frame) = receiver.next()? else {
            return Ok(None);
        };
        // SAFETY: it was not passed yet.
        bytes.extend_from_slice(unsafe { frame.bytes.as_ref() });
        receiver.pass(&frame);
        Ok(Some(frame.header))
    }

    fn header(number: u32) -> Header {
        Header {
            kind: 1,
            number,
            extra: 7,
        }
    }

    #[test]
    fn frames_of_all_sizes_arrive_in_order_between_threads() {
        let (_memory, sender, receiver) = lane();
        let size = |n: u32| {
            (n as usize * 7919) % 3000 + usize::from(n.is_multiple_of(1000)) * (MOST - 3000)
        };
        let other = std::thread::spawn(move || {
            for n in 0..20_000 {
                let bytes = vec![n as u8; size(n)];
                while !sender.try_send(header(n), &bytes, n % 3 == 0) {
                    sender.publish();
                    std::thread::yield_now();
                }
            }
        });
        let mut bytes = Vec::new();
        for n in 0..20_000 {
            let got = loop {
                if let Some(got) = receive(&receiver, &mut bytes).unwrap() {
                    break got;
                }
                std::thread::yield_now();
            };
            assert_eq!((got, bytes.len()), (header(n), size(n)));
            assert!(bytes.iter().all(|&byte| byte == n as u8));
        }
        other.join().unwrap();
        assert_eq!(receive(&receiver, &mut bytes), Ok(None));
    }

    #[test]
    fn what_cannot_be_a_frame_is_an_error() {
        for (at, words) in [
            (0, [PASS, 1, 1, 1]),
            (0, [MOST as u32 + 2, 1, 1, 1]),
            (0, [PASS - 1, 1, 1, 1]),
            (ROOM - UNIT, [40, 1, 1, 1]),
            (ROOM - UNIT, [PASS, 1, 1, 1]),
        ] {
            let (_memory, sender, receiver) = lane();
            // SAFETY: it is within the ring.
            unsafe { sender.ring.place(at).0.cast::<[u32; 4]>().write(words) };
            receiver.head.set(at);
            let mut bytes = Vec::new();
            assert_eq!(
                receive(&receiver, &mut bytes),
                Err(Garbled),
                "{at} {words:?}"
            );
        }
    }

    #[test]
    fn what_is_withheld_comes_with_the_next_or_when_it_is_published() {
        let (_memory, sender, receiver) = lane();
        let mut bytes = Vec::new();
        let mut got = || {
            receive(&receiver, &mut bytes)
                .unwrap()
                .map(|header| header.number)
        };
        // Around the end of the ring, too.
        for round in 0..20_000 {
            assert!(sender.try_send(header(1), &[1; 40], true));
            assert!(sender.try_send(header(2), &[2; 8], true));
            assert_eq!(got(), None);
            if round % 2 == 0 {
                sender.publish();
            } else {
                assert!(sender.try_send(header(3), &[3; 100], false));
            }
            assert_eq!((got(), got()), (Some(1), Some(2)));
            assert_eq!(got(), (round % 2 == 1).then_some(3));
            assert_eq!(got(), None);
        }
    }

    #[test]
    fn a_full_lane_says_so() {
        let (_memory, sender, receiver) = lane();
        let bytes = vec![1; MOST];
        let sent = (0..).take_while(|&n| sender.try_send(header(n), &bytes, false));
        assert_eq!(sent.count(), 3);
        let mut got = Vec::new();
        assert_eq!(receive(&receiver, &mut got), Ok(Some(header(0))));
        assert!(
            sender.try_send(header(3), &bytes, false) && !sender.try_send(header(4), &bytes, false)
        );
    }
}
