//! Conversion of received type-erased values to values.

use super::erased::{Erased, Unopened, name};
use super::error::Error;
use super::state::World;
use super::value::Value;

/// Consumes an erased value, and returns the `T` in it. Returns [`Error::Type`] if its type is not
/// `T`, or [`Error::Unreadable`] if its bytes cannot be decoded.
pub(super) fn open<T: Value>(world: &World, value: Erased) -> Result<T, Error> {
    value.open().map_err(|unopened| match unopened {
        Unopened::Other(value) => Error::Type {
            sent: match value.type_name() {
                Ok(name) => name.into(),
                Err(number) => world.type_name(number).into(),
            },
            asked: name::<T>().into(),
        },
        Unopened::Unreadable(error) => Error::Unreadable(error.to_string()),
    })
}

/// Copies received elements, or one value, into the beginning of `room`. The rest of `room` is
/// unchanged. [`Error::Truncated`] if `room` is too small for all of them, after the first ones
/// were copied. Errors of [`open`] are also possible.
pub(super) fn unpack<T: Value + Copy>(
    world: &World,
    value: Erased,
    room: &mut [T],
) -> Result<(), Error> {
    let sent = value.count();
    let copied = sent.min(room.len());
    match value.open::<Vec<T>>() {
        Ok(values) => {
            // The count of encoded elements comes from the sender and may differ from their number.
            let copied = copied.min(values.len());
            room[..copied].copy_from_slice(&values[..copied]);
        }
        Err(Unopened::Unreadable(error)) => return Err(Error::Unreadable(error.to_string())),
        Err(Unopened::Other(value)) => {
            let value = open::<T>(world, value)?;
            room.iter_mut().take(1).for_each(|room| *room = value);
        }
    }
    match sent > room.len() {
        true => Err(Error::Truncated {
            sent,
            room: room.len(),
        }),
        false => Ok(()),
    }
}
