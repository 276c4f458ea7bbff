//! What messages are made of.

use std::fmt::Debug;

use mpi::traits::*;

/// A type of elements.
pub(crate) trait Element:
    Equivalence + Copy + Default + Debug + PartialEq + Send + Sync + 'static
{
    /// One of a hundred values, which all of these types have.
    fn of(number: u64) -> Self;
}

macro_rules! elements {
    ($($name:ident)*) => { $(impl Element for $name {
        fn of(number: u64) -> Self {
            (number % 100) as $name
        }
    })* };
}
elements!(u8 i16 u32 i32 i64 u64 f32 f64);

/// One that is only for what is defined for truths.
impl Element for bool {
    fn of(number: u64) -> Self {
        number % 2 == 1
    }
}

/// A function that is generic over its elements, for the type that a turn has.
macro_rules! by_element {
    ($function:ident($turn:ident)) => {
        match $turn.step.element {
            "u8" => $function::<u8>($turn),
            "i16" => $function::<i16>($turn),
            "u32" => $function::<u32>($turn),
            "i32" => $function::<i32>($turn),
            "i64" => $function::<i64>($turn),
            "u64" => $function::<u64>($turn),
            "f32" => $function::<f32>($turn),
            _ => $function::<f64>($turn),
        }
    };
}
pub(crate) use by_element;

/// The names of all.
pub(crate) const ELEMENTS: [&str; 8] = ["u8", "i16", "u32", "i32", "i64", "u64", "f32", "f64"];

/// Elements in a log: all, or of many a digest.
pub(crate) fn shown<T: Element>(elements: &[T]) -> String {
    if elements.len() <= 24 {
        return format!("{elements:?}");
    }
    let text = format!("{elements:?}");
    let digest = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    format!("{} elements of digest {digest:016x}", elements.len())
}
