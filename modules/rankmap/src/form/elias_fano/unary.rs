//! Bits about half of which are set: where the set bit with a number is, and the one that is not.

use std::hint::select_unpredictable;
use std::num::NonZeroU64;

use crate::bits::{eight, select_in_word, words_for};

/// From how many set bits on the next place is told: so few that the others are struck off one by one, and lie in 57 bits.
const STEP: u64 = 4;
/// How many such steps a sample holds: its own place and how far the others are from it.
const STEPS: usize = 16;
const ONES: u64 = STEP * STEPS as u64;
/// In the place of a sample whose steps are too far apart to be told. There are no bits so far behind, which who looks for
/// them finds out anyway: so nobody has to ask whether a sample is such a one.
const SCATTERED: u32 = u32::MAX;
/// The place of every so many bits that are not set is noted.
const ZEROS: u64 = 128;
/// Over how many words between two samples is walked before halving pays.
const NEAR: u64 = 8;

/// The bits, and samples of two and a half bits for each that is set and a quarter of one for each that is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unary {
    /// Eight more than the bits fill: what is looked at from any byte on is eight of them.
    bytes: Box<[u8]>,
    ones: Box<[Sample]>,
    /// Where the 0th, 128th, 256th bit is that is not set.
    zeros: Box<[u32]>,
}

/// Where every 64th set bit is, and how far those are from it that are 4, 8, 12 after it. All in one, so that mostly one
/// line of the cache is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    place: u32,
    ahead: [u8; STEPS],
}

impl Sample {
    /// Of the places of the first set bit and those 4, 8, 12 after it, of which there is at least one; and how many
    /// bits there are.
    fn new(places: &[u32], bits: u64) -> Self {
        let place = places[0];
        let mut ahead = [0; STEPS];
        for (step, ahead) in ahead.iter_mut().enumerate() {
            // From the end on no bit is set: who asks for one that there is not is told so.
            let there = places.get(step).map_or(bits, |there| u64::from(*there));
            match u8::try_from(there - u64::from(place)) {
                Ok(bits) => *ahead = bits,
                Err(_) => return Sample::scattered(place),
            }
        }
        Sample { place, ahead }
    }

    fn scattered(first: u32) -> Self {
        let mut ahead = [0; STEPS];
        ahead[..4].copy_from_slice(&first.to_le_bytes());
        Sample {
            place: SCATTERED,
            ahead,
        }
    }

    /// Where the first set bit is.
    fn first(&self) -> u64 {
        let [a, b, c, d, ..] = self.ahead;
        u64::from(match self.place {
            SCATTERED => u32::from_le_bytes([a, b, c, d]),
            place => place,
        })
    }

    /// Where the last step before a set bit begins, or a place behind all bits.
    #[inline(always)]
    fn step_of(&self, index: u64) -> u64 {
        u64::from(self.place) + u64::from(self.ahead[(index / STEP) as usize % STEPS])
    }
}

impl Unary {
    /// So many bits at the most: places take 32 bits, and [`SCATTERED`] is behind all that are looked at.
    pub(super) const MOST: u64 = SCATTERED as u64 - 256;

    /// Bytes for so many bits, none of which is set.
    pub(super) fn unset(bits: u64) -> Vec<u8> {
        vec![0; Unary::filled(bits) + 8]
    }

    /// How many bytes so many bits fill, in whole words.
    fn filled(bits: u64) -> usize {
        words_for(bits) * 8
    }

    /// So many bits, at most [`Unary::MOST`], in bytes as [`Unary::unset`] gave them; those behind the bits are not set.
    pub(super) fn new(bytes: Vec<u8>, bits: u64) -> Self {
        let filled = &bytes[..Unary::filled(bits)];
        let (mut ones, mut places) = (Vec::new(), Vec::with_capacity(STEPS));
        samples(
            filled,
            bits,
            STEP,
            |word| word,
            |place| {
                places.push(place);
                if places.len() == STEPS {
                    ones.push(Sample::new(&places, bits));
                    places.clear();
                }
            },
        );
        if !places.is_empty() {
            ones.push(Sample::new(&places, bits));
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

    /// The place of the set bit with a number, of which there are more.
    #[inline]
    pub(super) fn one(&self, index: u64) -> u64 {
        self.near_one(index)
            .unwrap_or_else(|| self.scattered_one(index))
    }

    /// [`Unary::one`] where the bit is among the 57 from the step before it on, as mostly. `None`, too, where there are not
    /// so many set bits.
    #[inline(always)]
    pub(super) fn near_one(&self, index: u64) -> Option<u64> {
        let place = self.ones.get((index / ONES) as usize)?.step_of(index);
        let further = set_bit(self.bits_from(place)?, index as u32)?;
        Some(place + u64::from(further))
    }

    /// At least 57 bits from a place on, if it is not behind all bits.
    #[inline(always)]
    fn bits_from(&self, place: u64) -> Option<u64> {
        eight(&self.bytes, (place / 8) as usize).map(|bits| bits >> (place % 8))
    }

    #[inline]
    fn word(&self, index: usize) -> u64 {
        eight(&self.bytes, index * 8).expect("a word of the bits")
    }

    #[cold]
    #[inline(never)]
    fn scattered_one(&self, index: u64) -> u64 {
        let sample = (index / ONES) as usize;
        let at = |sample: usize| self.ones.get(sample).map(Sample::first);
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
            (self.ones.len(), &|k| self.ones[k].first(), ONES),
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
        let bits = self.bits_from(place)?;
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
        self.bytes.len() + size_of_val(&*self.ones) + size_of_val(&*self.zeros)
    }

    /// How many bytes so many bits take, of which so many are set.
    pub(super) fn bytes_for(bits: u64, ones: u64) -> usize {
        let samples = ones.div_ceil(ONES) as usize * size_of::<Sample>();
        Unary::filled(bits) + 8 + samples + (bits - ones).div_ceil(ZEROS) as usize * 4
    }
}

/// Among the bits from a step on, the position of the set bit with a number: as many as were since the step are struck off.
/// `None` if it is not there. Constant time.
#[inline(always)]
pub(super) fn set_bit(bits: u64, index: u32) -> Option<u32> {
    // Each time the lowest, for each bit of the index; which cannot be foreseen.
    let next = |bits: u64| bits & bits.wrapping_sub(1);
    let bits = select_unpredictable(index & 2 != 0, next(next(bits)), bits);
    let bits = select_unpredictable(index & 1 != 0, next(bits), bits);
    NonZeroU64::new(bits).map(NonZeroU64::trailing_zeros)
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
