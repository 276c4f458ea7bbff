//! Questions about datatypes, and their names (MPI-5.0, sections 5.1.5 to 5.1.14 and 7.8).

use std::ffi::{CStr, c_char, c_int};
use std::rc::Rc;

use super::predefined;
use super::recipe::Combiner;
use super::{Recipe, Type};
use crate::abi::{Aint, Count, Datatype, MAX_OBJECT_NAME, UNDEFINED};
use crate::arguments::{put, write_text};
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::rank::Part as _;
use crate::rank::Rank;

/// Returns a handle of a type in the contents of another. Handles of derived types are new.
fn handle_of(this: &Rank, of: &Rc<Type>) -> Done<Datatype> {
    match of.permanent.get() {
        Some(&handle) => Ok(handle),
        None => Datatypes::of(this).add(Rc::clone(of), true),
    }
}

fn check_room(count: usize, room: Count, what: &str) -> Done {
    if room < count as Count {
        return fail!(Other, "an array of {room} {what} has no room for {count}");
    }
    Ok(())
}

/// Copies a list to an array that has room for `room` values.
///
/// # Safety
/// The array must have room for `room` values.
unsafe fn copy<T: Copy>(from: &[T], room: Count, to: *mut T, what: &str) -> Done {
    check_room(from.len(), room, what)?;
    if !from.is_empty() {
        // SAFETY: the array has room for the list.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
    }
    Ok(())
}

/// Writes the contents of a type. `rooms` are the lengths of the arrays.
///
/// # Safety
/// The arrays must have room for as many values as the arguments say.
unsafe fn contents(
    this: &Rank,
    datatype: Datatype,
    rooms: [Count; 4],
    integers: *mut c_int,
    addresses: *mut Aint,
    counts: *mut Count,
    types: *mut Datatype,
) -> Done {
    let of = Datatypes::of(this).any(datatype)?;
    let Some(recipe) = &of.recipe else {
        return fail!(
            Type,
            "the datatype {:#x} is predefined and has no contents",
            datatype.0
        );
    };
    let [of_integers, of_addresses, of_counts, of_types] = rooms;
    check_room(recipe.types.len(), of_types, "datatypes")?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        copy(&recipe.integers, of_integers, integers, "integers")?;
        copy(&recipe.addresses, of_addresses, addresses, "addresses")?;
        copy(&recipe.counts, of_counts, counts, "large counts")?;
        for (at, of) in recipe.types.iter().enumerate() {
            types.add(at).write(handle_of(this, of)?);
        }
    }
    Ok(())
}

/// Returns the number of values of each kind in the contents of a type, and its combiner.
fn envelope(of: &Type) -> ([Count; 4], Combiner) {
    let none = Recipe::default();
    let recipe = of.recipe.as_ref().unwrap_or(&none);
    let numbers = [
        recipe.integers.len() as Count,
        recipe.addresses.len() as Count,
        recipe.counts.len() as Count,
        recipe.types.len() as Count,
    ];
    (numbers, recipe.combiner)
}

/// Pairs of predefined datatypes of a value and an index: value, index, pair.
const PAIRS: [(usize, usize, usize); 9] = [
    (0x210, 0x209, 0x228),
    (0x214, 0x209, 0x229),
    (0x20a, 0x209, 0x22a),
    (0x209, 0x209, 0x22b),
    (0x208, 0x209, 0x22c),
    (0x220, 0x209, 0x22d),
    (0x21a, 0x21a, 0x230),
    (0x21c, 0x21c, 0x231),
    (0x219, 0x219, 0x232),
];

export! {
    fn MPI_Type_size(datatype: Datatype, size: *mut c_int) on World => |this| {
        let bytes = Datatypes::of(this).any(datatype)?.size;
        size.write(c_int::try_from(bytes).unwrap_or(UNDEFINED));
        Ok(())
    };
    fn MPI_Type_size_c(datatype: Datatype, size: *mut Count) on World => |this| {
        size.write(Datatypes::of(this).any(datatype)?.size as Count);
        Ok(())
    };
    fn MPI_Type_size_x(datatype: Datatype, size: *mut Count) on World => |this| {
        size.write(Datatypes::of(this).any(datatype)?.size as Count);
        Ok(())
    };
    fn MPI_Type_get_extent(
        datatype: Datatype, lower: *mut Aint, extent: *mut Aint,
    ) on World => |this| get_extent(this, datatype, lower, extent);
    fn MPI_Type_get_extent_c(
        datatype: Datatype, lower: *mut Aint, extent: *mut Aint,
    ) on World => |this| get_extent(this, datatype, lower, extent);
    fn MPI_Type_get_extent_x(
        datatype: Datatype, lower: *mut Aint, extent: *mut Aint,
    ) on World => |this| get_extent(this, datatype, lower, extent);
    // MPI-3.0 removed these three functions.
    fn MPI_Type_extent(datatype: Datatype, extent: *mut Aint) on World => |this| {
        put(extent, Datatypes::of(this).any(datatype)?.extent)
    };
    fn MPI_Type_lb(datatype: Datatype, lower: *mut Aint) on World => |this| {
        put(lower, Datatypes::of(this).any(datatype)?.bounds.lower)
    };
    fn MPI_Type_ub(datatype: Datatype, upper: *mut Aint) on World => |this| {
        put(upper, Datatypes::of(this).any(datatype)?.bounds.upper)
    };
    fn MPI_Type_get_true_extent(
        datatype: Datatype, lower: *mut Aint, extent: *mut Aint,
    ) on World => |this| get_true_extent(this, datatype, lower, extent);
    fn MPI_Type_get_true_extent_c(
        datatype: Datatype, lower: *mut Aint, extent: *mut Aint,
    ) on World => |this| get_true_extent(this, datatype, lower, extent);
    fn MPI_Type_get_true_extent_x(
        datatype: Datatype, lower: *mut Aint, extent: *mut Aint,
    ) on World => |this| get_true_extent(this, datatype, lower, extent);
    fn MPI_Type_get_envelope(
        datatype: Datatype, integers: *mut c_int, addresses: *mut c_int, types: *mut c_int,
        combiner: *mut c_int,
    ) on World => |this| {
        let (numbers, by) = envelope(&*Datatypes::of(this).any(datatype)?);
        if numbers[2] > 0 {
            return fail!(Type, "the datatype {:#x} has large counts", datatype.0);
        }
        for (to, number) in [(integers, numbers[0]), (addresses, numbers[1]), (types, numbers[3])] {
            to.write(number as c_int);
        }
        combiner.write(by as c_int);
        Ok(())
    };
    fn MPI_Type_get_envelope_c(
        datatype: Datatype, integers: *mut Count, addresses: *mut Count, counts: *mut Count,
        types: *mut Count, combiner: *mut c_int,
    ) on World => |this| {
        let (numbers, by) = envelope(&*Datatypes::of(this).any(datatype)?);
        for (to, number) in [integers, addresses, counts, types].into_iter().zip(numbers) {
            to.write(number);
        }
        combiner.write(by as c_int);
        Ok(())
    };
    fn MPI_Type_get_contents(
        datatype: Datatype, of_integers: c_int, of_addresses: c_int, of_types: c_int,
        integers: *mut c_int, addresses: *mut Aint, types: *mut Datatype,
    ) on World => |this| {
        let rooms = [of_integers.into(), of_addresses.into(), 0, of_types.into()];
        let counts = std::ptr::null_mut();
        if envelope(&*Datatypes::of(this).any(datatype)?).0[2] > 0 {
            return fail!(Type, "the datatype {:#x} has large counts", datatype.0);
        }
        contents(this, datatype, rooms, integers, addresses, counts, types)
    };
    fn MPI_Type_get_contents_c(
        datatype: Datatype, of_integers: Count, of_addresses: Count, of_counts: Count,
        of_types: Count, integers: *mut c_int, addresses: *mut Aint, counts: *mut Count,
        types: *mut Datatype,
    ) on World => |this| {
        let rooms = [of_integers, of_addresses, of_counts, of_types];
        contents(this, datatype, rooms, integers, addresses, counts, types)
    };
    fn MPI_Type_get_value_index(
        value: Datatype, index: Datatype, datatype: *mut Datatype,
    ) on World => |this| {
        Datatypes::of(this).any(value)?;
        Datatypes::of(this).any(index)?;
        let found = PAIRS.iter().find(|pair| (pair.0, pair.1) == (value.0, index.0));
        datatype.write(found.map_or(Datatype::NULL, |pair| Datatype(pair.2)));
        Ok(())
    };
    fn MPI_Type_set_name(datatype: Datatype, name: *const c_char) on World => |this| {
        Datatypes::of(this).any(datatype)?;
        if name.is_null() {
            return fail!(Arg, "the name is null");
        }
        let name = CStr::from_ptr(name).to_bytes();
        if name.len() >= MAX_OBJECT_NAME {
            return fail!(Arg, "a name of {} characters is too long", name.len());
        }
        Datatypes::of(this).names.borrow_mut().insert(datatype, name.to_vec());
        Ok(())
    };
    fn MPI_Type_get_name(
        datatype: Datatype, name: *mut c_char, length: *mut c_int,
    ) on World => |this| {
        let names = Datatypes::of(this).names.borrow();
        let text = match names.get(&datatype) {
            Some(name) => name,
            None if datatype == Datatype::NULL => &b"MPI_DATATYPE_NULL"[..],
            None => {
                let named = predefined(datatype).and_then(|of| of.named);
                Datatypes::of(this).any(datatype)?;
                named.map_or(&b""[..], |named| named.name.as_bytes())
            }
        };
        write_text(text, MAX_OBJECT_NAME, name, length);
        Ok(())
    };
}

/// Writes the lower bound and the extent of a datatype.
///
/// # Safety
/// As for [`put`].
unsafe fn get_extent(this: &Rank, datatype: Datatype, lower: *mut Aint, extent: *mut Aint) -> Done {
    let of = Datatypes::of(this).any(datatype)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        put(lower, of.bounds.lower)?;
        put(extent, of.extent)
    }
}

/// Writes the true lower bound and the true extent of a datatype.
///
/// # Safety
/// As for [`put`].
unsafe fn get_true_extent(
    this: &Rank,
    datatype: Datatype,
    lower: *mut Aint,
    extent: *mut Aint,
) -> Done {
    let of = Datatypes::of(this).any(datatype)?;
    // SAFETY: guaranteed by the caller.
    unsafe {
        put(lower, of.bounds.true_lower)?;
        put(extent, of.bounds.true_upper - of.bounds.true_lower)
    }
}
