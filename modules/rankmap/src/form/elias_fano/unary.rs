//! Bits of which about half are set, with SELECT of set and of unset bits.

use std::hint::select_unpredictable;
use std::num::NonZeroU64;

use crate::bits::{eight, select_in_word, words_for};

/// Number of set bits for each stored position. It is small, so that the bits in between can be
/// skipped one by one, and are usually within 57 bits.
const STEP: u64 = 4;
/// Number of steps in a sample, each with its distance from the position of the sample.
const STEPS: usize = 16;
const ONES: u64 = STEP * STEPS as u64;
/// Position in a sample whose steps are too far apart to store. It is beyond all bits, so that
/// reading there fails. Look-ups therefore need no check for such samples.
const SCATTERED: u32 = u32::MAX;
/// Number of unset bits for each sample.
const ZEROS: u64 = 128;
/// Number of words between two samples up to which a linear walk is faster than a binary search.
const NEAR: u64 = 8;

/// Bits with samples, which take 2.5 bits for each set bit and a quarter of a bit for each unset
/// bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unary {
    /// Eight bytes more than the bits need, because a read from any byte takes eight.
    bytes: Box<[u8]>,
    ones: Box<[Sample]>,
    /// Position of every 128th unset bit, from the first on.
    zeros: Box<[u32]>,
}

/// Position of every 64th set bit, and the distances to the set bits 4, 8, 12 and so on after it.
/// They are in one structure, so that a look-up usually fetches one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    place: u32,
    ahead: [u8; STEPS],
}

impl Sample {
    /// Creates a sample from the positions of a set bit and of the set bits 4, 8, 12 and so on
    /// after it. `bits` is the number of all bits. The positions of later steps may be missing. If
    /// the steps are too far apart, stores only the first position. Panics if there is no position.
    fn new(places: &[u32], bits: u64) -> Self {
        let place = places[0];
        let mut ahead = [0; STEPS];
        for (step, ahead) in ahead.iter_mut().enumerate() {
            // Missing steps are at the end, where no bit is set, so that a look-up beyond the last
            // set bit fails.
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

    /// Returns the position of the first set bit of the sample.
    fn first(&self) -> u64 {
        let [a, b, c, d, ..] = self.ahead;
        u64::from(match self.place {
            SCATTERED => u32::from_le_bytes([a, b, c, d]),
            place => place,
        })
    }

    /// Returns the position of the last step that is not after the set bit with the given index.
    /// For a sample without steps, or if the step is missing, returns a position beyond the set
    /// bits.
    #[inline(always)]
    fn step_of(&self, index: u64) -> u64 {
        u64::from(self.place) + u64::from(self.ahead[(index / STEP) as usize % STEPS])
    }
}

impl Unary {
    /// Largest number of bits. Positions take 32 bits, and [`SCATTERED`] must be beyond all bits
    /// that are read.
    pub(super) const MOST: u64 = SCATTERED as u64 - 256;

    /// Returns bytes for the given number of bits, all unset: whole words, and eight bytes more.
    pub(super) fn unset(bits: u64) -> Vec<u8> {
        vec![0; Unary::filled(bits) + 8]
    }

    /// Returns the number of bytes for the given number of bits, in whole words.
    fn filled(bits: u64) -> usize {
        words_for(bits) * 8
    }

    /// Creates the samples. There must be at most [`Unary::MOST`] bits, in bytes from
    /// [`Unary::unset`], with unset padding.
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

    /// Returns the bytes of the bits, as whole words in little-endian order.
    pub(super) fn filled_bytes(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - 8]
    }

    /// Returns the position of the set bit with the given index. There must be more set bits than
    /// `index`. Otherwise the function panics, or the result is arbitrary.
    #[inline]
    pub(super) fn one(&self, index: u64) -> u64 {
        self.near_one(index)
            .unwrap_or_else(|| self.scattered_one(index))
    }

    /// Does the same as [`Unary::one`] if the bit is among the bits that are read from its step on,
    /// at least 57, which is the usual case. Otherwise, or if there are too few set bits, returns
    /// `None`.
    #[inline(always)]
    pub(super) fn near_one(&self, index: u64) -> Option<u64> {
        let place = self.ones.get((index / ONES) as usize)?.step_of(index);
        let further = set_bit(self.bits_from(place)?, index as u32)?;
        Some(place + u64::from(further))
    }

    /// Returns at least 57 bits from a position on, lowest first, or `None` if there are fewer than
    /// eight bytes from its byte on.
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

    /// Returns the position of the unset bit with the given index. There must be more unset bits
    /// than `index`. Otherwise the function panics, or the result is beyond the end.
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

    /// Returns the position at which to start a walk to the bit with number `index`, and the number
    /// of bits of its kind to skip.
    ///
    /// `from` and `next` are the samples around the bit. If they are far apart, there may be a long
    /// run of bits of the other kind between them. The samples of that kind (their number,
    /// positions and distance) then show how many wanted bits precede the run.
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

    /// Returns the position of the bit with number `rest` among the bits from `place` on that are
    /// set after `flip`. Panics if there is no such bit. Numbers begin at 0.
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

    /// Returns the number of consecutive set bits from a position on, which can be 0. Returns
    /// `None` if they extend beyond the bits that are read at once, or if the position is beyond
    /// the end.
    #[inline]
    pub(super) fn set_from(&self, place: u64) -> Option<u64> {
        let bits = self.bits_from(place)?;
        let count = u64::from(bits.trailing_ones());
        (count < 64 - place % 8).then_some(count)
    }

    /// Returns the positions of the set bits from the one with the given index on, ascending. There
    /// must be more set bits than `index`.
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

    /// Returns the size on the heap in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.len() + size_of_val(&*self.ones) + size_of_val(&*self.zeros)
    }

    /// Returns the size on the heap in bytes of `bits` bits, of which `ones` are set, with the
    /// samples.
    pub(super) fn bytes_for(bits: u64, ones: u64) -> usize {
        let samples = ones.div_ceil(ONES) as usize * size_of::<Sample>();
        Unary::filled(bits) + 8 + samples + (bits - ones).div_ceil(ZEROS) as usize * 4
    }
}

/// Returns the position in `bits` of the set bit with index `index % 4`. Callers pass the bits from
/// the step before the bit `index` on. Returns `None` if `bits` has too few set bits. Constant
/// time.
#[inline(always)]
pub(super) fn set_bit(bits: u64, index: u32) -> Option<u32> {
    // Clears the lowest set bits, as many as `index % 4`. The count is unpredictable, so there are
    // no branches.
    let next = |bits: u64| bits & bits.wrapping_sub(1);
    let bits = select_unpredictable(index & 2 != 0, next(next(bits)), bits);
    let bits = select_unpredictable(index & 1 != 0, next(bits), bits);
    NonZeroU64::new(bits).map(NonZeroU64::trailing_zeros)
}

/// Returns each word of the bytes after its index, in order. An incomplete word at the end is
/// omitted.
fn words(bytes: &[u8]) -> impl Iterator<Item = (u64, u64)> + '_ {
    let words = bytes
        .chunks_exact(8)
        .filter_map(|word| word.try_into().ok());
    (0..).zip(words.map(u64::from_le_bytes))
}

/// Gives the position of every `step`th of the first `bits` bits that are set after `flip`, from
/// the first such bit on. `flip` is applied to each word.
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
