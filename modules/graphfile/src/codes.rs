//! The codes of the diagnostics of this crate; each has a page in the book's error index.

use graphmap_kpn::diagnostic::Code;

/// A first line (or the first five numbers) that says nothing about a graph.
pub const HEADER: Code = Code(470);
/// More or fewer vertices or edges than the header says.
pub const COUNT: Code = Code(471);
/// A word that should be a number, or a number of the wrong size.
pub const NUMBER: Code = Code(472);
/// A vertex that is not there or has the label of another; an edge to itself or said twice.
pub const VERTEX: Code = Code(473);
/// An edge that its two ends tell differently.
pub const ONE_SIDED: Code = Code(474);
/// Weights that the format knows and the engine does not.
pub const UNUSED: Code = Code(475);
