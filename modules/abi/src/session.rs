//! Sessions (MPI-5.0, section 11.3).

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int};

use graphmap_runtime::mpi as core;

use crate::abi::{Errhandler, Group, Info, Session};
use crate::arguments::{get, put, write_text};
use crate::errhandler::Errhandlers;
use crate::errhandler::{Handler, Kind};
use crate::error::{Class, Done, Fail, fail};
use crate::group::Groups;
use crate::info::Infos;
use crate::info::Pairs;
use crate::rank::{Part, Rank, Slot, invalid};
use crate::table::Table;

/// Names of the process sets.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// A session.
struct Open {
    handler: Handler,
    info: Pairs,
}

/// All sessions of a rank.
#[derive(Default)]
pub(crate) struct Sessions {
    table: RefCell<Table<Open>>,
    count: Cell<usize>,
}

impl Part for Sessions {
    const SLOT: Slot = Slot::Sessions;
}

impl Sessions {
    /// Returns true if the rank has a session, so that it may call MPI without `MPI_Init`.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.count.get() > 0
    }

    fn read<T>(&self, session: Session, f: impl FnOnce(&mut Open) -> T) -> Done<T> {
        match self.table.borrow_mut().get_mut(session.0) {
            Some(open) => Ok(f(open)),
            None => invalid(Class::Session, "session", session.0),
        }
    }

    /// Returns the error handler of a session.
    ///
    /// # Errors
    /// [`Class::Session`] if the handle is null or invalid.
    pub(crate) fn handler(&self, session: Session) -> Done<Handler> {
        self.read(session, |open| open.handler.clone())
    }

    /// Sets the error handler of a session.
    ///
    /// # Errors
    /// As for [`Sessions::handler`].
    pub(crate) fn set_handler(&self, session: Session, handler: Handler) -> Done {
        let before = self.read(session, |open| {
            std::mem::replace(&mut open.handler, handler)
        })?;
        // May call a function of the program.
        drop(before);
        Ok(())
    }

    /// Checks a session.
    ///
    /// # Errors
    /// As for [`Sessions::handler`].
    pub(crate) fn check(&self, session: Session) -> Done {
        self.read(session, |_| ())
    }
}

/// Returns the group of a process set.
///
/// # Safety
/// `name` must be null or a string.
unsafe fn set(this: &Rank, name: *const c_char) -> Done<core::Group> {
    if name.is_null() {
        return fail!(Arg, "the name of the process set is null");
    }
    // SAFETY: the name is a string, as the caller guarantees.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let index = SETS.iter().position(|set| set.eq_ignore_ascii_case(&name));
    match index {
        Some(0) => Ok(core::world()?.group().clone()),
        Some(_) => Ok(core::Group::of(vec![this.number() as u32])?),
        None => fail!(Arg, "the process set {name} does not exist"),
    }
}

export! {
    fn MPI_Session_init(
        info: Info, errhandler: Errhandler, session: *mut Session,
    ) on Always => |this| {
        let handler = Errhandlers::of(this).get(errhandler, Kind::Session)?;
        let info = Infos::of(this).argument(info)?;
        let handle = Sessions::of(this).table.borrow_mut().add(Open { handler, info });
        let handle = handle.ok_or_else(|| Fail::new(Class::NoMem, "too many sessions"))?;
        Sessions::of(this).count.set(Sessions::of(this).count.get() + 1);
        put(session, Session(handle))
    };
    fn MPI_Session_finalize(session: *mut Session) on unsafe {
        // SAFETY: the argument is null or valid for reading.
        session.as_ref()
    }.map_or(Always, |&session| In(session)) => |this| {
        let handle = get(session)?;
        let open = Sessions::of(this).table.borrow_mut().remove(handle.0);
        if open.is_none() {
            return invalid(Class::Session, "session", handle.0);
        }
        Sessions::of(this).count.set(Sessions::of(this).count.get() - 1);
        put(session, Session::NULL)
    };
    fn MPI_Session_get_info(session: Session, info: *mut Info) on session => |this| {
        let mut pairs = Sessions::of(this).read(session, |open| open.info.clone())?;
        pairs.set(b"thread_level", b"MPI_THREAD_FUNNELED");
        put(info, Infos::of(this).add(pairs)?)
    };
    fn MPI_Session_get_num_psets(
        session: Session, info: Info, count: *mut c_int,
    ) on session => |this| {
        Sessions::of(this).check(session)?;
        Infos::of(this).argument(info)?;
        put(count, SETS.len() as c_int)
    };
    fn MPI_Session_get_nth_pset(
        session: Session, info: Info, index: c_int, length: *mut c_int, name: *mut c_char,
    ) on session => |this| {
        Sessions::of(this).check(session)?;
        Infos::of(this).argument(info)?;
        let set = usize::try_from(index).ok().and_then(|index| SETS.get(index));
        let Some(set) = set else {
            return fail!(Arg, "the process set {index} does not exist");
        };
        if let Ok(room) = usize::try_from(get(length)?)
            && room > 0
        {
            write_text(set.as_bytes(), room, name, std::ptr::null_mut());
        }
        put(length, set.len() as c_int + 1)
    };
    fn MPI_Session_get_pset_info(
        session: Session, name: *const c_char, info: *mut Info,
    ) on session => |this| {
        Sessions::of(this).check(session)?;
        let mut pairs = Pairs::default();
        pairs.set(b"mpi_size", set(this, name)?.size().to_string().as_bytes());
        put(info, Infos::of(this).add(pairs)?)
    };
    fn MPI_Group_from_session_pset(
        session: Session, name: *const c_char, group: *mut Group,
    ) on session => |this| {
        Sessions::of(this).check(session)?;
        put(group, Groups::of(this).add(set(this, name)?)?)
    };
}
