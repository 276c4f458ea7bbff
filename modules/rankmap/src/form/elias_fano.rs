//! Ascending ranks with gaps in Elias-Fano code.

mod unary;

use crate::bits::{Packed, words_for};
use crate::error::Error;
use crate::form::elias_fano::unary::Unary;

/// Number of entries with the same high bits up to which a linear search is faster than a binary
/// search.
const NEAR: u64 = 8;

/// A non-descending sequence of `n` numbers below `u` in `n * (2 + log2(u / n))` bits, plus samples
/// of at most 2.9 bits a number.
///
/// The low bits of the numbers are packed. The high bits are encoded in unary, as the difference to
/// the previous number (P. Elias, *Efficient storage and retrieval by content and address of static
/// files*, 1974; R. Fano, 1971). SELECT skips at most three set bits after a sample, and RANK finds
/// an unset bit. Both take constant time, or the logarithm of the number of clustered numbers (S.
/// Vigna, *Quasi-succinct indices*, 2013).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EliasFano {
    low: Packed,
    /// The high part: a set bit for each number, after as many unset bits as the high bits
    /// increased.
    high: Unary,
    len: u64,
    /// One more than the largest number.
    end: u64,
}

/// Returns the width of the low part in bits, at most 32, for which the whole is smallest. An unset
/// bit of the high part counts as 1.5 bits, because it also needs a share of a sample and of the
/// search. With this width, there are 2/3 to 4/3 unset bits for each set bit.
fn low_width(len: u64, end: u64) -> u32 {
    (3 * end / (2 * len.max(1))).max(1).ilog2().min(32)
}

fn high_bits(len: u64, end: u64) -> u64 {
    // One bit for each number and for each step of the high bits, and one to end the last.
    len + (end >> low_width(len, end)) + 1
}

impl EliasFano {
    /// Encodes `len` non-descending numbers. `end` must be one more than the last number, or 0 for
    /// an empty sequence.
    ///
    /// `each` calls back with exactly `len` numbers, so that they need no array.
    pub(crate) fn collect(len: u64, end: u64, each: impl FnOnce(&mut dyn FnMut(u32))) -> Self {
        let width = low_width(len, end);
        let mut low = Packed::zeros(width, len);
        let mut high = Unary::unset(high_bits(len, end));
        let mut index = 0;
        each(&mut |number| {
            low.set(index, (u64::from(number) & ((1 << width) - 1)) as u32);
            let place = index + (u64::from(number) >> width);
            high[(place / 8) as usize] |= 1 << (place % 8);
            index += 1;
        });
        debug_assert_eq!(index, len);
        EliasFano::with(low, high, len, end)
    }

    fn with(low: Packed, high: Vec<u8>, len: u64, end: u64) -> Self {
        EliasFano {
            low,
            high: Unary::new(high, high_bits(len, end)),
            len,
            end,
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns one more than the largest number, or 0 if there are no numbers.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    fn width(&self) -> u32 {
        self.low.width()
    }

    /// Returns the number at an index, or `None` beyond the end. Not inlined, because callers
    /// handle other forms too.
    #[inline(never)]
    pub(crate) fn select(&self, index: u32) -> Option<u32> {
        // The length is not compared first, because a missing set bit or low part shows that the
        // index is too large.
        match self.select_near(index) {
            None => self.select_scattered(index),
            number => number,
        }
    }

    #[inline(always)]
    fn select_near(&self, index: u32) -> Option<u32> {
        let place = self.high.near_one(u64::from(index))?;
        let low = self.low.checked_get(u64::from(index))?;
        Some(self.join(index, place, low))
    }

    // A tail call, so that no registers are saved around it.
    #[cold]
    #[inline(never)]
    fn select_scattered(&self, index: u32) -> Option<u32> {
        (u64::from(index) < self.len).then(|| self.at(index))
    }

    /// Returns the number at an index, which must be below the length. Otherwise the function
    /// panics, or the result is arbitrary.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.number(index, self.high.one(u64::from(index)))
    }

    /// Returns the number at an index. `place` must be the position of its set bit in the high
    /// part.
    #[inline(always)]
    fn number(&self, index: u32, place: u64) -> u32 {
        self.join(index, place, self.low.get(u64::from(index)))
    }

    #[inline(always)]
    fn join(&self, index: u32, place: u64, low: u32) -> u32 {
        let high = place.wrapping_sub(u64::from(index)) << self.width();
        high as u32 | low
    }

    /// Returns how many numbers are smaller than `number`, and true if `number` occurs.
    #[inline]
    pub(crate) fn find(&self, number: u64) -> (u64, bool) {
        if number >= self.end {
            return (self.len, false);
        }
        let bucket = number >> self.width();
        // The numbers with these high bits are between two unset bits.
        let first = match bucket {
            0 => 0,
            _ => self.high.zero(bucket - 1) + 1,
        };
        let low = (number & ((1 << self.width()) - 1)) as u32;
        let count = self
            .high
            .set_from(first)
            .unwrap_or_else(|| self.high.zero(bucket) - first);
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

    /// Fills `out` with the numbers from index `from` on. If fewer are left, the rest of `out` does
    /// not change. Unless `out` is empty, there must be a number at `from`.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        if out.is_empty() {
            return;
        }
        for ((index, out), place) in (from..).zip(out).zip(self.high.ones_from(from)) {
            let high = place - index;
            *out = ((high << self.width()) | u64::from(self.low.get(index))) as u32;
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.low.bytes() + self.high.bytes()
    }

    /// Returns true if this form can represent `len` numbers below `end`.
    pub(crate) fn fits(len: u64, end: u64) -> bool {
        high_bits(len, end) <= Unary::MOST
    }

    /// Returns the size on the heap in bytes for `len` numbers below `end`, with the samples.
    pub(crate) fn bytes_for(len: u64, end: u64) -> usize {
        Packed::bytes_for(low_width(len, end), len) + Unary::bytes_for(high_bits(len, end), len)
    }

    /// Returns the low and the high bits for the encoding as bytes.
    pub(crate) fn parts(&self) -> (&[u8], &[u8]) {
        (self.low.as_bytes(), self.high.filled_bytes())
    }

    /// Decodes the result of [`EliasFano::parts`]. Only the high bits are checked: numbers with the
    /// same high bits may descend, and the last number may be any below `end`.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the number of low bytes does not match, or the high bits are
    /// invalid.
    pub(crate) fn from_parts(len: u64, end: u64, low: &[u8], high: &[u8]) -> Result<Self, Error> {
        let bits = high_bits(len, end);
        let low = Packed::from_bytes(low_width(len, end), len, low)?;
        let ones: u64 = high.iter().map(|byte| u64::from(byte.count_ones())).sum();
        // The last bit and the padding after it must be unset.
        let (last, before) = ((bits - 1) / 8, (bits - 1) % 8);
        let ended = high.len() == 8 * words_for(bits)
            && high[last as usize] >> before == 0
            && high[last as usize + 1..].iter().all(|byte| *byte == 0);
        if ones != len || !ended {
            return Err(Error::Malformed("the high bits of gaps"));
        }
        let mut all = Unary::unset(bits);
        all[..high.len()].copy_from_slice(high);
        Ok(EliasFano::with(low, all, len, end))
    }

    /// Returns the number of words of 64 bits for the low and for the high bits of `len` numbers
    /// below `end`.
    pub(crate) fn words_for(len: u64, end: u64) -> (usize, usize) {
        let low = words_for(u64::from(low_width(len, end)) * len);
        (low, words_for(high_bits(len, end)))
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
        let (low, high) = coded.parts();
        let again = EliasFano::from_parts(coded.len(), coded.end(), low, high);
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
        // Clusters with large gaps between them, and the opposite.
        let crowds = (0..4).flat_map(|k| (0..3000).map(move |n| k * 1_000_000_000 + n));
        agree(&crowds.collect::<Vec<_>>());
        let squares: Vec<u32> = (0..3000_u32).map(|n| n * n * 400).collect();
        agree(&squares);
        let late: Vec<u32> = (0..3000).map(|n| u32::MAX - 3000 + n).collect();
        agree(&late);
    }
}
