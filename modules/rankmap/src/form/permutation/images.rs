//! The numbers of a permutation: side by side, or in blocks each of which is compressed by itself.

use crate::bits::{Packed, width_of};
use crate::error::Error;

/// How many numbers a block has.
pub(crate) const BLOCK: u64 = 128;
/// The bits of a head that say how many a number of the block takes,
const WIDTH: u64 = 6;
/// and where the block begins, in pieces of as many bits as the block has numbers.
const PLACE: u64 = 26;
/// What holds the numbers of a block: a piece for each of their bits.
const PIECE: usize = BLOCK as usize / 8;

/// Numbers, each found in constant time, in whichever way takes fewer bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Images {
    /// All as wide as the largest.
    Packed(Packed),
    /// For each block its least number, and what the others are more than that in as many bits as the block needs: frames of
    /// reference (J. Goldstein, R. Ramakrishnan, U. Shaft, *Compressing relations and indexes*, 1998). Half a bit a
    /// number for the heads; what is permuted within ranges takes as many bits as the ranges are long, wherever they lie.
    Framed {
        heads: Box<[u64]>,
        bytes: Box<[u8]>,
        len: u64,
    },
}

impl Images {
    /// `len` numbers of at most `width` bits, given again when the iterator is cloned.
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

    /// The number at an index. Constant time.
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

    /// The bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Images::Packed(packed) => packed.bytes(),
            Images::Framed { heads, bytes, .. } => heads.len() * 8 + bytes.len(),
        }
    }

    /// The least numbers and widths of the blocks, and the bytes that hold the rest; `None` where there are no blocks.
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

    /// The numbers of such blocks, still any; an error if they are no blocks of different numbers.
    pub(crate) fn of_frames(
        len: u64,
        frames: &[(u32, u32)],
        bytes: &[u8],
    ) -> Result<Vec<u32>, Error> {
        let wrong = Error::Malformed("blocks of a permutation");
        let (mut heads, mut pieces) = (Vec::with_capacity(frames.len()), 0_u64);
        let mut rest = len;
        for (least, width) in frames {
            // No number is there twice, so that few bytes are not many numbers.
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

    /// How many bytes `len` numbers take, each as wide as `width`, or in blocks so many pieces together.
    pub(crate) fn bytes_for(width: u32, len: u64, pieces: u64) -> usize {
        Packed::bytes_for(width, len).min(framed_bytes(len, pieces))
    }

    /// Whether the blocks are what there is.
    #[cfg(test)]
    pub(crate) fn is_framed(&self) -> bool {
        matches!(self, Images::Framed { .. })
    }
}

/// In how many pieces a block of numbers from the least to the most is.
pub(crate) fn frame_width(least: u32, most: u32) -> u32 {
    match most - least {
        0 => 0,
        more => width_of(u64::from(more)),
    }
}

fn framed_bytes(len: u64, pieces: u64) -> usize {
    len.div_ceil(BLOCK) as usize * 8 + pieces as usize * PIECE + 8
}

/// At which byte a block begins.
fn place_of(head: u64) -> usize {
    (head as u32 >> WIDTH) as usize * PIECE
}
