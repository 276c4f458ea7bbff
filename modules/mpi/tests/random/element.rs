//! Elements of messages.

use std::fmt::Debug;

use mpi::traits::*;

/// Type of elements.
pub(crate) trait Element:
    Equivalence + Copy + Default + Debug + PartialEq + Send + Sync + 'static
{
    /// Returns one of a hundred values, which all of these types have.
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

/// For logical operations only, so it is not in `ELEMENTS`.
impl Element for bool {
    fn of(number: u64) -> Self {
        number % 2 == 1
    }
}

/// Calls a function that is generic over elements, with the element type of a context.
macro_rules! by_element {
    ($function:ident($context:ident)) => {
        match $context.step.element {
            "u8" => $function::<u8>($context),
            "i16" => $function::<i16>($context),
            "u32" => $function::<u32>($context),
            "i32" => $function::<i32>($context),
            "i64" => $function::<i64>($context),
            "u64" => $function::<u64>($context),
            "f32" => $function::<f32>($context),
            _ => $function::<f64>($context),
        }
    };
}
pub(crate) use by_element;

/// Names of the element types of steps.
pub(crate) const ELEMENTS: [&str; 8] = ["u8", "i16", "u32", "i32", "i64", "u64", "f32", "f64"];

/// Formats elements for a log. Many elements become a digest.
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
