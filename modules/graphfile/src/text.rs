//! Words with their positions, and the numbers in them.

use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, Span};

/// A piece of a source text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    /// Offset of its first byte in the source map.
    pub(crate) start: u32,
}

/// Returns true for a byte that `scanf` treats as white space, as do other readers of these files.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

impl<'a> Word<'a> {
    /// Returns the whole text of a source, without a byte order mark at its start.
    pub(crate) fn all(source: &'a Source) -> Word<'a> {
        let text = source.text();
        let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
        Word {
            text: bare,
            start: source.base() + (text.len() - bare.len()) as u32,
        }
    }

    pub(crate) fn span(self) -> Span {
        Span::new(self.start, self.start + self.text.len() as u32)
    }

    /// Returns the empty position behind the last byte of this piece.
    pub(crate) fn end(self) -> Span {
        let end = self.start + self.text.len() as u32;
        Span::new(end, end)
    }

    /// Returns the lines, each without `\n` and without any `\r` at its end. A `\n` at the end of
    /// the text does not begin another line.
    pub(crate) fn lines(self) -> impl Iterator<Item = Word<'a>> {
        let mut start = self.start;
        self.text.split_inclusive('\n').map(move |line| {
            let text = line.trim_end_matches(['\n', '\r']);
            let here = Word { text, start };
            start += line.len() as u32;
            here
        })
    }

    /// Returns the words between white space, in order. No word is empty.
    pub(crate) fn words(self) -> Words<'a> {
        Words { rest: self }
    }

    pub(crate) fn is_blank(self) -> bool {
        self.text.bytes().all(is_space)
    }

    /// Returns the text for messages, shortened to 40 characters and then escaped. If the text was
    /// longer, `...` follows.
    pub(crate) fn shown(self) -> String {
        let mut shown: String = self
            .text
            .chars()
            .take(40)
            .flat_map(char::escape_debug)
            .collect();
        if self.text.chars().nth(40).is_some() {
            shown.push_str("...");
        }
        shown
    }

    /// Parses an integer from `least` to `most`, written in decimal digits only. For any other
    /// text, reports an error and returns `None`. `what` names the integer in messages.
    pub(crate) fn number(
        self,
        what: &str,
        least: u64,
        most: u64,
        out: &mut Diagnostics,
    ) -> Option<u64> {
        let digits = self.text.bytes().all(|b| b.is_ascii_digit());
        let value = self.text.parse::<u64>().ok().filter(|_| digits);
        if let Some(value) = value.filter(|v| (least..=most).contains(v)) {
            return Some(value);
        }
        let shown = self.shown();
        let negative = self
            .text
            .strip_prefix('-')
            .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
        let (message, help) = match value {
            _ if negative => (
                format!("{what} is negative"),
                format!("use a number of at least {least}"),
            ),
            None if !digits => (
                format!("`{shown}` is not {what}"),
                "write a whole number in decimal digits".to_owned(),
            ),
            Some(small) if small < least => (
                format!("{what} is {small}"),
                format!("use a number of at least {least}"),
            ),
            _ => (
                format!("{what} is {shown}, which is too large"),
                format!("use a number of at most {most}"),
            ),
        };
        let diagnostic = Diagnostic::error(codes::NUMBER, message);
        out.push(diagnostic.at(self.span(), "").help(help));
        None
    }
}

/// Iterator over the words of a text.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    rest: Word<'a>,
}

impl<'a> Words<'a> {
    /// Returns the empty position behind the last word that was returned, or at the start of the
    /// text if none was.
    pub(crate) fn here(self) -> Span {
        Span::new(self.rest.start, self.rest.start)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let bytes = self.rest.text.as_bytes();
        let skip = bytes.iter().position(|b| !is_space(*b))?;
        let length = bytes[skip..].iter().position(|b| is_space(*b));
        let end = length.map_or(bytes.len(), |length| skip + length);
        let word = Word {
            text: &self.rest.text[skip..end],
            start: self.rest.start + skip as u32,
        };
        self.rest = Word {
            text: &self.rest.text[end..],
            start: self.rest.start + end as u32,
        };
        Some(word)
    }
}
