//! Makes text safe to print on a terminal. Names come from files, which may contain control
//! sequences: these move the cursor, change colours, rename the window, or reverse the direction of
//! text.

use graphmap_kpn::controls::{self, escaped, is_control};
use serde_json::Value;
use std::borrow::Cow;

/// Escapes the control characters of a text, except newlines and tabs. Characters that change the
/// direction of text count as control characters.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// Escapes all control characters of a name, so that it stays on one line.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    escaped(name, |_| false)
}

/// Replaces control characters of several bytes by others of the same length, so that byte
/// positions in the source stay valid. Tabs and other control characters of one byte are left to
/// the renderer.
pub(crate) fn of_same_length(source: &str) -> Cow<'_, str> {
    let odd = |c: char| is_control(c) && c.len_utf8() > 1;
    if !source.contains(odd) {
        return Cow::Borrowed(source);
    }
    let replaced = |c: char| match c.len_utf8() {
        2 if odd(c) => '\u{b7}',
        3 if odd(c) => '\u{fffd}',
        _ => c,
    };
    Cow::Owned(source.chars().map(replaced).collect())
}

/// Returns a value as JSON, on one line or indented. Control characters can only be in strings,
/// where they are escaped.
pub(crate) fn json(value: &Value, laid_out: bool) -> String {
    controls::in_json(match laid_out {
        true => format!("{value:#}"),
        false => value.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        for c in (0..=0x10ffff).filter_map(char::from_u32) {
            let raw = format!("a{c}b");
            let harmless = |shown: &str| !shown.contains(is_control);
            assert!(harmless(&name(&raw)), "{c:?}");
            assert!(harmless(&text(&raw).replace(['\n', '\t'], "")), "{c:?}");
            assert_eq!(of_same_length(&raw).len(), raw.len());
            let left = of_same_length(&raw)
                .chars()
                .all(|c| !is_control(c) || c.is_ascii());
            assert!(left, "{c:?}");
            let value = Value::String(raw.clone());
            assert!(harmless(&json(&value, false)), "{c:?}");
            let read: Value = serde_json::from_str(&json(&value, true)).unwrap();
            assert_eq!(read, value);
        }
        // Characters that are not control characters stay: accents, Hebrew, joined emoji.
        for plain in ["\u{e9}", "\u{5d0}", "\u{1f468}\u{200d}\u{1f469}", "\u{a0}"] {
            assert_eq!(name(plain), plain);
        }
    }
}
