//! What the ranks of a scheduler, of a communicator and of a collective call share, as data: each is found from each
//! other. What is done with it is in `world.rs`, `communicator.rs`, `round.rs` and `distributed.rs`.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::panic::Location;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::call::{Call, Caller};
use super::endpoint::{Desk, Endpoints};
use super::error::Error;
use super::group::Group;
use super::matching::Matching;
use super::others::{Distribution, Others};
use super::traffic::Traffic;
use super::window::Exposed;
use graphmap_executor::exec::report::UnreceivedMessages;
use graphmap_executor::exec::shared::Shared as Run;
use graphmap_executor::payload::DecodeError;

/// The ranks of a scheduler, and what is on its way to them.
pub(super) struct World {
    /// No other world of this OS process has it.
    pub(super) id: u64,
    pub(super) run: Arc<Run>,
    /// How many ranks the run has.
    pub(super) ranks: u32,
    pub(super) matching: RefCell<Matching>,
    /// The other schedulers, if there are any.
    pub(super) others: Option<Others>,
    /// The number of the next communicator.
    pub(super) next: Cell<u32>,
    /// Those that there are, by number.
    pub(super) communicators: RefCell<BTreeMap<u32, Weak<CommunicatorState>>>,
    /// That of all ranks, until the run is over.
    pub(super) all: RefCell<Option<Rc<CommunicatorState>>>,
    /// Those that all know, by number, which nobody makes: as long.
    pub(super) known: RefCell<BTreeMap<u32, Rc<CommunicatorState>>>,
    /// The endpoints that are known here.
    pub(super) endpoints: RefCell<Endpoints>,
    /// The threads that are ranks here.
    pub(super) desk: Desk,
    /// What was sent so far, where the run is profiled.
    pub(super) traffic: Option<RefCell<Traffic>>,
    /// What nobody has received so far, and never will.
    pub(super) unreceived: RefCell<UnreceivedMessages>,
    /// What has come for collective calls of communicators that nobody here has yet: from whom, and what.
    pub(super) early: RefCell<HashMap<u32, Vec<Early>>>,
    /// The memory that ranks here expose, by the communicator of its window and rank in the world.
    pub(super) windows: RefCell<HashMap<(u32, u32), Rc<dyn Exposed>>>,
    /// The last group that was found to be within a communicator, and the number of that.
    pub(super) within: RefCell<Option<(u32, Group)>>,
    /// Communicators with collective calls under way, which stay though nobody here has them any more.
    pub(super) busy: RefCell<HashMap<u32, Rc<CommunicatorState>>>,
}

/// What has come early: from which scheduler, and what.
pub(super) type Early = (u32, Vec<u8>);

/// What the ranks of a communicator share.
pub(super) struct CommunicatorState {
    pub(super) world: Rc<World>,
    pub(super) number: u32,
    pub(super) group: Group,
    /// How many ranks that has.
    pub(super) size: u32,
    pub(super) name: String,
    pub(super) rounds: RefCell<Rounds>,
    /// Where its ranks are, if not all are here.
    pub(super) distribution: Option<Rc<Distribution>>,
}

/// A round.
pub(super) struct Round {
    /// The call, who of those here has come first, and where its call is; `None`: nobody has.
    pub(super) call: Option<(Call, u32, &'static Location<'static>)>,
    /// How many of those here have come, and how many have gone on.
    pub(super) arrived: u32,
    pub(super) left: u32,
    /// The root has brought what all need.
    pub(super) root_came: bool,
    pub(super) complete: bool,
    pub(super) error: Option<Error>,
    /// A `Data`; not while code of the user works on it.
    pub(super) data: Option<Box<dyn Any>>,
    /// The entries of those who wait.
    pub(super) waiting: Vec<u32>,
    /// What there is besides where some ranks are on other schedulers.
    pub(super) distributed: Option<Box<Distributed>>,
}

/// The rounds of a communicator that are under way.
#[derive(Default)]
pub(super) struct Rounds {
    /// The number of the next round of each rank that is here, by its place among them; none where that is `first` for all.
    pub(super) turns: Vec<u32>,
    /// The number of the first round in the list.
    pub(super) first: u32,
    pub(super) open: VecDeque<Round>,
}

/// What schedulers tell each other of a round.
pub(super) enum Word {
    /// To the leader: all ranks there have come, the first of them with this call, and with what they bring.
    Arrived { caller: Caller, parts: Vec<u8> },
    /// To the leader: the call of a rank there is a mistake.
    Mistaken { error: Error },
    /// What the root gives to the ranks there, in a call of this sign.
    Root { sign: u64, outcome: Vec<u8> },
    /// From the leader: what comes of it for the ranks there. The round is over.
    Complete { sign: u64, outcome: Vec<u8> },
    /// From the leader: the mistake that all are to be told. The round is over.
    Failed { error: Error },
}

graphmap_executor::payload!(
    enum Word {
        Arrived { caller, parts },
        Mistaken { error },
        Root { sign, outcome },
        Complete { sign, outcome },
        Failed { error },
    }
);

/// Makes the result of what other schedulers have sent, as the parts here are, unless the root has given it to all: what
/// each of them is to get.
pub(super) type Finish = Box<
    dyn FnOnce(&CommunicatorState, &mut dyn Any, Vec<Vec<u8>>, bool) -> Result<Shares, DecodeError>,
>;
/// Reads what comes of a call for the ranks here.
pub(super) type Accept = fn(&CommunicatorState, &mut dyn Any, &[u8]) -> Result<(), DecodeError>;
/// What each of the other schedulers is to get.
pub(super) type Shares = Vec<(u32, Vec<u8>)>;

/// What there is of a round besides, where its ranks are on several schedulers.
#[derive(Default)]
pub(super) struct Distributed {
    /// At the leader: the first that came of those elsewhere, and what they all bring.
    pub(super) caller: Option<Caller>,
    pub(super) parts: Vec<Vec<u8>>,
    /// At the leader: all here have come.
    pub(super) finish: Option<Finish>,
    /// How to read what comes; not before somebody here has come.
    pub(super) accept: Option<Accept>,
    /// What has come before.
    pub(super) pending: Vec<Word>,
    /// Nothing more is to come.
    pub(super) closed: bool,
}
