//! The lightest edges of a maximum spanning forest, without sorting all edges.
//!
//! The order decides which edges of a weight are in the forest, but not how many. Their number is
//! the number of trees that heavier edges alone form, minus the number of trees with the edges of
//! this weight added. So heavy edges are joined in any order, and only the few lightest ones are
//! sorted (Kruskal 1956).

use crate::instance::Instance;
use crate::tuning::bounds::MORE;
use crate::union::find;

/// Lightest edges of a maximum spanning forest.
pub(super) struct Lightest {
    /// Weights of at least the requested number of edges (or of all edges of the forest), the
    /// lightest first.
    weights: Vec<i64>,
    /// Number of trees of the forest.
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

    /// Returns the edges of the forest with a weight of at most `most`. `heavier` must be true if
    /// any edge weighs more.
    fn below(inst: &Instance, (most, heavier): (i64, bool)) -> Self {
        let n = inst.len() as u32;
        let mut forest = Forest {
            root: (0..n).collect(),
            trees: n as usize,
        };
        let earlier = |v: u32| inst.row(v).filter(move |e| e.0 < v);
        for v in 0..if heavier { n } else { 0 } {
            forest.join_all(v, earlier(v).filter(|e| e.1 > most));
        }
        // Edges of exactly this weight may be nearly all edges, so they are not collected.
        let trees = forest.trees;
        let mut light: Vec<(i64, u32, u32)> = Vec::new();
        for v in 0..n {
            let equal = earlier(v).filter(|&(u, w)| {
                if w < most {
                    light.push((w, v, u));
                }
                w == most
            });
            forest.join_all(v, equal);
        }
        let mut weights = vec![most; trees - forest.trees];
        light.sort_by_key(|e| std::cmp::Reverse(e.0));
        for (w, v, u) in light {
            if forest.join_all(v, [(u, w)].into_iter()) {
                weights.push(w);
            }
        }
        weights.reverse();
        Self {
            weights,
            trees: forest.trees,
        }
    }

    /// Returns the sum of the lightest `pieces - trees` edges of the forest, or of all known edges
    /// if fewer are known. At least this weight must be cut to get `pieces` pieces. Returns 0 if
    /// there are as many trees already.
    pub(super) fn cut(&self, pieces: i64) -> i64 {
        let least = usize::try_from(pieces - self.trees as i64).unwrap_or(0);
        self.weights.iter().take(least).sum()
    }
}

/// Union-find structure of the vertices.
struct Forest {
    root: Vec<u32>,
    trees: usize,
}

impl Forest {
    /// Joins the tree of a vertex with the trees of other vertices, which are given with the
    /// weights of the edges to them. Returns true if any trees were joined.
    fn join_all(&mut self, v: u32, ends: impl Iterator<Item = (u32, i64)>) -> bool {
        let before = self.trees;
        let mut at = None;
        for (u, _) in ends {
            let own = at.unwrap_or_else(|| find(&mut self.root, v));
            let other = find(&mut self.root, u);
            // The smaller number becomes the root. This keeps paths short if neighbours have close
            // numbers.
            let lead = own.min(other);
            self.root[own.max(other) as usize] = lead;
            self.trees -= usize::from(own != other);
            at = Some(lead);
        }
        self.trees < before
    }
}

/// Returns a weight that at least `wanted` edges do not exceed, and whether any edge may be
/// heavier. `weights` contains the weight of each edge twice, and no negative weights. The returned
/// weight is the smallest one if it is below 1,024, and a power of two otherwise. Returns
/// `i64::MAX` and false if there are fewer edges.
fn threshold(weights: &[i64], wanted: usize) -> (i64, bool) {
    const SMALL: usize = 1024;
    let mut small = vec![0_usize; SMALL];
    let mut large = [0_usize; 63];
    for &w in weights {
        match small.get_mut(w as usize) {
            Some(count) => *count += 1,
            None => large[w.ilog2() as usize] += 1,
        }
    }
    // Each edge is counted at both ends.
    let mut met = 0;
    let small = small.into_iter().zip(0..);
    let large = large.into_iter().zip((1..).map(|power| 1_i64 << power));
    for (count, most) in small.chain(large) {
        met += count;
        if met >= 2 * wanted {
            return (most, met < weights.len());
        }
    }
    (i64::MAX, false)
}

#[cfg(test)]
mod tests {
    use super::super::{forests, tests};
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_lightest_are_those_of_a_forest_of_all_edges() {
        let mut random = Random::new(11);
        for round in 0..300 {
            let inst = tests::instance(&mut random);
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
            let (most, heavier) = threshold(&weights, wanted);
            assert!(heavier || weights.iter().all(|w| *w <= most));
            assert!(weights.iter().filter(|w| **w <= most).count() >= 2 * wanted);
        }
        assert_eq!(threshold(&[7; 100], 3), (7, false));
        assert_eq!(threshold(&weights, 5000), (i64::MAX, false));
    }
}
