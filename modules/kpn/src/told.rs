//! Diagnostics of one sort with a limit, because a pass may make a million processes invalid.

use crate::diagnostic::{Diagnostic, Diagnostics};

/// Number of diagnostics that are reported singly.
const MOST: usize = 10;

/// The first diagnostics of a sort, and the number of all.
#[derive(Default)]
pub(crate) struct Told {
    findings: Vec<Diagnostic>,
    count: usize,
}

impl Told {
    pub(crate) fn tell(&mut self, finding: impl FnOnce() -> Diagnostic) {
        self.count += 1;
        if self.findings.len() < MOST {
            self.findings.push(finding());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Adds the diagnostics to `found`. If some were dropped, the last one has a note with their
    /// number.
    pub(crate) fn add_to(mut self, found: &mut Diagnostics) {
        let more = self.count - self.findings.len();
        if let Some(last) = self.findings.last_mut().filter(|_| more > 0) {
            last.notes
                .push(format!("not shown: {more} more of this kind"));
        }
        found.extend(self.findings);
    }
}
