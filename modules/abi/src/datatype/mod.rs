//! Datatypes of a rank: layouts of elements in memory.

mod arrays;
mod create;
mod external;
mod f90;
mod layout;
mod named;
mod query;
mod recipe;
mod representation;

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::c_int;
use std::rc::Rc;

use crate::abi::Datatype;
use crate::error::{Class, Done, Fail, fail};
use crate::rank::{Part, Slot, invalid};
use crate::table::Table;
use layout::{Builder, Layout};
pub(crate) use named::{Kind, Named, Number};

/// The call that created a datatype.
type Recipe = recipe::Recipe<Type>;

/// Maximum depth of datatypes in datatypes, because they are visited by recursion.
const DEPTH: usize = 10_000;

/// A datatype. It is never changed.
#[derive(Debug)]
pub(crate) struct Type {
    /// Number of bytes of data.
    pub(crate) size: usize,
    /// Distance in bytes from an element to the next.
    pub(crate) extent: isize,
    bounds: Bounds,
    layout: Layout,
    is_contiguous: bool,
    /// The predefined datatype that it equals, if any.
    pub(crate) named: Option<&'static Named>,
    /// Datatypes that it consists of, in the order of the data.
    parts: Vec<(usize, Rc<Type>)>,
    /// Number of predefined elements.
    elements: usize,
    /// Number of bytes of the data in the representation `external32`.
    pub(crate) external: usize,
    depth: usize,
    /// The call that created it, unless it is predefined.
    recipe: Option<Recipe>,
    /// Handle, if the program may not free it.
    permanent: OnceCell<Datatype>,
}

/// Bounds of an element in bytes from its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    /// Lower and upper bound. Their difference is the extent.
    lower: isize,
    upper: isize,
    /// True if the bound was set explicitly. Such bounds replace others in types that contain it.
    is_lower_set: bool,
    is_upper_set: bool,
    /// Bounds of the data.
    true_lower: isize,
    true_upper: isize,
    align: usize,
}

impl Bounds {
    const EMPTY: Bounds = Bounds {
        lower: 0,
        upper: 0,
        is_lower_set: false,
        is_upper_set: false,
        true_lower: 0,
        true_upper: 0,
        align: 1,
    };

    /// Returns the bounds of `count` copies at distances of `step`, the first at `offset`.
    fn repeated(self, offset: isize, count: usize, step: isize) -> Option<Self> {
        let far = isize::try_from(count - 1).ok()?.checked_mul(step)?;
        let low = |bound: isize| bound.checked_add(offset)?.checked_add(far.min(0));
        let high = |bound: isize| bound.checked_add(offset)?.checked_add(far.max(0));
        Some(Bounds {
            lower: low(self.lower)?,
            upper: high(self.upper)?,
            true_lower: low(self.true_lower)?,
            true_upper: high(self.true_upper)?,
            ..self
        })
    }
}

/// Copies of a type in another: the first at `offset`, `times` blocks at distances of `step`, each
/// of `count` consecutive elements.
#[derive(Clone, Copy)]
struct Copies<'a> {
    of: &'a Rc<Type>,
    offset: isize,
    count: usize,
    times: usize,
    step: isize,
}

/// Returns the error for a type that has more bytes than there are addresses.
fn too_large() -> Fail {
    Fail::new(Class::Type, "the datatype is larger than the address space")
}

impl Type {
    /// Creates a predefined type.
    fn named(named: &'static Named) -> Self {
        let size = named.size();
        let (mut layout, mut end) = (Layout::bytes(size), size);
        if let Kind::Pair(value, index) = named.kind {
            let at = value.size().next_multiple_of(index.size());
            end = at + index.size();
            if at > value.size() {
                let mut both = Builder::default();
                both.add(&layout_of(value), 0, 1, 0);
                both.add(&layout_of(index), at as isize, 1, 0);
                layout = both.build();
            }
        }
        let align = named.align();
        let extent = end.next_multiple_of(align) as isize;
        Type {
            size,
            extent,
            bounds: Bounds {
                upper: extent,
                true_upper: end as isize,
                align,
                ..Bounds::EMPTY
            },
            is_contiguous: layout.is_row(size) && extent == size as isize,
            layout,
            named: Some(named),
            parts: Vec::new(),
            elements: if let Kind::Pair(..) = named.kind {
                2
            } else {
                1
            },
            external: external::size(named),
            depth: 0,
            recipe: None,
            permanent: OnceCell::from(named.handle),
        }
    }

    /// Creates a type from copies of others.
    ///
    /// # Errors
    /// [`Class::Type`] if it is too large.
    fn of(copies: &[Copies<'_>], recipe: Recipe) -> Done<Self> {
        let mut layout = Builder::default();
        let mut bounds: Option<Bounds> = None;
        let mut data: Option<(isize, isize)> = None;
        let mut parts: Vec<(usize, Rc<Type>)> = Vec::new();
        for copy in copies {
            let (of, count) = (copy.of, copy.count);
            let all = count.checked_mul(copy.times).ok_or_else(too_large)?;
            let is_bound = of.bounds.is_lower_set || of.bounds.is_upper_set;
            if all == 0 || of.size == 0 && !is_bound {
                continue;
            }
            let block = of.bounds.repeated(copy.offset, count, of.extent);
            let block = block.and_then(|block| block.repeated(0, copy.times, copy.step));
            let block = block.ok_or_else(too_large)?;
            if of.size > 0 {
                let (lower, upper) = data.unwrap_or((isize::MAX, isize::MIN));
                data = Some((lower.min(block.true_lower), upper.max(block.true_upper)));
                let mut row = Builder::default();
                row.add(&of.layout, 0, count, of.extent);
                layout.add(&row.build(), copy.offset, copy.times, copy.step);
                match parts.last_mut() {
                    Some((count, last)) if Rc::ptr_eq(last, of) => {
                        *count = all.checked_add(*count).ok_or_else(too_large)?;
                    }
                    _ => parts.push((all, Rc::clone(of))),
                }
            }
            bounds = Some(match bounds {
                Some(bounds) => bounds.and(block),
                None => block,
            });
        }
        let mut bounds = bounds.unwrap_or(Bounds::EMPTY);
        (bounds.true_lower, bounds.true_upper) = data.unwrap_or((0, 0));
        Type::with(layout.build(), bounds, parts, recipe)
    }

    /// Creates a type that has a layout, bounds and parts.
    fn with(
        layout: Layout,
        bounds: Bounds,
        parts: Vec<(usize, Rc<Type>)>,
        recipe: Recipe,
    ) -> Done<Self> {
        let sum = |number: fn(&Type) -> usize| {
            let mut all = parts
                .iter()
                .map(|(count, part)| count.checked_mul(number(part)));
            let sum = all.try_fold(0usize, |sum, part| sum.checked_add(part?));
            let sum = sum.filter(|&sum| isize::try_from(sum).is_ok());
            sum.ok_or_else(too_large)
        };
        let extent = bounds
            .upper
            .checked_sub(bounds.lower)
            .ok_or_else(too_large)?;
        let size = sum(|part| part.size)?;
        let depth = parts.iter().map(|(_, part)| part.depth).max().unwrap_or(0) + 1;
        if depth > DEPTH {
            return fail!(
                Type,
                "the datatype is nested in more than {DEPTH} datatypes"
            );
        }
        Ok(Type {
            size,
            extent,
            bounds,
            is_contiguous: layout.is_row(size) && extent == size as isize,
            layout,
            named: None,
            elements: sum(|part| part.elements)?,
            external: sum(|part| part.external)?,
            parts,
            depth,
            recipe: Some(recipe),
            permanent: OnceCell::new(),
        })
    }

    /// Returns true if elements in a row are bytes in a row.
    #[inline]
    pub(crate) fn is_contiguous(&self) -> bool {
        self.is_contiguous
    }

    /// Returns the offsets of the first byte of `count` elements and of the end of the last.
    pub(crate) fn span(&self, count: usize) -> (isize, isize) {
        let (from, to) = (self.bounds.true_lower, self.bounds.true_upper);
        let more = self.extent * count.saturating_sub(1) as isize;
        (from + more.min(0), to + more.max(0))
    }

    /// Copies the data of `count` elements at `from` to the end of `to`.
    ///
    /// # Safety
    /// The elements must be readable.
    pub(crate) unsafe fn pack(&self, from: *const u8, count: usize, to: &mut Vec<u8>) {
        let bytes = self.size * count;
        to.reserve(bytes);
        // SAFETY: the elements are readable, and the vector has room for their data.
        unsafe {
            self.pack_to(from, count, to.as_mut_ptr().add(to.len()));
            to.set_len(to.len() + bytes);
        }
    }

    /// Copies the data of `count` elements at `from` to a row of bytes.
    ///
    /// # Safety
    /// The elements must be readable, and the row must have room for their data.
    pub(crate) unsafe fn pack_to(&self, from: *const u8, count: usize, to: *mut u8) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.layout.pack(from, count, self.extent, to) };
    }

    /// Copies data to the first elements of `count` at `to`, and returns the number of bytes that
    /// fit.
    ///
    /// # Safety
    /// The elements must be writable.
    pub(crate) unsafe fn unpack(&self, from: &[u8], to: *mut u8, count: usize) -> usize {
        // SAFETY: guaranteed by the caller.
        unsafe { self.layout.unpack(from, to, count, self.extent) }
    }

    /// Calls a function for each predefined type of `count` elements and the number of its
    /// consecutive elements, in the order of the data.
    fn signature(
        &self,
        count: usize,
        each: &mut impl FnMut(&'static Named, usize) -> Done,
    ) -> Done {
        if let Some(named) = self.named {
            return each(named, count);
        }
        if let [(times, part)] = &self.parts[..] {
            return part.signature(count * times, each);
        }
        for _ in 0..count {
            for (times, part) in &self.parts {
                part.signature(*times, each)?;
            }
        }
        Ok(())
    }

    /// Returns the number of predefined elements in the first bytes of elements, or `None` if the
    /// last one is not complete.
    pub(crate) fn elements_of(&self, bytes: usize) -> Option<usize> {
        if bytes == 0 {
            return Some(0);
        }
        let elements = bytes.checked_div(self.size)? * self.elements;
        let mut rest = bytes % self.size;
        if rest == 0 {
            return Some(elements);
        }
        if let Some(named) = self.named {
            let is_value = matches!(named.kind, Kind::Pair(value, _) if value.size() == rest);
            return is_value.then_some(elements + 1);
        }
        let mut sum = elements;
        for (count, part) in &self.parts {
            match rest.checked_sub(count * part.size) {
                Some(behind) => {
                    sum += count * part.elements;
                    rest = behind;
                }
                None => return Some(sum + part.elements_of(rest)?),
            }
        }
        Some(sum)
    }

    /// Returns the number of bytes of predefined elements, or `None` if it is too large.
    pub(crate) fn bytes_of(&self, elements: usize) -> Option<usize> {
        let Some(count) = elements.checked_div(self.elements) else {
            return (elements == 0).then_some(0);
        };
        let mut sum = count.checked_mul(self.size)?;
        let mut rest = elements % self.elements;
        if rest == 0 {
            return Some(sum);
        }
        if let Some(Kind::Pair(value, _)) = self.named.map(|named| named.kind) {
            return sum.checked_add(value.size());
        }
        for (count, part) in &self.parts {
            match rest.checked_sub(count * part.elements) {
                Some(behind) => {
                    sum += count * part.size;
                    rest = behind;
                }
                None => return sum.checked_add(part.bytes_of(rest)?),
            }
        }
        Some(sum)
    }
}

fn layout_of(number: Number) -> Layout {
    Layout::bytes(number.size())
}

impl Bounds {
    /// Returns the bounds of both.
    fn and(self, other: Bounds) -> Bounds {
        let lower = match (self.is_lower_set, other.is_lower_set) {
            (true, false) => self.lower,
            (false, true) => other.lower,
            _ => self.lower.min(other.lower),
        };
        let upper = match (self.is_upper_set, other.is_upper_set) {
            (true, false) => self.upper,
            (false, true) => other.upper,
            _ => self.upper.max(other.upper),
        };
        Bounds {
            lower,
            upper,
            is_lower_set: self.is_lower_set || other.is_lower_set,
            is_upper_set: self.is_upper_set || other.is_upper_set,
            align: self.align.max(other.align),
            ..self
        }
    }
}

/// A derived datatype of a rank.
#[derive(Debug)]
struct Entry {
    layout: Rc<Type>,
    is_committed: bool,
}

/// All derived datatypes of a rank.
#[derive(Default)]
pub(crate) struct Datatypes {
    table: RefCell<Table<Entry>>,
    /// Names that the program has given to datatypes.
    names: RefCell<HashMap<Datatype, Vec<u8>>>,
    /// Types of Fortran, by the functions and arguments that create them.
    f90: RefCell<HashMap<(c_int, c_int, c_int), Datatype>>,
}

impl Part for Datatypes {
    const SLOT: Slot = Slot::Datatypes;
}

impl Datatypes {
    /// Returns the type of a handle, for communication.
    ///
    /// # Errors
    /// [`Class::Type`] if the handle is null or invalid, or the type is not committed.
    #[inline]
    pub(crate) fn get(&self, handle: Datatype) -> Done<Rc<Type>> {
        if let Some(named) = predefined(handle) {
            return Ok(named);
        }
        match self.table.borrow().get(handle.0) {
            Some(found) if found.is_committed => Ok(Rc::clone(&found.layout)),
            Some(_) => fail!(Type, "the datatype {:#x} is not committed", handle.0),
            None => invalid(Class::Type, "datatype", handle.0),
        }
    }

    /// Returns the type of a handle, which need not be committed.
    ///
    /// # Errors
    /// [`Class::Type`] if the handle is null or invalid.
    pub(crate) fn any(&self, handle: Datatype) -> Done<Rc<Type>> {
        if let Some(named) = predefined(handle) {
            return Ok(named);
        }
        match self.table.borrow().get(handle.0) {
            Some(found) => Ok(Rc::clone(&found.layout)),
            None => invalid(Class::Type, "datatype", handle.0),
        }
    }

    /// Adds a type and returns its handle.
    fn add(&self, layout: Rc<Type>, is_committed: bool) -> Done<Datatype> {
        let entry = Entry {
            layout,
            is_committed,
        };
        let handle = self.table.borrow_mut().add(entry);
        let none = || Fail::new(Class::NoMem, "too many datatypes");
        handle.map(Datatype).ok_or_else(none)
    }

    /// Returns a temporary handle of a type if its handle is invalid now.
    pub(crate) fn lend(&self, handle: Datatype, layout: &Rc<Type>) -> Option<Datatype> {
        match self.any(handle) {
            Ok(_) => None,
            Err(_) => self.add(Rc::clone(layout), true).ok(),
        }
    }

    /// Invalidates a temporary handle.
    pub(crate) fn take_back(&self, handle: Datatype) {
        self.table.borrow_mut().remove(handle.0);
    }
}

thread_local! {
    static NAMED: Vec<Option<Rc<Type>>> = {
        let mut all = vec![None; 0x100];
        for named in named::LIST {
            all[named.handle.0 - Datatype::NULL.0] = Some(Rc::new(Type::named(named)));
        }
        all
    };
}

/// Returns the predefined datatype of a handle, or `None` if it is not one.
#[inline]
fn predefined(handle: Datatype) -> Option<Rc<Type>> {
    let at = handle.0.checked_sub(Datatype::NULL.0)?;
    NAMED.with(|named| named.get(at).cloned().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn int() -> Rc<Type> {
        predefined(Datatype(0x209)).unwrap()
    }

    fn copies(of: &Rc<Type>, offset: isize, count: usize, times: usize, step: isize) -> Copies<'_> {
        Copies {
            of,
            offset,
            count,
            times,
            step,
        }
    }

    #[test]
    fn pairs_have_the_layout_of_structs() {
        let double_int = predefined(Datatype(0x229)).unwrap();
        assert_eq!((double_int.size, double_int.extent), (12, 16));
        assert_eq!(double_int.bounds.true_upper, 12);
        let short_int = predefined(Datatype(0x22c)).unwrap();
        assert_eq!((short_int.size, short_int.extent), (6, 8));
        assert_eq!(short_int.span(1), (0, 8));
    }

    #[test]
    fn negative_strides_have_negative_lower_bounds() {
        let int = int();
        let of = Type::of(&[copies(&int, 0, 1, 3, -8)], Recipe::default()).unwrap();
        assert_eq!((of.bounds.lower, of.bounds.upper, of.extent), (-16, 4, 20));
        assert_eq!(of.span(2), (-16, 24));
    }

    #[test]
    fn partial_elements_are_counted() {
        let (int, pair) = (int(), predefined(Datatype(0x229)).unwrap());
        let both = [copies(&int, 0, 2, 1, 0), copies(&pair, 8, 2, 1, 0)];
        let of = Type::of(&both, Recipe::default()).unwrap();
        assert_eq!((of.size, of.elements), (32, 6));
        for (bytes, elements) in [(0, 0), (4, 1), (16, 3), (20, 4), (28, 5), (32, 6), (36, 7)] {
            assert_eq!(of.elements_of(bytes), Some(elements));
            assert_eq!(of.bytes_of(elements), Some(bytes));
        }
        assert_eq!(of.elements_of(5), None);
        assert_eq!(of.elements_of(18), None);
    }

    #[test]
    fn too_large_types_are_an_error() {
        let int = int();
        let large = copies(&int, 0, 1, 1 << 40, 1 << 40);
        assert!(Type::of(&[large], Recipe::default()).is_err());
    }
}
