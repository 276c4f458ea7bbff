//! Strings in JSON.

use std::fmt::Write as _;

/// Returns `text` as a JSON string, including the quotation marks. Escapes quotation marks,
/// backslashes and the control characters below U+0020.
pub fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
