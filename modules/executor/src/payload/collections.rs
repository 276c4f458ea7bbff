//! Collections: the number of elements, and then each element.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::rc::Rc;
use std::sync::Arc;

use super::{DecodeError, Decoder, Encoder, Payload, decode_one};

impl<T: Payload> Payload for Vec<T> {
    fn size(&self) -> usize {
        Encoder::size_of_length(self.len()) + T::size_all(self)
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.length(self.len());
        T::encode_all(self, to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let count = from.length()?;
        from.within(|from| T::decode_all(count, from))
    }
}

/// Types that are created from a vector and dereference to a slice.
macro_rules! slices {
    ($($type:ident)*) => { $(
        impl<T: Payload> Payload for $type<[T]> {
            fn size(&self) -> usize {
                Encoder::size_of_length(self.len()) + T::size_all(self)
            }

            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                to.length(self.len());
                T::encode_all(self, to);
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                Vec::decode(from).map(Self::from)
            }
        }
    )* };
}

slices! { Box Rc Arc }

/// Text: its bytes, which must be UTF-8.
macro_rules! texts {
    ($($type:ty)*) => { $(
        impl Payload for $type {
            fn size(&self) -> usize {
                Encoder::size_of_length(self.len()) + self.len()
            }

            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                to.length(self.len());
                to.bytes(self.as_bytes());
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                let count = from.length()?;
                let bytes = u8::decode_all(count, from)?;
                let text = String::from_utf8(bytes).map_err(|_| from.error("UTF-8"))?;
                Ok(text.into())
            }
        }
    )* };
}

texts! { String Box<str> Rc<str> Arc<str> Cow<'static, str> }

/// The number of elements, and then each element. `$insert` returns false for a duplicate key.
macro_rules! one_by_one {
    ($($type:ty, [$($of:tt)*], $item:ty, $value:ident => $bytes:expr, $insert:expr;)*) => { $(
        impl<$($of)*> Payload for $type {
            fn size(&self) -> usize {
                let each = |$value: <&Self as IntoIterator>::Item| $bytes.max(1);
                Encoder::size_of_length(self.len()) + self.into_iter().map(each).sum::<usize>()
            }

            fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
                to.length(self.len());
                for value in self {
                    Entry::encode_entry(value, to);
                }
            }

            fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
                let count = from.length()?;
                from.room_for::<$item>(count, <$item>::SIZE)?;
                from.within(|from| {
                    let mut all = Self::default();
                    for _ in 0..count {
                        let one = decode_one::<$item>(from)?;
                        let insert: fn(&mut Self, $item) -> bool = $insert;
                        if !insert(&mut all, one) {
                            return Err(from.error("unique keys"));
                        }
                    }
                    Ok(all)
                })
            }
        }
    )* };
}

/// The item that an iterator over a collection returns.
trait Entry<'a> {
    fn encode_entry(self, to: &mut Encoder<'a>);
}

impl<'a, T: Payload> Entry<'a> for &'a T {
    fn encode_entry(self, to: &mut Encoder<'a>) {
        T::encode_all(std::slice::from_ref(self), to);
    }
}

impl<'a, K: Payload, V: Payload> Entry<'a> for (&'a K, &'a V) {
    fn encode_entry(self, to: &mut Encoder<'a>) {
        self.0.encode(to);
        self.1.encode(to);
        if <(K, V)>::SIZE == Some(0) {
            to.copy(&[0]);
        }
    }
}

one_by_one! {
    VecDeque<T>, [T: Payload], T, one => one.size(), |all, one| { all.push_back(one); true };
    BinaryHeap<T>, [T: Payload + Ord], T, one => one.size(), |all, one| { all.push(one); true };
    BTreeSet<T>, [T: Payload + Ord], T, one => one.size(), |all, one| all.insert(one);
    HashSet<T, S>, [T: Payload + Eq + Hash, S: BuildHasher + Default], T,
        one => one.size(), |all, one| all.insert(one);
    BTreeMap<K, V>, [K: Payload + Ord, V: Payload], (K, V),
        one => (one.0.size() + one.1.size()), |all, one| all.insert(one.0, one.1).is_none();
    HashMap<K, V, S>, [K: Payload + Eq + Hash, V: Payload, S: BuildHasher + Default], (K, V),
        one => (one.0.size() + one.1.size()), |all, one| all.insert(one.0, one.1).is_none();
}
