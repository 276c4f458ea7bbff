//! Sequences of labelled numbers as nested loops, so that a table of them has a length that depends
//! on the irregularity of the sequence and not on its length.
//!
//! A *row* stands for consecutive items of the sequence, the iterations of a loop. Each iteration
//! adds a step to the numbers. It is either one item, or consists of other rows. The iterations of
//! `a 1, b 2, a 11, b 12, a 21, b 22` are a row of two rows.

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hash};
use std::ops::Range;

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row<L> {
    /// Index of its first item, relative to the iteration that contains it.
    pub(crate) first: usize,
    /// Number of its first item, relative to the first number of the iteration that contains it.
    pub(crate) number: i64,
    /// Number of items of an iteration.
    pub(crate) length: usize,
    /// Difference between the numbers of successive iterations.
    pub(crate) step: i64,
    pub(crate) iteration: Iteration<L>,
}

/// Contents of each iteration of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Iteration<L> {
    /// One item with this label.
    Item(L),
    /// The items of other rows of the table.
    Rows(Range<usize>),
}

/// Rows of a sequence. A row ends where the next one of its iteration begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table<L> {
    pub(crate) rows: Vec<Row<L>>,
    /// Number of rows of the sequence itself, which come first. Each further row is part of an
    /// iteration.
    pub(crate) outermost: usize,
}

/// Lengths of the texts whose next occurrence is the possible start of the next iteration.
const WINDOWS: [usize; 6] = [1, 4, 16, 64, 256, 1024];
/// Maximum number of times that loops are searched in the result of a search.
const PASSES: usize = 8;
/// Prime modulus of the hashes of texts.
const MODULUS: u64 = (1 << 61) - 1;
const FACTOR: u64 = 0x0123_4567_89AB_CDEF;

/// Returns a table of the items. Takes linear time.
pub(crate) fn table<L: Copy + Eq + Hash>(items: &[(L, u32)]) -> Table<L> {
    let mut shapes = Shapes::default();
    let parts = items.iter().map(|&(label, number)| Part {
        shape: shapes.of(Shape::Items {
            label,
            step: 0,
            count: 1,
        }),
        number: i64::from(number),
    });
    let parts = parts.collect();
    let parts = shapes.nested(parts);
    shapes.table(&parts)
}

/// Consecutive items, apart from the first number.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Shape<L> {
    Items {
        label: L,
        step: i64,
        count: usize,
    },
    Loop {
        /// Parts of the first iteration, whose first number is 0.
        body: Vec<Part>,
        step: i64,
        count: usize,
    },
}

/// A shape at its first number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Part {
    shape: u32,
    number: i64,
}

/// The distinct shapes.
struct Shapes<L> {
    all: Vec<Shape<L>>,
    lengths: Vec<usize>,
    known: FxHashMap<Shape<L>, u32>,
}

impl<L> Default for Shapes<L> {
    fn default() -> Self {
        Shapes {
            all: Vec::new(),
            lengths: Vec::new(),
            known: FxHashMap::default(),
        }
    }
}

/// A loop at some part of a sequence.
#[derive(Clone, Copy)]
struct Found {
    /// Number of parts of an iteration.
    period: usize,
    count: usize,
    step: i64,
}

impl Found {
    fn parts(self) -> usize {
        self.period * self.count
    }
}

impl<L: Copy + Eq + Hash> Shapes<L> {
    fn of(&mut self, shape: Shape<L>) -> u32 {
        if let Some(known) = self.known.get(&shape) {
            return *known;
        }
        let length = match &shape {
            Shape::Items { count, .. } => *count,
            Shape::Loop { body, count, .. } => count * self.length(body),
        };
        let new = self.all.len() as u32;
        self.all.push(shape.clone());
        self.lengths.push(length);
        self.known.insert(shape, new);
        new
    }

    /// Returns the number of items of some parts.
    fn length(&self, parts: &[Part]) -> usize {
        let lengths = parts.iter().map(|part| self.lengths[part.shape as usize]);
        lengths.sum()
    }

    /// Replaces repeated parts by loops, also within the loops.
    fn nested(&mut self, mut parts: Vec<Part>) -> Vec<Part> {
        for _ in 0..PASSES {
            let before = parts.len();
            parts = self.looped(&parts);
            if parts.len() == before {
                break;
            }
        }
        parts
    }

    /// Replaces repeated parts by loops, from left to right. Of the loops that begin at a part,
    /// takes the one with most parts.
    fn looped(&mut self, parts: &[Part]) -> Vec<Part> {
        let texts = Texts::of(parts);
        let mut result = Vec::new();
        let mut at = 0;
        while at < parts.len() {
            let candidates = texts.next.iter().map(|next| next[at] as usize);
            let mut best: Option<Found> = None;
            let mut tried = 0;
            for period in candidates
                .take_while(|next| *next > 0)
                .map(|next| next - at)
            {
                // A longer text has the same next occurrence or a later one.
                if period == tried {
                    continue;
                }
                tried = period;
                let found = texts
                    .repeats(at, period)
                    .then(|| repeated(parts, at, period));
                best = match (found.flatten(), best) {
                    (Some(new), Some(old)) if new.parts() <= old.parts() => Some(old),
                    (Some(new), _) => Some(new),
                    (None, old) => old,
                };
            }
            let number = parts[at].number;
            let shape = best.and_then(|found| self.shape(&parts[at..at + found.period], found));
            match (shape, best) {
                (Some(shape), Some(found)) => {
                    let shape = self.of(shape);
                    result.push(Part { shape, number });
                    at += found.parts();
                }
                _ => {
                    result.push(parts[at]);
                    at += 1;
                }
            }
        }
        result
    }

    /// Returns the shape of a loop with the given first iteration. Returns `None` if the loop would
    /// not make the table shorter.
    fn shape(&mut self, first: &[Part], found: Found) -> Option<Shape<L>> {
        let (step, count) = (found.step, found.count);
        if let [part] = first
            && let Shape::Items {
                label, count: 1, ..
            } = self.all[part.shape as usize]
        {
            return Some(Shape::Items { label, step, count });
        }
        if found.parts() <= found.period + 1 {
            return None;
        }
        let start = first[0].number;
        let body = first.iter().map(|part| Part {
            number: part.number - start,
            ..*part
        });
        let body = body.collect();
        let body = self.nested(body);
        Some(Shape::Loop { body, step, count })
    }

    /// Returns the rows of a sequence of parts. Equal iterations have the same rows.
    fn table(&self, parts: &[Part]) -> Table<L> {
        let mut rows = Vec::new();
        let mut places: FxHashMap<&[Part], Range<usize>> = FxHashMap::default();
        let mut next = parts.len();
        let mut queue = VecDeque::from([parts]);
        while let Some(parts) = queue.pop_front() {
            let mut first = 0;
            for part in parts {
                let (length, step, iteration) = match &self.all[part.shape as usize] {
                    Shape::Items { label, step, .. } => (1, *step, Iteration::Item(*label)),
                    Shape::Loop { body, step, .. } => {
                        let place = places.entry(body).or_insert_with(|| {
                            queue.push_back(body);
                            next += body.len();
                            next - body.len()..next
                        });
                        (self.length(body), *step, Iteration::Rows(place.clone()))
                    }
                };
                rows.push(Row {
                    first,
                    number: part.number,
                    length,
                    step,
                    iteration,
                });
                first += self.lengths[part.shape as usize];
            }
        }
        Table {
            rows,
            outermost: parts.len(),
        }
    }
}

/// Returns the longest loop at a part whose iterations have the given number of parts. Returns
/// `None` if there are less than two iterations.
fn repeated(parts: &[Part], at: usize, period: usize) -> Option<Found> {
    let step = parts.get(at + period)?.number - parts[at].number;
    let pairs = parts[at..].iter().zip(&parts[at + period..]);
    let same =
        pairs.take_while(|(one, next)| one.shape == next.shape && next.number - one.number == step);
    let count = 1 + same.count() / period;
    (count > 1).then_some(Found {
        period,
        count,
        step,
    })
}

/// Parts of a sequence as a text, whose letters are the shapes and the differences of numbers.
struct Texts {
    /// Hash of each shape.
    shapes: Vec<u64>,
    /// Hash of the first letters: as many as the index.
    prefixes: Vec<u64>,
    /// Powers of the factor of hashes.
    powers: Vec<u64>,
    /// For each window and each part, the next part at which the same text of this length begins,
    /// or 0 if there is none.
    next: Vec<Vec<u32>>,
}

impl Texts {
    fn of(parts: &[Part]) -> Texts {
        let n = parts.len();
        let hash = |value: (u32, i64)| FxBuildHasher.hash_one(value) % MODULUS;
        let mut texts = Texts {
            shapes: parts.iter().map(|part| hash((part.shape, 0))).collect(),
            prefixes: vec![0; n],
            powers: vec![1; n],
            next: Vec::new(),
        };
        for (i, pair) in parts.windows(2).enumerate() {
            let letter = hash((pair[0].shape, pair[1].number - pair[0].number));
            texts.prefixes[i + 1] = (times(texts.prefixes[i], FACTOR) + letter) % MODULUS;
            texts.powers[i + 1] = times(texts.powers[i], FACTOR);
        }
        for window in WINDOWS.into_iter().filter(|window| *window < n.max(2)) {
            let mut next = vec![0; n];
            let mut seen: FxHashMap<u64, u32> = FxHashMap::default();
            for at in (0..=n.saturating_sub(window)).rev().filter(|at| *at < n) {
                let later = seen.insert(texts.hash(at, window), at as u32);
                next[at] = later.unwrap_or(0);
            }
            texts.next.push(next);
        }
        texts
    }

    /// Returns the hash of the text of `length` parts, without the difference after the last one.
    fn hash(&self, at: usize, length: usize) -> u64 {
        let last = at + length - 1;
        let before = times(self.prefixes[at], self.powers[length - 1]);
        let letters = (self.prefixes[last] + MODULUS - before) % MODULUS;
        (times(letters, FACTOR) + self.shapes[last]) % MODULUS
    }

    /// Returns true if the text of `period` parts probably occurs twice in succession.
    fn repeats(&self, at: usize, period: usize) -> bool {
        let end = at + 2 * period;
        end <= self.shapes.len() && self.hash(at, period) == self.hash(at + period, period)
    }
}

/// Returns the product of two numbers below [`MODULUS`], modulo it.
fn times(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    // 2^61 is 1 modulo the modulus.
    let sum = (product as u64 & MODULUS) + (product >> 61) as u64;
    if sum < MODULUS { sum } else { sum - MODULUS }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the items of a table, found one by one as the mapping function in C finds them.
    fn expanded(table: &Table<u16>, length: usize) -> Vec<(u16, u32)> {
        let item = |index: usize| {
            let (mut rows, mut left, mut number) = (0..table.outermost, index, 0);
            loop {
                let all = &table.rows[rows.clone()];
                let row = &all[all.partition_point(|row| row.first <= left) - 1];
                let away = left - row.first;
                number += row.number + row.step * (away / row.length) as i64;
                left = away % row.length;
                match &row.iteration {
                    Iteration::Item(label) => return (*label, number as u32),
                    Iteration::Rows(inner) => rows = inner.clone(),
                }
            }
        };
        (0..length).map(item).collect()
    }

    fn rows(items: &[(u16, u32)]) -> usize {
        let table = table(items);
        assert_eq!(expanded(&table, items.len()), items);
        table.rows.len()
    }

    /// Returns the ranks of modules with `kinds` processes of different kinds, after one process.
    fn modules(count: u32, kinds: u32) -> Vec<(u16, u32)> {
        let ranks = 0..count * kinds;
        let modules = ranks.map(|rank| ((rank % kinds) as u16, rank + 1));
        [(u16::MAX, 0)].into_iter().chain(modules).collect()
    }

    #[test]
    fn repeated_modules_take_a_row_for_each_kind() {
        assert_eq!(rows(&[]), 0);
        assert_eq!(rows(&[(0, 7)]), 1);
        assert_eq!(rows(&modules(2_000, 5)), 7);
        assert_eq!(rows(&modules(3, 5)), 7);
        assert_eq!(rows(&modules(20, 2_000)), 2 + 2_000);
    }

    #[test]
    fn consecutive_and_strided_ranks_are_one_row() {
        let workers: Vec<(u16, u32)> = (0..100_000).map(|rank| (1, rank)).collect();
        assert_eq!(rows(&workers), 1);
        let dealt = (0..16).flat_map(|o| (0..6_250).map(move |i| (1, o + 16 * i)));
        assert_eq!(rows(&dealt.collect::<Vec<_>>()), 2);
    }

    #[test]
    fn modules_in_modules_are_loops_in_loops() {
        let mut items = Vec::new();
        let mut rank = 0;
        let mut add = |label| {
            items.push((label, rank));
            rank += 1;
        };
        for _ in 0..50 {
            add(0);
            for _ in 0..30 {
                add(1);
                add(2);
                (0..7).for_each(|_| add(3));
            }
            add(4);
        }
        // The loop; its three parts; and the three kinds of the inner modules.
        assert_eq!(rows(&items), 7);
    }

    #[test]
    fn tables_are_no_longer_than_the_sequence() {
        let mut state = 1u64;
        let items: Vec<(u16, u32)> = (0..20_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                ((state >> 60) as u16 % 4, (state >> 44) as u32 % 50)
            })
            .collect();
        assert!(rows(&items) <= items.len());
    }

    /// A nested loop: its count, its step, and its contents.
    #[derive(Clone, Debug)]
    enum Tree {
        Item(u16, u32),
        Loop(u32, u32, Vec<Tree>),
    }

    fn tree() -> impl Strategy<Value = Tree> {
        let item = (0u16..3, 0u32..9).prop_map(|(label, number)| Tree::Item(label, number));
        item.prop_recursive(4, 24, 5, |inner| {
            let body = prop::collection::vec(inner, 1..5);
            (1u32..6, 0u32..20, body).prop_map(|(count, step, body)| Tree::Loop(count, step, body))
        })
    }

    fn unrolled(tree: &Tree, base: u32, items: &mut Vec<(u16, u32)>) {
        match tree {
            Tree::Item(label, number) => items.push((*label, base + number)),
            Tree::Loop(count, step, body) => {
                for i in 0..*count {
                    for part in body {
                        unrolled(part, base + step * i, items);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_sequences_are_restored(
            items in prop::collection::vec((0u16..3, 0u32..6), 0..80)
        ) {
            prop_assert!(rows(&items) <= items.len());
        }

        #[test]
        fn nested_loops_are_restored(
            trees in prop::collection::vec(tree(), 1..5)
        ) {
            let mut items = Vec::new();
            trees.iter().for_each(|tree| unrolled(tree, 100, &mut items));
            prop_assert!(rows(&items) <= items.len());
        }
    }
}
