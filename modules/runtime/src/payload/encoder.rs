//! Writing payloads.

use super::Payload;

/// Most memory that is taken because of a size that a value has named.
const AHEAD: usize = 64 << 20;

/// Takes the bytes of payloads: see [`Payload::encode`].
#[derive(Debug)]
pub struct Encoder<'a> {
    bytes: Vec<u8>,
    /// It may keep what lives as long as the value.
    _value: std::marker::PhantomData<&'a [u8]>,
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
            _value: std::marker::PhantomData,
        }
    }

    /// With a buffer that is used again: what is in it goes.
    pub(super) fn with_buffer(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        Encoder {
            bytes,
            _value: std::marker::PhantomData,
        }
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Takes bytes that belong to the value: they need not be copied twice.
    #[inline]
    pub fn bytes(&mut self, bytes: &'a [u8]) {
        self.copy(bytes);
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
