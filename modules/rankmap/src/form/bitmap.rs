//! One bit for each rank from the smallest to the largest, with or without a directory.

use crate::bit_vector::BitVector;
use crate::bits::{select_in_word, words_for};

/// Ascending ranks as bits.
///
/// With a directory, RANK and SELECT take constant time (see [`BitVector`]). Without one, they
/// count all words before the rank, which is acceptable only for the smallest sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bitmap {
    first: u32,
    len: u64,
    bits: Bits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Bits {
    Indexed(BitVector),
    Bare(Box<[u64]>),
}

impl Bitmap {
    /// Collects the ranks that `each` gives, which must be from `first` up to `end` (exclusive).
    /// The order of the ranks has no effect. With `indexed`, also stores a directory.
    pub(crate) fn collect(
        first: u32,
        end: u64,
        indexed: bool,
        each: impl FnOnce(&mut dyn FnMut(u32)),
    ) -> Self {
        let bits = end - u64::from(first);
        let mut words = vec![0_u64; words_for(bits)];
        each(&mut |rank| {
            let place = rank - first;
            words[(place / 64) as usize] |= 1 << (place % 64);
        });
        Bitmap::from_words(first, bits, words, indexed)
    }

    /// Creates a bitmap from words of `bits` bits. The lowest bit of the first word is rank
    /// `first`. There must be exactly the needed words, and bits after the end must be 0. With
    /// `indexed`, also stores a directory.
    pub(crate) fn from_words(first: u32, bits: u64, words: Vec<u64>, indexed: bool) -> Self {
        let len = words.iter().map(|word| u64::from(word.count_ones())).sum();
        let bits = match indexed {
            true => Bits::Indexed(BitVector::new(words, bits)),
            false => Bits::Bare(words.into()),
        };
        Bitmap { first, len, bits }
    }

    pub(crate) fn words(&self) -> &[u64] {
        match &self.bits {
            Bits::Indexed(vector) => vector.words(),
            Bits::Bare(words) => words,
        }
    }

    pub(crate) fn first(&self) -> u32 {
        self.first
    }

    pub(crate) fn is_indexed(&self) -> bool {
        matches!(self.bits, Bits::Indexed(_))
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    fn bit_count(&self) -> u64 {
        match &self.bits {
            Bits::Indexed(vector) => vector.len(),
            Bits::Bare(words) => words.len() as u64 * 64,
        }
    }

    /// Returns the rank of the set bit with the given index, which must exist. Otherwise the
    /// function panics, or the result is arbitrary.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let place = match &self.bits {
            Bits::Indexed(vector) => vector.select(u64::from(index)),
            Bits::Bare(words) => select(words, u64::from(index)),
        };
        self.first + place as u32
    }

    /// Returns the number of members below `rank`, and true if `rank` is a member.
    #[inline]
    pub(crate) fn find(&self, rank: u64) -> (u64, bool) {
        let Some(place) = rank.checked_sub(u64::from(self.first)) else {
            return (0, false);
        };
        if place >= self.bit_count() {
            return (self.len, false);
        }
        match &self.bits {
            Bits::Indexed(vector) => (vector.rank(place), vector.get(place)),
            Bits::Bare(words) => {
                let (word, bit) = ((place / 64) as usize, place % 64);
                let before: u64 = words[..word]
                    .iter()
                    .map(|w| u64::from(w.count_ones()))
                    .sum();
                let here = words[word] & ((1 << bit) - 1);
                (
                    before + u64::from(here.count_ones()),
                    words[word] >> bit & 1 == 1,
                )
            }
        }
    }

    /// Returns true if `rank` is a member. Does not count the ranks before it.
    #[inline]
    pub(crate) fn contains(&self, rank: u32) -> bool {
        let Some(place) = rank.checked_sub(self.first) else {
            return false;
        };
        let word = self.words().get(place as usize / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Fills `out` with the members from index `from` on. There must be enough members. Otherwise
    /// the function panics.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        if out.is_empty() {
            return;
        }
        let place = u64::from(self.at(from as u32) - self.first);
        let words = self.words();
        let mut word = (place / 64) as usize;
        let mut bits = words[word] & (u64::MAX << (place % 64));
        for out in out {
            while bits == 0 {
                word += 1;
                bits = words[word];
            }
            *out = self.first + (word as u32 * 64) + bits.trailing_zeros();
            bits &= bits - 1;
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match &self.bits {
            Bits::Indexed(vector) => vector.bytes(),
            Bits::Bare(words) => size_of_val(&**words),
        }
    }

    /// Returns the size on the heap in bytes for `len` ranks that span `bits` bits, with a
    /// directory if `indexed` is true.
    pub(crate) fn bytes_for(len: u64, bits: u64, indexed: bool) -> usize {
        match indexed {
            true => BitVector::bytes_for(bits, len),
            false => words_for(bits) * 8,
        }
    }
}

fn select(words: &[u64], index: u64) -> u64 {
    let mut rest = index;
    let mut place = 0;
    for word in words {
        let ones = u64::from(word.count_ones());
        if rest < ones {
            return place + u64::from(select_in_word(*word, rest as u32));
        }
        rest -= ones;
        place += 64;
    }
    unreachable!("asked for a bit that is not set")
}
