//! What a datatype looks like in memory, and how its elements are packed and unpacked.
//!
//! The map of a type (MPI 4.1, section 5.1) is kept as a tree: a predefined type, or blocks of other types at displacements.
//! Trees that are equal are kept once for all and never freed, so a handle is a reference and equal handles are equal types,
//! however often a program makes them.

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
    /// Its size and alignment.
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

/// Elements of a type at a displacement in bytes, and the same again at regular distances: a vector of any length is one
/// block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Block {
    displacement: isize,
    /// Elements one behind the other.
    count: usize,
    of: &'static Layout,
    /// How often they are there.
    times: usize,
    /// Bytes from one time to the next; 0 if there is no next.
    step: isize,
}

impl Block {
    /// Elements one behind the other.
    pub(crate) fn new(displacement: isize, count: usize, of: &'static Layout) -> Self {
        Block::repeated((displacement, count, of), 1, 0)
    }

    /// The same elements several times, `step` bytes apart.
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

/// A datatype. Types that are made alike are the same one.
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

/// How far elements that are made of blocks are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// From their first byte to their last.
    Span,
    /// That, and on to a multiple of their alignment: as a struct of such fields.
    Rounded,
    /// So many bytes, which they all begin at 0 of.
    #[cfg(feature = "derive")]
    Of(usize),
}

/// The layout of a datatype.
#[derive(Debug)]
pub(crate) struct Layout {
    shape: Shape,
    /// How many bytes an element has when packed.
    pub(crate) size: usize,
    /// From an element to the next.
    pub(crate) extent: isize,
    lower: isize,
    /// Behind the last byte that it has.
    upper: isize,
    align: usize,
    /// Elements are packed as they lie, one behind the other.
    dense: bool,
    /// Not every byte is a value of it.
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

/// A type has more bytes than there are addresses.
const TOO_LARGE: &str = "the size or extent of the datatype exceeds the address space";

/// The one that is equal to it of those that are kept.
fn interned(layout: Layout) -> &'static Layout {
    static KEPT: OnceLock<Mutex<HashSet<&'static Layout>>> = OnceLock::new();
    let kept = KEPT.get_or_init(Mutex::default).lock();
    // Nothing panics while it is locked but the allocator.
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

    /// The layout of a predefined type.
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

    /// The layout of blocks, in the order in which they are packed.
    ///
    /// # Panics
    /// If it is too large.
    #[track_caller]
    pub(crate) fn blocks(blocks: Vec<Block>, apart: Extent) -> &'static Layout {
        // Blocks that follow each other become one, and so do equal blocks at equal distances.
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
            // As many bytes as its extent, which was checked.
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

    /// The predefined type that its elements are all of, and how many of them it has.
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

    /// Whether an element is within a value of so many bytes.
    pub(crate) fn is_within(&self, size: usize) -> bool {
        self.lower >= 0 && self.upper.cast_unsigned() <= size
    }

    /// Whether elements are where values of so many bytes are that follow each other.
    pub(crate) fn is_spaced(&self, size: usize) -> bool {
        self.is_within(size) && self.extent.cast_unsigned() == size
    }

    /// Whether an element is any so many bytes, which lie in memory as they are packed.
    #[inline]
    pub(crate) fn is_plain(&self, size: usize) -> bool {
        self.dense && !self.checked && self.size == size
    }

    /// How many bytes so many elements have when packed.
    ///
    /// # Panics
    /// If that is more than there can be.
    #[track_caller]
    pub(crate) fn packed(&self, count: usize) -> usize {
        self.size.checked_mul(count).expect(TOO_LARGE)
    }

    /// Elements that lie as they are packed; `None`: they do not.
    ///
    /// # Safety
    /// As many elements have to be readable there, and nobody may write to them in `'a`.
    #[inline]
    #[track_caller]
    pub(crate) unsafe fn as_packed<'a>(&self, from: *const u8, count: usize) -> Option<&'a [u8]> {
        if !self.dense {
            return None;
        }
        match self.packed(count) {
            // Where nothing is there may be no place for it.
            0 => Some(&[]),
            // SAFETY: they are there, by the caller's promise, and have no bytes that are nobody's.
            bytes => Some(unsafe { std::slice::from_raw_parts(from, bytes) }),
        }
    }

    /// Returns an empty buffer with room for packed elements.
    ///
    /// # Panics
    /// If there is not as much memory.
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

    /// Packs elements behind what there is.
    ///
    /// # Safety
    /// As many elements have to be readable there.
    pub(crate) unsafe fn pack(&self, from: *const u8, count: usize, into: &mut Vec<u8>) {
        // SAFETY: as the caller says.
        if let Some(bytes) = unsafe { self.as_packed(from, count) } {
            into.extend_from_slice(bytes);
            return;
        }
        let Shape::Blocks(blocks) = &self.shape else {
            return;
        };
        // Nothing, however often.
        let count = if self.size == 0 { 0 } else { count };
        for at in 0..count {
            let base = from.wrapping_offset(at.cast_signed() * self.extent);
            for block in blocks {
                let mut from = base.wrapping_offset(block.displacement);
                for _ in 0..block.times {
                    // SAFETY: parts of an element that is readable.
                    unsafe { block.of.pack(from, block.count, into) };
                    from = from.wrapping_offset(block.step);
                }
            }
        }
    }

    /// Unpacks elements from the beginning of some bytes, which are cut off, and stops where these end; `None`: a byte is
    /// no value.
    ///
    /// # Safety
    /// As many elements have to be writable there.
    #[must_use]
    pub(crate) unsafe fn unpack(&self, to: *mut u8, count: usize, from: &mut &[u8]) -> Option<()> {
        if self.dense && (!self.checked || matches!(self.shape, Shape::Basic(_))) {
            let bytes = self.packed(count).min(from.len());
            let (these, rest) = from.split_at(bytes);
            if self.checked && these.iter().any(|&byte| byte > 1) {
                return None;
            }
            // SAFETY: elements lie there as they are packed, and there is room for as many.
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
                    // SAFETY: parts of an element that is writable.
                    unsafe { block.of.unpack(to, block.count, from) }?;
                    to = to.wrapping_offset(block.step);
                }
            }
        }
        Some(())
    }

    /// From where to where elements reach that begin at 0, so that room can be made for them.
    pub(crate) fn reach(&'static self, count: usize) -> Option<(isize, isize)> {
        let all = Block::new(0, count, self);
        match count {
            0 => Some((0, 0)),
            _ => all.bounds(),
        }
    }
}

impl Block {
    /// Returns the block in its only form; none if it has no elements.
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

    /// Bytes from the first of its elements to the one behind the last, of one time.
    fn span(&self) -> Option<isize> {
        isize::try_from(self.count)
            .ok()?
            .checked_mul(self.of.extent)
    }

    /// Whether another follows it without a gap.
    fn is_before(&self, other: &Block) -> bool {
        let end = self
            .span()
            .and_then(|bytes| self.displacement.checked_add(bytes));
        let is_same = std::ptr::eq(self.of, other.of) && (self.times, other.times) == (1, 1);
        is_same && end == Some(other.displacement)
    }

    /// Returns the step with which another block is the next time of this one.
    fn step_to(&self, other: &Block) -> Option<isize> {
        let is_same = std::ptr::eq(self.of, other.of) && self.count == other.count;
        if !is_same || other.times > 1 {
            return None;
        }
        let last = self.displacement.checked_add(self.last()?)?;
        let step = other.displacement.checked_sub(last)?;
        (self.times == 1 || step == self.step).then_some(step)
    }

    /// Bytes from the first time to the last.
    fn last(&self) -> Option<isize> {
        let steps = isize::try_from(self.times).ok()?.checked_sub(1)?;
        steps.checked_mul(self.step)
    }

    /// Bytes of its elements when packed.
    fn size(&self) -> Option<usize> {
        self.count
            .checked_mul(self.times)?
            .checked_mul(self.of.size)
    }

    /// The first byte that it has, and the one behind the last.
    fn bounds(&self) -> Option<(isize, isize)> {
        let last = isize::try_from(self.count).ok()?.checked_sub(1)?;
        let last = last.checked_mul(self.of.extent)?;
        let (first, last) = (last.min(0), last.max(0));
        let from = self.displacement.checked_add(self.of.lower)?;
        let to = from.checked_add(self.of.extent)?.checked_add(last)?;
        // And the first and the last time.
        let steps = self.last()?;
        let (before, behind) = (steps.min(0), steps.max(0));
        let from = from.checked_add(first)?.checked_add(before)?;
        Some((from, to.checked_add(behind)?))
    }
}
