//! Frames to and from all other OS processes, in MPI messages.
//!
//! Frames to one OS process are packed into one message. It is sent at once if no message was sent
//! recently. Otherwise it is sent after [`HOLD`], when it is [`FULL`], or when there is no other
//! work. A frame with [`LARGE`] bytes or more is announced and sent separately, from its own
//! memory, without a copy. No call blocks: pending operations are polled.
//!
//! The constants below, in [`posted`](crate::posted) and in [`backoff`](crate::backoff) were fitted
//! to `benches/hosts/run`.

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
use crate::receiving::{MessageError, Received, Receiving};
use crate::world::World;

/// Least size in bytes of a frame that is not copied into a message with others.
const LARGE: usize = 64 << 10;
/// Size in bytes from which on a message is sent.
const FULL: usize = 64 << 10;
/// Time for which frames wait for others to share their message, while there is other work. It is
/// about the time for which sending a message keeps a core busy.
const HOLD: Duration = Duration::from_micros(5);
/// Largest number of bytes and of messages to one OS process in pending sends. Further messages
/// wait here.
const BYTES: usize = 16 << 20;
const MESSAGES: usize = 256;
/// Bit of `extra`: the next whole frame continues the frame that has this bit.
const MORE: u32 = 1 << 31;

/// Messages to and from one other OS process.
struct Peer {
    /// The message into which frames are packed.
    open: Vec<u8>,
    /// Messages that have not been passed to MPI.
    waiting: VecDeque<(i32, Memory)>,
    /// Pending sends in order. If they make no progress, only this OS process is delayed.
    sending: VecDeque<Operation>,
    bytes: usize,
    /// Time of the last send to it.
    last: Option<Instant>,
    /// True if the OS process is in `Messages::listed`.
    listed: bool,
    /// Parts of a frame that have come.
    parts: Vec<u8>,
}

/// Messages to and from all other OS processes.
pub(crate) struct Messages {
    pub(crate) world: World,
    peers: Vec<Peer>,
    /// OS processes with messages to be sent.
    listed: Vec<usize>,
    /// OS processes with pending sends.
    sending: Vec<usize>,
    receiving: Receiving,
    /// Messages that have come and were not taken.
    come: VecDeque<(usize, Received)>,
    /// The agreement of this OS process: see [`frames`].
    agreement: u64,
    /// Number of messages that were passed to MPI.
    sent: u64,
    /// Number of completed sends.
    gone: u64,
    pool: Pool,
    /// Values that have been sent completely, and the number of messages whose values were not
    /// given back.
    values: VecDeque<SentValue>,
    lent: usize,
}

/// Drops memory that is not needed any more. If it is the last slice of a message, appends the
/// value of the message to `values`, because all of it has been sent.
fn drop_slice(values: &mut VecDeque<SentValue>, memory: Memory) {
    if let Memory::Slice(message, _) = memory {
        let last = Rc::into_inner(message);
        values.extend(last.and_then(SlicedMessage::into_value));
    }
}

impl Peer {
    /// Returns the message into which an item with `len` bytes is to be packed. Closes the open
    /// message if it has no room, and begins a new one if none is open.
    fn open(&mut self, agreement: u64, len: usize) -> &mut Vec<u8> {
        if !self.open.is_empty() && !frames::has_room(&self.open, len) {
            self.close();
        }
        if self.open.is_empty() {
            self.open = frames::packed(agreement);
        }
        &mut self.open
    }

    /// Moves the message into which frames were packed to the end of the waiting messages. Does
    /// nothing if no message is open.
    fn close(&mut self) {
        if !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.waiting.push_back((PACKED, Memory::Bytes(open)));
        }
    }

    /// Announces the next messages, and closes the message that contains the announcement. The
    /// caller must then append the announced messages to the waiting ones.
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

    /// Returns memory for a frame that may be large. It may have old contents, and any capacity.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.pool.memory(LARGE)
    }

    /// Keeps the memory of a large message for reuse, or frees it if the pool has no use for it.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        self.pool.keep(bytes);
    }

    /// Keeps the memory of a message of frames for further receives, or frees it.
    pub(crate) fn keep_message(&mut self, frames: Frames) {
        self.receiving.keep(frames.into_memory());
    }

    /// Returns the number of bytes in pending sends and announced receives, and a counter of
    /// messages that have moved.
    pub(crate) fn under_way(&self) -> UnderWay {
        let sending = self.sending.iter().map(|&to| self.peers[to].bytes);
        UnderWay {
            bytes: sending.sum::<usize>() + self.receiving.bytes(),
            moved: self.gone + self.receiving.moved(),
        }
    }

    /// Returns the number of messages that [`Messages::push`] has passed to MPI so far.
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

    /// Puts a copy of a frame into a message, which [`Messages::push`] passes to MPI. Does not
    /// block. Panics if `to` does not exist.
    pub(crate) fn send(&mut self, to: usize, header: Header, bytes: &[u8]) {
        if !self.try_send_pieces(to, header, &[bytes]) {
            self.send_owned(to, header, bytes.to_vec());
        }
    }

    /// Puts a frame whose contents are the concatenated pieces into a message with others, which
    /// [`Messages::push`] passes to MPI. Returns false, without an effect, if the frame has
    /// [`LARGE`] bytes or more. Panics if `to` does not exist.
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

    /// Sends a frame as [`Messages::send`] does, without copying large contents. Contents of more
    /// than [`MOST`] bytes are copied nevertheless, and sent in parts. Panics if `to` does not
    /// exist.
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

    /// Announces a message that [`Messages::push`] sends directly from the memory of its slices.
    /// The message is kept until its slices are sent: see [`Messages::take_sent`].
    ///
    /// No slice may have more than [`MOST`] bytes, because the send would panic. Panics if `to`
    /// does not exist.
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

    /// Removes and returns a value that has been sent completely, or `None` if there is none.
    pub(crate) fn take_sent(&mut self) -> Option<SentValue> {
        let value = self.values.pop_front()?;
        self.lent -= 1;
        Some(value)
    }

    /// Returns true if values are kept that [`Messages::take_sent`] has not returned yet.
    pub(crate) fn lends(&self) -> bool {
        self.lent > 0
    }

    /// Copies the slices that were not passed to MPI. [`Messages::take_sent`] returns the values
    /// that are not needed any more. Returns true if MPI has no slices in pending sends.
    pub(crate) fn release_values(&mut self) -> bool {
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

    /// Passes messages to MPI, in order, until [`BYTES`] or [`MESSAGES`] are in pending sends to an
    /// OS process. If `idle`, frames do not wait for others to share their message.
    ///
    /// Returns true if no message is left. Sends that MPI has not completed do not count. An error
    /// of MPI ends the job.
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
                // While messages wait, more frames can join the open one.
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

    /// Polls pending operations and takes the messages that have come. Calls `see` for each frame
    /// of the link itself, with its sender. Frames of the runtime are kept for [`Messages::take`].
    ///
    /// # Errors
    /// Returns the sender of a message that is invalid, or that is from another program or network,
    /// and the error. Valid messages that came before it are handled nevertheless.
    pub(crate) fn poll(
        &mut self,
        mut see: impl FnMut(usize, Header, &[u8]),
    ) -> Result<(), (usize, MessageError)> {
        self.complete();
        let come = &mut self.come;
        let polled = (self.receiving).poll(&self.world, self.agreement, &mut self.pool);
        self.receiving.take(|from, message| {
            match message {
                Received::Packed(mut frames) => {
                    let mut tokens = false;
                    while let Some((header, bytes)) = frames.next()? {
                        match is_ours(header) {
                            true => see(from, header, bytes),
                            false => tokens = true,
                        }
                    }
                    if tokens {
                        frames.rewind();
                        come.push_back((from, Received::Packed(frames)));
                    }
                }
                Received::Whole(header, bytes) if is_ours(header) => see(from, header, &bytes),
                message => come.push_back((from, message)),
            }
            Ok(())
        })?;
        polled
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

    /// Returns true if no frame waits to be passed to MPI, and the polls have found all sends
    /// completed.
    pub(crate) fn is_sent(&self) -> bool {
        self.listed.is_empty() && self.sending.is_empty()
    }

    /// Returns true if a frame of the runtime has come, or a value is to be given back.
    pub(crate) fn is_filled(&self) -> bool {
        !(self.come.is_empty() && self.values.is_empty())
    }

    /// Removes and returns the next message with frames of the runtime, and its sender. Returns
    /// `None` if no such message has come completely. The parts of a frame that was sent in parts
    /// are joined.
    ///
    /// A message of packed frames may also contain frames of the link itself, which were handled
    /// already. Frames that the caller does not take must be put back by [`Messages::put_back`].
    pub(crate) fn take(&mut self) -> Option<(usize, Received)> {
        loop {
            let (from, come) = self.come.pop_front()?;
            let Received::Whole(header, bytes) = come else {
                return Some((from, come));
            };
            let parts = &mut self.peers[from].parts;
            if header.extra & MORE != 0 {
                parts.extend_from_slice(&bytes);
                continue;
            }
            if parts.is_empty() {
                return Some((from, Received::Whole(header, bytes)));
            }
            parts.extend_from_slice(&bytes);
            return Some((from, Received::Whole(header, std::mem::take(parts))));
        }
    }

    /// Puts back the remaining frames of the message that was taken last, so that
    /// [`Messages::take`] returns them next. `from` is their sender.
    pub(crate) fn put_back(&mut self, from: usize, frames: Frames) {
        self.come.push_front((from, Received::Packed(frames)));
    }

    /// Polls, pauses, and polls again. Errors and frames of the link itself are ignored. Frames of
    /// the runtime are not delivered any more.
    fn poll_on(&mut self, backoff: &mut Backoff) {
        let _ = self.poll(|_, _, _| ());
        thread::yield_now();
        thread::sleep(backoff.pause(Instant::now(), self.under_way()));
        let _ = self.poll(|_, _, _| ());
    }

    /// Blocks until all messages of all OS processes have been received, and then cancels the
    /// posted receives. All OS processes must call it and must not send afterwards.
    ///
    /// Messages that come are ignored. Sent values that were not taken are leaked.
    pub(crate) fn finish(&mut self) {
        let mut backoff = Backoff::default();
        while !self.push(true) || !self.sending.is_empty() {
            self.poll_on(&mut backoff);
        }
        // A receiver that has matched this last message has matched all earlier ones, because MPI
        // messages with one tag do not overtake each other.
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
        // When the last messages of all are matched, only the messages that they announce are in
        // transit.
        let mut barrier = self.world.barrier();
        while !barrier.is_done() || self.receiving.is_coming() {
            self.poll_on(&mut backoff);
        }
        // All matched messages have arrived, but MPI may detect one in one poll and report it in
        // the next.
        let (mut moved, mut still) = (self.receiving.moved(), 0);
        while still < 2 || self.receiving.is_coming() {
            let _ = self.poll(|_, _, _| ());
            let before = std::mem::replace(&mut moved, self.receiving.moved());
            still = if moved == before { still + 1 } else { 0 };
        }
        self.receiving.cancel();
        // The remaining values are leaked, because their destructors are user code that may need
        // objects which no longer exist.
        self.values.drain(..).for_each(std::mem::forget);
    }

    /// Returns the name of the part in which `other`, the agreement of another OS process, differs
    /// from the agreement of this OS process: `network` or `program`.
    pub(crate) fn difference(&self, other: u64) -> &'static str {
        digest::difference(self.agreement, other)
    }
}

/// Lowest kind of the frames of the link itself.
pub(crate) const OURS: u32 = 1 << 8;

/// Returns true if the frame is for the link itself, and not for the runtime.
pub(crate) fn is_ours(header: Header) -> bool {
    header.kind >= OURS
}
