//! The other schedulers of a run: where ranks are, and what goes to and fro.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use super::frame::Frame;
use super::group::Group;
use super::parcel::Parcel;
use graphmap_executor::exec::frames::Outside;
use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::placement::SchedulerId;

/// So many bytes of messages that no receive has taken may be at a scheduler from each other one, besides those that
/// their senders keep.
const CREDIT: u32 = 1 << 20;

/// What is known of one of them.
struct Peer {
    /// How many bytes may be sent to it.
    credit: Cell<u32>,
    /// For how many it is to be told that there is room again.
    ungiven: Cell<u32>,
    /// The number of the type that was sent there last.
    last_type: Cell<u64>,
}

/// The other schedulers of a run.
pub(super) struct Others {
    me: u32,
    run: Arc<Run>,
    outside: Option<Rc<Outside>>,
    peers: Vec<Peer>,
    /// Which types each OS process was told the names of.
    told: RefCell<BTreeSet<(u32, u64)>>,
    /// The names of types that others send.
    names: RefCell<HashMap<u64, String>>,
}

/// Where the members of a communicator are, of whom not all are here.
pub(super) struct Distribution {
    /// The ranks in the communicator of those that are here: nothing that is kept for each rank is kept for others.
    pub(super) here: Group,
    /// The other schedulers that have any.
    pub(super) others: Vec<u32>,
    /// The scheduler of its rank 0, where its collective calls come together.
    pub(super) leader: u32,
}

impl Others {
    /// Those of a scheduler's run; `None`: it has all ranks.
    pub(super) fn of(
        run: &Arc<Run>,
        scheduler: SchedulerId,
        outside: Option<&Rc<Outside>>,
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
            outside: outside.cloned(),
            peers: (0..count).map(peer).collect(),
            told: RefCell::default(),
            names: RefCell::default(),
        })
    }

    pub(super) fn me(&self) -> u32 {
        self.me
    }

    pub(super) fn count(&self) -> u32 {
        self.peers.len() as u32
    }

    /// The scheduler of a rank of the world.
    #[inline]
    pub(super) fn home_of(&self, rank: u32) -> u32 {
        self.run.home_of(rank).0
    }

    /// The scheduler of a rank of the world, if it is not this one.
    #[inline]
    pub(super) fn elsewhere(&self, rank: u32) -> Option<u32> {
        Some(self.home_of(rank)).filter(|&home| home != self.me)
    }

    /// Where the members of a group are, of which `process_of` tells the process; `None`: here, all of them.
    pub(super) fn distribution(
        &self,
        group: &Group,
        process_of: impl Fn(u32) -> Option<u32>,
    ) -> Option<Distribution> {
        let mut here = Vec::new();
        let mut leader = None;
        let mut all = vec![false; self.peers.len()];
        for (rank, member) in (0..).zip(group.members()) {
            let home = process_of(member).map_or(self.me, |process| self.home_of(process));
            leader.get_or_insert(home);
            all[home as usize] = true;
            if home == self.me {
                here.push(rank);
            }
        }
        all[self.me as usize] = false;
        let others: Vec<u32> = (0..self.count())
            .filter(|&other| all[other as usize])
            .collect();
        (!others.is_empty()).then_some(Distribution {
            // They ascend.
            here: Group::of(here).ok()?,
            others,
            leader: leader?,
        })
    }

    /// Where a scheduler is, for people.
    pub(super) fn name(&self, scheduler: u32) -> String {
        match self.run.os_process() {
            Some(_) => format!(
                "OS process {}",
                self.run.os_process_of(SchedulerId(scheduler))
            ),
            None => format!("scheduler {scheduler}"),
        }
    }

    /// Ends the run.
    pub(super) fn fail(&self, why: String) {
        self.run.fail(None, why);
    }

    /// Takes credit for a message; `false`: there is not enough.
    pub(super) fn take_credit(&self, of: u32, cost: u32) -> bool {
        let credit = &self.peers[of as usize].credit;
        let left = credit.get().checked_sub(cost);
        left.inspect(|&left| credit.set(left)).is_some()
    }

    /// Another scheduler has room again.
    pub(super) fn give_credit(&self, of: u32, bytes: u32) {
        if let Some(peer) = self.peers.get(of as usize) {
            // More than there was is what nobody gives.
            let credit = peer.credit.get().saturating_add(bytes);
            peer.credit.set(credit.min(CREDIT));
        }
    }

    /// There is room again for what another scheduler sends: it is told when that is worth it. Until then, it asks before it
    /// sends.
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

    /// Sends something to another scheduler: code of the user, where a value goes as bytes.
    pub(super) fn send(&self, to: u32, frame: Frame) {
        if let Some(here) = self.run.here(SchedulerId(to)) {
            self.run.post(here, (self.me, Box::new(frame)));
            return;
        }
        let Some(outside) = &self.outside else { return };
        if let Frame::Eager { parcel, .. } | Frame::Data { parcel, .. } = &frame {
            self.tell_name(outside, to, parcel);
        }
        let mut buffer = outside.buffer();
        buffer.clear();
        let (header, bytes) = frame.to_bytes(buffer);
        outside.send_owned(to, header, bytes);
    }

    /// Tells another scheduler what the type of a value is called, if it was not told before.
    #[inline]
    fn tell_name(&self, outside: &Outside, to: u32, parcel: &Parcel) {
        let number = parcel.number();
        if self.peers[to as usize].last_type.replace(number) == number {
            return;
        }
        if let (true, Ok(name)) = (
            self.told.borrow_mut().insert((to, number)),
            parcel.type_name(),
        ) {
            let name = name.to_string();
            let (header, bytes) = Frame::TypeName { number, name }.to_bytes(Vec::new());
            outside.send_owned(to, header, bytes);
        }
    }

    /// Another scheduler has said what a type is called.
    pub(super) fn name_type(&self, number: u64, name: String) {
        self.names.borrow_mut().insert(number, name);
    }

    /// What the type of a number is called.
    pub(super) fn type_name(&self, number: u64) -> Option<String> {
        self.names.borrow().get(&number).cloned()
    }
}
