//! The other schedulers of a run: the location of ranks, and sending of frames.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::erased::Erased;
use super::frame::Frame;
use super::group::Group;
use graphmap_executor::exec::frames::Remote;
use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::placement::SchedulerId;

/// Number of bytes of unmatched messages from one scheduler that another one stores. Messages that
/// stay with their senders (rendezvous) do not count.
const CREDIT: u32 = 1 << 20;

/// State of one other scheduler.
struct Peer {
    /// Number of bytes that can be sent to it.
    credit: Cell<u32>,
    /// Number of freed bytes that are not reported to it yet.
    ungiven: Cell<u32>,
    /// Number of the type that was last sent to it.
    last_type: Cell<u64>,
}

/// The other schedulers of a run.
pub(super) struct Others {
    me: u32,
    run: Arc<Run>,
    remote: Option<Rc<Remote>>,
    peers: Vec<Peer>,
    /// Pairs of a scheduler and a type whose name has been sent to it.
    names_sent: RefCell<BTreeSet<(u32, u64)>>,
    /// Names of types that others have sent.
    names: RefCell<HashMap<u64, String>>,
}

/// Schedulers of the members of a communicator that is on several schedulers.
pub(super) struct Distribution {
    /// Ranks of the communicator that are here. Per-rank data is kept only for these.
    pub(super) here: Group,
    /// The other schedulers that have members.
    pub(super) others: Vec<u32>,
    /// Scheduler of rank 0, which coordinates collective calls.
    pub(super) leader: u32,
}

impl Others {
    /// Creates the state for `scheduler`, with full credit to each other one. `remote` is the link
    /// to other OS processes, if there are several. Returns `None` if the run has only one
    /// scheduler.
    pub(super) fn of(
        run: &Arc<Run>,
        scheduler: SchedulerId,
        remote: Option<&Rc<Remote>>,
    ) -> Option<Self> {
        let os_processes = run.os_process().map_or(1, |(_, count)| count);
        let count = run.inboxes() * os_processes;
        let peer = |_| Peer {
            credit: Cell::new(CREDIT),
            ungiven: Cell::new(0),
            last_type: Cell::new(0),
        };
        (count > 1).then(|| Others {
            me: scheduler.0,
            run: Arc::clone(run),
            remote: remote.cloned(),
            peers: (0..count).map(peer).collect(),
            names_sent: RefCell::default(),
            names: RefCell::default(),
        })
    }

    pub(super) fn me(&self) -> u32 {
        self.me
    }

    pub(super) fn count(&self) -> u32 {
        self.peers.len() as u32
    }

    /// Returns the scheduler of a world rank.
    #[inline]
    pub(super) fn scheduler_of(&self, rank: u32) -> u32 {
        self.run.owner_of(rank).0
    }

    /// Returns the scheduler of a world rank, or `None` if it is this scheduler.
    #[inline]
    pub(super) fn remote_scheduler(&self, rank: u32) -> Option<u32> {
        Some(self.scheduler_of(rank)).filter(|&scheduler| scheduler != self.me)
    }

    /// Returns the distribution of the members of `group`, or `None` if all of them are here.
    /// `process_of` returns the process of a member. A member whose process is not known counts as
    /// here.
    pub(super) fn distribution(
        &self,
        group: &Group,
        process_of: impl Fn(u32) -> Option<u32>,
    ) -> Option<Distribution> {
        let mut here = Vec::new();
        let mut leader = None;
        let mut all = vec![false; self.peers.len()];
        for (rank, member) in (0..).zip(group.members()) {
            let scheduler =
                process_of(member).map_or(self.me, |process| self.scheduler_of(process));
            leader.get_or_insert(scheduler);
            all[scheduler as usize] = true;
            if scheduler == self.me {
                here.push(rank);
            }
        }
        all[self.me as usize] = false;
        let others: Vec<u32> = (0..self.count())
            .filter(|&other| all[other as usize])
            .collect();
        (!others.is_empty()).then_some(Distribution {
            // The ranks ascend, so they are distinct.
            here: Group::of(here).ok()?,
            others,
            leader: leader?,
        })
    }

    /// Describes a scheduler in messages for users: "OS process N" if the run has several OS
    /// processes, and otherwise "scheduler N".
    pub(super) fn name(&self, scheduler: u32) -> String {
        match self.run.os_process() {
            Some(_) => format!(
                "OS process {}",
                self.run.os_process_of(SchedulerId(scheduler))
            ),
            None => format!("scheduler {scheduler}"),
        }
    }

    /// Fails the run with the message `why`. Returns afterwards, without a panic.
    pub(super) fn fail(&self, why: String) {
        self.run.fail(None, why);
    }

    /// Takes credit of `cost` bytes for a message to scheduler `of`, and returns true. Returns
    /// false, and leaves the credit unchanged, if it is too small. Panics if the scheduler does not
    /// exist.
    pub(super) fn take_credit(&self, of: u32, cost: u32) -> bool {
        let credit = &self.peers[of as usize].credit;
        let left = credit.get().checked_sub(cost);
        left.inspect(|&left| credit.set(left)).is_some()
    }

    /// Adds credit that scheduler `of` has returned. The sum is limited to `CREDIT`, which is 1
    /// MiB. Ignored if the scheduler does not exist.
    pub(super) fn give_credit(&self, of: u32, bytes: u32) {
        if let Some(peer) = self.peers.get(of as usize) {
            // A correct peer never returns more than `CREDIT`.
            let credit = peer.credit.get().saturating_add(bytes);
            peer.credit.set(credit.min(CREDIT));
        }
    }

    /// Records freed space of `bytes` bytes for messages of scheduler `to`. When the space that is
    /// not reported reaches half of `CREDIT` (512 KiB), it is all reported to that scheduler. Until
    /// then, a sender without credit asks before it sends. Ignored if the scheduler does not exist.
    pub(super) fn free_credit(&self, to: u32, bytes: u32) {
        let Some(peer) = self.peers.get(to as usize) else {
            return;
        };
        let ungiven = peer.ungiven.get().saturating_add(bytes);
        peer.ungiven.set(ungiven);
        if ungiven >= CREDIT / 2 {
            peer.ungiven.set(0);
            self.send(to, Frame::Credit { bytes: ungiven });
        }
    }

    /// Sends a frame to another scheduler. Does not wait. A frame to another OS process is encoded.
    /// This runs user code if the frame has a value, and a panic of that code is not caught. The
    /// name of the type of a message is sent before its first message. A frame to a scheduler of
    /// this OS process is dropped if the run has ended. A frame to another OS process is dropped if
    /// there is no link.
    pub(super) fn send(&self, to: u32, frame: Frame) {
        if let Some(here) = self.run.here(SchedulerId(to)) {
            self.run.send_request(here, (self.me, Box::new(frame)));
            return;
        }
        let Some(remote) = &self.remote else { return };
        if let Frame::Eager { value, .. } | Frame::Data { value, .. } = &frame {
            self.send_type_name(remote, to, value);
        }
        let mut buffer = remote.buffer();
        buffer.clear();
        let (header, bytes) = frame.to_bytes(buffer);
        remote.send_owned(to, header, bytes);
    }

    /// Sends the name of a value's type to another scheduler, unless it was already sent there.
    /// Sends nothing if the name is not known. Panics if the scheduler does not exist.
    #[inline]
    fn send_type_name(&self, remote: &Remote, to: u32, value: &Erased) {
        let number = value.number();
        if self.peers[to as usize].last_type.replace(number) == number {
            return;
        }
        if let (true, Ok(name)) = (
            self.names_sent.borrow_mut().insert((to, number)),
            value.type_name(),
        ) {
            let name = name.to_string();
            let (header, bytes) = Frame::TypeName { number, name }.to_bytes(Vec::new());
            remote.send_owned(to, header, bytes);
        }
    }

    /// Records the name of the type with `number`, which another scheduler has sent. It replaces an
    /// earlier name of that number.
    pub(super) fn name_type(&self, number: u64, name: String) {
        self.names.borrow_mut().insert(number, name);
    }

    /// Returns the name of the type with `number`, or `None` if no other scheduler has sent it.
    pub(super) fn type_name(&self, number: u64) -> Option<String> {
        self.names.borrow().get(&number).cloned()
    }
}
