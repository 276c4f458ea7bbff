//! Reduction operations (MPI-5.0, section 6.9).

use graphmap_runtime::mpi::Packed;

use crate::abi::{Datatype, Op};
use crate::buffer::Elements;
use crate::error::{Done, fail};
use crate::rank::Rank;

/// All operations that a rank has created.
#[derive(Default)]
pub(crate) struct Operations {}

/// An operation on a number of elements of a datatype. The values are packed elements.
#[derive(Clone)]
pub(crate) struct Reduction {}

impl Reduction {
    /// Checks that the operation is defined for the datatype of the elements, and returns it.
    ///
    /// # Errors
    /// [`Class::Op`](crate::error::Class::Op).
    pub(crate) fn new(_this: &Rank, _op: Op, _of: &Elements, _datatype: Datatype) -> Done<Self> {
        fail!(Op, "not implemented")
    }

    /// Returns `left` op `right`, element by element. The contributions of lower ranks are on the
    /// left.
    pub(crate) fn combine(&self, _left: Packed, right: Packed) -> Packed {
        right
    }
}
