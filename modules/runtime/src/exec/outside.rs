//! What a scheduler has to do with those in other OS processes: frames to and from each of them, and
//! whose they are.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::point::Side;
use super::registry::CrossEnd;
use crate::link::shm::control::Control;
use crate::link::shm::lane::{self, Header, Receiver, Sender};
use crate::link::waiter::{ARMED, GONE, ID, NOBODY, STOP};

/// A token, or a part of one.
pub(crate) const DATA: u32 = 1;
/// There is room for so many tokens more.
pub(crate) const CREDIT: u32 = 2;
/// The reader has left.
pub(crate) const LEFT: u32 = 3;
/// The writer has left.
pub(crate) const CLOSE: u32 = 4;
/// What an OS process brings to a meeting, and what was decided there.
pub(crate) const TOLD: u32 = 5;
pub(crate) const VERDICT: u32 = 6;
/// What was counted in a run.
pub(crate) const TALLY: u32 = 7;
/// In `extra`: the rest is in the next frame.
const MORE: u32 = 1 << 31;

/// After how long a full lane is looked at again: about as long as it takes to empty it.
const RETRY: Duration = Duration::from_micros(50);

/// The reading end's side of a channel whose writer is in another OS process.
pub(crate) trait FarReader {
    /// A token has come.
    fn deliver(&self, bytes: &[u8]) -> Result<(), String>;
}

/// The writing end's side of a channel whose reader is in another OS process: how many tokens may be
/// sent, and who waits until there may be more. Used by one thread; atomic for the registry's sake.
pub(crate) struct FarWriter {
    pub(crate) number: u32,
    /// The OS process of the reader.
    pub(crate) peer: u32,
    word: AtomicU32,
    credits: AtomicU32,
    capacity: AtomicU32,
    reader_left: AtomicU32,
    /// Its slot in the registry.
    pub(crate) slot: AtomicU32,
}

impl FarWriter {
    pub(crate) fn new(number: u32, peer: u32, capacity: u32) -> Self {
        FarWriter {
            number,
            peer,
            word: AtomicU32::new(NOBODY),
            credits: AtomicU32::new(capacity),
            capacity: AtomicU32::new(capacity),
            reader_left: AtomicU32::new(0),
            slot: AtomicU32::new(u32::MAX),
        }
    }

    pub(crate) fn reader_has_left(&self) -> bool {
        self.reader_left.load(Ordering::Relaxed) != 0
    }

    pub(crate) fn has_room(&self) -> bool {
        self.credits.load(Ordering::Relaxed) > 0
    }

    /// One token is going to be sent; there has to be room.
    pub(crate) fn spend(&self) {
        let credits = self.credits.load(Ordering::Relaxed);
        debug_assert!(credits > 0);
        self.credits.store(credits - 1, Ordering::Relaxed);
    }

    pub(crate) fn word(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    /// Sets who waits.
    pub(crate) fn set_word(&self, word: u32) {
        self.word.store(word, Ordering::Relaxed);
    }

    /// Takes out who is to be woken, of those that wait by one of the marks.
    fn wake(&self, marks: u32) -> Option<u32> {
        let word = self.word();
        if word & GONE != 0 || word & marks == 0 {
            return None;
        }
        self.set_word(word & !(ARMED | STOP));
        Some(word & ID)
    }

    /// There is room for more. Whom to wake.
    pub(crate) fn credit(&self, tokens: u32) -> Option<u32> {
        let credits = self.credits.load(Ordering::Relaxed);
        // More than the capacity is what no reader gives.
        let credits = credits
            .saturating_add(tokens)
            .min(self.capacity.load(Ordering::Relaxed));
        self.credits.store(credits, Ordering::Relaxed);
        self.wake(ARMED)
    }

    /// The reader has left. Whom to wake.
    fn left(&self) -> Option<u32> {
        self.reader_left.store(1, Ordering::Relaxed);
        self.wake(ARMED | STOP)
    }
}

impl CrossEnd for FarWriter {
    fn word(&self, side: Side) -> u32 {
        match side {
            Side::Write => FarWriter::word(self),
            Side::Read => NOBODY,
        }
    }

    fn capacity(&self) -> u32 {
        self.capacity.load(Ordering::Relaxed)
    }

    fn grow(&self, capacity: u32) -> Option<u32> {
        let old = self.capacity.load(Ordering::Relaxed);
        self.capacity.store(capacity.max(old), Ordering::Relaxed);
        self.credit(capacity.saturating_sub(old))
    }
}

/// Tokens that were read, and whose room was not given back yet.
pub(crate) struct Owed {
    pub(crate) number: u32,
    /// The OS process of the writer.
    pub(crate) peer: u32,
    pub(crate) tokens: Cell<u32>,
    /// In the list of those that owe something.
    listed: Cell<bool>,
}

impl Owed {
    pub(crate) fn new(number: u32, peer: u32) -> Rc<Self> {
        Rc::new(Owed {
            number,
            peer,
            tokens: Cell::new(0),
            listed: Cell::new(false),
        })
    }
}

/// The way to one other OS process.
struct Peer {
    sender: Sender,
    receiver: Receiver,
    /// What has not found room in the lane.
    backlog: VecDeque<(Header, Vec<u8>)>,
    /// The parts of a message that have come.
    parts: Vec<u8>,
    /// Something was sent since its bell was looked at.
    dirty: bool,
}

/// A message: from which OS process, and what it is.
pub(crate) struct Message {
    pub(crate) from: usize,
    pub(crate) kind: u32,
    pub(crate) number: u32,
    pub(crate) extra: u32,
    pub(crate) bytes: Vec<u8>,
}

/// All other OS processes.
pub(crate) struct Outside {
    pub(crate) control: Arc<Control>,
    /// By OS process; none at its own place.
    peers: RefCell<Vec<Option<Peer>>>,
    pub(super) readers: RefCell<HashMap<u32, Rc<dyn FarReader>>>,
    pub(super) writers: RefCell<HashMap<u32, Arc<FarWriter>>>,
    owing: RefCell<Vec<Rc<Owed>>>,
    /// Messages that are not about a channel.
    pub(super) mail: RefCell<VecDeque<Message>>,
    /// The last meeting that this one was at.
    pub(super) met: Cell<u32>,
    /// A buffer that is used again.
    spare: Cell<Vec<u8>>,
}

impl Outside {
    /// # Safety
    /// It is the only one of this OS process for this run.
    pub(crate) unsafe fn new(control: Arc<Control>) -> Self {
        let (me, memory) = (control.me(), control.memory());
        let peer = |other: usize| {
            (other != me).then(|| Peer {
                // SAFETY: each OS process has one end of each lane, and makes it once.
                sender: unsafe { Sender::new(memory, control.lane(me, other)) },
                // SAFETY: as above.
                receiver: unsafe { Receiver::new(memory, control.lane(other, me)) },
                backlog: VecDeque::new(),
                parts: Vec::new(),
                dirty: false,
            })
        };
        Outside {
            peers: RefCell::new((0..control.count()).map(peer).collect()),
            readers: RefCell::default(),
            writers: RefCell::default(),
            owing: RefCell::default(),
            mail: RefCell::default(),
            met: Cell::new(0),
            spare: Cell::default(),
            control,
        }
    }

    pub(crate) fn add_reader(&self, number: u32, reader: Rc<dyn FarReader>) {
        self.readers.borrow_mut().insert(number, reader);
    }

    pub(crate) fn add_writer(&self, writer: Arc<FarWriter>) {
        self.writers.borrow_mut().insert(writer.number, writer);
    }

    pub(crate) fn remove_writer(&self, number: u32) {
        self.writers.borrow_mut().remove(&number);
    }

    /// Sends a message, now or when there is room: what is sent first comes first.
    pub(crate) fn send(&self, to: u32, kind: u32, number: u32, extra: u32, bytes: &[u8]) {
        let mut peers = self.peers.borrow_mut();
        let Some(Some(peer)) = peers.get_mut(to as usize) else {
            return;
        };
        peer.dirty = true;
        let mut rest = bytes;
        loop {
            let (now, later) = rest.split_at(rest.len().min(lane::MOST));
            rest = later;
            let more = if rest.is_empty() { 0 } else { MORE };
            let header = Header {
                kind,
                number,
                extra: extra | more,
            };
            if !peer.backlog.is_empty() || !peer.sender.try_send(header, now) {
                peer.backlog.push_back((header, now.to_vec()));
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    /// A token was read: its room is given back when that is worth a frame.
    pub(crate) fn owe(&self, owed: &Rc<Owed>, at_once_from: u32) {
        owed.tokens.set(owed.tokens.get() + 1);
        if owed.tokens.get() >= at_once_from {
            self.pay(owed);
        } else if !owed.listed.replace(true) {
            self.owing.borrow_mut().push(Rc::clone(owed));
        }
    }

    fn pay(&self, owed: &Owed) {
        let tokens = owed.tokens.replace(0);
        if tokens > 0 {
            self.send(owed.peer, CREDIT, owed.number, tokens, &[]);
        }
    }

    /// Gives all room back that is owed: nobody is to wait for it while this one sleeps.
    pub(super) fn pay_all(&self) {
        for owed in self.owing.take() {
            owed.listed.set(false);
            self.pay(&owed);
        }
    }

    /// Sends what waits for room, and wakes who has got something. Whether nothing is left.
    pub(super) fn flush(&self) -> bool {
        let mut flushed = true;
        let mut peers = self.peers.borrow_mut();
        for (who, peer) in peers.iter_mut().enumerate() {
            let Some(peer) = peer else { continue };
            while let Some((header, bytes)) = peer.backlog.front() {
                if !peer.sender.try_send(*header, bytes) {
                    flushed = false;
                    break;
                }
                peer.backlog.pop_front();
                peer.dirty = true;
            }
            if std::mem::take(&mut peer.dirty) {
                self.control.ring(who);
            }
        }
        flushed
    }

    /// Whether a meeting is on that this one was not at.
    pub(super) fn is_called(&self) -> bool {
        let meeting = self.control.meeting();
        meeting.is_some_and(|meeting| meeting != self.met.get())
    }

    /// Whether something has come.
    pub(super) fn is_filled(&self) -> bool {
        let peers = self.peers.borrow();
        peers.iter().flatten().any(|peer| peer.receiver.is_filled())
    }

    /// The next message that is here as a whole.
    pub(super) fn receive(&self) -> Result<Option<Message>, String> {
        let mut peers = self.peers.borrow_mut();
        let mut bytes = self.spare.take();
        for (from, peer) in peers.iter_mut().enumerate() {
            let Some(peer) = peer else { continue };
            loop {
                let received = peer.receiver.receive(&mut bytes);
                let received = received.map_err(|_| garbled(from))?;
                let Some(header) = received else { break };
                if header.extra & MORE != 0 || !peer.parts.is_empty() {
                    peer.parts.extend_from_slice(&bytes);
                    if header.extra & MORE != 0 {
                        continue;
                    }
                    std::mem::swap(&mut peer.parts, &mut bytes);
                    peer.parts = Vec::new();
                }
                return Ok(Some(Message {
                    from,
                    kind: header.kind,
                    number: header.number,
                    extra: header.extra,
                    bytes,
                }));
            }
        }
        self.spare.set(bytes);
        Ok(None)
    }

    /// Gives the bytes of a message back, to be used again.
    pub(super) fn done_with(&self, message: Message) {
        self.spare.set(message.bytes);
    }

    /// What to do with a message about room, or a reader that has left: whom to wake.
    pub(super) fn settle(&self, message: &Message) -> Option<u32> {
        let writers = self.writers.borrow();
        let writer = writers.get(&message.number)?;
        match message.kind {
            CREDIT => writer.credit(message.extra),
            _ => writer.left(),
        }
    }

    /// Sleeps until something comes, or for a time.
    pub(super) fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        self.pay_all();
        if self.flush() {
            self.control.sleep(|| stay() || self.is_filled(), at_most);
        } else if !self.is_filled() {
            // Who still has to send something is awake, as far as others are concerned.
            thread::sleep(RETRY);
        }
    }
}

fn garbled(from: usize) -> String {
    format!("what came from OS process {from} is no frame: its memory was written to")
}
