//! Collects the diagnostics of one reader.

use crate::model::Platform;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};

/// Maximum number of diagnostics kept per text. The others are only counted.
const KEPT: usize = 50;

/// Diagnostics of one reader.
#[derive(Default)]
pub(crate) struct Report {
    diagnostics: Diagnostics,
    more: usize,
    errors: bool,
}

impl Report {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.errors |= diagnostic.severity == Severity::Error;
        if self.diagnostics.len() < KEPT {
            self.diagnostics.push(diagnostic);
        } else {
            self.more += 1;
        }
    }

    pub(crate) fn failed(&self) -> bool {
        self.errors
    }

    /// Appends the first 50 diagnostics to `out`, and a note with the number of the others. Returns
    /// `made` if no diagnostic is an error, also counting those that are not kept. Otherwise
    /// returns `None`.
    pub(crate) fn finish(self, made: Option<Platform>, out: &mut Diagnostics) -> Option<Platform> {
        let failed = self.errors;
        let last = self.diagnostics.iter().next_back().map(|d| d.code);
        out.append(self.diagnostics);
        if let (Some(code), true) = (last, self.more > 0) {
            let what = format!("{} more diagnostics of this text are not shown", self.more);
            out.push(Diagnostic::note(code, what));
        }
        made.filter(|_| !failed)
    }
}
