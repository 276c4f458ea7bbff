//! METIS: what is known of it without asking it, and the strategies where it is compiled in.
//!
//! Its C source is compiled with the feature `metis`, which is on unless it is left out. What asks METIS in passing looks whether there is such a strategy.

use std::time::Duration;

use crate::instance::Instance;

#[cfg(feature = "metis")]
pub(super) use library::{run, run_kway, run_recursive};

#[cfg(feature = "metis")]
mod library;

/// So many vertices a block METIS wants at least.
const FEW: usize = 8;

/// It is asked in passing where at least so many of the heaviest vertex fit into each block, by each limit. Of
/// 57,000 random problems where 1 to 7 did by load, and of 11,000 with memory, slots and counts, it printed in none.
const HEAVIEST: i64 = 2;

/// About what it takes, both ways, for each vertex and edge end and each doubling of the blocks.
const TAKES: Duration = Duration::from_nanos(200);

/// Below so many vertices a block it takes so many times as long: 10,000 vertices with loads in 1,024 blocks took
/// 0.2 to 0.4 s.
const CROWDED: usize = 32;
const LONGER: u32 = 4;

/// The same for the bisections that take its place where there are too few vertices: each part is bisected
/// several times.
const INSTEAD: Duration = Duration::from_nanos(3_000);

/// About how long METIS takes for a graph of so many vertices and ends of edges (each edge has two), both
/// ways: into all blocks at once, and by halves; or what takes its place.
#[must_use]
pub fn metis_takes(vertices: usize, ends: usize, blocks: usize) -> Duration {
    let each = match vertices / blocks.max(1) {
        few if few < FEW => INSTEAD,
        few if few < CROWDED => TAKES * LONGER,
        _ => TAKES,
    };
    each.mul_f64((vertices + ends) as f64 * (blocks.max(1) as f64).log2())
}

/// Whether METIS can be asked in passing: it prints to standard output when a part of its recursion
/// runs out of vertices. Where there are too few it is not called at all.
pub(crate) fn is_quiet(inst: &Instance) -> bool {
    let (n, k, dims) = (inst.len(), inst.k(), inst.dims());
    let heaviest = |d: usize| inst.size.iter().skip(d).step_by(dims).max().copied();
    let heaviest: Vec<i64> = (0..dims).map(|d| heaviest(d).unwrap_or(0)).collect();
    let mut uppers = inst.shared.upper.iter().zip(heaviest.iter().cycle());
    let fit = uppers.all(|(upper, most)| *most <= upper / HEAVIEST);
    n < FEW * k || (heaviest[0] > 0 && fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_the_place_of_metis_takes_longer() {
        let [many, few] = [2, 1_000].map(|blocks| metis_takes(2_500, 5_000, blocks));
        assert!(few > many * 100);
    }
}
