//! Datatypes of a rank: layouts of elements in memory.

mod named;

use std::cell::RefCell;
use std::rc::Rc;

use crate::abi::Datatype;
use crate::error::{Class, Done};
use crate::rank::invalid;
use crate::table::Table;

/// Layout of an element: runs of bytes at offsets from its address.
#[derive(Debug)]
pub(crate) struct Type {
    /// Number of bytes of data.
    pub(crate) size: usize,
    /// Distance in bytes from an element to the next.
    pub(crate) extent: isize,
    /// Runs of bytes of one element, in the order of the type map: offset and length.
    pub(crate) runs: Vec<(isize, usize)>,
}

impl Type {
    /// Creates the type of `size` bytes in a row.
    pub(crate) fn contiguous(size: usize) -> Self {
        Type {
            size,
            extent: size as isize,
            runs: vec![(0, size)],
        }
    }

    /// Returns true if elements in a row are bytes in a row.
    #[inline]
    pub(crate) fn is_contiguous(&self) -> bool {
        matches!(self.runs[..], [(0, size)] if size as isize == self.extent)
    }

    /// Copies the data of `count` elements at `from` to the end of `to`.
    ///
    /// # Safety
    /// The elements must be readable.
    pub(crate) unsafe fn pack(&self, from: *const u8, count: usize, to: &mut Vec<u8>) {
        to.reserve(self.size * count);
        for element in 0..count as isize {
            for &(offset, length) in &self.runs {
                // SAFETY: the caller guarantees that the elements are readable.
                let run = unsafe {
                    std::slice::from_raw_parts(from.offset(element * self.extent + offset), length)
                };
                to.extend_from_slice(run);
            }
        }
    }

    /// Copies data to the first elements of `count` at `to`, and returns the number of bytes that
    /// fit.
    ///
    /// # Safety
    /// The elements must be writable.
    pub(crate) unsafe fn unpack(&self, from: &[u8], to: *mut u8, count: usize) -> usize {
        let mut rest = from;
        for element in 0..count as isize {
            for &(offset, length) in &self.runs {
                if rest.is_empty() {
                    return from.len();
                }
                let (run, behind) = rest.split_at(length.min(rest.len()));
                // SAFETY: the caller guarantees that the elements are writable.
                unsafe {
                    let at = to.offset(element * self.extent + offset);
                    std::ptr::copy(run.as_ptr(), at, run.len());
                }
                rest = behind;
            }
        }
        from.len() - rest.len()
    }
}

/// All derived datatypes of a rank.
#[derive(Default)]
pub(crate) struct Datatypes {
    table: RefCell<Table<Rc<Type>>>,
}

impl Datatypes {
    /// Returns the type of a handle.
    ///
    /// # Errors
    /// [`Class::Type`] if the handle is null or invalid.
    #[inline]
    pub(crate) fn get(&self, handle: Datatype) -> Done<Rc<Type>> {
        if let Some(named) = named::get(handle) {
            return Ok(named);
        }
        match self.table.borrow().get(handle.0) {
            Some(found) => Ok(Rc::clone(found)),
            None => invalid(Class::Type, "datatype", handle.0),
        }
    }
}
