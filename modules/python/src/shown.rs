//! Values of Python, for people.

use pyo3::prelude::*;

/// Characters of a value that are shown.
const SHOWN: usize = 60;

/// A value as Python writes it, shortened; of one that cannot show itself the type.
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

/// The beginning of a text.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}
