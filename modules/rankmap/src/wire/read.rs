//! Decodes a rank map from untrusted bytes.

use std::sync::Arc;

use crate::bit_vector::checked;
use crate::bits::{Packed, width_of, words_for};
use crate::build::{Builder, order_of};
use crate::error::Error;
use crate::form::bitmap::Bitmap;
use crate::form::diagram::Diagram;
use crate::form::elias_fano::EliasFano;
use crate::form::grid::{Axis, Grid};
use crate::form::list::List;
use crate::form::permutation::Permutation;
use crate::form::permutation::images::{BLOCK, Images};
use crate::form::run_lengths::RunLengths;
use crate::form::runs::Runs;
use crate::form::wavelet::Wavelet;
use crate::map::{COMPLEMENTS, Complement, Composition, Concatenation, DEEP, Form, PARTS, RankMap};
use crate::progression::Progression;
use crate::wire::tags::{
    BARE_BITMAP, BITMAP, COMPLEMENT, COMPOSITION, CONCATENATION, DIAGRAM, ELIAS_FANO, GRID,
    INVERSE, LIST, PROGRESSION, RUN_LENGTHS, RUNS, SHORTCUTS, WAVELET,
};

/// Largest number of progressions that validating the combined maps may walk through, in total.
const CHECKED: u64 = 1 << 26;

pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    /// Number of progressions that may still be walked through.
    left: u64,
}

fn wrong<T>(what: &'static str) -> Result<T, Error> {
    Err(Error::Malformed(what))
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let left = CHECKED;
        Reader { bytes, left }
    }

    /// Reserves a walk through the given number of progressions.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if all walks that this reader has reserved exceed [`CHECKED`]
    /// progressions.
    fn afford(&mut self, progressions: u64) -> Result<(), Error> {
        match self.left.checked_sub(progressions) {
            Some(left) => self.left = left,
            None => return wrong("parts that cannot be told apart"),
        }
        Ok(())
    }

    pub(super) fn byte(&mut self) -> Result<u8, Error> {
        let Some((first, rest)) = self.bytes.split_first() else {
            return wrong("they end too early");
        };
        self.bytes = rest;
        Ok(*first)
    }

    fn number(&mut self) -> Result<u64, Error> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7F);
            if part << shift >> shift != part {
                return wrong("a number is too large");
            }
            number |= part << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        wrong("a number is too long")
    }

    fn signed(&mut self) -> Result<i64, Error> {
        let folded = self.number()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }

    fn small(&mut self) -> Result<u32, Error> {
        u32::try_from(self.number()?).or(wrong("a number is too large"))
    }

    /// Reads a number of members. Returns [`Error::Malformed`] if the number exceeds 2^32 or is not
    /// well encoded, or if the bytes end.
    fn len(&mut self) -> Result<u64, Error> {
        match self.number()? {
            len if len <= 1 << 32 => Ok(len),
            _ => wrong("there are not so many ranks"),
        }
    }

    /// Reads the bytes of `count` words, with eight bytes each. Returns [`Error::Malformed`] if
    /// there are fewer bytes, which then stay unread.
    fn raw(&mut self, count: usize) -> Result<&'a [u8], Error> {
        if self.bytes.len() / 8 < count {
            return wrong("they end too early");
        }
        let (words, rest) = self.bytes.split_at(count * 8);
        self.bytes = rest;
        Ok(words)
    }

    fn words(&mut self, count: usize) -> Result<Vec<u64>, Error> {
        let words = self.raw(count)?;
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        Ok(words.chunks_exact(8).map(word).collect())
    }

    /// Reads strictly ascending numbers: their count, `end`, and their bits. The last number must
    /// be `end - 1`, and `end` must be 0 without numbers. Otherwise returns [`Error::Malformed`].
    fn gaps(&mut self) -> Result<EliasFano, Error> {
        let (len, end) = (self.len()?, self.len()?);
        if !EliasFano::fits(len, end) {
            return wrong("there are not so many ranks");
        }
        let (low, high) = EliasFano::words_for(len, end);
        let gaps = EliasFano::from_parts(len, end, self.raw(low)?, self.raw(high)?)?;
        let (mut next, mut chunk, mut at) = (0, [0; 256], 0);
        while at < len {
            let size = (len - at).min(chunk.len() as u64) as usize;
            gaps.read(at, &mut chunk[..size]);
            for number in &chunk[..size] {
                if u64::from(*number) < next {
                    return wrong("ranks do not ascend");
                }
                next = u64::from(*number) + 1;
            }
            at += size as u64;
        }
        match next == end {
            true => Ok(gaps),
            false => wrong("ranks end elsewhere"),
        }
    }

    fn progression(&mut self) -> Result<Progression, Error> {
        let (start, step, len) = (self.small()?, self.signed()?, self.len()?);
        Progression::new(start, step, len)
    }

    pub(super) fn map(&mut self, depth: usize) -> Result<RankMap, Error> {
        if depth > 4 * DEEP {
            return wrong("too many in each other");
        }
        let form = match self.byte()? {
            PROGRESSION => Form::Progression(self.progression()?),
            GRID => {
                let (origin, len, count) = (self.signed()?, self.len()?, self.number()?);
                if count > 32 {
                    return wrong("too many axes");
                }
                let mut axes = Vec::new();
                for _ in 0..count {
                    axes.push(Axis {
                        count: self.small()?,
                        stride: self.signed()?,
                        shift: self.small()?,
                        modulus: self.small()?,
                    });
                }
                return Grid::closed(origin, &axes, len).map(RankMap::closed);
            }
            RUNS => {
                let mut runs = Vec::new();
                for _ in 0..self.number()? {
                    runs.push(self.progression()?);
                }
                if runs.is_empty() || runs.iter().any(Progression::is_empty) {
                    return wrong("an empty run");
                }
                Form::Runs(Arc::new(Runs::new(&runs)?))
            }
            RUN_LENGTHS => {
                let (len, starts, firsts) = (self.len()?, self.gaps()?, self.gaps()?);
                Form::RunLengths(Arc::new(RunLengths::from_parts(starts, firsts, len)?))
            }
            which @ (BITMAP | BARE_BITMAP) => {
                let (first, count) = (self.small()?, self.number()?);
                let count = usize::try_from(count).or(wrong("they end too early"))?;
                let words = self.words(count)?;
                // The bits end with the last set bit.
                let Some(last) = words.last().filter(|word| **word != 0) else {
                    return wrong("bits that are not needed");
                };
                let bits = count as u64 * 64 - u64::from(last.leading_zeros());
                if u64::from(first) + bits > 1 << 32 {
                    return Err(Error::BeyondRanks);
                }
                let words = checked(words, bits)?;
                Form::Bitmap(Arc::new(Bitmap::from_words(
                    first,
                    bits,
                    words,
                    which == BITMAP,
                )))
            }
            ELIAS_FANO => Form::EliasFano(Arc::new(self.gaps()?)),
            LIST => self.list()?,
            which @ (SHORTCUTS | INVERSE) => {
                let len = self.len()?;
                let images = self.images(len)?;
                let made = Permutation::new(&images, which == INVERSE)?;
                Form::Permutation(Arc::new(made))
            }
            WAVELET => self.wavelet()?,
            DIAGRAM => self.diagram()?,
            #[cfg(feature = "roaring")]
            crate::wire::tags::ROARING => {
                let len = usize::try_from(self.number()?).or(wrong("they end too early"))?;
                let Some((bytes, rest)) = self.bytes.split_at_checked(len) else {
                    return wrong("they end too early");
                };
                self.bytes = rest;
                Form::Roaring(Arc::new(crate::form::roaring::Roaring::from_bytes(bytes)?))
            }
            COMPLEMENT => {
                let (end, of) = (self.len()?, self.map(depth + 1)?);
                if of.complements() >= COMPLEMENTS {
                    return wrong("too many in each other");
                }
                let beyond =
                    of.is_ascending() && of.last().is_some_and(|last| u64::from(last) >= end);
                if !of.is_ascending() || beyond {
                    return wrong("a complement of no set");
                }
                Form::Complement(Arc::new(Complement { of, end }))
            }
            COMPOSITION => {
                let (outer, inner) = (self.map(depth + 1)?, self.map(depth + 1)?);
                if !inner.knows_max() {
                    self.afford(inner.pieces())?;
                }
                if inner
                    .max()
                    .is_some_and(|most| u64::from(most) >= outer.len())
                {
                    return wrong("a part of less than there is");
                }
                Form::Composition(Arc::new(Composition { outer, inner }))
            }
            CONCATENATION => self.parts(depth)?,
            _ => return wrong("an unknown form"),
        };
        Ok(RankMap::of(form))
    }

    /// Reads the images of a permutation of `len` ranks, packed or in blocks. Returns an error if
    /// the bytes end or do not encode them. Does not check that the images are a permutation.
    fn images(&mut self, len: u64) -> Result<Vec<u32>, Error> {
        if self.byte()? == 0 {
            let width = width_of(len.saturating_sub(1));
            let bytes = self.raw(words_for(u64::from(width) * len))?;
            return Ok(Packed::from_bytes(width, len, bytes)?.iter().collect());
        }
        let (mut frames, mut pieces) = (Vec::new(), 0);
        for _ in 0..len.div_ceil(BLOCK) {
            let mut least = 0;
            for shift in [0, 8, 16, 24] {
                least |= u32::from(self.byte()?) << shift;
            }
            let width = u32::from(self.byte()?);
            frames.push((least, width));
            pieces += width as usize;
        }
        // A piece is two words.
        let bytes = self.raw(2 * pieces)?;
        Images::of_frames(len, &frames, bytes)
    }

    fn list(&mut self) -> Result<Form, Error> {
        let (base, len, width) = (self.small()?, self.len()?, self.small()?);
        let ordered = self.byte()? != 0;
        if width > 32 || len == 0 {
            return wrong("a packed array");
        }
        let bytes = self.raw(words_for(u64::from(width) * len))?;
        // Integers of width 0 take no bytes, and only a single one is not a duplicate.
        if width == 0 && len > 1 {
            return Err(Error::Duplicate(base));
        }
        let ranks = Packed::from_bytes(width, len, bytes)?;
        let most = ranks.iter().max().unwrap_or(0);
        if base.checked_add(most).is_none() {
            return Err(Error::BeyondRanks);
        }
        let rising = ranks.iter().zip(ranks.iter().skip(1)).all(|(a, b)| a < b);
        if ordered {
            let ranks: Vec<u32> = ranks.iter().map(|rank| base + rank).collect();
            let order = order_of(&ranks)?;
            return Ok(Form::List(Arc::new(List::ordered(&ranks, &order))));
        }
        match rising {
            true => Ok(Form::List(Arc::new(List::packed(base, ranks)))),
            false => wrong("ranks do not ascend"),
        }
    }

    fn wavelet(&mut self) -> Result<Form, Error> {
        let (len, count) = (self.len()?, self.number()?);
        let mut first = vec![0];
        for _ in 1..count {
            let last = first[first.len() - 1];
            let next = u64::from(last) + self.number()?;
            match u32::try_from(next) {
                Ok(next) if next > last && u64::from(next) < len => first.push(next),
                _ => return wrong("ascending sequences"),
            }
        }
        if len == 0 || count == 0 {
            return wrong("ascending sequences");
        }
        let bits = Wavelet::bit_count(&first, len);
        let words = checked(self.words(words_for(bits))?, bits)?;
        Ok(Form::Wavelet(Arc::new(Wavelet::from_parts(
            first, words, len,
        )?)))
    }

    fn diagram(&mut self) -> Result<Form, Error> {
        let (height, words) = (self.small()?, self.number()?);
        let words = usize::try_from(words).or(wrong("they end too early"))?;
        let words = self.words(words)?;
        let mut nodes = Vec::new();
        for _ in 0..self.number()? {
            nodes.push((self.small()?, self.small()?, self.small()?));
        }
        let root = self.small()?;
        let made = Diagram::new(height, words, &nodes, root)?;
        match made.len() {
            0 => wrong("a diagram of nothing"),
            _ => Ok(Form::Diagram(Arc::new(made))),
        }
    }

    fn parts(&mut self, depth: usize) -> Result<Form, Error> {
        let count = self.number()?;
        if count > PARTS as u64 {
            return wrong("too many parts");
        }
        let mut parts: Vec<RankMap> = Vec::new();
        for _ in 0..count {
            let part = self.map(depth + 1)?;
            if part.is_empty() {
                return wrong("an empty part");
            }
            for other in &parts {
                let closed = part.in_step().is_some() && other.in_step().is_some();
                if !closed {
                    self.afford(part.pieces() + other.pieces())?;
                }
                if let Some(common) = Builder::new().common(&part, other) {
                    return Err(Error::Duplicate(common));
                }
            }
            parts.push(part);
        }
        let parts = Concatenation::new(parts);
        match parts.len() <= 1 << 32 {
            true => Ok(Form::Concatenation(Arc::new(parts))),
            false => Err(Error::BeyondRanks),
        }
    }
}
