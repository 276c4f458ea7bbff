//! Version of the format, and codes of diagnostics about a text in it.

use crate::diagnostic::Code;

/// Version of the format that is written, and the newest version that is read.
pub const VERSION: u32 = 1;
/// JSON schema of the format (draft 2020-12).
pub const SCHEMA: &str = include_str!("../../network.schema.json");

/// The text is not JSON, or does not match the format.
pub const MALFORMED: Code = Code(7);
/// A name or an index does not exist in the text, or a name is given twice.
pub const WRONG_REFERENCE: Code = Code(9);
