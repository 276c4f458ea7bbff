//! The slices of a received [`SlicedMessage`](super::sliced::SlicedMessage). Each is received into
//! memory of its own, which becomes the memory of the vector to which it belongs. So it is copied
//! only once on this side, too.

use std::alloc::{self, Layout};
use std::cell::{Cell, RefCell};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::slice;

use super::Decoder;
use super::remote::{RemoteMemory, RemoteSlice};
use super::sliced::LENGTH;
use crate::copy::copy;

/// The maximum alignment. No element that is sent as memory has a larger one.
const MOST_ALIGNED: usize = 64;

fn layout(len: usize, align: usize) -> Result<Layout, String> {
    let layout = Layout::from_size_align(len, align).ok();
    let layout = layout.filter(|layout| layout.size() > 0 && layout.align() <= MOST_ALIGNED);
    layout.ok_or_else(|| "slices of known elements".into())
}

/// Memory for one slice to be received.
#[derive(Debug)]
pub struct SliceMemory {
    start: NonNull<u8>,
    layout: Layout,
    filled: usize,
}

impl SliceMemory {
    /// Allocates memory for `len` bytes of elements with alignment `align`.
    ///
    /// # Errors
    /// Returns a description of the expected value if the allocation fails, or if no elements have
    /// this size and alignment: `len` is 0 or too large, or `align` is not a power of two up to 64.
    pub fn new(len: usize, align: usize) -> Result<Self, String> {
        let layout = layout(len, align)?;
        // SAFETY: the size of the layout is not 0.
        let start = unsafe { alloc::alloc(layout) };
        let start = NonNull::new(start).ok_or("at most as many bytes as memory can hold")?;
        Ok(SliceMemory {
            start,
            layout,
            filled: 0,
        })
    }

    /// Returns the size of the memory in bytes, including the part that is not filled yet.
    pub fn size(&self) -> usize {
        self.layout.size()
    }

    /// Returns the part that is not filled yet.
    pub fn free(&mut self) -> &mut [MaybeUninit<u8>] {
        let free = self.size() - self.filled;
        // SAFETY: the part is within the allocation, and borrowed as long as `self`. Any bytes are
        // valid as `MaybeUninit`.
        unsafe { slice::from_raw_parts_mut(self.start.add(self.filled).cast().as_ptr(), free) }
    }

    /// Marks the next `bytes` bytes as filled.
    ///
    /// # Safety
    /// The first `bytes` bytes of [`SliceMemory::free`] must be initialised.
    ///
    /// # Panics
    /// Panics if that part is shorter.
    pub unsafe fn fill(&mut self, bytes: usize) {
        assert!(bytes <= self.size() - self.filled);
        self.filled += bytes;
    }

    fn is_full(&self) -> bool {
        self.filled == self.size()
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the first `filled` bytes are initialised, and are not written any more.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.filled) }
    }

    /// Returns the start of the memory, which the caller must free with its layout.
    fn into_start(self) -> NonNull<u8> {
        ManuallyDrop::new(self).start
    }
}

impl Drop for SliceMemory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and is freed once, because `into_start`
        // forgets it.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// The received part of a [`SlicedMessage`](super::sliced::SlicedMessage).
#[derive(Debug)]
pub struct ReceivedSlices {
    /// The bytes before the slices: their description, and the bytes that were copied.
    head: Vec<u8>,
    expected: Vec<RemoteSlice>,
    /// The slices that have arrived, in the expected order. `None` replaces one that was taken
    /// over.
    come: RefCell<Vec<Option<SliceMemory>>>,
    /// True if the current reader is the last one.
    is_last: Cell<bool>,
}

impl ReceivedSlices {
    /// Creates the received part from the first bytes of a message, which must contain its whole
    /// head.
    ///
    /// # Errors
    /// Returns a description of the expected bytes if these are invalid, if they are more than the
    /// message has, or if an allocation fails.
    pub fn new(bytes: &[u8]) -> Result<Self, String> {
        let head = bytes.split_first_chunk::<LENGTH>();
        let head = head
            .and_then(|(length, rest)| rest.split_at_checked(u32::from_ne_bytes(*length) as usize));
        let (head, first) = head.ok_or("a complete message header")?;
        let (expected, _): (Vec<RemoteSlice>, Vec<u8>) =
            Decoder::from_slice(head).map_err(|error| error.to_string())?;
        for slice in &expected {
            layout(slice.len, slice.align)?;
        }
        let mut received = ReceivedSlices {
            head: head.to_vec(),
            expected,
            come: RefCell::default(),
            is_last: Cell::new(false),
        };
        received.add(first)?;
        Ok(received)
    }

    /// Returns the encoded description of the slices, and the bytes that were copied.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Adds the next bytes of the slices, which may belong to several slices or to a part of one.
    ///
    /// # Errors
    /// Returns a description of the expected bytes if these are more than the slices have, or if an
    /// allocation fails.
    pub(crate) fn add(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        let come = self.come.get_mut();
        while !bytes.is_empty() {
            let memory = match come.last_mut() {
                Some(Some(last)) if !last.is_full() => last,
                _ => {
                    let next = self.expected.get(come.len());
                    let next = next.ok_or("at most the bytes of its slices")?;
                    come.push(Some(SliceMemory::new(next.len, next.align)?));
                    continue;
                }
            };
            let free = memory.free();
            let (now, later) = bytes.split_at(bytes.len().min(free.len()));
            // SAFETY: `free` has space for these bytes, and is borrowed mutably. They are
            // initialised afterwards.
            unsafe {
                copy(now.as_ptr(), free.as_mut_ptr().cast(), now.len());
                memory.fill(now.len());
            }
            bytes = later;
        }
        Ok(())
    }

    /// Returns the size of each slice in bytes and the alignment of its elements, in the order in
    /// which slices must be added.
    pub fn layouts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.expected.iter().map(|slice| (slice.len, slice.align))
    }

    /// Adds the next slice, which must be completely filled.
    ///
    /// # Errors
    /// Returns a description of the expected slice if no further slice is expected, if this one has
    /// another size or alignment, or if it is not filled. The memory is freed then.
    pub fn add_slice(&mut self, memory: SliceMemory) -> Result<(), String> {
        let come = self.come.get_mut();
        let next = self.expected.get(come.len());
        let is_it = next.is_some_and(|next| {
            (next.len, next.align) == (memory.filled, memory.layout.align()) && memory.is_full()
        });
        is_it
            .then(|| come.push(Some(memory)))
            .ok_or_else(|| "the next slice of a message".into())
    }

    /// Returns true if all expected slices have arrived completely, also if none is expected.
    pub fn is_whole(&self) -> bool {
        let come = self.come.borrow();
        let last = come.last().and_then(Option::as_ref);
        come.len() == self.expected.len() && last.is_none_or(SliceMemory::is_full)
    }

    /// Returns the total size of the expected slices in bytes.
    pub(crate) fn len(&self) -> usize {
        self.expected.iter().map(|slice| slice.len).sum()
    }

    /// Records that the current reader is the last one. It may then take over the memory of slices.
    pub(crate) fn mark_last_reader(&self) {
        self.is_last.set(true);
    }
}

impl RemoteMemory for ReceivedSlices {
    fn read(&self, address: u64, to: &mut [MaybeUninit<u8>]) -> Result<(), String> {
        let come = self.come.borrow();
        let there = self
            .expected
            .iter()
            .zip(&*come)
            .find_map(|(slice, memory)| {
                let from = usize::try_from(address.checked_sub(slice.address)?).ok()?;
                memory
                    .as_ref()?
                    .bytes()
                    .get(from..from.checked_add(to.len())?)
            });
        let there = there.ok_or("a slice that has arrived")?;
        // SAFETY: both have the same length, and `to` is borrowed mutably.
        unsafe { copy(there.as_ptr(), to.as_mut_ptr().cast(), there.len()) };
        Ok(())
    }

    fn take_over(&self, address: u64, layout: Layout) -> Option<NonNull<u8>> {
        if !self.is_last.get() {
            return None;
        }
        let mut come = self.come.borrow_mut();
        let mut all = self.expected.iter().zip(&mut *come);
        let (_, memory) = all.find(|(slice, _)| slice.address == address)?;
        let is_it = |memory: &mut SliceMemory| memory.layout == layout && memory.is_full();
        memory.take_if(is_it).map(SliceMemory::into_start)
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::super::encoder::LARGE;
    use super::super::remote::{Fetched, Remotely};
    use super::super::sliced::SlicedMessage;
    use super::super::{DecodeError, Encoder, Format, Payload};
    use super::*;

    type Value = (u8, Vec<f64>, String, Vec<Vec<u16>>, [u32; 3], Vec<u8>);

    /// Returns a value whose large parts are selected by the bits of a number.
    fn value(n: usize) -> Value {
        let len = |bit: usize, size: usize| (LARGE / size) * (n >> bit & 1) + n % 7;
        let numbers = |count: usize| (0..count).map(|at| (at * 7 + n) as u16);
        (
            n as u8,
            numbers(len(0, 8)).map(f64::from).collect(),
            "\u{df}".repeat(len(1, 2)),
            vec![
                numbers(len(2, 2)).collect(),
                vec![],
                numbers(len(3, 2)).collect(),
            ],
            [n as u32; 3],
            numbers(len(4, 1)).map(|n| n as u8).collect(),
        )
    }

    /// Returns the message of a value as it arrives in parts of `part` bytes. The first part
    /// contains the head.
    fn sent(message: &SlicedMessage, part: usize) -> ReceivedSlices {
        let first = message.head().len() + part / 2;
        let bytes = message.pieces(0, first).concat();
        let mut received = ReceivedSlices::new(&bytes).unwrap();
        let mut at = bytes.len();
        while at < message.len() {
            assert!(!received.is_whole());
            let bytes = message.pieces(at, part).concat();
            assert_eq!(bytes.len(), part.min(message.len() - at));
            received.add(&bytes).unwrap();
            at += bytes.len();
        }
        assert!(received.is_whole());
        received
    }

    fn read<T: Payload>(received: &ReceivedSlices) -> Result<T, DecodeError> {
        let (slices, bytes): (Vec<RemoteSlice>, Vec<u8>) = Decoder::from_slice(received.head())?;
        let remotely = Remotely {
            slices: &slices,
            memory: received,
            fetched: &Fetched::default(),
        };
        Decoder::of_remote(&bytes, remotely, Format::new())
    }

    #[test]
    fn values_arrive_as_they_were_and_keep_the_memory_of_their_slices() {
        for n in if cfg!(miri) { 2..3 } else { 1..32 } {
            let message = SlicedMessage::new(value(n), Format::new(), 1, usize::MAX)
                .ok()
                .unwrap();
            let large = message.count();
            assert_eq!(large, n.count_ones() as usize);
            let parts = [LARGE - 16, LARGE / 2 + 1, 3 * LARGE];
            for part in parts.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
                let received = sent(&message, part);
                // A reader that is not the last one gets a copy.
                assert!(read::<Value>(&received).as_ref() == Ok(&value(n)));
                assert_eq!(received.come.borrow().iter().flatten().count(), large);
                received.mark_last_reader();
                assert!(read::<Value>(&received).as_ref() == Ok(&value(n)));
                assert_eq!(received.come.borrow().iter().flatten().count(), 0);
            }
            let (bytes, kept) = message.copied();
            assert!(*kept.unwrap().1.downcast::<Value>().unwrap() == value(n));
            let mut received = ReceivedSlices::new(&bytes).unwrap();
            assert!(received.is_whole() && received.add(&[1]).is_err());
        }
    }

    #[test]
    fn memory_of_another_shape_is_not_taken_over() {
        let message = SlicedMessage::new(vec![7_u16; LARGE / 2], Format::new(), 1, usize::MAX);
        let received = sent(&message.ok().unwrap(), LARGE);
        let had = |address, size, align| {
            let layout = Layout::from_size_align(size, align).unwrap();
            received.take_over(address, layout).is_some()
        };
        assert!(!had(0, LARGE, 2));
        received.mark_last_reader();
        for (address, size, align) in [
            (0, LARGE, 1),
            (0, LARGE, 8),
            (0, LARGE - 2, 2),
            (2, LARGE, 2),
        ] {
            assert!(!had(address, size, align), "{address} {size} {align}");
        }
        let layout = Layout::from_size_align(LARGE, 2).unwrap();
        let start = received.take_over(0, layout).unwrap();
        // SAFETY: it was allocated with this layout, and this test owns it.
        unsafe { alloc::dealloc(start.as_ptr(), layout) };
        assert!(!had(0, LARGE, 2));
    }

    #[test]
    fn values_that_must_be_copied_are_returned() {
        let back = |value: (Vec<u8>, Vec<Vec<u8>>), longest| {
            let back = SlicedMessage::new(value.clone(), Format::new(), 1, longest).err();
            assert!(back.is_none() || back == Some(value));
            back.is_some()
        };
        let large = || vec![1_u8; LARGE];
        assert!(!back((large(), vec![large()]), LARGE));
        // Too many bytes beside its slices, a slice that is too long, no large slice.
        assert!(back((large(), vec![vec![1; 1000]; 40]), LARGE));
        assert!(back((large(), vec![vec![1; LARGE + 1]]), LARGE));
        assert!(back((vec![1; LARGE - 1], vec![vec![1; 5000]]), LARGE));
        assert!(back((vec![], vec![]), LARGE));
    }

    /// Counts its instances.
    struct Counted(
        #[expect(dead_code, reason = "it is counted")] Rc<()>,
        Vec<u8>,
    );

    impl Payload for Counted {
        fn size(&self) -> usize {
            self.1.size()
        }

        fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
            assert_ne!(self.1.len(), LARGE + 1, "it cannot be encoded");
            self.1.encode(to);
        }

        fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
            Vec::decode(from).map(|bytes| Counted(Rc::new(()), bytes))
        }
    }

    #[test]
    fn a_value_is_dropped_once_whatever_becomes_of_its_message() {
        let count = Rc::new(());
        let message = |len| {
            let value = Counted(Rc::clone(&count), vec![1; len]);
            SlicedMessage::new(value, Format::new(), 1, usize::MAX)
        };
        drop(message(LARGE));
        assert_eq!(Rc::strong_count(&count), 1);
        let kept = message(LARGE).ok().unwrap().into_value();
        assert_eq!(Rc::strong_count(&count), 2);
        drop(kept);
        assert_eq!(Rc::strong_count(&count), 1);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _message = message(LARGE + 1);
        }));
        assert!(panicked.is_err());
        assert_eq!(Rc::strong_count(&count), 1);
    }

    #[test]
    fn forged_heads_are_errors() {
        let slice = |len, align| RemoteSlice {
            gap: 0,
            address: 0,
            len,
            align,
        };
        let head = |slice: RemoteSlice| {
            let rest = Encoder::to_vec(&(vec![slice], vec![1_u8]));
            [&(rest.len() as u32).to_ne_bytes()[..], &rest].concat()
        };
        let good = head(slice(super::super::sliced::LEAST, 8));
        assert!(!ReceivedSlices::new(&good).unwrap().is_whole());
        for cut in 0..good.len() {
            assert!(ReceivedSlices::new(&good[..cut]).is_err());
        }
        for wrong in [
            slice(0, 1),
            slice(8, 0),
            slice(8, 3),
            slice(8, 128),
            slice(usize::MAX, 1),
        ] {
            assert!(ReceivedSlices::new(&head(wrong)).is_err(), "{wrong:?}");
        }
        let mut received = ReceivedSlices::new(&head(slice(8, 8))).unwrap();
        assert!(received.add(&[0; 9]).is_err());
    }
}
