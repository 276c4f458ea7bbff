//! The interface to the layer above the schedulers, such as the ranks of MPI. Processes wait in its
//! calls as they do at channels. A scheduler uses only [`UpperLayer`] of it.

use super::frames::Remote;
use super::report::UnreceivedMessages;
use super::shared::Shared;
use super::statistics::RankTraffic;
use crate::link::between;
use crate::link::inbox::SchedulerRequest;
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
pub type ReportWait<'a> = &'a mut dyn FnMut(u32, Option<u32>, &dyn Fn() -> (String, Place));

/// The first kind of frame that belongs to the layer above.
pub const FIRST_UPPER_KIND: u32 = 64;

/// The part of the layer above that belongs to one scheduler.
pub trait UpperLayer: Any {
    /// Calls `report` for each process that waits in a call of the upper layer.
    fn calls(&self, report: ReportWait<'_>);

    /// Frees the state of the run after its processes have been dropped. Returns the number of
    /// messages that no rank has received, and a description of one of them if it has one.
    fn close(&self) -> UnreceivedMessages;

    /// Returns the traffic between ranks that was counted so far, and removes it. Returns an empty
    /// result if the run is not profiled.
    fn traffic(&self) -> RankTraffic;

    /// Handles a request from another scheduler of this OS process.
    fn handle_request(&self, request: SchedulerRequest);

    /// Handles a frame from a scheduler of another OS process. `from` is the number of that
    /// scheduler in the run, and `bytes` is the payload.
    ///
    /// # Errors
    /// Returns a message if the frame is not valid.
    fn frame(&self, from: u32, header: between::Header, bytes: &[u8]) -> Result<(), String>;
}

/// Creates the part of the layer above for one scheduler. The arguments are the run, the number of
/// the scheduler, and the connection to the other OS processes.
pub type MakeUpperLayer = fn(&Arc<Shared>, SchedulerId, Option<&Rc<Remote>>) -> Rc<dyn UpperLayer>;

/// Holder of the layer above. The layer is created when a process first uses it, or when a request
/// or frame for it arrives.
#[derive(Default)]
pub struct UpperLayerCell {
    layer: OnceCell<Rc<dyn UpperLayer>>,
    make: Cell<Option<MakeUpperLayer>>,
}

impl UpperLayerCell {
    /// Sets the function that creates the layer. A layer that has already been created stays.
    pub fn set(&self, make: MakeUpperLayer) {
        self.make.set(Some(make));
    }

    /// Returns the layer, or `None` if it has not been created.
    pub(super) fn created(&self) -> Option<&Rc<dyn UpperLayer>> {
        self.layer.get()
    }

    /// Returns the layer, and creates it from these arguments if it does not exist yet. Returns
    /// `None` if it does not exist and no function was set.
    pub(super) fn layer(
        &self,
        run: &Arc<Shared>,
        scheduler: SchedulerId,
        remote: Option<&Rc<Remote>>,
    ) -> Option<&Rc<dyn UpperLayer>> {
        if let Some(layer) = self.layer.get() {
            return Some(layer);
        }
        let make = self.make.get()?;
        Some(self.layer.get_or_init(|| make(run, scheduler, remote)))
    }
}
