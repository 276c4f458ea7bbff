//! The lexer: splits a text into tokens.
//!
//! The rules agree with Graphviz's own scanner. Names contain letters, digits, `_` and every byte
//! from 0x80. `#` and `//` begin a comment anywhere, up to the end of the line. A form feed is not
//! white space. A number ends before a letter or a second point, where a new token begins.

use crate::token::{Token, TokenKind};

pub(crate) const SPACE: u8 = 1;
pub(crate) const LETTER: u8 = 2;
pub(crate) const DIGIT: u8 = 4;
/// A letter with which a keyword begins.
pub(crate) const KEYWORD: u8 = 8;

static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let b = i as u8;
        table[i] = match b {
            b' ' | b'\t' | b'\r' | b'\n' => SPACE,
            b'n' | b'e' | b'g' | b's' | b'd' | b'N' | b'E' | b'G' | b'S' | b'D' => LETTER | KEYWORD,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..=0xff => LETTER,
            b'0'..=b'9' => DIGIT,
            _ => 0,
        };
        i += 1;
    }
    table
}

#[inline]
pub(crate) fn is(b: u8, class: u8) -> bool {
    CLASS[b as usize] & class != 0
}

/// Returns the keyword that a word spells, in any case, or `None` if it spells none.
pub(crate) fn keyword(word: &[u8]) -> Option<TokenKind> {
    // Fast path: length and first letter exclude nearly every other word.
    let (name, kind): (&[u8], _) = match (word.len(), word.first()? | 0x20) {
        (4, b'n') => (b"node", TokenKind::Node),
        (4, b'e') => (b"edge", TokenKind::Edge),
        (5, b'g') => (b"graph", TokenKind::Graph),
        (6, b's') => (b"strict", TokenKind::Strict),
        (7, b'd') => (b"digraph", TokenKind::Digraph),
        (8, b's') => (b"subgraph", TokenKind::Subgraph),
        _ => return None,
    };
    word.eq_ignore_ascii_case(name).then_some(kind)
}

/// Splits a text into tokens.
pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Comments so far, if they are kept.
    comments: Option<Vec<(u32, u32)>>,
    /// Last string that contains a line end, which often means a missing quote.
    suspect: Option<(u32, u32)>,
    /// Number of searches for the end of a string that may still fail. Each reads the rest of the
    /// text.
    searches: u8,
}

impl<'a> Lexer<'a> {
    /// Creates a lexer at the start of a text, after its byte order mark if it has one.
    ///
    /// Offsets in tokens have 32 bits, so text beyond 4 GiB is ignored.
    pub fn new(text: &'a str) -> Lexer<'a> {
        let bytes = text.as_bytes();
        let bytes = &bytes[..bytes.len().min(u32::MAX as usize - 1)];
        Lexer {
            bytes,
            at: if bytes.starts_with(b"\xEF\xBB\xBF") {
                3
            } else {
                0
            },
            comments: None,
            suspect: None,
            searches: 32,
        }
    }

    /// Keeps the comments for [`Lexer::take_comments`].
    pub fn keep_comments(mut self) -> Lexer<'a> {
        self.comments = Some(Vec::new());
        self
    }

    /// Returns the range of bytes (start, end) of each comment so far, in order. Comments after the
    /// call are not kept. Without [`Lexer::keep_comments`], the result is empty.
    pub fn take_comments(&mut self) -> Vec<(u32, u32)> {
        self.comments.take().unwrap_or_default()
    }

    /// Returns the range of bytes (start, end) of the last quoted string so far that contains a
    /// line end, or `None` if there is none.
    pub fn suspect(&self) -> Option<(u32, u32)> {
        self.suspect
    }

    /// Continues at a byte offset of the text, at which a token or white space must begin.
    pub(crate) fn go_to(&mut self, at: u32) {
        self.at = at as usize;
    }

    #[inline]
    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn find(&self, from: usize, wanted: u8) -> usize {
        let rest = &self.bytes[from.min(self.bytes.len())..];
        rest.iter()
            .position(|b| *b == wanted)
            .map_or(self.bytes.len(), |n| from + n)
    }

    fn comment(&mut self, start: usize) {
        if let Some(comments) = &mut self.comments {
            comments.push((start as u32, self.at as u32));
        }
    }

    /// Returns the next token, without the white space and comments before it. At the end of the
    /// text, returns [`TokenKind::End`], also repeatedly. A block comment that is not closed is a
    /// token.
    pub fn next_token(&mut self) -> Token {
        let mut first_of_line = self.at == 0;
        loop {
            let Some(&b) = self.bytes.get(self.at) else {
                return self.token(TokenKind::End, self.at, first_of_line);
            };
            if is(b, SPACE) {
                first_of_line |= b == b'\n';
                self.at += 1;
            } else if b == b'#' || (b == b'/' && self.peek(1) == b'/') {
                let start = self.at;
                self.at = self.find(start, b'\n');
                self.comment(start);
            } else if b == b'/' && self.peek(1) == b'*' {
                let start = self.at;
                if !self.block_comment() {
                    return self.token(TokenKind::UnclosedComment, start, first_of_line);
                }
                let passed = &self.bytes[start..self.at];
                first_of_line |= passed.contains(&b'\n');
                self.comment(start);
            } else {
                break;
            }
        }
        let start = self.at;
        let kind = self.kind();
        self.token(kind, start, first_of_line)
    }

    #[inline]
    fn token(&self, kind: TokenKind, start: usize, first_of_line: bool) -> Token {
        Token {
            kind,
            first_of_line,
            start: start as u32,
            end: self.at as u32,
        }
    }

    /// Skips the block comment that begins at the current byte. If it is not closed, skips the rest
    /// of the text and returns false.
    fn block_comment(&mut self) -> bool {
        let mut at = self.at + 2;
        loop {
            at = self.find(at, b'*');
            if at >= self.bytes.len() {
                self.at = self.bytes.len();
                return false;
            }
            if self.bytes.get(at + 1) == Some(&b'/') {
                self.at = at + 2;
                return true;
            }
            at += 1;
        }
    }

    fn kind(&mut self) -> TokenKind {
        let b = self.peek(0);
        if is(b, LETTER) {
            return self.word();
        }
        if is(b, DIGIT) || b == b'.' || b == b'-' {
            if self.number() {
                return TokenKind::Number;
            }
            return match (b, self.peek(1)) {
                (b'-', b'>') => self.take(2, TokenKind::Arrow),
                (b'-', b'-') => self.take(2, TokenKind::Line),
                _ => self.take(1, TokenKind::Stray),
            };
        }
        match b {
            b'"' => self.string(),
            b'<' => self.html(),
            b'{' => self.take(1, TokenKind::OpenBrace),
            b'}' => self.take(1, TokenKind::CloseBrace),
            b'[' => self.take(1, TokenKind::OpenBracket),
            b']' => self.take(1, TokenKind::CloseBracket),
            b'=' => self.take(1, TokenKind::Equals),
            b',' => self.take(1, TokenKind::Comma),
            b';' => self.take(1, TokenKind::Semicolon),
            b':' => self.take(1, TokenKind::Colon),
            b'+' => self.take(1, TokenKind::Plus),
            _ => self.take(1, TokenKind::Stray),
        }
    }

    fn take(&mut self, bytes: usize, kind: TokenKind) -> TokenKind {
        self.at += bytes;
        kind
    }

    fn word(&mut self) -> TokenKind {
        let rest = &self.bytes[self.at..];
        let length = rest
            .iter()
            .position(|b| !is(*b, LETTER | DIGIT))
            .unwrap_or(rest.len());
        self.at += length;
        keyword(&rest[..length]).unwrap_or(TokenKind::Name)
    }

    /// Skips a number: `-? (digits (. digits?)? | . digits)`. Returns false, without moving, if no
    /// number begins at the current byte.
    fn number(&mut self) -> bool {
        let digits = |mut at: usize| {
            while self.bytes.get(at).is_some_and(|b| is(*b, DIGIT)) {
                at += 1;
            }
            at
        };
        let whole = self.at + usize::from(self.peek(0) == b'-');
        let mut at = digits(whole);
        if self.bytes.get(at) == Some(&b'.') {
            let fraction = digits(at + 1);
            if at == whole && fraction == at + 1 {
                return false;
            }
            at = fraction;
        } else if at == whole {
            return false;
        }
        self.at = at;
        true
    }

    fn string(&mut self) -> TokenKind {
        let start = self.at;
        let (mut escaped, mut over_line) = (false, false);
        let mut at = start + 1;
        while self.searches > 0 {
            match self.bytes.get(at) {
                None => break,
                Some(b'"') => {
                    self.at = at + 1;
                    if over_line {
                        self.suspect = Some((start as u32, self.at as u32));
                    }
                    return TokenKind::Quoted { escaped };
                }
                Some(b'\\') => {
                    escaped |= matches!(self.bytes.get(at + 1), Some(b'"' | b'\n' | b'\r'));
                    at += 2;
                }
                Some(b) => {
                    over_line |= *b == b'\n';
                    at += 1;
                }
            }
        }
        self.give_up(start, TokenKind::UnclosedString)
    }

    fn html(&mut self) -> TokenKind {
        let start = self.at;
        let (mut depth, mut at) = (1_u32, start + 1);
        while self.searches > 0 {
            match self.bytes.get(at) {
                None => break,
                Some(b'<') => depth += 1,
                Some(b'>') if depth == 1 => {
                    self.at = at + 1;
                    return TokenKind::Html;
                }
                Some(b'>') => depth -= 1,
                Some(_) => {}
            }
            at += 1;
        }
        self.give_up(start, TokenKind::UnclosedHtml)
    }

    /// Ends the unclosed string that begins at `start` at the end of its first line, and returns
    /// `kind`. One fewer search for the end of a string remains.
    fn give_up(&mut self, start: usize, kind: TokenKind) -> TokenKind {
        self.searches = self.searches.saturating_sub(1);
        let end = self.find(start, b'\n');
        let carriage_return = end > start + 1 && self.bytes[end - 1] == b'\r';
        self.at = end - usize::from(carriage_return);
        kind
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TokenKind::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut lexer = Lexer::new(text);
        let mut all = Vec::new();
        loop {
            let token = lexer.next_token();
            if token.kind == End {
                return all;
            }
            all.push(token.kind);
        }
    }

    #[test]
    fn names_numbers_and_operators() {
        assert_eq!(kinds("DiGraph strict_ \u{e9}a9"), [Digraph, Name, Name]);
        assert_eq!(
            kinds("-.5 1. 1.2.3 2a"),
            [Number, Number, Number, Number, Number, Name]
        );
        assert_eq!(kinds("a->b--c-5"), [Name, Arrow, Name, Line, Name, Number]);
        assert_eq!(kinds("- . \x0c"), [Stray, Stray, Stray]);
    }

    #[test]
    fn comments_are_not_tokens_but_can_be_kept() {
        let text = "a # b\n/* c\n**/ d // e";
        let mut lexer = Lexer::new(text).keep_comments();
        while lexer.next_token().kind != End {}
        let comments: Vec<_> = lexer
            .take_comments()
            .into_iter()
            .map(|(a, b)| &text[a as usize..b as usize])
            .collect();
        assert_eq!(comments, ["# b", "/* c\n**/", "// e"]);
        assert_eq!(kinds("a /* b"), [Name, UnclosedComment]);
    }

    #[test]
    fn strings_and_what_is_unclosed() {
        assert_eq!(kinds(r#""a\"b" <x<y>z> "c\\""#).len(), 3);
        assert_eq!(kinds("\"ab\ncd"), [UnclosedString, Name]);
        assert_eq!(kinds("<a<b>\ncd"), [UnclosedHtml, Name]);
    }

    #[test]
    fn unclosed_strings_are_searched_for_once() {
        // Without a limit, each would cause a search to the end of the text.
        let text = "<a \n".repeat(300_000);
        assert_eq!(kinds(&text).len(), 300_000);
        let text = format!("{}\"x", "\"\" \\".repeat(200_000));
        assert!(kinds(&text).len() > 200_000);
    }
}
