//! Types that are neither numbers nor collections.

use std::cmp::Reverse;
use std::marker::PhantomData;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::{DecodeError, Decoder, Encoder, Payload};

/// Returns the sum of the sizes, or `None` if one of them is `None`, which means unknown.
const fn sum(sizes: &[Option<usize>]) -> Option<usize> {
    let (mut sum, mut at) = (0, 0);
    while at < sizes.len() {
        match sizes[at] {
            Some(size) => sum += size,
            None => return None,
        }
        at += 1;
    }
    Some(sum)
}

impl Payload for () {
    const SIZE: Option<usize> = Some(0);

    fn size(&self) -> usize {
        0
    }

    fn encode<'a>(&'a self, _to: &mut Encoder<'a>) {}

    fn decode(_from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

impl<T> Payload for PhantomData<T> {
    const SIZE: Option<usize> = Some(0);

    fn size(&self) -> usize {
        0
    }

    fn encode<'a>(&'a self, _to: &mut Encoder<'a>) {}

    fn decode(_from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(PhantomData)
    }
}

macro_rules! tuples {
    ($(($($of:ident $at:tt)+))*) => { $(
        impl<$($of: Payload),+> Payload for ($($of,)+) {
            const SIZE: Option<usize> = sum(&[$($of::SIZE),+]);

            #[inline]
            fn size(&self) -> usize {
                0 $(+ self.$at.size())+
            }

            #[inline]
            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                $(self.$at.encode(to);)+
            }

            #[inline]
            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Ok(($($of::decode(from)?,)+))
            }
        }
    )* };
}

tuples! {
    (A 0)
    (A 0 B 1)
    (A 0 B 1 C 2)
    (A 0 B 1 C 2 D 3)
    (A 0 B 1 C 2 D 3 E 4)
    (A 0 B 1 C 2 D 3 E 4 F 5)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6)
    (A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7)
}

impl<T: Payload, const N: usize> Payload for [T; N] {
    const SIZE: Option<usize> = match T::SIZE {
        // The same rule as in `encode_all`.
        Some(0) => Some(N),
        Some(size) => Some(size * N),
        None if N == 0 => Some(0),
        None => None,
    };

    fn size(&self) -> usize {
        T::size_all(self)
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        T::encode_all(self, to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode_array(from)
    }
}

impl<T: Payload> Payload for Option<T> {
    fn size(&self) -> usize {
        1 + self.as_ref().map_or(0, T::size)
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&[u8::from(self.is_some())]);
        if let Some(value) = self {
            value.encode(to);
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match from.take()? {
            [0] => Ok(None),
            [1] => T::decode(from).map(Some),
            _ => Err(from.error("an option")),
        }
    }
}

impl<T: Payload, E: Payload> Payload for Result<T, E> {
    fn size(&self) -> usize {
        1 + match self {
            Ok(value) => value.size(),
            Err(error) => error.size(),
        }
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&[u8::from(self.is_err())]);
        match self {
            Ok(value) => value.encode(to),
            Err(error) => error.encode(to),
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        match from.take()? {
            [0] => T::decode(from).map(Ok),
            [1] => E::decode(from).map(Err),
            _ => Err(from.error("a result")),
        }
    }
}

/// Types that contain one value of another type, and have its encoding.
macro_rules! around {
    ($($type:ident, $new:expr, $inner:expr;)*) => { $(
        impl<T: Payload> Payload for $type<T> {
            const SIZE: Option<usize> = T::SIZE;

            fn size(&self) -> usize {
                let inner: fn(&Self) -> &T = $inner;
                inner(self).size()
            }

            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                let inner: fn(&Self) -> &T = $inner;
                inner(self).encode(to);
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                from.within(T::decode).map($new)
            }
        }
    )* };
}

around! {
    Box, Box::new, |value| value;
    // The receiver gets a value of its own.
    Rc, Rc::new, |value| value;
    Arc, Arc::new, |value| value;
    Reverse, Reverse, |value| &value.0;
}

impl<T: Payload> Payload for Range<T> {
    const SIZE: Option<usize> = sum(&[T::SIZE, T::SIZE]);

    fn size(&self) -> usize {
        self.start.size() + self.end.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.start.encode(to);
        self.end.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(T::decode(from)?..T::decode(from)?)
    }
}

impl Payload for Duration {
    const SIZE: Option<usize> = Some(12);

    fn size(&self) -> usize {
        12
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.copy(&self.as_secs().to_ne_bytes());
        to.copy(&self.subsec_nanos().to_ne_bytes());
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let (seconds, nanos) = (u64::decode(from)?, u32::decode(from)?);
        if nanos >= 1_000_000_000 {
            return Err(from.error("fewer than 10^9 nanoseconds"));
        }
        Ok(Duration::new(seconds, nanos))
    }
}
