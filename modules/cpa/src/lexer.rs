//! Tokens of the notation. White space separates tokens, and `#` begins a comment.

use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Name,
    Number,
    /// A text in double quotes. There are no escapes.
    Text,
    /// The path after `include`, without quotes.
    Path,
    /// `( ) { } < > [ ] , = / @ : . + - * % ^`, or one of `..`, `->`, `||`, `||-`.
    Sign,
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind,
    /// The text, without the quotes of [`Kind::Text`] and [`Kind::Path`].
    pub(crate) text: &'s str,
    /// Position, with quotes.
    pub(crate) span: Span,
}

impl Token<'_> {
    pub(crate) fn is(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Name && self.text == word
    }
}

/// Signs, each before its beginnings.
const SIGNS: [&str; 21] = [
    "||-", "||", "->", "..", "(", ")", "{", "}", "<", ">", "[", "]", ",", "=", "/", "@", ":", ".",
    "+", "-", "*",
];

/// Returns the tokens of a text, with [`Kind::End`] as the last one. Characters without meaning are
/// reported and left out.
pub(crate) fn tokens<'s>(source: &'s Source, diagnostics: &mut Diagnostics) -> Vec<Token<'s>> {
    let text = source.text();
    let mut tokens: Vec<Token<'s>> = Vec::new();
    let mut at = 0;
    let span = |start: usize, end: usize| {
        Span::new(source.base() + start as u32, source.base() + end as u32)
    };
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() || first == '\u{feff}' {
            at += first.len_utf8();
            continue;
        }
        if first == '#' {
            at += line(rest).len();
            continue;
        }
        let before = tokens.last();
        let (kind, length) =
            if before.is_some_and(|token| token.is_word("include")) && first != '"' && first != '='
            {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (Kind::Path, end)
            } else if first.is_alphabetic() || first == '_' {
                (
                    Kind::Name,
                    length(rest, |c| c.is_alphanumeric() || c == '_'),
                )
            } else if first.is_ascii_digit() {
                (Kind::Number, length(rest, |c| c.is_ascii_digit()))
            } else if first == '"' {
                match line(&rest[1..]).find('"') {
                    Some(end) => (Kind::Text, end + 2),
                    None => {
                        let end = line(rest).trim_end().len();
                        diagnostics.push(
                            Diagnostic::error(codes::BAD_TOKEN, "a text has no closing quote")
                                .at(span(at, at + end), "")
                                .help("add `\"` at the end of the text, in the same line"),
                        );
                        (Kind::Text, end)
                    }
                }
            } else if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(sign)) {
                (Kind::Sign, sign.len())
            } else if "%^".contains(first) {
                (Kind::Sign, 1)
            } else {
                let end = at + first.len_utf8();
                diagnostics.push(
                    Diagnostic::error(
                        codes::BAD_TOKEN,
                        format!(
                            "the character `{}` has no meaning here",
                            first.escape_debug()
                        ),
                    )
                    .at(span(at, end), "")
                    .help("remove it, or begin a comment with `#`"),
                );
                at = end;
                continue;
            };
        let whole = &rest[..length];
        tokens.push(Token {
            kind,
            text: whole.trim_matches('"'),
            span: span(at, at + length),
        });
        at += length;
    }
    tokens.push(Token {
        kind: Kind::End,
        text: "",
        span: span(text.len(), text.len()),
    });
    tokens
}

fn line(text: &str) -> &str {
    text.split('\n').next().unwrap_or_default()
}

fn length(text: &str, of: impl Fn(char) -> bool) -> usize {
    text.find(|c| !of(c)).unwrap_or(text.len())
}
