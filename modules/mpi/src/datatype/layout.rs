//! The layout of datatypes in memory, and the functions that pack and unpack their elements.
//!
//! The map of a type (MPI 4.1, section 5.1) is stored as a tree: a predefined type, or blocks of
//! other types at displacements. Equal trees are stored once and never freed. Therefore a handle is
//! a reference, and equal handles are equal types, however often a program creates them.

use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::sync::{Mutex, OnceLock};

/// A predefined type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Basic {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    #[cfg(feature = "complex")]
    C32,
    #[cfg(feature = "complex")]
    C64,
}

impl Basic {
    /// Returns the size and the alignment in bytes.
    const fn measures(self) -> (usize, usize) {
        match self {
            Basic::Bool | Basic::I8 | Basic::U8 => (1, 1),
            Basic::I16 | Basic::U16 => (2, align_of::<u16>()),
            Basic::I32 | Basic::U32 => (4, align_of::<u32>()),
            Basic::F32 => (4, align_of::<f32>()),
            Basic::I64 | Basic::U64 => (8, align_of::<u64>()),
            Basic::F64 => (8, align_of::<f64>()),
            #[cfg(feature = "complex")]
            Basic::C32 => (8, align_of::<f32>()),
            #[cfg(feature = "complex")]
            Basic::C64 => (16, align_of::<f64>()),
        }
    }
}

/// Elements of a type at a displacement in bytes, repeated at regular distances. A vector of any
/// length is thus one block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    displacement: isize,
    /// Number of consecutive elements.
    count: usize,
    of: &'static Layout,
    /// Number of repetitions.
    times: usize,
    /// Bytes from one repetition to the next, or 0 if there is only one.
    step: isize,
}

impl Block {
    /// Creates a block of consecutive elements.
    pub(crate) fn new(displacement: isize, count: usize, of: &'static Layout) -> Self {
        Block::repeated((displacement, count, of), 1, 0)
    }

    /// Creates a block of consecutive elements, repeated `times` times at a distance of `step`
    /// bytes.
    pub(crate) fn repeated(
        (displacement, count, of): (isize, usize, &'static Layout),
        times: usize,
        step: isize,
    ) -> Self {
        Block {
            displacement,
            count,
            of,
            times,
            step,
        }
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Self) -> bool {
        let numbers = |of: &Self| (of.displacement, of.count, of.times, of.step);
        std::ptr::eq(self.of, other.of) && numbers(self) == numbers(other)
    }
}

impl Eq for Block {}

impl Hash for Block {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let numbers = (self.displacement, self.count, self.times, self.step);
        (numbers, std::ptr::from_ref(self.of)).hash(state);
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum Shape {
    Basic(Basic),
    Blocks(Vec<Block>),
}

/// Handle of a datatype. Equal datatypes have equal handles, even if they were created separately.
#[allow(non_camel_case_types)]
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct MPI_Datatype(pub(crate) &'static Layout);

impl PartialEq for MPI_Datatype {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for MPI_Datatype {}

macro_rules! constants {
    ($($name:ident $basic:ident)*) => {
        $(#[allow(missing_docs)] pub const $name: MPI_Datatype = MPI_Datatype(Layout::basic(Basic::$basic));)*
    };
}

constants! {
    RSMPI_C_BOOL Bool
    RSMPI_INT8_T I8 RSMPI_INT16_T I16 RSMPI_INT32_T I32 RSMPI_INT64_T I64
    RSMPI_UINT8_T U8 RSMPI_UINT16_T U16 RSMPI_UINT32_T U32 RSMPI_UINT64_T U64
    RSMPI_FLOAT F32 RSMPI_DOUBLE F64
}

/// The extent of a datatype that is made of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// From the first byte to the last.
    Span,
    /// As `Span`, rounded up to a multiple of the alignment, like a struct with such fields.
    Rounded,
    /// The given number of bytes, which contain all blocks and begin at displacement 0.
    #[cfg(feature = "derive")]
    Of(usize),
}

/// The layout of a datatype.
#[derive(Debug)]
pub(crate) struct Layout {
    shape: Shape,
    /// Size of a packed element in bytes.
    pub(crate) size: usize,
    /// Bytes from an element to the next.
    pub(crate) extent: isize,
    /// Offset of the first byte of an element.
    lower: isize,
    /// Offset behind the last byte of an element.
    upper: isize,
    align: usize,
    /// True if elements in memory equal packed elements, without gaps.
    dense: bool,
    /// True if some values of the bytes are not valid elements.
    checked: bool,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        let measures = |of: &Self| (of.extent, of.lower, of.upper);
        self.shape == other.shape && measures(self) == measures(other)
    }
}

impl Eq for Layout {}

impl Hash for Layout {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.shape, self.extent).hash(state);
    }
}

/// Message of panics for types that have more bytes than there are addresses.
const TOO_LARGE: &str = "the size or extent of the datatype exceeds the address space";

/// Returns the stored layout that is equal to `layout`, and stores `layout` if there is none.
/// Stored layouts are never freed.
fn interned(layout: Layout) -> &'static Layout {
    static KEPT: OnceLock<Mutex<HashSet<&'static Layout>>> = OnceLock::new();
    let kept = KEPT.get_or_init(Mutex::default).lock();
    // While the lock is held, only an allocation can panic.
    let mut kept = kept.unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(found) = kept.get(&layout) {
        return found;
    }
    let layout: &'static Layout = Box::leak(Box::new(layout));
    kept.insert(layout);
    layout
}

impl Layout {
    const fn predefined(basic: Basic) -> Layout {
        let (size, align) = basic.measures();
        Layout {
            shape: Shape::Basic(basic),
            size,
            extent: size.cast_signed(),
            lower: 0,
            upper: size.cast_signed(),
            align,
            dense: true,
            checked: matches!(basic, Basic::Bool),
        }
    }

    /// Returns the layout of a predefined type.
    pub(crate) const fn basic(basic: Basic) -> &'static Layout {
        macro_rules! kept {
            ($($(#[$only:meta])? $basic:ident)*) => {
                match basic {
                    $($(#[$only])? Basic::$basic => {
                        static KEPT: Layout = Layout::predefined(Basic::$basic);
                        &KEPT
                    })*
                }
            };
        }
        kept! {
            Bool I8 I16 I32 I64 U8 U16 U32 U64 F32 F64
            #[cfg(feature = "complex")] C32
            #[cfg(feature = "complex")] C64
        }
    }

    /// Returns the layout of blocks, which are packed in the given order. Blocks without elements
    /// have no effect. `apart` determines the extent: the bytes from the first to the last
    /// (`Span`), the same rounded up to a multiple of the largest alignment (`Rounded`), or a given
    /// number of bytes (`Of`).
    ///
    /// # Panics
    /// If the size or extent exceeds the address space. With `Extent::Of`, also if a block is not
    /// within the given bytes.
    #[track_caller]
    pub(crate) fn blocks(blocks: Vec<Block>, apart: Extent) -> &'static Layout {
        // Merge consecutive blocks, then equal blocks at equal distances.
        let mut joined: Vec<Block> = Vec::new();
        for block in blocks.into_iter().filter_map(Block::simplified) {
            match joined.last_mut() {
                Some(last) if last.is_before(&block) => last.count += block.count,
                _ => joined.push(block),
            }
        }
        let mut runs: Vec<Block> = Vec::new();
        for block in joined {
            match runs
                .last_mut()
                .and_then(|run| Some((run.step_to(&block)?, run)))
            {
                Some((step, run)) => (run.times, run.step) = (run.times + 1, step),
                None => runs.push(block),
            }
        }
        let joined = runs;
        if let ([one], Extent::Span) = (&joined[..], apart)
            && (one.displacement, one.count, one.times) == (0, 1, 1)
        {
            return one.of;
        }
        let (mut size, mut lower, mut upper) = (0_usize, isize::MAX, isize::MIN);
        for block in &joined {
            let bytes = block.size().and_then(|bytes| size.checked_add(bytes));
            size = bytes
                .filter(|&bytes| isize::try_from(bytes).is_ok())
                .expect(TOO_LARGE);
            let (from, to) = block.bounds().expect(TOO_LARGE);
            (lower, upper) = (lower.min(from), upper.max(to));
        }
        if joined.is_empty() {
            (lower, upper) = (0, 0);
        }
        let align = joined.iter().map(|block| block.of.align).max().unwrap_or(1);
        let mut extent = upper.checked_sub(lower).expect(TOO_LARGE);
        #[cfg(feature = "derive")]
        if let Extent::Of(bytes) = apart {
            let within = lower >= 0 && upper.cast_unsigned() <= bytes;
            assert!(
                within,
                "fields of the datatype extend beyond the {bytes} bytes of its struct"
            );
            extent = bytes.cast_signed();
            (lower, upper) = (0, extent);
        }
        if apart == Extent::Rounded {
            let beyond = extent.rem_euclid(align.cast_signed());
            if beyond > 0 {
                extent = extent
                    .checked_add(align.cast_signed() - beyond)
                    .expect(TOO_LARGE);
            }
        }
        let mut end = 0;
        let mut in_order = |block: &Block| {
            let follows = block.of.dense && block.times == 1 && block.displacement == end;
            // Cannot overflow: a dense block is as large as its bounds, which were computed with
            // checks.
            end += if follows {
                (block.count * block.of.size).cast_signed()
            } else {
                0
            };
            follows
        };
        let dense = joined.iter().all(&mut in_order) && extent == size.cast_signed();
        interned(Layout {
            size,
            extent,
            lower,
            upper,
            align,
            dense,
            checked: joined.iter().any(|block| block.of.checked),
            shape: Shape::Blocks(joined),
        })
    }

    /// Returns the predefined type of all parts of an element, and the number of parts. Returns
    /// `None` if they differ in type, or do not exist.
    pub(crate) fn uniform(&self) -> Option<(Basic, usize)> {
        match &self.shape {
            Shape::Basic(basic) => Some((*basic, 1)),
            Shape::Blocks(blocks) => {
                let mut found: Option<(Basic, usize)> = None;
                for block in blocks {
                    let (basic, count) = block.of.uniform()?;
                    let count = count * block.count * block.times;
                    found = match found {
                        None => Some((basic, count)),
                        Some((before, sum)) if before == basic => Some((basic, sum + count)),
                        Some(_) => return None,
                    };
                }
                found
            }
        }
    }

    /// Returns true if an element is within a value of `size` bytes: its bytes are at offsets from
    /// 0 to `size`.
    pub(crate) fn is_within(&self, size: usize) -> bool {
        self.lower >= 0 && self.upper.cast_unsigned() <= size
    }

    /// Returns true if elements have the positions of consecutive values of `size` bytes: an
    /// element is within a value, and the extent is `size`.
    pub(crate) fn is_spaced(&self, size: usize) -> bool {
        self.is_within(size) && self.extent.cast_unsigned() == size
    }

    /// Returns true if elements have `size` bytes, which are equal in memory and packed, and any
    /// bytes are a valid element.
    #[inline]
    pub(crate) fn is_plain(&self, size: usize) -> bool {
        self.dense && !self.checked && self.size == size
    }

    /// Returns the size of `count` packed elements in bytes.
    ///
    /// # Panics
    /// If the size exceeds the address space.
    #[track_caller]
    pub(crate) fn packed(&self, count: usize) -> usize {
        self.size.checked_mul(count).expect(TOO_LARGE)
    }

    /// Returns the memory of `count` elements as packed elements, or `None` if elements in memory
    /// differ from packed elements.
    ///
    /// # Panics
    /// If the size exceeds the address space.
    ///
    /// # Safety
    /// `from` must point to `count` readable elements, which must not be written to during `'a`.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn as_packed<'a>(&self, from: *const u8, count: usize) -> Option<&'a [u8]> {
        if !self.dense {
            return None;
        }
        match self.packed(count) {
            // The pointer may be invalid if there are no bytes.
            0 => Some(&[]),
            // SAFETY: the elements are readable, by the contract of this function. They are dense,
            // so all bytes belong to elements and are initialized.
            bytes => Some(unsafe { std::slice::from_raw_parts(from, bytes) }),
        }
    }

    /// Returns an empty buffer with capacity for `count` packed elements.
    ///
    /// # Panics
    /// If there is not enough memory, or the size exceeds the address space.
    #[track_caller]
    pub(crate) fn buffer(&self, count: usize) -> Vec<u8> {
        let (bytes, mut buffer) = (self.packed(count), Vec::new());
        match buffer.try_reserve_exact(bytes) {
            Ok(()) => buffer,
            Err(_) => {
                panic!("no memory for {count} elements of a datatype ({bytes} bytes when packed)")
            }
        }
    }

    /// Packs `count` elements and appends them to a buffer. Panics if the size of the packed
    /// elements exceeds the address space.
    ///
    /// # Safety
    /// `from` must point to `count` readable elements.
    pub(crate) unsafe fn pack(&self, from: *const u8, count: usize, into: &mut Vec<u8>) {
        // SAFETY: by the contract of this function.
        if let Some(bytes) = unsafe { self.as_packed(from, count) } {
            into.extend_from_slice(bytes);
            return;
        }
        let Shape::Blocks(blocks) = &self.shape else {
            return;
        };
        // Elements of size 0 need no loop.
        let count = if self.size == 0 { 0 } else { count };
        for at in 0..count {
            let base = from.wrapping_offset(at.cast_signed() * self.extent);
            for block in blocks {
                let mut from = base.wrapping_offset(block.displacement);
                for _ in 0..block.times {
                    // SAFETY: the block is part of a readable element.
                    unsafe { block.of.pack(from, block.count, into) };
                    from = from.wrapping_offset(block.step);
                }
            }
        }
    }

    /// Unpacks up to `count` elements from the beginning of `from`, and removes their bytes. Stops
    /// at the end of `from`. Returns `None` if a byte is not a valid `bool`. Some elements may have
    /// been written then. If `from` ends within an element, the element is written in part.
    ///
    /// # Panics
    /// If the size exceeds the address space.
    ///
    /// # Safety
    /// `to` must point to `count` writable elements.
    #[must_use]
    pub(crate) unsafe fn unpack(&self, to: *mut u8, count: usize, from: &mut &[u8]) -> Option<()> {
        if self.dense && (!self.checked || matches!(self.shape, Shape::Basic(_))) {
            let bytes = self.packed(count).min(from.len());
            let (these, rest) = from.split_at(bytes);
            if self.checked && these.iter().any(|&byte| byte > 1) {
                return None;
            }
            // SAFETY: the elements are equal in memory and packed, and `to` has space for them.
            unsafe { std::ptr::copy_nonoverlapping(these.as_ptr(), to, bytes) };
            *from = rest;
            return Some(());
        }
        let Shape::Blocks(blocks) = &self.shape else {
            return Some(());
        };
        let count = if self.size == 0 { 0 } else { count };
        for at in 0..count {
            let base = to.wrapping_offset(at.cast_signed() * self.extent);
            for block in blocks {
                let mut to = base.wrapping_offset(block.displacement);
                for _ in 0..block.times {
                    if from.is_empty() {
                        return Some(());
                    }
                    // SAFETY: the block is part of a writable element.
                    unsafe { block.of.unpack(to, block.count, from) }?;
                    to = to.wrapping_offset(block.step);
                }
            }
        }
        Some(())
    }

    /// Returns the first offset and the end of `count` elements that begin at offset 0, in bytes.
    /// Returns `None` if the range exceeds the address space.
    pub(crate) fn reach(&'static self, count: usize) -> Option<(isize, isize)> {
        let all = Block::new(0, count, self);
        match count {
            0 => Some((0, 0)),
            _ => all.bounds(),
        }
    }
}

impl Block {
    /// Returns the block in its canonical form, or `None` if it has no elements. Repetitions
    /// without gaps become one sequence of elements that is not repeated.
    fn simplified(self) -> Option<Block> {
        if self.count == 0 || self.times == 0 {
            return None;
        }
        let in_a_row = self.count.checked_mul(self.times);
        let in_a_row = in_a_row.filter(|_| self.times == 1 || self.span() == Some(self.step));
        Some(match in_a_row {
            Some(count) => Block::new(self.displacement, count, self.of),
            None => self,
        })
    }

    /// Returns the number of bytes from the first element of a repetition to the end of its last
    /// one, or `None` if it exceeds the address space.
    fn span(&self) -> Option<isize> {
        isize::try_from(self.count)
            .ok()?
            .checked_mul(self.of.extent)
    }

    /// Returns true if `other` follows this block without a gap and can be merged with it: both
    /// have the same element type, and are not repeated.
    fn is_before(&self, other: &Block) -> bool {
        let end = self
            .span()
            .and_then(|bytes| self.displacement.checked_add(bytes));
        let is_same = std::ptr::eq(self.of, other.of) && (self.times, other.times) == (1, 1);
        is_same && end == Some(other.displacement)
    }

    /// Returns the step, in bytes, with which `other` is the next repetition of this block. Returns
    /// `None` if `other` differs in type or count, is repeated itself, or is not at the step of a
    /// block that is already repeated.
    fn step_to(&self, other: &Block) -> Option<isize> {
        let is_same = std::ptr::eq(self.of, other.of) && self.count == other.count;
        if !is_same || other.times > 1 {
            return None;
        }
        let last = self.displacement.checked_add(self.last()?)?;
        let step = other.displacement.checked_sub(last)?;
        (self.times == 1 || step == self.step).then_some(step)
    }

    /// Returns the number of bytes from the first repetition to the last, which is negative if the
    /// step is, or `None` if it exceeds the address space.
    fn last(&self) -> Option<isize> {
        let steps = isize::try_from(self.times).ok()?.checked_sub(1)?;
        steps.checked_mul(self.step)
    }

    /// Returns the size of the packed elements in bytes, or `None` if it exceeds the address space.
    fn size(&self) -> Option<usize> {
        self.count
            .checked_mul(self.times)?
            .checked_mul(self.of.size)
    }

    /// Returns the offsets of the first byte and behind the last byte of all repetitions, or `None`
    /// if they exceed the address space. The block must have elements.
    fn bounds(&self) -> Option<(isize, isize)> {
        let last = isize::try_from(self.count).ok()?.checked_sub(1)?;
        let last = last.checked_mul(self.of.extent)?;
        let (first, last) = (last.min(0), last.max(0));
        let from = self.displacement.checked_add(self.of.lower)?;
        let to = from.checked_add(self.of.extent)?.checked_add(last)?;
        // Include the first and the last repetition.
        let steps = self.last()?;
        let (before, behind) = (steps.min(0), steps.max(0));
        let from = from.checked_add(first)?.checked_add(before)?;
        Some((from, to.checked_add(behind)?))
    }
}
