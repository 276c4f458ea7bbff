//! Frames to and from all other OS processes, as messages that are on their way.
//!
//! Frames to one OS process are packed into one message until that is sent: at once where nothing was sent a moment ago,
//! else after [`HOLD`], or when it is [`FULL`], or when there is nothing else to do. A frame that carries
//! [`LARGE`] or more is a message of its own, from the very bytes that are to be sent. Nothing waits: what MPI
//! has not done is looked at again. The constants below and those of [`nap`](crate::nap) were fitted to `benches/hosts/run`.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use graphmap_runtime::between::{Header, ReceivedSlices, SentValue, SliceMemory, SlicedMessage};

use crate::calls::{MOST, Memory, Operation, World};
use crate::frames::{self, BYE, Frames, Garbled, HEAD, PACKED, SLICE, WHOLE};
use crate::nap::{Nap, UnderWay};
use crate::{bell::Bell, digest};

/// What carries so many bytes is not copied into a message with others.
const LARGE: usize = 64 << 10;
/// A message that has grown so large is sent.
const FULL: usize = 64 << 10;
/// How long frames wait for others to come along, while there is something else to do: about as long as
/// sending a message keeps a core busy.
const HOLD: Duration = Duration::from_micros(5);
/// Most bytes and messages to one OS process that MPI may have at a time: more wait here.
const BYTES: usize = 16 << 20;
const MESSAGES: usize = 256;
/// Most messages that are taken from MPI at a time.
const BATCH: usize = 64;
/// A message below this holds few frames.
const SMALL: usize = 256;
/// Memory of so many large messages is kept, of so many bytes each at most.
const POOLED: usize = 4;
const LARGEST_POOLED: usize = 4 << 20;
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
    /// Something was ever sent to it.
    used: bool,
    /// When.
    last: Option<Instant>,
    /// In the list of those who are to get something.
    listed: bool,
    /// The parts of a frame that have come.
    parts: Vec<u8>,
    /// The message whose slices are coming.
    sliced: Option<(Header, ReceivedSlices)>,
}

/// A message that has come.
pub(crate) enum Come {
    Packed(Frames),
    Whole(Header, Vec<u8>),
    Sliced(Header, ReceivedSlices),
}

/// All ways.
pub(crate) struct Messages {
    pub(crate) world: World,
    peers: Vec<Peer>,
    /// Who is to get something.
    listed: Vec<usize>,
    /// To whom MPI has something to send.
    sending: Vec<usize>,
    /// Messages that are coming, in the order in which they were sent by each.
    coming: VecDeque<(usize, i32, Operation)>,
    /// What has come and was not taken.
    come: VecDeque<(usize, Come)>,
    /// See [`frames`].
    agreement: u64,
    /// Messages that MPI was given.
    sent: u64,
    /// Messages that have begun or ended, from here or to here.
    moved: u64,
    /// Memory of large messages, to be used again.
    pool: Vec<Vec<u8>>,
    /// Values of which all has been sent, and how many messages have values that were not given back.
    values: VecDeque<SentValue>,
    lent: usize,
}

/// Memory for so many bytes of a message, from the pool if they are many.
fn memory(pool: &mut Vec<Vec<u8>>, len: usize) -> Vec<u8> {
    match len < LARGE {
        true => Vec::new(),
        false => pool.pop().unwrap_or_default(),
    }
}

/// Memory for so many bytes of a message with this tag. Where there is none for a slice, what comes is taken for no slice.
fn memory_of(pool: &mut Vec<Vec<u8>>, tag: i32, len: usize) -> Memory {
    let align = (tag >= SLICE).then(|| 1_usize.checked_shl((tag - SLICE) as u32));
    match align.and_then(|align| SliceMemory::new(len, align?).ok()) {
        Some(memory) => Memory::Room(memory),
        None => Memory::Bytes(memory(pool, len)),
    }
}

/// Keeps memory of a large message.
fn keep(pool: &mut Vec<Vec<u8>>, bytes: Vec<u8>) {
    if (LARGE..=LARGEST_POOLED).contains(&bytes.capacity()) && pool.len() < POOLED {
        pool.push(bytes);
    }
}

/// A slice is not needed any more: with the last of a message its value is sent.
fn drop_slice(values: &mut VecDeque<SentValue>, memory: Memory) {
    if let Memory::Slice(message, _) = memory {
        let last = Rc::into_inner(message);
        values.extend(last.and_then(SlicedMessage::into_value));
    }
}

impl Peer {
    /// What frames were put into is a message.
    fn close(&mut self) {
        if !self.open.is_empty() {
            let open = std::mem::take(&mut self.open);
            self.waiting.push_back((PACKED, Memory::Bytes(open)));
        }
    }
}

/// What makes a message unusable.
pub(crate) enum Wrong {
    Garbled,
    /// It is of another run than this: with what agreement.
    Other(u64),
}

impl From<Garbled> for Wrong {
    fn from(_: Garbled) -> Wrong {
        Wrong::Garbled
    }
}

impl Messages {
    pub(crate) fn new(world: World) -> Messages {
        let peer = || Peer {
            open: Vec::new(),
            waiting: VecDeque::new(),
            sending: VecDeque::new(),
            bytes: 0,
            used: false,
            last: None,
            listed: false,
            parts: Vec::new(),
            sliced: None,
        };
        Messages {
            peers: (0..world.count()).map(|_| peer()).collect(),
            listed: Vec::new(),
            sending: Vec::new(),
            coming: VecDeque::new(),
            come: VecDeque::new(),
            agreement: 0,
            sent: 0,
            moved: 0,
            pool: Vec::new(),
            values: VecDeque::new(),
            lent: 0,
            world,
        }
    }

    /// Memory for a frame that may be large.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        memory(&mut self.pool, LARGE)
    }

    /// Keeps memory of a large message for the next one.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        keep(&mut self.pool, bytes);
    }

    /// What MPI is doing.
    pub(crate) fn under_way(&self) -> UnderWay {
        let sending = self.sending.iter().map(|&to| self.peers[to].bytes);
        let coming = self.coming.iter().map(|(_, _, operation)| operation.len());
        UnderWay {
            bytes: sending.chain(coming).sum(),
            moved: self.moved,
        }
    }

    /// How many messages MPI was given.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn agree(&mut self, agreement: u64) {
        self.agreement = agreement;
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

    /// As [`Messages::send`], of bytes in pieces, if they are to be copied into a message with others.
    pub(crate) fn try_send_pieces(&mut self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        if pieces.iter().map(|piece| piece.len()).sum::<usize>() >= LARGE {
            return false;
        }
        let agreement = self.agreement;
        let peer = self.list(to);
        if peer.open.is_empty() {
            peer.open = frames::packed(agreement);
        }
        frames::pack(&mut peer.open, header, pieces);
        if peer.open.len() >= FULL {
            let full = std::mem::take(&mut peer.open);
            peer.waiting.push_back((PACKED, Memory::Bytes(full)));
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
        peer.close();
        let part = MOST / 2;
        if bytes.len() <= part {
            let message = frames::whole(agreement, header, bytes);
            peer.waiting.push_back((WHOLE, Memory::Bytes(message)));
            return;
        }
        let mut parts = bytes.chunks(part).peekable();
        while let Some(bytes) = parts.next() {
            let more = if parts.peek().is_some() { MORE } else { 0 };
            let header = Header {
                extra: header.extra | more,
                ..header
            };
            let message = frames::whole(agreement, header, bytes.to_vec());
            peer.waiting.push_back((WHOLE, Memory::Bytes(message)));
        }
    }

    /// Sends a message from where its slices are.
    pub(crate) fn send_sliced(&mut self, to: usize, header: Header, message: SlicedMessage) {
        self.lent += 1;
        let head = frames::whole(self.agreement, header, message.head().to_vec());
        let peer = self.list(to);
        peer.close();
        peer.waiting.push_back((HEAD, Memory::Bytes(head)));
        let message = Rc::new(message);
        for at in 0..message.count() {
            let tag = SLICE + message.slice(at).1.ilog2() as i32;
            let slice = Memory::Slice(Rc::clone(&message), at);
            peer.waiting.push_back((tag, slice));
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

    /// Gives MPI what it may have: all, if there is nothing else to do (`idle`). Whether nothing is left.
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
                peer.used = true;
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

    /// Looks after what MPI has, and takes what has come: `see` is shown each frame of the link itself; those
    /// of the runtime for [`Messages::take`].
    pub(crate) fn look(
        &mut self,
        mut see: impl FnMut(usize, Header, &[u8]),
    ) -> Result<(), (usize, Wrong)> {
        self.complete();
        for _ in 0..BATCH {
            let memory = |tag, len| memory_of(&mut self.pool, tag, len);
            let Some(message) = self.world.receive(memory) else {
                break;
            };
            // To look once more takes about as long as to hand on what is small, for which somebody may wait.
            let small = message.2.len() < SMALL;
            self.moved += 1;
            self.coming.push_back(message);
            if small {
                break;
            }
        }
        let mut pending: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some((from, _, operation)) = self.coming.get_mut(at) {
            let from = *from;
            if pending.contains(&from) || !operation.is_done() {
                pending.push(from);
                at += 1;
                continue;
            }
            let Some((_, tag, operation)) = self.coming.remove(at) else {
                break;
            };
            self.moved += 1;
            let memory = operation.into_memory();
            self.open(from, tag, memory, &mut see)
                .map_err(|wrong| (from, wrong))?;
        }
        Ok(())
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
                self.moved += 1;
                if let Some(operation) = peer.sending.pop_front() {
                    match operation.into_memory() {
                        Memory::Bytes(bytes) => keep(pool, bytes),
                        memory => drop_slice(values, memory),
                    }
                }
            }
            false
        });
    }

    fn open(
        &mut self,
        from: usize,
        tag: i32,
        memory: Memory,
        see: &mut impl FnMut(usize, Header, &[u8]),
    ) -> Result<(), Wrong> {
        let bytes = match memory {
            Memory::Bytes(bytes) => bytes,
            Memory::Room(slice) => return self.add_slice(from, slice),
            Memory::Slice(..) => return Err(Wrong::Garbled),
        };
        match tag {
            PACKED => {
                let mut frames = Frames::new(bytes);
                self.check(frames.agreement()?)?;
                let mut tokens = false;
                while let Some((header, bytes)) = frames.next()? {
                    match is_ours(header) {
                        true => see(from, header, bytes),
                        false => tokens = true,
                    }
                }
                if tokens {
                    frames.rewind();
                    self.come.push_back((from, Come::Packed(frames)));
                }
                Ok(())
            }
            WHOLE => {
                let (agreement, header, bytes) = frames::unwhole(bytes)?;
                self.check(agreement)?;
                if is_ours(header) {
                    see(from, header, &bytes);
                } else {
                    self.come.push_back((from, Come::Whole(header, bytes)));
                }
                Ok(())
            }
            HEAD => {
                let (agreement, header, bytes) = frames::unwhole(bytes)?;
                self.check(agreement)?;
                let sliced = ReceivedSlices::new(&bytes).map_err(|_| Wrong::Garbled)?;
                self.peers[from].sliced = Some((header, sliced));
                Ok(())
            }
            BYE => Ok(()),
            _ => Err(Wrong::Garbled),
        }
    }

    /// A slice has come of the message whose head came last.
    fn add_slice(&mut self, from: usize, slice: SliceMemory) -> Result<(), Wrong> {
        let sliced = self.peers[from].sliced.take();
        let (header, mut slices) = sliced.ok_or(Wrong::Garbled)?;
        slices.add_slice(slice).map_err(|_| Wrong::Garbled)?;
        match slices.is_whole() {
            true => self.come.push_back((from, Come::Sliced(header, slices))),
            false => self.peers[from].sliced = Some((header, slices)),
        }
        Ok(())
    }

    fn check(&self, agreement: u64) -> Result<(), Wrong> {
        let known = agreement != 0 && self.agreement != 0;
        match known && agreement != self.agreement {
            true => Err(Wrong::Other(agreement)),
            false => Ok(()),
        }
    }

    /// Whether MPI has sent all, as far as it can tell.
    pub(crate) fn is_sent(&self) -> bool {
        self.listed.is_empty() && self.sending.is_empty()
    }

    /// Whether a frame of the runtime has come, or a value is to be given back.
    pub(crate) fn is_filled(&self) -> bool {
        !(self.come.is_empty() && self.values.is_empty())
    }

    /// The next message that holds frames of the runtime, and who has sent it: what is left of it goes back by
    /// [`Messages::put_back`].
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

    /// Looks, and then away, where what comes is thrown away.
    fn look_on(&mut self, nap: &mut Nap, bell: &Bell) {
        let _ = self.look(|_, _, _| ());
        if nap.take(bell, Instant::now(), None, self.under_way()) {
            let _ = self.look(|_, _, _| ());
        }
    }

    /// Waits until all that was ever sent, by anybody, has been received. Every OS process calls it, and sends
    /// nothing afterwards. What comes is thrown away.
    pub(crate) fn finish(&mut self, bell: &Bell) {
        let mut nap = Nap::new();
        while !self.push(true) || !self.sending.is_empty() {
            self.look_on(&mut nap, bell);
        }
        // Who has matched the last message of another has matched all before (MPI: messages do not overtake).
        for to in 0..self.peers.len() {
            if self.peers[to].used {
                let operation = self.world.send(to, BYE, Memory::Bytes(Vec::new()), true);
                self.peers[to].sending.push_back(operation);
                self.sending.push(to);
            }
        }
        while !self.sending.is_empty() || !self.coming.is_empty() {
            self.look_on(&mut nap, bell);
        }
        // When the last messages of all are matched, nothing is on its way any more.
        let mut barrier = self.world.barrier();
        while !barrier.is_done() || !self.coming.is_empty() {
            self.look_on(&mut nap, bell);
        }
        // What is left of values comes too late: to drop them is code of the user, which may need what is gone.
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
