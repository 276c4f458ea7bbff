//! How much channels may grow by, all of a run together.

use super::calls::Calls;
use super::directory::Directory;
use super::report;
use super::waits::{Grow, WaitGraph};
use crate::overgrown::Overgrown;

/// What there may be, and what there is.
#[derive(Default)]
pub(crate) struct Ceiling {
    most: Option<u64>,
    grown: u64,
}

impl Ceiling {
    pub(crate) fn new(most: Option<u64>) -> Self {
        Ceiling { most, grown: 0 }
    }

    /// Counts growths, all of them or none: those of one standstill stand for cycles that are not looked at
    /// again.
    pub(crate) fn admit(
        &mut self,
        growths: &[Grow],
        graph: &WaitGraph,
        calls: &Calls,
        directory: &dyn Directory,
    ) -> Result<(), Overgrown> {
        let Some(ceiling) = self.most else {
            return Ok(());
        };
        let mut grown = self.grown;
        for grow in growths {
            let capacity = graph.capacity(grow.number);
            // One that takes no memory as a value may be kept with something that does.
            let token = directory.token_size(grow.number).max(1);
            let more = u64::from(grow.capacity.saturating_sub(capacity));
            grown = grown.saturating_add(more.saturating_mul(token as u64));
            if grown > ceiling {
                let (cycle, cycle_len) =
                    report::processes(&graph.cycle(grow.number), graph, calls, directory);
                return Err(Overgrown {
                    channel: report::channel(directory, grow.number),
                    capacity: capacity as usize,
                    wanted: grow.capacity as usize,
                    token,
                    grown: self.grown,
                    ceiling,
                    cycle,
                    cycle_len,
                });
            }
        }
        self.grown = grown;
        Ok(())
    }
}
