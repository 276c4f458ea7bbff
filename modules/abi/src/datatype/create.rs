//! Creation of datatypes (MPI-5.0, section 5.1.2).

use std::ffi::c_int;
use std::rc::Rc;

use super::recipe::Combiner;
use super::{Bounds, Copies, Type, too_large};
use super::{Recipe, predefined};
use crate::abi::{Aint, Datatype};
use crate::attribute::Attributes;
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::export::Number;
use crate::rank::Part as _;
use crate::rank::Rank;

/// Returns a count.
///
/// # Errors
/// [`Class::Count`](crate::error::Class::Count) if it is negative.
pub(super) fn count<C: Number>(count: C) -> Done<usize> {
    match usize::try_from(count.get()) {
        Ok(count) => Ok(count),
        Err(_) => fail!(Count, "the count {} is negative", count.get()),
    }
}

/// Returns a distance of elements in bytes.
fn bytes<C: Number>(distance: C, of: &Type) -> Done<isize> {
    let bytes = (distance.get() as isize).checked_mul(of.extent);
    bytes.ok_or_else(too_large)
}

/// Returns the arguments of an array.
///
/// # Errors
/// [`Class::Arg`](crate::error::Class::Arg) if the pointer is null and the count is not 0.
///
/// # Safety
/// The pointer must be null or point to `count` values.
pub(super) unsafe fn array<'a, T>(from: *const T, count: usize) -> Done<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if from.is_null() {
        return fail!(Arg, "an array of {count} values is null");
    }
    // SAFETY: the pointer points to `count` values.
    Ok(unsafe { std::slice::from_raw_parts(from, count) })
}

impl Rank {
    /// Adds a type and writes its handle.
    ///
    /// # Safety
    /// The pointer must be null or valid for writing.
    pub(super) unsafe fn add_type(&self, new: *mut Datatype, layout: Type) -> Done {
        if new.is_null() {
            return fail!(Arg, "the pointer to the new datatype is null");
        }
        let handle = Datatypes::of(self).add(Rc::new(layout), false)?;
        // SAFETY: the pointer is valid.
        unsafe { new.write(handle) };
        Ok(())
    }
}

/// Creates a type of blocks of one type.
fn blocks<C: Number>(
    of: &Rc<Type>,
    lengths: impl Iterator<Item = C>,
    offsets: impl Iterator<Item = Done<isize>>,
    recipe: Recipe,
) -> Done<Type> {
    let copies = lengths.zip(offsets).map(|(blocklength, offset)| {
        let (count, offset) = (count(blocklength)?, offset?);
        Ok(Copies {
            of,
            offset,
            count,
            times: 1,
            step: 0,
        })
    });
    let copies: Done<Vec<_>> = copies.collect();
    Type::of(&copies?, recipe.of(of))
}

/// Creates a type of blocks at a regular distance in bytes.
fn vector<C: Number>(
    of: &Rc<Type>,
    (times, count): (C, C),
    step: isize,
    recipe: Recipe,
) -> Done<Type> {
    let (times, count) = (self::count(times)?, self::count(count)?);
    Type::of(
        &[Copies {
            of,
            offset: 0,
            count,
            times,
            step,
        }],
        recipe.of(of),
    )
}

/// Creates a type like a struct: its extent is a multiple of its alignment.
fn structure(copies: &[Copies<'_>], recipe: Recipe) -> Done<Type> {
    let mut new = Type::of(copies, recipe)?;
    let bounds = &mut new.bounds;
    if !bounds.is_lower_set && !bounds.is_upper_set {
        let align = bounds.align as isize;
        let beyond = new.extent % align;
        if beyond > 0 {
            bounds.upper = bounds
                .upper
                .checked_add(align - beyond)
                .ok_or_else(too_large)?;
            new.extent = bounds.upper - bounds.lower;
            new.is_contiguous = false;
        }
    }
    Ok(new)
}

impl Type {
    /// Creates a type with the data of another, and bounds that are set explicitly.
    pub(super) fn resized(
        of: &Rc<Type>,
        lower: isize,
        extent: isize,
        recipe: Recipe,
    ) -> Done<Type> {
        let bounds = Bounds {
            lower,
            upper: lower.checked_add(extent).ok_or_else(too_large)?,
            is_lower_set: true,
            is_upper_set: true,
            ..of.bounds
        };
        Type::with(of.layout.clone(), bounds, vec![(1, Rc::clone(of))], recipe)
    }

    /// Creates a copy of a type.
    pub(super) fn duplicate(of: &Rc<Type>, recipe: Recipe) -> Done<Type> {
        Type::with(
            of.layout.clone(),
            of.bounds,
            vec![(1, Rc::clone(of))],
            recipe,
        )
    }
}

export! {
    fn MPI_Type_contiguous, MPI_Type_contiguous_c<C>(
        number: C, old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let recipe = Recipe::new(Combiner::Contiguous).number(number).of(&of);
        let copies = Copies { of: &of, offset: 0, count: count(number)?, times: 1, step: 0 };
        this.add_type(new, Type::of(&[copies], recipe)?)
    };
    fn MPI_Type_vector, MPI_Type_vector_c<C>(
        number: C, blocklength: C, stride: C, old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let recipe = Recipe::new(Combiner::Vector).numbers(&[number, blocklength, stride]);
        this.add_type(new, vector(&of, (number, blocklength), bytes(stride, &of)?, recipe)?)
    };
    fn MPI_Type_create_hvector, MPI_Type_create_hvector_c<C>(
        number: C, blocklength: C, stride: Aint, old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let recipe = Recipe::new(Combiner::Hvector).numbers(&[number, blocklength]);
        let recipe = recipe.places::<C>(&[stride]);
        this.add_type(new, vector(&of, (number, blocklength), stride, recipe)?)
    };
    fn MPI_Type_indexed, MPI_Type_indexed_c<C>(
        number: C, lengths: *const C, displacements: *const C, old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let (of, count) = (Datatypes::of(this).any(old)?, count(number)?);
        let (lengths, displacements) = (array(lengths, count)?, array(displacements, count)?);
        let recipe = Recipe::new(Combiner::Indexed).number(number);
        let recipe = recipe.numbers(lengths).numbers(displacements);
        let offsets = displacements.iter().map(|&at| bytes(at, &of));
        this.add_type(new, blocks(&of, lengths.iter().copied(), offsets, recipe)?)
    };
    fn MPI_Type_create_hindexed, MPI_Type_create_hindexed_c<C>(
        number: C, lengths: *const C, displacements: *const Aint, old: Datatype,
        new: *mut Datatype,
    ) on World => |this| {
        let (of, count) = (Datatypes::of(this).any(old)?, count(number)?);
        let (lengths, displacements) = (array(lengths, count)?, array(displacements, count)?);
        let recipe = Recipe::new(Combiner::Hindexed).number(number);
        let recipe = recipe.numbers(lengths).places::<C>(displacements);
        let offsets = displacements.iter().map(|&at| Ok(at));
        this.add_type(new, blocks(&of, lengths.iter().copied(), offsets, recipe)?)
    };
    fn MPI_Type_create_indexed_block, MPI_Type_create_indexed_block_c<C>(
        number: C, blocklength: C, displacements: *const C, old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let (of, count) = (Datatypes::of(this).any(old)?, count(number)?);
        self::count(blocklength)?;
        let displacements = array(displacements, count)?;
        let recipe = Recipe::new(Combiner::IndexedBlock).numbers(&[number, blocklength]);
        let recipe = recipe.numbers(displacements);
        let offsets = displacements.iter().map(|&at| bytes(at, &of));
        this.add_type(new, blocks(&of, std::iter::repeat(blocklength), offsets, recipe)?)
    };
    fn MPI_Type_create_hindexed_block, MPI_Type_create_hindexed_block_c<C>(
        number: C, blocklength: C, displacements: *const Aint, old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let (of, count) = (Datatypes::of(this).any(old)?, count(number)?);
        self::count(blocklength)?;
        let displacements = array(displacements, count)?;
        let recipe = Recipe::new(Combiner::HindexedBlock).numbers(&[number, blocklength]);
        let recipe = recipe.places::<C>(displacements);
        let offsets = displacements.iter().map(|&at| Ok(at));
        this.add_type(new, blocks(&of, std::iter::repeat(blocklength), offsets, recipe)?)
    };
    fn MPI_Type_create_struct, MPI_Type_create_struct_c<C>(
        number: C, lengths: *const C, displacements: *const Aint, types: *const Datatype,
        new: *mut Datatype,
    ) on World => |this| {
        let count = count(number)?;
        let (lengths, displacements) = (array(lengths, count)?, array(displacements, count)?);
        for &blocklength in lengths {
            self::count(blocklength)?;
        }
        let types = array(types, count)?.iter().map(|&of| Datatypes::of(this).any(of));
        let types: Vec<_> = types.collect::<Done<_>>()?;
        let mut recipe = Recipe::new(Combiner::Struct).number(number);
        recipe = recipe.numbers(lengths).places::<C>(displacements);
        let copies = types.iter().zip(lengths).zip(displacements);
        let copies = copies.map(|((of, &blocklength), &offset)| {
            Ok(Copies { of, offset, count: self::count(blocklength)?, times: 1, step: 0 })
        });
        let copies: Vec<_> = copies.collect::<Done<_>>()?;
        recipe.types = types.clone();
        this.add_type(new, structure(&copies, recipe)?)
    };
    fn MPI_Type_create_resized(
        old: Datatype, lower: Aint, extent: Aint, new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let recipe = Recipe::new(Combiner::Resized).places::<c_int>(&[lower, extent]).of(&of);
        this.add_type(new, Type::resized(&of, lower, extent, recipe)?)
    };
    fn MPI_Type_create_resized_c(
        old: Datatype, lower: i64, extent: i64, new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let recipe = Recipe::new(Combiner::Resized).numbers(&[lower, extent]).of(&of);
        this.add_type(new, Type::resized(&of, lower as isize, extent as isize, recipe)?)
    };
    fn MPI_Type_commit(datatype: *mut Datatype) on World => |this| {
        if datatype.is_null() {
            return fail!(Arg, "the pointer to the datatype is null");
        }
        if predefined(*datatype).is_some() {
            return Ok(());
        }
        match Datatypes::of(this).table.borrow_mut().get_mut((*datatype).0) {
            Some(entry) => entry.is_committed = true,
            None => return crate::rank::invalid(
                crate::error::Class::Type, "datatype", (*datatype).0,
            ),
        }
        Ok(())
    };
    fn MPI_Type_free(datatype: *mut Datatype) on World => |this| {
        if datatype.is_null() {
            return fail!(Arg, "the pointer to the datatype is null");
        }
        let handle = *datatype;
        if Datatypes::of(this).any(handle)?.permanent.get() == Some(&handle) {
            return fail!(Type, "the datatype {:#x} is predefined and cannot be freed", handle.0);
        }
        Attributes::of(this).delete_type(handle)?;
        let entry = Datatypes::of(this).table.borrow_mut().remove(handle.0);
        // A type may contain many others. The table is not borrowed while they are dropped.
        drop(entry);
        Datatypes::of(this).names.borrow_mut().remove(&handle);
        datatype.write(Datatype::NULL);
        Ok(())
    };
    fn MPI_Type_dup(old: Datatype, new: *mut Datatype) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        if new.is_null() {
            return fail!(Arg, "the pointer to the new datatype is null");
        }
        let copy = Type::duplicate(&of, Recipe::new(Combiner::Dup).of(&of))?;
        let is_committed = Datatypes::of(this).get(old).is_ok();
        let handle = Datatypes::of(this).add(Rc::new(copy), is_committed)?;
        if let Err(fail) = Attributes::of(this).copy_type(old, handle) {
            Datatypes::of(this).table.borrow_mut().remove(handle.0);
            return Err(fail);
        }
        new.write(handle);
        Ok(())
    };
}
