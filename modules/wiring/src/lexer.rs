//! Tokens of Rust: words, signs and literals. Comments and white space are skipped.

/// A token. The content of literals is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    /// Identifier or keyword, without `r#`.
    Word(&'a str),
    /// Number, character or string.
    Literal,
    /// Quote of a lifetime or label. Its name is skipped.
    Lifetime,
    /// `(`, `[` or `{`.
    Open(char),
    /// `)`, `]` or `}`.
    Close(char),
    /// Any other character.
    Sign(char),
}

/// Iterator over the tokens of a text. The text need not be a valid program.
#[derive(Clone, Debug)]
pub(crate) struct Tokens<'a> {
    rest: &'a str,
}

/// Returns the tokens of a text. Skips a byte order mark and an interpreter line (`#!`) at the
/// start of the text.
pub(crate) fn tokens(text: &str) -> Tokens<'_> {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut tokens = Tokens { rest };
    if let Some(behind) = rest.strip_prefix("#!") {
        let mut behind = Tokens { rest: behind };
        behind.skip_space();
        // `#![` begins an attribute.
        if !behind.rest.starts_with('[') {
            tokens.skip_past("\n");
        }
    }
    tokens
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        self.skip_space();
        let first = self.rest.chars().next()?;
        Some(match first {
            '0'..='9' => {
                self.word();
                Token::Literal
            }
            '"' => self.string(),
            '\'' => self.quote(),
            '(' | '[' | '{' => self.sign(first, Token::Open(first)),
            ')' | ']' | '}' => self.sign(first, Token::Close(first)),
            _ if is_of_word(first) => self.word_or_literal(),
            _ => self.sign(first, Token::Sign(first)),
        })
    }
}

impl<'a> Tokens<'a> {
    fn sign(&mut self, sign: char, token: Token<'a>) -> Token<'a> {
        self.rest = &self.rest[sign.len_utf8()..];
        token
    }

    /// Continues after the next occurrence of a text, or at the end.
    fn skip_past(&mut self, text: &str) {
        let at = self.rest.find(text);
        self.rest = at.map_or("", |at| &self.rest[at + text.len()..]);
    }

    fn skip_space(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(is_space);
            if self.rest.starts_with("//") {
                self.skip_past("\n");
            } else if self.rest.starts_with("/*") {
                self.skip_comment();
            } else {
                return;
            }
        }
    }

    /// Skips a block comment. Block comments can be nested. A comment that is not closed ends with
    /// the text.
    fn skip_comment(&mut self) {
        let bytes = self.rest.as_bytes();
        let (mut at, mut depth) = (2, 1);
        while depth > 0 && at < bytes.len() {
            match bytes[at..] {
                [b'/', b'*', ..] => (at, depth) = (at + 2, depth + 1),
                [b'*', b'/', ..] => (at, depth) = (at + 2, depth - 1),
                _ => at += 1,
            }
        }
        self.rest = &self.rest[at..];
    }

    fn word(&mut self) -> &'a str {
        let length = self.rest.find(|c| !is_of_word(c));
        let (word, rest) = self.rest.split_at(length.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn word_or_literal(&mut self) -> Token<'a> {
        let word = self.word();
        let hashes = self.rest.bytes().take_while(|b| *b == b'#').count();
        let behind = self.rest[hashes..].chars().next();
        match (word, behind) {
            ("r" | "br" | "cr", Some('"')) => {
                self.rest = &self.rest[hashes + 1..];
                self.skip_past(&format!("\"{}", &"#".repeat(hashes)));
                Token::Literal
            }
            ("b" | "c", Some('"')) if hashes == 0 => self.string(),
            ("b", Some('\'')) if hashes == 0 => self.quote(),
            ("r", Some(c)) if hashes == 1 && is_of_word(c) => {
                self.rest = &self.rest[1..];
                Token::Word(self.word())
            }
            _ => Token::Word(word),
        }
    }

    /// Reads a literal up to the next quote of the kind that it begins with, or to the end of the
    /// text. A backslash escapes the next byte.
    fn string(&mut self) -> Token<'a> {
        let bytes = self.rest.as_bytes();
        let mut at = 1;
        while at < bytes.len() && bytes[at] != bytes[0] {
            at += if bytes[at] == b'\\' { 2 } else { 1 };
        }
        // The byte after a backslash can be the first of several bytes of a character. The others
        // are never a quote.
        self.rest = self.rest.get(at + 1..).unwrap_or_default();
        Token::Literal
    }

    /// Reads a character literal or a lifetime, which begins with a quote: `'a'` or `'a`. Returns
    /// the kind of the token.
    fn quote(&mut self) -> Token<'a> {
        let mut behind = self.rest[1..].chars();
        match (behind.next(), behind.next()) {
            (Some('\\'), _) | (_, Some('\'')) => self.string(),
            _ => {
                self.rest = &self.rest[1..];
                // In a raw lifetime, `'r#type`, the name follows the `#`.
                if self.word() == "r" && self.rest.starts_with('#') {
                    self.rest = &self.rest[1..];
                    self.word();
                }
                Token::Lifetime
            }
        }
    }
}

/// Returns true for white space of Rust, which includes two direction marks.
fn is_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200e}' | '\u{200f}')
}

/// Returns true for a character of a word. Outside ASCII, every character except white space
/// counts, because a valid program has any other such character only in comments and literals.
fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && !is_space(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the words and signs of a text, with `0` for a literal.
    fn shown(text: &str) -> String {
        let shown = tokens(text).map(|token| match token {
            Token::Word(word) => word.to_owned(),
            Token::Literal => "0".to_owned(),
            Token::Lifetime => "'".to_owned(),
            Token::Open(_) => "(".to_owned(),
            Token::Close(_) => ")".to_owned(),
            Token::Sign(sign) => sign.to_string(),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tokens_skip_comments_space_and_content_of_literals() {
        for (text, expected) in [
            ("a // b\r\n\tc", "a c"),
            ("/// a\n//! b\nc", "c"),
            ("a/* b /* c */ d */e", "a e"),
            ("a /* b", "a"),
            ("a /*/ b */ c", "a c"),
            ("a / b", "a / b"),
            ("r#type r#Item r # a", "type Item r # a"),
            ("\"a // \\\" b\" c", "0 c"),
            ("\"a \\\\\" c", "0 c"),
            ("\"a\\\u{e9}\" c", "0 c"),
            ("b\"a\" c\"a\" br\"\\\" cr#\"\"a\"# d", "0 0 0 0 d"),
            ("r##\"a \"# b\"## c", "0 c"),
            ("r\"a\nb", "0"),
            ("'a' 'ab '\\'' b'\"' '\"' '\u{e9}' c", "0 ' 0 0 0 0 c"),
            ("&'a T 'r#fn x '_>", "& ' T ' x ' >"),
            ("'\u{e9}\u{301} a", "' a"),
            ("1.5e3 0xffu8 1..2", "0 . 0 0 0 . . 0"),
            ("a::B<[u8; 3]>!{}", "a : : B < ( u8 ; 0 ) > ! ( )"),
            (
                "\u{feff}a\u{e9}\u{301} b\u{200e}c\u{2028}d",
                "a\u{e9}\u{301} b c d",
            ),
            ("#!/bin/a 'b \"c\nd", "d"),
            ("\u{feff}#! a\nb", "b"),
            ("#! a", ""),
            ("#![a]\nb", "# ! ( a ) b"),
            ("#! // c\n/* d */ [a]", "# ! ( a )"),
            ("\n#!a", "# ! a"),
            ("'", "'"),
            ("'\\", "0"),
            ("\"\\", "0"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_an_end(text in "\\PC{0,30}|[a-cr#'\"/*\\\\\n(){}!\u{e9} ]{0,30}") {
            prop_assert!(tokens(&text).count() <= text.len());
        }

        #[test]
        fn comments_between_tokens_change_nothing(
            tokens in prop::collection::vec(
                "[a-c]{1,2}|r#[a-c]|[0-9]{1,2}|\"[a'/*\\\\]?x\"|r#\"[\"a/]?\"#|'[a\"]'|'[a-c]|[!:;<>#=$(){}]",
                0..20
            ),
            comments in prop::collection::vec("/\\*[a'\" ]{0,3}\\*/|/\\*/\\*\\*/'\\*/|//[a'\"*/]{0,3}\r?\n|[ \t\n]", 20)
        ) {
            let plain = tokens.join(" ");
            let with: String = tokens.iter().zip(&comments).flat_map(|(a, b)| [a.as_str(), " ", b]).collect();
            prop_assert_eq!(shown(&with), shown(&plain));
        }
    }
}
