//! A permutation as a packed array, with an inverse or shortcuts to it.

pub(crate) mod images;

use crate::bit_vector::BitVector;
use crate::bits::{width_of, words_for};
use crate::error::Error;
use crate::form::permutation::images::Images;

/// Distance between shortcuts on a cycle.
const APART: u64 = 8;

/// A permutation of `0..n`: the images, and either the images of the inverse or shortcuts.
///
/// With shortcuts, each eighth element of a cycle longer than eight stores the element eight steps
/// before it. The inverse then takes at most about sixteen steps, and the whole
/// `n log n (1 + 1/8) + 1.1 n` bits (J. I. Munro, R. Raman, V. Raman, S. S. Rao, *Succinct
/// representations of permutations*, 2003). All three arrays are divided into blocks, and each
/// block is compressed separately if that takes fewer bytes ([`Images`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permutation {
    to: Images,
    back: Back,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Back {
    Inverse(Images),
    Shortcuts { at: BitVector, to: Images },
}

impl Permutation {
    /// Stores the images of `0..n`, with the images of the inverse if `inverse` is true, otherwise
    /// with shortcuts.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if an image occurs twice. [`Error::NoSuchRank`] if an image is not
    /// below `n`.
    pub(crate) fn new(to: &[u32], inverse: bool) -> Result<Self, Error> {
        let len = to.len() as u64;
        let width = width_of(len.saturating_sub(1));
        let mut seen = vec![0_u64; words_for(len)];
        for image in to {
            match seen.get_mut(*image as usize / 64) {
                Some(word) if u64::from(*image) < len && *word >> (image % 64) & 1 == 0 => {
                    *word |= 1 << (image % 64);
                }
                Some(_) if u64::from(*image) < len => return Err(Error::Duplicate(*image)),
                _ => {
                    let rank = u64::from(*image);
                    return Err(Error::NoSuchRank { rank, len });
                }
            }
        }
        let back = match inverse {
            true => {
                let mut from = vec![0; to.len()];
                for (index, image) in (0..).zip(to) {
                    from[*image as usize] = index;
                }
                Back::Inverse(Images::collect(width, len, from.iter().copied()))
            }
            false => shortcuts(to, width, seen),
        };
        Ok(Permutation {
            to: Images::collect(width, len, to.iter().copied()),
            back,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.to.len()
    }

    pub(crate) fn has_inverse(&self) -> bool {
        matches!(self.back, Back::Inverse(_))
    }

    /// Returns the images of `0..n`, in the order of the elements.
    pub(crate) fn images(&self) -> &Images {
        &self.to
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.to.get(u64::from(index))
    }

    /// Returns the element whose image is `image`, or `None` if `image` is not below the number of
    /// elements.
    #[inline]
    pub(crate) fn rank(&self, image: u32) -> Option<u32> {
        if u64::from(image) >= self.len() {
            return None;
        }
        match &self.back {
            Back::Inverse(from) => Some(from.get(u64::from(image))),
            Back::Shortcuts { at, to } => {
                let (mut here, mut jumped) = (image, false);
                loop {
                    let next = self.to.get(u64::from(here));
                    if next == image {
                        return Some(here);
                    }
                    here = match !jumped && at.get(u64::from(here)) {
                        true => {
                            jumped = true;
                            to.get(at.rank(u64::from(here)))
                        }
                        false => next,
                    };
                }
            }
        }
    }

    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        for (index, out) in (from..).zip(out) {
            *out = self.to.get(index);
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let back = match &self.back {
            Back::Inverse(from) => from.bytes(),
            Back::Shortcuts { at, to } => at.bytes() + to.bytes(),
        };
        self.to.bytes() + back
    }

    /// Returns the size on the heap in bytes for a typical permutation of `len` elements, with the
    /// inverse or with shortcuts. `pieces` is the size of the images in compressed blocks, in
    /// pieces of 16 bytes.
    pub(crate) fn bytes_for(len: u64, inverse: bool, pieces: u64) -> usize {
        let width = width_of(len.saturating_sub(1));
        let to = Images::bytes_for(width, len, pieces);
        match inverse {
            true => 2 * to,
            // Nearly all elements of a random permutation are on long cycles.
            false => {
                let jumps = Images::bytes_for(width, len / APART, pieces / APART);
                to + BitVector::bytes_for(len, len / APART) + jumps
            }
        }
    }
}

fn shortcuts(to: &[u32], width: u32, unseen: Vec<u64>) -> Back {
    let len = to.len() as u64;
    // Reused: a bit is set if its element is not yet visited.
    let mut unseen = unseen;
    let mut marks = vec![0_u64; words_for(len)];
    let mut jumps: Vec<(u32, u32)> = Vec::new();
    let mut cycle = Vec::new();
    for start in 0..to.len() {
        if unseen[start / 64] >> (start % 64) & 1 == 0 {
            continue;
        }
        cycle.clear();
        let mut here = start as u32;
        while unseen[here as usize / 64] >> (here % 64) & 1 == 1 {
            unseen[here as usize / 64] &= !(1 << (here % 64));
            cycle.push(here);
            here = to[here as usize];
        }
        let size = cycle.len();
        if size as u64 <= APART {
            continue;
        }
        let marked: Vec<u32> = cycle.iter().copied().step_by(APART as usize).collect();
        for (k, from) in marked.iter().enumerate() {
            let before = marked[(k + marked.len() - 1) % marked.len()];
            marks[*from as usize / 64] |= 1 << (from % 64);
            jumps.push((*from, before));
        }
    }
    jumps.sort_unstable();
    let count = jumps.len() as u64;
    Back::Shortcuts {
        at: BitVector::new(marks, len),
        to: Images::collect(width, count, jumps.iter().map(|(_, before)| *before)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_image_is_found_again() {
        for len in [0, 1, 2, 7, 8, 9, 10, 63, 64, 65, 1000_usize] {
            for turn in 0..6 {
                let mut to: Vec<u32> = (0..len as u32).collect();
                match turn {
                    0 => {}
                    1 => to.rotate_left(len.min(1)),
                    2 => to.reverse(),
                    3 => to.chunks_mut(9).for_each(|part| part.rotate_right(1)),
                    _ => to.sort_by_key(|k| {
                        (u64::from(*k) + turn).wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    }),
                }
                for inverse in [false, true] {
                    let made = Permutation::new(&to, inverse).unwrap();
                    for (index, image) in (0..).zip(&to) {
                        assert_eq!(made.at(index), *image);
                        assert_eq!(made.rank(*image), Some(index), "{turn} {len}");
                    }
                    assert_eq!(made.rank(len as u32), None);
                }
            }
        }
        // Permuted within ranges: a block needs as many bits as the length of a range.
        let mut within: Vec<u32> = (0..100_000).collect();
        for range in within.chunks_mut(100) {
            range.sort_by_key(|k| k.wrapping_mul(0x9E37_79B9));
        }
        for inverse in [false, true] {
            let made = Permutation::new(&within, inverse).unwrap();
            assert!(made.to.is_framed());
            for (index, image) in (0..).zip(&within) {
                assert_eq!((made.at(index), made.rank(*image)), (*image, Some(index)));
            }
        }
        assert!(Permutation::new(&[0, 0], false).is_err());
        assert!(Permutation::new(&[0, 2], true).is_err());
    }
}
