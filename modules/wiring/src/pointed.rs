//! Positions of compiler messages in the text of a file.

use std::ops::Range;

/// Position of a compiler message in the text of a file.
#[derive(Clone, Debug)]
pub struct Pointed<'t> {
    /// The text of the whole file.
    pub text: &'t str,
    /// Byte range of the position.
    pub range: Range<usize>,
}

impl<'t> Pointed<'t> {
    /// Returns the text at the position. It is empty if the range is not in the text, or does not
    /// begin and end between characters.
    pub(crate) fn words(&self) -> &'t str {
        self.text.get(self.range.clone()).unwrap_or("")
    }

    /// Returns the lines that contain the position, and the byte offset of their start. The last
    /// line is without its line end. Returns an empty text and 0 if the range is not in the text.
    pub(crate) fn lines(&self) -> (&'t str, usize) {
        let (Some(before), Some(after)) = (
            self.text.get(..self.range.start),
            self.text.get(self.range.end..),
        ) else {
            return ("", 0);
        };
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = after
            .find('\n')
            .map_or(self.text.len(), |at| self.range.end + at);
        (&self.text[start..end], start)
    }

    /// Returns true if an occurrence of `part` in the lines of the position shares a byte with the
    /// range. An empty range counts as the byte after it.
    pub(crate) fn is_in(&self, part: &str) -> bool {
        let (lines, start) = self.lines();
        lines.match_indices(part).any(|(at, _)| {
            let (at, end) = (start + at, start + at + part.len());
            at < self.range.end.max(self.range.start + 1) && self.range.start < end
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Pointed;

    #[test]
    fn a_position_is_in_the_part_of_its_line_that_contains_it() {
        let text = "one\n  two::three<two>;\nfour";
        let start = text.find("three").unwrap();
        let at = Pointed {
            text,
            range: start..start + 5,
        };
        assert_eq!(at.words(), "three");
        assert_eq!(at.lines(), ("  two::three<two>;", 4));
        assert!(at.is_in("two::three<two>"));
        assert!(!at.is_in("<two>"));
        assert!(!at.is_in("four"));
        let beyond = Pointed {
            text,
            range: 90..95,
        };
        assert_eq!(
            (beyond.words(), beyond.lines(), beyond.is_in("")),
            ("", ("", 0), false)
        );
    }
}
