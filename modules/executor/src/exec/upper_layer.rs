//! The layer above the schedulers, such as the ranks of MPI. Processes wait in its calls as they do
//! at channels. A scheduler knows only [`Floor`] of it.

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

/// Takes a wait: who waits by which word, for which rank (none: for any of several), in which call.
pub type TellWait<'a> = &'a mut dyn FnMut(u32, Option<u32>, &dyn Fn() -> (String, Place));

/// From here on kinds of frames are those of a floor above.
pub const ABOVE: u32 = 64;

/// A floor above, as a scheduler sees the part of it that is its own.
pub trait Floor: Any {
    /// Tells of every wait.
    fn calls(&self, tell: TellWait<'_>);

    /// The run is over, and its processes have gone: lets go of all that is kept for them. How many
    /// messages nobody has received, and one of them in words.
    fn close(&self) -> UnreceivedMessages;

    /// What was sent, where the run is profiled. After that nothing is counted.
    fn traffic(&self) -> RankTraffic;

    /// Something has come from another scheduler of this OS process.
    fn letter(&self, letter: Letter);

    /// A frame has come from a scheduler of another OS process.
    ///
    /// # Errors
    /// It cannot be one.
    fn frame(&self, from: u32, header: between::Header, bytes: &[u8]) -> Result<(), String>;
}

/// Makes the part of a floor that a scheduler has: of this run, of this number, with these other OS
/// processes.
pub type MakeFloor = fn(&Arc<Shared>, SchedulerId, Option<&Rc<Outside>>) -> Rc<dyn Floor>;

/// The part of a floor that a scheduler has: made when a process first asks for it, or something
/// comes for it.
#[derive(Default)]
pub struct Above {
    floor: OnceCell<Rc<dyn Floor>>,
    make: Cell<Option<MakeFloor>>,
}

impl Above {
    /// Says what the floor is.
    pub fn set(&self, make: MakeFloor) {
        self.make.set(Some(make));
    }

    /// The floor, if it has been made.
    pub(super) fn made(&self) -> Option<&Rc<dyn Floor>> {
        self.floor.get()
    }

    /// The floor; none if there is none.
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
