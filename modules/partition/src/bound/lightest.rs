//! The lightest edges of a heaviest spanning forest, without sorting all edges.
//!
//! Which edges of a weight are in such a forest is up to the order, how many of each weight is not:
//! as many as there are trees more without the edges of that weight and lighter. So heavy edges
//! are joined in any order, and only the few lightest are taken by weight (Kruskal 1956).

use std::cmp::Ordering;

use crate::instance::Instance;
use crate::union::find;

/// So many times as many light edges as are wanted are looked at first, and again so many times
/// as many while too few of them are in the forest.
const MORE: usize = 16;

/// The lightest edges of a heaviest spanning forest.
pub(super) struct Lightest {
    /// The weights of at least as many as were asked for (or of all), the lightest first.
    weights: Vec<i64>,
    /// Trees of the forest.
    trees: usize,
}

impl Lightest {
    pub(super) fn new(inst: &Instance, count: usize) -> Self {
        let edges = inst.targets.len() / 2;
        let mut wanted = (count + 1).saturating_mul(MORE);
        loop {
            let found = Self::below(inst, threshold(&inst.weights, wanted));
            if found.weights.len() >= count || wanted >= edges {
                return found;
            }
            wanted = wanted.saturating_mul(MORE);
        }
    }

    /// The edges of the forest of no more than this weight.
    fn below(inst: &Instance, most: i64) -> Self {
        let n = inst.len();
        let mut root: Vec<u32> = (0..n as u32).collect();
        let mut trees = n;
        let mut join = |a: u32, b: u32| {
            let (x, y) = (find(&mut root, a), find(&mut root, b));
            // The smaller number leads: paths stay short where neighbours have near numbers.
            root[x.max(y) as usize] = x.min(y);
            trees -= usize::from(x != y);
            x != y
        };
        // Those of just this weight may be nearly all: they are not gathered, but met once more.
        let mut light: Vec<(i64, u32, u32)> = Vec::new();
        let mut equal = 0;
        for v in 0..n as u32 {
            for (u, w) in inst.row(v).filter(|e| e.0 < v) {
                match w.cmp(&most) {
                    Ordering::Less => light.push((w, v, u)),
                    Ordering::Equal => equal += 1,
                    Ordering::Greater => _ = join(u, v),
                }
            }
        }
        let mut weights = Vec::new();
        for v in 0..if equal > 0 { n as u32 } else { 0 } {
            for (u, _) in inst.row(v).filter(|e| e.0 < v && e.1 == most) {
                if join(u, v) {
                    weights.push(most);
                }
            }
        }
        light.sort_by_key(|e| std::cmp::Reverse(e.0));
        let light = light.into_iter();
        weights.extend(light.filter_map(|(w, a, b)| join(a, b).then_some(w)));
        weights.reverse();
        Self { weights, trees }
    }

    /// Weight of so many edges less one for each tree, the lightest: what is cut at least to make
    /// so many pieces.
    pub(super) fn cut(&self, pieces: i64) -> i64 {
        let least = usize::try_from(pieces - self.trees as i64).unwrap_or(0);
        self.weights.iter().take(least).sum()
    }
}

/// A weight that so many edges do not exceed, about: the least, if few weights differ; a power of
/// two where they are large.
fn threshold(weights: &[i64], wanted: usize) -> i64 {
    const SMALL: usize = 1024;
    let mut small = vec![0_usize; SMALL];
    let mut large = [0_usize; 64];
    for &w in weights {
        match small.get_mut(w as usize) {
            Some(count) => *count += 1,
            None => large[w.ilog2() as usize] += 1,
        }
    }
    // Every edge is met from both ends.
    let mut met = 0;
    for (w, count) in small.iter().enumerate() {
        met += count;
        if met >= 2 * wanted {
            return w as i64;
        }
    }
    for (power, count) in large.iter().enumerate() {
        met += count;
        if met >= 2 * wanted {
            return 1_i64 << (power + 1);
        }
    }
    i64::MAX
}

#[cfg(test)]
mod tests {
    use super::super::{forests, testing};
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_lightest_are_those_of_a_forest_of_all_edges() {
        let mut random = Random::new(11);
        for round in 0..300 {
            let inst = testing::instance(&mut random);
            let forest = &forests(&inst, 1);
            let mut all: Vec<i64> = forest
                .first()
                .map_or(Vec::new(), |f| f.edges.iter().map(|e| e.0).collect());
            all.sort_unstable();
            let count = round % 7;
            let found = Lightest::new(&inst, count);
            assert_eq!(found.trees, inst.len() - all.len());
            assert!(found.weights.len() >= count.min(all.len()));
            assert_eq!(found.weights, all[..found.weights.len()]);
            let pieces = found.trees + count.min(all.len());
            let sum: i64 = all[..pieces - found.trees].iter().sum();
            assert_eq!(found.cut(pieces as i64), sum);
        }
    }

    #[test]
    fn a_threshold_has_as_many_edges_below_it() {
        let weights: Vec<i64> = (0..4000).map(|i| 1 << (i % 40)).collect();
        for wanted in [1, 40, 900, 1990] {
            let most = threshold(&weights, wanted);
            assert!(weights.iter().filter(|w| **w <= most).count() >= 2 * wanted);
        }
        assert_eq!(threshold(&[7; 100], 3), 7);
        assert_eq!(threshold(&weights, 5000), i64::MAX);
    }
}
