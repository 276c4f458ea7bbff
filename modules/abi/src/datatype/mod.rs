//! Datatypes of a rank: layouts of elements in memory.

mod named;

use std::cell::RefCell;
use std::rc::Rc;

pub(crate) use named::{Kind, Named, Number};

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
    /// The predefined datatype, if it is one.
    pub(crate) named: Option<&'static Named>,
}

impl Type {
    /// Creates a predefined type.
    fn named(named: &'static Named) -> Self {
        let size = named.size();
        let (mut runs, mut extent) = (vec![(0, size)], size);
        if let Kind::Pair(value, index) = named.kind {
            let at = value.size().next_multiple_of(index.size());
            if at > value.size() {
                runs = vec![(0, value.size()), (at as isize, index.size())];
            }
            let align = value.size().max(index.size());
            extent = (at + index.size()).next_multiple_of(align);
        }
        Type {
            size,
            extent: extent as isize,
            runs,
            named: Some(named),
        }
    }

    /// Returns true if elements in a row are bytes in a row.
    #[inline]
    pub(crate) fn is_contiguous(&self) -> bool {
        matches!(self.runs[..], [(0, size)] if size as isize == self.extent)
    }

    /// Returns the offsets of the first byte of `count` elements and of the end of the last.
    pub(crate) fn span(&self, count: usize) -> (isize, isize) {
        let ends = self
            .runs
            .iter()
            .map(|&(offset, length)| offset + length as isize);
        let (from, to) = (self.runs.iter().map(|run| run.0).min(), ends.max());
        let more = self.extent * count.saturating_sub(1) as isize;
        (
            from.unwrap_or(0) + more.min(0),
            to.unwrap_or(0) + more.max(0),
        )
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

    /// Returns a temporary handle of a type if its handle is invalid now.
    pub(crate) fn lend(&self, handle: Datatype, layout: &Rc<Type>) -> Option<Datatype> {
        if self.get(handle).is_ok() {
            return None;
        }
        let lent = self.table.borrow_mut().add(Rc::clone(layout));
        lent.map(Datatype)
    }

    /// Invalidates a temporary handle.
    pub(crate) fn take_back(&self, handle: Datatype) {
        self.table.borrow_mut().remove(handle.0);
    }
}
