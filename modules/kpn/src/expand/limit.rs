//! Limit on the size of an expanded network.

use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::source::Span;

/// Largest number of processes, and of channels, that expansion creates.
///
/// Ids have 32 bits. The limit is smaller, so that a typing error in `replicas=` is found early.
pub const LIMIT: u64 = 1 << 28;

pub(super) fn too_many_channels(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::TOO_MANY_REPLICAS,
        format!("the expanded graph has more than {LIMIT} channels"),
    )
    .at(span, "the limit is exceeded here")
    .help("check `replicas=` at both ends: `at=all` multiplies them")
}
