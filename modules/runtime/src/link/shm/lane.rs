//! A lane: frames from one OS process to another, in order.
//!
//! A ring of bytes in shared memory with one writer and one reader: `tail` and `head` count the bytes
//! that were ever written and read, each in a line of its own. A frame is a header of 16 bytes and what
//! it carries, rounded up to 8; it exists from the store of `tail` on, so a writer that is killed leaves no
//! half of one. The writer stores `tail` with Release after the bytes, the reader loads it with Acquire
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

/// A frame that cannot be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

struct Ring {
    memory: Arc<Memory>,
    at: usize,
}

impl Ring {
    fn counter(&self, at: usize) -> &AtomicU64 {
        let place: NonNull<AtomicU64> = self.memory.at(self.at + at, 8).cast();
        // SAFETY: within the memory, aligned as a lane is, and used as an atomic by everybody.
        unsafe { place.as_ref() }
    }

    fn tail(&self) -> &AtomicU64 {
        self.counter(0)
    }

    fn head(&self) -> &AtomicU64 {
        self.counter(64)
    }

    /// The bytes from `at` on, in one or two pieces.
    fn pieces(&self, at: u64, len: usize) -> [(NonNull<u8>, usize); 2] {
        let at = (at & (ROOM - 1)) as usize;
        let first = len.min(ROOM as usize - at);
        let bytes = self.at + BYTES;
        [
            (self.memory.at(bytes + at, first), first),
            (self.memory.at(bytes, len - first), len - first),
        ]
    }
}

/// The lane that starts at a place of the memory.
fn ring(memory: &Arc<Memory>, at: usize) -> Ring {
    assert!(at.is_multiple_of(64));
    Ring {
        memory: Arc::clone(memory),
        at,
    }
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
            ring: ring(memory, at),
            tail: 0,
            head: 0,
        }
    }

    /// Sends a frame with at most [`MOST`] bytes; false: there is no room at the moment.
    pub(crate) fn try_send(&mut self, header: Header, bytes: &[u8]) -> bool {
        assert!(bytes.len() <= MOST);
        let size = (HEADER + bytes.len()).next_multiple_of(8) as u64;
        if self.tail - self.head + size > ROOM {
            let head = self.ring.head().load(Ordering::Acquire);
            // A head that cannot be is as if nothing had been read.
            if (self.head..=self.tail).contains(&head) {
                self.head = head;
            }
            if self.tail - self.head + size > ROOM {
                return false;
            }
        }
        let mut start = [0; HEADER];
        let words = [bytes.len() as u32, header.kind, header.number, header.extra];
        for (at, word) in words.into_iter().enumerate() {
            start[4 * at..4 * at + 4].copy_from_slice(&word.to_ne_bytes());
        }
        self.put(self.tail, &start);
        self.put(self.tail + HEADER as u64, bytes);
        self.tail += size;
        self.ring.tail().store(self.tail, Ordering::Release);
        true
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        let mut rest = bytes;
        for (place, len) in self.ring.pieces(at, bytes.len()) {
            let (now, later) = rest.split_at(len);
            // SAFETY: the place has room for `len` bytes, which the reader does not look at before `tail`
            // is beyond them, and has read what was there.
            unsafe { place.as_ptr().copy_from_nonoverlapping(now.as_ptr(), len) };
            rest = later;
        }
    }
}

/// The reading end.
pub(crate) struct Receiver {
    ring: Ring,
    head: u64,
    tail: u64,
}

impl Receiver {
    /// # Safety
    /// It is the one receiver of this lane there ever is.
    pub(crate) unsafe fn new(memory: &Arc<Memory>, at: usize) -> Self {
        Receiver {
            ring: ring(memory, at),
            head: 0,
            tail: 0,
        }
    }

    /// Whether a frame is there.
    #[inline]
    pub(crate) fn is_filled(&self) -> bool {
        self.ring.tail().load(Ordering::Acquire) != self.head
    }

    /// The next frame; what it carries is put into `bytes`.
    pub(crate) fn receive(&mut self, bytes: &mut Vec<u8>) -> Result<Option<Header>, Garbled> {
        bytes.clear();
        if self.head == self.tail {
            self.tail = self.ring.tail().load(Ordering::Acquire);
            if self.head == self.tail {
                return Ok(None);
            }
        }
        let there = self.tail.wrapping_sub(self.head);
        if !(HEADER as u64..=ROOM).contains(&there) {
            return Err(Garbled);
        }
        self.take(self.head, HEADER, bytes);
        let word = |at: usize| {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[4 * at..4 * at + 4]);
            u32::from_ne_bytes(word)
        };
        let (len, header) = (
            word(0) as usize,
            Header {
                kind: word(1),
                number: word(2),
                extra: word(3),
            },
        );
        let size = (HEADER + len.min(ROOM as usize)).next_multiple_of(8) as u64;
        if len > MOST || size > there {
            return Err(Garbled);
        }
        bytes.clear();
        self.take(self.head + HEADER as u64, len, bytes);
        self.head += size;
        self.ring.head().store(self.head, Ordering::Release);
        Ok(Some(header))
    }

    fn take(&self, at: u64, len: usize, into: &mut Vec<u8>) {
        into.reserve(len);
        for (place, len) in self.ring.pieces(at, len) {
            let old = into.len();
            // SAFETY: there is room, as reserved; the bytes were written before `tail`, and are not
            // written again before `head` is beyond them. Any bytes are bytes.
            unsafe {
                into.as_mut_ptr()
                    .add(old)
                    .copy_from_nonoverlapping(place.as_ptr(), len);
                into.set_len(old + len);
            }
        }
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
                if let Some(got) = receiver.receive(&mut bytes).unwrap() {
                    break got;
                }
                std::thread::yield_now();
            };
            assert_eq!((got, bytes.len()), (header(n), size(n)));
            assert!(bytes.iter().all(|&byte| byte == n as u8));
        }
        other.join().unwrap();
        assert_eq!(receiver.receive(&mut bytes), Ok(None));
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
        ] {
            let (memory, sender, mut receiver) = lane();
            for (at, word) in words.into_iter().enumerate() {
                sender.put(4 * at as u64, &u32::to_ne_bytes(word));
            }
            ring(&memory, 0).tail().store(tail, Ordering::Release);
            let mut bytes = Vec::new();
            assert_eq!(
                receiver.receive(&mut bytes),
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
        assert_eq!(receiver.receive(&mut got), Ok(Some(header(0))));
        assert!(sender.try_send(header(4), &bytes) && !sender.try_send(header(5), &[]));
    }
}
