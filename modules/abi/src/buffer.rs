//! Elements of a datatype in memory: the buffer arguments of calls.

use std::ffi::c_void;
use std::ptr::NonNull;
use std::rc::Rc;

use graphmap_runtime::mpi::Packed;

use crate::abi::Datatype;
use crate::datatype::Datatypes;
use crate::datatype::Type;
use crate::error::{Done, fail};
use crate::rank::Part as _;
use crate::rank::Rank;

/// Elements in memory.
#[derive(Clone)]
pub(crate) struct Elements {
    pub(crate) address: *mut u8,
    pub(crate) count: usize,
    pub(crate) layout: Rc<Type>,
}

impl Elements {
    /// Checks the arguments that describe elements.
    ///
    /// # Errors
    /// [`Class::Count`](crate::error::Class::Count) and
    /// [`Class::Type`](crate::error::Class::Type).
    #[inline(always)]
    pub(crate) fn new(this: &Rank, address: *const c_void, count: i64, of: Datatype) -> Done<Self> {
        let Ok(count) = usize::try_from(count) else {
            return fail!(Count, "the count {count} is negative");
        };
        let layout = Datatypes::of(this).get(of)?;
        let bytes = count.checked_mul(layout.size);
        if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
            return fail!(
                Count,
                "{count} elements of the datatype exceed the address space"
            );
        }
        Ok(Elements {
            address: address.cast_mut().cast(),
            count,
            layout,
        })
    }

    /// Returns the number of bytes of data.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.count * self.layout.size
    }

    /// Returns the address and the number of bytes, if the elements are bytes in a row at a valid
    /// address.
    #[inline(always)]
    pub(crate) fn place(&self) -> Option<(NonNull<u8>, usize)> {
        let at = NonNull::new(self.address).filter(|_| self.layout.is_contiguous())?;
        Some((at, self.bytes()))
    }

    /// Returns the data, if it is in a row.
    ///
    /// # Safety
    /// The elements must be readable, and not be written to while the result is used.
    #[inline(always)]
    pub(crate) unsafe fn as_bytes(&self) -> Option<&[u8]> {
        if self.bytes() == 0 {
            return Some(&[]);
        }
        let (at, bytes) = self.place()?;
        // SAFETY: the elements are readable bytes in a row.
        Some(unsafe { std::slice::from_raw_parts(at.as_ptr(), bytes) })
    }

    /// Returns the data, packed.
    ///
    /// # Safety
    /// The elements must be readable.
    pub(crate) unsafe fn pack(&self) -> Packed {
        // SAFETY: the caller guarantees that the elements are readable.
        if let Some(bytes) = unsafe { self.as_bytes() } {
            return Packed::from(bytes);
        }
        let mut bytes = Vec::new();
        // SAFETY: as above.
        unsafe { self.layout.pack(self.address, self.count, &mut bytes) };
        bytes.into()
    }

    /// Writes packed data to the elements. Ignores what does not fit.
    ///
    /// # Safety
    /// The elements must be writable.
    pub(crate) unsafe fn unpack(&self, data: &[u8]) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.layout.unpack(data, self.address, self.count) };
    }
}
