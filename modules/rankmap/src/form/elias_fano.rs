//! Ascending ranks with their gaps encoded by Elias and Fano.

use crate::bit_vector::checked;
use crate::bits::{Packed, find_in_word, select_in_word, words_for};
use crate::error::Error;

/// The place of every so many bits that are not set is noted,
const ZEROS: u64 = 64;
/// that of every so many that are set,
const ONES: u64 = 256;
/// and in between, how far every so many of these are from the last one noted.
const NEARBY: u64 = 32;
/// Farther than can be noted.
const FAR: u16 = u16::MAX;
/// Over how many words between two samples is walked before halving pays.
const NEAR: u64 = 8;

/// A non-descending sequence of `n` numbers below `u` in `n * (2 + log2(u / n))` bits and samples of at most
/// 1.6 bits a number.
///
/// Each number is cut in two: its low bits stand side by side, and the high ones are written in unary as the
/// distance to the number before (P. Elias, *Efficient storage and retrieval by content and address of static
/// files*, 1974; R. Fano, 1971). SELECT finds a set bit from the sample before it, RANK a bit that is not set,
/// in constant time but where the numbers crowd, and then in the logarithm of their number (S. Vigna,
/// *Quasi-succinct indices*, 2013).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EliasFano {
    low: Packed,
    /// The high part: a set bit for each number, and before it as many others as the high bits grew.
    high: Box<[u64]>,
    /// Where the 0th, 256th, 512th set bit is.
    ones: Box<[u32]>,
    /// How far the 0th, 32nd, 64th set bit is from the one in `ones` before it.
    nearby: Box<[u16]>,
    /// Where the 0th, 64th, 128th bit is that is not set.
    zeros: Box<[u32]>,
    len: u64,
    /// One more than the largest.
    end: u64,
}

fn low_width(len: u64, end: u64) -> u32 {
    (end / len.max(1)).max(1).ilog2().min(32)
}

fn high_bits(len: u64, end: u64) -> u64 {
    // A bit for each number and each step of the high bits, and one to end the last.
    len + (end >> low_width(len, end)) + 1
}

impl EliasFano {
    /// `len` numbers that do not descend, all below `end`, which is one more than the last, or 0.
    ///
    /// The numbers are given by calling back, so that nobody has to hold them.
    pub(crate) fn collect(len: u64, end: u64, each: impl FnOnce(&mut dyn FnMut(u32))) -> Self {
        let width = low_width(len, end);
        let mut low = Packed::zeros(width, len);
        let mut high = vec![0; words_for(high_bits(len, end))];
        let mut index = 0;
        each(&mut |number| {
            low.set(index, (u64::from(number) & ((1 << width) - 1)) as u32);
            let place = index + (u64::from(number) >> width);
            high[(place / 64) as usize] |= 1 << (place % 64);
            index += 1;
        });
        debug_assert_eq!(index, len);
        EliasFano::with(low, high, len, end)
    }

    fn with(low: Packed, high: Vec<u64>, len: u64, end: u64) -> Self {
        let bits = high_bits(len, end);
        let ones = samples(&high, bits, ONES, |word| word);
        let zeros = samples(&high, bits, ZEROS, |word| !word);
        let near = samples(&high, bits, NEARBY, |word| word)
            .into_iter()
            .enumerate();
        let nearby = near.map(|(index, place)| {
            let from = ones[index / (ONES / NEARBY) as usize];
            u16::try_from(place - from).unwrap_or(FAR)
        });
        let nearby = nearby.collect();
        // What is looked at from any place on is 64 bits.
        let mut high = high;
        high.push(0);
        EliasFano {
            low,
            high: high.into(),
            ones,
            nearby,
            zeros,
            len,
            end,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// One more than the largest number, or 0.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    fn width(&self) -> u32 {
        self.low.width()
    }

    /// The place of the set bit with a number: mostly among the 64 bits from the sample before it on.
    #[inline]
    fn one(&self, index: u64) -> u64 {
        let near = self.nearby[(index / NEARBY) as usize];
        if near == FAR {
            return self.far_one(index);
        }
        let place = u64::from(self.ones[(index / ONES) as usize]) + u64::from(near);
        let (word, shift) = ((place / 64) as usize, place % 64);
        let both = &self.high[word..word + 2];
        let bits = both[0] >> shift | (both[1] << 1) << (63 - shift);
        match find_in_word(bits, (index % NEARBY) as u32) {
            Ok(bit) => place + u64::from(bit),
            Err(_) => self.far_one(index),
        }
    }

    #[inline(never)]
    fn far_one(&self, index: u64) -> u64 {
        let near = self.nearby[(index / NEARBY) as usize];
        match near {
            FAR => {
                let (own, other) = ((&*self.ones, ONES), (&*self.zeros, ZEROS));
                select(&self.high, own, other, index, |word| word)
            }
            _ => {
                let place = u64::from(self.ones[(index / ONES) as usize]) + u64::from(near);
                walk(&self.high, place, index % NEARBY, |word| word)
            }
        }
    }

    /// The place of the bit with a number among those that are not set.
    #[inline]
    fn zero(&self, index: u64) -> u64 {
        let (own, other) = ((&*self.zeros, ZEROS), (&*self.ones, ONES));
        select(&self.high, own, other, index, |word| !word)
    }

    /// The number at an index.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let high = self.one(u64::from(index)) - u64::from(index);
        ((high << self.width()) | u64::from(self.low.get(u64::from(index)))) as u32
    }

    /// How many numbers are smaller, and whether the next one is equal.
    #[inline]
    pub(crate) fn find(&self, number: u64) -> (u64, bool) {
        if number >= self.end {
            return (self.len, false);
        }
        let bucket = number >> self.width();
        // The numbers with these high bits stand between two bits that are not set.
        let first = match bucket {
            0 => 0,
            _ => self.zero(bucket - 1) + 1,
        };
        let low = (number & ((1 << self.width()) - 1)) as u32;
        let (word, shift) = ((first / 64) as usize, first % 64);
        let mut count = u64::from((self.high[word] >> shift).trailing_ones());
        if count == 64 - shift {
            count = self.zero(bucket) - first;
        }
        let (mut from, mut to) = (first - bucket, first - bucket + count);
        let end = to;
        while to - from > NEAR {
            let middle = (from + to) / 2;
            if self.low.get(middle) < low {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        while from < end {
            let found = self.low.get(from);
            if found >= low {
                return (from, found == low);
            }
            from += 1;
        }
        (from, false)
    }

    /// Numbers from an index on.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        if out.is_empty() {
            return;
        }
        let place = self.one(from);
        let mut word = (place / 64) as usize;
        let mut bits = self.high[word] & (u64::MAX << (place % 64));
        for (index, out) in (from..).zip(out) {
            while bits == 0 {
                word += 1;
                bits = self.high[word];
            }
            let high = word as u64 * 64 + u64::from(bits.trailing_zeros()) - index;
            bits &= bits - 1;
            *out = ((high << self.width()) | u64::from(self.low.get(index))) as u32;
        }
    }

    /// The bytes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        let samples = self.ones.len() + self.zeros.len();
        self.low.bytes() + self.high.len() * 8 + samples * 4 + self.nearby.len() * 2
    }

    /// Whether so many numbers below `end` are few enough: places of bits take 32 bits.
    pub(crate) fn fits(len: u64, end: u64) -> bool {
        high_bits(len, end) < 1 << 32
    }

    /// How many bytes so many numbers below `end` take.
    pub(crate) fn bytes_for(len: u64, end: u64) -> usize {
        let bits = high_bits(len, end);
        let samples = len.div_ceil(ONES) + (bits - len).div_ceil(ZEROS);
        let (samples, nearby) = (samples as usize * 4, len.div_ceil(NEARBY) as usize * 2);
        Packed::bytes_for(low_width(len, end), len) + words_for(bits) * 8 + 8 + samples + nearby
    }

    /// The low and the high bits, to be written down.
    pub(crate) fn words(&self) -> (&[u64], &[u64]) {
        (self.low.words(), &self.high[..self.high.len() - 1])
    }

    /// Of what [`EliasFano::words`] gave; the numbers may still be any that do not descend but in their low
    /// bits, and the last any below `end`.
    pub(crate) fn from_words(
        len: u64,
        end: u64,
        low: Vec<u64>,
        high: Vec<u64>,
    ) -> Result<Self, Error> {
        let bits = high_bits(len, end);
        let low = Packed::from_words(low_width(len, end), len, low)?;
        let high = checked(high, bits)?;
        let ones: u64 = high.iter().map(|word| u64::from(word.count_ones())).sum();
        let last = bits - 1;
        let ended = high[(last / 64) as usize] >> (last % 64) & 1 == 0;
        if ones != len || !ended {
            return Err(Error::Malformed("the high bits of gaps"));
        }
        Ok(EliasFano::with(low, high, len, end))
    }

    /// How many words of low and of high bits there are.
    pub(crate) fn words_for(len: u64, end: u64) -> (usize, usize) {
        let low = words_for(u64::from(low_width(len, end)) * len);
        (low, words_for(high_bits(len, end)))
    }
}

/// Where every `step`th bit is that is set after `flip`.
fn samples(words: &[u64], bits: u64, step: u64, flip: impl Fn(u64) -> u64) -> Box<[u32]> {
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
    samples.into()
}

/// The places of every so many bits.
type Samples<'a> = (&'a [u32], u64);

/// The place of the bit with a number among those that are set after `flip`. `own` are their samples, and
/// `other` those of the rest.
#[inline]
fn select(
    words: &[u64],
    own: Samples<'_>,
    other: Samples<'_>,
    index: u64,
    flip: impl Fn(u64) -> u64,
) -> u64 {
    let (own, step) = own;
    let sample = (index / step) as usize;
    let mut place = u64::from(own[sample]);
    let mut rest = index % step;
    let next = own
        .get(sample + 1)
        .map_or(words.len() as u64 * 64, |next| u64::from(*next));
    if next - place > 64 * NEAR + 2 * step {
        // A stretch of the other bits lies between: their samples tell how many of ours are before them.
        let (other, step) = other;
        let (mut low, mut high) = (0, other.len());
        while low < high {
            let middle = (low + high) / 2;
            if u64::from(other[middle]) - middle as u64 * step <= index {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if let Some(found) = low.checked_sub(1) {
            let there = u64::from(other[found]);
            if there > place {
                rest = index - (there - found as u64 * step);
                place = there;
            }
        }
    }
    walk(words, place, rest, flip)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[u32]) -> EliasFano {
        let end = numbers.last().map_or(0, |last| u64::from(*last) + 1);
        EliasFano::collect(numbers.len() as u64, end, |take| {
            numbers.iter().for_each(|n| take(*n))
        })
    }

    fn agree(numbers: &[u32]) {
        let coded = of(numbers);
        assert_eq!(
            coded.bytes(),
            EliasFano::bytes_for(coded.len(), coded.end())
        );
        let mut read = vec![0; numbers.len()];
        coded.read(0, &mut read);
        assert_eq!(read, numbers);
        for (index, number) in numbers.iter().enumerate() {
            assert_eq!(coded.at(index as u32), *number);
            for near in [number.saturating_sub(1), *number, number.saturating_add(1)] {
                let below = numbers.partition_point(|n| *n < near);
                let equal = numbers.get(below) == Some(&near);
                assert_eq!(coded.find(u64::from(near)), (below as u64, equal), "{near}");
            }
        }
        assert_eq!(coded.find(u64::MAX), (numbers.len() as u64, false));
        let (low, high) = coded.words();
        let again = EliasFano::from_words(coded.len(), coded.end(), low.to_vec(), high.to_vec());
        assert_eq!(again, Ok(coded));
    }

    #[test]
    fn numbers_come_back_and_are_found() {
        agree(&[]);
        agree(&[0]);
        agree(&[u32::MAX]);
        agree(&[0, u32::MAX]);
        agree(&[5, 5, 5, 9]);
        agree(&(0..5000).collect::<Vec<_>>());
        agree(&(0..5000).map(|n| n * 7919).collect::<Vec<_>>());
        // Crowds with deserts between them, and the other way round.
        let crowds = (0..4).flat_map(|k| (0..3000).map(move |n| k * 1_000_000_000 + n));
        agree(&crowds.collect::<Vec<_>>());
        let squares: Vec<u32> = (0..3000_u32).map(|n| n * n * 400).collect();
        agree(&squares);
        let late: Vec<u32> = (0..3000).map(|n| u32::MAX - 3000 + n).collect();
        agree(&late);
    }
}
