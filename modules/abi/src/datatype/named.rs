//! Predefined datatypes.

use crate::abi::Datatype;

/// Representation of a number in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// `long double`.
    Long,
    /// IEEE quadruple precision, or `long double` if the compiler has no other type of this size.
    F128,
}

impl Number {
    /// Returns the size in bytes, which is also the alignment.
    pub(crate) const fn size(self) -> usize {
        match self {
            Number::I8 | Number::U8 => 1,
            Number::I16 | Number::U16 | Number::F16 => 2,
            Number::I32 | Number::U32 | Number::F32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
            Number::I128 | Number::Long | Number::F128 => 16,
        }
    }
}

/// Kind of a predefined datatype, which determines the operations that are defined for it (MPI-5.0,
/// section 6.9.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Integer of C, or of several languages.
    Integer(Number),
    /// Integer of Fortran.
    Fortran(Number),
    Real(Number),
    /// Complex number of two numbers.
    Complex(Number),
    Logical(Number),
    Byte,
    /// Character, or packed data.
    Text(Number),
    /// Value and index.
    Pair(Number, Number),
}

/// Predefined datatype.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) handle: Datatype,
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
}

impl Named {
    /// Returns the number of bytes of the data.
    pub(crate) const fn size(&self) -> usize {
        match self.kind {
            Kind::Integer(number)
            | Kind::Fortran(number)
            | Kind::Real(number)
            | Kind::Logical(number)
            | Kind::Text(number) => number.size(),
            Kind::Complex(number) => 2 * number.size(),
            Kind::Byte => 1,
            Kind::Pair(value, index) => value.size() + index.size(),
        }
    }

    /// Returns the alignment in bytes.
    pub(super) fn align(&self) -> usize {
        match self.kind {
            Kind::Complex(number) => number.size(),
            Kind::Pair(value, index) => value.size().max(index.size()),
            _ => self.size(),
        }
    }
}

pub(super) const LONG: Datatype = Datatype(0x20a);
pub(super) const UNSIGNED_LONG: Datatype = Datatype(0x20e);
pub(super) const LONG_INT: Datatype = Datatype(0x22a);
pub(super) const WCHAR: Datatype = Datatype(0x23c);

macro_rules! named {
    ($($handle:literal $name:literal $kind:ident($($number:ident),*))*) => {
        pub(super) const LIST: &[Named] = &[$(Named {
            handle: Datatype($handle),
            name: concat!("MPI_", $name),
            kind: named!(@kind $kind($($number),*)),
        }),*];
    };
    (@kind Byte()) => { Kind::Byte };
    (@kind $kind:ident($($number:ident),*)) => { Kind::$kind($(Number::$number),*) };
}

named! {
    0x201 "AINT" Integer(I64)
    0x202 "COUNT" Integer(I64)
    0x203 "OFFSET" Integer(I64)
    0x207 "PACKED" Text(U8)
    0x208 "SHORT" Integer(I16)
    0x209 "INT" Integer(I32)
    0x20a "LONG" Integer(I64)
    0x20b "LONG_LONG_INT" Integer(I64)
    0x20c "UNSIGNED_SHORT" Integer(U16)
    0x20d "UNSIGNED" Integer(U32)
    0x20e "UNSIGNED_LONG" Integer(U64)
    0x20f "UNSIGNED_LONG_LONG" Integer(U64)
    0x210 "FLOAT" Real(F32)
    0x212 "C_COMPLEX" Complex(F32)
    0x213 "CXX_FLOAT_COMPLEX" Complex(F32)
    0x214 "DOUBLE" Real(F64)
    0x216 "C_DOUBLE_COMPLEX" Complex(F64)
    0x217 "CXX_DOUBLE_COMPLEX" Complex(F64)
    0x218 "LOGICAL" Logical(I32)
    0x219 "INTEGER" Fortran(I32)
    0x21a "REAL" Real(F32)
    0x21b "COMPLEX" Complex(F32)
    0x21c "DOUBLE_PRECISION" Real(F64)
    0x21d "DOUBLE_COMPLEX" Complex(F64)
    0x21e "CHARACTER" Text(U8)
    0x220 "LONG_DOUBLE" Real(Long)
    0x224 "C_LONG_DOUBLE_COMPLEX" Complex(Long)
    0x225 "CXX_LONG_DOUBLE_COMPLEX" Complex(Long)
    0x228 "FLOAT_INT" Pair(F32, I32)
    0x229 "DOUBLE_INT" Pair(F64, I32)
    0x22a "LONG_INT" Pair(I64, I32)
    0x22b "2INT" Pair(I32, I32)
    0x22c "SHORT_INT" Pair(I16, I32)
    0x22d "LONG_DOUBLE_INT" Pair(Long, I32)
    0x230 "2REAL" Pair(F32, F32)
    0x231 "2DOUBLE_PRECISION" Pair(F64, F64)
    0x232 "2INTEGER" Pair(I32, I32)
    0x238 "C_BOOL" Logical(I8)
    0x239 "CXX_BOOL" Logical(I8)
    0x23c "WCHAR" Text(U32)
    0x240 "INT8_T" Integer(I8)
    0x241 "UINT8_T" Integer(U8)
    0x243 "CHAR" Integer(I8)
    0x244 "SIGNED_CHAR" Integer(I8)
    0x245 "UNSIGNED_CHAR" Integer(U8)
    0x247 "BYTE" Byte()
    0x248 "INT16_T" Integer(I16)
    0x249 "UINT16_T" Integer(U16)
    0x250 "INT32_T" Integer(I32)
    0x251 "UINT32_T" Integer(U32)
    0x258 "INT64_T" Integer(I64)
    0x259 "UINT64_T" Integer(U64)
    0x2c0 "LOGICAL1" Logical(I8)
    0x2c1 "INTEGER1" Fortran(I8)
    0x2c8 "LOGICAL2" Logical(I16)
    0x2c9 "INTEGER2" Fortran(I16)
    0x2ca "REAL2" Real(F16)
    0x2d0 "LOGICAL4" Logical(I32)
    0x2d1 "INTEGER4" Fortran(I32)
    0x2d2 "REAL4" Real(F32)
    0x2d3 "COMPLEX4" Complex(F16)
    0x2d8 "LOGICAL8" Logical(I64)
    0x2d9 "INTEGER8" Fortran(I64)
    0x2da "REAL8" Real(F64)
    0x2db "COMPLEX8" Complex(F32)
    0x2e0 "LOGICAL16" Logical(I128)
    0x2e1 "INTEGER16" Fortran(I128)
    0x2e2 "REAL16" Real(F128)
    0x2e3 "COMPLEX16" Complex(F64)
    0x2eb "COMPLEX32" Complex(F128)
}
