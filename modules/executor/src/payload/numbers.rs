//! Numbers: their encoding is their memory, also for slices of numbers.

use std::mem::MaybeUninit;
use std::num::{NonZero, Wrapping};
use std::slice;

use super::{DecodeError, Decoder, Encoder, Payload};

/// Numbers for which any bytes are valid, and whose slices have no padding.
macro_rules! numbers {
    ($($number:ty)*) => { $(
        impl Payload for $number {
            const SIZE: Option<usize> = Some(size_of::<$number>());

            #[inline]
            fn size(&self) -> usize {
                size_of::<$number>()
            }

            #[inline]
            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                to.copy(&self.to_ne_bytes());
            }

            #[inline]
            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Ok(<$number>::from_ne_bytes(from.take()?))
            }

            fn encode_all<'a>(all: &'a [Self], to: &mut Encoder<'a>) {
                // SAFETY: numbers have no padding, so their memory may be read as bytes while it is
                // borrowed.
                let bytes = unsafe { slice::from_raw_parts(all.as_ptr().cast(), size_of_val(all)) };
                to.elements(bytes, align_of::<Self>());
            }

            fn decode_all(count: usize, from: &mut Decoder<'_>) -> Result<Vec<Self>, DecodeError> {
                from.room_for::<Self>(count, Self::SIZE)?;
                let bytes = count * size_of::<Self>();
                if let Some(start) = from.take_over(bytes, align_of::<Self>()) {
                    // SAFETY: the memory is from the global allocator, with exactly the size and
                    // alignment of `count` numbers. All of it is initialised, and any bytes are
                    // valid numbers.
                    return Ok(unsafe { Vec::from_raw_parts(start.as_ptr().cast(), count, count) });
                }
                let mut all = from.room::<$number>(count)?;
                let to = all.spare_capacity_mut().as_mut_ptr().cast::<MaybeUninit<u8>>();
                // SAFETY: the allocation has space for `count` numbers, which have exactly `bytes`
                // bytes.
                from.fill(unsafe { slice::from_raw_parts_mut(to, bytes) })?;
                // SAFETY: all of them were initialised, and any bytes are valid numbers.
                unsafe { all.set_len(count) };
                Ok(all)
            }

            fn decode_array<const N: usize>(
                from: &mut Decoder<'_>,
            ) -> Result<[Self; N], DecodeError> {
                let mut all = [<$number>::default(); N];
                let to = (&raw mut all).cast::<MaybeUninit<u8>>();
                // SAFETY: the slice is the memory of the array, which is borrowed as long. Any
                // bytes are valid numbers, and bytes that are not filled keep their values.
                from.fill(unsafe { slice::from_raw_parts_mut(to, size_of::<[Self; N]>()) })?;
                Ok(all)
            }
        }
    )* };
}

numbers! { u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64 }

/// Types that have a subset of the values of another type.
macro_rules! by_another {
    ($($type:ty, $of:ty, $what:literal, $to:expr, $back:expr;)*) => { $(
        impl Payload for $type {
            const SIZE: Option<usize> = <$of as Payload>::SIZE;

            #[inline]
            fn size(&self) -> usize {
                size_of::<$of>()
            }

            #[inline]
            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                let number: fn(&$type) -> $of = $to;
                to.copy(&number(self).to_ne_bytes());
            }

            #[inline]
            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                let value: fn($of) -> Option<$type> = $back;
                value(<$of>::decode(from)?).ok_or_else(|| from.error($what))
            }
        }
    )* };
}

by_another! {
    bool, u8, "a bool", |b| u8::from(*b), |n| match n { 0 => Some(false), 1 => Some(true), _ => None };
    char, u32, "a char", |c| u32::from(*c), char::from_u32;
    NonZero<u8>, u8, "a number other than 0", |n| n.get(), NonZero::new;
    NonZero<u16>, u16, "a number other than 0", |n| n.get(), NonZero::new;
    NonZero<u32>, u32, "a number other than 0", |n| n.get(), NonZero::new;
    NonZero<u64>, u64, "a number other than 0", |n| n.get(), NonZero::new;
    NonZero<usize>, usize, "a number other than 0", |n| n.get(), NonZero::new;
}

impl<T: Payload> Payload for Wrapping<T> {
    const SIZE: Option<usize> = T::SIZE;

    fn size(&self) -> usize {
        self.0.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.0.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        T::decode(from).map(Wrapping)
    }
}
