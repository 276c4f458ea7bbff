//! Communicators of a rank, by their handles.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::{Comparison, SplitType};

use crate::abi::{
    CONGRUENT, Comm, Errhandler, Group, IDENT, Info, MAX_OBJECT_NAME, PROC_NULL, Request, SIMILAR,
    Status, UNDEFINED, UNEQUAL,
};
use crate::arguments::{get, put, write_text};
use crate::attribute::Attributes;
use crate::attribute::Values;
use crate::errhandler::Errhandlers;
use crate::errhandler::{Handler, Kind};
use crate::error::{Class, Done, Fail, fail};
use crate::group::Groups;
use crate::group::rank_in;
use crate::info::Infos;
use crate::info::Pairs;
use crate::rank::{self, Part, Rank, Slot, invalid};
use crate::request::Requests;
use crate::request::Started;
use crate::table::Table;
use crate::topology::shape::Topology;
use crate::wait::wait;

/// Values of the argument of `MPI_Comm_split_type`.
const TYPE_SHARED: c_int = 221;
const TYPE_HW_UNGUIDED: c_int = 222;
const TYPE_HW_GUIDED: c_int = 223;
const TYPE_RESOURCE_GUIDED: c_int = 224;

/// Hints of communicators that the standard defines.
const HINTS: [&[u8]; 5] = [
    b"mpi_assert_no_any_tag",
    b"mpi_assert_no_any_source",
    b"mpi_assert_exact_length",
    b"mpi_assert_allow_overtaking",
    b"mpi_assert_strict_persistent_collective_ordering",
];

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
    /// Topology. `MPI_Comm_dup` copies it.
    pub(crate) topology: OnceCell<Rc<Topology>>,
    pub(crate) attributes: Values,
    name: RefCell<Vec<u8>>,
    hints: RefCell<Pairs>,
}

/// All communicators of a rank.
#[derive(Default)]
pub(crate) struct Communicators {
    world: OnceCell<Rc<Communicator>>,
    alone: OnceCell<Rc<Communicator>>,
    /// A communicator that is being created has a handle without an object.
    table: RefCell<Table<Option<Rc<Communicator>>>>,
    /// Error handlers of duplicates that are being created, by their handles. A program may set
    /// one before it waits for the duplication, as other MPI libraries permit.
    duplicates: RefCell<HashMap<usize, Handler>>,
}

impl Part for Communicators {
    const SLOT: Slot = Slot::Communicators;
}

impl Communicator {
    fn new(ranks: Ranks, handle: Comm) -> Rc<Self> {
        Rc::new(Communicator {
            handle: Cell::new(handle),
            ranks,
            handler: RefCell::default(),
            topology: OnceCell::new(),
            attributes: Values::default(),
            name: RefCell::default(),
            hints: RefCell::default(),
        })
    }

    /// Returns the local group.
    pub(crate) fn group(&self) -> &core::Group {
        match &self.ranks {
            Ranks::Intra(communicator) => communicator.group(),
            Ranks::Inter(communicator) => communicator.group(),
        }
    }

    /// Returns the intercommunicator.
    ///
    /// # Errors
    /// [`Class::Comm`] if it is an intracommunicator.
    pub(crate) fn inter(&self) -> Done<&core::InterCommunicator> {
        match &self.ranks {
            Ranks::Inter(communicator) => Ok(communicator),
            Ranks::Intra(_) => fail!(Comm, "the communicator is not an intercommunicator"),
        }
    }

    /// Returns the name that the program has set.
    pub(crate) fn name(&self) -> Vec<u8> {
        self.name.borrow().clone()
    }

    /// Takes the error handler of the communicator from which this one was created.
    pub(crate) fn inherit(&self, parent: &Communicator) {
        let handler = parent.handler.borrow().clone();
        self.handler.replace(handler);
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
    #[inline]
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
    #[inline(always)]
    pub(crate) fn peer(&self, rank: c_int) -> Done<Option<usize>> {
        match usize::try_from(rank) {
            Ok(rank) if rank < self.peers() => Ok(Some(rank)),
            _ if rank == PROC_NULL => Ok(None),
            _ => self.no_peer(rank),
        }
    }

    #[cold]
    fn no_peer(&self, rank: c_int) -> Done<Option<usize>> {
        fail!(
            Rank,
            "rank {rank} does not exist: the communicator has {} ranks",
            self.peers()
        )
    }
}

impl Communicators {
    /// Creates the communicators of all ranks, and of this rank alone.
    pub(crate) fn initialize(&self) -> Done {
        let world = core::world()?;
        let alone = Communicator::new(Ranks::Intra(world.alone()?), Comm::SELF);
        let world = Communicator::new(Ranks::Intra(world), Comm::WORLD);
        alone.name.replace(b"MPI_COMM_SELF".to_vec());
        world.name.replace(b"MPI_COMM_WORLD".to_vec());
        drop(self.alone.set(alone));
        drop(self.world.set(world));
        Ok(())
    }

    /// Returns a new handle, for a communicator that is being created.
    fn reserve(&self) -> Done<Comm> {
        let handle = self.table.borrow_mut().add(None);
        let none = || Fail::new(Class::NoMem, "too many communicators");
        Ok(Comm(handle.ok_or_else(none)?))
    }

    /// Sets the communicator of a new handle.
    fn set(&self, handle: Comm, ranks: Ranks) -> Rc<Communicator> {
        let communicator = Communicator::new(ranks, handle);
        if let Some(entry) = self.table.borrow_mut().get_mut(handle.0) {
            *entry = Some(Rc::clone(&communicator));
        }
        communicator
    }

    /// Sets the error handler of a communicator or of a duplicate that is being created. Returns
    /// the previous one.
    pub(crate) fn set_handler(&self, comm: Comm, handler: Handler) -> Done<Handler> {
        if let Some(duplicate) = self.duplicates.borrow_mut().get_mut(&comm.0) {
            return Ok(std::mem::replace(duplicate, handler));
        }
        Ok(self.get(comm)?.handler.replace(handler))
    }

    /// Adds a communicator, and returns its handle.
    pub(crate) fn add(&self, ranks: Ranks) -> Done<Comm> {
        let handle = self.reserve()?;
        self.set(handle, ranks);
        Ok(handle)
    }

    /// Adds a communicator with the error handler of another, and returns its handle.
    pub(crate) fn derive(&self, parent: &Communicator, ranks: Ranks) -> Done<Comm> {
        let handle = self.reserve()?;
        self.set(handle, ranks).inherit(parent);
        Ok(handle)
    }

    /// As [`Communicators::derive`]. Returns `MPI_COMM_NULL` for a rank that is not a member.
    pub(crate) fn derive_some(
        &self,
        parent: &Communicator,
        ranks: Option<core::Communicator>,
    ) -> Done<Comm> {
        match ranks {
            Some(ranks) => self.derive(parent, Ranks::Intra(ranks)),
            None => Ok(Comm::NULL),
        }
    }

    fn remove(&self, handle: Comm) {
        let removed = self.table.borrow_mut().remove(handle.0);
        // The drop may call the destructor of an error handler.
        drop(removed);
    }

    /// Returns the communicator of a handle.
    ///
    /// # Errors
    /// [`Class::Comm`] if the handle is null or invalid.
    #[inline(always)]
    pub(crate) fn get(&self, handle: Comm) -> Done<Rc<Communicator>> {
        let found = match handle {
            Comm::WORLD => self.world.get().cloned(),
            Comm::SELF => self.alone.get().cloned(),
            Comm(handle) => self.table.borrow().get(handle).cloned().flatten(),
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
    fn handles(&self, fail: &Fail) -> bool {
        let handler = self.handler.borrow().clone();
        handler.call(self.handle.get().0, fail.code)
    }

    /// Returns the future of the communicators that carry a duplicate. It begins now.
    fn copy(&self) -> Copying {
        match &self.ranks {
            Ranks::Intra(communicator) => {
                let made = communicator.dup();
                Box::pin(async { Ok(Ranks::Intra(made.await?)) })
            }
            Ranks::Inter(communicator) => {
                let made = communicator.dup();
                Box::pin(async { Ok(Ranks::Inter(made.await?)) })
            }
        }
    }
}

type Copying = Pin<Box<dyn Future<Output = Result<Ranks, core::Error>>>>;

/// A started duplication.
struct Duplication {
    copying: Copying,
    handle: Comm,
    hints: Pairs,
    /// Copies of the attributes, until the communicator exists.
    attributes: Values,
    topology: OnceCell<Rc<Topology>>,
}

impl Duplication {
    /// Starts the duplication of a communicator, and copies its attributes.
    fn new(this: &Rank, comm: Comm, hints: Info) -> Done<Self> {
        let parent = Communicators::of(this).get(comm)?;
        let hints = Infos::of(this).argument(hints)?;
        let attributes = Values::default();
        // All ranks must take part, even if a function of the program fails here.
        let copying = parent.copy();
        let copied = Attributes::of(this).copy_comm(comm, &parent.attributes, &attributes);
        if let Err(fail) = copied {
            wait(copying)?;
            return Err(fail);
        }
        let mut known = Pairs::default();
        known.update(&hints, is_hint);
        let communicators = Communicators::of(this);
        let handle = communicators.reserve()?;
        let handler = parent.handler.borrow().clone();
        communicators
            .duplicates
            .borrow_mut()
            .insert(handle.0, handler);
        Ok(Duplication {
            copying,
            handle,
            hints: known,
            attributes,
            topology: parent.topology.clone(),
        })
    }

    /// Polls the duplication. Creates the communicator when its ranks are known.
    fn poll_for(&mut self, this: &Rank, context: &mut Context<'_>) -> Poll<Done> {
        let made = std::task::ready!(self.copying.as_mut().poll(context));
        let communicators = &Communicators::of(this);
        let handler = communicators.duplicates.borrow_mut().remove(&self.handle.0);
        let made = match made {
            Ok(ranks) => communicators.set(self.handle, ranks),
            Err(error) => {
                communicators.remove(self.handle);
                return Poll::Ready(Err(error.into()));
            }
        };
        if let Some(handler) = handler {
            made.handler.replace(handler);
        }
        made.hints.replace(std::mem::take(&mut self.hints));
        made.attributes.take(&self.attributes);
        if let Some(topology) = self.topology.take() {
            drop(made.topology.set(topology));
        }
        Poll::Ready(Ok(()))
    }
}

impl Started for Duplication {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        // Requests are polled by calls of their rank.
        let Some(this) = rank::current() else {
            return Poll::Pending;
        };
        self.poll_for(&this, context).map_ok(|()| Status::EMPTY)
    }
}

fn dup(this: &Rank, comm: Comm, hints: Info) -> Done<Comm> {
    let mut duplication = Duplication::new(this, comm, hints)?;
    wait(poll_fn(|context| duplication.poll_for(this, context)))?;
    Ok(duplication.handle)
}

/// Returns true for a hint of communicators with a value that is allowed.
fn is_hint(key: &[u8], value: &[u8]) -> bool {
    HINTS.contains(&key) && [&b"true"[..], b"false"].contains(&value)
}

fn free(this: &Rank, comm: Comm) -> Done {
    let by = Communicators::of(this).get(comm)?;
    if [Comm::WORLD, Comm::SELF].contains(&comm) {
        return fail!(Comm, "a predefined communicator cannot be freed");
    }
    Attributes::of(this).delete_comm(comm, &by.attributes)?;
    Communicators::of(this).remove(comm);
    Ok(())
}

fn compare(left: &Communicator, right: &Communicator) -> Comparison {
    match (&left.ranks, &right.ranks) {
        (Ranks::Intra(left), Ranks::Intra(right)) => left.compare(right),
        (Ranks::Inter(left), Ranks::Inter(right)) => left.compare(right),
        _ => Comparison::Unequal,
    }
}

fn split(this: &Rank, comm: Comm, colour: c_int, key: c_int) -> Done<Comm> {
    let parent = Communicators::of(this).get(comm)?;
    let colour = match u32::try_from(colour) {
        Ok(colour) => Some(colour),
        Err(_) if colour == UNDEFINED => None,
        Err(_) => return fail!(Arg, "the colour {colour} is negative"),
    };
    match &parent.ranks {
        Ranks::Intra(ranks) => {
            let made = wait(ranks.split(colour, key.into()))?;
            Communicators::of(this).derive_some(&parent, made)
        }
        Ranks::Inter(ranks) => match wait(ranks.split(colour, key.into()))? {
            Some(made) => Communicators::of(this).derive(&parent, Ranks::Inter(made)),
            None => Ok(Comm::NULL),
        },
    }
}

fn split_type(this: &Rank, comm: Comm, by: c_int, key: c_int, info: Info) -> Done<Comm> {
    let parent = Communicators::of(this).get(comm)?;
    let ranks = parent.intra()?;
    let hints = Infos::of(this).argument(info)?;
    let is_shared = match by {
        TYPE_SHARED => true,
        // The OS process is the only resource that is known.
        TYPE_HW_GUIDED | TYPE_RESOURCE_GUIDED => {
            hints.get(b"mpi_hw_resource_type") == Some(b"mpi_shared_memory")
        }
        UNDEFINED | TYPE_HW_UNGUIDED => false,
        _ => return fail!(Arg, "the split type {by} does not exist"),
    };
    let made = match is_shared {
        true => Some(wait(ranks.split_type(SplitType::OsProcess, key.into()))?),
        false => wait(ranks.split(None, key.into()))?,
    };
    Communicators::of(this).derive_some(&parent, made)
}

fn create(this: &Rank, comm: Comm, group: Group) -> Done<Comm> {
    let parent = Communicators::of(this).get(comm)?;
    let group = Groups::of(this).get(group)?;
    if group.difference(parent.group()).size() > 0 {
        return fail!(
            Group,
            "the group has a rank that is not in the communicator"
        );
    }
    match &parent.ranks {
        Ranks::Intra(ranks) => {
            let made = wait(ranks.create(&group))?;
            Communicators::of(this).derive_some(&parent, made)
        }
        Ranks::Inter(ranks) => {
            let rank = rank_in(this, &group)?;
            let key = rank.unwrap_or_default() as i64;
            match wait(ranks.split(rank.map(|_| 0), key))? {
                Some(made) => Communicators::of(this).derive(&parent, Ranks::Inter(made)),
                None => Ok(Comm::NULL),
            }
        }
    }
}

fn create_group(this: &Rank, comm: Comm, group: Group, tag: c_int) -> Done<Comm> {
    let parent = Communicators::of(this).get(comm)?;
    let group = Groups::of(this).get(group)?;
    if tag < 0 {
        return fail!(Tag, "the tag {tag} is negative");
    }
    let made = wait(parent.intra()?.create_group(&group, tag))?;
    Communicators::of(this).derive_some(&parent, made)
}

/// Returns the tag of a creation from groups.
///
/// # Safety
/// `tag` must be null or a string.
pub(crate) unsafe fn string_tag(tag: *const c_char) -> Done<String> {
    if tag.is_null() {
        return fail!(Arg, "the tag is null");
    }
    // SAFETY: the tag is a string, as the caller guarantees.
    Ok(unsafe { CStr::from_ptr(tag) }
        .to_string_lossy()
        .into_owned())
}

export! {
    fn MPI_Comm_group(comm: Comm, group: *mut Group) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        put(group, Groups::of(this).add(by.group().clone())?)
    };
    fn MPI_Comm_rank(comm: Comm, rank: *mut c_int) on comm => |this| {
        put(rank, Communicators::of(this).get(comm)?.rank() as c_int)
    };
    fn MPI_Comm_size(comm: Comm, size: *mut c_int) on comm => |this| {
        put(size, Communicators::of(this).get(comm)?.size() as c_int)
    };
    fn MPI_Comm_compare(left: Comm, right: Comm, result: *mut c_int) on left => |this| {
        let (left, right) = (Communicators::of(this).get(left)?, Communicators::of(this).get(right)?);
        put(result, match compare(&left, &right) {
            Comparison::Identical => IDENT,
            Comparison::Congruent => CONGRUENT,
            Comparison::Similar => SIMILAR,
            Comparison::Unequal => UNEQUAL,
        })
    };
    fn MPI_Comm_dup(comm: Comm, new: *mut Comm) on comm => |this| {
        put(new, Comm::NULL)?;
        put(new, dup(this, comm, Info::NULL)?)
    };
    fn MPI_Comm_dup_with_info(comm: Comm, info: Info, new: *mut Comm) on comm => |this| {
        put(new, Comm::NULL)?;
        put(new, dup(this, comm, info)?)
    };
    fn MPI_Comm_idup(comm: Comm, new: *mut Comm, request: *mut Request) on comm => |this| {
        let duplication = Duplication::new(this, comm, Info::NULL)?;
        put(new, duplication.handle)?;
        put(request, Requests::of(this).add(duplication)?)
    };
    fn MPI_Comm_idup_with_info(
        comm: Comm, info: Info, new: *mut Comm, request: *mut Request,
    ) on comm => |this| {
        let duplication = Duplication::new(this, comm, info)?;
        put(new, duplication.handle)?;
        put(request, Requests::of(this).add(duplication)?)
    };
    fn MPI_Comm_split(comm: Comm, colour: c_int, key: c_int, new: *mut Comm) on comm => |this| {
        put(new, split(this, comm, colour, key)?)
    };
    fn MPI_Comm_split_type(
        comm: Comm, by: c_int, key: c_int, info: Info, new: *mut Comm,
    ) on comm => |this| {
        put(new, split_type(this, comm, by, key, info)?)
    };
    fn MPI_Comm_create(comm: Comm, group: Group, new: *mut Comm) on comm => |this| {
        put(new, create(this, comm, group)?)
    };
    fn MPI_Comm_create_group(
        comm: Comm, group: Group, tag: c_int, new: *mut Comm,
    ) on comm => |this| {
        put(new, create_group(this, comm, group, tag)?)
    };
    fn MPI_Comm_create_from_group(
        group: Group, tag: *const c_char, info: Info, errhandler: Errhandler, new: *mut Comm,
    ) on World => |this| {
        let group = Groups::of(this).get(group)?;
        let tag = string_tag(tag)?;
        let hints = Infos::of(this).argument(info)?;
        let handler = Errhandlers::of(this).get(errhandler, Kind::Comm)?;
        let Some(made) = wait(core::create_from_group(&group, &tag))? else {
            put(new, Comm::NULL)?;
            return Ok(());
        };
        let handle = Communicators::of(this).add(Ranks::Intra(made))?;
        let made = Communicators::of(this).get(handle)?;
        made.handler.replace(handler);
        made.hints.borrow_mut().update(&hints, is_hint);
        put(new, handle)
    };
    fn MPI_Comm_free(comm: *mut Comm) on unsafe {
        // SAFETY: the argument is null or valid for reading.
        comm.as_ref()
    }.map_or(World, |&comm| Of(comm)) => |this| {
        free(this, get(comm)?)?;
        put(comm, Comm::NULL)
    };
    fn MPI_Comm_disconnect(comm: *mut Comm) on unsafe {
        // SAFETY: the argument is null or valid for reading.
        comm.as_ref()
    }.map_or(World, |&comm| Of(comm)) => |this| {
        free(this, get(comm)?)?;
        put(comm, Comm::NULL)
    };
    fn MPI_Comm_set_name(comm: Comm, name: *const c_char) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        if name.is_null() {
            return fail!(Arg, "the name is null");
        }
        let name = CStr::from_ptr(name).to_bytes();
        by.name.replace(name[..name.len().min(MAX_OBJECT_NAME - 1)].to_vec());
        Ok(())
    };
    fn MPI_Comm_get_name(comm: Comm, name: *mut c_char, length: *mut c_int) on comm => |this| {
        let text = match comm {
            Comm::NULL => b"MPI_COMM_NULL".to_vec(),
            comm => Communicators::of(this).get(comm)?.name(),
        };
        write_text(&text, MAX_OBJECT_NAME, name, length);
        Ok(())
    };
    fn MPI_Comm_set_info(comm: Comm, info: Info) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let hints = Infos::of(this).read(info, Pairs::clone)?;
        by.hints.borrow_mut().update(&hints, is_hint);
        Ok(())
    };
    fn MPI_Comm_get_info(comm: Comm, info: *mut Info) on comm => |this| {
        let hints = Communicators::of(this).get(comm)?.hints.borrow().clone();
        put(info, Infos::of(this).add(hints)?)
    };
}
