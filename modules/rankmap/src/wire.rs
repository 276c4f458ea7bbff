//! Encoding of rank maps as bytes, so that a communicator is as compact on a link as in memory.
//!
//! The encoding is a version byte and a form. A form begins with a tag byte. Numbers are encoded in
//! groups of seven bits, the lowest first (LEB128). Signed numbers are folded, so that small
//! numbers stay short (zigzag). Words of bits are stored in little-endian order. Data that can be
//! recomputed, such as directories and orders, is not encoded.

mod read;
mod tags;

use crate::error::Error;
use crate::form::elias_fano::EliasFano;
use crate::form::permutation::images::Images;
use crate::map::{Form, RankMap};
use crate::progression::Progression;
use read::Reader;
use tags::*;

impl RankMap {
    /// Encodes this map as bytes. The size is similar to the size in memory.
    ///
    /// Cost: linear in the number of bytes. Source: this crate.
    ///
    /// ```
    /// use graphmap_rankmap::RankMap;
    ///
    /// let world = RankMap::identity(1_000_000_000);
    /// let alive = world.exclude(&[17, 4_711, 999_999_999])?;
    /// let bytes = alive.to_bytes();
    /// assert!(bytes.len() < 40);
    /// assert_eq!(RankMap::from_bytes(&bytes)?, alive);
    /// # Ok::<(), graphmap_rankmap::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer {
            bytes: vec![VERSION],
        };
        writer.map(self);
        writer.bytes
    }

    /// Decodes the result of [`RankMap::to_bytes`]. The bytes may be arbitrary, because the content
    /// is validated.
    ///
    /// Cost: linear in the number of bytes; `O(n log n)` for packed arrays that do not ascend.
    /// Parts of a concatenation are checked for common members, and the largest member of a group
    /// of a group is determined. Source: this crate.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if the bytes do not encode a map, if bytes follow the map, or if these
    /// checks would walk through more than 2^26 progressions in total. [`Error::Duplicate`],
    /// [`Error::BeyondRanks`] or another error if the encoded map is invalid.
    pub fn from_bytes(bytes: &[u8]) -> Result<RankMap, Error> {
        let mut reader = Reader::new(bytes);
        if reader.byte()? != VERSION {
            return Err(Error::Malformed("another version"));
        }
        let map = reader.map(0)?;
        match reader.bytes.is_empty() {
            true => Ok(map),
            false => Err(Error::Malformed("something follows")),
        }
    }
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    fn number(&mut self, number: u64) {
        let mut rest = number;
        while rest >= 0x80 {
            self.bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        self.bytes.push(rest as u8);
    }

    fn signed(&mut self, number: i64) {
        self.number(((number << 1) ^ (number >> 63)) as u64);
    }

    fn words(&mut self, words: &[u64]) {
        for word in words {
            self.bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn gaps(&mut self, gaps: &EliasFano) {
        self.number(gaps.len());
        self.number(gaps.end());
        let (low, high) = gaps.parts();
        self.bytes.extend_from_slice(low);
        self.bytes.extend_from_slice(high);
    }

    /// Writes a byte 1 and the blocks of a permutation: the least number and the width of each,
    /// then all bits. Writes nothing if the permutation is not stored in blocks.
    fn frames(&mut self, images: &Images) {
        let Some((frames, bytes)) = images.frames() else {
            return;
        };
        self.bytes.push(1);
        for (least, width) in frames {
            self.bytes.extend_from_slice(&least.to_le_bytes());
            self.bytes.push(width as u8);
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn progression(&mut self, progression: &Progression) {
        self.number(u64::from(progression.start()));
        self.signed(progression.step());
        self.number(progression.len());
    }

    fn map(&mut self, map: &RankMap) {
        match &map.form {
            Form::Progression(progression) => {
                self.bytes.push(PROGRESSION);
                self.progression(progression);
            }
            Form::Grid(grid) => {
                self.bytes.push(GRID);
                self.signed(grid.origin());
                self.number(grid.len());
                self.number(grid.axes().count() as u64);
                for axis in grid.axes() {
                    self.number(u64::from(axis.count));
                    self.signed(axis.stride);
                    self.number(u64::from(axis.shift));
                    self.number(u64::from(axis.modulus));
                }
            }
            Form::Runs(runs) => {
                self.bytes.push(RUNS);
                self.number(runs.count() as u64);
                (0..runs.count()).for_each(|k| self.progression(&runs.run(k)));
            }
            Form::RunLengths(runs) => {
                self.bytes.push(RUN_LENGTHS);
                self.number(runs.len());
                let (starts, firsts) = runs.parts();
                self.gaps(starts);
                self.gaps(firsts);
            }
            Form::Bitmap(bitmap) => {
                self.bytes.push(if bitmap.is_indexed() {
                    BITMAP
                } else {
                    BARE_BITMAP
                });
                self.number(u64::from(bitmap.first()));
                self.number(bitmap.words().len() as u64);
                self.words(bitmap.words());
            }
            Form::EliasFano(gaps) => {
                self.bytes.push(ELIAS_FANO);
                self.gaps(gaps);
            }
            Form::List(list) => {
                let (base, ranks, order) = list.parts();
                self.bytes.push(LIST);
                self.number(u64::from(base));
                self.number(ranks.len());
                self.number(u64::from(ranks.width()));
                self.bytes.push(u8::from(order.is_some()));
                self.bytes.extend_from_slice(ranks.as_bytes());
            }
            Form::Permutation(permutation) => {
                self.bytes.push(if permutation.has_inverse() {
                    INVERSE
                } else {
                    SHORTCUTS
                });
                self.number(permutation.len());
                match permutation.images() {
                    Images::Packed(packed) => {
                        self.bytes.push(0);
                        self.bytes.extend_from_slice(packed.as_bytes());
                    }
                    framed => self.frames(framed),
                }
            }
            Form::Wavelet(wavelet) => {
                let (first, bits) = wavelet.parts();
                self.bytes.push(WAVELET);
                self.number(wavelet.len());
                self.number(first.len() as u64);
                let lengths = first.windows(2).map(|pair| u64::from(pair[1] - pair[0]));
                lengths.for_each(|length| self.number(length));
                self.words(bits);
            }
            Form::Diagram(diagram) => {
                let (words, nodes, root) = diagram.parts();
                let nodes: Vec<_> = nodes.collect();
                self.bytes.push(DIAGRAM);
                self.number(u64::from(diagram.height()));
                self.number(words.len() as u64);
                self.words(words);
                self.number(nodes.len() as u64);
                for (level, low, high) in nodes {
                    self.number(u64::from(level));
                    self.number(u64::from(low));
                    self.number(u64::from(high));
                }
                self.number(u64::from(root));
            }
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => {
                let bytes = roaring.to_bytes();
                self.bytes.push(ROARING);
                self.number(bytes.len() as u64);
                self.bytes.extend_from_slice(&bytes);
            }
            Form::Complement(complement) => {
                self.bytes.push(COMPLEMENT);
                self.number(complement.end);
                self.map(&complement.of);
            }
            Form::Composition(both) => {
                self.bytes.push(COMPOSITION);
                self.map(&both.outer);
                self.map(&both.inner);
            }
            Form::Concatenation(parts) => {
                self.bytes.push(CONCATENATION);
                self.number(parts.parts().len() as u64);
                parts.parts().iter().for_each(|part| self.map(part));
            }
        }
    }
}
