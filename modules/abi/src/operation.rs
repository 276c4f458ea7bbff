//! Reduction operations (MPI-5.0, section 6.9).

mod predefined;

use std::cell::RefCell;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use graphmap_runtime::mpi::Packed;

use crate::abi::{Count, Datatype, Op};
use crate::buffer::Elements;
use crate::datatype::Type;
use crate::error::{Class, Done, Fail, fail};
use crate::pack::elements;
use crate::rank::{self, Part, Rank, Slot, invalid};
use crate::table::Table;

use crate::datatype::Datatypes;
use predefined::Combine;

/// `MPI_User_function`.
type Small = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Datatype);
/// `MPI_User_function_c`.
type Large = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut Count, *mut Datatype);
/// `MPIX_User_function_x`.
type Stateful = unsafe extern "C" fn(*mut c_void, *mut c_void, Count, Datatype, *mut c_void);
/// `MPIX_Destructor_function`.
type Destructor = unsafe extern "C" fn(*mut c_void);

/// A function of the program.
#[derive(Clone, Copy)]
enum Function {
    Small(Small),
    Large(Large),
    Stateful {
        function: Stateful,
        state: *mut c_void,
        destructor: Option<Destructor>,
    },
}

/// An operation of the program.
struct Operation {
    function: Function,
    is_commutative: bool,
}

impl Operation {
    /// Stores `left` op `right` in `right`, for `count` elements.
    ///
    /// # Safety
    /// All elements must be readable, and the elements of `right` writable.
    unsafe fn call(
        &self,
        left: *mut u8,
        right: *mut u8,
        count: usize,
        extent: isize,
        mut datatype: Datatype,
    ) {
        match self.function {
            Function::Small(function) => {
                let mut done = 0;
                while done < count {
                    let mut part = c_int::try_from(count - done).unwrap_or(c_int::MAX);
                    let offset = done as isize * extent;
                    done += part as usize;
                    let (left, right) =
                        (left.wrapping_offset(offset), right.wrapping_offset(offset));
                    // SAFETY: the elements are valid as the caller guarantees.
                    unsafe { function(left.cast(), right.cast(), &mut part, &mut datatype) };
                }
            }
            Function::Large(function) => {
                let mut count = count as Count;
                // SAFETY: as above.
                unsafe { function(left.cast(), right.cast(), &mut count, &mut datatype) };
            }
            Function::Stateful {
                function, state, ..
            } => {
                // SAFETY: as above. The state belongs to the function.
                unsafe { function(left.cast(), right.cast(), count as Count, datatype, state) };
            }
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        if let Function::Stateful {
            state,
            destructor: Some(destructor),
            ..
        } = self.function
        {
            // SAFETY: the program created the operation with this function and state.
            unsafe { destructor(state) };
        }
    }
}

/// All operations that a rank has created.
#[derive(Default)]
pub(crate) struct Operations {
    table: RefCell<Table<Rc<Operation>>>,
}

impl Part for Operations {
    const SLOT: Slot = Slot::Operations;
}

impl Operations {
    fn add(&self, function: Function, commute: c_int) -> Done<Op> {
        let operation = Rc::new(Operation {
            function,
            is_commutative: commute != 0,
        });
        let handle = self.table.borrow_mut().add(operation);
        let none = || Fail::new(Class::NoMem, "too many operations");
        Ok(Op(handle.ok_or_else(none)?))
    }

    /// Returns the operation of the program of a handle.
    ///
    /// # Errors
    /// [`Class::Op`] if the handle is null or invalid.
    fn get(&self, op: Op) -> Done<Rc<Operation>> {
        match self.table.borrow().get(op.0) {
            Some(operation) => Ok(Rc::clone(operation)),
            None => invalid(Class::Op, "operation", op.0),
        }
    }

    /// Returns true if the operation is commutative.
    ///
    /// # Errors
    /// [`Class::Op`] if the handle is null or invalid.
    fn is_commutative(&self, op: Op) -> Done<bool> {
        match op {
            Op::REPLACE | Op::NO_OP => Ok(false),
            op if predefined::is_predefined(op) => Ok(true),
            op => Ok(self.get(op)?.is_commutative),
        }
    }
}

/// An operation on a number of elements of a datatype. The values are packed elements.
#[derive(Clone)]
pub(crate) struct Reduction {
    layout: Rc<Type>,
    with: With,
}

#[derive(Clone)]
enum With {
    Predefined(Combine),
    /// An operation of the program, and the datatype that it gets.
    Program(Rc<Operation>, Datatype),
}

impl Reduction {
    /// Checks that the operation is defined for the datatype of the elements, and returns it.
    ///
    /// # Errors
    /// [`Class::Op`].
    pub(crate) fn new(this: &Rank, op: Op, of: &Elements, datatype: Datatype) -> Done<Self> {
        let layout = Rc::clone(&of.layout);
        if !predefined::is_predefined(op) {
            let with = With::Program(Operations::of(this).get(op)?, datatype);
            return Ok(Reduction { layout, with });
        }
        let combine = layout
            .named
            .and_then(|named| predefined::combine(op, named.kind));
        match combine {
            Some(combine) => Ok(Reduction {
                layout,
                with: With::Predefined(combine),
            }),
            None => fail!(
                Op,
                "the predefined operation {:#x} is not defined for the datatype {:#x}",
                op.0,
                datatype.0
            ),
        }
    }

    /// Returns `left` op `right`, element by element. The contributions of lower ranks are on the
    /// left. The calling rank must not have borrowed its state, because an operation of the program
    /// may call functions of MPI.
    pub(crate) fn combine(&self, left: Packed, right: Packed) -> Packed {
        match &self.with {
            With::Predefined(combine) => {
                if let Ok(mut few) = <[u8; 8]>::try_from(&right[..]) {
                    combine(&left, &mut few);
                    return Packed::from(&few[..]);
                }
                let mut right = Vec::from(right);
                combine(&left, &mut right);
                right.into()
            }
            With::Program(operation, datatype) => {
                // Ranks that pass different counts violate the standard. The operation gets only
                // elements that both have.
                let bytes = left.len().min(right.len());
                let count = bytes.checked_div(self.layout.size).unwrap_or(0);
                let left = Unpacked::new(&self.layout, count, &left);
                let right = Unpacked::new(&self.layout, count, &right);
                // SAFETY: both have `count` elements.
                unsafe {
                    self.call(operation, *datatype, left.first, right.first, count);
                    right.pack().into()
                }
            }
        }
    }

    /// Stores `left` op `right` in `right`, for elements in memory.
    ///
    /// # Safety
    /// All elements must be readable, and the elements of `right` writable.
    unsafe fn combine_in_place(&self, left: &Elements, right: &Elements) {
        match &self.with {
            With::Program(operation, datatype) => {
                // SAFETY: guaranteed by the caller.
                unsafe {
                    self.call(
                        operation,
                        *datatype,
                        left.address,
                        right.address,
                        right.count,
                    )
                };
            }
            With::Predefined(combine) => {
                // SAFETY: as above.
                match (unsafe { left.as_bytes() }, right.place()) {
                    (Some(left), Some((at, bytes))) => {
                        // SAFETY: as above. The buffers may not overlap.
                        let right = unsafe { std::slice::from_raw_parts_mut(at.as_ptr(), bytes) };
                        combine(left, right);
                    }
                    // SAFETY: as above.
                    _ => unsafe { right.unpack(&self.combine(left.pack(), right.pack())) },
                }
            }
        }
    }

    /// Calls an operation of the program.
    ///
    /// # Safety
    /// As for [`Operation::call`].
    unsafe fn call(
        &self,
        operation: &Operation,
        datatype: Datatype,
        left: *mut u8,
        right: *mut u8,
        count: usize,
    ) {
        // The program may have freed the datatype of a nonblocking call.
        let this = rank::current();
        let lent = this
            .as_ref()
            .and_then(|this| Datatypes::of(this).lend(datatype, &self.layout));
        let datatype = lent.unwrap_or(datatype);
        // SAFETY: guaranteed by the caller.
        unsafe { operation.call(left, right, count, self.layout.extent, datatype) };
        if let (Some(this), Some(lent)) = (this, lent) {
            Datatypes::of(&this).take_back(lent);
        }
    }
}

/// Elements in memory that is aligned for all types.
struct Unpacked<'a> {
    layout: &'a Type,
    count: usize,
    /// Address of the first element, which may have data before it.
    first: *mut u8,
    _memory: Vec<u128>,
}

impl<'a> Unpacked<'a> {
    fn new(layout: &'a Type, count: usize, data: &[u8]) -> Self {
        let (from, to) = layout.span(count);
        // An element at displacement 0 is aligned.
        let before = from
            .min(0)
            .unsigned_abs()
            .next_multiple_of(align_of::<u128>());
        let bytes = before + to.max(0).unsigned_abs();
        let mut memory = vec![0u128; bytes.div_ceil(size_of::<u128>())];
        let first = memory.as_mut_ptr().cast::<u8>().wrapping_add(before);
        // SAFETY: the memory contains the span of the elements.
        unsafe { layout.unpack(data, first, count) };
        Unpacked {
            layout,
            count,
            first,
            _memory: memory,
        }
    }

    fn pack(&self) -> Vec<u8> {
        let mut data = Vec::new();
        // SAFETY: the memory contains the elements.
        unsafe { self.layout.pack(self.first, self.count, &mut data) };
        data
    }
}

fn checked<T>(function: Option<T>) -> Done<T> {
    function.ok_or_else(|| Fail::new(Class::Arg, "the function is null"))
}

export! {
    fn MPI_Op_create(function: Option<Small>, commute: c_int, op: *mut Op) on World => |this| {
        let function = Function::Small(checked(function)?);
        op.write(Operations::of(this).add(function, commute)?);
        Ok(())
    };
    fn MPI_Op_create_c(function: Option<Large>, commute: c_int, op: *mut Op) on World => |this| {
        let function = Function::Large(checked(function)?);
        op.write(Operations::of(this).add(function, commute)?);
        Ok(())
    };
    fn MPIX_Op_create_x(
        function: Option<Stateful>, destructor: Option<Destructor>, commute: c_int,
        state: *mut c_void, op: *mut Op,
    ) on World => |this| {
        let function = checked(function)?;
        let function = Function::Stateful { function, state, destructor };
        op.write(Operations::of(this).add(function, commute)?);
        Ok(())
    };
    fn MPI_Op_free(op: *mut Op) on World => |this| {
        if predefined::is_predefined(*op) {
            return fail!(Op, "predefined operations cannot be freed");
        }
        let removed = Operations::of(this).table.borrow_mut().remove((*op).0);
        if removed.is_none() {
            return invalid(Class::Op, "operation", (*op).0);
        }
        op.write(Op::NULL);
        Ok(())
    };
    fn MPI_Op_commutative(op: Op, commute: *mut c_int) on World => |this| {
        commute.write(Operations::of(this).is_commutative(op)?.into());
        Ok(())
    };
    fn MPI_Reduce_local, MPI_Reduce_local_c<C>(
        from: *const c_void, to: *mut c_void, count: C, datatype: Datatype, op: Op,
    ) on World => |this| {
        let left = elements(this, from, count.get(), datatype)?;
        let right = elements(this, to, count.get(), datatype)?;
        let reduction = Reduction::new(this, op, &right, datatype)?;
        if right.count > 0 && left.address == right.address {
            return fail!(Buffer, "both buffers are the same");
        }
        if right.count > 0 {
            reduction.combine_in_place(&left, &right);
        }
        Ok(())
    };
}
