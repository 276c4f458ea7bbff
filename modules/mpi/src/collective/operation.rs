//! Operations: what reductions combine elements by.

use std::fmt;

use crate::datatype::traits::{Buffer, BufferMut};
use crate::datatype::{DynBuffer, DynBufferMut};
use crate::done;
use crate::operation::{Closure, Elements, Function, MPI_Op, RawOperation, System};
use crate::place::{Place, count, layout, packed};
use crate::raw::AsRaw;

/// What elements can be combined by. All operations are associative.
pub trait Operation: AsRaw<Raw = MPI_Op> {
    /// Whether the order of elements does not matter. It is kept all the same.
    fn is_commutative(&self) -> bool {
        match self.as_raw().0 {
            RawOperation::System(_) => true,
            RawOperation::Closure(_, commutes) | RawOperation::Function(_, commutes) => commutes,
        }
    }
}

impl<T: Operation> Operation for &T {}

/// A predefined operation.
#[derive(Debug, Clone, Copy)]
pub struct SystemOperation(MPI_Op);

macro_rules! predefined {
    ($($name:ident => $system:ident, $doc:literal);*) => {
        impl SystemOperation {
            $(
                #[doc = $doc]
                pub fn $name() -> SystemOperation {
                    SystemOperation(MPI_Op(RawOperation::System(System::$system)))
                }
            )*
        }
    };
}

predefined! {
    max => Max, "The larger of two numbers.";
    min => Min, "The smaller of two numbers.";
    sum => Sum, "The sum of two numbers. Integers wrap around.";
    product => Product, "The product of two numbers. Integers wrap around.";
    logical_and => LogicalAnd, "True if both are not 0.";
    bitwise_and => BitwiseAnd, "Bitwise AND.";
    logical_or => LogicalOr, "True if at least one is not 0.";
    bitwise_or => BitwiseOr, "Bitwise OR.";
    logical_xor => LogicalXor, "True if exactly one is not 0.";
    bitwise_xor => BitwiseXor, "Bitwise XOR."
}

// SAFETY: it is what it says.
unsafe impl AsRaw for SystemOperation {
    type Raw = MPI_Op;

    fn as_raw(&self) -> MPI_Op {
        self.0
    }
}

impl Operation for SystemOperation {}

/// Something that is kept, of whatever type it is.
trait Kept {}

impl<T> Kept for T {}

/// An operation that is a closure.
pub struct UserOperation<'a> {
    op: MPI_Op,
    _anchor: Box<dyn Kept + 'a>,
}

impl fmt::Debug for UserOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UserOperation").field(&self.op).finish()
    }
}

// SAFETY: the closure lives as long as this.
unsafe impl AsRaw for UserOperation<'_> {
    type Raw = MPI_Op;

    fn as_raw(&self) -> MPI_Op {
        self.op
    }
}

impl Operation for &UserOperation<'_> {}

impl<'a> UserOperation<'a> {
    /// One whose order matters.
    pub fn associative<F>(function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a,
    {
        Self::new(false, function)
    }

    /// One whose order does not matter.
    pub fn commutative<F>(function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a,
    {
        Self::new(true, function)
    }

    /// One of which it is said whether its order does not matter.
    pub fn new<F>(commute: bool, function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a,
    {
        let closure = Box::new(Closure::<'a> {
            function: Box::new(function),
        });
        // Its lifetime is that of the operation.
        let at: *const Closure<'a> = &raw const *closure;
        UserOperation {
            op: MPI_Op(RawOperation::Closure(at.cast(), commute)),
            _anchor: closure,
        }
    }

    /// One of a handle, with what it needs.
    ///
    /// # Safety
    /// The handle has to be valid as long as what is kept lives.
    pub unsafe fn from_raw<T: 'a>(op: MPI_Op, anchor: Box<T>) -> Self {
        UserOperation {
            op,
            _anchor: anchor,
        }
    }
}

/// The signature of functions that are operations: of what lower ranks have, and what higher ones have, which becomes the result; of
/// how many elements, and of which datatype.
pub type UnsafeUserFunction = Function;

/// An operation that is a function.
#[derive(Debug)]
pub struct UnsafeUserOperation {
    op: MPI_Op,
}

// SAFETY: a function lives for ever.
unsafe impl AsRaw for UnsafeUserOperation {
    type Raw = MPI_Op;

    fn as_raw(&self) -> MPI_Op {
        self.op
    }
}

impl Operation for &UnsafeUserOperation {}

impl UnsafeUserOperation {
    /// One whose order matters.
    ///
    /// # Safety
    /// The function has to read and write no more than as many elements as it is told, and not to unwind.
    pub unsafe fn associative(function: UnsafeUserFunction) -> Self {
        // SAFETY: as the caller says.
        unsafe { Self::new(false, function) }
    }

    /// One whose order does not matter.
    ///
    /// # Safety
    /// As for [`associative`](Self::associative).
    pub unsafe fn commutative(function: UnsafeUserFunction) -> Self {
        // SAFETY: as the caller says.
        unsafe { Self::new(true, function) }
    }

    /// One of which it is said whether its order does not matter.
    ///
    /// # Safety
    /// As for [`associative`](Self::associative).
    pub unsafe fn new(commute: bool, function: UnsafeUserFunction) -> Self {
        UnsafeUserOperation {
            op: MPI_Op(RawOperation::Function(function, commute)),
        }
    }
}

/// Combines the elements of two buffers into the second.
///
/// # Panics
/// If they do not have as many elements of one type, or the operation is not defined for that.
#[track_caller]
#[allow(clippy::needless_pass_by_value)]
pub fn reduce_local_into<S, R, O>(inbuf: &S, inoutbuf: &mut R, op: O)
where
    S: Buffer + ?Sized,
    R: BufferMut + ?Sized,
    O: Operation,
{
    let elements = Elements {
        operation: op.as_raw().0,
        layout: layout(inbuf),
        count: count(inbuf),
    };
    done(elements.check());
    let place = Place::of(inoutbuf);
    // SAFETY: it is borrowed.
    let mut right = unsafe { place.packed() };
    elements.combine(&packed(inbuf), &mut right);
    // SAFETY: likewise.
    done(unsafe { place.fill_exactly(&right) });
}
