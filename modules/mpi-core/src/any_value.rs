//! Values of any type. The receiver names the type when it opens the value.

use std::any::type_name;
use std::borrow::Cow;
use std::fmt;

use super::erased::{Erased, HEAD, Unopened};
use super::error::Error;
use super::value::Value;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// A value of any type that can be sent. Ranks can use it to send values of different types in one
/// call: `alltoall` of these values is `MPI_Alltoallw`, and `alltoall` of
/// [`Neighbours`](super::Neighbours) is `MPI_Neighbor_alltoallw`. Within a scheduler, the value is
/// not copied. A message to another scheduler of the same OS process moves it, but a collective
/// call encodes it.
///
/// ```
/// use graphmap_runtime::{Local, Options, mpi};
/// use mpi::AnyValue;
///
/// async fn rank() -> Result<(), mpi::Error> {
///     let world = mpi::world()?;
///     // A text for rank 0, a number for each other.
///     let each = (0..world.size()).map(|to| match to {
///         0 => AnyValue::new(format!("from {}", world.rank())),
///         _ => AnyValue::new(world.rank()),
///     });
///     for (from, value) in world.alltoall(each.collect()).await?.into_iter().enumerate() {
///         match world.rank() {
///             0 => assert_eq!(value.open::<String>()?, format!("from {from}")),
///             _ => assert_eq!(value.open::<usize>()?, from),
///         }
///     }
///     Ok(())
/// }
///
/// let mut net = Local::new();
/// (0..3).for_each(|_| drop(net.spawn(rank())));
/// net.run(&Options::new()).unwrap();
/// ```
///
/// The type is `Send` but not `Sync`, because values need not be `Sync`:
///
/// ```compile_fail,E0277
/// fn shared<T: Sync>() {}
/// shared::<graphmap_runtime::mpi::AnyValue>();
/// ```
pub struct AnyValue {
    /// Name of the type of the value.
    name: Cow<'static, str>,
    value: Form,
}

enum Form {
    Value(Erased),
    /// Bytes from [`Erased::to_bytes`].
    Bytes(Vec<u8>),
}

impl fmt::Debug for AnyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnyValue").field(&self.name).finish()
    }
}

impl AnyValue {
    /// Wraps a value.
    pub fn new<T: Value>(value: T) -> Self {
        AnyValue {
            name: type_name::<T>().into(),
            value: Form::Value(Erased::one(value)),
        }
    }

    /// Returns the name of the type of the value, as [`std::any::type_name`] of its creator
    /// returned it.
    pub fn type_name(&self) -> &str {
        &self.name
    }

    /// Returns the value.
    ///
    /// # Errors
    /// [`Error::Type`] if the value is not a `T`. [`Error::Unreadable`] if the value was received
    /// as bytes that cannot be decoded. The value is dropped in both cases.
    pub fn open<T: Value>(self) -> Result<T, Error> {
        let AnyValue { name, value } = self;
        let value = match value {
            Form::Value(value) => Some(value),
            Form::Bytes(bytes) => Erased::wire(bytes),
        };
        match value.map(Erased::open::<T>) {
            Some(Ok(value)) => Ok(value),
            Some(Err(Unopened::Unreadable(error))) => Err(Error::Unreadable(error.to_string())),
            Some(Err(Unopened::Other(_))) => Err(Error::Type {
                sent: name,
                asked: type_name::<T>().into(),
            }),
            None => Err(Error::Unreadable("it is too short".into())),
        }
    }
}

impl Payload for AnyValue {
    fn size(&self) -> usize {
        let bytes = match &self.value {
            Form::Value(value) => HEAD + value.size(),
            Form::Bytes(bytes) => bytes.len(),
        };
        let name = Encoder::size_of_length(self.name.len()) + self.name.len();
        name + Encoder::size_of_length(bytes) + bytes
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        to.length(self.name.len());
        to.bytes(self.name.as_bytes());
        match &self.value {
            Form::Value(value) => {
                let bytes = value.to_bytes(Vec::with_capacity(HEAD + value.size()));
                to.length(bytes.len());
                to.copy(&bytes);
            }
            // The value was received as bytes and is forwarded without decoding.
            Form::Bytes(bytes) => {
                to.length(bytes.len());
                to.bytes(bytes);
            }
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(AnyValue {
            name: String::decode(from)?.into(),
            value: Form::Bytes(Vec::decode(from)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Forwards a value several times, and opens it with the right and with wrong types.
    #[test]
    fn any_value_opens_only_as_its_type() {
        let texts = || vec!["one".to_string(), "another".to_string()];
        let mut value = AnyValue::new(texts());
        for _ in 0..3 {
            let bytes = Encoder::to_vec(&value);
            assert_eq!(bytes.len(), Payload::size(&value));
            value = Decoder::from_slice(&bytes).unwrap();
            let again: AnyValue = Decoder::from_slice(&bytes).unwrap();
            assert_eq!(
                again.open::<u64>().unwrap_err().to_string(),
                "a message of type `alloc::vec::Vec<alloc::string::String>` was received as `u64`"
            );
        }
        assert_eq!(value.open::<Vec<String>>(), Ok(texts()));
        assert!(AnyValue::new(7u8).open::<i8>().is_err());
        let forged = AnyValue {
            name: "u8".into(),
            value: Form::Bytes(vec![0; 3]),
        };
        assert!(matches!(forged.open::<u8>(), Err(Error::Unreadable(_))));
    }
}
