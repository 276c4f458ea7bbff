//! Values of identifiers: resolves escapes and joins the pieces of composed strings.

use crate::lexer::Lexer;
use crate::token::{Id, Shape, Text, TokenKind};
use std::borrow::Cow;

impl<'a> Text<'a> {
    /// Returns the value of an identifier of this text: without quotes or the outer `<` and `>`,
    /// with escapes resolved and pieces joined.
    ///
    /// There are two escapes, both in quoted strings: `\"` becomes a quote, and a backslash and the
    /// line end after it are removed. Every other backslash stays.
    #[inline]
    pub fn value(self, id: Id) -> Cow<'a, str> {
        let raw = self.raw(id.span);
        match id.shape {
            Shape::Name | Shape::Number => Cow::Borrowed(raw),
            Shape::Quoted | Shape::Html => {
                let inner = raw.get(1..raw.len().saturating_sub(1));
                Cow::Borrowed(inner.unwrap_or(""))
            }
            Shape::Composed => Cow::Owned(compose(raw)),
        }
    }
}

/// Returns the value of a string with escapes, or of strings joined by `+`. `raw` is the text of
/// the identifier, with quotes. Pieces may also be HTML strings, which have no escapes.
fn compose(raw: &str) -> String {
    let mut value = String::new();
    let mut lexer = Lexer::new(raw);
    loop {
        let token = lexer.next_token();
        let inner = || raw.get(token.start as usize + 1..token.end as usize - 1);
        match token.kind {
            TokenKind::Quoted { escaped: false } | TokenKind::Html => {
                value.push_str(inner().unwrap_or(""));
            }
            TokenKind::Quoted { escaped: true } => unescape(inner().unwrap_or(""), &mut value),
            TokenKind::Plus => {}
            _ => return value,
        }
    }
}

/// Appends the text inside the quotes of a string to `value`, with escapes resolved.
///
/// `\"` becomes a quote, and `\` before a line end is removed together with the line end. Any other
/// `\` stays, because it has a meaning in Graphviz's labels.
fn unescape(inner: &str, value: &mut String) {
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        value.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        rest = if let Some(line) = after.strip_prefix("\r\n") {
            line
        } else if let Some(line) = after.strip_prefix('\n') {
            line
        } else if let Some(text) = after.strip_prefix('"') {
            value.push('"');
            text
        } else {
            // A backslash escapes the next character, so that `\\"` ends a string.
            let length = 1 + after.chars().next().map_or(0, char::len_utf8);
            value.push_str(&rest[at..at + length]);
            &rest[at + length..]
        };
    }
    value.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_joined_and_escapes_resolved() {
        assert_eq!(
            compose(r#""a\"b" + <x<y>> /* no */ + "c\\""#),
            r#"a"bx<y>c\\"#
        );
        assert_eq!(compose("\"a\\\nb\\nc\\\r\nd\""), "ab\\ncd");
    }
}
