//! The codes of the diagnostics of this crate. Each has a page in the book's error index.

use graphmap_kpn::diagnostic::Code;

/// A first line (in Scotch the first five numbers) that is not the header of a graph.
pub const HEADER: Code = Code(470);
/// More or fewer vertices or edges than the header gives.
pub const COUNT: Code = Code(471);
/// A word that should be a number, or a number out of range.
pub const NUMBER: Code = Code(472);
/// A vertex that does not exist or has the label of another, or an edge to itself or listed twice.
pub const VERTEX: Code = Code(473);
/// An edge that is listed at one end only, or with different weights.
pub const ONE_SIDED: Code = Code(474);
/// Weights that the format has but graphmap does not use.
pub const UNUSED: Code = Code(475);
