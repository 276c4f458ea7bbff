//! Construction of decision diagrams with distinct words and nodes.

use std::collections::HashMap;

use crate::form::diagram::{Diagram, HIGHEST, Node, WORD};
use crate::progression::Progression;

/// Bit that distinguishes the number of a node from the number of a word.
const NODE: u32 = 1 << 31;
/// Number of pairs of nodes above which two diagrams are considered too different to be combined.
const PAIRS: usize = 1 << 20;

/// Operation on two sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combination {
    /// The members of both sets.
    Intersection,
    /// The members of the first set that are not in the second.
    Difference,
}

impl Combination {
    fn of_words(self, a: u64, b: u64) -> u64 {
        match self {
            Combination::Intersection => a & b,
            Combination::Difference => a & !b,
        }
    }
}

/// The distinct words and nodes so far, with a limit to their size.
pub(crate) struct Unique {
    words: Vec<u64>,
    nodes: Vec<Node>,
    numbers_of_words: HashMap<u64, u32>,
    numbers_of_nodes: HashMap<Node, u32>,
    /// Largest size in bytes, approximately.
    limit: usize,
}

impl Unique {
    /// Creates an empty diagram with a limit of about `limit` bytes.
    fn new(limit: usize) -> Self {
        Unique {
            words: Vec::new(),
            nodes: Vec::new(),
            numbers_of_words: HashMap::new(),
            numbers_of_nodes: HashMap::new(),
            limit,
        }
    }

    /// Returns the diagram of the ranks that `each` gives, or `None` if it takes more than about
    /// `limit` bytes. The ranks must ascend and be below `end`.
    ///
    /// The cost is linear in the number of words that are neither empty nor full, plus a logarithm
    /// for each run of other words.
    pub(crate) fn collect(
        end: u64,
        limit: usize,
        each: impl FnOnce(&mut dyn FnMut(Progression)),
    ) -> Option<Diagram> {
        let height = height_of(end);
        let mut spine = Spine {
            unique: Unique::new(limit),
            waiting: [None; HIGHEST as usize + 1],
            next: 0,
            word: 0,
        };
        each(&mut |piece| match piece.step() {
            1 => spine.range(u64::from(piece.start()), piece.len()),
            _ => (0..piece.len()).for_each(|k| spine.range(u64::from(piece.at(k as u32)), 1)),
        });
        spine.finish(height)
    }

    /// Combines two diagrams. Returns `None` if they are too different, which means that more than
    /// [`PAIRS`] pairs of nodes are visited. The size is at most the product of their sizes, and
    /// often their sum.
    pub(crate) fn combine(with: Combination, a: &Diagram, b: &Diagram) -> Option<Diagram> {
        let mut pairs = Pairs {
            unique: Unique::new(usize::MAX),
            with,
            a,
            b,
            known: HashMap::new(),
        };
        // The second set has no ranks beyond its diagram. Its ranks beyond the first diagram are
        // irrelevant.
        let mut of_b = Some(b.root);
        for level in (a.height + 1..=b.height).rev() {
            of_b = of_b.map(|is| halves(b, is, level).0);
        }
        let root = pairs.beyond(a.height, Some(a.root), of_b)?;
        pairs.unique.done(a.height, root)
    }

    fn is_full(&self) -> bool {
        self.words.len() * 8 + self.nodes.len() * BYTES_OF_NODE > self.limit
    }

    fn word(&mut self, word: u64) -> u32 {
        let next = self.words.len() as u32;
        *self.numbers_of_words.entry(word).or_insert_with(|| {
            self.words.push(word);
            next
        })
    }

    fn node(&mut self, level: u32, low: u32, high: u32) -> u32 {
        if low == high {
            return low;
        }
        let (node, next) = ((level, low, high), self.nodes.len() as u32 | NODE);
        *self.numbers_of_nodes.entry(node).or_insert_with(|| {
            self.nodes.push(node);
            next
        })
    }

    fn done(self, height: u32, root: u32) -> Option<Diagram> {
        let words = self.words.len() as u32;
        let number = |is: u32| match is & NODE {
            0 => is,
            _ => words + (is & !NODE),
        };
        let nodes: Vec<Node> = self
            .nodes
            .iter()
            .map(|(level, low, high)| (*level, number(*low), number(*high)))
            .collect();
        Diagram::new(height, self.words, &nodes, number(root)).ok()
    }
}

/// Bytes of a node in a diagram of some thousand nodes, rounded down.
const BYTES_OF_NODE: usize = 6;

/// Returns the number of halvings from the ranks below `end` to words of 64 ranks. It is 0 if `end`
/// is at most 64.
pub(crate) fn height_of(end: u64) -> u32 {
    end.saturating_sub(1)
        .checked_ilog2()
        .map_or(0, |bit| (bit + 1).saturating_sub(WORD))
}

/// Returns the lower and the upper half of a node or word at `level`. Both are `is` itself if the
/// bit of this level is free.
fn halves(of: &Diagram, is: u32, level: u32) -> (u32, u32) {
    match of.node(is).filter(|node| of.levels.get(*node) == level) {
        Some(node) => (of.low.get(node), of.high.get(node)),
        None => (is, is),
    }
}

/// A sequence of words, and the lower halves that wait for their upper halves.
struct Spine {
    unique: Unique,
    /// The lower half that waits at each level.
    waiting: [Option<u32>; HIGHEST as usize + 1],
    /// Number of complete words. `word` is the current one.
    next: u64,
    word: u64,
}

impl Spine {
    fn range(&mut self, start: u64, len: u64) {
        if len == 0 || self.unique.is_full() {
            return;
        }
        let end = start + len;
        let mut at = start;
        while at < end {
            let (index, bit) = (at >> WORD, at % 64);
            self.up_to(index);
            let whole = (end >> WORD) - index;
            if bit == 0 && whole > 0 {
                self.same(u64::MAX, whole);
                at += whole << WORD;
                continue;
            }
            let bits = (end - at).min(64 - bit);
            self.word |= (u64::MAX >> (64 - bits)) << bit;
            at += bits;
            if at.is_multiple_of(64) {
                self.up_to(index + 1);
            }
        }
    }

    /// Makes `index` the number of complete words: completes the current word if fewer are
    /// complete, and then adds empty words. There must not be more complete words already.
    fn up_to(&mut self, index: u64) {
        if self.next == index {
            return;
        }
        let word = std::mem::take(&mut self.word);
        self.same(word, 1);
        self.same(0, index - self.next);
    }

    /// Adds the same word `times` times, which can be 0, as complete words.
    fn same(&mut self, word: u64, times: u64) {
        let mut left = times;
        while left > 0 {
            // As many words at once as one node covers.
            let level = self.next.trailing_zeros().min(left.ilog2()).min(HIGHEST);
            let word = self.unique.word(word);
            self.put(word, level);
            left -= 1 << level;
        }
    }

    fn put(&mut self, is: u32, level: u32) {
        let (mut is, mut level) = (is, level);
        self.next += 1 << level;
        while let Some(low) = self.waiting[level as usize].take() {
            level += 1;
            is = self.unique.node(level, low, is);
        }
        self.waiting[level as usize] = Some(is);
    }

    fn finish(mut self, height: u32) -> Option<Diagram> {
        if self.unique.is_full() {
            return None;
        }
        self.up_to(1 << height);
        let root = self.waiting[height as usize]?;
        self.unique.done(height, root)
    }
}

/// Two diagrams that are walked through together.
struct Pairs<'a> {
    unique: Unique,
    with: Combination,
    a: &'a Diagram,
    b: &'a Diagram,
    /// Results for pairs of nodes or words.
    known: HashMap<(Option<u32>, Option<u32>), u32>,
}

impl Pairs<'_> {
    /// Combines the ranks of a level, of which the second diagram may cover only the lower ones.
    /// `a` and `b` are nodes or words of the two diagrams, or `None` for a part without members.
    /// Returns `None` if there are too many pairs.
    fn beyond(&mut self, level: u32, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        if level <= self.b.height {
            return self.pair(a, b);
        }
        let (low, high) = a.map_or((None, None), |a| {
            let (low, high) = halves(self.a, a, level);
            (Some(low), Some(high))
        });
        let low = self.beyond(level - 1, low, b)?;
        let high = self.pair(high, None)?;
        Some(self.unique.node(level, low, high))
    }

    fn pair(&mut self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        if let Some(known) = self.known.get(&(a, b)) {
            return Some(*known);
        }
        let level_of = |of: &Diagram, is: Option<u32>| is.map_or(0, |is| of.level(is));
        let level = level_of(self.a, a).max(level_of(self.b, b));
        let made = if level == 0 {
            let word_of = |of: &Diagram, is: Option<u32>| is.map_or(0, |is| of.words[is as usize]);
            let word = self.with.of_words(word_of(self.a, a), word_of(self.b, b));
            self.unique.word(word)
        } else {
            let split = |of: &Diagram, is: Option<u32>| {
                let both = is.map(|is| halves(of, is, level));
                (both.map(|both| both.0), both.map(|both| both.1))
            };
            let (of_a, of_b) = (split(self.a, a), split(self.b, b));
            let low = self.pair(of_a.0, of_b.0)?;
            let high = self.pair(of_a.1, of_b.1)?;
            self.unique.node(level, low, high)
        };
        self.known.insert((a, b), made);
        (self.known.len() <= PAIRS).then_some(made)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranks: &[u32]) -> Diagram {
        let end = ranks.last().map_or(0, |last| u64::from(*last) + 1);
        let each = |give: &mut dyn FnMut(Progression)| {
            ranks
                .iter()
                .for_each(|rank| give(Progression::valid(*rank, 1, 1)));
        };
        Unique::collect(end, usize::MAX, each).unwrap()
    }

    fn agree(ranks: &[u32]) {
        let made = of(ranks);
        assert_eq!(made.len(), ranks.len() as u64);
        let joined = ranks
            .windows(2)
            .filter(|pair| pair[0] + 1 == pair[1])
            .count();
        assert_eq!(made.ranges(), (ranks.len() - joined) as u64);
        let mut read = vec![0; ranks.len()];
        made.read(0, &mut read);
        assert_eq!(read, ranks);
        for (index, rank) in (0..).zip(ranks) {
            assert_eq!(made.at(index), *rank);
            for near in [rank.saturating_sub(1), *rank, rank.saturating_add(1)] {
                let below = ranks.partition_point(|rank| *rank < near);
                let equal = ranks.get(below) == Some(&near);
                assert_eq!(made.find(u64::from(near)), (below as u64, equal), "{near}");
            }
        }
        for from in 0..ranks.len().min(70) {
            let mut some = Vec::new();
            made.each(from as u64, ranks.len() as u64 - 1, &mut |piece| {
                some.extend((0..piece.len()).map(|k| piece.at(k as u32)));
            });
            assert_eq!(some, ranks[from..ranks.len() - 1]);
        }
        let (words, nodes, root) = made.parts();
        let nodes: Vec<Node> = nodes.collect();
        let again = Diagram::new(made.height(), words.to_vec(), &nodes, root);
        assert_eq!(again, Ok(made));
    }

    fn some() -> Vec<Vec<u32>> {
        let mix = |k: u32| k.wrapping_mul(0x9E37_79B9) >> 18;
        let mut random: Vec<u32> = (0..3000).map(mix).collect();
        random.sort_unstable();
        random.dedup();
        vec![
            vec![0],
            vec![63],
            vec![64],
            vec![u32::MAX],
            vec![0, u32::MAX],
            (0..64).collect(),
            (0..5000).collect(),
            (7..4999).collect(),
            (0..4096).map(|k| 3 * k).collect(),
            (0..1 << 14)
                .filter(|k| k & 0b1_0001_0000_0100 == 0b1_0000_0000_0100)
                .collect(),
            (0..1 << 14)
                .filter(|k| k & 0x1100 == 0x100 || k & 0x80 == 0)
                .collect(),
            (0..2000).map(|k| u32::MAX - 4000 + 2 * k).collect(),
            random,
        ]
    }

    #[test]
    fn ranks_come_back_and_are_found() {
        some().iter().for_each(|ranks| agree(ranks));
        let face = of(&some()[9]);
        assert_eq!(
            (face.words.len(), face.levels.len()),
            (2, 2),
            "one word, an empty one, and two bits that choose"
        );
    }

    #[test]
    fn the_full_set_takes_one_word() {
        let all = Unique::collect(1 << 32, usize::MAX, |give| {
            give(Progression::between(0, 1 << 32))
        });
        let all = all.unwrap();
        assert_eq!(
            (all.len(), all.ranges(), all.words.len(), all.levels.len()),
            (1 << 32, 1, 1, 0)
        );
        assert_eq!((all.at(u32::MAX), all.find(77)), (u32::MAX, (77, true)));
        let few = of(&[5, 70, 1000]);
        let rest = Unique::combine(Combination::Difference, &all, &few).unwrap();
        assert_eq!((rest.len(), rest.ranges()), ((1 << 32) - 3, 4));
        assert_eq!(rest.find(1001), (998, true));
    }

    #[test]
    fn combinations_match_vectors() {
        for a in some() {
            for b in some() {
                for with in [Combination::Intersection, Combination::Difference] {
                    let wanted = |rank: &&u32| {
                        b.binary_search(rank).is_ok() == (with == Combination::Intersection)
                    };
                    let expected: Vec<u32> = a.iter().filter(wanted).copied().collect();
                    let made = Unique::combine(with, &of(&a), &of(&b)).unwrap();
                    let mut read = vec![0; made.len() as usize];
                    made.read(0, &mut read);
                    assert_eq!(read, expected);
                }
            }
        }
    }

    #[test]
    fn collect_stops_above_its_limit() {
        let ranks: Vec<u32> = (0..10_000_u32).map(|k| k * 1000 + k * k % 997).collect();
        let each = |give: &mut dyn FnMut(Progression)| {
            ranks
                .iter()
                .for_each(|rank| give(Progression::valid(*rank, 1, 1)));
        };
        assert_eq!(Unique::collect(10_000_000, 10_000, each), None);
    }
}
