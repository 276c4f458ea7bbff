//! Writing payloads.

use super::gather::{Pieces, Slice, Slices, WORTH};

/// Most memory that is taken because of a size that a value has named.
pub(super) const AHEAD: usize = 64 << 20;

/// From so many bytes on a slice may be left where it is, to be read there by another OS process: about where one copy by
/// the kernel takes as long as the copies into and out of shared memory (`benches/runtime/run`, the
/// row of 64 KiB).
#[doc(hidden)]
pub const LARGE: usize = 64 << 10;

/// Takes the bytes of payloads: see [`Payload::encode`](super::Payload::encode).
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
    /// They are copied; those that are not quite so large are gathered.
    Gathered(Slices<'a>),
    /// The same, but it is only looked for whether there is a large one.
    Sought { slices: Slices<'a>, found: bool },
    /// They stay where they are, from so many bytes on.
    Left(Vec<Slice<'a>>, usize),
}

impl<'a> Encoder<'a> {
    pub(super) fn with_room(size: usize) -> Self {
        Encoder {
            // A size that is a lie takes no memory.
            bytes: Vec::with_capacity(size.min(AHEAD)),
            large: Large::Copied,
        }
    }

    /// One that puts bytes behind others.
    pub(super) fn behind_bytes(bytes: Vec<u8>) -> Self {
        Encoder {
            bytes,
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

    /// As [`Encoder::with_buffer`], where slices of some size are to be gathered. One that seeks stops short of large ones.
    pub(super) fn gathering(bytes: Vec<u8>, seeks: bool) -> Self {
        let slices = Slices::default();
        let large = match seeks {
            true => Large::Sought {
                slices,
                found: false,
            },
            false => Large::Gathered(slices),
        };
        Encoder {
            large,
            ..Encoder::with_buffer(bytes)
        }
    }

    /// One that leaves slices of so many bytes and more where they are.
    pub(super) fn leaving(least: usize) -> Self {
        Encoder {
            large: Large::Left(Vec::new(), least),
            ..Encoder::with_buffer(Vec::new())
        }
    }

    /// The bytes that were copied.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    /// What is to be gathered; or only the buffer back, as there was a large slice.
    pub(super) fn into_gather(self) -> Result<Pieces<'a>, Vec<u8>> {
        match self.large {
            Large::Sought { found: true, .. } => Err(self.bytes),
            Large::Sought { slices, .. } | Large::Gathered(slices) => {
                Ok(Pieces::new(self.bytes, slices))
            }
            _ => Ok(Pieces::new(self.bytes, Slices::default())),
        }
    }

    /// The bytes that were copied, and the slices that were left.
    pub(super) fn into_slices(self) -> (Vec<u8>, Vec<Slice<'a>>) {
        match self.large {
            Large::Left(slices, _) => (self.bytes, slices),
            _ => (self.bytes, Vec::new()),
        }
    }

    /// Takes bytes that belong to the value: where they are many, they may be left where they are.
    #[inline]
    pub fn bytes(&mut self, bytes: &'a [u8]) {
        self.elements(bytes, 1);
    }

    /// As [`Encoder::bytes`], those of elements of such an alignment.
    #[inline]
    pub(super) fn elements(&mut self, bytes: &'a [u8], align: usize) {
        if bytes.len() < WORTH {
            self.copy(bytes);
        } else {
            self.large(bytes, align);
        }
    }

    #[inline(never)]
    fn large(&mut self, bytes: &'a [u8], align: usize) {
        let (before, is_large) = (self.bytes.len(), bytes.len() >= LARGE);
        match &mut self.large {
            Large::Sought { found, .. } if is_large => *found = true,
            Large::Sought { slices, .. } | Large::Gathered(slices) if !is_large => {
                if !slices.push(before, bytes) {
                    self.copy(bytes);
                }
            }
            Large::Left(slices, least) if bytes.len() >= *least => slices.push(Slice {
                copied: before,
                bytes,
                align,
            }),
            _ => self.copy(bytes),
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
