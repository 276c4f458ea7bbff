//! Diagnostics about skeletons and their folders.

use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use std::path::Path;

/// Returns the error that a folder of skeletons, or a file in it, cannot be read.
pub(crate) fn unreadable(path: &Path, why: &dyn std::fmt::Display) -> Diagnostic {
    bad(format!(
        "cannot read the skeletons in {}: {why}",
        path.display()
    ))
}

/// Returns an error about skeletons that cannot be used.
pub(super) fn bad(message: String) -> Diagnostic {
    Diagnostic::error(codes::BAD_SKELETON, message)
}
