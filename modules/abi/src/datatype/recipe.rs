//! The calls that create datatypes (`MPI_Type_get_envelope`, `MPI_Type_get_contents`).

use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::{Aint, Count};
use crate::export::Number;

/// Function that creates a datatype.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(i32)]
pub(super) enum Combiner {
    #[default]
    Named = 101,
    Dup = 102,
    Contiguous = 103,
    Vector = 104,
    Hvector = 105,
    Indexed = 106,
    Hindexed = 107,
    IndexedBlock = 108,
    HindexedBlock = 109,
    Struct = 110,
    Subarray = 111,
    Darray = 112,
    F90Real = 113,
    F90Complex = 114,
    F90Integer = 115,
    Resized = 116,
}

/// Function that created a datatype, and its arguments in their order. `T` is the datatype.
#[derive(Debug)]
pub(super) struct Recipe<T> {
    pub(super) combiner: Combiner,
    pub(super) integers: Vec<c_int>,
    pub(super) addresses: Vec<Aint>,
    /// Counts and addresses of a large-count version.
    pub(super) counts: Vec<Count>,
    pub(super) types: Vec<Rc<T>>,
}

impl<T> Default for Recipe<T> {
    fn default() -> Self {
        Recipe {
            combiner: Combiner::default(),
            integers: Vec::new(),
            addresses: Vec::new(),
            counts: Vec::new(),
            types: Vec::new(),
        }
    }
}

impl<T> Recipe<T> {
    pub(super) fn new(combiner: Combiner) -> Self {
        Recipe {
            combiner,
            ..Recipe::default()
        }
    }

    /// Adds an `int` argument of both versions.
    pub(super) fn integer(mut self, value: c_int) -> Self {
        self.integers.push(value);
        self
    }

    /// Adds an argument that is a count in the large-count version.
    pub(super) fn number<C: Number>(self, value: C) -> Self {
        self.numbers(&[value])
    }

    /// Adds arguments that are counts in the large-count version.
    pub(super) fn numbers<C: Number>(mut self, values: &[C]) -> Self {
        let values = values.iter().map(|value| value.get());
        match is_large::<C>() {
            true => self.counts.extend(values),
            false => self.integers.extend(values.map(|value| value as c_int)),
        }
        self
    }

    /// Adds addresses. They are counts in the large-count version, in which `C` is a count.
    pub(super) fn places<C: Number>(mut self, values: &[Aint]) -> Self {
        match is_large::<C>() {
            true => self
                .counts
                .extend(values.iter().map(|&value| value as Count)),
            false => self.addresses.extend(values),
        }
        self
    }

    pub(super) fn of(mut self, part: &Rc<T>) -> Self {
        self.types.push(Rc::clone(part));
        self
    }
}

fn is_large<C: Number>() -> bool {
    size_of::<C>() > size_of::<c_int>()
}
