//! Reading payloads, without trust.

use std::error::Error;
use std::fmt;

use super::{Format, Payload};

/// How deep boxes and collections may be within each other: else bytes could be made that overflow the
/// stack.
const DEEPEST: u32 = 256;
/// Most memory that is taken for what is announced and not there yet.
const AHEAD: usize = 1 << 20;

/// Gives the bytes of payloads back: see [`Payload::decode`].
#[derive(Debug)]
pub struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Decoder<'a> {
    /// The value that all of these bytes are.
    ///
    /// # Errors
    /// They are not those of a value, or there are more.
    pub fn from_slice<T: Payload>(bytes: &'a [u8]) -> Result<T, DecodeError> {
        Decoder::of(bytes, Format::new())
    }

    /// As [`Decoder::from_slice`], by a format.
    pub(crate) fn of<T>(bytes: &'a [u8], format: Format<T>) -> Result<T, DecodeError> {
        let mut decoder = Decoder {
            bytes,
            at: 0,
            depth: 0,
        };
        let value = (format.decode)(&mut decoder)?;
        match decoder.remaining() {
            0 => Ok(value),
            _ => Err(decoder.error("the end")),
        }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// The next bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        let Some(bytes) = rest.get(..count) else {
            let what = format!("{count} bytes, of which {} are there", rest.len());
            return Err(self.error(what));
        };
        self.at += count;
        Ok(bytes)
    }

    /// The next bytes, as an array.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.bytes(N)?);
        Ok(taken)
    }

    /// A number as [`Encoder::length`](super::Encoder::length) takes it.
    ///
    /// # Errors
    /// There is none, or it is not written in the shortest way.
    pub fn length(&mut self) -> Result<usize, DecodeError> {
        let mut length = 0usize;
        for shift in (0..usize::BITS).step_by(7) {
            let [byte] = self.take()?;
            let bits = usize::from(byte & 0x7f);
            let shifted = bits << shift;
            if shifted >> shift != bits || (bits == 0 && byte == 0 && shift > 0) {
                break;
            }
            length |= shifted;
            if byte & 0x80 == 0 {
                return Ok(length);
            }
        }
        Err(self.error("a length"))
    }

    /// Reads what is within a box or collection: only so many of them may be within each other. (A
    /// type can contain itself in no other way.)
    ///
    /// # Errors
    /// Those of `read`, or it is too deep.
    pub fn within<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        if self.depth == DEEPEST {
            return Err(self.error(format!("no more than {DEEPEST} levels")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// For how many of `count` values there should be room at first: not for what is only announced.
    ///
    /// # Errors
    /// There are too few bytes for so many.
    pub(super) fn room_for<T: Payload>(&self, count: usize) -> Result<usize, DecodeError> {
        let each = T::SIZE.unwrap_or(1).max(1);
        if count > self.remaining() / each {
            let left = self.remaining();
            return Err(self.error(format!("{count} values, and {left} bytes are there")));
        }
        let here = self.remaining().max(AHEAD) / size_of::<T>().max(1);
        Ok(count.min(here))
    }

    /// How many bytes `count` values of one size have.
    ///
    /// # Errors
    /// There are too few bytes for so many.
    pub(super) fn room_for_all<T: Payload>(&self, count: usize) -> Result<usize, DecodeError> {
        self.room_for::<T>(count)?;
        Ok(count * T::SIZE.unwrap_or(0))
    }

    /// An error at this place, by what should have been there.
    pub fn error(&self, expected: impl Into<String>) -> DecodeError {
        DecodeError {
            expected: expected.into(),
            at: self.at,
            of: self.bytes.len(),
        }
    }
}

/// Bytes that are not those of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    expected: String,
    at: usize,
    of: usize,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DecodeError { expected, at, of } = self;
        write!(f, "expected {expected} at byte {at} of {of}")
    }
}

impl Error for DecodeError {}
