//! The version of the format, and the codes of what is wrong with a text in it.

use crate::diagnostic::Code;

/// The version of the format that is written, and the newest that is read.
pub const VERSION: u32 = 1;
/// The JSON schema of the format (draft 2020-12).
pub const SCHEMA: &str = include_str!("../../network.schema.json");

/// The text is not JSON, or not of the shape that the format has.
pub const MALFORMED: Code = Code(7);
/// A name or an index that nothing in the text answers to, or a name given twice.
pub const WRONG_REFERENCE: Code = Code(9);
