//! Shared memory as a link: a lane to each other scheduler and one from it, and the page that all look at.
//!
//! Schedulers of one OS process have lanes too, for what is not about a channel; those that nobody uses take no memory.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::process;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::cma;
use super::control::{ControlPage, ENDED, RUNNING};
use super::lane::{LaneFrame, Receiver, Sender};
use super::messages::{Body, Incoming, KEPT, MORE, Outgoing, Parts, whole};
use super::rates::{Rates, TRIALS};
use super::ring::{ByteRing, MOST};
use crate::link::between::{Doorbell, Header, Link, RunState};
use crate::payload::received::ReceivedSlices;
use crate::payload::sliced::{SentValue, SlicedMessage};

/// A frame for the link itself, with [`MORE`]: where the memory of its sender can be read, if it can, and its OS process.
const ACCESS: u32 = u32::MAX;
/// How long is waited to learn why memory cannot be read: its OS process may have been lost.
const LEARN: Duration = Duration::from_secs(1);

/// After how long a full lane is looked at again: about as long as it takes to empty it.
const RETRY: Duration = Duration::from_micros(50);
/// How often others are let run before that.
const YIELDS: usize = 16;

/// The way to one other scheduler.
struct Peer {
    sender: Sender,
    receiver: Receiver,
    outgoing: Outgoing,
    incoming: Incoming,
    /// In the list of those to whom something was sent since their bells were looked at.
    dirty: Cell<bool>,
    /// How often it would have been sent what is to be read in the memory of this OS process: it is asked at first.
    asked: Cell<u32>,
    /// Its OS process, from when that can be read.
    pid: Cell<u32>,
    rates: Rates,
}

/// All lanes of a scheduler.
pub struct Lanes {
    control: Arc<ControlPage>,
    /// By scheduler; none at its own place.
    peers: Vec<Option<Peer>>,
    /// Those whose bell is to be looked at, or for whom messages wait.
    dirty: RefCell<Vec<usize>>,
    /// A frame is being looked at.
    taking: Cell<bool>,
    /// Memory for the bytes of a message, to be used again: else each large one would have the pages it lies in from
    /// the system, and give them back.
    buffer: Cell<Vec<u8>>,
    /// Values of which all has been sent.
    sent: RefCell<VecDeque<SentValue>>,
    /// The slices of the message that is being looked at.
    slices: Cell<Option<ReceivedSlices>>,
    /// What others read to see whether they can; none if they are not to.
    proof: Option<Box<u64>>,
    /// So many large messages go through shared memory first, to see how long they take.
    trials: u32,
}

/// Frames of a lane are looked at: no others are, until that is over, be it by a panic.
struct Taking<'a>(&'a Cell<bool>);

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// A frame that is passed when it was looked at, be it by a panic.
struct Passing<'a> {
    receiver: &'a Receiver,
    frame: LaneFrame,
}

impl Drop for Passing<'_> {
    fn drop(&mut self) {
        self.receiver.pass(&self.frame);
    }
}

impl Lanes {
    /// With `single_copy`, others read large slices in the memory of this OS process; without any, if that takes less time.
    ///
    /// # Safety
    /// They are the only ones of this scheduler for this run.
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
                // SAFETY: each scheduler has one end of each lane, and makes it once.
                sender: unsafe { Sender::new(ByteRing::new(memory, control.lane(me, other))) },
                // SAFETY: as above.
                receiver: unsafe { Receiver::new(ByteRing::new(memory, control.lane(other, me))) },
                outgoing: Outgoing::default(),
                incoming: Incoming::default(),
                dirty: Cell::new(false),
                asked: Cell::new(0),
                pid: Cell::new(0),
                rates: rates(),
            })
        };
        Lanes {
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

    /// Calls `take` with frames that are here as a whole, where they lie, at most so many of each scheduler: who sends
    /// without end keeps nobody else waiting. How many there were.
    ///
    /// # Errors
    /// What has come cannot be a frame.
    #[inline]
    pub fn receive_with(
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
                // SAFETY: the lane leaves it alone until it is passed, and nobody else takes from it: the mark is set.
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

    /// Hands on a message of several frames.
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
            peer.rates.copied(len, MOST, (here - began, here.elapsed()));
        }
    }

    /// The slices of the message that is being handed on.
    pub fn take_slices(&self) -> Option<ReceivedSlices> {
        self.slices.take()
    }

    /// Whether another scheduler can read the memory of this OS process, and would rather; at first it is asked, and the
    /// answer is no.
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

    /// Tries whether the memory of another scheduler can be read, and says so.
    #[cold]
    fn try_access(&self, peer: &Peer, pid: u32, bytes: &[u8]) {
        let address = bytes.try_into().map_or(0, u64::from_ne_bytes);
        let mut word = [const { MaybeUninit::new(0) }; 8];
        let read = cma::read(pid, address, &mut word);
        // SAFETY: all were initialised from the start.
        let word = word.map(|byte| unsafe { byte.assume_init() });
        let granted = read.is_ok() && u64::from_ne_bytes(word) == self.control.key();
        peer.pid.set(if granted { pid } else { 0 });
        peer.receiver.tell_access(granted);
    }

    /// Fills `to` with what is in the memory of another scheduler.
    ///
    /// # Errors
    /// It cannot be read.
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
            // What is there to be read already is.
            peer.receiver.tell_access(false);
        }
        // Who is lost can be read no more, and that is to be told instead. Who knows that a run is over lets go of its memory.
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

    /// Memory for the bytes of a message, with what an older one has left.
    pub fn buffer(&self) -> Vec<u8> {
        self.buffer.take()
    }

    /// Sends a message, or leaves it to be sent.
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

    /// Sends a message whose slices stay where they are until then.
    pub fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        let Some(Some(peer)) = self.peers.get(to) else {
            return;
        };
        self.mark(to, peer);
        self.wait(peer, header, Body::Sliced(message));
    }

    /// A value of which all has been sent.
    #[inline]
    pub fn take_sent(&self) -> Option<SentValue> {
        self.sent.borrow_mut().pop_front()
    }

    /// Whether there is a value of which all has been sent.
    #[inline]
    pub fn has_sent(&self) -> bool {
        !self.sent.borrow().is_empty()
    }

    /// Whether values are kept that were not given back.
    pub fn keeps_values(&self) -> bool {
        let mut peers = self.peers.iter().flatten();
        self.has_sent() || peers.any(|peer| peer.outgoing.keeps_values())
    }

    /// Copies what is still to be sent of values, so that none is kept.
    pub fn let_go(&self) {
        for peer in self.peers.iter().flatten() {
            peer.outgoing
                .let_go(|sent| self.sent.borrow_mut().push_back(sent));
        }
    }

    /// Sends a message in pieces, if there is room for all of it at once.
    #[inline]
    pub fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        let Some(Some(peer)) = self.peers.get(to) else {
            return true;
        };
        self.mark(to, peer);
        let len = pieces.iter().map(|piece| piece.len()).sum();
        peer.can_send(len) && peer.sender.try_send_pieces(header, pieces, false)
    }

    /// Keeps the memory of a message that was sent.
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

    /// A message waits for room, behind others or because it has more than one frame.
    #[cold]
    #[inline(never)]
    fn wait(&self, peer: &Peer, header: Header, body: Body) {
        peer.outgoing.push(header, body);
        self.send_waiting(peer);
    }

    /// Sends of what waits what has room.
    fn send_waiting(&self, peer: &Peer) {
        peer.outgoing.send(&peer.sender, |sent| match sent {
            Body::Bytes(bytes) => self.keep(bytes),
            Body::Sliced(message) => self.sent.borrow_mut().extend(message.into_value()),
        });
    }

    #[inline(never)]
    fn flush_now(&self) -> bool {
        let mut dirty = self.dirty.borrow_mut();
        dirty.retain(|&who| {
            let Some(peer) = &self.peers[who] else {
                return false;
            };
            self.send_waiting(peer);
            peer.sender.publish();
            self.control.ring(who);
            peer.dirty.set(peer.waits());
            peer.waits()
        });
        dirty.is_empty()
    }

    /// Whether something that waits can be sent.
    #[inline(always)]
    fn can_flush(&self) -> bool {
        !self.dirty.borrow().is_empty() && self.can_flush_some()
    }

    #[inline(never)]
    fn can_flush_some(&self) -> bool {
        let dirty = self.dirty.borrow();
        let mut peers = dirty.iter().filter_map(|&who| self.peers[who].as_ref());
        peers.any(Peer::can_go_on)
    }

    /// Waits a little, as a lane is full: nobody says when there is room, and often there is as soon as another has run.
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

    /// Whether something has come, or what waits can be sent.
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
    /// Whether a message waits for room.
    #[inline(always)]
    fn waits(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether a message is one frame, and is not behind others.
    #[inline(always)]
    fn can_send(&self, len: usize) -> bool {
        len <= MOST && !self.waits()
    }

    fn can_go_on(&self) -> bool {
        self.outgoing.can_go_on(&self.sender)
    }
}

impl Doorbell for ControlPage {
    fn ring(&self) {
        ControlPage::ring(self, self.me());
    }

    fn stir(&self) {
        ControlPage::stir(self);
    }
}

impl Link for Lanes {
    fn me(&self) -> usize {
        self.control.me()
    }

    fn count(&self) -> usize {
        self.control.count()
    }

    fn doorbell(&self) -> Arc<dyn Doorbell> {
        Arc::clone(&self.control) as Arc<dyn Doorbell>
    }

    /// It may wait for a frame with a token, or until all is flushed.
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

    /// Wakes who has got something, as well.
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
            // What values are kept for has been sent: they are to be given back first.
            if !self.has_sent() {
                self.control.sleep(|| stay() || self.is_filled(), at_most);
            }
            return;
        }
        // Who still has to send something is awake, as far as others are concerned.
        self.wait_for_room();
    }

    #[inline]
    fn meeting(&self) -> Option<u32> {
        self.control.meeting()
    }

    fn unstir(&self) {
        self.control.unstir();
    }

    fn close_meeting(&self) {
        self.control.close_meeting();
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

    fn may_come_from(&self, scheduler: usize) -> bool {
        !self.control.is_gone(self.control.os_process_of(scheduler))
    }
}
