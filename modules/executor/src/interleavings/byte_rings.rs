//! Tests of the byte ring in `link/shm/frame_ring.rs`. It is compiled with memory in which loom
//! observes every access.

use loom::thread;

use self::frame_ring::{Receiver, Sender};
use self::ring::ByteRing;
use crate::link::between::Header;

#[allow(
    dead_code,
    clippy::duplicate_mod,
    reason = "it is compiled once more, with another ring beside it"
)]
#[path = "../link/shm/frame_ring.rs"]
mod frame_ring;

/// Replaces `link/shm/ring.rs`. The ring has four units, so that a few frames wrap around its end.
mod ring {
    use std::ptr::NonNull;

    use loom::cell::UnsafeCell;
    use loom::sync::Arc;
    use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

    use crate::link::between::Header;

    pub(super) const CAPACITY: u64 = 128;
    pub(super) const HEADER: usize = 16;
    pub(super) const UNIT: u64 = 32;
    /// A frame of two units is treated as one of many cache lines.
    pub(super) const CLEARED_LEAST: u64 = UNIT;
    pub(super) const CLEARED_MOST: u64 = UNIT;
    pub(super) const MAX_PAYLOAD: usize = 2 * UNIT as usize - HEADER;
    const UNITS: usize = (CAPACITY / UNIT) as usize;

    /// First word of each unit inside a frame. It is not a valid first word of a frame, so a
    /// receiver that reads it there reports an error.
    const OTHER: u32 = SKIP - 1;
    const SKIP: u32 = u32::MAX;

    /// The ring for one of its ends.
    #[derive(Clone)]
    pub(crate) struct ByteRing(Arc<Memory>);

    struct Memory {
        head: AtomicU64,
        access: AtomicU32,
        units: [Unit; UNITS],
        bytes: std::cell::UnsafeCell<[u8; CAPACITY as usize]>,
    }

    /// The cells by which loom observes a unit. The first word may be read while the rest is
    /// written.
    struct Unit {
        first: AtomicU32,
        looked: UnsafeCell<()>,
        rest: UnsafeCell<()>,
    }

    // SAFETY: each access to `bytes` is also an access to the cells of its units, so loom reports a
    // data race.
    unsafe impl Send for Memory {}
    // SAFETY: as above.
    unsafe impl Sync for Memory {}

    impl ByteRing {
        pub(super) fn empty() -> Self {
            ByteRing(Arc::new(Memory {
                head: AtomicU64::new(0),
                access: AtomicU32::new(0),
                units: std::array::from_fn(|_| Unit {
                    first: AtomicU32::new(0),
                    looked: UnsafeCell::new(()),
                    rest: UnsafeCell::new(()),
                }),
                bytes: std::cell::UnsafeCell::new([0; CAPACITY as usize]),
            }))
        }

        pub(super) fn head(&self) -> &AtomicU64 {
            &self.0.head
        }

        pub(super) fn access(&self) -> &AtomicU32 {
            &self.0.access
        }

        pub(super) fn rest(&self, at: u64) -> u64 {
            CAPACITY - at % CAPACITY
        }

        pub(super) fn first(&self, at: u64) -> &AtomicU32 {
            let unit = &self.0.units[(at % CAPACITY / UNIT) as usize];
            unit.looked.with(|_| ());
            &unit.first
        }

        fn units(&self, at: u64, len: usize) -> &[Unit] {
            let from = (at % CAPACITY / UNIT) as usize;
            &self.0.units[from..from + (HEADER + len).div_ceil(UNIT as usize)]
        }

        fn place(&self, at: u64) -> *mut u8 {
            let start: *mut u8 = self.0.bytes.get().cast();
            start.wrapping_add((at % CAPACITY) as usize)
        }

        /// Writes the header and the concatenated pieces of a frame at index `at`, but not its
        /// first word. Overwrites the first word of each further unit of the frame.
        ///
        /// # Safety
        /// The conditions of the replaced function apply.
        pub(super) unsafe fn write(&self, at: u64, header: Header, pieces: &[&[u8]]) {
            let bytes = pieces.concat();
            for (n, unit) in self.units(at, bytes.len()).iter().enumerate() {
                unit.rest.with_mut(|_| ());
                // A frame also overwrites the first word of each unit except its first one.
                if n > 0 {
                    unit.looked.with_mut(|_| ());
                    unit.first.store(OTHER, Ordering::Relaxed);
                }
            }
            let words = [header.kind, header.number, header.extra];
            // SAFETY: the frame is within `bytes`, and loom has checked the accesses.
            unsafe {
                let place = self.place(at);
                place.add(4).cast::<[u32; 3]>().write_unaligned(words);
                place
                    .add(HEADER)
                    .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            }
        }

        /// Returns the header of the frame at index `at`, and a pointer to its payload of `len`
        /// bytes.
        ///
        /// # Safety
        /// The conditions of the replaced function apply.
        pub(super) unsafe fn read(&self, at: u64, len: usize) -> (Header, NonNull<[u8]>) {
            for (n, unit) in self.units(at, len).iter().enumerate() {
                unit.rest.with(|_| ());
                if n > 0 {
                    unit.looked.with(|_| ());
                }
            }
            let place = self.place(at);
            // SAFETY: the header is within `bytes`, and loom has checked the access.
            let [kind, number, extra] = unsafe { place.add(4).cast::<[u32; 3]>().read_unaligned() };
            let header = Header {
                kind,
                number,
                extra,
            };
            let bytes = NonNull::new(place.wrapping_add(HEADER)).unwrap();
            (header, NonNull::slice_from_raw_parts(bytes, len))
        }
    }
}

fn frame_ring() -> (Sender, Receiver) {
    let ring = ByteRing::empty();
    // SAFETY: they are the only sender and the only receiver.
    unsafe { (Sender::new(ring.clone()), Receiver::new(ring)) }
}

fn header(number: u32) -> Header {
    Header {
        kind: 1,
        number,
        extra: !number,
    }
}

fn bytes(number: u32, len: usize) -> Vec<u8> {
    vec![number as u8 + 1; len]
}

fn receive(receiver: &Receiver, number: u32, len: usize) {
    let frame = loop {
        match receiver.next().expect("what was sent is a frame") {
            Some(frame) => break frame,
            None => thread::yield_now(),
        }
    };
    // A sender that overwrites the frame too early can do so here.
    thread::yield_now();
    // SAFETY: the bytes are valid until the frame is passed below.
    let got = unsafe { frame.bytes.as_ref() };
    assert_eq!(
        (frame.header, got),
        (header(number), &bytes(number, len)[..])
    );
    receiver.pass(&frame);
}

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(f);
}

/// Sends frames of these lengths on one thread and checks on another that they arrive in order and
/// as sent. Frames with `true` may be withheld. Panics if an interleaving fails.
fn frames_arrive(frames: &'static [(usize, bool)]) {
    model(3, move || {
        let (sender, receiver) = frame_ring();
        let writer = thread::spawn(move || {
            for (&(len, wait), number) in frames.iter().zip(0..) {
                while !sender.try_send(header(number), &bytes(number, len), wait) {
                    sender.publish();
                    thread::yield_now();
                }
            }
            sender.publish();
        });
        for (&(len, _), number) in frames.iter().zip(0..) {
            receive(&receiver, number, len);
        }
        assert!(receiver.next().expect("no frame").is_none());
        writer.join().unwrap();
    });
}

#[test]
fn frames_arrive_whole_and_in_order_around_the_end() {
    frames_arrive(&[(48, false), (8, false), (48, false), (16, false)]);
}

#[test]
fn withheld_frames_arrive_with_the_next_or_are_published() {
    frames_arrive(&[(8, true), (48, true), (8, false), (48, true), (0, true)]);
}

#[test]
fn the_writer_sees_the_access_of_the_reader() {
    model(3, || {
        let (sender, receiver) = frame_ring();
        let reader = thread::spawn(move || receiver.set_access(true));
        let early = sender.access();
        assert!(early.is_none() || early == Some(true));
        reader.join().unwrap();
        assert_eq!(sender.access(), Some(true));
    });
}
