//! A scanner for plain words, numbers and strings, which large graphs mostly consist of.
//!
//! A [`Scan`] reads ahead of the lexer, directly from the bytes. It fails at any text that is not
//! plain, such as a comment, an escape, a keyword or an error. The lexer then reads the same bytes
//! again.

use crate::lexer::{DIGIT, KEYWORD, LETTER, SPACE, is, keyword};
use crate::token::{Id, Shape, Text};
use graphmap_kpn::source::Span;

/// A position in a text, from which plain pieces are read.
pub(crate) struct Scan<'a> {
    bytes: &'a [u8],
    base: u32,
    at: usize,
}

impl<'a> Scan<'a> {
    /// Creates a scan of a text from a byte offset.
    pub(crate) fn new(text: Text<'a>, at: u32) -> Scan<'a> {
        Scan {
            bytes: text.as_str().as_bytes(),
            base: text.base(),
            at: at as usize,
        }
    }

    #[inline]
    pub(crate) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    /// Skips white space, if there is any. A comment is not white space.
    #[inline]
    pub(crate) fn blanks(&mut self) {
        while is(self.peek(), SPACE) {
            self.at += 1;
        }
    }

    /// Skips the current byte and returns true, if it is `byte`. Otherwise returns false.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == byte;
        self.at += usize::from(here);
        here
    }

    /// Skips the current byte and returns its span. The scan must not be at the end of the text.
    #[inline]
    pub(crate) fn one(&mut self) -> Span {
        let start = self.base + self.at as u32;
        self.at += 1;
        Span::new(start, start + 1)
    }

    /// Returns true if the current byte is a letter, a digit, a quote or a `}`. After a possible
    /// end of a statement, such a byte can only begin a new statement or end the block.
    #[inline]
    pub(crate) fn statement_begins(&self) -> bool {
        is(self.peek(), LETTER | DIGIT) || matches!(self.peek(), b'"' | b'}')
    }

    #[inline]
    fn pass(&mut self, class: u8) {
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let length = rest.iter().position(|b| !is(*b, class));
        self.at += length.unwrap_or(rest.len());
    }

    /// Reads an identifier. Returns `None` if it is not plain. The scan may then have stopped at
    /// any position in it.
    #[inline(always)]
    pub(crate) fn id(&mut self) -> Option<Id> {
        // Constructed here and not returned by a function: a span is written as two halves and
        // copied as a whole. If the processor must wait for both halves to reach its cache, that
        // takes longer than all of the reading.
        let start = self.base + self.at as u32;
        let shape = self.shape()?;
        let span = Span::new(start, self.base + self.at as u32);
        Some(Id { span, shape })
    }

    /// Skips an identifier and returns its shape. Returns `None` if it is not plain: a keyword, an
    /// HTML string, a string that [`Scan::string`] refuses, or a number that does not begin with a
    /// digit or is directly before a name or a point. The scan may then have moved.
    fn shape(&mut self) -> Option<Shape> {
        let (start, first) = (self.at, self.peek());
        if is(first, LETTER) {
            self.pass(LETTER | DIGIT);
            let word = &self.bytes[start..self.at];
            let reserved = is(first, KEYWORD) && keyword(word).is_some();
            return (!reserved).then_some(Shape::Name);
        }
        if first == b'"' {
            self.string()?;
            return Some(Shape::Quoted);
        }
        if !is(first, DIGIT) {
            return None;
        }
        self.pass(DIGIT);
        if self.take(b'.') {
            self.pass(DIGIT);
        }
        // A number directly before a letter or a point is two tokens.
        let runs_on = is(self.peek(), LETTER) || self.peek() == b'.';
        (!runs_on).then_some(Shape::Number)
    }

    /// Skips a quoted string without line ends and without escapes that must be resolved. Returns
    /// `None`, without moving, for any other string and for one that is not closed.
    fn string(&mut self) -> Option<()> {
        let mut at = self.at + 1;
        loop {
            match self.bytes.get(at)? {
                b'"' => break,
                b'\n' => return None,
                b'\\' => match self.bytes.get(at + 1)? {
                    b'"' | b'\n' | b'\r' => return None,
                    _ => at += 2,
                },
                _ => at += 1,
            }
        }
        self.at = at + 1;
        Some(())
    }
}
