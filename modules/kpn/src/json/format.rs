//! The version of the format, and the codes of what is wrong with a text in it.

use crate::diagnostic::Code;

/// The version of the format that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// The text is not JSON, or not of the shape that the format has.
pub const MALFORMED: Code = Code(7);
/// The text is of another version of the format.
pub const WRONG_VERSION: Code = Code(8);
/// A name or an index that nothing in the text answers to, or a name given twice.
pub const WRONG_REFERENCE: Code = Code(9);
