//! Writing payloads.

use super::Payload;

/// Most memory that is taken because of a size that a value has named.
const AHEAD: usize = 64 << 20;

/// From so many bytes on a slice may be left where it is, to be read there by another OS process: about where one copy by
/// the kernel takes as long as the copies into and out of shared memory (`benches/runtime/run.sh`, the row of 64 KiB).
pub(crate) const LARGE: usize = 64 << 10;

/// Takes the bytes of payloads: see [`Payload::encode`].
#[derive(Debug)]
pub struct Encoder<'a> {
    bytes: Vec<u8>,
    large: Large<'a>,
}

/// What becomes of slices that are large.
#[derive(Debug)]
enum Large<'a> {
    /// They are copied like all others.
    Copied,
    /// They are only looked for; whether there was one.
    Sought(bool),
    /// They stay where they are: each with how many bytes were copied before it.
    Left(Vec<(usize, &'a [u8])>),
}

impl<'a> Encoder<'a> {
    /// The bytes of a value.
    pub fn to_vec<T: Payload>(value: &'a T) -> Vec<u8> {
        let mut encoder = Encoder::with_room(value.size());
        value.encode(&mut encoder);
        encoder.bytes
    }

    pub(super) fn with_room(size: usize) -> Self {
        Encoder {
            // A size that is a lie takes no memory.
            bytes: Vec::with_capacity(size.min(AHEAD)),
            large: Large::Copied,
        }
    }

    /// With a buffer that is used again: what is in it goes.
    pub(super) fn with_buffer(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Encoder {
            bytes,
            large: Large::Copied,
        }
    }

    /// As [`Encoder::with_buffer`], for who wants to know whether there are large slices.
    pub(super) fn seeking(bytes: Vec<u8>) -> Self {
        Encoder {
            large: Large::Sought(false),
            ..Encoder::with_buffer(bytes)
        }
    }

    /// One that leaves large slices where they are.
    pub(super) fn leaving() -> Self {
        Encoder {
            large: Large::Left(Vec::new()),
            ..Encoder::with_buffer(Vec::new())
        }
    }

    /// The bytes that were copied.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    /// The bytes; or, of one that seeks, only the buffer back, as there was a large slice.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>, Vec<u8>> {
        match self.large {
            Large::Sought(true) => Err(self.bytes),
            _ => Ok(self.bytes),
        }
    }

    /// The bytes that were copied, and the slices that were left, each with how many were copied before it.
    pub(super) fn into_slices(self) -> (Vec<u8>, Vec<(usize, &'a [u8])>) {
        match self.large {
            Large::Left(slices) => (self.bytes, slices),
            _ => (self.bytes, Vec::new()),
        }
    }

    /// Takes bytes that belong to the value: where they are many, they may be left where they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &'a [u8]) {
        if bytes.len() < LARGE {
            self.copy(bytes);
        } else {
            self.large(bytes);
        }
    }

    #[inline(never)]
    fn large(&mut self, bytes: &'a [u8]) {
        match &mut self.large {
            Large::Copied => self.copy(bytes),
            Large::Sought(found) => *found = true,
            Large::Left(slices) => slices.push((self.bytes.len(), bytes)),
        }
    }

    /// Takes bytes that are gone after the call.
    #[inline]
    pub fn copy(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Takes a number of things, as seven bits a byte, the lowest first (LEB128, the Go and protobuf
    /// "varint"): most are below 128.
    pub fn length(&mut self, length: usize) {
        let mut rest = length;
        while rest >= 0x80 {
            self.copy(&[rest as u8 | 0x80]);
            rest >>= 7;
        }
        self.copy(&[rest as u8]);
    }

    /// How many bytes [`Encoder::length`] takes.
    pub fn size_of_length(length: usize) -> usize {
        (usize::BITS - (length | 1).leading_zeros()).div_ceil(7) as usize
    }
}
