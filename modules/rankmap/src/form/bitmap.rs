//! A bit for every rank from the smallest to the largest, with or without a directory.

use crate::bit_vector::BitVector;
use crate::bits::{select_in_word, words_for};

/// Ascending ranks as bits.
///
/// With a directory RANK and SELECT take constant time (see [`BitVector`]); without one they count all words
/// before, which only the smallest sets can afford.
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
    /// The ranks that are called back with, ascending, all from `first` up to before `end`.
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

    /// The ranks of which the bits are set, from `first` on.
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

    /// The rank of the set bit with a number.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let place = match &self.bits {
            Bits::Indexed(vector) => vector.select(u64::from(index)),
            Bits::Bare(words) => select(words, u64::from(index)),
        };
        self.first + place as u32
    }

    /// How many ranks are smaller, and whether this one is there.
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

    /// Whether a rank is there, without counting those before it.
    #[inline]
    pub(crate) fn contains(&self, rank: u32) -> bool {
        let Some(place) = rank.checked_sub(self.first) else {
            return false;
        };
        let word = self.words().get(place as usize / 64);
        word.is_some_and(|word| word >> (place % 64) & 1 == 1)
    }

    /// Ranks from an index on.
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

    /// The bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        match &self.bits {
            Bits::Indexed(vector) => vector.bytes(),
            Bits::Bare(words) => size_of_val(&**words),
        }
    }

    /// How many bytes so many ranks out of so many take.
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
