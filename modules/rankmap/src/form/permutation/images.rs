//! The images of a permutation, either packed or in blocks that are compressed separately.

use crate::bits::{Packed, width_of};
use crate::error::Error;

/// Number of images in a block.
pub(crate) const BLOCK: u64 = 128;
/// Number of bits of a head for the width of the images of the block.
const WIDTH: u64 = 6;
/// Number of bits of a head for the start of the block, in pieces.
const PLACE: u64 = 26;
/// Bytes of a piece. A piece has one bit for each image of a block, and a block has a piece for
/// each bit of its width.
const PIECE: usize = BLOCK as usize / 8;

/// Numbers with access in constant time, in the representation that takes fewer bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Images {
    /// All numbers have the width of the largest.
    Packed(Packed),
    /// Each block has its least number, and the differences to it in as many bits as the block
    /// needs: frames of reference (J. Goldstein, R. Ramakrishnan, U. Shaft, *Compressing relations
    /// and indexes*, 1998).
    ///
    /// The heads take half a bit a number. If a permutation stays within ranges, a number takes the
    /// bits for the length of a range, independent of its position.
    Framed {
        heads: Box<[u64]>,
        bytes: Box<[u8]>,
        len: u64,
    },
}

impl Images {
    /// Stores the numbers of an iterator, which must return `len` numbers of at most `width` bits.
    /// The iterator is cloned, and the clone must return the same numbers.
    pub(crate) fn collect(width: u32, len: u64, values: impl Iterator<Item = u32> + Clone) -> Self {
        let mut heads = Vec::with_capacity(len.div_ceil(BLOCK) as usize);
        let (mut all, mut pieces) = (values.clone(), 0_u64);
        for block in 0..len.div_ceil(BLOCK) {
            let of_block = all.by_ref().take((len - block * BLOCK).min(BLOCK) as usize);
            let (least, most) = of_block.fold((u32::MAX, 0), |(least, most), value| {
                (least.min(value), most.max(value))
            });
            let width = frame_width(least, most);
            heads.push(u64::from(least) << 32 | pieces << WIDTH | u64::from(width));
            pieces += u64::from(width);
        }
        if pieces >> PLACE != 0 || framed_bytes(len, pieces) >= Packed::bytes_for(width, len) {
            return Images::Packed(Packed::collect(width, len, values));
        }
        let mut bytes = vec![0; pieces as usize * PIECE + 8];
        for (index, value) in (0..).zip(values) {
            let head = heads[(index / BLOCK) as usize];
            let bit = (index % BLOCK) * (head & ((1 << WIDTH) - 1));
            let at = place_of(head) + (bit / 8) as usize;
            let shifted = u64::from(value - (head >> 32) as u32) << (bit % 8);
            for (byte, more) in bytes[at..at + 8].iter_mut().zip(shifted.to_le_bytes()) {
                *byte |= more;
            }
        }
        Images::Framed {
            heads: heads.into(),
            bytes: bytes.into(),
            len,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        match self {
            Images::Packed(packed) => packed.len(),
            Images::Framed { len, .. } => *len,
        }
    }

    /// Returns the number at an index. Constant time. The index must be below the length. Otherwise
    /// the function panics, or the result is arbitrary.
    #[inline]
    pub(crate) fn get(&self, index: u64) -> u32 {
        match self {
            Images::Packed(packed) => packed.get(index),
            Images::Framed { heads, bytes, .. } => {
                let head = heads[(index / BLOCK) as usize];
                let width = head & ((1 << WIDTH) - 1);
                let bit = (index % BLOCK) * width;
                let at = place_of(head) + (bit / 8) as usize;
                let mut eight = [0; 8];
                eight.copy_from_slice(&bytes[at..at + 8]);
                let more = (u64::from_le_bytes(eight) >> (bit % 8)) & ((1 << width) - 1);
                ((head >> 32) as u32).wrapping_add(more as u32)
            }
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Images::Packed(packed) => packed.bytes(),
            Images::Framed { heads, bytes, .. } => heads.len() * 8 + bytes.len(),
        }
    }

    /// Returns the least number and the width in bits of each block, and the bytes of the
    /// differences. Returns `None` if the numbers are not stored in blocks.
    pub(crate) fn frames(&self) -> Option<(impl Iterator<Item = (u32, u32)> + '_, &[u8])> {
        match self {
            Images::Packed(_) => None,
            Images::Framed { heads, bytes, .. } => {
                let frames = heads
                    .iter()
                    .map(|head| ((head >> 32) as u32, (head & ((1 << WIDTH) - 1)) as u32));
                Some((frames, &bytes[..bytes.len() - 8]))
            }
        }
    }

    /// Decodes `len` numbers from the result of [`Images::frames`], without checking that they are
    /// a permutation. Returns [`Error::Malformed`] if the number of blocks or of bytes does not
    /// match, or if a block is too narrow for distinct numbers or wider than 32 bits.
    pub(crate) fn of_frames(
        len: u64,
        frames: &[(u32, u32)],
        bytes: &[u8],
    ) -> Result<Vec<u32>, Error> {
        let wrong = Error::Malformed("blocks of a permutation");
        let (mut heads, mut pieces) = (Vec::with_capacity(frames.len()), 0_u64);
        let mut rest = len;
        for (least, width) in frames {
            // All numbers are distinct, so a few bytes cannot claim to encode many numbers.
            let count = rest.min(BLOCK);
            rest -= count;
            if *width > 32 || 1_u64 << width < count {
                return Err(wrong);
            }
            heads.push(u64::from(*least) << 32 | pieces << WIDTH | u64::from(*width));
            pieces += u64::from(*width);
            if pieces >> PLACE != 0 {
                return Err(wrong);
            }
        }
        if frames.len() as u64 != len.div_ceil(BLOCK) || bytes.len() as u64 != pieces * PIECE as u64
        {
            return Err(wrong);
        }
        let bytes = [bytes, &[0; 8]].concat().into();
        let images = Images::Framed {
            heads: heads.into(),
            bytes,
            len,
        };
        Ok((0..len).map(|index| images.get(index)).collect())
    }

    /// Returns the size on the heap in bytes of `len` numbers: the smaller of the size with `width`
    /// bits each, and in blocks with `pieces` pieces in total.
    pub(crate) fn bytes_for(width: u32, len: u64, pieces: u64) -> usize {
        Packed::bytes_for(width, len).min(framed_bytes(len, pieces))
    }

    /// Returns true if the numbers are stored in blocks.
    #[cfg(test)]
    pub(crate) fn is_framed(&self) -> bool {
        matches!(self, Images::Framed { .. })
    }
}

/// Returns the number of pieces for a block of numbers from `least` to `most`, which is their width
/// in bits. It is 0 if both are equal. `most` must not be below `least`.
pub(crate) fn frame_width(least: u32, most: u32) -> u32 {
    match most - least {
        0 => 0,
        more => width_of(u64::from(more)),
    }
}

fn framed_bytes(len: u64, pieces: u64) -> usize {
    len.div_ceil(BLOCK) as usize * 8 + pieces as usize * PIECE + 8
}

/// Returns the index of the byte at which the block with the given head begins.
fn place_of(head: u64) -> usize {
    (head as u32 >> WIDTH) as usize * PIECE
}
