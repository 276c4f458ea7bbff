//! Bits about half of which are set: where the set bit with a number is, and the one that is not.

use crate::bits::{find_in_word, select_in_word, words_for};

/// From how many set bits on the next one is told: as many as mostly lie in 64 bits.
const STEP: u64 = 24;
/// How many such steps a sample holds: its own place and how far the others are from it.
const STEPS: u64 = 4;
const ONES: u64 = STEP * STEPS;
/// The bits of each distance in a sample.
const FIELD: u64 = 10;
/// Farther than can be noted.
const FAR: u64 = (1 << FIELD) - 1;
/// The place of every so many bits that are not set is noted.
const ZEROS: u64 = 64;
/// Over how many words between two samples is walked before halving pays.
const NEAR: u64 = 8;

/// The bits, and samples of two thirds of a bit for each that is set and half a bit for each that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unary {
    /// One more than the bits fill: what is looked at from any place on is 64 bits.
    words: Box<[u64]>,
    /// In the upper half of each, where the 0th, 96th, 192nd set bit is; in the lower, how far the next 24th, 48th and
    /// 72nd are from it. All in one, so that one line of the cache is fetched.
    ones: Box<[u64]>,
    /// Where the 0th, 64th, 128th bit is that is not set.
    zeros: Box<[u32]>,
}

impl Unary {
    /// The words of so many bits, fewer than 2^32; those behind them are not set.
    pub(super) fn new(words: Vec<u64>, bits: u64) -> Self {
        let places = samples(&words, bits, STEP, |word| word);
        let ones = places.chunks(STEPS as usize).map(|places| {
            let far = places[1..]
                .iter()
                .zip(0..)
                .map(|(place, field)| u64::from(place - places[0]).min(FAR) << (FIELD * field));
            far.fold(u64::from(places[0]) << 32, |all, far| all | far)
        });
        let ones = ones.collect();
        let zeros = samples(&words, bits, ZEROS, |word| !word);
        let mut words = words;
        words.push(0);
        Unary {
            words: words.into(),
            ones,
            zeros: zeros.into(),
        }
    }

    /// The words they were made of.
    pub(super) fn words(&self) -> &[u64] {
        &self.words[..self.words.len() - 1]
    }

    /// The place of the set bit with a number, of which there are more: mostly among the 64 bits from the sample before it
    /// on.
    #[inline(always)]
    pub(super) fn one(&self, index: u64) -> u64 {
        let sample = self.ones[(index / ONES) as usize];
        // The first has no field, which is 0.
        let fields = (sample & u64::from(u32::MAX)) << FIELD;
        let far = fields >> (FIELD * (index / STEP % STEPS)) & FAR;
        // Within the bits even where it is only noted as far.
        let place = (sample >> 32) + far;
        let (word, shift) = ((place / 64) as usize, place % 64);
        let both = &self.words[word..word + 2];
        let bits = both[0] >> shift | (both[1] << 1) << (63 - shift);
        match find_in_word(bits, (index % STEP) as u32) {
            Ok(bit) if far != FAR => place + u64::from(bit),
            _ => self.far_one(index),
        }
    }

    #[cold]
    #[inline(never)]
    fn far_one(&self, index: u64) -> u64 {
        let sample = (index / ONES) as usize;
        let at = |sample: usize| self.ones.get(sample).map(|sample| sample >> 32);
        let (place, rest) = self.skip(
            (at(sample), at(sample + 1)),
            index % ONES,
            (self.zeros.len(), &|k| u64::from(self.zeros[k]), ZEROS),
            index,
        );
        walk(&self.words, place, rest, |word| word)
    }

    /// The place of the bit with a number among those that are not set.
    #[inline]
    pub(super) fn zero(&self, index: u64) -> u64 {
        let sample = (index / ZEROS) as usize;
        let at = |sample: usize| self.zeros.get(sample).map(|place| u64::from(*place));
        let (place, rest) = self.skip(
            (at(sample), at(sample + 1)),
            index % ZEROS,
            (self.ones.len(), &|k| self.ones[k] >> 32, ONES),
            index,
        );
        walk(&self.words, place, rest, |word| !word)
    }

    /// From where on, and over how many bits of a kind, to walk to the one with a number, of which the samples around
    /// it are given. Where a stretch of the `others` lies between, their samples (how many, where, how far apart) tell
    /// how many of ours are before them.
    #[inline]
    fn skip(
        &self,
        (from, next): (Option<u64>, Option<u64>),
        rest: u64,
        (count, other, step): (usize, &dyn Fn(usize) -> u64, u64),
        index: u64,
    ) -> (u64, u64) {
        let from = from.unwrap_or(0);
        let next = next.unwrap_or(self.words.len() as u64 * 64);
        if next - from <= 64 * NEAR + 2 * ONES {
            return (from, rest);
        }
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = (low + high) / 2;
            if other(middle) - middle as u64 * step <= index {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        match low.checked_sub(1).map(|found| (other(found), found as u64)) {
            Some((there, found)) if there > from => (there, index - (there - found * step)),
            _ => (from, rest),
        }
    }

    /// How many bits are set from a place on without one between that is not; `None` where they reach beyond a word.
    #[inline]
    pub(super) fn set_from(&self, place: u64) -> Option<u64> {
        let (word, shift) = ((place / 64) as usize, place % 64);
        let count = u64::from((self.words[word] >> shift).trailing_ones());
        (count < 64 - shift).then_some(count)
    }

    /// The places of the set bits from the one with a number on, of which there are more.
    pub(super) fn ones_from(&self, index: u64) -> impl Iterator<Item = u64> + '_ {
        let place = self.one(index);
        let mut word = (place / 64) as usize;
        let mut bits = self.words[word] & (u64::MAX << (place % 64));
        std::iter::from_fn(move || {
            while bits == 0 {
                word += 1;
                bits = *self.words.get(word)?;
            }
            let place = word as u64 * 64 + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            Some(place)
        })
    }

    /// The bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        (self.words.len() + self.ones.len()) * 8 + self.zeros.len() * 4
    }

    /// How many bytes so many bits take, of which so many are set.
    pub(super) fn bytes_for(bits: u64, ones: u64) -> usize {
        let samples = ones.div_ceil(ONES) as usize * 8 + (bits - ones).div_ceil(ZEROS) as usize * 4;
        (words_for(bits) + 1) * 8 + samples
    }
}

/// Where every `step`th bit is that is set after `flip`.
fn samples(words: &[u64], bits: u64, step: u64, flip: impl Fn(u64) -> u64) -> Vec<u32> {
    let (mut samples, mut count) = (Vec::new(), 0_u64);
    for (index, word) in words.iter().enumerate() {
        let mut word = flip(*word);
        let left = bits - index as u64 * 64;
        if left < 64 {
            word &= (1 << left) - 1;
        }
        let ones = u64::from(word.count_ones());
        while samples.len() as u64 * step < count + ones {
            let wanted = (samples.len() as u64 * step - count) as u32;
            samples.push((index as u64 * 64) as u32 + select_in_word(word, wanted));
        }
        count += ones;
    }
    samples
}

/// The place of the bit with a number among those from a place on that are set after `flip`.
#[inline]
fn walk(words: &[u64], place: u64, rest: u64, flip: impl Fn(u64) -> u64) -> u64 {
    let (mut word, mut rest) = ((place / 64) as usize, rest);
    let mut bits = flip(words[word]) & (u64::MAX << (place % 64));
    loop {
        let ones = u64::from(bits.count_ones());
        if rest < ones {
            return word as u64 * 64 + u64::from(select_in_word(bits, rest as u32));
        }
        rest -= ones;
        word += 1;
        bits = flip(words[word]);
    }
}
