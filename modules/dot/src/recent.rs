//! A cache of the meaning of pieces of a text.
//!
//! Programs that write graphs repeat the same few attributes, and name a node again soon after its
//! first occurrence. Comparing a piece with the last similar one is cheaper than a lookup among
//! all.

use crate::token::Text;
use graphmap_kpn::source::Span;

/// Binary logarithm of the number of slots.
const KEPT: u32 = 8;

/// Direct-mapped cache of values for the pieces of one text: each piece has one slot, and a newer
/// piece replaces an older one.
pub(crate) struct Recent<T> {
    slots: Vec<Slot<T>>,
}

#[derive(Clone, Copy, Default)]
struct Slot<T> {
    hash: u64,
    /// Offset of the piece in the text.
    start: u32,
    /// Length of the piece, or 0 if the slot is empty.
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
    /// Returns the value of an equal piece of the same text, and the span of that piece. Returns
    /// `None` if the cache does not contain such a piece, or no longer.
    ///
    /// `text` must be the text of all calls since [`Recent::clear`]. May panic if `span` is outside
    /// of it.
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
            // The hash is injective for pieces of the same length up to 8 bytes. For 9 to 16 bytes,
            // equal hashes and an equal beginning mean equal pieces.
            1..=8 => true,
            9..=16 => eight(piece.bytes, old) == eight(piece.bytes, new),
            length => piece.bytes[old..old + length] == piece.bytes[new..new + length],
        };
        let start = text.base() + slot.start;
        same.then(|| (Span::new(start, start + slot.length), slot.made))
    }

    /// Stores the value of the piece at a span, in place of the piece in its slot. Stores nothing
    /// for an empty piece, and for one that ends within the first 7 bytes of the text, but the slot
    /// is cleared. May panic if `span` is outside of the text.
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

    /// Removes all pieces.
    pub(crate) fn clear(&mut self) {
        self.slots.fill(Slot::default());
    }
}

/// A piece of a text, which must be inside the text.
struct Piece<'a> {
    bytes: &'a [u8],
    start: u32,
    length: u32,
    /// Hash of all bytes. It need not be strong, because pieces in the same slot only replace each
    /// other.
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
            // Too near to the start of the text to load eight bytes. Such a piece is not cached.
            None => (0, 0),
            // Mixes all words of eight bytes, and then the last eight bytes, which may overlap
            // them.
            Some(last) if length > 16 => {
                let words = bytes[start as usize..end - 1].as_chunks().0.iter();
                let mixed = words.fold(0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
                (length, mix(mixed, last))
            }
            Some(last) if length > 8 => (length, mix(mix(0, eight(bytes, start as usize)), last)),
            // Bytes before a short piece are shifted out.
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

    /// Returns the index of the slot of this piece.
    #[inline]
    fn place(&self) -> usize {
        // The upper bits of a product depend on all bits of its factors.
        (self.hash >> (u64::BITS - KEPT)) as usize
    }
}

/// Odd, so that no two words have the same product, and with bits in all positions.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Returns the eight bytes from `at` as a little-endian number. Panics if fewer bytes follow.
#[inline]
fn eight(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}
