//! Reading payloads, without trust.

use std::alloc::Layout;
use std::error::Error;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::remote::{Remote, Remotely};
use crate::copy::copy;

/// How deep boxes and collections may be within each other: else bytes could be made that overflow the
/// stack.
const DEEPEST: u32 = 256;
/// Most memory that is taken for what is announced and not there yet.
const AHEAD: usize = 1 << 20;

/// Gives the bytes of payloads back: see [`Payload::decode`](super::Payload::decode).
#[derive(Debug)]
pub struct Decoder<'a> {
    /// Those that are here, up to where others follow that are not.
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    remote: Option<Remote<'a>>,
}

impl<'a> Decoder<'a> {
    /// Of bytes that are all here.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Decoder {
            bytes,
            at: 0,
            depth: 0,
            remote: None,
        }
    }

    /// Of a value whose large slices are in the memory of another OS process.
    ///
    /// # Errors
    /// The bytes do not say which.
    pub(super) fn remote(bytes: &'a [u8], remotely: Remotely<'a>) -> Result<Self, DecodeError> {
        let decoder = Decoder {
            remote: Remote::new(bytes, remotely),
            ..Decoder::new(&[])
        };
        match decoder.remote {
            Some(_) => Ok(decoder),
            None => Err(decoder.error("slices of one value")),
        }
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        let here = self.bytes.len() - self.at;
        here + self.remote.as_ref().map_or(0, Remote::remaining)
    }

    /// The next bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        let Some(bytes) = rest.get(..count) else {
            return self.bytes_beyond(count);
        };
        self.at += count;
        Ok(bytes)
    }

    /// More bytes than there are before the next that are elsewhere.
    #[cold]
    #[inline(never)]
    fn bytes_beyond(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        self.look_for(count)?;
        while self.at == self.bytes.len() && self.go_on()? {
            if let Some(bytes) = self.bytes[self.at..].get(..count) {
                self.at += count;
                return Ok(bytes);
            }
        }
        let mut all = self.room(count)?;
        self.fill(&mut all.spare_capacity_mut()[..count])?;
        // SAFETY: so many were filled.
        unsafe { all.set_len(count) };
        match &mut self.remote {
            Some(remote) => Ok(remote.keep(all)),
            None => Err(self.error("the end")),
        }
    }

    /// Fills memory with the next bytes.
    ///
    /// # Errors
    /// There are fewer.
    #[inline]
    pub(super) fn fill(&mut self, to: &mut [MaybeUninit<u8>]) -> Result<(), DecodeError> {
        if let Some(bytes) = self.bytes[self.at..].get(..to.len()) {
            // SAFETY: both are as long, and one is borrowed for writing.
            unsafe {
                copy(bytes.as_ptr(), to.as_mut_ptr().cast(), bytes.len());
            }
            self.at += bytes.len();
            return Ok(());
        }
        self.fill_beyond(to)
    }

    /// The memory that has the next bytes, if it is of just this size and alignment and may be had: it is the caller's, to be given
    /// back to the global allocator.
    #[inline]
    pub(super) fn take_over(&mut self, size: usize, align: usize) -> Option<NonNull<u8>> {
        let remote = self.remote.as_mut()?;
        if size == 0 || self.at < self.bytes.len() {
            return None;
        }
        remote.take_over(Layout::from_size_align(size, align).ok()?)
    }

    #[cold]
    #[inline(never)]
    fn fill_beyond(&mut self, mut to: &mut [MaybeUninit<u8>]) -> Result<(), DecodeError> {
        self.look_for(to.len())?;
        while !to.is_empty() {
            let here = self.bytes.len() - self.at;
            let (now, later) = to.split_at_mut(here.min(to.len()));
            self.fill(now)?;
            to = later;
            if to.is_empty() {
                break;
            }
            let read = match &mut self.remote {
                Some(remote) => remote.fill(to),
                None => Ok(0),
            };
            let read = read.map_err(|why| self.error(why))?;
            to = &mut to[read..];
            if read == 0 && !self.go_on()? {
                return Err(self.error("more bytes"));
            }
        }
        Ok(())
    }

    /// Goes on to the bytes behind those that are here, which are passed by; false: there are none.
    fn go_on(&mut self) -> Result<bool, DecodeError> {
        let Some(remote) = &mut self.remote else {
            return Ok(false);
        };
        let next = match remote.here() {
            Some(bytes) => Some(bytes),
            None => remote.fetch().map_err(|why| self.error(why))?,
        };
        let (before, found) = (self.bytes.len(), next.is_some());
        (self.bytes, self.at) = (next.unwrap_or_default(), 0);
        if let Some(remote) = &mut self.remote {
            remote.pass(before);
        }
        Ok(found)
    }

    /// Whether there are so many bytes.
    #[inline]
    fn look_for(&self, count: usize) -> Result<(), DecodeError> {
        let there = self.remaining();
        if count > there {
            return Err(self.error(format!("{count} bytes, of which {there} are present")));
        }
        Ok(())
    }

    /// Memory for so many values: what is only announced may be more than there is.
    pub(super) fn room<T>(&self, count: usize) -> Result<Vec<T>, DecodeError> {
        let mut room = Vec::new();
        match room.try_reserve_exact(count) {
            Ok(()) => Ok(room),
            Err(_) => Err(self.error(format!(
                "at most as many values as memory can hold, not {count}"
            ))),
        }
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
            return Err(self.error(format!("at most {DEEPEST} levels")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// For how many of `count` values, of `size` bytes each where that is known, there should be room at first: not for what is
    /// only announced.
    ///
    /// # Errors
    /// There are too few bytes for so many.
    pub(super) fn room_for<T>(
        &self,
        count: usize,
        size: Option<usize>,
    ) -> Result<usize, DecodeError> {
        let each = size.unwrap_or(1).max(1);
        if count > self.remaining() / each {
            let left = self.remaining();
            return Err(self.error(format!("{count} values, but only {left} bytes are present")));
        }
        let here = (self.bytes.len() - self.at).max(AHEAD) / size_of::<T>().max(1);
        Ok(count.min(here))
    }

    /// An error at this place, by what should have been there.
    pub fn error(&self, expected: impl Into<String>) -> DecodeError {
        let before = self.remote.as_ref().map_or(0, Remote::passed);
        let at = before + self.at;
        DecodeError {
            expected: expected.into(),
            at,
            of: at + self.remaining(),
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
