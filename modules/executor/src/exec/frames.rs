//! Frames to the schedulers of other OS processes: tokens, credit, and notices. `exchange.rs`
//! receives.

use super::deferred;
use super::hooks::Side;
use super::wait_points::CrossEnd;
use crate::link::any::AnyLink;
use crate::link::between::Header;
use crate::link::between::Link;
use crate::link::between::RunState;
use crate::link::waiter::ARMED;
use crate::link::waiter::GONE;
use crate::link::waiter::ID;
use crate::link::waiter::NO_ID;
use crate::link::waiter::STOP;
use crate::payload::gather::Pieces;
use crate::payload::received::ReceivedSlices;
use crate::payload::remote::RemoteMemory;
use crate::payload::sliced::SlicedMessage;
use crate::placement::SchedulerId;
use std::any::Any;
use std::cell::Cell;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A token, or a part of one.
pub const DATA: u32 = 1;
/// Credit: the writer may send `extra` more tokens.
pub const CREDIT: u32 = 2;
/// Notice that the reader has left.
pub const LEFT: u32 = 3;
/// Notice that the writer has left.
pub const CLOSE: u32 = 4;
/// Report of a scheduler to a deadlock detection, and the decision.
pub const WAIT_REPORT: u32 = 5;
pub const DECISION: u32 = 6;
/// Statistics of a scheduler.
pub const STATISTICS: u32 = 7;
/// A token whose large slices are read from the memory of its writer.
pub const EXPOSED: u32 = 8;
/// Notice that the slices of an exposed token have been read.
pub const READ: u32 = 9;
/// List of further channels that get the next token.
pub const ALSO: u32 = 10;
/// A token, followed by the index of a channel. `extra` is credit for that channel.
pub const DATA_AND_CREDIT: u32 = 11;
/// A token whose large slices follow its other bytes.
pub const SLICED: u32 = 12;

/// Reading end of a channel whose writer is in another OS process.
pub trait RemoteReader {
    /// Returns the number of the channel.
    fn number(&self) -> u32;
    /// Returns the name of the type of the tokens.
    fn token(&self) -> &'static str;
    /// Accepts a token.
    ///
    /// # Errors
    /// Returns a message if the bytes are not a valid token.
    fn deliver(&self, bytes: &[u8]) -> Result<(), String>;
    /// Accepts a token whose large slices are read from `memory`: the memory of its writer, or that
    /// into which they were received.
    ///
    /// # Errors
    /// Returns a message if the bytes are not a valid token, or the slices cannot be read.
    fn deliver_slices(&self, bytes: &[u8], memory: &dyn RemoteMemory) -> Result<(), String>;
}

/// Writing end of a channel whose reader is in another OS process: the number of tokens that may be
/// sent, and the process that waits until there is space.
///
/// One thread uses it. The fields are atomic because the registry requires `Sync`.
pub struct RemoteWriter {
    pub number: u32,
    /// Scheduler of the reader.
    pub peer: SchedulerId,
    /// Index of the channel among those to that scheduler.
    pub index: u32,
    word: AtomicU32,
    credits: AtomicU32,
    capacity: AtomicU32,
    reader_left: AtomicU32,
    /// Slot in the registry.
    pub slot: AtomicU32,
}

impl RemoteWriter {
    /// Creates a writing end with credit for `capacity` tokens.
    pub fn new(number: u32, peer: SchedulerId, index: u32, capacity: u32) -> Self {
        RemoteWriter {
            number,
            peer,
            index,
            word: AtomicU32::new(NO_ID),
            credits: AtomicU32::new(capacity),
            capacity: AtomicU32::new(capacity),
            reader_left: AtomicU32::new(0),
            slot: AtomicU32::new(u32::MAX),
        }
    }

    /// Returns true if the notice has come that the reader has left.
    pub fn reader_has_left(&self) -> bool {
        self.reader_left.load(Ordering::Relaxed) != 0
    }

    /// Returns true if a token may be sent.
    pub fn has_room(&self) -> bool {
        self.credits.load(Ordering::Relaxed) > 0
    }

    /// Uses credit for one token that is going to be sent. [`has_room`](Self::has_room) must be
    /// true.
    pub fn spend(&self) {
        let credits = self.credits.load(Ordering::Relaxed);
        debug_assert!(credits > 0);
        self.credits.store(credits - 1, Ordering::Relaxed);
    }

    pub fn word(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    /// Sets the state word, which names the process that waits.
    pub fn set_word(&self, word: u32) {
        self.word.store(word, Ordering::Relaxed);
    }

    /// Ends a wait that has one of the marks, [`ARMED`] or [`STOP`]. Returns the id to wake, or
    /// `None` if the state word has none of the marks or the writer has left.
    fn wake(&self, marks: u32) -> Option<u32> {
        let word = self.word();
        if word & GONE != 0 || word & marks == 0 {
            return None;
        }
        self.set_word(word & !(ARMED | STOP));
        Some(word & ID)
    }

    /// Adds credit for `tokens` tokens, at most up to the capacity. Ends a wait for space, and
    /// returns the id to wake. Returns `None` if the writer does not wait for space or has left.
    pub fn credit(&self, tokens: u32) -> Option<u32> {
        let credits = self.credits.load(Ordering::Relaxed);
        // No valid reader gives more credit than the capacity.
        let credits = credits
            .saturating_add(tokens)
            .min(self.capacity.load(Ordering::Relaxed));
        self.credits.store(credits, Ordering::Relaxed);
        self.wake(ARMED)
    }

    /// Records that the reader has left. Ends a wait for space or for the reader to leave, and
    /// returns the id to wake. Returns `None` if there is no such wait.
    fn left(&self) -> Option<u32> {
        self.reader_left.store(1, Ordering::Relaxed);
        self.wake(ARMED | STOP)
    }
}

impl CrossEnd for RemoteWriter {
    fn word(&self, side: Side) -> u32 {
        match side {
            Side::Write => RemoteWriter::word(self),
            Side::Read => NO_ID,
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

/// Credit of a channel that is not sent yet: the number of tokens that were read.
pub struct PendingCredit {
    /// Scheduler of the writer.
    pub peer: SchedulerId,
    /// Index of the channel among those from that scheduler.
    pub index: u32,
    pub tokens: Cell<u32>,
    /// True if this is in the list of pending credit.
    listed: Cell<bool>,
}

impl PendingCredit {
    pub fn new(peer: SchedulerId, index: u32) -> Rc<Self> {
        Rc::new(PendingCredit {
            peer,
            index,
            tokens: Cell::new(0),
            listed: Cell::new(false),
        })
    }
}

/// Reading ends of the channels from a scheduler of another OS process, and writing ends of the
/// channels to it.
///
/// Each end is identified by its index in the order of the channels of the network, which is the
/// same on both sides. Therefore frames need no table of numbers.
#[derive(Default)]
struct Peer {
    readers: Vec<Option<Rc<dyn RemoteReader>>>,
    writers: Vec<Option<Arc<RemoteWriter>>>,
}

/// Credit that waits for a token to the same scheduler, so that one frame can carry both. A process
/// that replies gives credit and sends a token in the same poll. (Piggybacking: Tanenbaum and
/// Wetherall, Computer Networks, 5th ed., 3.4.)
#[derive(Clone, Copy)]
struct Piggyback {
    to: SchedulerId,
    index: u32,
    tokens: u32,
}

/// Message that is not about a channel.
pub struct Mail {
    pub from: usize,
    pub kind: u32,
    pub bytes: Vec<u8>,
}

/// Number of a channel, and a token that was sent on it.
type Exposed = (u32, Box<dyn Any>);

/// Number of exchanges after which pending credit is sent in any case. There is one exchange after
/// each batch of polls.
const LATEST: u32 = 16;

/// Largest credit that is piggybacked. More is sent alone, because links use the highest bit of
/// `extra`. Channels of such a capacity send credit rarely.
const MOST_WITH_TOKEN: u32 = 1 << 16;

/// Connection of a scheduler to all other schedulers of the run.
pub struct Remote {
    link: AnyLink,
    peers: RefCell<Vec<Peer>>,
    pending: RefCell<Vec<Rc<PendingCredit>>>,
    piggyback: Cell<Option<Piggyback>>,
    /// Number of exchanges since pending credit was last sent.
    unsent: Cell<u32>,
    /// Tokens that others read in the memory of this OS process, each with its channel. The index
    /// is the number of the token. `free` has the unused numbers.
    exposed: RefCell<Vec<Option<Exposed>>>,
    free: RefCell<Vec<u32>>,
    pub(super) mail: RefCell<VecDeque<Mail>>,
    /// Further reading ends that get the next token, with the scheduler that sends it.
    also: RefCell<Vec<(usize, Vec<u32>)>>,
    /// Number of frames that were sent.
    frames: Cell<u64>,
    /// True while values are dropped or tokens are decoded, which is user code.
    pub(super) is_exchanging: Cell<bool>,
    /// Number of the last deadlock detection in which this scheduler took part.
    pub(super) last_detection: Cell<u32>,
    /// True if something has run since this scheduler was last counted as asleep. Then the reports
    /// of others to a deadlock detection that began before may be outdated.
    pub(super) moved: Cell<bool>,
}

impl Remote {
    pub fn new(link: AnyLink) -> Self {
        let count = link.get().count();
        Remote {
            link,
            peers: RefCell::new((0..count).map(|_| Peer::default()).collect()),
            pending: RefCell::default(),
            piggyback: Cell::new(None),
            unsent: Cell::new(0),
            exposed: RefCell::default(),
            free: RefCell::default(),
            also: RefCell::default(),
            frames: Cell::new(0),
            is_exchanging: Cell::new(false),
            mail: RefCell::default(),
            last_detection: Cell::new(0),
            moved: Cell::new(false),
        }
    }

    /// Returns the link through an indirect call, for operations that are not done for each frame.
    pub fn link(&self) -> &dyn Link {
        self.link.get()
    }

    /// Adds a reading end. Returns its index among the channels from `peer`. Ends must be added in
    /// the order of the numbers of their channels, as on the other side.
    ///
    /// # Panics
    /// If `peer` is not a scheduler of the run.
    pub fn add_reader(&self, peer: SchedulerId, reader: Rc<dyn RemoteReader>) -> u32 {
        let readers = &mut self.peers.borrow_mut()[peer.0 as usize].readers;
        readers.push(Some(reader));
        readers.len() as u32 - 1
    }

    /// Adds and returns a writing end, which `make` creates from its index among the channels to
    /// `peer`. Ends must be added in the order of the numbers of their channels, as on the other
    /// side.
    ///
    /// # Panics
    /// If `peer` is not a scheduler of the run.
    pub fn add_writer(
        &self,
        peer: SchedulerId,
        make: impl FnOnce(u32) -> RemoteWriter,
    ) -> Arc<RemoteWriter> {
        let writers = &mut self.peers.borrow_mut()[peer.0 as usize].writers;
        let writer = Arc::new(make(writers.len() as u32));
        writers.push(Some(Arc::clone(&writer)));
        writer
    }

    /// Removes a writing end, which gets no further credit or notices.
    ///
    /// # Panics
    /// If `writer` was not added here.
    pub fn remove_writer(&self, writer: &RemoteWriter) {
        let mut peers = self.peers.borrow_mut();
        peers[writer.peer.0 as usize].writers[writer.index as usize] = None;
    }

    /// Returns the reading end for a frame from a scheduler, or `None` if it does not exist or has
    /// left.
    #[inline]
    pub(super) fn reader(&self, from: usize, index: u32) -> Option<Rc<dyn RemoteReader>> {
        let peers = self.peers.borrow();
        peers.get(from)?.readers.get(index as usize)?.clone()
    }

    /// Removes and returns a reading end, which gets no further frames. Returns `None` if it does
    /// not exist or was removed before.
    pub(super) fn remove_reader(&self, from: usize, index: u32) -> Option<Rc<dyn RemoteReader>> {
        let mut peers = self.peers.borrow_mut();
        peers.get_mut(from)?.readers.get_mut(index as usize)?.take()
    }

    /// Sends a frame, at once or when there is space. Frames to the same scheduler arrive in order.
    #[inline]
    pub fn send(&self, to: SchedulerId, kind: u32, number: u32, extra: u32, bytes: &[u8]) {
        self.send_piggyback();
        let header = Header {
            kind,
            number,
            extra,
        };
        self.frames.set(self.frames.get() + 1);
        self.link.send(to.0 as usize, header, bytes);
        deferred::note();
    }

    /// Sends the credit that waits for a token, if there is any. This must precede any other frame,
    /// so that frames arrive in order.
    #[inline]
    fn send_piggyback(&self) {
        if let Some(Piggyback { to, index, tokens }) = self.piggyback.take() {
            self.send(to, CREDIT, index, tokens, &[]);
        }
    }

    /// Sends a frame without copying the bytes. They may come from [`Remote::buffer`].
    pub fn send_owned(&self, to: u32, header: Header, bytes: Vec<u8>) {
        self.send_piggyback();
        self.frames.set(self.frames.get() + 1);
        self.link.send_now(to as usize, header, bytes);
        deferred::note();
    }

    /// Returns the number of frames that were sent. If the link packs frames into messages, also
    /// returns the number of messages.
    pub fn sent(&self) -> (u64, Option<u64>) {
        (self.frames.get(), self.link.messages())
    }

    /// Sends a list of further reading ends to a scheduler. They also get the next token that is
    /// sent to this scheduler.
    pub fn send_also(&self, to: SchedulerId, readers: &[u32]) {
        let bytes: Vec<u8> = readers.iter().flat_map(|at| at.to_ne_bytes()).collect();
        self.send(to, ALSO, 0, 0, &bytes);
    }

    /// Records the further reading ends of the next token from the scheduler `from`. `bytes` are
    /// their indices, of four bytes each.
    pub(super) fn is_also_for(&self, from: usize, bytes: &[u8]) {
        let (numbers, _) = bytes.as_chunks();
        let readers = numbers.iter().map(|at| u32::from_ne_bytes(*at)).collect();
        self.also.borrow_mut().push((from, readers));
    }

    /// Removes and returns the further reading ends of a token from a scheduler. Returns an empty
    /// vector if there are none.
    #[inline]
    pub(super) fn take_also(&self, from: usize) -> Vec<u32> {
        let mut also = self.also.borrow_mut();
        let at = also.iter().position(|(sender, _)| *sender == from);
        at.map(|at| also.swap_remove(at).1).unwrap_or_default()
    }

    /// Returns memory for the bytes of a token or a frame. The caller must clear it first.
    #[inline]
    pub fn buffer(&self) -> Vec<u8> {
        self.link.buffer()
    }

    /// Sends a token, whose encoding is `bytes`. Pending credit for the same scheduler goes with
    /// it. Does not use credit of `writer`, which [`RemoteWriter::spend`] does.
    #[inline]
    pub fn send_token(&self, writer: &RemoteWriter, mut bytes: Vec<u8>) {
        let header = self.data(writer, |index| bytes.extend_from_slice(index));
        self.link.send_now(writer.peer.0 as usize, header, bytes);
        deferred::note();
    }

    /// Sends a token whose bytes are in several pieces. Copies them only if they cannot be sent at
    /// once. Does not use credit of `writer`.
    pub fn send_gathered(&self, writer: &RemoteWriter, mut gather: Pieces<'_>) {
        let header = self.data(writer, |index| gather.add_last(index));
        let to = writer.peer.0 as usize;
        if gather.with_pieces(|pieces| self.link.try_send_pieces(to, header, pieces)) {
            self.link.keep(gather.into_buffer());
        } else {
            self.link.send_now(to, header, gather.into_vec());
        }
        deferred::note();
    }

    /// Returns the maximum length in bytes of a slice of a token that [`Remote::send_sliced`]
    /// sends. If it is 0, the link cannot send such tokens, and all slices are copied.
    #[inline]
    pub fn longest_slice(&self) -> usize {
        self.link.longest_slice()
    }

    /// Keeps memory of [`Remote::buffer`] for further use.
    pub fn keep(&self, buffer: Vec<u8>) {
        self.link.keep(buffer);
    }

    /// Sends a token whose slices are not copied. The token is kept until they have been sent.
    pub fn send_sliced(&self, writer: &RemoteWriter, message: SlicedMessage) {
        self.send_piggyback();
        self.frames.set(self.frames.get() + 1);
        let header = Header {
            kind: SLICED,
            number: writer.index,
            extra: 0,
        };
        let to = writer.peer.0 as usize;
        self.link.send_sliced(to, header, message);
        deferred::note();
    }

    /// Removes and returns a token that has been sent completely, and its channel. Dropping it runs
    /// user code. Returns `None` if there is none.
    #[inline]
    pub(super) fn take_sent(&self) -> Option<Exposed> {
        self.link.take_sent()
    }

    /// Removes and returns the slices of the token that was received last, or returns `None` if
    /// there are none.
    pub(super) fn take_slices(&self) -> Option<ReceivedSlices> {
        self.link.take_slices()
    }

    /// Returns the header for a token, and counts the frame. Pending credit for the same scheduler
    /// is piggybacked: its index is passed to `add`, to be appended to the bytes.
    #[inline]
    fn data(&self, writer: &RemoteWriter, add: impl FnOnce(&[u8])) -> Header {
        let (kind, extra) = match self.piggyback.get() {
            Some(credit) if credit.to == writer.peer => {
                self.piggyback.set(None);
                add(&credit.index.to_ne_bytes());
                (DATA_AND_CREDIT, credit.tokens)
            }
            _ => {
                self.send_piggyback();
                (DATA, 0)
            }
        };
        self.frames.set(self.frames.get() + 1);
        Header {
            kind,
            number: writer.index,
            extra,
        }
    }

    /// Returns true if the reader can read large slices of a token in the memory of this OS
    /// process.
    #[inline]
    pub fn has_access(&self, to: SchedulerId) -> bool {
        self.link.has_access(to.0 as usize)
    }

    /// Sends a token with the addresses of its large slices in `bytes`. The token is kept until
    /// they have been read.
    pub fn send_exposed(&self, writer: &RemoteWriter, token: Box<dyn Any>, bytes: &[u8]) {
        let mut exposed = self.exposed.borrow_mut();
        let at = self.free.borrow_mut().pop().unwrap_or_else(|| {
            exposed.push(None);
            exposed.len() as u32 - 1
        });
        exposed[at as usize] = Some((writer.number, token));
        drop(exposed);
        self.send(writer.peer, EXPOSED, writer.index, at, bytes);
    }

    /// Returns true if others have yet to read tokens in the memory of this OS process.
    #[inline]
    pub(super) fn is_exposed(&self) -> bool {
        self.exposed.borrow().len() > self.free.borrow().len()
    }

    /// Returns true if tokens are kept that must be dropped here after they have been sent or read.
    pub(super) fn keeps_values(&self) -> bool {
        self.is_exposed() || self.link.keeps_values()
    }

    /// Removes and returns the exposed token with a number, which has been read, and its channel.
    /// Dropping it runs user code. Returns `None` if no token has this number.
    pub(super) fn was_read(&self, number: u32) -> Option<Exposed> {
        let exposed = self.exposed.borrow_mut().get_mut(number as usize)?.take()?;
        self.free.borrow_mut().push(number);
        Some(exposed)
    }

    /// Removes all tokens that are still kept, when the run is over, and returns an iterator over
    /// them and their channels. Dropping them runs user code.
    pub(super) fn take_kept(&self) -> impl Iterator<Item = Exposed> {
        self.free.take();
        self.link.release_values();
        let sent = std::iter::from_fn(|| self.take_sent());
        self.exposed.take().into_iter().flatten().chain(sent)
    }

    /// Returns access to the memory of another scheduler.
    pub(super) fn memory_of(&self, scheduler: usize) -> impl RemoteMemory {
        self.link.memory_of(scheduler)
    }

    /// Counts one token that was read. All credit of the channel is sent to the writer at once if
    /// it is at least `at_once_from` tokens, and is pending otherwise. Credit that is sent at once
    /// may still wait for a token to the same scheduler, until this scheduler flushes.
    pub fn give_credit(&self, credit: &Rc<PendingCredit>, at_once_from: u32) {
        credit.tokens.set(credit.tokens.get() + 1);
        if credit.tokens.get() >= at_once_from {
            self.send_credit(credit);
        } else if !credit.listed.replace(true) {
            self.pending.borrow_mut().push(Rc::clone(credit));
        }
    }

    fn send_credit(&self, credit: &PendingCredit) {
        let tokens = credit.tokens.replace(0);
        if tokens > MOST_WITH_TOKEN {
            self.send(credit.peer, CREDIT, credit.index, tokens, &[]);
        } else if tokens > 0 {
            self.send_piggyback();
            self.piggyback.set(Some(Piggyback {
                to: credit.peer,
                index: credit.index,
                tokens,
            }));
            deferred::note();
        }
    }

    /// Sends a notice that an end has left. No frame is sent after the run has ended, because no
    /// scheduler receives it and the byte rings may be full.
    pub fn send_leave(&self, to: SchedulerId, kind: u32, channel: u32) {
        if self.state() == RunState::Running {
            self.send(to, kind, channel, 0, &[]);
        }
    }

    /// Counts an exchange, and sends all pending credit in every sixteenth. Otherwise a scheduler
    /// that never sleeps could keep credit for which others wait.
    #[inline]
    pub(super) fn send_credit_at_times(&self) {
        let count = self.unsent.get() + 1;
        self.unsent.set(count % LATEST);
        if count == LATEST {
            self.send_all_credit();
        }
    }

    /// Sends all pending credit. The last of it may stay to be sent with a token, until the next
    /// frame, [`Remote::flush`] or [`Remote::sleep`]. Required before this scheduler sleeps,
    /// because others may wait for the credit.
    pub(super) fn send_all_credit(&self) {
        for credit in self.pending.take() {
            credit.listed.set(false);
            self.send_credit(&credit);
        }
    }

    /// Sends the waiting frames as far as there is space. Returns true if none is left.
    #[inline]
    pub(super) fn flush(&self) -> bool {
        self.send_piggyback();
        self.link.flush()
    }

    /// Returns the state of the run.
    #[inline]
    pub(super) fn state(&self) -> RunState {
        self.link.state()
    }

    /// Returns true if a deadlock detection is in progress in which this scheduler has not taken
    /// part.
    pub(super) fn is_called(&self) -> bool {
        let detection = self.link.detection();
        detection.is_some_and(|detection| detection != self.last_detection.get())
    }

    /// Returns true if a frame has come, or waiting frames can be sent. Not all links report the
    /// latter, and some also return true if they have a sent value to return.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.link.is_ready()
    }

    /// Calls `take` with frames that have arrived completely, each with the scheduler that sent it,
    /// and returns their number. At most `most` frames are taken (over shared memory: of each
    /// scheduler).
    ///
    /// # Errors
    /// Returns a message if the bytes that arrived are not a valid frame.
    #[inline]
    pub(super) fn receive(
        &self,
        most: usize,
        take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        self.link.receive(most, take)
    }

    /// Handles credit, or a notice that a reader has left. Returns the id to wake. Returns `None`
    /// if the writer does not wait, does not exist or has been removed.
    #[inline]
    pub(super) fn take_notice(&self, from: usize, header: Header) -> Option<u32> {
        let peers = self.peers.borrow();
        let writers = &peers.get(from)?.writers;
        let writer = writers.get(header.number as usize)?.as_ref()?;
        match header.kind {
            LEFT => writer.left(),
            _ => writer.credit(header.extra),
        }
    }

    /// Sends all credit, and blocks until a frame comes, the scheduler is woken, a deadlock
    /// detection begins, the run is over, or `at_most` has passed. May return early. Does not block
    /// if `stay` returns true. Without `at_most`, the time is not limited.
    pub(super) fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        self.send_all_credit();
        self.send_piggyback();
        self.link.get().sleep(&stay, at_most);
    }
}
