//! Sets as decision diagrams: halves, quarters and so on that repeat are stored once.

mod unique;

pub(crate) use unique::{Combination, Unique, height_of};

use crate::bits::{Packed, select_in_word, width_of};
use crate::error::Error;
use crate::progression::Progression;

/// Number of low bits of a rank, which select a bit in a word.
const WORD: u32 = 6;
/// Number of halvings from all 2^32 ranks to words.
const HIGHEST: u32 = 32 - WORD;

/// Ascending ranks as a reduced ordered binary decision diagram over the bits of a rank, the
/// highest bit first (R. E. Bryant, *Graph-based algorithms for Boolean function manipulation*,
/// 1986). The leaves are words of 64 ranks.
///
/// A node divides the ranks of its level into halves. There is no node if both halves are equal,
/// and equal nodes are stored once. A face of a hypercube therefore takes one node for each fixed
/// bit, and a union of a few faces takes few more. Each node stores the number of members of its
/// lower half, so that SELECT and RANK are a single descent through at most 26 nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagram {
    /// Number of halvings from the range of the ranks to words.
    height: u32,
    len: u64,
    /// Number of runs of neighbours.
    ranges: u64,
    /// Distinct words. Numbers below `words.len()` denote words, other numbers denote nodes.
    words: Box<[u64]>,
    /// The node or word for the whole range.
    root: u32,
    /// Number of halvings from each node to words, at least 1.
    levels: Packed,
    /// Lower half and upper half of each node: a word, or an earlier node.
    low: Packed,
    high: Packed,
    /// Number of members of the lower half of each node.
    below: Packed,
}

/// A node in transfer: number of halvings to words, lower half, upper half.
pub(crate) type Node = (u32, u32, u32);

/// A part of the range during a descent: `2^(6 + level)` ranks from `base` on, of which `count` are
/// members.
#[derive(Clone, Copy)]
struct Part {
    is: u32,
    level: u32,
    base: u64,
    count: u64,
}

/// Properties of a whole node or word.
#[derive(Clone, Copy, Default)]
struct Summary {
    level: u32,
    count: u64,
    ranges: u64,
    /// True if the first rank is a member; `last` likewise.
    first: bool,
    last: bool,
}

impl Summary {
    fn of_word(word: u64) -> Self {
        Summary {
            level: 0,
            count: u64::from(word.count_ones()),
            ranges: u64::from((word & !(word << 1)).count_ones()),
            first: word & 1 == 1,
            last: word >> 63 == 1,
        }
    }

    /// Returns the summary of the same node at `level`, which must not be below its own level. The
    /// ranks repeat for each value of the bits in between.
    fn seen_from(self, level: u32) -> Self {
        let times = 1 << (level - self.level);
        let joined = if self.first && self.last {
            times - 1
        } else {
            0
        };
        Summary {
            level,
            count: self.count * times,
            ranges: self.ranges * times - joined,
            ..self
        }
    }

    fn then(self, high: Self) -> Self {
        Summary {
            level: self.level + 1,
            count: self.count + high.count,
            ranges: self.ranges + high.ranges - u64::from(self.last && high.first),
            first: self.first,
            last: high.last,
        }
    }
}

impl Diagram {
    /// Creates a diagram. `height` is the number of halvings from the whole range to words. Numbers
    /// below the number of words denote words, and the following numbers denote nodes. `root` is
    /// the number of the whole range. The words should be distinct, which is not checked.
    ///
    /// Returns [`Error::Malformed`] unless the halves of each node are words or earlier nodes of a
    /// lower level. Also returns it if `height` exceeds 26, a node is at a level above `height`,
    /// `root` does not exist, or there are 2^32 words and nodes or more.
    pub(crate) fn new(
        height: u32,
        words: Vec<u64>,
        nodes: &[Node],
        root: u32,
    ) -> Result<Self, Error> {
        let wrong = Error::Malformed("a decision diagram");
        let many = words.len() + nodes.len();
        if height > HIGHEST || root as usize >= many || u32::try_from(many).is_err() {
            return Err(wrong);
        }
        let mut known: Vec<Summary> = words.iter().map(|word| Summary::of_word(*word)).collect();
        let mut below = Vec::with_capacity(nodes.len());
        for (level, low, high) in nodes {
            let half = |half: u32| known.get(half as usize).filter(|half| half.level < *level);
            let (Some(low), Some(high)) = (half(*low), half(*high)) else {
                return Err(wrong);
            };
            if *level > height {
                return Err(wrong);
            }
            let (low, high) = (low.seen_from(level - 1), high.seen_from(level - 1));
            below.push(low.count);
            known.push(low.then(high));
        }
        let all = known[root as usize].seen_from(height);
        let most = below.iter().copied().max().unwrap_or(0);
        let (count, width) = (nodes.len() as u64, width_of(many as u64 - 1));
        Ok(Diagram {
            height,
            len: all.count,
            ranges: all.ranges,
            words: words.into(),
            root,
            levels: Packed::collect(5, count, nodes.iter().map(|node| node.0)),
            low: Packed::collect(width, count, nodes.iter().map(|node| node.1)),
            high: Packed::collect(width, count, nodes.iter().map(|node| node.2)),
            // A lower half has at most 2^31 members.
            below: Packed::collect(width_of(most), count, below.into_iter().map(|b| b as u32)),
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the number of runs of neighbours.
    pub(crate) fn ranges(&self) -> u64 {
        self.ranges
    }

    pub(crate) fn height(&self) -> u32 {
        self.height
    }

    /// Returns the words, the nodes and the root. With them, [`Diagram::new`] makes the same
    /// diagram.
    pub(crate) fn parts(&self) -> (&[u64], impl Iterator<Item = Node> + '_, u32) {
        let nodes = (0..self.levels.len()).map(|node| {
            (
                self.levels.get(node),
                self.low.get(node),
                self.high.get(node),
            )
        });
        (&self.words, nodes, self.root)
    }

    fn whole(&self) -> Part {
        Part {
            is: self.root,
            level: self.height,
            base: 0,
            count: self.len,
        }
    }

    /// Returns the index of the node with number `is` among the nodes, or `None` if the number
    /// denotes a word.
    #[inline]
    fn node(&self, is: u32) -> Option<u64> {
        u64::from(is).checked_sub(self.words.len() as u64)
    }

    #[inline]
    fn level(&self, is: u32) -> u32 {
        self.node(is).map_or(0, |node| self.levels.get(node))
    }

    /// Returns the lower and the upper half of `part`, whose node has the index `node`. `part` must
    /// be at the level of the node.
    #[inline]
    fn halves(&self, node: u64, part: Part) -> (Part, Part) {
        let (level, below) = (part.level - 1, u64::from(self.below.get(node)));
        let low = Part {
            is: self.low.get(node),
            level,
            base: part.base,
            count: below,
        };
        let high = Part {
            is: self.high.get(node),
            level,
            base: part.base + (1 << (WORD + level)),
            count: part.count - below,
        };
        (low, high)
    }

    /// Returns the word that contains the member with an index, and the index of the member in this
    /// word. There must be such a member. Otherwise the result is arbitrary, or the function
    /// panics.
    #[inline]
    fn locate(&self, index: u64) -> (Part, u32) {
        let (mut part, mut rest) = (self.whole(), index);
        loop {
            let level = self.level(part.is);
            if level < part.level {
                // The ranks repeat for each value of the bits in between.
                let count = part.count >> (part.level - level);
                let copy = rest / count;
                rest -= copy * count;
                part = Part {
                    level,
                    base: part.base + (copy << (WORD + level)),
                    count,
                    ..part
                };
            }
            let Some(node) = self.node(part.is) else {
                return (part, rest as u32);
            };
            let (low, high) = self.halves(node, part);
            part = if rest < low.count {
                low
            } else {
                rest -= low.count;
                high
            };
        }
    }

    /// Returns the member with an index, in ascending order. There must be such a member. Otherwise
    /// the result is arbitrary, or the function panics.
    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        let (part, rest) = self.locate(u64::from(index));
        part.base as u32 + select_in_word(self.words[part.is as usize], rest)
    }

    /// Returns the number of members below `rank`, and true if `rank` is a member.
    #[inline]
    pub(crate) fn find(&self, rank: u64) -> (u64, bool) {
        if rank >> WORD >> self.height != 0 {
            return (self.len, false);
        }
        let (mut part, mut before) = (self.whole(), 0);
        loop {
            let level = self.level(part.is);
            if level < part.level {
                let free = part.level - level;
                part.count >>= free;
                part.level = level;
                before += part.count * (rank >> (WORD + level) & ((1 << free) - 1));
            }
            let Some(node) = self.node(part.is) else {
                let word = self.words[part.is as usize];
                let bit = rank % 64;
                let smaller = word & ((1 << bit) - 1);
                return (
                    before + u64::from(smaller.count_ones()),
                    word >> bit & 1 == 1,
                );
            };
            let (low, high) = self.halves(node, part);
            part = match rank >> (WORD + level - 1) & 1 {
                0 => low,
                _ => {
                    before += low.count;
                    high
                }
            };
        }
    }

    /// Fills `out` with the members from index `from` on, in ascending order. There must be enough
    /// members. Otherwise the result is arbitrary, or the function panics.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        let mut at = 0;
        while at < out.len() {
            let (part, rest) = self.locate(from + at as u64);
            let word = self.words[part.is as usize];
            let first = select_in_word(word, rest);
            let mut bits = word & (u64::MAX << first);
            while bits != 0 && at < out.len() {
                out[at] = part.base as u32 + bits.trailing_zeros();
                bits &= bits - 1;
                at += 1;
            }
        }
    }

    /// Gives the members from index `from` up to `to` (exclusive), as far as they exist, as
    /// ascending ranges. Ranges can be adjacent.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let to = to.min(self.len);
        if from < to {
            self.each_of(self.whole(), from, to, give);
        }
    }

    fn each_of(&self, part: Part, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let (from, to) = (from.min(part.count), to.min(part.count));
        if from >= to {
            return;
        }
        if part.count == 1 << (WORD + part.level) {
            return give(Progression::between(part.base + from, part.base + to));
        }
        let level = self.level(part.is);
        let within = |start: u64| (from.saturating_sub(start), to.saturating_sub(start));
        if level < part.level {
            let count = part.count >> (part.level - level);
            for copy in from / count..to.div_ceil(count) {
                let (from, to) = within(copy * count);
                let base = part.base + (copy << (WORD + level));
                let part = Part {
                    level,
                    base,
                    count,
                    ..part
                };
                self.each_of(part, from, to, give);
            }
            return;
        }
        let Some(node) = self.node(part.is) else {
            return ranges_of(self.words[part.is as usize], part.base, from, to, give);
        };
        let (low, high) = self.halves(node, part);
        self.each_of(low, from, to, give);
        let (from, to) = within(low.count);
        self.each_of(high, from, to, give);
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let packed = [&self.levels, &self.low, &self.high, &self.below];
        size_of_val(&*self.words) + packed.map(Packed::bytes).iter().sum::<usize>()
    }
}

/// Gives the members of a word from index `from` up to `to` (exclusive), as far as they exist, as
/// ascending ranges. The lowest bit of the word is rank `base`.
fn ranges_of(word: u64, base: u64, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
    let (mut bits, mut index) = (word, 0);
    while bits != 0 && index < to {
        let start = u64::from(bits.trailing_zeros());
        let len = u64::from((bits >> start).trailing_ones());
        let (skip, end) = (from.saturating_sub(index).min(len), (to - index).min(len));
        if skip < end {
            give(Progression::between(
                base + start + skip,
                base + start + end,
            ));
        }
        index += len;
        // In two steps, because a run may end with the word.
        bits = bits >> (start + len - 1) >> 1 << 1 << (start + len - 1);
    }
}
