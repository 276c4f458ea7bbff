//! Shared memory as a link: a lane to each other OS process and one from it, and the page that all look at.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::control::{Control, ENDED, RUNNING};
use super::lane::{self, Receiver, Sender};
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
    /// Something was sent since its bell was looked at.
    dirty: bool,
}

/// All lanes of an OS process.
pub(crate) struct Lanes {
    control: Arc<Control>,
    /// By OS process; none at its own place.
    peers: RefCell<Vec<Option<Peer>>>,
    /// A buffer that is used again.
    spare: Cell<Vec<u8>>,
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
            spare: Cell::default(),
            control,
        }
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
        peer.dirty = true;
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
                peer.backlog.push_back((header, now.to_vec()));
            }
            if rest.is_empty() {
                return;
            }
        }
    }

    /// Wakes who has got something, as well.
    #[inline]
    fn flush(&self) -> bool {
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

    #[inline]
    fn is_filled(&self) -> bool {
        let peers = self.peers.borrow();
        peers.iter().flatten().any(|peer| peer.receiver.is_filled())
    }

    #[inline]
    fn receive(&self) -> Result<Option<Message>, String> {
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
                    header,
                    bytes,
                }));
            }
        }
        self.spare.set(bytes);
        Ok(None)
    }

    fn done_with(&self, bytes: Vec<u8>) {
        self.spare.set(bytes);
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
