//! Messages between ranks of different schedulers: sending them, and handling the frames that
//! arrive.

use std::mem;
use std::panic::Location;
use std::rc::Rc;

use super::entry::DONE;
use super::envelope::Envelope;
use super::erased::{Erased, RemoteValue, Wanted};
use super::frame::{Frame, cost};
use super::matching::{SendMode, Sent};
use super::others::Others;
use super::state::{CommunicatorState, World};
use super::transfer::Arrival;
use super::window::Asker;
use graphmap_executor::exec::user_code;
use graphmap_executor::finally::Finally;

/// Size above which a message is not sent before a receive has matched, in bytes.
const EAGER_BYTES: usize = 64 << 10;

impl SendMode {
    /// Returns the mode for a message of this size. A standard send of more than [`EAGER_BYTES`]
    /// becomes synchronous. All other modes stay the same.
    #[inline(always)]
    pub(super) fn of_bytes(self, bytes: usize) -> SendMode {
        match self {
            SendMode::Standard if bytes > EAGER_BYTES => SendMode::Synchronous,
            mode => mode,
        }
    }
}

impl World {
    /// Returns the scheduler of a process or endpoint. Returns `None` if it is this scheduler, if
    /// the run has no other schedulers, or if the process of the endpoint is not known.
    #[inline]
    pub(super) fn remote_scheduler(&self, member: u32) -> Option<u32> {
        let others = self.others.as_ref()?;
        others.remote_scheduler(self.process_of(member)?)
    }

    /// Sends a message to `member`, a rank of scheduler `to`. Does not wait. A standard or buffered
    /// message is sent at once if it is small and the credit is sufficient. Otherwise the message
    /// is announced, and kept here until the other scheduler requests it.
    ///
    /// Returns [`Sent::Left`] if the message was sent at once or is buffered. Otherwise returns
    /// [`Sent::Held`], and the sender waits at that entry. Returns [`Sent::Refused`] if the run has
    /// no other schedulers. A panic of user code that encodes the value is resumed.
    pub(super) fn send_remote(
        &self,
        to: u32,
        member: u32,
        envelope: Envelope,
        value: Erased,
        mode: SendMode,
        at: &'static Location<'static>,
    ) -> Sent {
        let Some(others) = &self.others else {
            return Sent::Refused(value);
        };
        // Calls user code, so it must not hold a borrow.
        let size = value.size();
        let cost = cost(size);
        let may_be_eager =
            matches!(mode, SendMode::Standard | SendMode::Buffered) && size <= EAGER_BYTES;
        if may_be_eager && others.take_credit(to, cost) {
            let message = Frame::Eager {
                member,
                envelope,
                cost,
                value,
            };
            // The encoding is user code. If it panics, the message is not sent and the credit is
            // returned.
            let unsent = Finally(|| others.give_credit(to, cost));
            others.send(to, message);
            mem::forget(unsent);
            return Sent::Left;
        }
        let count = value.count() as u64;
        let entry = self.change(|matching| matching.keep(member, envelope, value, mode, at));
        let request = Frame::RequestToSend {
            member,
            envelope,
            entry,
            count,
            ready: mode == SendMode::Ready,
        };
        others.send(to, request);
        match mode {
            SendMode::Buffered => Sent::Left,
            _ => Sent::Held(entry),
        }
    }

    /// Sets the type that the receive at `entry` expects. Does nothing if no message can arrive as
    /// bytes, because the run has a single scheduler. Otherwise panics if the entry does not exist.
    #[inline]
    pub(super) fn want(&self, entry: u32, wanted: Wanted) {
        if self.others.is_some() {
            let mut matching = self.matching.borrow_mut();
            matching.slab.entries[entry as usize].wanted = Some(wanted);
        }
    }

    /// Returns true if a message may be for a process or endpoint of this scheduler. Returns false
    /// for a process of another scheduler, and for a number that no endpoint can have.
    ///
    /// Endpoints cannot be checked. The message may arrive before the announcement of the endpoint,
    /// or after the number has been given to another endpoint. The latter does not receive it,
    /// because it is in other communicators.
    fn may_be_local(&self, member: u32) -> bool {
        member < DONE && (member >= self.ranks || self.remote_scheduler(member).is_none())
    }

    /// Handles a frame from scheduler `from`. Returns `None` if the frame is invalid, or if the run
    /// has no scheduler `from` beside this one. After the run, drops any frame of an existing
    /// scheduler. A panic of user code that drops or sends a value fails the run.
    #[track_caller]
    pub(super) fn arrive(&self, from: u32, frame: Frame) -> Option<()> {
        let others = self.others.as_ref()?;
        if from >= others.count() {
            return None;
        }
        if self.is_over() {
            // No rank takes the content any longer. Its drop is user code.
            user_code::quietly(|| drop(frame));
            return Some(());
        }
        let at = Location::caller();
        match frame {
            Frame::Eager {
                member,
                envelope,
                cost,
                value,
            } => {
                let arrival = Arrival {
                    member,
                    envelope,
                    value,
                    from,
                    credit: cost,
                };
                self.may_be_local(member).then_some(())?;
                self.change(|matching| matching.arrive(arrival, true, at));
            }
            Frame::RequestToSend {
                member,
                envelope,
                entry,
                count,
                ready,
            } => {
                let value = Erased::remote(RemoteValue {
                    scheduler: from,
                    entry,
                    count,
                    asked: false,
                });
                let arrival = Arrival {
                    member,
                    envelope,
                    value,
                    from,
                    credit: 0,
                };
                self.may_be_local(member).then_some(())?;
                if !self.change(|matching| matching.arrive(arrival, !ready, at)) {
                    others.send(from, Frame::Refused { entry });
                }
            }
            Frame::ClearToSend { entry } => {
                if let Some(value) = self.change(|matching| matching.release(entry)) {
                    self.send_kept(others, from, entry, value);
                }
            }
            Frame::Data { entry, value } => {
                let before = self.change(|matching| matching.value_arrived(from, entry, value));
                self.guarded("dropped", || drop(before));
            }
            Frame::Refused { entry } => {
                let refused = self.change(|matching| matching.refused(entry));
                self.guarded("dropped", || drop(refused));
            }
            Frame::Credit { bytes } => others.give_credit(from, bytes),
            Frame::TypeName { number, name } => others.name_type(number, name),
            Frame::Collective { context, bytes } => {
                return self.handle_collective(from, context, bytes);
            }
            Frame::Access {
                context,
                member,
                entry,
                value,
            } => {
                let asker = Asker {
                    scheduler: from,
                    entry,
                };
                self.accessed((context, member), value, asker);
            }
            Frame::Accessed { entry, value } => {
                let unwanted = self.change(|matching| matching.answered(entry, value));
                self.guarded("dropped", || drop(unwanted));
            }
        }
        Some(())
    }

    /// Sends the value of a message that was kept here to scheduler `to`, where it is for `entry`.
    /// A panic of user code fails the run.
    fn send_kept(&self, others: &Others, to: u32, entry: u32, value: Erased) {
        // The encoding and the drop of the value are user code.
        self.guarded("sent", || others.send(to, Frame::Data { entry, value }));
    }

    /// Calls user code for a message, outside of a process. A panic in `f` fails the run. `what`
    /// names the operation in that report.
    pub(super) fn guarded(&self, what: &str, f: impl FnOnce()) {
        if let (Err(panic), Some(others)) = (user_code::caught(f), &self.others) {
            others.fail(format!(
                "a message between ranks panicked when it was {what}: {panic}"
            ));
        }
    }

    /// Handles a frame of a collective call. Keeps the frame if no rank here has the communicator
    /// yet. Returns `None` if the frame is invalid.
    fn handle_collective(&self, from: u32, context: u32, bytes: Vec<u8>) -> Option<()> {
        match self.find_communicator(context) {
            Some(shared) => shared.handle_message(from, &bytes),
            None => {
                let mut early = self.early.borrow_mut();
                early.entry(context).or_default().push((from, bytes));
                Some(())
            }
        }
    }

    /// Handles, and removes, the frames that arrived before any rank here had the communicator
    /// `shared`. An invalid frame fails the run.
    pub(super) fn take_early(&self, shared: &Rc<CommunicatorState>) {
        let early = self.early.borrow_mut().remove(&shared.number());
        for (from, bytes) in early.into_iter().flatten() {
            if let (None, Some(others)) = (shared.handle_message(from, &bytes), &self.others) {
                others.fail(format!(
                    "invalid message of a collective call from {}",
                    others.name(from)
                ));
            }
        }
    }
}
