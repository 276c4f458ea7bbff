//! Messages that take more than one frame of a byte ring, or must wait: the parts that are still to
//! be sent, and the parts that have arrived.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem;
use std::time::Instant;

use super::frame_ring::Sender;
use super::ring::MAX_PAYLOAD;
use crate::link::between::Header;
use crate::payload::encoder::LARGE;
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// Mark in `extra`: the next frame continues the message. The other bits are a hint: the number of
/// bytes that follow.
pub(super) const MORE: u32 = 1 << 31;
/// Mark in `kind`: the message has slices. One of them is large, so the message has several frames.
const SLICES: u32 = 1 << 31;
/// Maximum number of bytes that are allocated because of such a hint, and that a buffer for reuse
/// may have.
const AHEAD: usize = 64 << 20;
pub(super) const KEPT: usize = 8 << 20;

const _: () = assert!(LARGE > MAX_PAYLOAD);

/// The contents of a message to be sent.
pub(super) enum Body {
    Bytes(Vec<u8>),
    Sliced(SlicedMessage),
}

impl Body {
    fn len(&self) -> usize {
        match self {
            Body::Bytes(bytes) => bytes.len(),
            Body::Sliced(message) => message.len(),
        }
    }
}

/// A message that is not sent, or only in part, because the byte ring has no space.
struct Waiting {
    header: Header,
    body: Body,
    /// Number of bytes sent.
    sent: usize,
}

impl Waiting {
    /// Returns the number of payload bytes in the next frame of this message.
    fn next(&self) -> usize {
        (self.body.len() - self.sent).min(MAX_PAYLOAD)
    }

    /// Sends the next frame of this message, and counts its bytes as sent. Returns false, without a
    /// change, if the byte ring has no space at the moment.
    fn try_send(&mut self, sender: &Sender) -> bool {
        let (from, len) = (self.sent, self.next());
        let mut header = self.header;
        match self.body.len() - from - len {
            0 => {}
            left => header.extra = MORE | left.min(MORE as usize - 1) as u32,
        }
        let sent = match &self.body {
            Body::Bytes(bytes) => sender.try_send(header, &bytes[from..from + len], false),
            Body::Sliced(message) => {
                header.kind |= SLICES;
                sender.is_ready(len)
                    && sender.try_send_pieces(header, &message.pieces(from, len), false)
            }
        };
        if sent {
            self.sent += len;
        }
        sent
    }

    fn is_sent(&self) -> bool {
        self.sent == self.body.len()
    }
}

/// Messages to one other scheduler that wait, in order.
#[derive(Default)]
pub(super) struct Outgoing(RefCell<VecDeque<Waiting>>);

impl Outgoing {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    pub(super) fn push(&self, header: Header, body: Body) {
        let waiting = Waiting {
            header,
            body,
            sent: 0,
        };
        self.0.borrow_mut().push_back(waiting);
    }

    /// Returns true if the next frame of the first waiting message can be sent, and false if no
    /// message waits.
    pub(super) fn can_go_on(&self, sender: &Sender) -> bool {
        let waiting = self.0.borrow();
        let first = waiting.front();
        first.is_some_and(|first| sender.is_ready(first.next()))
    }

    /// Sends waiting messages in order, as far as there is space. Passes the contents of each
    /// completely sent message to `done`. If the space does not suffice, also publishes frames that
    /// are withheld.
    pub(super) fn send(&self, sender: &Sender, mut done: impl FnMut(Body)) {
        let mut waiting = self.0.borrow_mut();
        while let Some(first) = waiting.front_mut() {
            if !first.try_send(sender) {
                sender.publish();
                return;
            }
            if first.is_sent() {
                waiting
                    .pop_front()
                    .into_iter()
                    .for_each(|sent| done(sent.body));
            }
        }
    }

    /// Returns true if a waiting message keeps a value, whose slices it has not completely sent.
    pub(super) fn keeps_values(&self) -> bool {
        let waiting = self.0.borrow();
        let mut bodies = waiting.iter().map(|waiting| &waiting.body);
        bodies.any(|body| matches!(body, Body::Sliced(_)))
    }

    /// Replaces the waiting messages that keep values by copies, and passes each value to `done`.
    /// The rest of the copies is still sent.
    pub(super) fn release_values(&self, mut done: impl FnMut(SentValue)) {
        for waiting in &mut *self.0.borrow_mut() {
            let body = mem::replace(&mut waiting.body, Body::Bytes(Vec::new()));
            waiting.body = match body {
                Body::Bytes(bytes) => Body::Bytes(bytes),
                Body::Sliced(message) => {
                    // Copies all bytes, so that `sent` remains the index of the first byte to send.
                    let (bytes, value) = message.copied();
                    value.into_iter().for_each(&mut done);
                    waiting.header.kind |= SLICES;
                    Body::Bytes(bytes)
                }
            };
        }
    }
}

/// Returns the header of a message, from the header of its last frame: without the mark of slices
/// in the kind.
pub(super) fn whole(header: Header) -> Header {
    Header {
        kind: header.kind & !SLICES,
        ..header
    }
}

/// The parts of a message, or all of it.
pub(super) enum Parts {
    Bytes(Vec<u8>),
    Slices(Box<ReceivedSlices>),
}

/// A message of several frames from one other scheduler.
pub(super) struct Incoming {
    /// The parts that have arrived. Before the first part, a buffer for the next message.
    parts: RefCell<Parts>,
    /// True if parts have arrived.
    begun: Cell<bool>,
    /// Time of arrival of the first part, if it is measured.
    began: Cell<Option<Instant>>,
}

impl Default for Incoming {
    fn default() -> Self {
        Incoming {
            parts: RefCell::new(Parts::Bytes(Vec::new())),
            begun: Cell::new(false),
            began: Cell::new(None),
        }
    }
}

impl Incoming {
    /// Returns true if no part has arrived.
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        !self.begun.get()
    }

    /// Adds a part. If it is the last one, returns the message, and the time at which its first
    /// part arrived if `measured` was true for that part. Returns `None` if further parts follow.
    ///
    /// # Errors
    /// Returns a description of the expected bytes if the part is invalid, or if it is the last one
    /// and slices are incomplete.
    #[cold]
    #[inline(never)]
    pub(super) fn add(
        &self,
        header: Header,
        bytes: &[u8],
        measured: bool,
    ) -> Result<Option<(Parts, Option<Instant>)>, String> {
        let mut parts = self.parts.borrow_mut();
        let more = header.extra & MORE != 0;
        let is_first = !self.begun.replace(more);
        if is_first {
            self.began.set(measured.then(Instant::now));
        }
        let has_slices = header.kind & SLICES != 0;
        match &mut *parts {
            Parts::Bytes(_) if is_first && has_slices => {
                *parts = Parts::Slices(Box::new(ReceivedSlices::new(bytes)?));
            }
            Parts::Bytes(all) => {
                if is_first {
                    let left = (header.extra & !MORE) as usize;
                    all.reserve((bytes.len() + left).min(AHEAD));
                }
                all.extend_from_slice(bytes);
            }
            Parts::Slices(slices) => slices.add(bytes)?,
        }
        if more {
            return Ok(None);
        }
        if let Parts::Slices(slices) = &*parts
            && !slices.is_whole()
        {
            return Err("all of the slices of a message".into());
        }
        let whole = mem::replace(&mut *parts, Parts::Bytes(Vec::new()));
        Ok(Some((whole, self.began.take())))
    }

    /// Stores the buffer of a message for reuse. Drops it if its capacity is more than [`KEPT`]
    /// bytes, if another buffer is stored, or if parts of the next message have arrived.
    pub(super) fn keep(&self, mut whole: Vec<u8>) {
        if let Parts::Bytes(parts) = &mut *self.parts.borrow_mut()
            && whole.capacity() <= KEPT
            && parts.capacity() == 0
        {
            whole.clear();
            *parts = whole;
        }
    }
}
