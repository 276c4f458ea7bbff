//! Text as it may reach a terminal. Names come from files, and files may hold anything: sequences that
//! move the cursor, colour what follows, rename the window, or turn the direction of the text.

use graphmap_kpn::controls::{self, escaped, is_control};
use serde_json::Value;
use std::borrow::Cow;

/// Text of several lines.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c == '\n' || c == '\t')
}

/// A name, which must not look like several lines.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    escaped(name, |_| false)
}

/// A part of a source, in which places are counted in bytes: what is odd is replaced by something of
/// its length. Tabs and what has one byte is left to whoever shows the part.
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

/// A value as JSON, on one line or laid out: what is odd can only stand in strings, where JSON has a way
/// to write it.
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
    fn nothing_odd_is_left() {
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
        // What is no control of anything stays as it is: accents, Hebrew, families of four.
        for plain in ["\u{e9}", "\u{5d0}", "\u{1f468}\u{200d}\u{1f469}", "\u{a0}"] {
            assert_eq!(name(plain), plain);
        }
    }
}
