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

/// A communicator, as a rank has it: all of its handles of the world share one, and so do those of itself.
pub(crate) struct Shared {
    core: core::Communicator,
    pub(crate) name: RefCell<String>,
    pub(crate) grid: Option<core::Cartesian>,
    /// Whom the rank receives from and sends to, where ranks have said so.
    pub(crate) graph: Option<core::Neighbours>,
    pub(crate) attributes: Attributes,
    pub(crate) life: Life,
}

impl Shared {
    pub(crate) fn new(core: core::Communicator, name: String, life: Life) -> Self {
        Shared {
            core,
            name: RefCell::new(name),
            grid: None,
            graph: None,
            attributes: Attributes::default(),
            life,
        }
    }

    /// One that is made of this one.
    pub(crate) fn derived(&self, core: core::Communicator) -> Shared {
        Shared::new(core, String::new(), self.life.clone())
    }

    /// The communicator of the runtime.
    ///
    /// # Panics
    /// If the rank was finalized.
    #[track_caller]
    pub(crate) fn core(&self) -> &core::Communicator {
        assert!(
            self.life.is_initialized(),
            "a call after the rank was finalized: its `Universe` was dropped"
        );
        &self.core
    }

    /// Its handle.
    pub(crate) fn handle(&self) -> MPI_Comm {
        MPI_Comm(std::ptr::from_ref(self).cast())
    }

    /// What does not communicate can be asked for at any time.
    pub(crate) fn known(&self) -> &core::Communicator {
        &self.core
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

    /// The communicator of the runtime.
    #[track_caller]
    pub(crate) fn core(&self) -> &core::Communicator {
        self.0.core()
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
