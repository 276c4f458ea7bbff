//! METIS: estimates that need no call of the library, and the strategies that call it.
//!
//! The feature `metis` compiles its C source and is enabled by default. A search that compares its
//! mapping with METIS first checks whether these strategies exist.

use std::time::Duration;

use crate::instance::Instance;

#[cfg(feature = "metis")]
pub(super) use library::{run, run_kway, run_recursive};

#[cfg(feature = "metis")]
mod library;

/// Fewest vertices per block for which METIS is called.
const FEW: usize = 8;

/// Number of vertices of the largest size that must fit into each block, by each limit, before a
/// search compares its mapping with METIS. METIS printed nothing for 57,000 random problems in
/// which 1 to 7 fitted by load, nor for 11,000 with memory, slots and counts.
const HEAVIEST: i64 = 2;

/// Approximate time of both methods together, for each vertex and edge end and each doubling of the
/// number of blocks.
const TAKES: Duration = Duration::from_nanos(200);

/// With fewer vertices per block, METIS takes `LONGER` times as long. For 10,000 vertices with
/// loads in 1,024 blocks it took 0.2 to 0.4 s.
const CROWDED: usize = 32;
const LONGER: u32 = 4;

/// The same as `TAKES` for the bisections that replace METIS if there are too few vertices. Each
/// part is bisected several times.
const INSTEAD: Duration = Duration::from_nanos(3_000);

/// Returns an estimate of the time that METIS takes for a graph. `ends` is twice the number of
/// edges. The time is that of both methods together, k-way and recursive bisection, or of the
/// bisections that replace them if there are too few vertices. For at most one block, it is 0. Does
/// not call METIS, and does not need the feature `metis`.
#[must_use]
pub fn metis_takes(vertices: usize, ends: usize, blocks: usize) -> Duration {
    let each = match vertices / blocks.max(1) {
        few if few < FEW => INSTEAD,
        few if few < CROWDED => TAKES * LONGER,
        _ => TAKES,
    };
    each.mul_f64((vertices + ends) as f64 * (blocks.max(1) as f64).log2())
}

/// Returns true if a search can compare its mapping with METIS without output on standard output.
/// METIS prints there if a part of its recursion runs out of vertices. If there are too few
/// vertices, METIS is not called.
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
    fn bisections_instead_of_metis_take_longer() {
        let [many, few] = [2, 1_000].map(|blocks| metis_takes(2_500, 5_000, blocks));
        assert!(few > many * 100);
    }
}
