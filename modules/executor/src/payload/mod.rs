//! Payloads: tokens as bytes.
//!
//! A token that stays in its OS process moves as a value, and its type needs no encoding. A token
//! that is counted in bytes, or leaves the OS process, is a [`Payload`].
//!
//! The encoding is for OS processes that run the same program on machines of the same kind: numbers
//! have the byte order of the machine, and fields have no tags. It is not a format for files.

mod collections;
mod decoder;
pub mod encoder;
mod format;
pub mod gather;
mod macros;
mod numbers;
pub(crate) mod received;
pub mod remote;
pub mod sliced;
mod standard;
mod whole;

pub use decoder::{DecodeError, Decoder};
pub use encoder::Encoder;
pub use format::Format;
#[doc(hidden)]
pub use format::{Defaulted, Known, Probe, Undefaulted, Unknown};

/// A type whose values can be written as bytes and read back. A token needs it to be counted in
/// bytes, and to be sent to another OS process.
///
/// Numbers, `bool`, `char`, strings, durations, and tuples of up to 8 values, arrays, ranges
/// (`start..end`), options, results, boxes and collections of payloads implement it. Types of your
/// own derive it, by the feature `derive` of `graphmap-runtime`:
///
/// ```
/// use graphmap_runtime::{Decoder, Encoder, Payload};
///
/// #[derive(Payload)]
/// struct Strip {
///     first_row: usize,
///     pixels: Vec<u8>,
/// }
///
/// let strip = Strip { first_row: 3, pixels: vec![0; 300] };
/// assert_eq!(strip.size(), 8 + 2 + 300); // two bytes for the length
/// let bytes = Encoder::to_vec(&strip);
/// let back: Strip = Decoder::from_slice(&bytes).unwrap();
/// assert_eq!((back.first_row, back.pixels.len()), (3, 300));
/// ```
///
/// [`payload!`](crate::payload!) does the same without the feature, and uses the functions of
/// another format, such as one of serde.
///
/// If you implement it by hand, [`size`](Self::size) and [`encode`](Self::encode) must agree, and
/// [`decode`](Self::decode) must read exactly the bytes that `encode` wrote. `decode` must not
/// trust them: bytes that no value has must be a [`DecodeError`].
#[diagnostic::on_unimplemented(
    message = "a value of `{Self}` cannot be sent as bytes",
    label = "does not implement `Payload`",
    note = "for your own type, use `#[derive(graphmap_runtime::Payload)]`",
    note = "wrap a type of another crate in your own: `graphmap_runtime::payload!(Type by write, \
            read)`"
)]
pub trait Payload: Sized {
    /// The size in bytes, if it is the same for all values. If it is `None`, every value must have
    /// at least one byte.
    const SIZE: Option<usize> = None;

    /// Returns the number of bytes that [`encode`](Self::encode) writes.
    fn size(&self) -> usize;

    /// Writes the bytes of the value to an encoder.
    fn encode<'a>(&'a self, to: &mut Encoder<'a>);

    /// Reads a value. Must not panic for any bytes.
    ///
    /// # Errors
    /// The bytes are not a valid value, or too few bytes are left.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// Returns the number of bytes that [`encode_all`](Self::encode_all) writes.
    fn size_all(all: &[Self]) -> usize {
        match Self::SIZE {
            Some(size) => size.max(1).saturating_mul(all.len()),
            None => all.iter().map(Self::size).sum(),
        }
    }

    /// Writes the bytes of several values, by default one after the other. Numbers are written as
    /// one block of memory. A value of a type whose `SIZE` is 0 takes one byte, so that the number
    /// of values is never greater than the number of bytes.
    fn encode_all<'a>(all: &'a [Self], to: &mut Encoder<'a>) {
        for one in all {
            one.encode(to);
            if Self::SIZE == Some(0) {
                to.copy(&[0]);
            }
        }
    }

    /// Reads `count` values that [`encode_all`](Self::encode_all) wrote.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode), and if too few bytes are left for `count` values.
    fn decode_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut all = Vec::with_capacity(from.room_for::<Self>(count, Self::SIZE)?);
        for _ in 0..count {
            all.push(decode_one(from)?);
        }
        Ok(all)
    }

    /// Reads an array that [`encode_all`](Self::encode_all) wrote.
    ///
    /// # Errors
    /// As for [`decode_all`](Self::decode_all), and if that function returns another number of
    /// values than `N`.
    fn decode_array<const N: usize>(from: &mut Decoder<'_>) -> Result<[Self; N], DecodeError> {
        let all = Self::decode_all(N, from)?;
        // A user's implementation of `decode_all` may return another number of values.
        <[Self; N]>::try_from(all).map_err(|_| from.error("the right number of values"))
    }
}

/// Reads one of several values. If the `SIZE` of the type is 0, also reads the byte that
/// [`Payload::encode_all`] adds to each value.
///
/// # Errors
/// As for [`Payload::decode`], and if the added byte is missing or not 0.
fn decode_one<T: Payload>(from: &mut Decoder<'_>) -> Result<T, DecodeError> {
    let one = T::decode(from)?;
    if T::SIZE == Some(0) && from.take::<1>()? != [0] {
        return Err(from.error("a value without bytes"));
    }
    Ok(one)
}

#[cfg(test)]
mod tests;
