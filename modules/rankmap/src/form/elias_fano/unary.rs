//! Bits about half of which are set: where the set bit with a number is, and the one that is not.

use crate::bits::{select_in_word, words_for};

/// From how many set bits on the next place is told: as many as mostly lie in 57 bits.
const STEP: u64 = 16;
/// How many such steps a sample holds: its own place and how far the others are from it.
const STEPS: u64 = 4;
const ONES: u64 = STEP * STEPS;
/// The bits of each distance in a sample.
const FIELD: u64 = 8;
/// Of the first step there is no distance, but whether all of the sample can be found by it.
const SCATTERED: u64 = 1;
/// The place of every so many bits that are not set is noted.
const ZEROS: u64 = 128;
/// Over how many words between two samples is walked before halving pays.
const NEAR: u64 = 8;

/// How many are looked for at once.
pub(super) const SOME: usize = 16;

/// The bits, and samples of a bit for each that is set and a quarter for each that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unary {
    /// Eight more than the bits fill: what is looked at from any byte on is eight of them.
    bytes: Box<[u8]>,
    /// In the upper half of each, where the 0th, 64th, 128th set bit is; in the bytes of the lower, how far the next 16th,
    /// 32nd and 48th are from it. All in one, so that one line of the cache is fetched.
    ones: Box<[u64]>,
    /// Where the 0th, 128th, 256th bit is that is not set.
    zeros: Box<[u32]>,
}

impl Unary {
    /// Bytes for so many bits, none of which is set.
    pub(super) fn unset(bits: u64) -> Vec<u8> {
        vec![0; Unary::filled(bits) + 8]
    }

    /// How many bytes so many bits fill, in whole words.
    fn filled(bits: u64) -> usize {
        words_for(bits) * 8
    }

    /// So many bits, fewer than 2^32, in bytes as [`Unary::unset`] gave them; those behind the bits are not set.
    pub(super) fn new(bytes: Vec<u8>, bits: u64) -> Self {
        let filled = &bytes[..Unary::filled(bits)];
        let mut places = Vec::new();
        samples(filled, bits, STEP, |word| word, |place| places.push(place));
        let ends = (0..places.len()).map(|step| {
            // The last set bit of each step: that before the next, or the last of all.
            let next = places.get(step + 1).map(|place| u64::from(*place));
            last_set_before(filled, next.unwrap_or(bits))
        });
        let ends: Vec<u64> = ends.collect();
        let mut ones = Vec::with_capacity(places.len().div_ceil(STEPS as usize));
        for (places, ends) in places
            .chunks(STEPS as usize)
            .zip(ends.chunks(STEPS as usize))
        {
            let first = u64::from(places[0]);
            let mut sample = first << 32;
            for ((place, end), step) in places.iter().zip(ends).zip(0..) {
                let place = u64::from(*place);
                // What is seen from a place on begins with its byte.
                if place - first >= 1 << FIELD || end - place / 8 * 8 >= 64 {
                    sample |= SCATTERED;
                } else {
                    sample |= (place - first) << (FIELD * step);
                }
            }
            ones.push(sample);
        }
        let mut zeros = Vec::new();
        samples(filled, bits, ZEROS, |word| !word, |place| zeros.push(place));
        Unary {
            ones: ones.into(),
            zeros: zeros.into(),
            bytes: bytes.into(),
        }
    }

    /// The bytes they were made of, in whole words of which the lowest byte is the first.
    pub(super) fn filled_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 8]
    }

    /// The place of the set bit with a number, of which there are more: mostly among the 57 bits from the sample before it
    /// on.
    #[inline(always)]
    pub(super) fn one(&self, index: u64) -> u64 {
        let sample = self.ones[(index / ONES) as usize];
        if sample & SCATTERED != 0 {
            return self.scattered_one(index);
        }
        // 8 times the number of the step within the sample.
        let field = (index / (STEP / FIELD)) & (FIELD * (STEPS - 1));
        let place = (sample >> 32) + u64::from((sample as u32 >> field) as u8);
        let bits = self.eight((place / 8) as usize) >> (place % 8);
        place + u64::from(select_in_word(bits, (index % STEP) as u32))
    }

    /// [`Unary::one`] of some numbers: one step after the other for all of them, so that memory is waited for together.
    #[inline(always)]
    pub(super) fn some_ones(&self, indices: &[u32; SOME], places: &mut [u64; SOME]) {
        let mut scattered = 0;
        for (place, index) in places.iter_mut().zip(indices) {
            let sample = self.ones[(u64::from(*index) / ONES) as usize];
            scattered |= sample;
            let field = (index / (STEP / FIELD) as u32) & (FIELD * (STEPS - 1)) as u32;
            *place = (sample >> 32) + u64::from((sample as u32 >> field) as u8);
        }
        let mut words = [0; SOME];
        for (word, place) in words.iter_mut().zip(&*places) {
            *word = self.eight((place / 8) as usize) >> (place % 8);
        }
        for ((place, word), index) in places.iter_mut().zip(&words).zip(indices) {
            *place += u64::from(select_in_word(*word, index % STEP as u32));
        }
        if scattered & SCATTERED != 0 {
            for (place, index) in places.iter_mut().zip(indices) {
                if self.ones[(u64::from(*index) / ONES) as usize] & SCATTERED != 0 {
                    *place = self.scattered_one(u64::from(*index));
                }
            }
        }
    }

    /// The bits from a byte on.
    #[inline(always)]
    fn eight(&self, from: usize) -> u64 {
        let mut eight = [0; 8];
        eight.copy_from_slice(&self.bytes[from..from + 8]);
        u64::from_le_bytes(eight)
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        self.eight(index * 8)
    }

    #[cold]
    #[inline(never)]
    fn scattered_one(&self, index: u64) -> u64 {
        let sample = (index / ONES) as usize;
        let at = |sample: usize| self.ones.get(sample).map(|sample| sample >> 32);
        let (place, rest) = self.skip(
            (at(sample), at(sample + 1)),
            index % ONES,
            (self.zeros.len(), &|k| u64::from(self.zeros[k]), ZEROS),
            index,
        );
        self.walk(place, rest, |word| word)
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
        self.walk(place, rest, |word| !word)
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
        let next = next.unwrap_or(self.bytes.len() as u64 * 8);
        if next - from <= 64 * NEAR + 3 * ONES {
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

    /// The place of the bit with a number among those from a place on that are set after `flip`.
    #[inline]
    fn walk(&self, place: u64, rest: u64, flip: impl Fn(u64) -> u64) -> u64 {
        let (mut word, mut rest) = ((place / 64) as usize, rest);
        let mut bits = flip(self.word(word)) & (u64::MAX << (place % 64));
        loop {
            let ones = u64::from(bits.count_ones());
            if rest < ones {
                return word as u64 * 64 + u64::from(select_in_word(bits, rest as u32));
            }
            rest -= ones;
            word += 1;
            bits = flip(self.word(word));
        }
    }

    /// How many bits are set from a place on without one between that is not; `None` where they reach beyond what is seen
    /// at once.
    #[inline]
    pub(super) fn set_from(&self, place: u64) -> Option<u64> {
        let bits = self.eight((place / 8) as usize) >> (place % 8);
        let count = u64::from(bits.trailing_ones());
        (count < 64 - place % 8).then_some(count)
    }

    /// The places of the set bits from the one with a number on, of which there are more.
    pub(super) fn ones_from(&self, index: u64) -> impl Iterator<Item = u64> + '_ {
        let place = self.one(index);
        let mut words = self.bytes[(place / 64) as usize * 8..].chunks_exact(8);
        let mut before = place / 64 * 64;
        let mut next = move || {
            let word = words.next()?;
            Some(u64::from_le_bytes(word.try_into().ok()?))
        };
        let mut bits = next().unwrap_or(0) & (u64::MAX << (place % 64));
        std::iter::from_fn(move || {
            while bits == 0 {
                before += 64;
                bits = next()?;
            }
            let place = before + u64::from(bits.trailing_zeros());
            bits &= bits - 1;
            Some(place)
        })
    }

    /// The bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + self.ones.len() * 8 + self.zeros.len() * 4
    }

    /// How many bytes so many bits take, of which so many are set.
    pub(super) fn bytes_for(bits: u64, ones: u64) -> usize {
        let samples = ones.div_ceil(ONES) as usize * 8 + (bits - ones).div_ceil(ZEROS) as usize * 4;
        Unary::filled(bits) + 8 + samples
    }
}

/// The words that bytes are, with their numbers.
fn words(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let words = bytes
        .chunks_exact(8)
        .filter_map(|word| word.try_into().ok());
    (0..).zip(words.map(u64::from_le_bytes))
}

/// Gives where every `step`th bit is that is set after `flip`.
fn samples(
    bytes: &[u8],
    bits: u64,
    step: u64,
    flip: impl Fn(u64) -> u64,
    mut give: impl FnMut(u32),
) {
    let (mut next, mut count) = (0, 0_u64);
    for (index, word) in words(bytes) {
        let mut word = flip(word);
        let left = bits - index * 64;
        if left < 64 {
            word &= (1 << left) - 1;
        }
        let ones = u64::from(word.count_ones());
        while next < count + ones {
            give((index * 64) as u32 + select_in_word(word, (next - count) as u32));
            next += step;
        }
        count += ones;
    }
}

/// The place of the last set bit before a place, if there is one; else 0.
fn last_set_before(bytes: &[u8], place: u64) -> u64 {
    let mut place = place;
    while place > 0 {
        place -= 1;
        let byte = bytes[(place / 8) as usize];
        let below = byte & (u8::MAX >> (7 - place % 8));
        if below != 0 {
            return place / 8 * 8 + 7 - u64::from(below.leading_zeros());
        }
        place = place / 8 * 8;
    }
    0
}
