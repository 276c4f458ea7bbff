//! Elements that a higher layer has packed, as one value.

use std::ops::Deref;

use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// Maximum number of bytes that are stored inline: a word, which is moved as a whole.
const FEW: usize = 8;

/// The bytes of packed elements. [`Status::count`](super::Status::count) of such a message is the
/// number of bytes. Short messages are stored inline and need no allocation.
#[derive(Debug, Clone)]
pub struct Packed(Bytes);

#[derive(Debug, Clone)]
enum Bytes {
    Few { count: usize, bytes: Word },
    Many(Vec<u8>),
}

#[derive(Debug, Clone, Copy)]
#[repr(align(8))]
struct Word([u8; FEW]);

impl Packed {
    /// Stores `from` inline. Returns `None` if it has more than [`FEW`] bytes, which is 8.
    #[inline]
    fn few(from: &[u8]) -> Option<Self> {
        let bytes = match <[u8; FEW]>::try_from(from) {
            Ok(all) => all,
            Err(_) => {
                let mut bytes = [0; FEW];
                bytes.get_mut(..from.len())?.copy_from_slice(from);
                bytes
            }
        };
        let (count, bytes) = (from.len(), Word(bytes));
        Some(Packed(Bytes::Few { count, bytes }))
    }
}

impl Default for Packed {
    /// Returns a value without bytes.
    #[inline]
    fn default() -> Self {
        Packed(Bytes::Few {
            count: 0,
            bytes: Word([0; FEW]),
        })
    }
}

impl From<&[u8]> for Packed {
    /// Copies the bytes.
    #[inline]
    fn from(bytes: &[u8]) -> Self {
        Packed::few(bytes).unwrap_or_else(|| bytes.to_vec().into())
    }
}

impl From<Vec<u8>> for Packed {
    #[inline]
    fn from(bytes: Vec<u8>) -> Self {
        Packed(Bytes::Many(bytes))
    }
}

impl From<Packed> for Vec<u8> {
    fn from(packed: Packed) -> Self {
        match packed.0 {
            Bytes::Many(bytes) => bytes,
            Bytes::Few { .. } => packed.to_vec(),
        }
    }
}

impl Deref for Packed {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Few { count, bytes } => &bytes.0[..*count],
            Bytes::Many(bytes) => bytes,
        }
    }
}

/// The encoding is that of a `Vec<u8>`.
impl Payload for Packed {
    fn size(&self) -> usize {
        Encoder::size_of_length(self.len()) + u8::size_all(self)
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.length(self.len());
        u8::encode_all(self, to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Vec::decode(from).map(Packed::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of any length are returned unchanged, directly and after encoding. Short ones are
    /// inline.
    #[test]
    fn any_number() {
        assert_eq!(size_of::<Packed>(), size_of::<Vec<u8>>());
        for count in (0..40).chain([1 << 20]) {
            let bytes: Vec<u8> = (0..count).map(|at| at as u8).collect();
            let packed = Packed::from(&bytes[..]);
            assert_eq!(matches!(packed.0, Bytes::Few { .. }), bytes.len() <= FEW);
            assert_eq!(&packed[..], &bytes[..]);
            let far = Encoder::to_vec(&packed);
            assert_eq!(far, Encoder::to_vec(&bytes));
            assert_eq!((far.len(), packed.size()), (bytes.size(), bytes.size()));
            assert_eq!(&Decoder::from_slice::<Packed>(&far).unwrap()[..], bytes);
            assert_eq!(&Packed::from(bytes.clone())[..], bytes);
        }
    }
}
