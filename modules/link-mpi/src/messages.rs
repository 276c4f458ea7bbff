//! Frames to and from all other OS processes, as messages that are on their way.
//!
//! Frames to one OS process are packed into one message until that is sent: at once where nothing
//! was sent a moment ago, else after [`HOLD`], or when it is [`FULL`], or when there is nothing
//! else to do. A frame that carries [`LARGE`] or more is announced, and comes next, from the very
//! bytes that are to be sent. Nothing waits: what MPI has not done is looked at again. The
//! constants below, of [`posted`](crate::posted) and of [`backoff`](crate::backoff) were fitted to
//! `benches/hosts/run`.

use std::collections::VecDeque;
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use graphmap_runtime::between::{Header, SentValue, SlicedMessage};

use crate::backoff::{Backoff, UnderWay};
use crate::digest;
use crate::frames::{self, ANNOUNCED, Announced, Frames, PACKED};
use crate::operation::{MOST, Memory, Operation};
use crate::pool::Pool;
use crate::receiving::{Come, Receiving, Wrong};
use crate::world::World;

/// What carries so many bytes is not copied into a message with others.
const LARGE: usize = 64 << 10;
/// A message that has grown so large is sent.
const FULL: usize = 64 << 10;
/// How long frames wait for others to come along, while there is something else to do: about as
/// long as sending a message keeps a core busy.
const HOLD: Duration = Duration::from_micros(5);
/// Most bytes and messages to one OS process that MPI may have at a time: more wait here.
const BYTES: usize = 16 << 20;
const MESSAGES: usize = 256;
/// In `extra`: the rest is in the next whole frame.
const MORE: u32 = 1 << 31;

/// The way to one other OS process, and from it.
struct Peer {
    /// The message that frames are put into.
    open: Vec<u8>,
    /// Messages that MPI does not have yet.
    waiting: VecDeque<(i32, Memory)>,
    /// What MPI has, first come first: what cannot go waits for nobody but this OS process.
    sending: VecDeque<Operation>,
    bytes: usize,
    /// When something was sent to it last.
    last: Option<Instant>,
    /// In the list of those who are to get something.
    listed: bool,
    /// The parts of a frame that have come.
    parts: Vec<u8>,
}

/// All ways.
pub(crate) struct Messages {
    pub(crate) world: World,
    peers: Vec<Peer>,
    /// Who is to get something.
    listed: Vec<usize>,
    /// To whom MPI has something to send.
    sending: Vec<usize>,
    receiving: Receiving,
    /// What has come and was not taken.
    come: VecDeque<(usize, Come)>,
    /// See [`frames`].
    agreement: u64,
    /// Messages that MPI was given.
    sent: u64,
    /// Messages that MPI has done sending.
    gone: u64,
    pool: Pool,
    /// Values of which all has been sent, and how many messages have values that were not given
    /// back.
    values: VecDeque<SentValue>,
    lent: usize,
}

/// A slice is not needed any more: with the last of a message its value is sent.
fn drop_slice(values: &mut VecDeque<SentValue>, memory: Memory) {
    if let Memory::Slice(message, _) = memory {
        let last = Rc::into_inner(message);
        values.extend(last.and_then(SlicedMessage::into_value));
    }
}

impl Peer {
    /// The message into which something is to be put that carries so many bytes.
    fn open(&mut self, agreement: u64, len: usize) -> &mut Vec<u8> {
        if !self.open.is_empty() && !frames::has_room(&self.open, len) {
            self.close();
        }
        if self.open.is_empty() {
            self.open = frames::packed(agreement);
        }
        &mut self.open
    }

    /// What frames were put into is a message.
    fn close(&mut self) {
        if !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.waiting.push_back((PACKED, Memory::Bytes(open)));
        }
    }

    /// Says what comes next.
    fn announce(&mut self, agreement: u64, header: Header, announced: Announced<'_>) {
        let len = match announced {
            Announced::Whole(_) => size_of::<u64>(),
            Announced::Sliced(head) => head.len(),
        };
        frames::announce(self.open(agreement, len), header, announced);
        self.close();
    }
}

impl Messages {
    pub(crate) fn new(world: World) -> Messages {
        let peer = || Peer {
            open: Vec::new(),
            waiting: VecDeque::new(),
            sending: VecDeque::new(),
            bytes: 0,
            last: None,
            listed: false,
            parts: Vec::new(),
        };
        Messages {
            peers: (0..world.count()).map(|_| peer()).collect(),
            listed: Vec::new(),
            sending: Vec::new(),
            receiving: Receiving::new(&world),
            come: VecDeque::new(),
            agreement: 0,
            sent: 0,
            gone: 0,
            pool: Pool::default(),
            values: VecDeque::new(),
            lent: 0,
            world,
        }
    }

    /// Memory for a frame that may be large.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.pool.memory(LARGE)
    }

    /// Keeps memory of a large message for the next one.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        self.pool.keep(bytes);
    }

    /// Keeps memory of a message of frames for the next one.
    pub(crate) fn keep_message(&mut self, frames: Frames) {
        self.receiving.keep(frames.into_memory());
    }

    /// What MPI is doing.
    pub(crate) fn under_way(&self) -> UnderWay {
        let sending = self.sending.iter().map(|&to| self.peers[to].bytes);
        UnderWay {
            bytes: sending.sum::<usize>() + self.receiving.bytes(),
            moved: self.gone + self.receiving.moved(),
        }
    }

    /// How many messages MPI was given.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn agree(&mut self, agreement: u64) {
        self.agreement = agreement;
    }

    pub(crate) fn agreement(&self) -> u64 {
        self.agreement
    }

    fn list(&mut self, to: usize) -> &mut Peer {
        let peer = &mut self.peers[to];
        if !peer.listed {
            peer.listed = true;
            self.listed.push(to);
        }
        peer
    }

    /// Sends a frame, now or later.
    pub(crate) fn send(&mut self, to: usize, header: Header, bytes: &[u8]) {
        if !self.try_send_pieces(to, header, &[bytes]) {
            self.send_owned(to, header, bytes.to_vec());
        }
    }

    /// As [`Messages::send`], of bytes in pieces, if they are to be copied into a message with
    /// others.
    pub(crate) fn try_send_pieces(&mut self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        if len >= LARGE {
            return false;
        }
        let agreement = self.agreement;
        let peer = self.list(to);
        frames::pack(peer.open(agreement, len), header, pieces);
        if peer.open.len() >= FULL {
            peer.close();
        }
        true
    }

    /// As [`Messages::send`], without copying what is large.
    pub(crate) fn send_owned(&mut self, to: usize, header: Header, bytes: Vec<u8>) {
        if bytes.len() < LARGE {
            self.send(to, header, &bytes);
            self.keep(bytes);
            return;
        }
        let agreement = self.agreement;
        let peer = self.list(to);
        if bytes.len() <= MOST {
            peer.announce(agreement, header, Announced::Whole(bytes.len()));
            peer.waiting.push_back((ANNOUNCED, Memory::Bytes(bytes)));
            return;
        }
        let mut parts = bytes.chunks(MOST).peekable();
        while let Some(bytes) = parts.next() {
            let more = if parts.peek().is_some() { MORE } else { 0 };
            let header = Header {
                extra: header.extra | more,
                ..header
            };
            peer.announce(agreement, header, Announced::Whole(bytes.len()));
            let part = Memory::Bytes(bytes.to_vec());
            peer.waiting.push_back((ANNOUNCED, part));
        }
    }

    /// Sends a message from where its slices are.
    pub(crate) fn send_sliced(&mut self, to: usize, header: Header, message: SlicedMessage) {
        self.lent += 1;
        let agreement = self.agreement;
        let peer = self.list(to);
        peer.announce(agreement, header, Announced::Sliced(message.head()));
        let message = Rc::new(message);
        for at in 0..message.count() {
            let slice = Memory::Slice(Rc::clone(&message), at);
            peer.waiting.push_back((ANNOUNCED, slice));
        }
    }

    /// A value of which all has been sent.
    pub(crate) fn take_sent(&mut self) -> Option<SentValue> {
        let value = self.values.pop_front()?;
        self.lent -= 1;
        Some(value)
    }

    /// Whether values are here that are to be given back.
    pub(crate) fn lends(&self) -> bool {
        self.lent > 0
    }

    /// Copies what MPI has not been given of values; whether it has been given nothing of any.
    pub(crate) fn let_go(&mut self) -> bool {
        let mut is_free = true;
        for peer in &mut self.peers {
            for (_, memory) in &mut peer.waiting {
                if memory.is_slice() {
                    let copy = Memory::Bytes(memory.bytes().to_vec());
                    drop_slice(&mut self.values, std::mem::replace(memory, copy));
                }
            }
            is_free &= !peer.sending.iter().any(Operation::is_of_slice);
        }
        is_free
    }

    /// Gives MPI what it may have: all, if there is nothing else to do (`idle`). Whether nothing is
    /// left.
    pub(crate) fn push(&mut self, idle: bool) -> bool {
        if self.listed.is_empty() {
            return true;
        }
        let now = Instant::now();
        let mut listed = std::mem::take(&mut self.listed);
        listed.retain(|&to| {
            let peer = &mut self.peers[to];
            let held = |last: Instant| now.duration_since(last) < HOLD;
            if !peer.open.is_empty() && (idle || !peer.last.is_some_and(held)) {
                // Messages that wait take more along.
                if peer.waiting.is_empty() || idle {
                    peer.close();
                }
            }
            while peer.sending.len() < MESSAGES
                && peer.bytes < BYTES
                && let Some((tag, memory)) = peer.waiting.pop_front()
            {
                self.sent += 1;
                peer.last = Some(now);
                if peer.sending.is_empty() {
                    self.sending.push(to);
                }
                peer.bytes += memory.len();
                let operation = self.world.send(to, tag, memory, false);
                peer.sending.push_back(operation);
            }
            peer.listed = !(peer.open.is_empty() && peer.waiting.is_empty());
            peer.listed
        });
        self.listed = listed;
        self.listed.is_empty()
    }

    /// Looks after what MPI has, and takes what has come: `see` is shown each frame of the link
    /// itself; those of the runtime for [`Messages::take`].
    pub(crate) fn look(
        &mut self,
        mut see: impl FnMut(usize, Header, &[u8]),
    ) -> Result<(), (usize, Wrong)> {
        self.complete();
        let come = &mut self.come;
        let looked = (self.receiving).look(&self.world, self.agreement, &mut self.pool);
        self.receiving.take(|from, message| {
            match message {
                Come::Packed(mut frames) => {
                    let mut tokens = false;
                    while let Some((header, bytes)) = frames.next()? {
                        match is_ours(header) {
                            true => see(from, header, bytes),
                            false => tokens = true,
                        }
                    }
                    if tokens {
                        frames.rewind();
                        come.push_back((from, Come::Packed(frames)));
                    }
                }
                Come::Whole(header, bytes) if is_ours(header) => see(from, header, &bytes),
                message => come.push_back((from, message)),
            }
            Ok(())
        })?;
        looked
    }

    fn complete(&mut self) {
        let (peers, pool, values) = (&mut self.peers, &mut self.pool, &mut self.values);
        self.sending.retain(|&to| {
            let peer = &mut peers[to];
            while let Some(operation) = peer.sending.front_mut() {
                if !operation.is_done() {
                    return true;
                }
                peer.bytes -= operation.len();
                self.gone += 1;
                if let Some(operation) = peer.sending.pop_front() {
                    match operation.into_memory() {
                        Memory::Bytes(bytes) => pool.keep(bytes),
                        memory => drop_slice(values, memory),
                    }
                }
            }
            false
        });
    }

    /// Whether MPI has sent all, as far as it can tell.
    pub(crate) fn is_sent(&self) -> bool {
        self.listed.is_empty() && self.sending.is_empty()
    }

    /// Whether a frame of the runtime has come, or a value is to be given back.
    pub(crate) fn is_filled(&self) -> bool {
        !(self.come.is_empty() && self.values.is_empty())
    }

    /// The next message that holds frames of the runtime, and who has sent it: what is left of it
    /// goes back by [`Messages::put_back`].
    pub(crate) fn take(&mut self) -> Option<(usize, Come)> {
        loop {
            let (from, come) = self.come.pop_front()?;
            let Come::Whole(header, bytes) = come else {
                return Some((from, come));
            };
            let parts = &mut self.peers[from].parts;
            if header.extra & MORE != 0 {
                parts.extend_from_slice(&bytes);
                continue;
            }
            if parts.is_empty() {
                return Some((from, Come::Whole(header, bytes)));
            }
            parts.extend_from_slice(&bytes);
            return Some((from, Come::Whole(header, std::mem::take(parts))));
        }
    }

    /// Of what came first.
    pub(crate) fn put_back(&mut self, from: usize, frames: Frames) {
        self.come.push_front((from, Come::Packed(frames)));
    }

    /// Polls, and pauses, where what comes is thrown away.
    fn poll_on(&mut self, backoff: &mut Backoff) {
        let _ = self.look(|_, _, _| ());
        thread::yield_now();
        thread::sleep(backoff.pause(Instant::now(), self.under_way()));
        let _ = self.look(|_, _, _| ());
    }

    /// Waits until all that was ever sent, by anybody, has been received. Every OS process calls
    /// it, and sends nothing afterwards. What comes is thrown away.
    pub(crate) fn finish(&mut self) {
        let mut backoff = Backoff::default();
        while !self.push(true) || !self.sending.is_empty() {
            self.poll_on(&mut backoff);
        }
        // Who has matched the last message of frames of another has matched all of these before
        // (MPI: messages with a tag do not overtake).
        for to in 0..self.peers.len() {
            if self.peers[to].last.is_some() {
                let last = Memory::Bytes(frames::packed(self.agreement));
                self.peers[to].bytes += last.len();
                let operation = self.world.send(to, PACKED, last, true);
                self.peers[to].sending.push_back(operation);
                self.sending.push(to);
            }
        }
        while !self.sending.is_empty() || self.receiving.is_coming() {
            self.poll_on(&mut backoff);
        }
        // When those of all are matched, nothing is on its way any more but what they announce.
        let mut barrier = self.world.barrier();
        while !barrier.is_done() || self.receiving.is_coming() {
            self.poll_on(&mut backoff);
        }
        // What has been matched has come, and is there to be taken: MPI may have found it in one
        // look, and tell of it in the next.
        let (mut moved, mut still) = (self.receiving.moved(), 0);
        while still < 2 || self.receiving.is_coming() {
            let _ = self.look(|_, _, _| ());
            let before = std::mem::replace(&mut moved, self.receiving.moved());
            still = if moved == before { still + 1 } else { 0 };
        }
        self.receiving.cancel();
        // What is left of values comes too late: to drop them is code of the user, which may need
        // what is gone.
        self.values.drain(..).for_each(std::mem::forget);
    }

    /// Who differs, in words.
    pub(crate) fn difference(&self, other: u64) -> &'static str {
        digest::difference(self.agreement, other)
    }
}

/// Frames of the link's own have kinds from here on.
pub(crate) const OURS: u32 = 1 << 8;

pub(crate) fn is_ours(header: Header) -> bool {
    header.kind >= OURS
}
