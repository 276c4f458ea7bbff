//! Words of bits: integers of a fixed width side by side, and the place of a set bit in a word.

use crate::error::Error;

/// How many words so many bits fill.
pub(crate) fn words_for(bits: u64) -> usize {
    bits.div_ceil(64) as usize
}

/// The eight bytes from one on, if there are so many: the lowest first.
#[inline(always)]
pub(crate) fn eight(bytes: &[u8], from: usize) -> Option<u64> {
    let eight = bytes.get(from..from.checked_add(8)?)?;
    Some(u64::from_le_bytes(eight.try_into().ok()?))
}

/// How many bits a value needs, at least one.
pub(crate) fn width_of(value: u64) -> u32 {
    (64 - value.leading_zeros()).max(1)
}

/// The position of the `index`th set bit of a word that has more than `index`.
///
/// Constant time: the bits set in each byte are summed by one multiplication (S. Vigna, *Broadword
/// implementation of rank/select queries*, WEA 2008), which gives the byte; where in it the bit is, a table tells.
#[inline(always)]
pub(crate) fn select_in_word(word: u64, index: u32) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let pairs = word - ((word >> 1) & 0x5555_5555_5555_5555);
    let fours = (pairs & 0x3333_3333_3333_3333) + ((pairs >> 2) & 0x3333_3333_3333_3333);
    let bytes = (fours + (fours >> 4)) & 0x0F0F_0F0F_0F0F_0F0F;
    // Byte k: 127 - index, and how many bits are set in the bytes before it. So the top bit says that the bit lies before.
    let sums = bytes
        .wrapping_mul(ONES << 8)
        .wrapping_add(u64::from(127 - index).wrapping_mul(ONES));
    // Of the last byte there is none behind it: as if there were a ninth.
    let behind = (sums & TOPS) >> 8 | 1 << 63;
    // The first bit of the byte.
    let first = behind.trailing_zeros() - 7;
    let missing = (sums >> (first & 63)) as usize % 8;
    let within = (word >> (first & 63)) as u8;
    first + u32::from(SELECT_IN_BYTE[missing * 256 + usize::from(within)])
}

/// For each byte, at 256 times 7 less an index, the position of the set bit with that index.
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

/// Integers of the same width, side by side: the lowest bit of the lowest byte first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Packed {
    /// Bytes and not words: eight of them from any byte on hold an integer that begins in it.
    bytes: Box<[u8]>,
    width: u32,
    /// Of an integer, the bits that may be set.
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

    /// `len` integers of `width` bits, all zero; the width is 0 to 32.
    pub(crate) fn zeros(width: u32, len: u64) -> Self {
        Packed::of(vec![0; Packed::bytes_for(width, len)], width, len)
    }

    /// What an iterator gives, each at most `width` bits wide.
    pub(crate) fn collect(width: u32, len: u64, values: impl IntoIterator<Item = u32>) -> Self {
        let mut packed = Packed::zeros(width, len);
        for (index, value) in values.into_iter().enumerate() {
            packed.set(index as u64, value);
        }
        packed
    }

    /// Writes an integer where a zero is. Constant time.
    pub(crate) fn set(&mut self, index: u64, value: u32) {
        debug_assert!(index < self.len && value & !self.mask == 0);
        let bit = index * u64::from(self.width);
        let eight = &mut self.bytes[(bit / 8) as usize..][..8];
        let shifted = u64::from(value) << (bit % 8);
        for (byte, more) in eight.iter_mut().zip(shifted.to_le_bytes()) {
            *byte |= more;
        }
    }

    /// The integer at an index. Constant time.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u32 {
        self.checked_get(index).expect("an integer there is")
    }

    /// The integer at an index; if there are not so many, any or none. Constant time.
    #[inline(always)]
    pub(crate) fn checked_get(&self, index: u64) -> Option<u32> {
        let bit = index * u64::from(self.width);
        let eight = eight(&self.bytes, (bit / 8) as usize)?;
        Some((eight >> (bit % 8)) as u32 & self.mask)
    }

    /// How many integers there are.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// How many bits each has.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// All integers in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len).map(|index| self.get(index))
    }

    /// The bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes that hold them, a multiple of eight, without those to spare: as words, the lowest byte first.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..8 * words_for(u64::from(self.width) * self.len)]
    }

    /// Integers out of the bytes that [`Packed::as_bytes`] gave.
    pub(crate) fn from_bytes(width: u32, len: u64, bytes: &[u8]) -> Result<Self, Error> {
        if width > 32 || bytes.len() != 8 * words_for(u64::from(width) * len) {
            return Err(Error::Malformed("packed integers"));
        }
        let mut all = Vec::with_capacity(Packed::bytes_for(width, len));
        all.extend_from_slice(bytes);
        all.resize(Packed::bytes_for(width, len), 0);
        Ok(Packed::of(all, width, len))
    }

    /// How many bytes `len` integers of a width take on the heap: eight more than are filled, and sixteen at the
    /// least, since eight are read without asking where the end is.
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
