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
pub use format::{Known, Probe, Unknown};

/// A type whose values can be laid out as bytes and read back. Tokens need it to be counted in
/// bytes and to cross between OS processes.
///
/// Numbers, `bool`, `char`, strings, ranges, durations, and tuples, arrays, options, results, boxes
/// and collections of payloads implement it. Types of your own derive it, by the feature `derive`
/// of `graphmap-runtime`:
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
/// By hand, [`size`](Self::size) and [`encode`](Self::encode) must agree, and
/// [`decode`](Self::decode) must take exactly the bytes that `encode` gave. It must not trust them:
/// bytes that no value has are a [`DecodeError`].
#[diagnostic::on_unimplemented(
    message = "a value of `{Self}` cannot be sent as bytes",
    label = "does not implement `Payload`",
    note = "for your own type, use `#[derive(graphmap_runtime::Payload)]`",
    note = "wrap a type of another crate in your own: `graphmap_runtime::payload!(Type by write, \
            read)`"
)]
pub trait Payload: Sized {
    /// The size in bytes, where it is the same for all values. Where it is not, each has one at least.
    const SIZE: Option<usize> = None;

    /// How many bytes [`encode`](Self::encode) gives.
    fn size(&self) -> usize;

    /// Gives the bytes of the value to an encoder.
    fn encode<'a>(&'a self, to: &mut Encoder<'a>);

    /// Reads a value.
    ///
    /// # Errors
    /// The bytes are not those of a value.
    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError>;

    /// How many bytes [`encode_all`](Self::encode_all) gives.
    fn size_all(all: &[Self]) -> usize {
        match Self::SIZE {
            Some(size) => size.max(1).saturating_mul(all.len()),
            None => all.iter().map(Self::size).sum(),
        }
    }

    /// Gives the bytes of several values: one after the other, where the type does not know better.
    /// Numbers go as the memory they are in. A value without bytes takes one, so that how many there
    /// are is never more than there are bytes.
    fn encode_all<'a>(all: &'a [Self], to: &mut Encoder<'a>) {
        for one in all {
            one.encode(to);
            if Self::SIZE == Some(0) {
                to.copy(&[0]);
            }
        }
    }

    /// Reads so many values, as [`encode_all`](Self::encode_all) gave them.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    fn decode_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
        let mut all = Vec::with_capacity(from.room_for::<Self>(count, Self::SIZE)?);
        for _ in 0..count {
            all.push(decode_one(from)?);
        }
        Ok(all)
    }

    /// Reads an array, as [`encode_all`](Self::encode_all) gave it.
    ///
    /// # Errors
    /// As for [`decode`](Self::decode).
    fn decode_array<const N: usize>(from: &mut Decoder<'_>) -> Result<[Self; N], DecodeError> {
        let all = Self::decode_all(N, from)?;
        // `decode_all` of a type of the user's may do as it likes.
        <[Self; N]>::try_from(all).map_err(|_| from.error("the right number of values"))
    }
}

/// One value of several.
fn decode_one<T: Payload>(from: &mut Decoder<'_>) -> Result<T, DecodeError> {
    let one = T::decode(from)?;
    if T::SIZE == Some(0) && from.take::<1>()? != [0] {
        return Err(from.error("a value without bytes"));
    }
    Ok(one)
}

#[cfg(test)]
mod tests;
