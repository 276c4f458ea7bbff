//! Operations: functions by which reductions combine elements.

use std::fmt;

use crate::buffer_range::{BufferRange, count, layout, packed};
use crate::datatype::traits::{Buffer, BufferMut};
use crate::datatype::{DynBuffer, DynBufferMut};
use crate::done;
use crate::operation::{Closure, Elements, Function, MPI_Op, RawOperation, System};
use crate::raw::AsRaw;

/// An operation by which reductions combine elements. It must be associative.
pub trait Operation: AsRaw<Raw = MPI_Op> {
    /// Returns true if the operation is declared to be commutative. Reductions combine elements in
    /// the order of the ranks also if it is.
    fn is_commutative(&self) -> bool {
        match self.as_raw().0 {
            RawOperation::System(_) => true,
            RawOperation::Closure(_, commutes) | RawOperation::Function(_, commutes) => commutes,
        }
    }
}

impl<T: Operation> Operation for &T {}

/// A predefined operation. Floating point numbers have no logical and bitwise operations, complex
/// numbers have only sums and products, and `bool` has only logical and bitwise operations.
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
    max => Max, "Returns the operation for the larger of two numbers.";
    min => Min, "Returns the operation for the smaller of two numbers.";
    sum => Sum, "Returns the operation for the sum of two numbers. Integers wrap around.";
    product => Product, "Returns the operation for the product of two numbers. Integers wrap around.";
    logical_and => LogicalAnd, "Returns the operation for logical AND: 1 if both are not 0, otherwise 0.";
    bitwise_and => BitwiseAnd, "Returns the operation for bitwise AND.";
    logical_or => LogicalOr, "Returns the operation for logical OR: 1 if at least one is not 0, otherwise 0.";
    bitwise_or => BitwiseOr, "Returns the operation for bitwise OR.";
    logical_xor => LogicalXor, "Returns the operation for logical XOR: 1 if exactly one is not 0, otherwise 0.";
    bitwise_xor => BitwiseXor, "Returns the operation for bitwise XOR."
}

// SAFETY: a predefined operation is always valid.
unsafe impl AsRaw for SystemOperation {
    type Raw = MPI_Op;

    fn as_raw(&self) -> MPI_Op {
        self.0
    }
}

impl Operation for SystemOperation {}

/// Implemented for all types, so that a value of any type can be kept until it is dropped.
trait Kept {}

impl<T> Kept for T {}

/// An operation made of a closure.
pub struct UserOperation<'a> {
    op: MPI_Op,
    _anchor: Box<dyn Kept + 'a>,
}

impl fmt::Debug for UserOperation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UserOperation").field(&self.op).finish()
    }
}

// SAFETY: the closure is in a box that lives as long as this value.
unsafe impl AsRaw for UserOperation<'_> {
    type Raw = MPI_Op;

    fn as_raw(&self) -> MPI_Op {
        self.op
    }
}

impl Operation for &UserOperation<'_> {}

impl<'a> UserOperation<'a> {
    /// Creates an operation that need not be commutative: see [`new`](Self::new).
    pub fn associative<F>(function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a,
    {
        Self::new(false, function)
    }

    /// Creates a commutative operation: see [`new`](Self::new).
    pub fn commutative<F>(function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a,
    {
        Self::new(true, function)
    }

    /// Creates an operation, which is commutative if `commute` is true.
    ///
    /// The first argument of `function` has the elements of lower ranks. The second argument has
    /// the elements of higher ranks, and `function` replaces them by the result. In a reduction of
    /// several ranks, calls in `function` that wait panic.
    pub fn new<F>(commute: bool, function: F) -> Self
    where
        F: Fn(DynBuffer<'_>, DynBufferMut<'_>) + Sync + 'a,
    {
        let closure = Box::new(Closure::<'a> {
            function: Box::new(function),
        });
        // The cast extends the lifetime in the type. The closure lives as long as the operation.
        let at: *const Closure<'a> = &raw const *closure;
        UserOperation {
            op: MPI_Op(RawOperation::Closure(at.cast(), commute)),
            _anchor: closure,
        }
    }

    /// Creates an operation from its handle, and keeps `anchor` as long as the operation.
    ///
    /// # Safety
    /// The handle must be valid as long as the value in `anchor` lives.
    pub unsafe fn from_raw<T: 'a>(op: MPI_Op, anchor: Box<T>) -> Self {
        UserOperation {
            op,
            _anchor: anchor,
        }
    }
}

/// Signature of functions that are operations, as in MPI's C interface (`MPI_User_function`).
///
/// The arguments are the elements of lower ranks, the elements of higher ranks, which the function
/// replaces by the result, the number of elements, and their datatype.
pub type UnsafeUserFunction = Function;

/// An operation made of a function pointer.
#[derive(Debug)]
pub struct UnsafeUserOperation {
    op: MPI_Op,
}

// SAFETY: a function pointer is valid as long as the program runs.
unsafe impl AsRaw for UnsafeUserOperation {
    type Raw = MPI_Op;

    fn as_raw(&self) -> MPI_Op {
        self.op
    }
}

impl Operation for &UnsafeUserOperation {}

impl UnsafeUserOperation {
    /// Creates an operation that need not be commutative.
    ///
    /// # Safety
    /// The function must access at most the given number of elements, and must not unwind.
    pub unsafe fn associative(function: UnsafeUserFunction) -> Self {
        // SAFETY: by the contract of this function.
        unsafe { Self::new(false, function) }
    }

    /// Creates a commutative operation.
    ///
    /// # Safety
    /// As for [`associative`](Self::associative).
    pub unsafe fn commutative(function: UnsafeUserFunction) -> Self {
        // SAFETY: by the contract of this function.
        unsafe { Self::new(true, function) }
    }

    /// Creates an operation, which is commutative if `commute` is true.
    ///
    /// # Safety
    /// As for [`associative`](Self::associative).
    pub unsafe fn new(commute: bool, function: UnsafeUserFunction) -> Self {
        UnsafeUserOperation {
            op: MPI_Op(RawOperation::Function(function, commute)),
        }
    }
}

/// Combines the elements of two buffers, and writes the result to the second (`MPI_Reduce_local`).
/// The elements of `inbuf` are the first operands. The elements of both buffers are combined as
/// elements of the datatype of `inbuf`.
///
/// # Panics
/// If the packed elements of the buffers differ in size, if a buffer has more than 2^31 - 1
/// elements, or if the operation is not defined for the datatype of `inbuf`. Also if an operation
/// of the program panics. If the buffers have different datatypes, also if a byte of the result is
/// not a valid `bool`, or if an operation of the program gets such a byte.
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
    let range = BufferRange::of(inoutbuf);
    // SAFETY: the buffer is borrowed by this function.
    let mut right = unsafe { range.packed() };
    elements.combine(&packed(inbuf), &mut right);
    // SAFETY: as above.
    done(unsafe { range.fill_exactly(&right) });
}
