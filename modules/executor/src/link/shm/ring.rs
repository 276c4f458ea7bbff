//! The memory of a byte ring ([`frame_ring`](super::frame_ring)), and the position of frames in it.
//!
//! It is separate from `frame_ring.rs` because tests with loom replace it by memory in which loom
//! observes every access (`interleavings/byte_rings.rs`).

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::memory::SharedMemory;
use crate::copy::{copy_for_others, fetch};
use crate::link::between::Header;

/// Size of the ring in bytes, a power of two. Under Miri the ring is small, so that tests wrap
/// around it soon.
pub(super) const CAPACITY: u64 = if cfg!(miri) { 1 << 14 } else { 1 << 18 };
/// Offset of the word that says whether the reader can read the memory of the writer. It is in a
/// cache line that is rarely read.
const ACCESS: usize = 64;
/// Offset of the bytes, after the counter and that line. Processors fetch two lines at a time.
const BYTES: usize = 128;
/// Size of a byte ring with its counter.
pub(crate) const RING_SIZE: usize = BYTES + CAPACITY as usize;
/// Size of the header of a frame.
pub(super) const HEADER: usize = 16;
/// Alignment of frames: half a cache line, so that a small frame is within one line.
pub(super) const UNIT: u64 = 32;
/// Maximum payload of a frame: a quarter of the ring, so that writing and reading overlap.
pub(crate) const MAX_PAYLOAD: usize = CAPACITY as usize / 4 - HEADER;

/// A frame of at least this many bytes is written from its second cache line on, and its first line
/// last. The reader polls the first line, which would otherwise change cores twice. The reader of
/// such a frame prefetches `FETCHED` of its lines while it looks up the destination. Both were
/// fitted on cores that are far apart: `benches/runtime/run one shm bytes 8192 50000`.
const LARGE: usize = 2 << 10;
const FETCHED: usize = 24;
/// Size of a cache line.
const LINE: usize = 64;

/// Minimum and maximum number of bytes ahead of the tail in which first words are cleared. These
/// are some cache lines, so that the lines that change cores are not the line that the reader
/// polls. Their cost: `benches/runtime/run one shm words 200000` and
/// `benches/runtime/run one shm stream 1 100 3000000`.
pub(super) const CLEARED_LEAST: u64 = 256;
pub(super) const CLEARED_MOST: u64 = 512;

/// Pointers to a byte ring, which keep its memory alive.
pub(crate) struct ByteRing {
    head: NonNull<AtomicU64>,
    bytes: NonNull<u8>,
    _memory: Arc<SharedMemory>,
}

// SAFETY: it points into memory that all OS processes share. By the rules of a byte ring, each end
// has one user at a time.
unsafe impl Send for ByteRing {}

impl ByteRing {
    /// Returns a byte ring at offset `at` of the memory, which it keeps alive. Does not change the
    /// memory.
    ///
    /// # Panics
    /// Panics if `at` is not a multiple of 64, or if the memory is too short.
    pub(crate) fn new(memory: &Arc<SharedMemory>, at: usize) -> Self {
        assert!(at.is_multiple_of(64));
        ByteRing {
            head: memory.at(at, 8).cast(),
            bytes: memory.at(at + BYTES, CAPACITY as usize),
            _memory: Arc::clone(memory),
        }
    }

    #[inline(always)]
    pub(super) fn head(&self) -> &AtomicU64 {
        // SAFETY: the counter is within the memory and aligned. All OS processes access it as an
        // atomic.
        unsafe { self.head.as_ref() }
    }

    #[inline]
    pub(super) fn access(&self) -> &AtomicU32 {
        // SAFETY: the word is between the counter and the bytes, so it is within the memory and
        // aligned. All OS processes access it as an atomic.
        unsafe { self.head.byte_add(ACCESS).cast().as_ref() }
    }

    #[inline(always)]
    pub(super) fn place(&self, at: u64) -> NonNull<u8> {
        // SAFETY: the masked index is within the bytes.
        unsafe { self.bytes.add((at & (CAPACITY - 1)) as usize) }
    }

    /// Returns the number of bytes from index `at` to the end of the ring. It is the size of the
    /// ring, not 0, if `at` is at its start.
    #[inline(always)]
    pub(super) fn rest(&self, at: u64) -> u64 {
        CAPACITY - (at & (CAPACITY - 1))
    }

    /// Returns the first word of a frame at an index, which must be a multiple of [`UNIT`].
    #[inline(always)]
    pub(super) fn first(&self, at: u64) -> &AtomicU32 {
        debug_assert!(at.is_multiple_of(UNIT));
        // SAFETY: a unit is within the bytes, and aligned. Both sides access a word as an atomic if
        // it may be the first one of a frame. Other words are written while the reader does not
        // read there.
        unsafe { self.place(at).cast().as_ref() }
    }

    /// Writes a frame at an index, except for its first word: the header, and the concatenated
    /// pieces as the payload.
    ///
    /// # Safety
    /// The frame must be within the ring, and no thread may read there.
    #[inline(always)]
    pub(super) unsafe fn write(&self, at: u64, header: Header, pieces: &[&[u8]]) {
        let place = self.place(at);
        let words = [header.kind, header.number, header.extra];
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        let first = match len < LARGE {
            true => 0,
            false => LINE - (at as usize + HEADER) % LINE,
        };
        // SAFETY: guaranteed by the caller. The frame is aligned.
        unsafe {
            let to = place.add(HEADER);
            copy_pieces(pieces, to, first..len);
            place.cast::<u32>().add(1).cast::<[u32; 3]>().write(words);
            if first > 0 {
                copy_pieces(pieces, to, 0..first);
            }
        }
    }

    /// Returns the header of the frame at index `at`, and a pointer to its payload of `len` bytes.
    ///
    /// # Safety
    /// The frame must be within the ring and written, and no thread may write there.
    #[inline(always)]
    pub(super) unsafe fn read(&self, at: u64, len: usize) -> (Header, NonNull<[u8]>) {
        let place = self.place(at);
        if len >= LARGE {
            // Within the ring, because a frame is in one piece and has more lines than these.
            (1..=FETCHED).for_each(|line| fetch(place.as_ptr().wrapping_add(line * LINE)));
        }
        // SAFETY: guaranteed by the caller. The frame is aligned, and any bytes are valid numbers.
        let [kind, number, extra] = unsafe { place.cast::<u32>().add(1).cast::<[u32; 3]>().read() };
        // SAFETY: as above.
        let bytes = NonNull::slice_from_raw_parts(unsafe { place.add(HEADER) }, len);
        let header = Header {
            kind,
            number,
            extra,
        };
        (header, bytes)
    }
}

/// Copies the bytes of the concatenated pieces whose indices are in `range`. The destination of the
/// whole concatenation begins at `to`.
///
/// # Safety
/// The destination must have space for all pieces, and no thread may read there.
#[inline(always)]
unsafe fn copy_pieces(pieces: &[&[u8]], to: NonNull<u8>, range: Range<usize>) {
    let mut begin = 0;
    for piece in pieces {
        let place = |at: usize| at.saturating_sub(begin).min(piece.len());
        let (from, end) = (place(range.start), place(range.end));
        let part = &piece[from..end];
        // SAFETY: guaranteed by the caller.
        unsafe { copy_for_others(part.as_ptr(), to.as_ptr().add(begin + from), part.len()) };
        begin += piece.len();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::frame_ring::{InvalidFrame, Receiver, Sender};
    use super::*;

    /// Number of frames or rounds: they wrap around the ring several times. The last frame is not
    /// withheld.
    const MANY: u32 = if cfg!(miri) { 41 } else { 20_000 };

    fn frame_ring() -> (Arc<SharedMemory>, Sender, Receiver) {
        let memory = Arc::new(SharedMemory::new(RING_SIZE).unwrap());
        // SAFETY: this creates the only sender and the only receiver.
        let (sender, receiver) = unsafe {
            (
                Sender::new(ByteRing::new(&memory, 0)),
                Receiver::new(ByteRing::new(&memory, 0)),
            )
        };
        (memory, sender, receiver)
    }

    /// Takes out the next frame, with its payload.
    fn receive(receiver: &Receiver, bytes: &mut Vec<u8>) -> Result<Option<Header>, InvalidFrame> {
        bytes.clear();
        let Some(frame) = receiver.next()? else {
            return Ok(None);
        };
        // SAFETY: the frame was not passed yet.
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
        let (_memory, sender, receiver) = frame_ring();
        // In one piece, or in three.
        let cut = |n: u32, len: usize| {
            if n.is_multiple_of(2) {
                (0, len)
            } else {
                (len / 3, len / 2)
            }
        };
        let size = |n: u32| {
            (n as usize * 7919) % 3000 + usize::from(n.is_multiple_of(1000)) * (MAX_PAYLOAD - 3000)
        };
        let bytes: Vec<u8> = (0..MAX_PAYLOAD + 256).map(|at| at as u8).collect();
        let contents = Arc::new(bytes);
        let sent = Arc::clone(&contents);
        let content = move |n: u32| n as usize % 256..n as usize % 256 + size(n);
        let other = std::thread::spawn(move || {
            for n in 0..MANY {
                let bytes = &sent[content(n)];
                let (one, two) = cut(n, bytes.len());
                let pieces = [&bytes[..one], &bytes[one..two], &bytes[two..]];
                while !sender.try_send_pieces(header(n), &pieces, n % 3 == 0) {
                    sender.publish();
                    std::thread::yield_now();
                }
            }
        });
        let mut bytes = Vec::new();
        for n in 0..MANY {
            let got = loop {
                if let Some(got) = receive(&receiver, &mut bytes).unwrap() {
                    break got;
                }
                std::thread::yield_now();
            };
            assert_eq!(got, header(n));
            assert!(bytes == contents[content(n)]);
        }
        other.join().unwrap();
        assert_eq!(receive(&receiver, &mut bytes), Ok(None));
    }

    /// The first cache line of a frame is written last. Pieces may end anywhere in it, or after it.
    #[test]
    fn frames_in_pieces_arrive_as_sent() {
        let (_memory, sender, receiver) = frame_ring();
        let bytes: Vec<u8> = (0..LARGE + 200)
            .map(|at| (at * 7 + at / 256) as u8)
            .collect();
        let mut got = Vec::new();
        let lens = [LARGE - 1, LARGE, LARGE + 1, LARGE + 33, LARGE + 200];
        // A frame of one unit comes before, or not, so a frame begins in either half of a line.
        for (round, len) in lens.into_iter().cycle().take(10).enumerate() {
            let step = if cfg!(miri) { 17 } else { 1 };
            for one in (0..130).step_by(step).chain([len - 1, len]) {
                if round % 2 == 0 {
                    assert!(sender.try_send(header(0), &[], false));
                    assert_eq!(receive(&receiver, &mut got), Ok(Some(header(0))));
                }
                let two = (one + one % 7).min(len);
                let pieces = [&bytes[..one], &[], &bytes[one..two], &bytes[two..len]];
                assert!(sender.try_send_pieces(header(9), &pieces, one % 2 == 0));
                sender.publish();
                assert_eq!(receive(&receiver, &mut got), Ok(Some(header(9))));
                assert!(got == bytes[..len], "{len} {one}");
            }
        }
    }

    #[test]
    fn invalid_frames_are_errors() {
        const SKIP: u32 = u32::MAX;
        for (units, words) in [
            (0, [SKIP, 1, 1, 1]),
            (0, [MAX_PAYLOAD as u32 + 2, 1, 1, 1]),
            (0, [SKIP - 1, 1, 1, 1]),
            (CAPACITY / UNIT - 1, [40, 1, 1, 1]),
            (CAPACITY / UNIT - 1, [SKIP, 1, 1, 1]),
        ] {
            let (memory, sender, receiver) = frame_ring();
            let mut bytes = Vec::new();
            for _ in 0..units {
                assert!(sender.try_send(header(1), &[], false));
                assert_eq!(receive(&receiver, &mut bytes), Ok(Some(header(1))));
            }
            let ring = ByteRing::new(&memory, 0);
            // No frame is at the start of the ring.
            ring.first(0).store(0, Ordering::Relaxed);
            // SAFETY: the unit is within the ring.
            unsafe { ring.place(units * UNIT).cast::<[u32; 4]>().write(words) };
            assert_eq!(
                receive(&receiver, &mut bytes),
                Err(InvalidFrame),
                "{units} {words:?}"
            );
        }
    }

    #[test]
    fn withheld_frames_arrive_with_the_next_or_are_published() {
        let (_memory, sender, receiver) = frame_ring();
        let mut bytes = Vec::new();
        let mut got = || {
            receive(&receiver, &mut bytes)
                .unwrap()
                .map(|header| header.number)
        };
        // This wraps around the end of the ring, too.
        for round in 0..MANY {
            assert!(sender.try_send(header(1), &[1; 3000], true));
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

    /// A reader that lags behind sees each published frame once, and no frame after them.
    #[test]
    fn no_frame_is_seen_after_the_last() {
        // Sizes on both sides of the limits by which words are cleared ahead, and one that fills
        // the rest of a ring.
        let around = CLEARED_MOST as usize - HEADER;
        let sizes = [
            0,
            8,
            16,
            17,
            300,
            around - 32,
            around,
            around + 1,
            around + 33,
            3000,
            MAX_PAYLOAD,
        ];
        let bytes = vec![255; MAX_PAYLOAD];
        let mut state = 1_u32;
        let mut below = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % bound
        };
        let (_memory, sender, receiver) = frame_ring();
        let mut got = Vec::new();
        let (mut sent, mut published, mut read) = (Vec::new(), 0, 0);
        for _ in 0..MANY {
            // Several frames of one size in a row, like tokens of a channel.
            let len = sizes[below(sizes.len() as u32) as usize];
            for _ in 0..below(5) {
                let wait = below(3) == 0;
                if sender.try_send(header(sent.len() as u32), &bytes[..len], wait) {
                    sent.push(len);
                    published = if wait { published } else { sent.len() };
                }
            }
            if below(8) == 0 {
                sender.publish();
                published = sent.len();
            }
            for _ in 0..below(9) {
                let next = receive(&receiver, &mut got).unwrap();
                assert_eq!(next, (read < published).then(|| header(read as u32)));
                if next.is_some() {
                    assert_eq!(got.len(), sent[read]);
                    read += 1;
                }
            }
        }
        assert!(read > MANY as usize / 2, "{read}");
    }

    #[test]
    fn a_full_ring_refuses_frames() {
        let (_memory, sender, receiver) = frame_ring();
        let bytes = vec![1; MAX_PAYLOAD];
        let sent = (0..).take_while(|&n| sender.try_send(header(n), &bytes, false));
        assert_eq!(sent.count(), 3);
        let mut got = Vec::new();
        assert_eq!(receive(&receiver, &mut got), Ok(Some(header(0))));
        assert!(
            sender.try_send(header(3), &bytes, false) && !sender.try_send(header(4), &bytes, false)
        );
    }
}
