//! The interface to the layer above the schedulers, such as the ranks of MPI. Processes wait in its
//! calls as they do at channels. A scheduler uses only [`Floor`] of it.

use super::frames::Outside;
use super::report::UnreceivedMessages;
use super::shared::Shared;
use super::statistics::RankTraffic;
use crate::link::between;
use crate::link::inbox::Letter;
use crate::place::Place;
use crate::placement::SchedulerId;
use std::any::Any;
use std::cell::Cell;
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

/// Receives a wait in a call. The arguments are the state word of the waiter, the rank that it
/// waits for (`None` for any of several), and a function that returns the description and the
/// position of the call.
pub type TellWait<'a> = &'a mut dyn FnMut(u32, Option<u32>, &dyn Fn() -> (String, Place));

/// The first kind of frame that belongs to the layer above.
pub const ABOVE: u32 = 64;

/// The part of the layer above that belongs to one scheduler.
pub trait Floor: Any {
    /// Passes each wait to the callback.
    fn calls(&self, tell: TellWait<'_>);

    /// Frees the state of the run after its processes have been dropped. Returns the number of
    /// messages that no rank has received, and a description of one of them.
    fn close(&self) -> UnreceivedMessages;

    /// Takes the traffic between ranks, if the run is profiled. No traffic is counted afterwards.
    fn traffic(&self) -> RankTraffic;

    /// Handles a request from another scheduler of this OS process.
    fn letter(&self, letter: Letter);

    /// Handles a frame from a scheduler of another OS process.
    ///
    /// # Errors
    /// Returns a message if the bytes are not a valid frame.
    fn frame(&self, from: u32, header: between::Header, bytes: &[u8]) -> Result<(), String>;
}

/// Creates the part of the layer above for one scheduler. The arguments are the run, the number of
/// the scheduler, and the connection to the other OS processes.
pub type MakeFloor = fn(&Arc<Shared>, SchedulerId, Option<&Rc<Outside>>) -> Rc<dyn Floor>;

/// Holder of the layer above. The layer is created when a process first uses it, or when a request
/// or frame for it arrives.
#[derive(Default)]
pub struct Above {
    floor: OnceCell<Rc<dyn Floor>>,
    make: Cell<Option<MakeFloor>>,
}

impl Above {
    /// Sets the function that creates the layer.
    pub fn set(&self, make: MakeFloor) {
        self.make.set(Some(make));
    }

    /// Returns the layer if it has been created.
    pub(super) fn made(&self) -> Option<&Rc<dyn Floor>> {
        self.floor.get()
    }

    /// Returns the layer, and creates it if necessary. Returns `None` if no function was set.
    pub(super) fn floor(
        &self,
        run: &Arc<Shared>,
        scheduler: SchedulerId,
        outside: Option<&Rc<Outside>>,
    ) -> Option<&Rc<dyn Floor>> {
        if let Some(floor) = self.floor.get() {
            return Some(floor);
        }
        let make = self.make.get()?;
        Some(self.floor.get_or_init(|| make(run, scheduler, outside)))
    }
}
