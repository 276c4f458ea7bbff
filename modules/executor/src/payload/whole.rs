//! Encoding of a whole payload into bytes, and decoding of a value that takes all bytes.

use super::Payload;
use super::decoder::{DecodeError, Decoder};
use super::encoder::{AHEAD, Encoder};
use super::format::Format;
use super::remote::Remotely;

impl<'a> Encoder<'a> {
    /// Returns the bytes of a value in a new vector.
    pub fn to_vec<T: Payload>(value: &'a T) -> Vec<u8> {
        let mut encoder = Encoder::with_room(value.size());
        value.encode(&mut encoder);
        encoder.into_buffer()
    }

    /// Appends the bytes of a value to other bytes, and returns them all.
    #[doc(hidden)]
    pub fn behind<T: Payload>(mut bytes: Vec<u8>, value: &'a T) -> Vec<u8> {
        bytes.reserve(value.size().min(AHEAD));
        let mut encoder = Encoder::behind_bytes(bytes);
        value.encode(&mut encoder);
        encoder.into_buffer()
    }
}

impl<'a> Decoder<'a> {
    /// Decodes a value from all of these bytes.
    ///
    /// # Errors
    /// The bytes are not a valid value, or more bytes follow the value.
    pub fn from_slice<T: Payload>(bytes: &'a [u8]) -> Result<T, DecodeError> {
        Decoder::of(bytes, Format::new())
    }

    /// Decodes a value as [`Decoder::from_slice`] does, with a given format.
    ///
    /// # Errors
    /// As for [`Decoder::from_slice`].
    #[doc(hidden)]
    pub fn of<T>(bytes: &'a [u8], format: Format<T>) -> Result<T, DecodeError> {
        Decoder::new(bytes).whole(format)
    }

    /// Decodes a value as [`Decoder::of`] does. Its large slices are in the memory of another OS
    /// process.
    ///
    /// # Errors
    /// As for [`Decoder::from_slice`]. Also if the slices do not fit the bytes, if the memory of
    /// the other OS process cannot be read, or if too little memory is available here.
    #[doc(hidden)]
    pub fn of_remote<T>(
        bytes: &'a [u8],
        remotely: Remotely<'a>,
        format: Format<T>,
    ) -> Result<T, DecodeError> {
        Decoder::remote(bytes, remotely)?.whole(format)
    }

    #[inline]
    fn whole<T>(mut self, format: Format<T>) -> Result<T, DecodeError> {
        let value = (format.decode)(&mut self)?;
        match self.remaining() {
            0 => Ok(value),
            _ => Err(self.error("the end")),
        }
    }
}
