//! How a slab is divided into stacks.
//!
//! From below: the guard, the stack, which grows towards it, a gap, and the label. The gap *colours* stacks: tops of the same
//! place in their pages would share a few sets of a cache between all of them. It stays within the page of the label, so that a stack
//! that has hardly begun is one page.

use crate::label;

/// How many colours there are.
const COLOURS: usize = 32;

/// How far two colours that follow each other are apart: a line of a cache.
const LINE: usize = 64;

/// The parts of each stack, in bytes, of a slab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Of a stack with all that belongs to it: multiple of a page.
    pub(crate) stride: usize,
    /// Of its guard: multiple of a page.
    pub(crate) guard: usize,
}

impl Shape {
    /// Where the label of a stack begins, from where the slab does.
    pub(crate) fn label(&self, number: usize) -> usize {
        (number + 1) * self.stride - label::BYTES
    }

    /// Where a stack begins, to grow downwards.
    pub(crate) fn base(&self, number: usize) -> usize {
        self.label(number) - number % COLOURS * LINE
    }

    /// The lowest byte of a stack, guard included.
    pub(crate) fn limit(&self, number: usize) -> usize {
        number * self.stride
    }

    /// How many bytes a body may use, but for some lines.
    pub(crate) fn usable(&self) -> usize {
        self.stride - self.guard
    }

    /// Whose guard this byte of a slab is in.
    pub(crate) fn guarded(&self, at: usize) -> Option<usize> {
        (at % self.stride < self.guard).then_some(at / self.stride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_stack_do_not_meet() {
        for stride in [16 << 10, 64 << 10, 1 << 20] {
            let shape = Shape {
                stride,
                guard: 4096,
            };
            for number in 0..100 {
                let base = shape.base(number);
                assert_eq!(base % 16, 0);
                assert_eq!(shape.limit(number), number * stride);
                assert_eq!(shape.label(number) + label::BYTES, (number + 1) * stride);
                assert!(base <= shape.label(number));
                // Half of the uppermost page is left at least.
                assert!(base >= (number + 1) * stride - 2048);
                assert!(shape.usable() >= base - shape.limit(number) - shape.guard);
            }
        }
    }

    #[test]
    fn tops_are_spread_over_lines() {
        let shape = Shape {
            stride: 64 << 10,
            guard: 4096,
        };
        let mut places: Vec<usize> = (0..32).map(|n| shape.base(n) % 4096).collect();
        places.sort();
        places.dedup();
        assert_eq!(places.len(), 32);
    }

    #[test]
    fn guards_are_found() {
        let shape = Shape {
            stride: 65_536,
            guard: 4096,
        };
        assert_eq!(shape.guarded(0), Some(0));
        assert_eq!(shape.guarded(4095), Some(0));
        assert_eq!(shape.guarded(4096), None);
        assert_eq!(shape.guarded(65_535), None);
        assert_eq!(shape.guarded(3 * 65_536 + 7), Some(3));
    }
}
