//! State behind the handle of a communicator.

use std::cell::RefCell;
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::abi::MPI_Comm;
use crate::attribute::Attributes;
use crate::phase::PhaseHandle;
use crate::raw::AsRaw;

/// Communicators that each rank has from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The communicator of all ranks (`MPI_COMM_WORLD`).
    World,
    /// The communicator of the rank alone (`MPI_COMM_SELF`).
    SelfComm,
}

/// One or two groups of a communicator, as the runtime represents them.
pub(crate) enum Groups {
    One(core::Communicator),
    Two(core::InterCommunicator),
}

impl From<core::Communicator> for Groups {
    fn from(one: core::Communicator) -> Self {
        Groups::One(one)
    }
}

impl From<core::InterCommunicator> for Groups {
    fn from(two: core::InterCommunicator) -> Self {
        Groups::Two(two)
    }
}

impl Groups {
    /// Returns the communicator of the group of this rank.
    fn local(&self) -> &core::Communicator {
        match self {
            Groups::One(one) => one,
            Groups::Two(two) => two.local(),
        }
    }

    /// Returns the group that messages are sent to and received from.
    fn peers(&self) -> &core::Group {
        match self {
            Groups::One(one) => one.group(),
            Groups::Two(two) => two.remote_group(),
        }
    }

    /// Returns the communicator that carries the messages, and the translation of ranks. For one
    /// group, ranks are not translated. For two, they are ranks of the remote group.
    #[inline]
    pub(crate) fn messages(&self) -> Messages<'_> {
        let (communicator, offset, peers) = match self {
            // The runtime checks the ranks of the communicator.
            Groups::One(one) => (one, 0, usize::MAX),
            Groups::Two(two) => {
                let (bridge, offset) = two.bridge();
                (bridge, offset, two.remote_size())
            }
        };
        Messages {
            communicator,
            offset,
            peers,
        }
    }
}

/// A communicator that carries messages. Ranks of an intercommunicator are translated: the ranks of
/// the remote group begin at `offset`.
#[derive(Clone, Copy)]
pub(crate) struct Messages<'a> {
    pub(crate) communicator: &'a core::Communicator,
    pub(crate) offset: usize,
    peers: usize,
}

impl Messages<'_> {
    /// Translates a rank that the program has passed. A rank that does not exist is translated to
    /// another that does not exist.
    #[inline]
    pub(crate) fn peer(&self, rank: usize) -> usize {
        match rank < self.peers {
            true => rank + self.offset,
            false => rank.max(self.communicator.size()),
        }
    }
}

/// A communicator of one rank. All handles of the rank for `MPI_COMM_WORLD` share one, and so do
/// those for `MPI_COMM_SELF`.
pub(crate) struct Shared {
    groups: Groups,
    pub(crate) name: RefCell<String>,
    pub(crate) grid: Option<core::Cartesian>,
    /// Sources and destinations of the rank, if the communicator has a distributed graph.
    pub(crate) graph: Option<core::Neighbours>,
    pub(crate) attributes: Attributes,
    pub(crate) phase: PhaseHandle,
}

impl Shared {
    pub(crate) fn new(groups: impl Into<Groups>, name: String, phase: PhaseHandle) -> Self {
        Shared {
            groups: groups.into(),
            name: RefCell::new(name),
            grid: None,
            graph: None,
            attributes: Attributes::default(),
            phase,
        }
    }

    /// Returns the state of a communicator that is made from this one, for the same rank. It has no
    /// name, no topology and no attributes.
    pub(crate) fn derived(&self, groups: impl Into<Groups>) -> Shared {
        Shared::new(groups, String::new(), self.phase.clone())
    }

    /// Returns the groups, for a call that communicates.
    ///
    /// # Panics
    /// If the rank was finalized.
    #[track_caller]
    #[inline]
    pub(crate) fn groups(&self) -> &Groups {
        self.phase.check();
        &self.groups
    }

    /// Returns the communicator of the only group, for a call that is not defined for two groups.
    ///
    /// # Panics
    /// If the rank was finalized, or this is an intercommunicator.
    #[track_caller]
    pub(crate) fn core(&self) -> &core::Communicator {
        match self.groups() {
            Groups::One(one) => one,
            Groups::Two(_) => panic!(
                "the call is not defined for an intercommunicator: `merge` makes a communicator of both groups"
            ),
        }
    }

    /// Returns the remote group, or `None` if there is only one group.
    pub(crate) fn remote(&self) -> Option<&core::Group> {
        match &self.groups {
            Groups::One(_) => None,
            Groups::Two(two) => Some(two.remote_group()),
        }
    }

    /// Returns the group that messages go to and come from.
    pub(crate) fn peers(&self) -> &core::Group {
        self.groups.peers()
    }

    /// Returns the raw handle, which is valid as long as this value lives.
    pub(crate) fn handle(&self) -> MPI_Comm {
        MPI_Comm(std::ptr::from_ref(self).cast())
    }

    /// Returns the communicator of the local group. Does not check the rank's phase, so the caller
    /// must not communicate.
    pub(crate) fn known(&self) -> &core::Communicator {
        self.groups.local()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.attributes.clear(self.handle()).resume();
    }
}

/// A handle of a communicator.
pub struct CommunicatorHandle(pub(crate) Rc<Shared>);

impl CommunicatorHandle {
    pub(crate) fn new(shared: Shared) -> Self {
        CommunicatorHandle(Rc::new(shared))
    }

    /// Returns the communicator of a raw handle, and takes over its ownership.
    ///
    /// # Safety
    /// As for [`FromRaw`](crate::raw::FromRaw).
    pub(crate) unsafe fn from_raw(raw: MPI_Comm) -> Self {
        // SAFETY: guaranteed by the caller.
        CommunicatorHandle(unsafe { Rc::from_raw(raw.0.cast()) })
    }

    /// Returns the only group, and panics as [`Shared::core`] does.
    #[track_caller]
    pub(crate) fn core(&self) -> &core::Communicator {
        self.0.core()
    }

    /// Returns the groups, and panics as [`Shared::groups`] does.
    #[track_caller]
    #[inline]
    pub(crate) fn groups(&self) -> &Groups {
        self.0.groups()
    }
}

// SAFETY: the raw handle points to the `Shared`, which lives at least as long as this handle.
unsafe impl AsRaw for CommunicatorHandle {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.handle()
    }
}

/// A value that has a communicator.
pub trait AsHandle: AsRaw<Raw = MPI_Comm> {
    /// Returns the handle.
    fn as_handle(&self) -> &CommunicatorHandle;
}
