//! What is behind the handle of a communicator.

use std::cell::RefCell;
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::abi::MPI_Comm;
use crate::attribute::Attributes;
use crate::life::Life;
use crate::raw::AsRaw;

/// The communicators that each rank has from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// That of all ranks.
    World,
    /// That of a rank alone.
    Itself,
}

/// The groups of a communicator, as the runtime has them.
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
    /// The group of the rank that has this.
    fn local(&self) -> &core::Communicator {
        match self {
            Groups::One(one) => one,
            Groups::Two(two) => two.local(),
        }
    }

    /// The group that messages go to and come from.
    fn peers(&self) -> &core::Group {
        match self {
            Groups::One(one) => one.group(),
            Groups::Two(two) => two.remote_group(),
        }
    }

    /// The communicator that carries the messages.
    #[inline]
    pub(crate) fn messages(&self) -> Messages<'_> {
        let (communicator, offset, peers) = match self {
            // All ranks are those of the communicator, which checks them.
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

/// A communicator that carries messages. The ranks of an intercommunicator are translated: those of
/// the remote group begin at `offset` there.
#[derive(Clone, Copy)]
pub(crate) struct Messages<'a> {
    pub(crate) communicator: &'a core::Communicator,
    pub(crate) offset: usize,
    peers: usize,
}

impl Messages<'_> {
    /// Translates a rank that the program names. One that does not exist stays one.
    #[inline]
    pub(crate) fn peer(&self, rank: usize) -> usize {
        match rank < self.peers {
            true => rank + self.offset,
            false => rank.max(self.communicator.size()),
        }
    }
}

/// A communicator, as a rank has it: all of its handles of the world share one, and so do those of itself.
pub(crate) struct Shared {
    groups: Groups,
    pub(crate) name: RefCell<String>,
    pub(crate) grid: Option<core::Cartesian>,
    /// Whom the rank receives from and sends to, where ranks have said so.
    pub(crate) graph: Option<core::Neighbours>,
    pub(crate) attributes: Attributes,
    pub(crate) life: Life,
}

impl Shared {
    pub(crate) fn new(groups: impl Into<Groups>, name: String, life: Life) -> Self {
        Shared {
            groups: groups.into(),
            name: RefCell::new(name),
            grid: None,
            graph: None,
            attributes: Attributes::default(),
            life,
        }
    }

    /// One that is made of this one.
    pub(crate) fn derived(&self, groups: impl Into<Groups>) -> Shared {
        Shared::new(groups, String::new(), self.life.clone())
    }

    /// Returns the groups, for a call that communicates.
    ///
    /// # Panics
    /// If the rank was finalized.
    #[track_caller]
    #[inline]
    pub(crate) fn groups(&self) -> &Groups {
        self.life.check();
        &self.groups
    }

    /// Returns the only group, for a call that is not defined for two.
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

    /// Returns the remote group; `None`: there is only one.
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

    /// Its handle.
    pub(crate) fn handle(&self) -> MPI_Comm {
        MPI_Comm(std::ptr::from_ref(self).cast())
    }

    /// Returns the local group, at any time: for what does not communicate.
    pub(crate) fn known(&self) -> &core::Communicator {
        self.groups.local()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.attributes.clear(self.handle()).go_on();
    }
}

/// A handle of a communicator.
pub struct CommunicatorHandle(pub(crate) Rc<Shared>);

impl CommunicatorHandle {
    pub(crate) fn new(shared: Shared) -> Self {
        CommunicatorHandle(Rc::new(shared))
    }

    /// # Safety
    /// As for [`FromRaw`](crate::raw::FromRaw).
    pub(crate) unsafe fn from_raw(raw: MPI_Comm) -> Self {
        // SAFETY: as the caller says.
        CommunicatorHandle(unsafe { Rc::from_raw(raw.0.cast()) })
    }

    /// The only group: see [`Shared::core`].
    #[track_caller]
    pub(crate) fn core(&self) -> &core::Communicator {
        self.0.core()
    }

    /// The groups: see [`Shared::groups`].
    #[track_caller]
    #[inline]
    pub(crate) fn groups(&self) -> &Groups {
        self.0.groups()
    }
}

// SAFETY: what it points to lives as long as the handle at least.
unsafe impl AsRaw for CommunicatorHandle {
    type Raw = MPI_Comm;

    fn as_raw(&self) -> MPI_Comm {
        self.0.handle()
    }
}

/// Whatever has a communicator.
pub trait AsHandle: AsRaw<Raw = MPI_Comm> {
    /// Its handle.
    fn as_handle(&self) -> &CommunicatorHandle;
}
