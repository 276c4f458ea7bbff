//! Layout of the data of a datatype in memory, and the loops that copy it.

use std::rc::Rc;

/// Number of blocks that are copied into the layout that contains them once. A layout with more
/// blocks is referred to.
const FEW: usize = 8;

/// A body at an offset, repeated at regular distances.
#[derive(Debug, Clone)]
struct Block {
    offset: isize,
    times: usize,
    /// Distance in bytes from one repetition to the next.
    step: isize,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    /// Bytes in a row.
    Bytes(usize),
    /// Many single runs: their offsets and lengths. They take less memory than blocks, which is read
    /// for each copy.
    Rows(Rc<[(isize, usize)]>),
    Blocks(Rc<[Block]>),
}

/// Runs of bytes, in the order of the type map.
#[derive(Debug, Clone)]
pub(super) struct Layout(Rc<[Block]>);

/// Layout under construction.
#[derive(Debug, Default)]
pub(super) struct Builder(Vec<Block>);

impl Builder {
    /// Adds `times` copies of a layout, the first at `offset`, at distances of `step` bytes.
    pub(super) fn add(&mut self, layout: &Layout, offset: isize, times: usize, step: isize) {
        match &*layout.0 {
            _ if times == 0 => {}
            few if times == 1 && few.len() <= FEW => {
                for block in few {
                    let mut block = block.clone();
                    block.offset += offset;
                    self.push(block);
                }
            }
            // The copies continue the repetition of the only block.
            [one] if one.times == 1 || one.step * one.times as isize == step => self.push(Block {
                offset: offset + one.offset,
                times: times * one.times,
                step: if one.times == 1 { step } else { one.step },
                body: one.body.clone(),
            }),
            _ => self.push(Block {
                offset,
                times,
                step,
                body: Body::Blocks(Rc::clone(&layout.0)),
            }),
        }
    }

    /// Adds a block, as part of the last one if it continues that.
    fn push(&mut self, mut block: Block) {
        if let Body::Bytes(length) = &mut block.body
            && *length as isize == block.step
        {
            *length *= block.times;
            block.times = 1;
        }
        let Some(last) = self.0.last_mut() else {
            return self.0.push(block);
        };
        if let (Body::Bytes(before), Body::Bytes(length)) = (&mut last.body, &block.body)
            && block.times == 1
        {
            let distance = block.offset - last.offset;
            if last.times == 1 && distance == *before as isize {
                *before += length;
                return;
            }
            if before == length && last.times == 1 {
                last.step = distance;
            }
            if before == length && distance == last.times as isize * last.step {
                last.times += 1;
                return;
            }
        }
        self.0.push(block);
    }

    pub(super) fn build(self) -> Layout {
        let row = |block: &Block| match block.body {
            Body::Bytes(length) if block.times == 1 => Some((block.offset, length)),
            _ => None,
        };
        if self.0.len() <= FEW {
            return Layout(self.0.into());
        }
        match self.0.iter().map(row).collect() {
            Some(rows) => Layout(Rc::new([Block {
                offset: 0,
                times: 1,
                step: 0,
                body: Body::Rows(rows),
            }])),
            None => Layout(self.0.into()),
        }
    }
}

impl Layout {
    /// Creates the layout of bytes in a row.
    pub(super) fn bytes(size: usize) -> Self {
        Layout::run(0, size)
    }

    /// Creates the layout of bytes in a row at an offset.
    pub(super) fn run(offset: isize, size: usize) -> Self {
        let block = Block {
            offset,
            times: 1,
            step: 0,
            body: Body::Bytes(size),
        };
        Layout(Rc::new([block]))
    }

    /// Returns true if the data is `size` bytes in a row at offset 0.
    pub(super) fn is_row(&self, size: usize) -> bool {
        match &*self.0 {
            [] => size == 0,
            [one] => {
                one.offset == 0
                    && one.times == 1
                    && matches!(one.body, Body::Bytes(length) if length == size)
            }
            _ => false,
        }
    }

    /// Visits the runs of bytes of `count` copies at distances of `extent`, until a visit returns
    /// false.
    fn visit(&self, count: usize, extent: isize, visitor: &mut impl Visitor) {
        if let [one] = &*self.0
            && let Body::Bytes(length) = one.body
            && one.times == 1
        {
            visitor.visit(Runs {
                offset: one.offset,
                length,
                times: count,
                step: extent,
            });
            return;
        }
        for at in 0..count as isize {
            if !walk(&self.0, at * extent, visitor) {
                return;
            }
        }
    }

    /// Copies the data of `count` copies at distances of `extent` to a row of bytes.
    ///
    /// # Safety
    /// The data must be readable, and the row must have room for it.
    pub(super) unsafe fn pack(&self, from: *const u8, count: usize, extent: isize, to: *mut u8) {
        self.visit(count, extent, &mut Pack { from, to });
    }

    /// Copies a row of bytes to `count` copies at distances of `extent`, until one of them ends.
    /// Returns the number of bytes that were copied.
    ///
    /// # Safety
    /// The data must be writable.
    pub(super) unsafe fn unpack(
        &self,
        from: &[u8],
        to: *mut u8,
        count: usize,
        extent: isize,
    ) -> usize {
        let mut unpack = Unpack { from, to, done: 0 };
        self.visit(count, extent, &mut unpack);
        unpack.done
    }
}

fn walk(blocks: &[Block], base: isize, visitor: &mut impl Visitor) -> bool {
    for block in blocks {
        let goes_on = match &block.body {
            Body::Bytes(length) => visitor.visit(Runs {
                offset: base + block.offset,
                length: *length,
                times: block.times,
                step: block.step,
            }),
            Body::Rows(rows) => (0..block.times as isize).all(|at| {
                let base = base + block.offset + at * block.step;
                rows.iter().all(|&(offset, length)| {
                    visitor.visit(Runs {
                        offset: base + offset,
                        length,
                        times: 1,
                        step: 0,
                    })
                })
            }),
            Body::Blocks(inner) => (0..block.times as isize)
                .all(|at| walk(inner, base + block.offset + at * block.step, visitor)),
        };
        if !goes_on {
            return false;
        }
    }
    true
}

/// Gets the runs of a layout in order. The creator guarantees that the runs may be copied.
trait Visitor {
    /// Copies runs. Returns false if no further ones are to be copied.
    fn visit(&mut self, runs: Runs) -> bool;
}

/// Copies from elements to a row.
struct Pack {
    from: *const u8,
    to: *mut u8,
}

impl Visitor for Pack {
    #[inline(always)]
    fn visit(&mut self, runs: Runs) -> bool {
        // SAFETY: guaranteed by the creator. The runs are part of the data.
        unsafe { runs.copy(Way::Pack(self.from, self.to)) };
        self.to = self.to.wrapping_add(runs.length * runs.times);
        true
    }
}

/// Copies from a row to elements, until the row ends.
struct Unpack<'a> {
    from: &'a [u8],
    to: *mut u8,
    done: usize,
}

impl Visitor for Unpack<'_> {
    #[inline(always)]
    fn visit(&mut self, runs: Runs) -> bool {
        let (rest, whole) = (&self.from[self.done..], runs.length * runs.times);
        if rest.len() < whole {
            self.end(runs);
            return false;
        }
        // SAFETY: guaranteed by the creator, and `rest` has the bytes of these runs.
        unsafe { runs.copy(Way::Unpack(rest.as_ptr(), self.to)) };
        self.done += whole;
        true
    }
}

impl Unpack<'_> {
    /// Copies the rest of the row, which is shorter than the runs.
    #[cold]
    fn end(&mut self, mut runs: Runs) {
        let rest = &self.from[self.done..];
        runs.times = rest.len() / runs.length;
        let part = &rest[runs.length * runs.times..];
        let at = runs.offset + runs.times as isize * runs.step;
        let at = self.to.wrapping_offset(at);
        // SAFETY: as above. The part is less than a run.
        unsafe {
            runs.copy(Way::Unpack(rest.as_ptr(), self.to));
            std::ptr::copy(part.as_ptr(), at, part.len());
        }
        self.done = self.from.len();
    }
}

/// Largest number of bytes that are copied without a call of `memmove`.
const SHORT: usize = 128;

/// Copies bytes. They do not overlap.
///
/// # Safety
/// The source must be readable, and the target writable.
#[inline(always)]
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    /// Copies the first and the last bytes. The parts may overlap.
    ///
    /// # Safety
    /// As for [`copy`]. There must be at least as many bytes as `T` has.
    #[inline(always)]
    unsafe fn ends<T>(from: *const u8, to: *mut u8, length: usize) {
        let last = length - size_of::<T>();
        for at in [0, last] {
            let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
            // SAFETY: guaranteed by the caller.
            unsafe {
                to.cast::<T>()
                    .write_unaligned(from.cast::<T>().read_unaligned())
            };
        }
    }
    // SAFETY: guaranteed by the caller.
    unsafe {
        match length {
            8..=16 => ends::<u64>(from, to, length),
            17..=32 => ends::<u128>(from, to, length),
            33..=SHORT => {
                for at in (0..length - 32).step_by(16) {
                    let (from, to) = (from.wrapping_add(at), to.wrapping_add(at));
                    ends::<u128>(from, to, 16);
                }
                let rest = length - 32;
                ends::<u128>(from.wrapping_add(rest), to.wrapping_add(rest), 32);
            }
            _ => std::ptr::copy(from, to, length),
        }
    }
}

/// Runs of equal length at regular distances.
#[derive(Debug, Clone, Copy)]
struct Runs {
    offset: isize,
    length: usize,
    times: usize,
    step: isize,
}

/// Direction of a copy.
#[derive(Clone, Copy)]
enum Way {
    /// From elements to a row.
    Pack(*const u8, *mut u8),
    /// From a row to elements.
    Unpack(*const u8, *mut u8),
}

impl Runs {
    /// Copies the runs.
    ///
    /// # Safety
    /// The source must be readable, and the target writable.
    #[inline(always)]
    unsafe fn copy(self, way: Way) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.times {
                1 => self.each::<0>(way),
                _ => self.copy_several(way),
            }
        }
    }

    /// Copies several runs.
    ///
    /// # Safety
    /// As for [`Runs::copy`].
    unsafe fn copy_several(self, way: Way) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            match self.length {
                1 => self.each::<1>(way),
                2 => self.each::<2>(way),
                4 => self.each::<4>(way),
                8 => self.each::<8>(way),
                12 => self.each::<12>(way),
                16 => self.each::<16>(way),
                24 => self.each::<24>(way),
                32 => self.each::<32>(way),
                _ => self.each::<0>(way),
            }
        }
    }

    /// Copies runs whose length is `N`, or any length if `N` is 0.
    ///
    /// # Safety
    /// As for [`Runs::copy`].
    #[inline(always)]
    unsafe fn each<const N: usize>(self, way: Way) {
        let length = if N == 0 { self.length } else { N };
        let offset = |at: usize| self.offset + at as isize * self.step;
        // The addresses wrap, because displacements from `MPI_BOTTOM` are addresses.
        for at in 0..self.times {
            let (from, to) = match way {
                Way::Pack(from, to) => (
                    from.wrapping_offset(offset(at)),
                    to.wrapping_add(at * length),
                ),
                Way::Unpack(from, to) => (
                    from.wrapping_add(at * length),
                    to.wrapping_offset(offset(at)),
                ),
            };
            // SAFETY: guaranteed by the caller.
            unsafe { copy(from, to, length) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(layout: &Layout, count: usize, extent: isize) -> Vec<u8> {
        let memory: Vec<u8> = (0..100).collect();
        let mut row = [255; 100];
        // SAFETY: the layouts of the tests are within the first 100 bytes.
        unsafe { layout.pack(memory.as_ptr(), count, extent, row.as_mut_ptr()) };
        let end = row.iter().position(|&byte| byte == 255);
        row[..end.unwrap()].to_vec()
    }

    fn repeated(layout: &Layout, offset: isize, times: usize, step: isize) -> Layout {
        let mut builder = Builder::default();
        builder.add(layout, offset, times, step);
        builder.build()
    }

    #[test]
    fn rows_are_merged() {
        let row = repeated(&Layout::bytes(4), 0, 5, 4);
        assert!(row.is_row(20));
        assert!(repeated(&row, 0, 3, 20).is_row(60));
        let mut builder = Builder::default();
        builder.add(&Layout::bytes(4), 0, 1, 0);
        builder.add(&Layout::bytes(8), 4, 1, 0);
        assert!(builder.build().is_row(12));
    }

    #[test]
    fn vectors_are_one_block() {
        let column = repeated(&Layout::bytes(2), 1, 3, 10);
        assert_eq!(packed(&column, 1, 0), [1, 2, 11, 12, 21, 22]);
        assert_eq!(column.0.len(), 1);
        let columns = repeated(&column, 0, 2, 30);
        assert_eq!((columns.0.len(), columns.0[0].times), (1, 6));
        let mut indexed = Builder::default();
        for at in [8, 4, 0] {
            indexed.add(&Layout::bytes(1), at, 1, 0);
        }
        let indexed = indexed.build();
        assert_eq!(
            (indexed.0.len(), packed(&indexed, 1, 0)),
            (1, vec![8, 4, 0])
        );
    }

    #[test]
    fn nested_blocks_keep_their_order() {
        let mut two = Builder::default();
        two.add(&Layout::bytes(2), 4, 1, 0);
        two.add(&Layout::bytes(1), 0, 1, 0);
        let nested = repeated(&two.build(), 1, 2, 10);
        assert_eq!(
            packed(&nested, 2, 30),
            [5, 6, 1, 15, 16, 11, 35, 36, 31, 45, 46, 41]
        );
    }

    #[test]
    fn many_single_runs_are_packed_and_unpacked_in_order() {
        let mut builder = Builder::default();
        let ends = |at: isize| (at * 9, 1 + at as usize % 3);
        for (offset, length) in (0..10).map(ends) {
            builder.add(&Layout::bytes(length), offset, 1, 0);
        }
        let layout = builder.build();
        assert_eq!(layout.0.len(), 1);
        let row = packed(&repeated(&layout, 1, 1, 0), 1, 0);
        let bytes = (0..10)
            .map(ends)
            .flat_map(|(offset, length)| (offset as u8 + 1..).take(length));
        assert_eq!(row, bytes.collect::<Vec<_>>());
        let mut memory = [0; 100];
        // SAFETY: the layout is within the first 100 bytes.
        let done = unsafe { layout.unpack(&row[..17], memory.as_mut_ptr(), 1, 0) };
        let last = memory.iter().rposition(|&byte| byte > 0);
        assert_eq!((done, last), (17, Some(73)));
        assert_eq!((memory[9], memory[10], memory[74]), (row[1], row[2], 0));
    }

    #[test]
    fn unpack_stops_where_the_data_ends() {
        let pairs = repeated(&Layout::bytes(2), 0, 2, 3);
        let mut memory = [0; 12];
        // SAFETY: two elements have 11 bytes.
        let done = unsafe { pairs.unpack(&[1, 2, 3, 4, 5], memory.as_mut_ptr(), 2, 6) };
        assert_eq!((done, memory), (5, [1, 2, 0, 3, 4, 0, 5, 0, 0, 0, 0, 0]));
        // SAFETY: as above.
        let done = unsafe { pairs.unpack(&[7; 9], memory.as_mut_ptr(), 2, 6) };
        assert_eq!((done, memory), (8, [7, 7, 0, 7, 7, 0, 7, 7, 0, 7, 7, 0]));
    }
}
