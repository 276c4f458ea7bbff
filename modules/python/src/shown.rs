//! Values of Python in messages.

use pyo3::prelude::*;

/// Maximum number of characters of a value in a message.
const SHOWN: usize = 60;

/// Returns the `repr` of a value, shortened. If `repr` fails, returns the type of the value, such
/// as "a value of Node".
pub(crate) fn shown(value: &Bound<'_, PyAny>) -> String {
    if let Ok(text) = value.repr() {
        return shortened(&text.to_string_lossy());
    }
    let name = value.get_type().name();
    name.map_or_else(
        |_| "a value".to_owned(),
        |name| format!("a value of {name}"),
    )
}

/// Returns the first [`SHOWN`] characters of a text. Appends `...` if the text is longer.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}
