//! Codes of the diagnostics of this front end: `G09xx`.

use graphmap_kpn::diagnostic::Code;

/// A token that the notation does not allow at its position.
pub const UNEXPECTED: Code = Code(901);
/// A character that has no meaning in the notation, or a string without its closing quote.
pub const BAD_TOKEN: Code = Code(902);
/// A name that nothing defines.
pub const UNDEFINED: Code = Code(903);
/// A name with two definitions in one scope.
pub const DEFINED_TWICE: Code = Code(904);
/// Compositions that contain each other.
pub const CIRCULAR: Code = Code(905);
/// A link to a port in the wrong direction, or to a port of several processes without an index.
pub const BAD_LINK: Code = Code(906);
/// An index outside of the multiplicity, or a multiplicity that is not a number from 0.
pub const OUT_OF_RANGE: Code = Code(907);
/// A structure without the values that it needs.
pub const NOT_INITIALIZED: Code = Code(908);
/// A variable that is `*` or `+`, and that no box limits.
pub const UNLIMITED: Code = Code(909);
/// A text where a number is needed.
pub const NOT_A_NUMBER: Code = Code(913);
/// A file without a composition that can be instantiated.
pub const NOTHING_TO_RUN: Code = Code(910);
/// A network that the notation cannot express.
pub const NOT_EXPRESSIBLE: Code = Code(911);
/// A glue function that graphmap does not call (a warning), or an unknown one.
pub const GLUE: Code = Code(912);
