//! The bytes of a [`lane`](super::lane) in shared memory, and where frames are in them.
//!
//! It is separate from `lane.rs` because the tests with loom replace it by memory whose every
//! access loom sees (`interleavings/lanes.rs`).

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::memory::SharedMemory;
use crate::copy::{copy_for_others, fetch};
use crate::link::between::Header;

/// Bytes that are on the way at most: a power of two. A small ring under Miri, which goes around it in moments.
pub(super) const ROOM: u64 = if cfg!(miri) { 1 << 14 } else { 1 << 18 };
/// Where a word is that says whether the reader can read the memory of the writer: in a line that is hardly ever looked at.
const ACCESS: usize = 64;
/// Where the bytes begin, behind the counter and that line: two lines come at a time.
const BYTES: usize = 128;
/// What a lane takes.
pub(crate) const LANE: usize = BYTES + ROOM as usize;
/// What a frame begins with.
pub(super) const HEADER: usize = 16;
/// Frames begin at multiples of this: half a cache line, so that small ones are within one.
pub(super) const UNIT: u64 = 32;
/// Most that one frame carries: a quarter of the ring, so that writing and reading overlap.
pub(crate) const MOST: usize = ROOM as usize / 4 - HEADER;

/// A frame of at least this many bytes is written from its second cache line on, and its first line
/// last, because the reader polls the first line, which would otherwise change cores twice. The
/// reader of such a frame prefetches `FETCHED` of its lines while it looks up the destination.
/// Both were fitted on cores that are far apart: `benches/runtime/run one shm bytes 8192 50000`.
const LARGE: usize = 2 << 10;
const FETCHED: usize = 24;
/// A cache line.
const LINE: usize = 64;

/// First words are cleared at least and at most this many bytes ahead: some cache lines, so that
/// the lines that change cores are not the line that the reader polls. Their cost:
/// `benches/runtime/run one shm words 200000` and
/// `benches/runtime/run one shm stream 1 100 3000000`.
pub(super) const CLEARED_LEAST: u64 = 256;
pub(super) const CLEARED_MOST: u64 = 512;

/// Where a lane is, in memory that is kept as long.
pub(crate) struct ByteRing {
    head: NonNull<AtomicU64>,
    bytes: NonNull<u8>,
    _memory: Arc<SharedMemory>,
}

// SAFETY: it points into memory that is everybody's, by the rules of a lane: each end has one user at a time.
unsafe impl Send for ByteRing {}

impl ByteRing {
    /// The lane that starts at a place of the memory.
    pub(crate) fn new(memory: &Arc<SharedMemory>, at: usize) -> Self {
        assert!(at.is_multiple_of(64));
        ByteRing {
            head: memory.at(at, 8).cast(),
            bytes: memory.at(at + BYTES, ROOM as usize),
            _memory: Arc::clone(memory),
        }
    }

    #[inline(always)]
    pub(super) fn head(&self) -> &AtomicU64 {
        // SAFETY: within the memory, aligned as a lane is, and used as an atomic by everybody.
        unsafe { self.head.as_ref() }
    }

    #[inline]
    pub(super) fn access(&self) -> &AtomicU32 {
        // SAFETY: between the counter and the bytes, so within the memory, aligned, and used as an atomic by everybody.
        unsafe { self.head.byte_add(ACCESS).cast().as_ref() }
    }

    #[inline(always)]
    pub(super) fn place(&self, at: u64) -> NonNull<u8> {
        // SAFETY: the masked index is within the bytes.
        unsafe { self.bytes.add((at & (ROOM - 1)) as usize) }
    }

    /// How many bytes there are from an index to the end of the ring.
    #[inline(always)]
    pub(super) fn rest(&self, at: u64) -> u64 {
        ROOM - (at & (ROOM - 1))
    }

    /// The first word of a frame at an index, which is a multiple of [`UNIT`].
    #[inline(always)]
    pub(super) fn first(&self, at: u64) -> &AtomicU32 {
        debug_assert!(at.is_multiple_of(UNIT));
        // SAFETY: a unit is within the bytes, aligned; what may be a first word to anybody is used as an atomic by
        // both, or is written where the reader does not look.
        unsafe { self.place(at).cast().as_ref() }
    }

    /// Writes a frame at an index, but for its first word.
    ///
    /// # Safety
    /// It is within the ring, and nobody reads there.
    #[inline(always)]
    pub(super) unsafe fn write(&self, at: u64, header: Header, pieces: &[&[u8]]) {
        let place = self.place(at);
        let words = [header.kind, header.number, header.extra];
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        let first = match len < LARGE {
            true => 0,
            false => LINE - (at as usize + HEADER) % LINE,
        };
        // SAFETY: the caller's promise; the frame is aligned.
        unsafe {
            let to = place.add(HEADER);
            copy_pieces(pieces, to, first..len);
            place.cast::<u32>().add(1).cast::<[u32; 3]>().write(words);
            if first > 0 {
                copy_pieces(pieces, to, 0..first);
            }
        }
    }

    /// The header of the frame at an index, and where its bytes are.
    ///
    /// # Safety
    /// It is within the ring, was written, and nobody writes there.
    #[inline(always)]
    pub(super) unsafe fn read(&self, at: u64, len: usize) -> (Header, NonNull<[u8]>) {
        let place = self.place(at);
        if len >= LARGE {
            // Not beyond the ring: a frame is in one piece, and has more lines than these.
            (1..=FETCHED).for_each(|line| fetch(place.as_ptr().wrapping_add(line * LINE)));
        }
        // SAFETY: the caller's promise; the frame is aligned, and any bytes are numbers.
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

/// Copies those bytes that are in a range of all that pieces have, one behind the other, to where they are if the first of all is at `to`.
///
/// # Safety
/// There is room for all, and nobody reads there.
#[inline(always)]
unsafe fn copy_pieces(pieces: &[&[u8]], to: NonNull<u8>, range: Range<usize>) {
    let mut begin = 0;
    for piece in pieces {
        let place = |at: usize| at.saturating_sub(begin).min(piece.len());
        let (from, end) = (place(range.start), place(range.end));
        let part = &piece[from..end];
        // SAFETY: the caller's promise.
        unsafe { copy_for_others(part.as_ptr(), to.as_ptr().add(begin + from), part.len()) };
        begin += piece.len();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::super::lane::{Garbled, Receiver, Sender};
    use super::*;

    /// Frames, or rounds: around the end of the ring some times. The last frame is not withheld.
    const MANY: u32 = if cfg!(miri) { 41 } else { 20_000 };

    fn lane() -> (Arc<SharedMemory>, Sender, Receiver) {
        let memory = Arc::new(SharedMemory::new(LANE).unwrap());
        // SAFETY: the one sender, the one receiver.
        let (sender, receiver) = unsafe {
            (
                Sender::new(ByteRing::new(&memory, 0)),
                Receiver::new(ByteRing::new(&memory, 0)),
            )
        };
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
        // In one piece, or in three.
        let cut = |n: u32, len: usize| {
            if n.is_multiple_of(2) {
                (0, len)
            } else {
                (len / 3, len / 2)
            }
        };
        let size = |n: u32| {
            (n as usize * 7919) % 3000 + usize::from(n.is_multiple_of(1000)) * (MOST - 3000)
        };
        let bytes: Vec<u8> = (0..MOST + 256).map(|at| at as u8).collect();
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

    /// The line that a frame begins in is written last: pieces may end anywhere in it, and behind it.
    #[test]
    fn frames_in_pieces_of_any_lengths_are_what_was_sent() {
        let (_memory, sender, receiver) = lane();
        let bytes: Vec<u8> = (0..LARGE + 200)
            .map(|at| (at * 7 + at / 256) as u8)
            .collect();
        let mut got = Vec::new();
        let lens = [LARGE - 1, LARGE, LARGE + 1, LARGE + 33, LARGE + 200];
        // One of a unit before it, or none: so a frame begins in either half of a line.
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
    fn what_cannot_be_a_frame_is_an_error() {
        const PASS: u32 = u32::MAX;
        for (units, words) in [
            (0, [PASS, 1, 1, 1]),
            (0, [MOST as u32 + 2, 1, 1, 1]),
            (0, [PASS - 1, 1, 1, 1]),
            (ROOM / UNIT - 1, [40, 1, 1, 1]),
            (ROOM / UNIT - 1, [PASS, 1, 1, 1]),
        ] {
            let (memory, sender, receiver) = lane();
            let mut bytes = Vec::new();
            for _ in 0..units {
                assert!(sender.try_send(header(1), &[], false));
                assert_eq!(receive(&receiver, &mut bytes), Ok(Some(header(1))));
            }
            let ring = ByteRing::new(&memory, 0);
            // At the start there is no frame.
            ring.first(0).store(0, Ordering::Relaxed);
            // SAFETY: it is within the ring.
            unsafe { ring.place(units * UNIT).cast::<[u32; 4]>().write(words) };
            assert_eq!(
                receive(&receiver, &mut bytes),
                Err(Garbled),
                "{units} {words:?}"
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

    /// Where a reader lags behind as it likes, it sees the frames that were published, each once, and nothing behind them.
    #[test]
    fn nothing_is_seen_behind_the_last_frame() {
        // Sizes that fall on both sides of those by which words are cleared ahead, and what fills the rest of a ring.
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
            MOST,
        ];
        let bytes = vec![255; MOST];
        let mut state = 1_u32;
        let mut below = |bound: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % bound
        };
        let (_memory, sender, receiver) = lane();
        let mut got = Vec::new();
        let (mut sent, mut published, mut read) = (Vec::new(), 0, 0);
        for _ in 0..MANY {
            // Some of a size in a row, as tokens of a channel are.
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
