//! The wavelet tree on runs: a permutation of few ascending sequences.

use crate::bit_vector::BitVector;
use crate::bits::words_for;
use crate::error::Error;
use std::ops::Range;

/// A permutation that consists of `k` ascending sequences, as the merges that would sort it.
///
/// Each node of a balanced tree over the sequences merges its left and its right side. It stores a
/// bit for each element: the side from which the element comes. SELECT goes up from the sequence,
/// and RANK goes down from the root. Both access a directory once for each of log `k` levels. The
/// bits take `n log k` and their directories (J. Barbay and G. Navarro, *Compressed representations
/// of permutations, and applications*, STACS 2009). Here the tree is balanced by elements, and is
/// not a Hu-Tucker code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wavelet {
    /// Index at which each sequence begins.
    first: Box<[u32]>,
    /// Bits of all nodes, in the order of the nodes.
    bits: BitVector,
    nodes: Box<[Node]>,
    len: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    /// Position of its first bit, and number of set bits before that position (`ones`).
    begin: u64,
    ones: u64,
    /// First sequence of the node, first sequence on its right side, and end of its sequences.
    from: u32,
    middle: u32,
    end: u32,
    /// Indices of the nodes on both sides. 0, the root, denotes a single sequence.
    left: u32,
    right: u32,
}

impl Wavelet {
    /// Stores the images of `0..n`. Determines the ascending sequences.
    ///
    /// # Errors
    ///
    /// [`Error::Duplicate`] if the images are not a permutation of `0..n`, also if an image is not
    /// below `n`.
    pub(crate) fn new(to: &[u32]) -> Result<Self, Error> {
        let mut first: Vec<u32> = Vec::new();
        for (index, image) in to.iter().enumerate() {
            if index == 0 || to[index - 1] >= *image {
                first.push(index as u32);
            }
        }
        let shape = Shape::of(&first, to.len() as u64);
        let mut words = vec![0_u64; words_for(shape.bits)];
        let sorted = match first.len() {
            0 => Vec::new(),
            _ => shape.merge(&first, to, 0, 0, first.len(), &mut words),
        };
        let twice = (0..).zip(&sorted).find(|(index, image)| index != *image);
        match twice {
            Some((_, image)) => Err(Error::Duplicate(*image)),
            None => Ok(Wavelet::with(first, shape, words, to.len() as u64)),
        }
    }

    /// Creates the tree for sequences of `len` elements in total that begin at the indices `first`,
    /// which ascend from 0.
    ///
    /// `merge` is called for each node, with the indices of the sequences on its left and on its
    /// right side. It must report, for each of their elements in ascending order, whether the
    /// element comes from the right. Only the bits are stored.
    pub(crate) fn of_merges(
        first: Vec<u32>,
        len: u64,
        mut merge: impl FnMut(Range<usize>, Range<usize>, &mut dyn FnMut(bool)),
    ) -> Self {
        let shape = Shape::of(&first, len);
        let mut words = vec![0_u64; words_for(shape.bits)];
        for node in &shape.nodes {
            let [from, middle, end] = [node.from, node.middle, node.end].map(|k| k as usize);
            let mut place = node.begin;
            merge(from..middle, middle..end, &mut |from_right| {
                words[(place / 64) as usize] |= u64::from(from_right) << (place % 64);
                place += 1;
            });
        }
        Wavelet::with(first, shape, words, len)
    }

    fn with(first: Vec<u32>, shape: Shape, words: Vec<u64>, len: u64) -> Self {
        let bits = BitVector::new(words, shape.bits);
        let mut nodes = shape.nodes;
        for node in &mut nodes {
            node.ones = bits.rank(node.begin);
        }
        Wavelet {
            first: first.into(),
            bits,
            nodes: nodes.into(),
            len,
        }
    }

    /// Returns the starts of the sequences and the bits, for the encoding as bytes.
    pub(crate) fn parts(&self) -> (&[u32], &[u64]) {
        (&self.first, self.bits.words())
    }

    /// Returns the number of bits for sequences that begin at the indices `first` and have `len`
    /// elements in total.
    pub(crate) fn bit_count(first: &[u32], len: u64) -> u64 {
        Shape::of(first, len).bits
    }

    /// Decodes the result of [`Wavelet::parts`], for `len` elements. `first` must ascend from 0,
    /// and there must be as many bits as [`Wavelet::bit_count`] returns. All bits are valid merges
    /// if the number of elements from each side matches.
    ///
    /// # Errors
    ///
    /// [`Error::Malformed`] if such a number does not match.
    pub(crate) fn from_parts(first: Vec<u32>, words: Vec<u64>, len: u64) -> Result<Self, Error> {
        let shape = Shape::of(&first, len);
        let made = Wavelet::with(first, shape, words, len);
        for node in &made.nodes {
            let (begin, middle, end) = (
                made.begin(node.from),
                made.begin(node.middle),
                made.begin(node.end),
            );
            let ones = made.bits.rank(node.begin + end - begin) - node.ones;
            if ones != end - middle {
                return Err(Error::Malformed("merges"));
            }
        }
        Ok(made)
    }

    /// Returns the index at which a sequence begins. For the number of sequences, returns the
    /// number of elements.
    fn begin(&self, sequence: u32) -> u64 {
        begin(&self.first, self.len, sequence as usize)
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number of ascending sequences.
    pub(crate) fn sequences(&self) -> usize {
        self.first.len()
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let sequence = self.first.partition_point(|first| *first <= index) as u32 - 1;
        let mut place = u64::from(index - self.first[sequence as usize]);
        // Descends to the sequence to find the path. Each second node on it has at most half of the
        // elements.
        let mut path = [0_u32; 72];
        let mut depth = 0;
        let mut node = 0;
        while self.first.len() > 1 {
            path[depth] = node;
            depth += 1;
            let here = &self.nodes[node as usize];
            let next = if sequence < here.middle {
                here.left
            } else {
                here.right
            };
            if next == 0 {
                break;
            }
            node = next;
        }
        for node in path[..depth].iter().rev() {
            let here = &self.nodes[*node as usize];
            place = match sequence < here.middle {
                true => self.bits.select_unset(here.begin - here.ones + place) - here.begin,
                false => self.bits.select(here.ones + place) - here.begin,
            };
        }
        place as u32
    }

    #[inline]
    pub(crate) fn rank(&self, image: u32) -> Option<u32> {
        if u64::from(image) >= self.len {
            return None;
        }
        if self.first.len() == 1 {
            return Some(image);
        }
        let (mut place, mut node) = (u64::from(image), 0);
        loop {
            let here = &self.nodes[node as usize];
            let at = here.begin + place;
            let ones = self.bits.rank(at) - here.ones;
            let (sequence, next) = match self.bits.get(at) {
                true => {
                    place = ones;
                    (here.middle, here.right)
                }
                false => {
                    place -= ones;
                    (here.from, here.left)
                }
            };
            if next == 0 {
                return Some(self.first[sequence as usize] + place as u32);
            }
            node = next;
        }
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.first) + self.bits.bytes() + size_of_val(&*self.nodes)
    }

    /// Returns the estimated size on the heap in bytes of a permutation of `0..len` that has
    /// sequences of similar length.
    pub(crate) fn bytes_for(len: u64, sequences: u64) -> usize {
        let levels = (sequences.max(1) as f64).log2();
        let bits = (len as f64 * levels) as u64;
        let nodes = sequences.saturating_sub(1) as usize * size_of::<Node>();
        BitVector::bytes_for(bits, bits / 2)
            + bits as usize / 2 / 256 * 4
            + nodes
            + sequences as usize * 4
    }
}

fn begin(first: &[u32], len: u64, sequence: usize) -> u64 {
    first.get(sequence).map_or(len, |first| u64::from(*first))
}

/// Nodes, each before its children, and the positions of their bits.
struct Shape {
    nodes: Vec<Node>,
    bits: u64,
}

impl Shape {
    fn of(first: &[u32], len: u64) -> Self {
        let mut shape = Shape {
            nodes: Vec::new(),
            bits: 0,
        };
        if first.len() > 1 {
            shape.divide(first, len, 0, first.len());
        }
        shape
    }

    /// Adds nodes for the sequences from `from` up to `end` (exclusive), divided until one is left.
    /// Returns the index of their node, or 0 for a single sequence, which has no node. There must
    /// be at least one.
    fn divide(&mut self, first: &[u32], len: u64, from: usize, end: usize) -> u32 {
        if end - from == 1 {
            return 0;
        }
        // Balances the elements of both sides, with at least one sequence each.
        let (low, high) = (begin(first, len, from), begin(first, len, end));
        let half = (low + high) / 2;
        let middle = first.partition_point(|first| u64::from(*first) < half);
        let middle = middle.clamp(from + 1, end - 1);
        let node = self.nodes.len();
        self.nodes.push(Node {
            begin: self.bits,
            ones: 0,
            from: from as u32,
            middle: middle as u32,
            end: end as u32,
            left: 0,
            right: 0,
        });
        self.bits += high - low;
        self.nodes[node].left = self.divide(first, len, from, middle);
        self.nodes[node].right = self.divide(first, len, middle, end);
        node as u32
    }

    /// Merges the sequences from `from` up to `end` (exclusive), sets the bits of their nodes in
    /// `words`, and returns their images in ascending order. `to` contains all images. `node` is
    /// the index of the node of these sequences, and is ignored for a single sequence.
    fn merge(
        &self,
        first: &[u32],
        to: &[u32],
        node: u32,
        from: usize,
        end: usize,
        words: &mut [u64],
    ) -> Vec<u32> {
        let len = to.len() as u64;
        if end - from == 1 {
            return to[begin(first, len, from) as usize..begin(first, len, end) as usize].to_vec();
        }
        let here = self.nodes[node as usize];
        let middle = here.middle as usize;
        let left = self.merge(first, to, here.left, from, middle, words);
        let right = self.merge(first, to, here.right, middle, end, words);
        let mut merged = Vec::with_capacity(left.len() + right.len());
        let (mut a, mut b) = (left.iter().peekable(), right.iter().peekable());
        for place in here.begin.. {
            let from_right = match (a.peek(), b.peek()) {
                (Some(a), Some(b)) => b < a,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => break,
            };
            words[(place / 64) as usize] |= u64::from(from_right) << (place % 64);
            merged.extend(if from_right { b.next() } else { a.next() });
        }
        merged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_ranks_are_found() {
        for len in [0, 1, 2, 9, 64, 1000_u32] {
            for sequences in [1, 2, 3, 5, 8, 100] {
                // Each number is in one of `sequences` sequences, which are in reverse order.
                let mut to: Vec<u32> = (0..len).collect();
                to.sort_by_key(|k| sequences - (k.wrapping_mul(0x9E37_79B9) >> 7) % sequences);
                let made = Wavelet::new(&to).unwrap();
                for (index, image) in (0..).zip(&to) {
                    assert_eq!(made.at(index), *image);
                    assert_eq!(made.rank(*image), Some(index));
                }
                assert_eq!(made.rank(len), None);
            }
        }
        assert!(Wavelet::new(&[0, 1, 1]).is_err());
        assert!(Wavelet::new(&[0, 3, 1]).is_err());
    }
}
