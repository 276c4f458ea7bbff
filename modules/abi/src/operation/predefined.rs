//! Predefined operations.

use crate::abi::Op;
use crate::datatype::{Kind, Number};

/// Combines packed elements: stores `left` op `right` in `right`. Elements that one of them lacks
/// stay unchanged.
pub(super) type Combine = fn(&[u8], &mut [u8]);

/// Returns true if the handle is of a predefined operation.
pub(super) fn is_predefined(op: Op) -> bool {
    (Op::SUM.0..=Op::NO_OP.0).contains(&op.0)
}

/// Returns the predefined operation for a kind of datatypes, or `None` if it is not defined.
pub(super) fn combine(op: Op, kind: Kind) -> Option<Combine> {
    match kind {
        Kind::Integer(number) => integer(op, number).or_else(|| logical(op, number)),
        Kind::Fortran(number) => integer(op, number),
        Kind::Real(Number::F16) => real::<Half>(op),
        Kind::Real(Number::F32) => real::<f32>(op),
        Kind::Real(Number::F64) => real::<f64>(op),
        Kind::Real(Number::Long) => real::<Long>(op),
        Kind::Real(Number::F128) => real::<Quad>(op),
        Kind::Complex(Number::F16) => complex::<Half>(op),
        Kind::Complex(Number::F32) => complex::<f32>(op),
        Kind::Complex(Number::F64) => complex::<f64>(op),
        Kind::Complex(Number::Long) => complex::<Long>(op),
        Kind::Complex(Number::F128) => complex::<Quad>(op),
        Kind::Logical(number) => logical(op, number),
        Kind::Byte => bits::<u8>(op),
        Kind::Pair(Number::F32, Number::I32) => pair::<f32, i32>(op),
        Kind::Pair(Number::F64, Number::I32) => pair::<f64, i32>(op),
        Kind::Pair(Number::I64, Number::I32) => pair::<i64, i32>(op),
        Kind::Pair(Number::I32, Number::I32) => pair::<i32, i32>(op),
        Kind::Pair(Number::I16, Number::I32) => pair::<i16, i32>(op),
        Kind::Pair(Number::Long, Number::I32) => pair::<Long, i32>(op),
        Kind::Pair(Number::F32, Number::F32) => pair::<f32, f32>(op),
        Kind::Pair(Number::F64, Number::F64) => pair::<f64, f64>(op),
        Kind::Real(_) | Kind::Complex(_) | Kind::Pair(..) | Kind::Text(_) => None,
    }
}

fn integer(op: Op, number: Number) -> Option<Combine> {
    macro_rules! of {
        ($type:ty) => {
            real::<$type>(op).or_else(|| bits::<$type>(op))
        };
    }
    match number {
        Number::I8 => of!(i8),
        Number::I16 => of!(i16),
        Number::I32 => of!(i32),
        Number::I64 => of!(i64),
        Number::I128 => of!(i128),
        Number::U8 => of!(u8),
        Number::U16 => of!(u16),
        Number::U32 => of!(u32),
        Number::U64 => of!(u64),
        Number::F16 | Number::F32 | Number::F64 | Number::Long | Number::F128 => None,
    }
}

fn logical(op: Op, number: Number) -> Option<Combine> {
    match number.size() {
        1 => truth::<i8>(op),
        2 => truth::<i16>(op),
        4 => truth::<i32>(op),
        8 => truth::<i64>(op),
        16 => truth::<i128>(op),
        _ => None,
    }
}

/// A value that is stored in a number of bytes without alignment.
trait Value: Copy {
    const SIZE: usize;

    /// Reads a value from `SIZE` bytes.
    fn read(from: &[u8]) -> Self;

    /// Writes a value to `SIZE` bytes.
    fn write(self, to: &mut [u8]);
}

#[inline(always)]
fn each<T: Value>(left: &[u8], right: &mut [u8], op: impl Fn(T, T) -> T) {
    let left = left.chunks_exact(T::SIZE);
    for (left, right) in left.zip(right.chunks_exact_mut(T::SIZE)) {
        op(T::read(left), T::read(right)).write(right);
    }
}

/// A number. Integers wrap around.
trait Arithmetic: Value {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn is_less(self, other: Self) -> bool;
}

/// A number that has a negative and can be subtracted.
trait Signed: Arithmetic {
    fn minus(self, other: Self) -> Self;
}

trait Bits: Value {
    const ZERO: Self;
    const ONE: Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_true(self) -> bool;
}

fn real<T: Arithmetic>(op: Op) -> Option<Combine> {
    Some(match op {
        Op::SUM => |left, right| each(left, right, T::plus),
        Op::PROD => |left, right| each(left, right, T::times),
        Op::MIN => |left, right| each(left, right, |a: T, b: T| if b.is_less(a) { b } else { a }),
        Op::MAX => |left, right| each(left, right, |a: T, b: T| if a.is_less(b) { b } else { a }),
        _ => return None,
    })
}

fn bits<T: Bits>(op: Op) -> Option<Combine> {
    Some(match op {
        Op::BAND => |left, right| each(left, right, T::and),
        Op::BOR => |left, right| each(left, right, T::or),
        Op::BXOR => |left, right| each(left, right, T::xor),
        _ => return None,
    })
}

fn truth<T: Bits>(op: Op) -> Option<Combine> {
    fn of<T: Bits>(value: bool) -> T {
        if value { T::ONE } else { T::ZERO }
    }
    Some(match op {
        Op::LAND => |left, right| each(left, right, |a: T, b: T| of(a.is_true() & b.is_true())),
        Op::LOR => |left, right| each(left, right, |a: T, b: T| of(a.is_true() | b.is_true())),
        Op::LXOR => |left, right| each(left, right, |a: T, b: T| of(a.is_true() ^ b.is_true())),
        _ => return None,
    })
}

/// Two values in a row: a complex number, or a value and its index.
impl<A: Value, B: Value> Value for (A, B) {
    const SIZE: usize = A::SIZE + B::SIZE;

    #[inline(always)]
    fn read(from: &[u8]) -> Self {
        let (first, second) = from.split_at(A::SIZE);
        (A::read(first), B::read(second))
    }

    #[inline(always)]
    fn write(self, to: &mut [u8]) {
        let (first, second) = to.split_at_mut(A::SIZE);
        self.0.write(first);
        self.1.write(second);
    }
}

fn complex<T: Signed>(op: Op) -> Option<Combine> {
    Some(match op {
        Op::SUM => |left, right| {
            each(left, right, |a: (T, T), b: (T, T)| {
                (a.0.plus(b.0), a.1.plus(b.1))
            });
        },
        Op::PROD => |left, right| {
            each(left, right, |(a, b): (T, T), (c, d): (T, T)| {
                let real = a.times(c).minus(b.times(d));
                (real, a.times(d).plus(b.times(c)))
            });
        },
        _ => return None,
    })
}

fn pair<T: Arithmetic, I: Arithmetic>(op: Op) -> Option<Combine> {
    fn first<T: Copy, I: Arithmetic>(a: (T, I), b: (T, I)) -> (T, I) {
        (a.0, if b.1.is_less(a.1) { b.1 } else { a.1 })
    }
    Some(match op {
        Op::MINLOC => |left, right| {
            each(left, right, |a: (T, I), b: (T, I)| {
                if a.0.is_less(b.0) {
                    a
                } else if b.0.is_less(a.0) {
                    b
                } else {
                    first(a, b)
                }
            });
        },
        Op::MAXLOC => |left, right| {
            each(left, right, |a: (T, I), b: (T, I)| {
                if b.0.is_less(a.0) {
                    a
                } else if a.0.is_less(b.0) {
                    b
                } else {
                    first(a, b)
                }
            });
        },
        _ => return None,
    })
}

macro_rules! values {
    ($($type:ident)*) => {$(
        impl Value for $type {
            const SIZE: usize = size_of::<$type>();

            #[inline(always)]
            fn read(from: &[u8]) -> Self {
                let mut bytes = [0; size_of::<$type>()];
                bytes.copy_from_slice(from);
                $type::from_ne_bytes(bytes)
            }

            #[inline(always)]
            fn write(self, to: &mut [u8]) {
                to.copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}

macro_rules! integers {
    ($($type:ident)*) => {$(
        impl Arithmetic for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
        }

        impl Bits for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;

            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }

            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }

            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline(always)]
            fn is_true(self) -> bool {
                self != 0
            }
        }
    )*};
}

macro_rules! floats {
    ($($type:ident)*) => {$(
        impl Arithmetic for $type {
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn is_less(self, other: Self) -> bool {
                self < other
            }
        }

        impl Signed for $type {
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
        }
    )*};
}

values!(i8 i16 i32 i64 i128 u8 u16 u32 u64 f32 f64);
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64);
floats!(f32 f64);

/// Number in IEEE half precision. Single precision has more than twice its bits, so a result that
/// is rounded from there is exact.
#[derive(Clone, Copy)]
struct Half(f32);

impl Half {
    fn from_bits(bits: u16) -> Self {
        let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
        let (exponent, fraction) = (bits >> 10 & 0x1f, f32::from(bits & 0x3ff));
        let magnitude = match exponent {
            0 => fraction * 2f32.powi(-24),
            0x1f if fraction == 0.0 => f32::INFINITY,
            0x1f => f32::NAN,
            _ => (1024.0 + fraction) * 2f32.powi(i32::from(exponent) - 25),
        };
        Half(sign * magnitude)
    }

    fn to_bits(self) -> u16 {
        let sign = (self.0.to_bits() >> 31 << 15) as u16;
        let magnitude = self.0.abs();
        if magnitude.is_nan() {
            return sign | 0x7e00;
        }
        if magnitude >= 65520.0 {
            return sign | 0x7c00;
        }
        let exponent = ((magnitude.to_bits() >> 23) as i32 - 127).max(-14);
        // From 0 to 2048 in units of the last digit. A carry increases the exponent.
        let units = (magnitude * 2f32.powi(10 - exponent)).round_ties_even() as u16;
        sign | (((exponent + 14) as u16) << 10).wrapping_add(units)
    }
}

impl Value for Half {
    const SIZE: usize = 2;

    fn read(from: &[u8]) -> Self {
        Half::from_bits(u16::read(from))
    }

    fn write(self, to: &mut [u8]) {
        self.to_bits().write(to);
    }
}

impl Arithmetic for Half {
    fn plus(self, other: Self) -> Self {
        Half(self.0 + other.0)
    }

    fn times(self, other: Self) -> Self {
        Half(self.0 * other.0)
    }

    fn is_less(self, other: Self) -> bool {
        self.0 < other.0
    }
}

impl Signed for Half {
    fn minus(self, other: Self) -> Self {
        Half(self.0 - other.0)
    }
}

/// `long double`.
#[cfg(target_arch = "x86_64")]
type Long = Extended;
#[cfg(not(target_arch = "x86_64"))]
type Long = Quad;

/// Number in the extended precision of x86, in the first 10 of 16 bytes.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Extended([u8; 16]);

#[cfg(target_arch = "x86_64")]
impl Value for Extended {
    const SIZE: usize = 16;

    fn read(from: &[u8]) -> Self {
        Extended(u128::from_ne_bytes(from.try_into().unwrap_or_default()).to_ne_bytes())
    }

    fn write(self, to: &mut [u8]) {
        to.copy_from_slice(&self.0);
    }
}

/// Runs an instruction of the x87 on two numbers.
#[cfg(target_arch = "x86_64")]
macro_rules! x87 {
    ($instruction:literal, $left:expr, $right:expr) => {{
        let (left, right, mut result) = ($left, $right, Extended([0; 16]));
        // SAFETY: the instructions read and write 10 bytes of the numbers. All registers of the x87
        // are clobbered, so its stack is empty before, and it is empty again after `fstp`.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                concat!($instruction, " st(1), st"),
                "fstp tbyte ptr [{result}]",
                left = in(reg) &raw const left,
                right = in(reg) &raw const right,
                result = in(reg) &raw mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        result
    }};
}

#[cfg(target_arch = "x86_64")]
impl Arithmetic for Extended {
    fn plus(self, other: Self) -> Self {
        x87!("faddp", self, other)
    }

    fn times(self, other: Self) -> Self {
        x87!("fmulp", self, other)
    }

    fn is_less(self, other: Self) -> bool {
        let is_above: u8;
        // SAFETY: as in `x87!`.
        unsafe {
            std::arch::asm!(
                "fld tbyte ptr [{left}]",
                "fld tbyte ptr [{right}]",
                "fcomip st, st(1)",
                "fstp st(0)",
                "seta {is_above}",
                left = in(reg) &raw const self,
                right = in(reg) &raw const other,
                is_above = out(reg_byte) is_above,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        is_above != 0
    }
}

#[cfg(target_arch = "x86_64")]
impl Signed for Extended {
    fn minus(self, other: Self) -> Self {
        x87!("fsubp", self, other)
    }
}

/// Number in IEEE quadruple precision, as it is passed in a register.
#[cfg(target_arch = "x86_64")]
type Register = std::arch::x86_64::__m128i;
#[cfg(target_arch = "aarch64")]
type Register = std::arch::aarch64::uint8x16_t;

// Functions of the compiler's runtime library, declared without arguments because foreign functions
// with vectors are unstable.
unsafe extern "C" {
    fn __addtf3();
    fn __subtf3();
    fn __multf3();
    fn __lttf2();
}

// A vector has the ABI of a foreign type, although the lint does not know it.
#[allow(improper_ctypes_definitions)]
type Binary = extern "C" fn(Register, Register) -> Register;
/// Returns a negative number if the first number is less.
#[allow(improper_ctypes_definitions)]
type Compare = extern "C" fn(Register, Register) -> std::ffi::c_int;

/// Returns a function of the compiler's runtime library.
macro_rules! library {
    ($name:ident, $type:ty) => {{
        let function: unsafe extern "C" fn() = $name;
        // SAFETY: the function has this type, because `__float128` and a vector of 16 bytes are
        // passed alike.
        unsafe { std::mem::transmute::<unsafe extern "C" fn(), $type>(function) }
    }};
}

#[derive(Clone, Copy)]
struct Quad(Register);

impl Value for Quad {
    const SIZE: usize = 16;

    fn read(from: &[u8]) -> Self {
        assert_eq!(from.len(), Self::SIZE);
        // SAFETY: `from` has the size of a register, of which all bits are valid.
        Quad(unsafe { from.as_ptr().cast::<Register>().read_unaligned() })
    }

    fn write(self, to: &mut [u8]) {
        assert_eq!(to.len(), Self::SIZE);
        // SAFETY: `to` has the size of a register.
        unsafe { to.as_mut_ptr().cast::<Register>().write_unaligned(self.0) };
    }
}

impl Arithmetic for Quad {
    fn plus(self, other: Self) -> Self {
        Quad(library!(__addtf3, Binary)(self.0, other.0))
    }

    fn times(self, other: Self) -> Self {
        Quad(library!(__multf3, Binary)(self.0, other.0))
    }

    fn is_less(self, other: Self) -> bool {
        library!(__lttf2, Compare)(self.0, other.0) < 0
    }
}

impl Signed for Quad {
    fn minus(self, other: Self) -> Self {
        Quad(library!(__subtf3, Binary)(self.0, other.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(op: Op, kind: Kind, left: &[u8], right: &[u8]) -> Vec<u8> {
        let mut result = right.to_vec();
        combine(op, kind).unwrap()(left, &mut result);
        result
    }

    #[test]
    fn half_precision_is_converted_exactly() {
        for bits in 0..=u16::MAX {
            let is_nan = bits & 0x7fff > 0x7c00;
            assert!(
                is_nan || Half::from_bits(bits).to_bits() == bits,
                "{bits:x}"
            );
        }
        assert_eq!(Half(65519.0).to_bits(), 0x7bff);
        assert_eq!(Half(65520.0).to_bits(), 0x7c00);
        assert_eq!(Half(2f32.powi(-25)).to_bits(), 0);
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn long_numbers_are_computed_in_their_precision() {
        // 1, 2 and 3 in extended and in quadruple precision.
        let extended = [
            0x3fff << 64 | 1 << 63,
            0x4000 << 64 | 1 << 63,
            0x4000 << 64 | 3 << 62,
        ];
        let quad = [0x3fff << 112, 0x4000 << 112, 0x4000 << 112 | 1 << 111];
        for (number, values) in [(Number::Long, extended), (Number::F128, quad)] {
            let [one, two, three] = values.map(u128::to_le_bytes);
            let kind = Kind::Real(number);
            assert_eq!(apply(Op::SUM, kind, &one, &two), three);
            assert_eq!(apply(Op::PROD, kind, &three, &one), three);
            assert_eq!(apply(Op::MAX, kind, &one, &two), two);
            assert_eq!(apply(Op::MIN, kind, &two, &one), one);
        }
    }

    #[test]
    fn equal_values_have_the_smaller_index() {
        let kind = Kind::Pair(Number::I16, Number::I32);
        let (left, right) = ([7, 0, 5, 0, 0, 0], [7, 0, 3, 0, 0, 0]);
        assert_eq!(apply(Op::MAXLOC, kind, &left, &right), right);
        assert_eq!(apply(Op::MINLOC, kind, &right, &left), right);
    }

    #[test]
    fn operations_are_defined_for_kinds() {
        assert!(combine(Op::BAND, Kind::Real(Number::F64)).is_none());
        assert!(combine(Op::LAND, Kind::Fortran(Number::I32)).is_none());
        assert!(combine(Op::LAND, Kind::Integer(Number::I32)).is_some());
        assert!(combine(Op::MIN, Kind::Complex(Number::F32)).is_none());
        assert!(combine(Op::SUM, Kind::Text(Number::U8)).is_none());
        assert!(combine(Op::REPLACE, Kind::Integer(Number::I32)).is_none());
    }
}
