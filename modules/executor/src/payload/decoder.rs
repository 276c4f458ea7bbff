//! Decoding of payloads from untrusted bytes.

use std::alloc::Layout;
use std::error::Error;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

use super::remote::{Remote, Remotely};
use crate::copy::copy;

/// Maximum nesting of boxes and collections. Without it, some bytes would overflow the stack.
const DEEPEST: u32 = 256;
/// Maximum number of bytes that are allocated for values that are announced but not present.
const AHEAD: usize = 1 << 20;

/// Reads the bytes of payloads: see [`Payload::decode`](super::Payload::decode).
#[derive(Debug)]
pub struct Decoder<'a> {
    /// The bytes that are present here, up to the next ones in another OS process.
    bytes: &'a [u8],
    at: usize,
    depth: u32,
    remote: Option<Remote<'a>>,
}

impl<'a> Decoder<'a> {
    /// Creates a decoder of bytes that are all present.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Decoder {
            bytes,
            at: 0,
            depth: 0,
            remote: None,
        }
    }

    /// Creates a decoder of a value whose large slices are in the memory of another OS process.
    /// `bytes` are the other bytes of the value.
    ///
    /// # Errors
    /// The slices do not fit the bytes, or the value would be larger than 2^40 bytes.
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

    /// Returns the number of bytes of the value that have not been read, including those in the
    /// memory of another OS process.
    pub fn remaining(&self) -> usize {
        let here = self.bytes.len() - self.at;
        here + self.remote.as_ref().map_or(0, Remote::remaining)
    }

    /// Returns the next `count` bytes, and skips them.
    ///
    /// # Errors
    /// Fewer bytes are left. If the value is in the memory of another OS process, also: that memory
    /// cannot be read, or too little memory is available here.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let rest = &self.bytes[self.at..];
        let Some(bytes) = rest.get(..count) else {
            return self.bytes_beyond(count);
        };
        self.at += count;
        Ok(bytes)
    }

    /// Returns the next `count` bytes, and skips them. Called if they are not all in the current
    /// part. Copies them if they are not all in one part.
    ///
    /// # Errors
    /// As for [`Decoder::bytes`].
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
        // SAFETY: `fill` has initialised `count` bytes.
        unsafe { all.set_len(count) };
        match &mut self.remote {
            Some(remote) => Ok(remote.keep(all)),
            None => Err(self.error("the end")),
        }
    }

    /// Fills all of `to` with the next bytes, and skips them.
    ///
    /// # Errors
    /// Fewer bytes are left, or the memory of another OS process cannot be read, or too little
    /// memory is available here.
    #[inline]
    pub(super) fn fill(&mut self, to: &mut [MaybeUninit<u8>]) -> Result<(), DecodeError> {
        if let Some(bytes) = self.bytes[self.at..].get(..to.len()) {
            // SAFETY: both have the same length, and `to` is borrowed mutably.
            unsafe {
                copy(bytes.as_ptr(), to.as_mut_ptr().cast(), bytes.len());
            }
            self.at += bytes.len();
            return Ok(());
        }
        self.fill_beyond(to)
    }

    /// Takes over the memory that contains the next bytes, and skips them. The memory must have
    /// exactly this size and alignment in bytes, and it must be possible to take it. The caller
    /// owns that memory then, and must return it to the global allocator. Otherwise, and if `size`
    /// is 0, returns `None` and reads nothing.
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

    /// Skips the rest of the current part and continues with the next one. Returns false if there
    /// is no further part. Fetches the next part if it is in the memory of another OS process.
    ///
    /// # Errors
    /// The memory of another OS process cannot be read, or too little memory is available here.
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

    /// Checks that at least `count` bytes are left.
    ///
    /// # Errors
    /// Fewer bytes are left.
    #[inline]
    fn look_for(&self, count: usize) -> Result<(), DecodeError> {
        let there = self.remaining();
        if count > there {
            return Err(self.error(format!("{count} bytes, of which {there} are present")));
        }
        Ok(())
    }

    /// Returns an empty vector with space for `count` values.
    ///
    /// # Errors
    /// The allocation fails. This is not a panic, because an announced count may be too large.
    pub(super) fn room<T>(&self, count: usize) -> Result<Vec<T>, DecodeError> {
        let mut room = Vec::new();
        match room.try_reserve_exact(count) {
            Ok(()) => Ok(room),
            Err(_) => Err(self.error(format!(
                "at most as many values as memory can hold, not {count}"
            ))),
        }
    }

    /// Returns the next `N` bytes as an array, and skips them.
    ///
    /// # Errors
    /// As for [`Decoder::bytes`].
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut taken = [0; N];
        taken.copy_from_slice(self.bytes(N)?);
        Ok(taken)
    }

    /// Reads a number that [`Encoder::length`](super::Encoder::length) wrote.
    ///
    /// # Errors
    /// The bytes are not a number that fits `usize`, or not its shortest encoding. Also, as for
    /// [`Decoder::bytes`], if fewer bytes are left.
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

    /// Calls `read` to read the contents of a box or collection, and limits their nesting. A type
    /// can contain itself in no other way.
    ///
    /// # Errors
    /// The errors of `read`, or more than 256 nested levels.
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

    /// Returns the number of values of type `T` for which memory should be allocated before `count`
    /// of them are decoded. `size` is the size of each in bytes if that is known. Otherwise each
    /// takes at least one byte. The result is at most `count`. It is limited to the memory of 1 MiB
    /// or of the bytes that are present, because an announced count may be too large.
    ///
    /// # Errors
    /// Too few bytes are left for `count` values.
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

    /// Creates an error at the current position, from a description of the expected bytes. The
    /// message is "expected `expected` at byte .. of ..".
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

/// An error: the bytes are not a valid value.
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
