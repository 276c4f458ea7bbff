//! Datatypes of Fortran by their precision, and by their size (MPI-5.0, section 19.1.9).

use std::ffi::c_int;
use std::rc::Rc;

use super::Type;
use super::recipe::Combiner;
use super::{Recipe, predefined};
use crate::abi::{Datatype, UNDEFINED};
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::rank::Part as _;
use crate::rank::Rank;

const TYPECLASS_INTEGER: c_int = 192;
const TYPECLASS_REAL: c_int = 193;
const TYPECLASS_COMPLEX: c_int = 194;

const REAL: Datatype = Datatype(0x21a);
const COMPLEX: Datatype = Datatype(0x21b);
const DOUBLE_PRECISION: Datatype = Datatype(0x21c);
const DOUBLE_COMPLEX: Datatype = Datatype(0x21d);
const INTEGER1: Datatype = Datatype(0x2c1);
const INTEGER2: Datatype = Datatype(0x2c9);
const REAL2: Datatype = Datatype(0x2ca);
const INTEGER4: Datatype = Datatype(0x2d1);
const REAL4: Datatype = Datatype(0x2d2);
const COMPLEX4: Datatype = Datatype(0x2d3);
const INTEGER8: Datatype = Datatype(0x2d9);
const REAL8: Datatype = Datatype(0x2da);
const COMPLEX8: Datatype = Datatype(0x2db);
const INTEGER16: Datatype = Datatype(0x2e1);
const REAL16: Datatype = Datatype(0x2e2);
const COMPLEX16: Datatype = Datatype(0x2e3);
const COMPLEX32: Datatype = Datatype(0x2eb);

/// Real types with their decimal precision and exponent range, and the complex types of them.
const REALS: [(c_int, c_int, Datatype, Datatype); 3] = [
    (6, 37, REAL, COMPLEX),
    (15, 307, DOUBLE_PRECISION, DOUBLE_COMPLEX),
    (33, 4931, REAL16, COMPLEX32),
];

/// Integer types with their decimal range.
const INTEGERS: [(c_int, Datatype); 5] = [
    (2, INTEGER1),
    (4, INTEGER2),
    (9, INTEGER4),
    (18, INTEGER8),
    (38, INTEGER16),
];

/// Returns the smallest real type of a precision and range, and the complex type of it. One of both
/// may be undefined.
fn real(precision: c_int, range: c_int) -> Done<(Datatype, Datatype)> {
    if (precision, range) == (UNDEFINED, UNDEFINED) {
        return fail!(Arg, "the precision and the range are undefined");
    }
    let enough = |wanted: c_int, has: c_int| wanted == UNDEFINED || wanted <= has;
    let found = REALS
        .into_iter()
        .find(|&(p, r, ..)| enough(precision, p) && enough(range, r));
    match found {
        Some((_, _, real, complex)) => Ok((real, complex)),
        None => fail!(
            Arg,
            "no real type has precision {precision} and range {range}"
        ),
    }
}

/// Returns the datatype of a call. The same arguments give the same handle.
fn create(this: &Rank, combiner: Combiner, arguments: &[c_int], equal: Datatype) -> Done<Datatype> {
    let key = (
        combiner as c_int,
        arguments[0],
        *arguments.get(1).unwrap_or(&0),
    );
    if let Some(&known) = Datatypes::of(this).f90.borrow().get(&key) {
        return Ok(known);
    }
    let of = Datatypes::of(this).any(equal)?;
    let recipe = Recipe::new(combiner).numbers(arguments);
    let mut new = Type::duplicate(&of, recipe)?;
    new.named = of.named;
    let new = Rc::new(new);
    let handle = Datatypes::of(this).add(Rc::clone(&new), true)?;
    new.permanent.get_or_init(|| handle);
    Datatypes::of(this).f90.borrow_mut().insert(key, handle);
    Ok(handle)
}

/// Returns the datatype of a class and size.
fn match_size(class: c_int, size: c_int) -> Done<Datatype> {
    let types: &[Datatype] = match class {
        TYPECLASS_INTEGER => &[INTEGER1, INTEGER2, INTEGER4, INTEGER8, INTEGER16],
        TYPECLASS_REAL => &[REAL2, REAL4, REAL8, REAL16],
        TYPECLASS_COMPLEX => &[COMPLEX4, COMPLEX8, COMPLEX16, COMPLEX32],
        _ => return fail!(Arg, "the class {class} of datatypes does not exist"),
    };
    let mut of = types.iter().copied();
    let has =
        |handle: &Datatype| predefined(*handle).is_some_and(|of| of.size as i64 == size.into());
    match of.find(has) {
        Some(found) => Ok(found),
        None => fail!(Arg, "no datatype of this class has {size} bytes"),
    }
}

export! {
    fn MPI_Type_create_f90_real(
        precision: c_int, range: c_int, new: *mut Datatype,
    ) on World => |this| {
        let (equal, _) = real(precision, range)?;
        new.write(create(this, Combiner::F90Real, &[precision, range], equal)?);
        Ok(())
    };
    fn MPI_Type_create_f90_complex(
        precision: c_int, range: c_int, new: *mut Datatype,
    ) on World => |this| {
        let (_, equal) = real(precision, range)?;
        new.write(create(this, Combiner::F90Complex, &[precision, range], equal)?);
        Ok(())
    };
    fn MPI_Type_create_f90_integer(range: c_int, new: *mut Datatype) on World => |this| {
        let Some((_, equal)) = INTEGERS.into_iter().find(|&(has, _)| range <= has) else {
            return fail!(Other, "no integer type has range {range}");
        };
        new.write(create(this, Combiner::F90Integer, &[range], equal)?);
        Ok(())
    };
    fn MPI_Type_match_size(class: c_int, size: c_int, datatype: *mut Datatype) on World => |_| {
        datatype.write(match_size(class, size)?);
        Ok(())
    };
}
