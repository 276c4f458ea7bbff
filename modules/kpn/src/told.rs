//! Findings of one sort: a pass that breaks one process breaks a million.

use crate::diagnostic::{Diagnostic, Diagnostics};

/// How many are told singly.
const MOST: usize = 10;

/// The first findings of a sort, and how many there were.
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

    /// Adds those that are told singly to all that was found; the last of them says how many more there are.
    pub(crate) fn add_to(mut self, found: &mut Diagnostics) {
        let more = self.count - self.findings.len();
        if let Some(last) = self.findings.last_mut().filter(|_| more > 0) {
            last.notes
                .push(format!("not shown: {more} more of this kind"));
        }
        found.extend(self.findings);
    }
}
