//! Packed integers of a fixed width, and the position of a set bit in a word.

use crate::error::Error;

/// Returns the number of words of 64 bits for the given number of bits.
pub(crate) fn words_for(bits: u64) -> usize {
    bits.div_ceil(64) as usize
}

/// Returns the eight bytes from index `from` on as a little-endian number, or `None` if there are
/// fewer than eight.
#[inline(always)]
pub(crate) fn eight(bytes: &[u8], from: usize) -> Option<u64> {
    let eight = bytes.get(from..from.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// Returns the number of bits of a value, at least one.
pub(crate) fn width_of(value: u64) -> u32 {
    (64 - value.leading_zeros()).max(1)
}

/// Returns the position of the set bit with the given index. Positions and indices begin at 0, with
/// the lowest bit. The word must have more than `index` set bits. Otherwise the result is
/// arbitrary.
///
/// Constant time: one multiplication sums the set bits of the bytes (S. Vigna, *Broadword
/// implementation of rank/select queries*, WEA 2008), which determines the byte. A table gives the
/// bit in the byte.
#[inline(always)]
pub(crate) fn select_in_word(word: u64, index: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let pairs = word - ((word >> 1) & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + ((pairs >> 2) & 0x3333_3333_3333_3333);
    let bytes = (fours + (fours >> 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    // Byte k is 127 - index plus the number of set bits in the bytes before it. Its top bit is set
    // if the wanted bit is in an earlier byte.
    let sums = bytes
        .wrapping_mul(ONES << 8)
        .wrapping_add(u64::from(127 - index).wrapping_mul(ONES));
    // Bit 63 acts as a ninth byte, because the last byte has no successor.
    let behind = (sums & TOPS) >> 8 | 1 << 63;
    // First bit of the byte.
    let first = behind.trailing_zeros() - 7;
    let missing = (sums >> (first & 63)) as usize % 8;
    let within = (word >> (first & 63)) as u8;
    first + u32::from(SELECT_IN_BYTE[missing * 256 + usize::from(within)])
}

/// For each byte, at offset 256 * (7 - index), the position of the set bit with that index.
static SELECT_IN_BYTE: [u8; 8 * 256] = {
    let mut table = [0; 8 * 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut bit, mut index) = (0, 0);
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[(7 - index) * 256 + byte] = bit as u8;
                index += 1;
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

/// Integers of equal width in consecutive bits, in little-endian order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Bytes instead of words, because eight bytes from any byte on contain every integer that
    /// begins in it.
    bytes: Box<[u8]>,
    width: u32,
    /// The bits that an integer may have.
    mask: u32,
    len: u64,
}

impl Packed {
    fn of(bytes: Vec<u8>, width: u32, len: u64) -> Self {
        Packed {
            bytes: bytes.into(),
            width,
            mask: ((1_u64 << width) - 1) as u32,
            len,
        }
    }

    /// Creates `len` integers of `width` bits, all zero. The width must be at most 32.
    pub(crate) fn zeros(width: u32, len: u64) -> Self {
        Packed::of(vec![0; Packed::bytes_for(width, len)], width, len)
    }

    /// Packs `len` integers of `width` bits from an iterator, which must not return more of them,
    /// or integers of more bits. If it returns fewer, the others are zero.
    pub(crate) fn collect(width: u32, len: u64, values: impl IntoIterator<Item = u32>) -> Self {
        let mut packed = Packed::zeros(width, len);
        for (index, value) in values.into_iter().enumerate() {
            packed.set(index as u64, value);
        }
        packed
    }

    /// Writes an integer at an index that holds zero. The index must be below the length, and the
    /// integer must not have more bits than the width. Constant time.
    pub(crate) fn set(&mut self, index: u64, value: u32) {
        debug_assert!(index < self.len && value & !self.mask == 0);
        let bit = index * u64::from(self.width);
        let eight = &mut self.bytes[(bit / 8) as usize..][..8];
        let shifted = u64::from(value) << (bit % 8);
        for (byte, more) in eight.iter_mut().zip(shifted.to_le_bytes()) {
            *byte |= more;
        }
    }

    /// Returns the integer at an index, which must be below the length. Otherwise the result is
    /// arbitrary, or the function panics. Constant time.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u32 {
        self.checked_get(index).expect("an integer there is")
    }

    /// Returns the integer at an index. Beyond the end, the result is arbitrary or `None`. Constant
    /// time.
    #[inline(always)]
    pub(crate) fn checked_get(&self, index: u64) -> Option<u32> {
        let bit = index * u64::from(self.width);
        let eight = eight(&self.bytes, (bit / 8) as usize)?;
        Some((eight >> (bit % 8)) as u32 & self.mask)
    }

    /// Returns the number of integers.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number of bits of each integer.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Returns an iterator over the integers. They are in the order of their indices.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len).map(|index| self.get(index))
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the bytes that contain integers, without padding: whole words in little-endian
    /// order.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..8 * words_for(u64::from(self.width) * self.len)]
    }

    /// Creates integers from the bytes that [`Packed::as_bytes`] returned.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if `width` exceeds 32, or if the number of bytes does not match.
    pub(crate) fn from_bytes(width: u32, len: u64, bytes: &[u8]) -> Result<Self, Error> {
        if width > 32 || bytes.len() != 8 * words_for(u64::from(width) * len) {
            return Err(Error::Malformed("packed integers"));
        }
        let mut all = Vec::with_capacity(Packed::bytes_for(width, len));
        all.extend_from_slice(bytes);
        all.resize(Packed::bytes_for(width, len), 0);
        Ok(Packed::of(all, width, len))
    }

    /// Returns the size on the heap in bytes of `len` integers. This is eight bytes more than
    /// needed, and at least 16, because eight bytes are read without a check for the end.
    pub(crate) fn bytes_for(width: u32, len: u64) -> usize {
        (words_for(u64::from(width) * len) + 1).max(2) * 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_bit_is_found_in_every_word() {
        let mut word: u64 = 0x9E37_79B9_7F4A_7C15;
        for round in 0..2000_u64 {
            word = word
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(round | 1);
            let sparse = word & word.rotate_left(17) & word.rotate_left(40);
            for word in [
                word,
                sparse,
                1 << (round % 64),
                u64::MAX,
                u64::MAX << (round % 64),
            ] {
                let set: Vec<u32> = (0..64).filter(|bit| word >> bit & 1 == 1).collect();
                for (index, bit) in set.iter().enumerate() {
                    assert_eq!(
                        select_in_word(word, index as u32),
                        *bit,
                        "{word:#x} {index}"
                    );
                }
            }
        }
    }

    #[test]
    fn integers_of_every_width_come_back() {
        for width in 0..=32_u32 {
            let most = ((1_u64 << width) - 1) as u32;
            let values: Vec<u32> = (0..200_u32)
                .map(|i| i.wrapping_mul(0x9E37_79B9).rotate_left(i) & most)
                .collect();
            let packed = Packed::collect(width, 200, values.iter().copied());
            assert!(packed.iter().eq(values));
            let again = Packed::from_bytes(width, 200, packed.as_bytes());
            assert_eq!(again.as_ref(), Ok(&packed));
            assert_eq!(packed.bytes(), Packed::bytes_for(width, 200));
        }
    }
}
