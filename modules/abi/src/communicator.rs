//! Communicators of a rank, by their handles.

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::c_int;
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::abi::{Comm, PROC_NULL};
use crate::error::{Class, Done, Fail, fail};
use crate::rank::{Rank, invalid};
use crate::table::Table;

/// How the errors of a communicator are handled.
#[derive(Debug, Clone, Default)]
pub(crate) enum Handler {
    /// The run ends (`MPI_ERRORS_ARE_FATAL`, `MPI_ERRORS_ABORT`).
    #[default]
    Fatal,
    /// The call returns the code (`MPI_ERRORS_RETURN`).
    Return,
}

/// Ranks of a communicator.
pub(crate) enum Ranks {
    /// An intracommunicator.
    Intra(core::Communicator),
    /// An intercommunicator.
    Inter(core::InterCommunicator),
}

/// A communicator of this rank.
pub(crate) struct Communicator {
    pub(crate) handle: Cell<Comm>,
    pub(crate) ranks: Ranks,
    pub(crate) handler: RefCell<Handler>,
}

/// All communicators of a rank.
#[derive(Default)]
pub(crate) struct Communicators {
    world: OnceCell<Rc<Communicator>>,
    alone: OnceCell<Rc<Communicator>>,
    table: RefCell<Table<Rc<Communicator>>>,
}

impl Communicator {
    fn new(ranks: Ranks, handle: Comm) -> Rc<Self> {
        Rc::new(Communicator {
            handle: Cell::new(handle),
            ranks,
            handler: RefCell::default(),
        })
    }

    /// Returns the intracommunicator.
    ///
    /// # Errors
    /// [`Class::Comm`] if it is an intercommunicator.
    pub(crate) fn intra(&self) -> Done<&core::Communicator> {
        match &self.ranks {
            Ranks::Intra(communicator) => Ok(communicator),
            Ranks::Inter(_) => fail!(Comm, "the communicator is an intercommunicator"),
        }
    }

    /// Returns the communicator that carries messages, and the rank in it of the first rank that
    /// messages can be sent to.
    #[inline]
    pub(crate) fn messages(&self) -> (&core::Communicator, usize) {
        match &self.ranks {
            Ranks::Intra(communicator) => (communicator, 0),
            Ranks::Inter(communicator) => communicator.bridge(),
        }
    }

    /// Returns the rank of the caller in its group.
    pub(crate) fn rank(&self) -> usize {
        match &self.ranks {
            Ranks::Intra(communicator) => communicator.rank(),
            Ranks::Inter(communicator) => communicator.rank(),
        }
    }

    /// Returns the number of ranks of the local group.
    pub(crate) fn size(&self) -> usize {
        match &self.ranks {
            Ranks::Intra(communicator) => communicator.size(),
            Ranks::Inter(communicator) => communicator.size(),
        }
    }

    /// Returns the number of ranks that messages can be sent to.
    pub(crate) fn peers(&self) -> usize {
        match &self.ranks {
            Ranks::Intra(communicator) => communicator.size(),
            Ranks::Inter(communicator) => communicator.remote_size(),
        }
    }

    /// Returns a rank that messages are sent to, or `None` for `MPI_PROC_NULL`.
    ///
    /// # Errors
    /// [`Class::Rank`] if the rank does not exist.
    #[inline]
    pub(crate) fn peer(&self, rank: c_int) -> Done<Option<usize>> {
        match usize::try_from(rank) {
            Ok(rank) if rank < self.peers() => Ok(Some(rank)),
            _ if rank == PROC_NULL => Ok(None),
            _ => fail!(
                Rank,
                "rank {rank} does not exist: the communicator has {} ranks",
                self.peers()
            ),
        }
    }
}

impl Communicators {
    /// Creates the communicators of all ranks, and of this rank alone.
    pub(crate) fn initialize(&self) -> Done {
        let world = core::world()?;
        let alone = Communicator::new(Ranks::Intra(world.alone()?), Comm::SELF);
        let world = Communicator::new(Ranks::Intra(world), Comm::WORLD);
        drop(self.alone.set(alone));
        drop(self.world.set(world));
        Ok(())
    }

    /// Adds a communicator, and returns its handle.
    pub(crate) fn add(&self, ranks: Ranks) -> Done<Comm> {
        let communicator = Communicator::new(ranks, Comm::NULL);
        let handle = self.table.borrow_mut().add(Rc::clone(&communicator));
        let handle = handle.ok_or_else(|| Fail::new(Class::NoMem, "too many communicators"))?;
        communicator.handle.set(Comm(handle));
        Ok(Comm(handle))
    }

    /// Returns the communicator of a handle.
    ///
    /// # Errors
    /// [`Class::Comm`] if the handle is null or invalid.
    #[inline]
    pub(crate) fn get(&self, handle: Comm) -> Done<Rc<Communicator>> {
        let found = match handle {
            Comm::WORLD => self.world.get().cloned(),
            Comm::SELF => self.alone.get().cloned(),
            Comm(handle) => self.table.borrow().get(handle).cloned(),
        };
        match found {
            Some(communicator) => Ok(communicator),
            None => invalid(Class::Comm, "communicator", handle.0),
        }
    }

    /// Handles an error of a call with this communicator. Returns false if the error is fatal.
    pub(crate) fn handle(&self, handle: Comm, fail: &Fail) -> bool {
        match self.get(handle) {
            Ok(communicator) => communicator.handles(fail),
            Err(_) => self.handle_without(fail),
        }
    }

    /// Handles an error of a call without a communicator: by `MPI_COMM_SELF`, or by
    /// `MPI_COMM_WORLD` if the former has the default handler.
    pub(crate) fn handle_without(&self, fail: &Fail) -> bool {
        let both = [self.alone.get(), self.world.get()];
        both.into_iter()
            .flatten()
            .any(|communicator| communicator.handles(fail))
    }
}

impl Communicator {
    fn handles(&self, _fail: &Fail) -> bool {
        match *self.handler.borrow() {
            Handler::Fatal => false,
            Handler::Return => true,
        }
    }
}

export! {
    fn MPI_Comm_rank(comm: Comm, rank: *mut c_int) on comm => |this| {
        rank.write(this.communicators.get(comm)?.rank() as c_int);
        Ok(())
    };
    fn MPI_Comm_size(comm: Comm, size: *mut c_int) on comm => |this| {
        size.write(this.communicators.get(comm)?.size() as c_int);
        Ok(())
    };
    fn MPI_Comm_dup(comm: Comm, new: *mut Comm) on comm => |this| {
        new.write(dup(this, comm)?);
        Ok(())
    };
}

fn dup(this: &Rank, comm: Comm) -> Done<Comm> {
    let parent = this.communicators.get(comm)?;
    let copy = crate::wait::wait(parent.intra()?.dup())?;
    this.communicators.add(Ranks::Intra(copy))
}
