//! A lane: frames from one OS process to another, in order.
//!
//! A ring of bytes in shared memory with one writer and one reader: `tail` and `head` count the bytes
//! that were ever written and read, each in a line of its own. A frame is a header of 16 bytes and what
//! it carries, rounded up to 8, all in one piece: one that does not fit before the end of the ring begins at its
//! start, and a word says that the rest is passed by. A frame exists from the store of `tail` on, so a writer that is
//! killed leaves no half of one. The writer stores `tail` with Release after the bytes, the reader loads it with Acquire
//! before them; the same with `head`, so that nothing is written over what is still read.
//!
//! The reader trusts nothing: what cannot be a frame is an error. Its counters are its own, and those of
//! the other side are looked at and never calculated with before they are known to be possible.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::memory::Memory;
use crate::link::between::Header;

/// Bytes that are on the way at most: a power of two.
const ROOM: u64 = 1 << 18;
/// Where the bytes begin, behind the two counters.
const BYTES: usize = 128;
/// What a lane takes.
pub(crate) const LANE: usize = BYTES + ROOM as usize;
const HEADER: usize = 16;
/// Most that one frame carries: a quarter of the ring, so that writing and reading overlap.
pub(crate) const MOST: usize = ROOM as usize / 4 - HEADER;
/// In place of a length: the next frame begins at the start of the ring.
const PASS: u32 = u32::MAX;

/// A frame that cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Where a lane is, in memory that is kept as long.
struct Ring {
    tail: NonNull<AtomicU64>,
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
            tail: memory.at(at, 8).cast(),
            head: memory.at(at + 64, 8).cast(),
            bytes: memory.at(at + BYTES, ROOM as usize),
            _memory: Arc::clone(memory),
        }
    }

    #[inline(always)]
    fn tail(&self) -> &AtomicU64 {
        // SAFETY: within the memory, aligned as a lane is, and used as an atomic by everybody.
        unsafe { self.tail.as_ref() }
    }

    #[inline(always)]
    fn head(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.head.as_ref() }
    }

    /// The place of an index, and how many bytes there are from it to the end of the ring.
    #[inline(always)]
    fn place(&self, at: u64) -> (NonNull<u8>, u64) {
        let at = at & (ROOM - 1);
        // SAFETY: the masked index is within the bytes.
        (unsafe { self.bytes.add(at as usize) }, ROOM - at)
    }
}

#[inline(always)]
fn size_of(len: usize) -> u64 {
    (HEADER + len).next_multiple_of(8) as u64
}

/// The writing end.
pub(crate) struct Sender {
    ring: Ring,
    tail: u64,
    head: u64,
}

impl Sender {
    /// # Safety
    /// It is the one sender of this lane there ever is.
    pub(crate) unsafe fn new(memory: &Arc<Memory>, at: usize) -> Self {
        Sender {
            ring: Ring::new(memory, at),
            tail: 0,
            head: 0,
        }
    }

    /// Whether there is room for so many bytes more, in memory.
    #[inline(always)]
    fn has_room(&mut self, size: u64) -> bool {
        self.tail - self.head + size <= ROOM || self.look(size)
    }

    #[inline(never)]
    fn look(&mut self, size: u64) -> bool {
        let head = self.ring.head().load(Ordering::Acquire);
        // A head that cannot be is as if nothing had been read.
        if (self.head..=self.tail).contains(&head) {
            self.head = head;
        }
        self.tail - self.head + size <= ROOM
    }

    /// Whether a frame with so many bytes can be sent now.
    pub(crate) fn is_ready(&mut self, len: usize) -> bool {
        let (size, (_, rest)) = (size_of(len), self.ring.place(self.tail));
        self.has_room(if rest < size { rest + size } else { size })
    }

    /// Sends a frame with at most [`MOST`] bytes; false: there is no room at the moment.
    #[inline]
    pub(crate) fn try_send(&mut self, header: Header, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= MOST);
        let size = size_of(bytes.len());
        let (mut place, rest) = self.ring.place(self.tail);
        let passed = if rest < size { rest } else { 0 };
        if !self.has_room(passed + size) {
            return false;
        }
        if passed > 0 {
            // SAFETY: there are 8 bytes or more to the end of the ring, aligned, and the reader does not look at them
            // before `tail` is beyond them.
            unsafe { place.cast::<u32>().write(PASS) };
            place = self.ring.bytes;
        }
        let words = [bytes.len() as u32, header.kind, header.number, header.extra];
        // SAFETY: there is room for header and bytes, which the reader does not look at before `tail` is
        // beyond them, and has read what was there; a frame begins at a multiple of 8.
        unsafe {
            place.cast::<[u32; 4]>().write(words);
            let to = place.add(HEADER);
            to.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
        }
        self.tail += passed + size;
        self.ring.tail().store(self.tail, Ordering::Release);
        true
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: Ring,
    head: u64,
    tail: u64,
}

/// A frame that is still in its lane.
pub(crate) struct Frame {
    pub(crate) header: Header,
    /// What it carries: there until [`Receiver::pass`] is called.
    pub(crate) bytes: NonNull<[u8]>,
    /// How far the lane goes on behind it.
    size: u64,
}

impl Receiver {
    /// # Safety
    /// It is the one receiver of this lane there ever is.
    pub(crate) unsafe fn new(memory: &Arc<Memory>, at: usize) -> Self {
        Receiver {
            ring: Ring::new(memory, at),
            head: 0,
            tail: 0,
        }
    }

    /// Whether a frame is there.
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.ring.tail().load(Ordering::Acquire) != self.head
    }

    /// The next frame, which stays the next.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Frame>, Garbled> {
        if self.head == self.tail {
            self.tail = self.ring.tail().load(Ordering::Acquire);
            if self.head == self.tail {
                return Ok(None);
            }
        }
        let there = self.tail.wrapping_sub(self.head);
        if there > ROOM || !there.is_multiple_of(8) {
            return Err(Garbled);
        }
        let (mut place, rest) = self.ring.place(self.head);
        let mut passed = 0;
        // SAFETY: there are 8 bytes at least, written before `tail`, and not written again before `head` is beyond
        // them. Any bytes are numbers.
        if unsafe { place.cast::<u32>().read() } == PASS {
            (place, passed) = (self.ring.bytes, rest);
        }
        let end = if passed > 0 { ROOM } else { rest };
        if there < passed + HEADER as u64 || end < HEADER as u64 {
            return Err(Garbled);
        }
        // SAFETY: as above, of 16 bytes.
        let [len, kind, number, extra] = unsafe { place.cast::<[u32; 4]>().read() };
        let len = len as usize;
        if len > MOST {
            return Err(Garbled);
        }
        let size = size_of(len);
        if size > end || passed + size > there {
            return Err(Garbled);
        }
        // SAFETY: it is within the ring, as was looked at.
        let bytes = NonNull::slice_from_raw_parts(unsafe { place.add(HEADER) }, len);
        Ok(Some(Frame {
            header: Header {
                kind,
                number,
                extra,
            },
            bytes,
            size: passed + size,
        }))
    }

    /// The frame was read.
    #[inline]
    pub(crate) fn pass(&mut self, frame: &Frame) {
        self.head += frame.size;
        self.ring.head().store(self.head, Ordering::Release);
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
    fn receive(receiver: &mut Receiver, bytes: &mut Vec<u8>) -> Result<Option<Header>, Garbled> {
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
        let (_memory, mut sender, mut receiver) = lane();
        let size = |n: u32| {
            (n as usize * 7919) % 3000 + usize::from(n.is_multiple_of(1000)) * (MOST - 3000)
        };
        let other = std::thread::spawn(move || {
            for n in 0..20_000 {
                let bytes = vec![n as u8; size(n)];
                while !sender.try_send(header(n), &bytes) {
                    std::thread::yield_now();
                }
            }
        });
        let mut bytes = Vec::new();
        for n in 0..20_000 {
            let got = loop {
                if let Some(got) = receive(&mut receiver, &mut bytes).unwrap() {
                    break got;
                }
                std::thread::yield_now();
            };
            assert_eq!((got, bytes.len()), (header(n), size(n)));
            assert!(bytes.iter().all(|&byte| byte == n as u8));
        }
        other.join().unwrap();
        assert_eq!(receive(&mut receiver, &mut bytes), Ok(None));
    }

    #[test]
    fn what_cannot_be_a_frame_is_an_error() {
        for (tail, words) in [
            (8, [0, 1, 1, 1]),
            (u64::MAX, [0, 1, 1, 1]),
            (ROOM + 8, [0, 1, 1, 1]),
            (16, [1, 1, 1, 1]),
            (64, [u32::MAX, 1, 1, 1]),
            (64, [100, 1, 1, 1]),
            (ROOM, [ROOM as u32, 1, 1, 1]),
            (20, [0, 1, 1, 1]),
            (16, [PASS, 1, 1, 1]),
            (ROOM, [PASS, 1, 1, 1]),
        ] {
            let (memory, sender, mut receiver) = lane();
            // SAFETY: it is the start of the ring.
            unsafe { sender.ring.bytes.cast::<[u32; 4]>().write(words) };
            Ring::new(&memory, 0).tail().store(tail, Ordering::Release);
            let mut bytes = Vec::new();
            assert_eq!(
                receive(&mut receiver, &mut bytes),
                Err(Garbled),
                "{tail} {words:?}"
            );
        }
    }

    #[test]
    fn a_full_lane_says_so() {
        let (_memory, mut sender, mut receiver) = lane();
        let bytes = vec![1; MOST];
        let sent = (0..).take_while(|&n| sender.try_send(header(n), &bytes));
        assert_eq!(sent.count(), 4);
        let mut got = Vec::new();
        assert_eq!(receive(&mut receiver, &mut got), Ok(Some(header(0))));
        assert!(sender.try_send(header(4), &bytes) && !sender.try_send(header(5), &[]));
    }
}
