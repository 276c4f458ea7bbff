//! A bit vector with RANK (number of set bits before a position) and SELECT (position of a set
//! bit).

use crate::bits::{select_in_word, words_for};
use crate::error::Error;

/// Number of bits that share an entry of the directory of ranks.
const BLOCK: u64 = 512;
/// Number of set bits that share a sample of the directory of positions.
const SAMPLE: u64 = 256;

/// Bits with a directory: the number of set bits before each block of 512 bits, and the block of
/// every 256th set bit. The directory takes 11% of the size of the bits if half of them are set.
///
/// RANK counts at most seven words. SELECT finds the block between two samples by binary search,
/// which ends at once unless the set bits are far apart, and then counts at most seven words. (G.
/// Jacobson, *Space-efficient static trees and graphs*, 1989; the samples as in R. Gonzalez et al.,
/// *Practical implementation of rank and select queries*, 2005.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BitVector {
    words: Box<[u64]>,
    bits: u64,
    /// Number of set bits before each block, and in total.
    ranks: Box<[u32]>,
    /// Block of every 256th set bit, and the last block.
    samples: Box<[u32]>,
    #[cfg(test)]
    ones: u64,
}

impl BitVector {
    /// Creates the directory for `bits` bits, at most 2^32. `words` must contain exactly the words
    /// that the bits need, lowest bit first. Bits after the end must be 0.
    pub(crate) fn new(words: Vec<u64>, bits: u64) -> Self {
        debug_assert_eq!(words.len(), words_for(bits));
        let blocks = bits.div_ceil(BLOCK) as usize;
        let mut ranks = Vec::with_capacity(blocks + 1);
        let mut samples = Vec::new();
        let mut ones = 0_u64;
        for (block, words) in words.chunks((BLOCK / 64) as usize).enumerate() {
            ranks.push(ones as u32);
            ones += words
                .iter()
                .map(|word| u64::from(word.count_ones()))
                .sum::<u64>();
            while (samples.len() as u64) * SAMPLE < ones {
                samples.push(block as u32);
            }
        }
        // A count of 2^32 is clamped. This entry is compared only as the end of the last block.
        ranks.push(ones.min(u64::from(u32::MAX)) as u32);
        samples.push(blocks.saturating_sub(1) as u32);
        BitVector {
            words: words.into(),
            bits,
            ranks: ranks.into(),
            samples: samples.into(),
            #[cfg(test)]
            ones,
        }
    }

    /// Returns the number of bits.
    pub(crate) fn len(&self) -> u64 {
        self.bits
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns true if the bit at `place` is set. If `place` is not below the length, returns false
    /// or panics.
    #[inline]
    pub(crate) fn get(&self, place: u64) -> bool {
        self.words[(place / 64) as usize] >> (place % 64) & 1 == 1
    }

    /// Returns the number of set bits before a position, which must be at most the length. Panics
    /// at a position beyond the last block.
    #[inline]
    pub(crate) fn rank(&self, place: u64) -> u64 {
        let block = (place / BLOCK) as usize;
        let mut count = u64::from(self.ranks[block]);
        let word = (place / 64) as usize;
        for before in &self.words[block * (BLOCK / 64) as usize..word] {
            count += u64::from(before.count_ones());
        }
        if !place.is_multiple_of(64) {
            count += u64::from((self.words[word] << (64 - place % 64)).count_ones());
        }
        count
    }

    /// Returns the position of the set bit with the given index. There must be more set bits than
    /// `index`. Otherwise the function panics, or the result is arbitrary.
    #[inline]
    pub(crate) fn select(&self, index: u64) -> u64 {
        let sample = (index / SAMPLE) as usize;
        let (mut low, mut high) = (
            self.samples[sample] as usize,
            self.samples[sample + 1] as usize,
        );
        // Finds the last block that begins with at most `index` set bits.
        while high - low > 8 {
            let middle = (low + high).div_ceil(2);
            if u64::from(self.ranks[middle]) <= index {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        while low < high && u64::from(self.ranks[low + 1]) <= index {
            low += 1;
        }
        let mut rest = (index - u64::from(self.ranks[low])) as u32;
        let mut word = low * (BLOCK / 64) as usize;
        loop {
            let ones = self.words[word].count_ones();
            if rest < ones {
                return word as u64 * 64 + u64::from(select_in_word(self.words[word], rest));
            }
            rest -= ones;
            word += 1;
        }
    }

    /// Returns the position of the unset bit with the given index. There must be more unset bits
    /// than `index`. Otherwise the function panics, or the result is beyond the end. Searches all
    /// blocks by bisection, because unset bits have no samples.
    pub(crate) fn select_unset(&self, index: u64) -> u64 {
        let unset = |block: usize| block as u64 * BLOCK - u64::from(self.ranks[block]);
        let (mut low, mut high) = (0, self.ranks.len() - 2);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if unset(middle) <= index {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        let mut rest = (index - unset(low)) as u32;
        let mut word = low * (BLOCK / 64) as usize;
        loop {
            let zeros = self.words[word].count_zeros();
            if rest < zeros {
                return word as u64 * 64 + u64::from(select_in_word(!self.words[word], rest));
            }
            rest -= zeros;
            word += 1;
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.ranks) + size_of_val(&*self.samples)
    }

    /// Returns the size on the heap in bytes for `bits` bits of which `ones` are set, with the
    /// directory.
    pub(crate) fn bytes_for(bits: u64, ones: u64) -> usize {
        let directory = bits.div_ceil(BLOCK) + 1 + ones.div_ceil(SAMPLE) + 1;
        words_for(bits) * 8 + directory as usize * 4
    }
}

/// Checks decoded words, and returns them.
///
/// # Errors
///
/// [`Error::Malformed`] if their number does not match `bits`, or if a bit after the end is set.
pub(crate) fn checked(words: Vec<u64>, bits: u64) -> Result<Vec<u64>, Error> {
    let rest = bits % 64;
    let beyond = rest > 0 && words.last().is_some_and(|word| word >> rest != 0);
    if words.len() != words_for(bits) || beyond {
        return Err(Error::Malformed("bits"));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_and_select_agree_with_counting() {
        for (bits, period) in [
            (1, 1),
            (64, 1),
            (65, 3),
            (511, 2),
            (512, 5),
            (513, 7),
            (40_000, 1),
            (40_000, 977),
            (300_000, 70_001),
        ] {
            let places: Vec<u64> = (0..bits)
                .filter(|b| b % period == 0 || b % 4096 == 5)
                .collect();
            let mut words = vec![0; words_for(bits)];
            for place in &places {
                words[(place / 64) as usize] |= 1 << (place % 64);
            }
            let vector = BitVector::new(words, bits);
            assert_eq!(vector.ones, places.len() as u64);
            assert_eq!(vector.bytes(), BitVector::bytes_for(bits, vector.ones));
            assert_eq!(vector.rank(bits), vector.ones);
            for (index, place) in places.iter().enumerate() {
                assert_eq!(vector.select(index as u64), *place);
                assert_eq!(vector.rank(*place), index as u64);
                assert!(vector.get(*place));
            }
        }
    }
}
