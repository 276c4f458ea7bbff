//! Characters that control a terminal, and their escapes in texts and JSON.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns true if a terminal would interpret the character instead of showing it.
///
/// These are the control characters of ASCII and of the block C1 (there, U+009B alone begins a
/// sequence), the separators of lines and paragraphs, and the controls of text direction (Unicode
/// Standard Annex 9).
pub fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Escapes the control characters of a text ([`is_control`]), apart from those for which `stays`
/// returns true.
///
/// The escapes are those of Rust (`\n`, `\u{1b}`). A text in which nothing is escaped is borrowed.
pub fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let odd = |c: char| is_control(c) && !stays(c);
    if !text.contains(odd) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match odd(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Returns the JSON text with its control characters ([`is_control`]) written as `\u....`, apart
/// from newlines.
///
/// Apart from newlines, they occur only in strings. The values of the strings do not change.
pub fn in_json(json: String) -> String {
    let odd = |c: char| is_control(c) && c != '\n';
    // JSON is mostly ASCII, and JSON writers leave only one ASCII control character unescaped
    // (U+007F).
    if json.is_ascii() && !json.contains('\u{7f}') || !json.contains(odd) {
        return json;
    }
    let mut written = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match odd(c) {
            // All control characters are below U+10000. Writing to a string cannot fail.
            true => drop(write!(written, "\\u{:04x}", u32::from(c))),
            false => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::{in_json, is_control};
    use serde_json::Value;

    #[test]
    fn json_holds_no_control_character_and_says_the_same() {
        for c in (0..=0x10ffff).filter_map(char::from_u32) {
            let value = Value::from(format!("a{c}b\\"));
            let written = in_json(value.to_string());
            assert!(!written.contains(is_control), "{c:?}");
            assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);
        }
        let lines = "{\n  \"a\": 1\n}\n";
        assert_eq!(in_json(lines.to_owned()), lines);
    }
}
