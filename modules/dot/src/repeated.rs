//! What was made of a piece of text, for when the same piece comes again.
//!
//! Programs that write graphs write the same few lists of attributes over and over. To compare
//! eight texts costs less than to cut one into tokens.

use graphmap_kpn::source::Span;
use std::ops::Range;

/// How many pieces are kept; the oldest goes first.
const KEPT: usize = 8;
/// Longest piece kept, in bytes: comparing is cheap only so far.
const LONGEST: u32 = 256;

/// The last few pieces of a text, each where it was first found, with what was made of it.
pub(crate) struct Repeated<T> {
    kept: Vec<(Range<u32>, T)>,
    oldest: usize,
}

impl<T> Default for Repeated<T> {
    fn default() -> Repeated<T> {
        Repeated {
            kept: Vec::new(),
            oldest: 0,
        }
    }
}

impl<T: Default> Repeated<T> {
    /// The piece that stands at a place of the text again, whatever follows it.
    #[inline]
    pub(crate) fn at_start(&self, text: &[u8], at: u32) -> Option<(Range<u32>, &T)> {
        let rest = &text[at as usize..];
        let same = |(piece, _): &&(Range<u32>, T)| rest.starts_with(bytes(text, piece));
        let (piece, made) = self.kept.iter().find(same)?;
        Some((piece.clone(), made))
    }

    /// The piece that is the same as another, from its first byte to its last.
    #[inline]
    pub(crate) fn same(&self, text: &[u8], other: Range<u32>) -> Option<(Range<u32>, &T)> {
        let other = bytes(text, &other);
        let same = |(piece, _): &&(Range<u32>, T)| bytes(text, piece) == other;
        let (piece, made) = self.kept.iter().find(same)?;
        Some((piece.clone(), made))
    }

    /// Keeps a piece: the place for what was made of it, which may still hold what was made of an
    /// older one. `None` for one that is too long to keep.
    pub(crate) fn keep(&mut self, piece: Range<u32>) -> Option<&mut T> {
        if piece.end - piece.start > LONGEST {
            return None;
        }
        if self.kept.len() < KEPT {
            self.kept.push((piece, T::default()));
            return self.kept.last_mut().map(|(_, made)| made);
        }
        let entry = &mut self.kept[self.oldest];
        self.oldest = (self.oldest + 1) % KEPT;
        entry.0 = piece;
        Some(&mut entry.1)
    }
}

fn bytes<'a>(text: &'a [u8], piece: &Range<u32>) -> &'a [u8] {
    &text[piece.start as usize..piece.end as usize]
}

/// A span as many bytes further; modulo 2^32, so that it can be moved back as well.
pub(crate) fn moved(span: Span, by: u32) -> Span {
    Span::new(span.start.wrapping_add(by), span.end.wrapping_add(by))
}
