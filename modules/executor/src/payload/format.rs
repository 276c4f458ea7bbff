//! The payload of a type as a value, for code that does not know whether the type has one.

use std::marker::PhantomData;

use super::gather::{Pieces, Slice, WORTH};
use super::{DecodeError, Decoder, Encoder, Payload};

/// The encoding of tokens of a type: its [`Payload`] as a value. [`format_of!`](crate::format_of!)
/// returns it.
pub struct Format<T> {
    #[doc(hidden)]
    pub size: fn(&T) -> usize,
    #[doc(hidden)]
    pub encode: for<'a> fn(&'a T, &mut Encoder<'a>),
    #[doc(hidden)]
    pub decode: fn(&mut Decoder<'_>) -> Result<T, DecodeError>,
    /// True if no value has slices that are worth gathering.
    #[doc(hidden)]
    pub is_small: bool,
}

impl<T: Payload> Format<T> {
    /// Returns the format of a payload.
    pub const fn new() -> Self {
        Format {
            size: T::size,
            encode: T::encode,
            decode: T::decode,
            is_small: matches!(T::SIZE, Some(..WORTH)),
        }
    }
}

impl<T> Format<T> {
    /// Writes all bytes of a value into a buffer, whose previous contents are discarded, and
    /// returns that buffer.
    #[inline]
    #[doc(hidden)]
    pub fn bytes_into(&self, value: &T, buffer: Vec<u8>) -> Vec<u8> {
        let mut encoder = Encoder::with_buffer(buffer);
        (self.encode)(value, &mut encoder);
        encoder.into_buffer()
    }

    /// Returns the bytes of a value in pieces, some of them in a buffer whose previous contents are
    /// discarded.
    ///
    /// # Errors
    /// Returns only the buffer, with undefined contents, if `seeks` is true and a slice of the
    /// value is large.
    #[inline]
    #[doc(hidden)]
    pub fn gather<'a>(
        &self,
        value: &'a T,
        buffer: Vec<u8>,
        seeks: bool,
    ) -> Result<Pieces<'a>, Vec<u8>> {
        let mut encoder = Encoder::gathering(buffer, seeks);
        (self.encode)(value, &mut encoder);
        encoder.into_gather()
    }

    /// Returns the bytes of a value without its slices of at least `least` bytes, and these slices
    /// in order. Slices of less than 1 KiB are never left out.
    #[doc(hidden)]
    pub fn slices<'a>(&self, value: &'a T, least: usize) -> (Vec<u8>, Vec<Slice<'a>>) {
        let mut encoder = Encoder::leaving(least);
        (self.encode)(value, &mut encoder);
        encoder.into_slices()
    }
}

impl<T: Payload> Default for Format<T> {
    fn default() -> Self {
        Format::new()
    }
}

impl<T> Clone for Format<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Format<T> {}

impl<T> std::fmt::Debug for Format<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = std::any::type_name::<T>();
        f.debug_tuple("Format").field(&name).finish()
    }
}

/// Used by [`format_of!`](crate::format_of!) and [`default_of!`](crate::default_of!).
#[derive(Debug)]
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    /// Creates a value on which the macros call a method.
    #[expect(clippy::new_without_default, reason = "for a macro alone")]
    pub const fn new() -> Self {
        Probe(PhantomData)
    }
}

/// `format` for the probe of a payload. Method resolution finds it before the method of
/// [`Unknown`], because it needs no further reference.
pub trait Known<T> {
    /// Returns the format of the type, which is never `None`.
    fn format(&self) -> Option<Format<T>>;
}

impl<T: Payload> Known<T> for Probe<T> {
    fn format(&self) -> Option<Format<T>> {
        Some(Format::new())
    }
}

/// `format` for the probe of any type.
pub trait Unknown<T> {
    /// Returns `None`.
    fn format(&self) -> Option<Format<T>>;
}

impl<T> Unknown<T> for &Probe<T> {
    fn format(&self) -> Option<Format<T>> {
        None
    }
}

/// `default_maker` for the probe of a type with a default. Method resolution finds it before the
/// method of [`Undefaulted`], because it needs no further reference.
pub trait Defaulted<T> {
    /// Returns the function that makes the default, which is never `None`.
    fn default_maker(&self) -> Option<fn() -> T>;
}

impl<T: Default> Defaulted<T> for Probe<T> {
    fn default_maker(&self) -> Option<fn() -> T> {
        Some(T::default)
    }
}

/// `default_maker` for the probe of any type.
pub trait Undefaulted<T> {
    /// Returns `None`.
    fn default_maker(&self) -> Option<fn() -> T>;
}

impl<T> Undefaulted<T> for &Probe<T> {
    fn default_maker(&self) -> Option<fn() -> T> {
        None
    }
}
