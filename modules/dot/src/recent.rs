//! What pieces of a text were found to mean, for when they come again.
//!
//! Programs that write graphs write the same few attributes over and over, and name a node again
//! soon after they named it. To compare a piece with the last one like it costs less than to look
//! it up among all.

use crate::token::Text;
use graphmap_kpn::source::Span;

/// How many pieces are kept, as a power of two.
const KEPT: u32 = 8;

/// Pieces of one text with what was made of them. A piece has one place where it can be kept, and
/// a newer one takes the place of an older.
pub(crate) struct Recent<T> {
    slots: Vec<Slot<T>>,
}

#[derive(Clone, Copy, Default)]
struct Slot<T> {
    hash: u64,
    /// Where the piece stood, in bytes of the text.
    start: u32,
    /// 0 where nothing is kept.
    length: u32,
    made: T,
}

impl<T: Copy + Default> Default for Recent<T> {
    fn default() -> Recent<T> {
        Recent {
            slots: vec![Slot::default(); 1 << KEPT],
        }
    }
}

impl<T: Copy + Default> Recent<T> {
    /// What was made of the piece at a span of the text, and where the piece stood then.
    #[inline]
    pub(crate) fn get(&self, text: Text<'_>, span: Span) -> Option<(Span, T)> {
        let piece = Piece::new(text, span);
        let slot = &self.slots[piece.place()];
        if slot.hash != piece.hash || slot.length != piece.length {
            return None;
        }
        let (old, new) = (slot.start as usize, piece.start as usize);
        let same = match piece.length as usize {
            0 => false,
            // No two pieces that short have the same hash; nor do two with the same beginning.
            1..=8 => true,
            9..=16 => eight(piece.bytes, old) == eight(piece.bytes, new),
            length => piece.bytes[old..old + length] == piece.bytes[new..new + length],
        };
        let start = text.base() + slot.start;
        same.then(|| (Span::new(start, start + slot.length), slot.made))
    }

    /// Keeps what was made of the piece at a span.
    #[inline]
    pub(crate) fn put(&mut self, text: Text<'_>, span: Span, made: T) {
        let piece = Piece::new(text, span);
        self.slots[piece.place()] = Slot {
            hash: piece.hash,
            start: piece.start,
            length: piece.length,
            made,
        };
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(Slot::default());
    }
}

/// A piece of a text, which must lie in it.
struct Piece<'a> {
    bytes: &'a [u8],
    start: u32,
    length: u32,
    /// All bytes mixed. It need not be strong: pieces with the same place only push each other out.
    hash: u64,
}

impl<'a> Piece<'a> {
    #[inline(always)]
    fn new(text: Text<'a>, span: Span) -> Piece<'a> {
        let bytes = text.as_str().as_bytes();
        let (start, length) = (span.start - text.base(), span.end - span.start);
        let end = (start + length) as usize;
        let mix = |hash: u64, word: u64| (hash ^ hash >> 32 ^ word).wrapping_mul(FACTOR);
        let (length, hash) = match end.checked_sub(8).map(|at| eight(bytes, at)) {
            // No graph begins so early.
            None => (0, 0),
            // The last eight bytes, and all that are not among them, some perhaps twice.
            Some(last) if length > 16 => {
                let words = bytes[start as usize..end - 1].as_chunks().0.iter();
                let mixed = words.fold(0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
                (length, mix(mixed, last))
            }
            Some(last) if length > 8 => (length, mix(mix(0, eight(bytes, start as usize)), last)),
            // What stands before a short piece is shifted out.
            Some(last) => {
                let word = last.checked_shr(64 - 8 * length).unwrap_or(0);
                (length, mix(0, word))
            }
        };
        Piece {
            bytes,
            start,
            length,
            hash,
        }
    }

    /// Its place among those kept.
    #[inline]
    fn place(&self) -> usize {
        // The upper bits of a product depend on all bits of its factors.
        (self.hash >> (u64::BITS - KEPT)) as usize
    }
}

/// Odd, so that no two words have the same product, and with bits all over.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Eight bytes from a place on.
#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}
