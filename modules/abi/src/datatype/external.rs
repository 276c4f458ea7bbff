//! The data representation `external32`: big-endian, with fixed sizes (MPI-5.0, section 14.5.2).

use super::named::{self, Kind, Named, Number};
use crate::error::{Done, fail};

/// A value of a predefined type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value {
    /// Number of bytes in memory.
    pub(super) native: usize,
    /// Number of bytes in the representation.
    pub(super) external: usize,
    conversion: Conversion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    /// Only the order of the bytes differs.
    Order,
    /// The representation has only the lower bytes of the integer.
    Signed,
    /// The representation has only the lower bytes of the integer.
    Unsigned,
    /// The extended precision of x86, which is quadruple precision in the representation.
    Extended,
}

impl Value {
    fn of(number: Number) -> Self {
        let conversion = match number {
            Number::Long if cfg!(target_arch = "x86_64") => Conversion::Extended,
            _ => Conversion::Order,
        };
        Value::with(number.size(), number.size(), conversion)
    }

    fn with(native: usize, external: usize, conversion: Conversion) -> Self {
        Value {
            native,
            external,
            conversion,
        }
    }

    /// Appends the representation of a value.
    pub(super) fn encode(self, from: &[u8], to: &mut Vec<u8>) -> Done {
        let mut bytes = [0; 16];
        bytes[..self.native].copy_from_slice(from);
        let value = u128::from_le_bytes(bytes);
        let bits = 8 * self.external as u32;
        let (value, fits) = match self.conversion {
            // The bytes of `from` are in the order of the host.
            Conversion::Order if cfg!(target_endian = "big") => {
                to.extend_from_slice(from);
                return Ok(());
            }
            Conversion::Order => (value, true),
            Conversion::Signed => {
                let signed = value as i64;
                (value, signed == signed << (64 - bits) >> (64 - bits))
            }
            Conversion::Unsigned => (value, value >> bits == 0),
            Conversion::Extended => (quadruple(value), true),
        };
        if !fits {
            return fail!(Conversion, "the value does not fit {} bytes", self.external);
        }
        to.extend_from_slice(&value.to_be_bytes()[16 - self.external..]);
        Ok(())
    }

    /// Appends a value that is given in the representation.
    pub(super) fn decode(self, from: &[u8], to: &mut Vec<u8>) {
        let mut bytes = [0; 16];
        bytes[16 - self.external..].copy_from_slice(from);
        let value = u128::from_be_bytes(bytes);
        let bits = 8 * self.external as u32;
        let value = match self.conversion {
            Conversion::Order if cfg!(target_endian = "big") => return to.extend_from_slice(from),
            Conversion::Order | Conversion::Unsigned => value,
            Conversion::Signed => ((value as i128) << (128 - bits) >> (128 - bits)) as u128,
            Conversion::Extended => extended(value),
        };
        to.extend_from_slice(&value.to_le_bytes()[..self.native]);
    }
}

/// Converts a number from the extended precision of x86, which stores the first digit of the
/// fraction.
fn quadruple(extended: u128) -> u128 {
    let (sign, exponent) = (extended >> 79 & 1, extended >> 64 & 0x7fff);
    let mut fraction = extended & u128::from(u64::MAX);
    let mut exponent = exponent;
    // Denormalized numbers have the exponent of the smallest normalized ones in both.
    if exponent == 0 && fraction >> 63 == 1 {
        exponent = 1;
    }
    fraction = fraction << 49 & ((1 << 112) - 1);
    sign << 127 | exponent << 112 | fraction
}

/// Converts a number to the extended precision of x86, rounded to even.
fn extended(quadruple: u128) -> u128 {
    let (sign, exponent) = (quadruple >> 127, quadruple >> 112 & 0x7fff);
    let fraction = quadruple & ((1 << 112) - 1);
    let is_normal = exponent != 0;
    let digits = u128::from(is_normal) << 63 | fraction >> 49;
    let rest = fraction & ((1 << 49) - 1);
    let half = 1 << 48;
    let mut digits = match exponent {
        // Not a number: the payload must not become that of infinity.
        0x7fff if rest != 0 => digits | 1,
        0x7fff => digits,
        _ => digits + u128::from(rest > half || rest == half && digits & 1 == 1),
    };
    let mut exponent = exponent;
    if digits >> 64 == 1 {
        (digits, exponent) = (digits >> 1, exponent + 1);
    }
    if exponent == 0 && digits >> 63 == 1 {
        exponent = 1;
    }
    sign << 79 | exponent << 64 | digits
}

/// Returns the one or two values of a predefined type.
pub(super) fn values(named: &Named) -> (Value, Option<Value>) {
    let long = Value::with(8, 4, Conversion::Signed);
    match (named.handle, named.kind) {
        (named::LONG, _) => (long, None),
        (named::UNSIGNED_LONG, _) => (Value::with(8, 4, Conversion::Unsigned), None),
        (named::WCHAR, _) => (Value::with(4, 2, Conversion::Unsigned), None),
        (named::LONG_INT, _) => (long, Some(Value::of(Number::I32))),
        (_, Kind::Complex(part)) => (Value::of(part), Some(Value::of(part))),
        (_, Kind::Pair(value, index)) => (Value::of(value), Some(Value::of(index))),
        (_, Kind::Byte) => (Value::of(Number::U8), None),
        (
            _,
            Kind::Text(number)
            | Kind::Integer(number)
            | Kind::Fortran(number)
            | Kind::Real(number)
            | Kind::Logical(number),
        ) => (Value::of(number), None),
    }
}

/// Returns the number of bytes of a predefined type in the representation.
pub(super) fn size(named: &Named) -> usize {
    let (first, second) = values(named);
    first.external + second.map_or(0, |second| second.external)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extended_precision_is_converted() {
        // 1, the smallest denormalized number, infinity, and -1.5.
        for (x87, quad) in [
            (0x3fff << 64 | 1 << 63, 0x3fff << 112),
            (1, 1 << 49),
            (0x7fff << 64 | 1 << 63, 0x7fff << 112),
            (0xbfff << 64 | 3 << 62, 0xbfff << 112 | 1 << 111),
        ] {
            assert_eq!((quadruple(x87), extended(quad)), (quad, x87));
        }
        assert_eq!(
            extended(0x3fff << 112 | ((1 << 112) - 1)),
            0x4000 << 64 | 1 << 63
        );
    }
}
