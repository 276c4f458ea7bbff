//! Texts and numbers as parts of an XML document.

use crate::geometry::Point;
use crate::text::{redirects, shortened, width};
use std::fmt::{self, Display, Write};

/// Largest coordinate. Larger ones are written as this.
const LIMIT: f64 = 1e7;

/// A number with at most one decimal.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Number(pub(super) f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (finite(self.0) * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, tenth) = (tenths.abs() / 10, tenths.abs() % 10);
        match tenth {
            0 => write!(f, "{sign}{whole}"),
            _ => write!(f, "{sign}{whole}.{tenth}"),
        }
    }
}

/// A position in a path.
pub(super) struct At(pub(super) Point);

impl Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", Number(self.0.x), Number(self.0.y))
    }
}

/// A text as the content of an element.
pub(super) struct Content<'a>(pub(super) &'a str);

impl Display for Content<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            '\n' | '\t' => f.write_char(c),
            c if redirects(c) => f.write_char('\u{fffd}'),
            c => escape(f, c),
        })
    }
}

/// A text as the value of an attribute in double quotes. A parser reads the same text, apart from
/// characters that XML cannot represent.
pub(super) struct Value<'a>(pub(super) &'a str);

impl Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.chars().try_for_each(|c| match c {
            c if matches!(c, '\t' | '\n' | '\r') || redirects(c) => {
                write!(f, "&#{};", u32::from(c))
            }
            c => escape(f, c),
        })
    }
}

/// Writes a character as XML. It becomes U+FFFD if XML cannot represent it.
fn escape(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '&' => f.write_str("&amp;"),
        '<' => f.write_str("&lt;"),
        '>' => f.write_str("&gt;"),
        '"' => f.write_str("&quot;"),
        '\'' => f.write_str("&#39;"),
        '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}'),
        c if c.is_control() => f.write_char('\u{fffd}'),
        c => f.write_char(c),
    }
}
/// Returns a text as it is shown: without line breaks, and without long sequences of combining
/// characters, which would cover other texts.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut combining = 0;
    for word in text.split_whitespace() {
        if !shown.is_empty() {
            shown.push(' ');
        }
        for c in word.chars() {
            combining = match c {
                '\u{300}'..='\u{36f}' => combining + 1,
                _ => 0,
            };
            if combining <= 3 {
                shown.push(c);
            }
        }
    }
    shown
}

/// Returns the lines of a text that is wrapped at spaces. Words that are too wide are shortened.
pub(super) fn wrapped(text: &str, size: f64, most: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut left = 0.0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let word = shortened(word, size, most);
        let needed = width(&word, size) + width(" ", size);
        match lines.last_mut() {
            Some(line) if needed <= left => {
                line.push(' ');
                line.push_str(&word);
                left -= needed;
            }
            _ => {
                left = most - width(&word, size);
                lines.push(word);
            }
        }
    }
    lines
}

/// Returns a number that is finite and not too large for a picture.
pub(super) fn finite(number: f64) -> f64 {
    if number.is_finite() {
        number.clamp(-LIMIT, LIMIT)
    } else {
        0.0
    }
}
