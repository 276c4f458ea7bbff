//! Diagnostics of one sort with a limit, because a pass may make a million processes invalid.

use crate::diagnostic::{Diagnostic, Diagnostics};

/// Number of diagnostics that are reported singly.
const MOST: usize = 10;

/// The first diagnostics of a sort, and the number of all.
#[derive(Default)]
pub(crate) struct LimitedDiagnostics {
    list: Vec<Diagnostic>,
    count: usize,
}

impl LimitedDiagnostics {
    /// Counts a diagnostic. Calls `diagnostic` and stores the result only for the first [`MOST`].
    pub(crate) fn push(&mut self, diagnostic: impl FnOnce() -> Diagnostic) {
        self.count += 1;
        if self.list.len() < MOST {
            self.list.push(diagnostic());
        }
    }

    /// Returns true if no diagnostic was counted.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the diagnostics to `found`. If some were dropped, the last one has a note with their
    /// number.
    pub(crate) fn add_to(mut self, found: &mut Diagnostics) {
        let more = self.count - self.list.len();
        if let Some(last) = self.list.last_mut().filter(|_| more > 0) {
            last.notes
                .push(format!("not shown: {more} more of this kind"));
        }
        found.extend(self.list);
    }
}
