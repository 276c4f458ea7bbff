//! Datatypes for parts of arrays (MPI-5.0, sections 5.1.3 and 5.1.4).

use std::ffi::c_int;
use std::rc::Rc;

use super::Recipe;
use super::create::array;
use super::layout::Builder;
use super::recipe::Combiner;
use super::{Bounds, Type, too_large};
use crate::abi::Datatype;
use crate::datatype::Datatypes;
use crate::error::{Done, fail};
use crate::rank::Part as _;

const ORDER_C: c_int = 0xc;
const ORDER_FORTRAN: c_int = 0xf;
const DISTRIBUTE_NONE: c_int = 16;
const DISTRIBUTE_BLOCK: c_int = 17;
const DISTRIBUTE_CYCLIC: c_int = 18;
const DISTRIBUTE_DEFAULT: c_int = 19;

/// Blocks of one dimension of an array: the first at `start`, `times` at distances of `step`, and
/// a shorter one behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slices {
    start: usize,
    length: usize,
    times: usize,
    step: usize,
    rest: usize,
}

impl Slices {
    fn one(start: usize, length: usize) -> Self {
        Slices {
            start,
            length,
            times: 1,
            step: 0,
            rest: 0,
        }
    }

    /// Returns the blocks of `length` elements that process `at` of `of` has in a dimension of
    /// `size` elements.
    fn cyclic(size: usize, length: usize, at: usize, of: usize) -> Self {
        let (start, step) = (at * length, of * length);
        let rest = size.saturating_sub(start);
        let times = rest / step + usize::from(rest % step >= length);
        let behind = size.saturating_sub(start + times * step);
        Slices {
            start,
            length,
            times,
            step,
            rest: behind.min(length),
        }
    }

    fn count(&self) -> usize {
        self.length * self.times + self.rest
    }
}

/// Creates the type of a part of an array. Dimensions are sizes and slices. The dimension
/// of consecutive elements is first.
fn part(of: &Rc<Type>, dimensions: &[(usize, Slices)], recipe: Recipe) -> Done<Type> {
    let (mut layout, mut stride, mut count) = (of.layout.clone(), of.extent, 1usize);
    let (mut lower, mut upper) = (of.bounds.true_lower, of.bounds.true_upper);
    for &(size, slices) in dimensions {
        let large = isize::try_from(size).ok();
        let next = large
            .and_then(|size| size.checked_mul(stride))
            .ok_or_else(too_large)?;
        // The slices are within the dimension, so that these products do not overflow.
        let at = |index: usize| index as isize * stride;
        let (first, last) = (slices.start, last(slices));
        lower += at(first).min(at(last));
        upper += at(first).max(at(last));
        let mut slice = Builder::default();
        slice.add(&layout, 0, slices.length, stride);
        let mut all = Builder::default();
        all.add(
            &slice.build(),
            at(slices.start),
            slices.times,
            at(slices.step),
        );
        let behind = slices.start + slices.times * slices.step;
        all.add(&layout, at(behind), slices.rest, stride);
        layout = all.build();
        stride = next;
        count *= slices.count();
    }
    if count == 0 || of.size == 0 {
        (layout, lower, upper) = (Builder::default().build(), 0, 0);
    }
    let bounds = Bounds {
        lower: 0,
        upper: stride,
        is_lower_set: true,
        is_upper_set: true,
        true_lower: lower,
        true_upper: upper,
        align: of.bounds.align,
    };
    let parts: Vec<(usize, Rc<Type>)> = match count {
        0 => Vec::new(),
        count => vec![(count, Rc::clone(of))],
    };
    Type::with(layout, bounds, parts, recipe.of(of))
}

/// Returns the index of the last element of slices, or the start if they are empty.
fn last(slices: Slices) -> usize {
    let end = match (slices.rest, slices.times) {
        (0, 0) => slices.start + 1,
        (0, times) => slices.start + (times - 1) * slices.step + slices.length,
        (rest, times) => slices.start + times * slices.step + rest,
    };
    end.saturating_sub(1)
}

/// Returns true if dimensions are given in the order of C: elements of the last are consecutive.
fn is_c(order: c_int) -> Done<bool> {
    match order {
        ORDER_C => Ok(true),
        ORDER_FORTRAN => Ok(false),
        _ => fail!(Arg, "the order {order} of an array does not exist"),
    }
}

fn positive(value: i64, what: &str) -> Done<usize> {
    match usize::try_from(value) {
        Ok(value) if value > 0 => Ok(value),
        _ => fail!(Arg, "the {what} {value} is not positive"),
    }
}

/// Returns the slices of a process in a dimension.
fn distributed(
    size: usize,
    distribution: c_int,
    argument: c_int,
    (at, of): (usize, usize),
) -> Done<Slices> {
    let argument = match argument {
        DISTRIBUTE_DEFAULT => None,
        argument => Some(positive(argument.into(), "distribution argument")?),
    };
    match (distribution, argument) {
        (DISTRIBUTE_NONE, _) if of == 1 => Ok(Slices::one(0, size)),
        (DISTRIBUTE_NONE, _) => fail!(Arg, "a dimension of {of} processes is not distributed"),
        (DISTRIBUTE_BLOCK, argument) => {
            let length = argument.unwrap_or(size.div_ceil(of));
            if length.checked_mul(of).is_some_and(|all| all < size) {
                return fail!(
                    Arg,
                    "blocks of {length} on {of} processes are less than {size}"
                );
            }
            let start = length.saturating_mul(at).min(size);
            Ok(Slices::one(start, length.min(size - start)))
        }
        (DISTRIBUTE_CYCLIC, argument) => {
            // Longer blocks are not used, so that products do not overflow.
            let length = argument.unwrap_or(1).min(size);
            Ok(Slices::cyclic(size, length, at, of))
        }
        _ => fail!(Arg, "the distribution {distribution} does not exist"),
    }
}

export! {
    fn MPI_Type_create_subarray, MPI_Type_create_subarray_c<C>(
        number: c_int, sizes: *const C, subsizes: *const C, starts: *const C, order: c_int,
        old: Datatype, new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let count = positive(number.into(), "number of dimensions")?;
        let (sizes, subsizes) = (array(sizes, count)?, array(subsizes, count)?);
        let starts = array(starts, count)?;
        let recipe = Recipe::new(Combiner::Subarray).integer(number);
        let recipe = recipe.numbers(sizes).numbers(subsizes).numbers(starts).integer(order);
        let dimensions = (0..count).map(|at| {
            let size = positive(sizes[at].get(), "size")?;
            let (subsize, start) = (subsizes[at].get(), starts[at].get());
            // Programs use empty parts, although the standard demands an element.
            match (usize::try_from(subsize), usize::try_from(start)) {
                (Ok(subsize), Ok(start)) if subsize <= size && start <= size - subsize => {
                    Ok((size, Slices::one(start, subsize)))
                }
                _ => fail!(
                    Arg,
                    "{subsize} elements from {start} are not part of an array of {size} elements"
                ),
            }
        });
        let mut dimensions: Vec<_> = dimensions.collect::<Done<_>>()?;
        if is_c(order)? {
            dimensions.reverse();
        }
        this.add_type(new, part(&of, &dimensions, recipe)?)
    };
    fn MPI_Type_create_darray, MPI_Type_create_darray_c<C>(
        size: c_int, rank: c_int, number: c_int, sizes: *const C, distributions: *const c_int,
        arguments: *const c_int, processes: *const c_int, order: c_int, old: Datatype,
        new: *mut Datatype,
    ) on World => |this| {
        let of = Datatypes::of(this).any(old)?;
        let count = positive(number.into(), "number of dimensions")?;
        let ranks = positive(size.into(), "number of processes")?;
        let Some(rank_at) = usize::try_from(rank).ok().filter(|&rank| rank < ranks) else {
            return fail!(Arg, "rank {rank} is not one of {size} processes");
        };
        let (sizes, distributions) = (array(sizes, count)?, array(distributions, count)?);
        let (arguments, processes) = (array(arguments, count)?, array(processes, count)?);
        let mut recipe = Recipe::new(Combiner::Darray).numbers(&[size, rank, number]);
        recipe = recipe.numbers(sizes).numbers(distributions).numbers(arguments);
        recipe = recipe.numbers(processes).integer(order);
        // The processes are in the order of C.
        let (mut rest, mut all) = (rank_at, 1usize);
        let mut dimensions = Vec::new();
        for at in (0..count).rev() {
            let size = positive(sizes[at].get(), "size")?;
            let of = positive(processes[at].into(), "number of processes")?;
            let place = (rest % of, of);
            (rest, all) = (rest / of, all.saturating_mul(of));
            let slices = distributed(size, distributions[at], arguments[at], place)?;
            dimensions.push((size, slices));
        }
        if all != ranks {
            return fail!(Arg, "a grid of {all} processes was passed for {ranks} processes");
        }
        if !is_c(order)? {
            dimensions.reverse();
        }
        this.add_type(new, part(&of, &dimensions, recipe)?)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All processes together have each element of the dimension once.
    #[test]
    fn distributions_are_partitions() {
        for size in 1..30 {
            for of in 1..6 {
                for (distribution, argument) in [
                    (DISTRIBUTE_BLOCK, DISTRIBUTE_DEFAULT),
                    (DISTRIBUTE_CYCLIC, DISTRIBUTE_DEFAULT),
                    (DISTRIBUTE_CYCLIC, 2),
                    (DISTRIBUTE_CYCLIC, 3),
                    (DISTRIBUTE_BLOCK, 30),
                ] {
                    let mut seen = vec![0; size];
                    for at in 0..of {
                        let slices = distributed(size, distribution, argument, (at, of)).unwrap();
                        let Slices {
                            start,
                            length,
                            times,
                            step,
                            rest,
                        } = slices;
                        for block in 0..times {
                            (0..length).for_each(|at| seen[start + block * step + at] += 1);
                        }
                        (0..rest).for_each(|at| seen[start + times * step + at] += 1);
                    }
                    assert_eq!(seen, vec![1; size], "{distribution} {argument} {of}");
                }
            }
        }
    }
}
