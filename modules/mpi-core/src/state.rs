//! State that the ranks of a scheduler, of a communicator and of a collective call share. The
//! structures refer to each other. Operations are in `world.rs`, `communicator.rs`, `instance.rs`
//! and `distributed.rs`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::Location;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::call::{Call, Caller};
use super::endpoint::{Endpoints, ThreadTable};
use super::error::Error;
use super::group::Group;
use super::matching::Matching;
use super::others::{Distribution, Others};
use super::traffic::Traffic;
use super::window::Exposed;
use graphmap_executor::exec::report::UnreceivedMessages;
use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::payload::DecodeError;

/// The ranks of a scheduler, and the messages to them.
pub(super) struct World {
    /// Unique among the worlds of this OS process.
    pub(super) id: u64,
    pub(super) run: Arc<Run>,
    /// Number of ranks of the run.
    pub(super) ranks: u32,
    pub(super) matching: RefCell<Matching>,
    /// The other schedulers, if the run has several.
    pub(super) others: Option<Others>,
    /// Number of the next communicator.
    pub(super) next: Cell<u32>,
    /// The existing communicators, by number.
    pub(super) communicators: RefCell<BTreeMap<u32, Weak<CommunicatorState>>>,
    /// The communicator of all ranks, until the run ends.
    pub(super) all: RefCell<Option<Rc<CommunicatorState>>>,
    /// Predefined communicators other than the world, by number, until the run ends.
    pub(super) known: RefCell<BTreeMap<u32, Rc<CommunicatorState>>>,
    /// The endpoints that this scheduler knows.
    pub(super) endpoints: RefCell<Endpoints>,
    /// The threads that own ranks of this scheduler.
    pub(super) threads: ThreadTable,
    /// Messages sent so far, if the run is profiled.
    pub(super) traffic: Option<RefCell<Traffic>>,
    /// Messages that no rank can receive any more.
    pub(super) unreceived: RefCell<UnreceivedMessages>,
    /// Data for collective calls of communicators that do not exist on this scheduler yet.
    pub(super) early: RefCell<HashMap<u32, Vec<Early>>>,
    /// Memory that ranks here expose, by the communicator of the window and the member.
    pub(super) windows: RefCell<HashMap<(u32, u32), Rc<dyn Exposed>>>,
    /// Last group that was found to be within a communicator, and the number of that communicator.
    pub(super) within: RefCell<Option<(u32, Group)>>,
    /// Communicators with active collective calls. They are kept even if no rank here has a handle.
    pub(super) busy: RefCell<HashMap<u32, Rc<CommunicatorState>>>,
}

/// Early data: the scheduler that sent it, and the bytes.
pub(super) type Early = (u32, Vec<u8>);

/// State that the ranks of a communicator share.
pub(super) struct CommunicatorState {
    pub(super) world: Rc<World>,
    pub(super) number: u32,
    pub(super) group: Group,
    /// Number of ranks in `group`.
    pub(super) size: u32,
    pub(super) name: String,
    pub(super) instances: RefCell<Instances>,
    /// Schedulers of the ranks, if not all ranks are here.
    pub(super) distribution: Option<Rc<Distribution>>,
}

/// A collective instance.
pub(super) struct Instance {
    /// The call, the first rank here that made it, and its position. `None` before the first rank
    /// arrives.
    pub(super) call: Option<(Call, u32, &'static Location<'static>)>,
    /// Number of ranks here that have arrived.
    pub(super) arrived: u32,
    /// Number of ranks here that are done with the instance.
    pub(super) left: u32,
    /// The root has contributed the value that all ranks need.
    pub(super) root_came: bool,
    pub(super) complete: bool,
    pub(super) error: Option<Error>,
    /// A `Data`. `None` while user code works on it.
    pub(super) data: Option<Box<dyn Any>>,
    /// Entries of the ranks that wait.
    pub(super) waiting: Vec<u32>,
    /// Additional state if some ranks are on other schedulers.
    pub(super) distributed: Option<Box<Distributed>>,
}

/// The active collective instances of a communicator.
#[derive(Default)]
pub(super) struct Instances {
    /// Number of the next instance of each rank here, by its index among them. Empty if it is
    /// `first` for all of them.
    pub(super) next_numbers: Vec<u32>,
    /// Number of the first instance in `open`.
    pub(super) first: u32,
    pub(super) open: VecDeque<Instance>,
}

/// Message between schedulers about a collective instance.
pub(super) enum CollectiveMessage {
    /// To the leader: all ranks of the sender have arrived. Contains the first call and their
    /// contributions.
    Arrived { caller: Caller, parts: Vec<u8> },
    /// To the leader: the call of a rank of the sender is an error.
    Rejected { error: Error },
    /// Value of the root for the ranks of the receiver, in a call with this signature.
    Root { signature: u64, outcome: Vec<u8> },
    /// From the leader: the result for the ranks of the receiver. Ends the instance.
    Complete { signature: u64, outcome: Vec<u8> },
    /// From the leader: the error that all ranks receive. Ends the instance.
    Failed { error: Error },
}

graphmap_executor::payload!(
    enum CollectiveMessage {
        Arrived { caller, parts },
        Rejected { error },
        Root { signature, outcome },
        Complete { signature, outcome },
        Failed { error },
    }
);

/// Computes the result from the contributions of other schedulers and of the ranks here, unless the
/// root has sent it to all. Returns the data for each of the other schedulers.
pub(super) type Finish = Box<
    dyn FnOnce(&CommunicatorState, &mut dyn Any, Vec<Vec<u8>>, bool) -> Result<Shares, DecodeError>,
>;
/// Reads the result of a call for the ranks here.
pub(super) type Accept = fn(&CommunicatorState, &mut dyn Any, &[u8]) -> Result<(), DecodeError>;
/// Data for each of the other schedulers.
pub(super) type Shares = Vec<(u32, Vec<u8>)>;

/// Additional state of a collective instance whose ranks are on several schedulers.
#[derive(Default)]
pub(super) struct Distributed {
    /// At the leader: the first call of another scheduler.
    pub(super) caller: Option<Caller>,
    /// At the leader: the contributions of the other schedulers.
    pub(super) parts: Vec<Vec<u8>>,
    /// At the leader: set when all ranks here have arrived.
    pub(super) finish: Option<Finish>,
    /// Reads results. `None` before the first rank here arrives.
    pub(super) accept: Option<Accept>,
    /// Messages that arrived before `accept` was set.
    pub(super) pending: Vec<CollectiveMessage>,
    /// No more messages will arrive.
    pub(super) closed: bool,
}
