//! The link over shared memory: a byte ring to and from each other scheduler, and the page that all
//! of them read.
//!
//! Schedulers of one OS process also have byte rings, for frames that concern no channel. Unused
//! byte rings take no physical memory.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::cma;
use super::control::{ControlPage, ENDED, RUNNING};
use super::frame_ring::{Receiver, RingFrame, Sender};
use super::messages::{Body, Incoming, KEPT, MORE, Outgoing, Parts, whole};
use super::rates::{Rates, TRIALS};
use super::ring::{ByteRing, MAX_PAYLOAD};
use crate::link::between::{Doorbell, Header, Link, RunState};
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// Kind of a frame for the link itself, marked with [`MORE`]. It contains the process id of its
/// sender, and the address of a word that the receiver tries to read there.
const ACCESS: u32 = u32::MAX;
/// Maximum wait for the cause if memory cannot be read, because its OS process may have been lost.
const LEARN: Duration = Duration::from_secs(1);

/// Time until a full byte ring is checked again. It takes about as long to empty one.
const RETRY: Duration = Duration::from_micros(50);
/// Number of times that the thread yields before that.
const YIELDS: usize = 16;

/// The byte rings to and from one other scheduler.
struct Peer {
    sender: Sender,
    receiver: Receiver,
    outgoing: Outgoing,
    incoming: Incoming,
    /// True if it is in the list of peers to which frames were sent since their bells were checked.
    dirty: Cell<bool>,
    /// Number of calls of [`ByteRings::has_access`] for this peer. The first asks it whether it
    /// can read the memory of this OS process.
    asked: Cell<u32>,
    /// Its process id, once its memory can be read.
    pid: Cell<u32>,
    rates: Rates,
}

/// All byte rings of a scheduler.
pub struct ByteRings {
    control: Arc<ControlPage>,
    /// By scheduler. The entry of this scheduler itself is `None`.
    peers: Vec<Option<Peer>>,
    /// Peers whose bells must be checked, or for which messages wait.
    dirty: RefCell<Vec<usize>>,
    /// True while a frame is being processed.
    taking: Cell<bool>,
    /// A buffer for the bytes of a message, for reuse. Without it, each large message would get its
    /// pages from the system and return them.
    buffer: Cell<Vec<u8>>,
    /// Values of which all slices have been sent.
    sent: RefCell<VecDeque<SentValue>>,
    /// The slices of the message that is being processed.
    slices: Cell<Option<ReceivedSlices>>,
    /// The word that other OS processes read to check their access, or `None` if they must not have
    /// any.
    proof: Option<Box<u64>>,
    /// Number of large messages that first go through shared memory, to measure how long they take.
    trials: u32,
}

/// Marks the processing of frames, during which no other frames are taken. Ends on a panic too.
struct Taking<'a>(&'a Cell<bool>);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// A frame that is passed after it was processed, or on a panic.
struct Passing<'a> {
    receiver: &'a Receiver,
    frame: RingFrame,
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.receiver.pass(&self.frame);
    }
}

impl ByteRings {
    /// Creates the byte rings of a scheduler. `single_copy` determines whether other OS processes
    /// read large slices in the memory of this one. With `None`, they do if that takes less time.
    ///
    /// # Safety
    /// At most one `ByteRings` may be created for this scheduler in this run.
    ///
    /// # Panics
    /// Panics if the memory of `control` is shorter than [`ControlPage::size`].
    pub unsafe fn new(control: Arc<ControlPage>, single_copy: Option<bool>) -> Self {
        let (me, memory) = (control.me(), control.memory());
        let rates = || {
            let rates = Rates::default();
            if single_copy.is_some() {
                rates.decide();
            }
            rates
        };
        let peer = |other: usize| {
            (other != me).then(|| Peer {
                // SAFETY: each scheduler has one end of each byte ring, and creates it once.
                sender: unsafe {
                    Sender::new(ByteRing::new(memory, control.ring_offset(me, other)))
                },
                // SAFETY: as above.
                receiver: unsafe {
                    Receiver::new(ByteRing::new(memory, control.ring_offset(other, me)))
                },
                outgoing: Outgoing::default(),
                incoming: Incoming::default(),
                dirty: Cell::new(false),
                asked: Cell::new(0),
                pid: Cell::new(0),
                rates: rates(),
            })
        };
        ByteRings {
            peers: (0..control.count()).map(peer).collect(),
            dirty: RefCell::default(),
            taking: Cell::new(false),
            buffer: Cell::default(),
            sent: RefCell::default(),
            slices: Cell::default(),
            proof: (single_copy != Some(false)).then(|| Box::new(control.key())),
            trials: single_copy.map_or(TRIALS, |_| 1),
            control,
        }
    }

    /// Calls `take` with frames that have arrived completely, in place: the number of the sender,
    /// the header and the payload. A message of several frames is passed once, after its last
    /// frame. Returns the number of frames that were received, including the parts of such messages
    /// and frames of the link itself. At most `most` frames of each scheduler are received, so that
    /// a scheduler that sends continuously does not delay the others. Returns 0 if it is called
    /// from `take`.
    ///
    /// # Errors
    /// The bytes that arrived are not a valid frame or message.
    #[inline]
    pub fn receive(
        &self,
        most: usize,
        mut take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        if self.taking.replace(true) {
            return Ok(0);
        }
        let _taking = Taking(&self.taking);
        let mut count = 0;
        for (from, peer) in self.peers.iter().enumerate() {
            let Some(peer) = peer else { continue };
            let until = count + most;
            while count < until
                && let Some(frame) = peer.receiver.next().map_err(|_| self.garbled(from))?
            {
                count += 1;
                let passing = Passing {
                    receiver: &peer.receiver,
                    frame,
                };
                let header = passing.frame.header;
                // SAFETY: the writer does not overwrite the frame until it is passed, and no other
                // call takes frames, because the mark is set.
                let bytes = unsafe { passing.frame.bytes.as_ref() };
                if header.extra & MORE == 0 && peer.incoming.is_empty() {
                    take(from, header, bytes);
                } else if header.kind == ACCESS {
                    self.try_access(peer, header.number, bytes);
                } else {
                    let measured = !peer.rates.is_decided();
                    let added = peer.incoming.add(header, bytes, measured);
                    drop(passing);
                    if let Some(message) = added.map_err(|why| self.no_message(from, &why))? {
                        let header = whole(header);
                        self.take_whole(peer, message, |bytes| take(from, header, bytes));
                    }
                }
            }
        }
        Ok(count)
    }

    /// Passes a message of several frames to `take`. If the message has slices, `take` gets no
    /// bytes, and [`ByteRings::take_slices`] returns the slices during that call. If the time at
    /// which the first frame arrived is given, records how long the message took.
    fn take_whole(
        &self,
        peer: &Peer,
        (whole, began): (Parts, Option<Instant>),
        take: impl FnOnce(&[u8]),
    ) {
        let here = began.map(|began| (began, Instant::now()));
        let len = match whole {
            Parts::Bytes(bytes) => {
                take(&bytes);
                let len = bytes.len();
                peer.incoming.keep(bytes);
                len
            }
            Parts::Slices(slices) => {
                let len = slices.len();
                self.slices.set(Some(*slices));
                take(&[]);
                self.slices.take();
                len
            }
        };
        if let Some((began, here)) = here {
            peer.rates
                .copied(len, MAX_PAYLOAD, (here - began, here.elapsed()));
        }
    }

    /// Removes and returns the slices of the message that [`ByteRings::receive`] passes on. Returns
    /// `None` if the message has no slices, if they have been taken, or outside of its callback.
    pub fn take_slices(&self) -> Option<ReceivedSlices> {
        self.slices.take()
    }

    /// Returns true if scheduler `to` can read the memory of this OS process, and prefers to. The
    /// first call requests the answer of that scheduler and returns false. While the faster way is
    /// being measured, the first 8 calls return false. Always returns false for this scheduler
    /// itself, and if such reads are not permitted.
    pub fn has_access(&self, to: usize) -> bool {
        let (Some(Some(peer)), Some(proof)) = (self.peers.get(to), &self.proof) else {
            return false;
        };
        let asked = peer.asked.get();
        peer.asked.set(asked.saturating_add(1));
        if asked == 0 {
            let address = (&raw const **proof).expose_provenance() as u64;
            let header = Header {
                kind: ACCESS,
                number: process::id(),
                extra: MORE,
            };
            self.send(to, header, &address.to_ne_bytes());
        }
        asked >= self.trials && peer.sender.access() == Some(true)
    }

    /// Tries to read the word of another OS process whose address is in `bytes`. Grants access if
    /// the word is the key of the run. Tells the sender the result by the byte ring from it, and
    /// keeps `pid` for later reads if access is granted.
    #[cold]
    fn try_access(&self, peer: &Peer, pid: u32, bytes: &[u8]) {
        let address = bytes.try_into().map_or(0, u64::from_ne_bytes);
        let mut word = [const { MaybeUninit::new(0) }; 8];
        let read = cma::read(pid, address, &mut word);
        // SAFETY: all bytes were initialised at the start.
        let word = word.map(|byte| unsafe { byte.assume_init() });
        let granted = read.is_ok() && u64::from_ne_bytes(word) == self.control.key();
        peer.pid.set(if granted { pid } else { 0 });
        peer.receiver.set_access(granted);
    }

    /// Fills `to` with the bytes from `address` on in the memory of scheduler `of`. While the
    /// faster way is being measured, records the time, and may ask that scheduler to use shared
    /// memory from now on. If the read fails, blocks for up to 1 s until the run fails, because the
    /// OS process may have been lost.
    ///
    /// # Errors
    /// The memory cannot be read, for example because no access was granted, or the run is over.
    pub fn read_memory(
        &self,
        of: usize,
        address: u64,
        to: &mut [MaybeUninit<u8>],
    ) -> Result<(), String> {
        let peer = self.peers.get(of).and_then(Option::as_ref);
        let pid = peer.map_or(0, |peer| peer.pid.get());
        let start = peer.filter(|peer| !peer.rates.is_decided());
        let start = start.map(|peer| (peer, Instant::now()));
        let bytes = to.len();
        let read = match pid {
            0 => Err("that OS process does not permit it".to_string()),
            pid => cma::read(pid, address, to).map_err(|error| error.to_string()),
        };
        if let (Some((peer, start)), true) = (start, read.is_ok())
            && let Some(false) = peer.rates.read(bytes, start.elapsed())
        {
            // Slices that are already announced are still read there.
            peer.receiver.set_access(false);
        }
        // The memory of a lost OS process cannot be read, and the loss is reported instead. An OS
        // process that knows that the run is over frees its memory.
        if read.is_err() {
            self.control.wait_for_failure(LEARN);
        }
        match self.control.state() {
            RUNNING => read.map_err(|why| {
                format!(
                    "readable memory of the other OS process ({why}; GRAPHMAP_SINGLE_COPY=0 avoids \
                     such reads)"
                )
            }),
            _ => Err("a run that has not ended".into()),
        }
    }

    /// Removes and returns the buffer that was stored for the bytes of a message, or returns an
    /// empty one. It may have the contents of an older message.
    pub fn buffer(&self) -> Vec<u8> {
        self.buffer.take()
    }

    /// Sends a message, or queues it until there is space. A message that is sent at once also
    /// publishes the frames that were withheld before it. Has no effect if `to` is this scheduler
    /// or does not exist.
    #[inline]
    pub fn send_now(&self, to: usize, header: Header, bytes: Vec<u8>) {
        let Some(Some(peer)) = self.peers.get(to) else {
            return;
        };
        self.mark(to, peer);
        if peer.can_send(bytes.len()) && peer.sender.try_send(header, &bytes, false) {
            self.buffer.set(bytes);
        } else {
            self.wait(peer, header, Body::Bytes(bytes));
        }
    }

    /// Sends a message, and leaves its slices where they are until they are sent. What does not fit
    /// into the byte ring waits for [`Link::flush`]. Drops the message if `to` is this scheduler or
    /// does not exist.
    pub fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        let Some(Some(peer)) = self.peers.get(to) else {
            return;
        };
        self.mark(to, peer);
        self.wait(peer, header, Body::Sliced(message));
    }

    /// Removes and returns a value of which all slices have been sent or copied, the earliest
    /// first. Returns `None` if there is none.
    #[inline]
    pub fn take_sent(&self) -> Option<SentValue> {
        self.sent.borrow_mut().pop_front()
    }

    /// Returns true if [`ByteRings::take_sent`] has a value to return.
    #[inline]
    pub fn has_sent(&self) -> bool {
        !self.sent.borrow().is_empty()
    }

    /// Returns true if there are values that [`ByteRings::take_sent`] has not returned, sent or
    /// not.
    pub fn keeps_values(&self) -> bool {
        let mut peers = self.peers.iter().flatten();
        self.has_sent() || peers.any(|peer| peer.outgoing.keeps_values())
    }

    /// Copies the messages whose slices are not completely sent, so that they need their values no
    /// longer. [`ByteRings::take_sent`] then returns these values.
    pub fn release_values(&self) {
        for peer in self.peers.iter().flatten() {
            peer.outgoing
                .release_values(|sent| self.sent.borrow_mut().push_back(sent));
        }
    }

    /// Sends a message whose bytes are the concatenation of `pieces`, if it fits into one frame, no
    /// message waits before it, and the byte ring has space now. Returns false, without sending, if
    /// one of these does not hold. Returns true without sending if `to` is this scheduler or does
    /// not exist.
    #[inline]
    pub fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        let Some(Some(peer)) = self.peers.get(to) else {
            return true;
        };
        self.mark(to, peer);
        let len = pieces.iter().map(|piece| piece.len()).sum();
        peer.can_send(len) && peer.sender.try_send_pieces(header, pieces, false)
    }

    /// Stores the buffer of a sent message for reuse, in place of one that is stored. Drops it if
    /// its capacity is more than 8 MiB.
    #[inline]
    pub fn keep(&self, buffer: Vec<u8>) {
        if buffer.capacity() <= KEPT {
            self.buffer.set(buffer);
        }
    }

    #[inline]
    fn mark(&self, to: usize, peer: &Peer) {
        if !peer.dirty.replace(true) {
            self.dirty.borrow_mut().push(to);
        }
    }

    /// Queues a message, because others wait before it, it has more than one frame, or the ring is
    /// full. Then sends waiting messages to this peer as far as there is space.
    #[cold]
    #[inline(never)]
    fn wait(&self, peer: &Peer, header: Header, body: Body) {
        peer.outgoing.push(header, body);
        self.send_waiting(peer);
    }

    /// Sends waiting messages to a peer as far as there is space. Keeps the buffers of sent
    /// messages for reuse, and the values for [`ByteRings::take_sent`].
    fn send_waiting(&self, peer: &Peer) {
        peer.outgoing.send(&peer.sender, |sent| match sent {
            Body::Bytes(bytes) => self.keep(bytes),
            Body::Sliced(message) => self.sent.borrow_mut().extend(message.into_value()),
        });
    }

    #[inline(never)]
    fn flush_now(&self) -> bool {
        let mut dirty = self.dirty.borrow_mut();
        dirty.retain(|&scheduler| {
            let Some(peer) = &self.peers[scheduler] else {
                return false;
            };
            self.send_waiting(peer);
            peer.sender.publish();
            self.control.ring(scheduler);
            peer.dirty.set(peer.waits());
            peer.waits()
        });
        dirty.is_empty()
    }

    /// Returns true if the next frame of a waiting message can be sent to some peer.
    #[inline(always)]
    fn can_flush(&self) -> bool {
        !self.dirty.borrow().is_empty() && self.can_flush_some()
    }

    #[inline(never)]
    fn can_flush_some(&self) -> bool {
        let dirty = self.dirty.borrow();
        let mut peers = dirty
            .iter()
            .filter_map(|&scheduler| self.peers[scheduler].as_ref());
        peers.any(Peer::can_go_on)
    }

    /// Blocks for a short time, because a byte ring is full. Returns earlier if a frame has arrived
    /// or a waiting message can be sent. The reader sends no notice when there is space, but often
    /// there is some as soon as another thread has run.
    pub fn wait_for_room(&self) {
        for _ in 0..YIELDS {
            if self.is_ready() {
                return;
            }
            thread::yield_now();
        }
        if !self.is_ready() {
            thread::sleep(RETRY);
        }
    }

    /// Returns true if a frame has arrived, or if a waiting message can be sent.
    #[inline]
    pub fn is_ready(&self) -> bool {
        self.is_filled() || self.can_flush()
    }

    #[cold]
    fn garbled(&self, from: usize) -> String {
        let from = self.control.number_of(from);
        format!("invalid frame from OS process {from}: the shared memory was overwritten")
    }

    #[cold]
    fn no_message(&self, from: usize, why: &str) -> String {
        let from = self.control.number_of(from);
        format!("invalid message from OS process {from}: expected {why}")
    }
}

impl Peer {
    /// Returns true if a message to this peer waits for space.
    #[inline(always)]
    fn waits(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns true if a message of this length is one frame, and no message waits before it.
    #[inline(always)]
    fn can_send(&self, len: usize) -> bool {
        len <= MAX_PAYLOAD && !self.waits()
    }

    fn can_go_on(&self) -> bool {
        self.outgoing.can_go_on(&self.sender)
    }
}

impl Doorbell for ControlPage {
    fn ring(&self) {
        ControlPage::ring(self, self.me());
    }

    fn note_activity(&self) {
        ControlPage::note_activity(self);
    }
}

impl Link for ByteRings {
    fn me(&self) -> usize {
        self.control.me()
    }

    fn count(&self) -> usize {
        self.control.count()
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::clone(&self.control) as Arc<dyn Doorbell>
    }

    /// Sends a frame. The frame may be withheld until another one follows by
    /// [`ByteRings::send_now`] or [`ByteRings::try_send_pieces`], or until [`Link::flush`]. Queues
    /// the frame if there is no space. Has no effect if `to` is this scheduler or does not exist.
    #[inline]
    fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        let Some(Some(peer)) = self.peers.get(to) else {
            return;
        };
        self.mark(to, peer);
        if !peer.can_send(bytes.len()) || !peer.sender.try_send(header, bytes, true) {
            self.wait(peer, header, Body::Bytes(bytes.to_vec()));
        }
    }

    /// Publishes withheld frames, sends waiting messages as far as there is space, and wakes their
    /// receivers. Returns true if none is left, and false if some wait for space.
    #[inline]
    fn flush(&self) -> bool {
        self.dirty.borrow().is_empty() || self.flush_now()
    }

    #[inline]
    fn is_filled(&self) -> bool {
        let mut peers = self.peers.iter().flatten();
        peers.any(|peer| peer.receiver.is_filled())
    }

    fn sleep(&self, stay: &dyn Fn() -> bool, at_most: Option<Duration>) {
        if self.flush() {
            // Values of which all slices have been sent must be returned first.
            if !self.has_sent() {
                self.control.sleep(|| stay() || self.is_filled(), at_most);
            }
            return;
        }
        // A scheduler that still has frames to send counts as awake.
        self.wait_for_room();
    }

    #[inline]
    fn detection(&self) -> Option<u32> {
        self.control.detection()
    }

    fn clear_activity(&self) {
        self.control.clear_activity();
    }

    fn end_detection(&self) {
        self.control.end_detection();
    }

    #[inline]
    fn state(&self) -> RunState {
        match self.control.state() {
            RUNNING => RunState::Running,
            ENDED => RunState::Ended,
            _ => RunState::Failed,
        }
    }

    fn end(&self) {
        self.control.end();
    }

    fn fail(&self, cause: &[u8]) {
        self.control.fail(cause);
    }

    fn cause(&self) -> Option<Vec<u8>> {
        self.control.cause()
    }

    fn done(&self) {
        self.control.done();
    }

    fn may_receive_from(&self, scheduler: usize) -> bool {
        !self.control.is_gone(self.control.os_process_of(scheduler))
    }
}
