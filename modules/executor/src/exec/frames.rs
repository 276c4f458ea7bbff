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
use crate::link::waiter::NOBODY;
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
/// There is room for so many tokens more.
pub const CREDIT: u32 = 2;
/// The reader has left.
pub const LEFT: u32 = 3;
/// The writer has left.
pub const CLOSE: u32 = 4;
/// What an OS process brings to a meeting, and what was decided there.
pub const TOLD: u32 = 5;
pub const VERDICT: u32 = 6;
/// What was counted in a run.
pub const TALLY: u32 = 7;
/// A token whose large slices are to be read in the memory of its writer.
pub const EXPOSED: u32 = 8;
/// They have been read.
pub const READ: u32 = 9;
/// The next token is for these channels as well.
pub const ALSO: u32 = 10;
/// A token, and behind its bytes the channel in which there is room for so many tokens more.
pub const DATA_AND_CREDIT: u32 = 11;
/// A token whose large slices come behind its other bytes.
pub const SLICED: u32 = 12;

/// The reading end's side of a channel whose writer is in another OS process.
pub trait FarReader {
    /// The number of the channel.
    fn number(&self) -> u32;
    /// The type of its tokens, by name.
    fn token(&self) -> &'static str;
    /// A token has come.
    fn deliver(&self, bytes: &[u8]) -> Result<(), String>;
    /// A token has come whose large slices are to be read elsewhere: in the memory of its writer,
    /// or where they were received.
    fn deliver_slices(&self, bytes: &[u8], memory: &dyn RemoteMemory) -> Result<(), String>;
}

/// The writing end's side of a channel whose reader is in another OS process: how many tokens may
/// be sent, and who waits until there may be more. Used by one thread; atomic for the registry's
/// sake.
pub struct FarWriter {
    pub number: u32,
    /// The scheduler of the reader.
    pub peer: SchedulerId,
    /// Which one it is of the channels to there.
    pub index: u32,
    word: AtomicU32,
    credits: AtomicU32,
    capacity: AtomicU32,
    reader_left: AtomicU32,
    /// Its slot in the registry.
    pub slot: AtomicU32,
}

impl FarWriter {
    pub fn new(number: u32, peer: SchedulerId, index: u32, capacity: u32) -> Self {
        FarWriter {
            number,
            peer,
            index,
            word: AtomicU32::new(NOBODY),
            credits: AtomicU32::new(capacity),
            capacity: AtomicU32::new(capacity),
            reader_left: AtomicU32::new(0),
            slot: AtomicU32::new(u32::MAX),
        }
    }

    pub fn reader_has_left(&self) -> bool {
        self.reader_left.load(Ordering::Relaxed) != 0
    }

    pub fn has_room(&self) -> bool {
        self.credits.load(Ordering::Relaxed) > 0
    }

    /// One token is going to be sent; there has to be room.
    pub fn spend(&self) {
        let credits = self.credits.load(Ordering::Relaxed);
        debug_assert!(credits > 0);
        self.credits.store(credits - 1, Ordering::Relaxed);
    }

    pub fn word(&self) -> u32 {
        self.word.load(Ordering::Relaxed)
    }

    /// Sets who waits.
    pub fn set_word(&self, word: u32) {
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
    pub fn credit(&self, tokens: u32) -> Option<u32> {
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
pub struct PendingCredit {
    /// The scheduler of the writer.
    pub peer: SchedulerId,
    /// Which one it is of the channels from there.
    pub index: u32,
    pub tokens: Cell<u32>,
    /// In the list of those of which something is pending.
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

/// The reading ends here of channels from a scheduler of another OS process, and the writing ends
/// of those to it. Each is known by its place in the order of the network's channels, to both
/// alike: so a frame names it without a table of numbers.
#[derive(Default)]
struct Peer {
    readers: Vec<Option<Rc<dyn FarReader>>>,
    writers: Vec<Option<Arc<FarWriter>>>,
}

/// Credit that waits for a token to the same scheduler, with which it goes in one frame: who
/// answers gives room back and sends in the same turn. (Piggybacking: Tanenbaum and Wetherall,
/// Computer Networks, 5th ed., 3.4.)
#[derive(Clone, Copy)]
struct Piggyback {
    to: SchedulerId,
    index: u32,
    tokens: u32,
}

/// A message that is not about a channel.
pub struct Mail {
    pub from: usize,
    pub kind: u32,
    pub bytes: Vec<u8>,
}

/// The number of a channel, and a token that went over it.
type Exposed = (u32, Box<dyn Any>);

/// After so many looks at the link, one after each batch of turns, credit that is pending is sent
/// in any case.
const LATEST: u32 = 16;

/// More credit than this goes alone: the highest bit of `extra` is a link's own. Channels of such a
/// capacity send it rarely.
const MOST_WITH_TOKEN: u32 = 1 << 16;

/// All other schedulers.
pub struct Outside {
    link: AnyLink,
    peers: RefCell<Vec<Peer>>,
    pending: RefCell<Vec<Rc<PendingCredit>>>,
    piggyback: Cell<Option<Piggyback>>,
    /// How often the link was looked at since pending credit was last sent.
    unsent: Cell<u32>,
    /// Tokens that others read in the memory of this OS process, by number, each with its channel,
    /// and the numbers that are free.
    exposed: RefCell<Vec<Option<Exposed>>>,
    free: RefCell<Vec<u32>>,
    pub(super) mail: RefCell<VecDeque<Mail>>,
    /// Who has sent which of the reading ends here get the next token as well, and these.
    also: RefCell<Vec<(usize, Vec<u32>)>>,
    /// Frames that were sent.
    frames: Cell<u64>,
    /// Values are being dropped, or tokens read: code of the user.
    pub(super) is_exchanging: Cell<bool>,
    /// The last meeting that this one was at.
    pub(super) met: Cell<u32>,
    /// Something has run since this one was last counted asleep: what others bring to a meeting
    /// that was called before that may be true no more.
    pub(super) moved: Cell<bool>,
}

impl Outside {
    pub fn new(link: AnyLink) -> Self {
        let count = link.get().count();
        Outside {
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
            met: Cell::new(0),
            moved: Cell::new(false),
        }
    }

    /// For what is not done for each frame.
    pub fn link(&self) -> &dyn Link {
        self.link.get()
    }

    /// Adds a reading end; which one it is of the channels from that scheduler.
    pub fn add_reader(&self, peer: SchedulerId, reader: Rc<dyn FarReader>) -> u32 {
        let readers = &mut self.peers.borrow_mut()[peer.0 as usize].readers;
        readers.push(Some(reader));
        readers.len() as u32 - 1
    }

    /// Adds the writing end that is made with the place it has among the channels to that
    /// scheduler.
    pub fn add_writer(
        &self,
        peer: SchedulerId,
        make: impl FnOnce(u32) -> FarWriter,
    ) -> Arc<FarWriter> {
        let writers = &mut self.peers.borrow_mut()[peer.0 as usize].writers;
        let writer = Arc::new(make(writers.len() as u32));
        writers.push(Some(Arc::clone(&writer)));
        writer
    }

    pub fn remove_writer(&self, writer: &FarWriter) {
        let mut peers = self.peers.borrow_mut();
        peers[writer.peer.0 as usize].writers[writer.index as usize] = None;
    }

    /// The reading end that a frame is for.
    #[inline]
    pub(super) fn reader(&self, from: usize, index: u32) -> Option<Rc<dyn FarReader>> {
        let peers = self.peers.borrow();
        peers.get(from)?.readers.get(index as usize)?.clone()
    }

    /// The same, which gets no more.
    pub(super) fn remove_reader(&self, from: usize, index: u32) -> Option<Rc<dyn FarReader>> {
        let mut peers = self.peers.borrow_mut();
        peers.get_mut(from)?.readers.get_mut(index as usize)?.take()
    }

    /// Sends a message, now or when there is room: what is sent first comes first.
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

    /// Sends the credit that waits for a token, before anything else is sent: what was given first
    /// comes first.
    #[inline]
    fn send_piggyback(&self) {
        if let Some(Piggyback { to, index, tokens }) = self.piggyback.take() {
            self.send(to, CREDIT, index, tokens, &[]);
        }
    }

    /// The same, of bytes that need not be copied, as those of [`Outside::buffer`].
    pub fn send_owned(&self, to: u32, header: Header, bytes: Vec<u8>) {
        self.send_piggyback();
        self.frames.set(self.frames.get() + 1);
        self.link.send_now(to as usize, header, bytes);
        deferred::note();
    }

    /// How many frames were sent, and in how many messages, where the link packs them into such.
    pub fn sent(&self) -> (u64, Option<u64>) {
        (self.frames.get(), self.link.messages())
    }

    /// The next token to this scheduler is for these of its reading ends as well.
    pub fn send_also(&self, to: SchedulerId, readers: &[u32]) {
        let bytes: Vec<u8> = readers.iter().flat_map(|at| at.to_ne_bytes()).collect();
        self.send(to, ALSO, 0, 0, &bytes);
    }

    /// The next token is for these reading ends as well.
    pub(super) fn is_also_for(&self, from: usize, bytes: &[u8]) {
        let (numbers, _) = bytes.as_chunks();
        let readers = numbers.iter().map(|at| u32::from_ne_bytes(*at)).collect();
        self.also.borrow_mut().push((from, readers));
    }

    /// The reading ends that a token is for as well.
    #[inline]
    pub(super) fn take_also(&self, from: usize) -> Vec<u32> {
        let mut also = self.also.borrow_mut();
        let at = also.iter().position(|(sender, _)| *sender == from);
        at.map(|at| also.swap_remove(at).1).unwrap_or_default()
    }

    /// Memory for the bytes of a token or a frame, to be cleared first.
    #[inline]
    pub fn buffer(&self) -> Vec<u8> {
        self.link.buffer()
    }

    /// Sends a token.
    #[inline]
    pub fn send_token(&self, writer: &FarWriter, mut bytes: Vec<u8>) {
        let header = self.data(writer, |index| bytes.extend_from_slice(index));
        self.link.send_now(writer.peer.0 as usize, header, bytes);
        deferred::note();
    }

    /// Sends a token whose bytes are yet to be gathered.
    pub fn send_gathered(&self, writer: &FarWriter, mut gather: Pieces<'_>) {
        let header = self.data(writer, |index| gather.add_last(index));
        let to = writer.peer.0 as usize;
        if gather.with_pieces(|pieces| self.link.try_send_pieces(to, header, pieces)) {
            self.link.keep(gather.into_buffer());
        } else {
            self.link.send_now(to, header, gather.into_vec());
        }
        deferred::note();
    }

    /// How long slices of a token may be that stay where they are until they are sent or read; 0:
    /// none do.
    #[inline]
    pub fn longest_slice(&self) -> usize {
        self.link.longest_slice()
    }

    /// Keeps what [`Outside::buffer`] gave, to be used again.
    pub fn keep(&self, buffer: Vec<u8>) {
        self.link.keep(buffer);
    }

    /// Sends a token whose slices stay where they are until then.
    pub fn send_sliced(&self, writer: &FarWriter, message: SlicedMessage) {
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

    /// A token of which all has been sent, and its channel. To drop it is code of the user.
    #[inline]
    pub(super) fn take_sent(&self) -> Option<Exposed> {
        self.link.take_sent()
    }

    /// The slices of the token that has come.
    pub(super) fn take_slices(&self) -> Option<ReceivedSlices> {
        self.link.take_slices()
    }

    /// What the frame of a token begins with: it is counted. Credit for where it goes joins it, and
    /// adds what is to be behind its bytes.
    #[inline]
    fn data(&self, writer: &FarWriter, add: impl FnOnce(&[u8])) -> Header {
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

    /// Whether the large slices of a token may stay where they are: its reader can read them there.
    #[inline]
    pub fn has_access(&self, to: SchedulerId) -> bool {
        self.link.has_access(to.0 as usize)
    }

    /// Sends a token of which `bytes` tell where its large slices are: it is kept until they have
    /// been read.
    pub fn send_exposed(&self, writer: &FarWriter, token: Box<dyn Any>, bytes: &[u8]) {
        let mut exposed = self.exposed.borrow_mut();
        let at = self.free.borrow_mut().pop().unwrap_or_else(|| {
            exposed.push(None);
            exposed.len() as u32 - 1
        });
        exposed[at as usize] = Some((writer.number, token));
        drop(exposed);
        self.send(writer.peer, EXPOSED, writer.index, at, bytes);
    }

    /// Whether others have yet to read tokens here.
    #[inline]
    pub(super) fn is_exposed(&self) -> bool {
        self.exposed.borrow().len() > self.free.borrow().len()
    }

    /// Whether values are kept that are to be dropped here when they have been sent or read.
    pub(super) fn keeps_values(&self) -> bool {
        self.is_exposed() || self.link.keeps_values()
    }

    /// An exposed token that has been read, and its channel. To drop it is code of the user.
    pub(super) fn was_read(&self, number: u32) -> Option<Exposed> {
        let exposed = self.exposed.borrow_mut().get_mut(number as usize)?.take()?;
        self.free.borrow_mut().push(number);
        Some(exposed)
    }

    /// All tokens that are still kept for others: for when the run is over. To drop them is code of
    /// the user.
    pub(super) fn take_kept(&self) -> impl Iterator<Item = Exposed> {
        self.free.take();
        self.link.let_go();
        let sent = std::iter::from_fn(|| self.take_sent());
        self.exposed.take().into_iter().flatten().chain(sent)
    }

    /// The memory of another scheduler.
    pub(super) fn memory_of(&self, scheduler: usize) -> impl RemoteMemory {
        self.link.memory_of(scheduler)
    }

    /// A token was read: its room is credited to the writer when that is worth a frame.
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

    /// Says that an end has gone. Once the run is over nobody reads that any more, and lanes may be
    /// full of it.
    pub fn take_leave(&self, to: SchedulerId, kind: u32, channel: u32) {
        if self.state() == RunState::Running {
            self.send(to, kind, channel, 0, &[]);
        }
    }

    /// Sends all credit that is pending, now and then: who never sleeps does not keep for ever what
    /// others wait for.
    #[inline]
    pub(super) fn send_credit_at_times(&self) {
        let count = self.unsent.get() + 1;
        self.unsent.set(count % LATEST);
        if count == LATEST {
            self.send_all_credit();
        }
    }

    /// Sends all credit that is pending: nobody is to wait for it while this one sleeps.
    pub(super) fn send_all_credit(&self) {
        for credit in self.pending.take() {
            credit.listed.set(false);
            self.send_credit(&credit);
        }
    }

    /// Sends what waits for room. Whether nothing is left.
    #[inline]
    pub(super) fn flush(&self) -> bool {
        self.send_piggyback();
        self.link.flush()
    }

    /// How the run stands.
    #[inline]
    pub(super) fn state(&self) -> RunState {
        self.link.state()
    }

    /// Whether a meeting is on that this one was not at.
    pub(super) fn is_called(&self) -> bool {
        let meeting = self.link.meeting();
        meeting.is_some_and(|meeting| meeting != self.met.get())
    }

    /// Whether something has come, or what waits can be sent.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.link.is_ready()
    }

    /// As [`AnyLink::receive`].
    #[inline]
    pub(super) fn receive(
        &self,
        most: usize,
        take: impl FnMut(usize, Header, &[u8]),
    ) -> Result<usize, String> {
        self.link.receive(most, take)
    }

    /// What to do with a message about room, or a reader that has left: whom to wake.
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

    /// Sleeps until something comes, or for a time.
    pub(super) fn sleep(&self, stay: impl Fn() -> bool, at_most: Option<Duration>) {
        self.send_all_credit();
        self.send_piggyback();
        self.link.get().sleep(&stay, at_most);
    }
}
