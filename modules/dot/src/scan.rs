//! Reads what large graphs consist of, straight from the bytes: bare words, numbers, plain strings.
//!
//! A [`Scan`] goes ahead of the lexer and makes no tokens. Whatever is not plain (a comment, an
//! escape, a keyword, a mistake) it does not know, and says so; the lexer then reads the same bytes
//! again and has the last word.

use crate::lexer::{DIGIT, KEYWORD, LETTER, SPACE, is, keyword};
use crate::token::{Id, Shape, Text};
use graphmap_kpn::source::Span;

/// A place in a text, from which plain pieces are read.
pub(crate) struct Scan<'a> {
    bytes: &'a [u8],
    base: u32,
    at: usize,
}

impl<'a> Scan<'a> {
    /// A scan of a text from one of its bytes.
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

    /// Passes over white space.
    #[inline]
    pub(crate) fn blanks(&mut self) {
        while is(self.peek(), SPACE) {
            self.at += 1;
        }
    }

    /// Passes over a byte, if it is here.
    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let here = self.peek() == byte;
        self.at += usize::from(here);
        here
    }

    /// Passes over the byte here, whatever it is, and tells where that was.
    #[inline]
    pub(crate) fn one(&mut self) -> Span {
        let start = self.base + self.at as u32;
        self.at += 1;
        Span::new(start, start + 1)
    }

    /// Whether the byte here can only begin a new statement, or end the block, where a statement
    /// may have ended.
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

    /// An identifier and the place behind it; `None`, somewhere inside it, if it is not plain.
    #[inline(always)]
    pub(crate) fn id(&mut self) -> Option<Id> {
        // Put together here and not returned by a function: a span is written as two halves and
        // copied as a whole, and a processor that must wait for both to reach its cache loses more
        // time than all of the reading takes.
        let start = self.base + self.at as u32;
        let shape = self.shape()?;
        let span = Span::new(start, self.base + self.at as u32);
        Some(Id { span, shape })
    }

    /// Passes over an identifier and tells how it is written.
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
        // What runs on is two tokens.
        let runs_on = is(self.peek(), LETTER) || self.peek() == b'.';
        (!runs_on).then_some(Shape::Number)
    }

    /// A string on one line without anything in it that must be resolved.
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
