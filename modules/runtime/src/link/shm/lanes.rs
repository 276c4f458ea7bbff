//! Shared memory as a link: a lane to each other OS process and one from it, and the page that all look at.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::control::{Control, ENDED, RUNNING};
use super::lane::{self, Frame, Receiver, Sender};
use crate::link::between::{Doorbell, Header, Link, Message, State};

/// In `extra`: the rest is in the next frame.
const MORE: u32 = 1 << 31;

/// After how long a full lane is looked at again: about as long as it takes to empty it.
const RETRY: Duration = Duration::from_micros(50);

/// The way to one other OS process.
struct Peer {
    sender: Sender,
    receiver: Receiver,
    /// What has not found room in the lane.
    backlog: VecDeque<(Header, Vec<u8>)>,
    /// The parts of a message that have come.
    parts: Vec<u8>,
    /// In the list of those to whom something was sent since their bells were looked at.
    dirty: bool,
}

/// All lanes of an OS process.
pub(crate) struct Lanes {
    control: Arc<Control>,
    /// By OS process; none at its own place.
    peers: RefCell<Vec<Option<Peer>>>,
    /// Those whose bell is to be looked at, or for whom frames wait.
    dirty: RefCell<Vec<usize>>,
    /// For how many frames wait.
    behind: Cell<usize>,
    /// A frame is being looked at.
    taking: Cell<bool>,
}

/// A frame that is looked at, and passed when that is over, be it by a panic.
struct Taking<'a> {
    lanes: &'a Lanes,
    from: usize,
    frame: Frame,
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        self.lanes.taking.set(false);
        if let Some(Some(peer)) = self.lanes.peers.borrow_mut().get_mut(self.from) {
            peer.receiver.pass(&self.frame);
        }
    }
}

impl Lanes {
    /// # Safety
    /// They are the only ones of this OS process for this run.
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
        Lanes {
            peers: RefCell::new((0..control.count()).map(peer).collect()),
            dirty: RefCell::default(),
            behind: Cell::new(0),
            taking: Cell::new(false),
            control,
        }
    }
}

impl Lanes {
    /// Calls `take` with the next frame that is here as a whole, where it lies; false: there is none.
    ///
    /// # Errors
    /// What has come cannot be a frame.
    #[inline]
    pub(crate) fn receive_with(
        &self,
        take: &mut dyn FnMut(usize, Header, &[u8]),
    ) -> Result<bool, String> {
        if self.taking.get() {
            return Ok(false);
        }
        for from in 0..self.control.count() {
            while let Some(taking) = self.next(from)? {
                let mut header = taking.frame.header;
                // SAFETY: the lane leaves it alone until it is passed, and nobody else takes from it: the mark is set.
                let bytes = unsafe { taking.frame.bytes.as_ref() };
                if header.extra & MORE == 0 && !self.has_parts(from) {
                    take(from, header, bytes);
                    return Ok(true);
                }
                let whole = self.add_part(from, header.extra & MORE != 0, bytes);
                drop(taking);
                if let Some(whole) = whole {
                    header.extra &= !MORE;
                    take(from, header, &whole);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    #[inline]
    fn next(&self, from: usize) -> Result<Option<Taking<'_>>, String> {
        let frame = match self.peers.borrow_mut().get_mut(from) {
            Some(Some(peer)) => peer.receiver.next().map_err(|_| garbled(from))?,
            _ => None,
        };
        Ok(frame.map(|frame| {
            self.taking.set(true);
            Taking {
                lanes: self,
                from,
                frame,
            }
        }))
    }

    fn has_parts(&self, from: usize) -> bool {
        let peers = self.peers.borrow();
        peers[from]
            .as_ref()
            .is_some_and(|peer| !peer.parts.is_empty())
    }

    /// Adds a part of a message; the message, if it is the last.
    #[cold]
    fn add_part(&self, from: usize, more: bool, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut peers = self.peers.borrow_mut();
        let peer = peers[from].as_mut()?;
        peer.parts.extend_from_slice(bytes);
        (!more).then(|| std::mem::take(&mut peer.parts))
    }

    /// Whether frames that wait can be sent.
    #[inline]
    fn can_flush(&self) -> bool {
        if self.behind.get() == 0 {
            return false;
        }
        let mut peers = self.peers.borrow_mut();
        peers.iter_mut().flatten().any(|peer| {
            let front = peer.backlog.front();
            front.is_some_and(|(_, bytes)| peer.sender.is_ready(bytes.len()))
        })
    }

    /// Whether something has come, or what waits can be sent.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.is_filled() || self.can_flush()
    }
}

impl Lanes {
    #[cold]
    #[inline(never)]
    fn send_in_parts(&self, peer: &mut Peer, header: Header, bytes: &[u8]) {
        let mut rest = bytes;
        loop {
            let (now, later) = rest.split_at(rest.len().min(lane::MOST));
            rest = later;
            let more = if rest.is_empty() { 0 } else { MORE };
            let header = Header {
                extra: header.extra | more,
                ..header
            };
            if !peer.backlog.is_empty() || !peer.sender.try_send(header, now) {
                if peer.backlog.is_empty() {
                    self.behind.set(self.behind.get() + 1);
                }
                peer.backlog.push_back((header, now.to_vec()));
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    #[inline(never)]
    fn flush_now(&self) -> bool {
        let mut peers = self.peers.borrow_mut();
        self.dirty.borrow_mut().retain(|&who| {
            let Some(peer) = &mut peers[who] else {
                return false;
            };
            let waited = !peer.backlog.is_empty();
            while let Some((header, bytes)) = peer.backlog.front() {
                if !peer.sender.try_send(*header, bytes) {
                    break;
                }
                peer.backlog.pop_front();
            }
            self.control.ring(who);
            peer.dirty = !peer.backlog.is_empty();
            if waited && !peer.dirty {
                self.behind.set(self.behind.get() - 1);
            }
            peer.dirty
        });
        self.behind.get() == 0
    }
}

impl Doorbell for Control {
    fn ring(&self) {
        Control::ring(self, self.me());
    }

    fn stir(&self) {
        Control::stir(self);
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

    #[inline]
    fn send(&self, to: usize, header: Header, bytes: &[u8]) {
        let mut peers = self.peers.borrow_mut();
        let Some(Some(peer)) = peers.get_mut(to) else {
            return;
        };
        if !std::mem::replace(&mut peer.dirty, true) {
            self.dirty.borrow_mut().push(to);
        }
        if bytes.len() <= lane::MOST
            && peer.backlog.is_empty()
            && peer.sender.try_send(header, bytes)
        {
            return;
        }
        self.send_in_parts(peer, header, bytes);
    }

    /// Wakes who has got something, as well.
    #[inline]
    fn flush(&self) -> bool {
        self.dirty.borrow().is_empty() || self.flush_now()
    }

    #[inline]
    fn is_filled(&self) -> bool {
        let peers = self.peers.borrow();
        peers.iter().flatten().any(|peer| peer.receiver.is_filled())
    }

    fn receive(&self) -> Result<Option<Message>, String> {
        let mut message = None;
        self.receive_with(&mut |from, header, bytes| {
            let bytes = bytes.to_vec();
            message = Some(Message {
                from,
                header,
                bytes,
            });
        })?;
        Ok(message)
    }

    fn sleep(&self, stay: &dyn Fn() -> bool, at_most: Option<Duration>) {
        if self.flush() {
            self.control.sleep(|| stay() || self.is_filled(), at_most);
        } else if !self.is_filled() {
            // Who still has to send something is awake, as far as others are concerned.
            thread::sleep(RETRY);
        }
    }

    #[inline]
    fn meeting(&self) -> Option<u32> {
        self.control.meeting()
    }

    fn settle(&self) {
        self.control.settle();
    }

    fn close_meeting(&self) {
        self.control.close_meeting();
    }

    #[inline]
    fn state(&self) -> State {
        match self.control.state() {
            RUNNING => State::Running,
            ENDED => State::Ended,
            _ => State::Failed,
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
}

fn garbled(from: usize) -> String {
    format!("what came from OS process {from} is no frame: its memory was written to")
}
