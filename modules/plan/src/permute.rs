//! Permutations: processes that do the same exchange their places.
//!
//! The processes of one kind in the same modules are numbered from 0. After a permutation, process
//! `i` of them is where process `p[i]` was. This has the effect of the permuted communicators of
//! R. K. S. Chung, "(CM)2PI: Compose-Map-Configure MPI", MSc thesis, University of British
//! Columbia, 2014, section 4.5: the order of the processes stays, and their places change.

use crate::codes;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{KindId, Network, ProcessId};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;

/// How processes exchange their places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permutation {
    /// Any order, given by a seed.
    Random(u64),
    /// Numbers in steps: 0, k, 2k, .., then 1, k+1, ..
    Stride(u64),
    /// Each number once.
    List(Vec<u32>),
}

impl Permutation {
    /// Returns the place of each of `n` processes, or `None` if a list is not a permutation of the
    /// numbers below `n`.
    fn of(&self, n: usize) -> Option<Vec<usize>> {
        match self {
            Permutation::Random(seed) => {
                let mut order: Vec<usize> = (0..n).collect();
                let mut state = *seed;
                for i in (1..n).rev() {
                    order.swap(i, (next(&mut state) % (i as u64 + 1)) as usize);
                }
                Some(order)
            }
            Permutation::Stride(step) => {
                let step = usize::try_from(*step).unwrap_or(n).clamp(1, n.max(1));
                Some(
                    (0..step)
                        .flat_map(|first| (first..n).step_by(step))
                        .collect(),
                )
            }
            Permutation::List(list) => {
                let order: Vec<usize> = list.iter().map(|number| *number as usize).collect();
                let mut seen = vec![false; n];
                let is_new = |number: &usize| {
                    seen.get_mut(*number)
                        .is_some_and(|seen| !std::mem::replace(seen, true))
                };
                (order.len() == n && order.iter().all(is_new)).then_some(order)
            }
        }
    }
}

/// Returns the next random number (SplitMix64).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Permutes the places of some processes, which are in the order of ranks.
///
/// # Errors
/// Returns an error if a list does not have the numbers of the processes.
pub(crate) fn permute(
    network: &Network,
    processes: &[u32],
    permutation: &Permutation,
    span: Span,
    os_process: &mut [OsProcessId],
) -> Result<(), Box<Diagnostic>> {
    let mut groups: FxHashMap<(KindId, Option<usize>), Vec<usize>> = FxHashMap::default();
    let paths = paths(network);
    for &number in processes {
        let process = &network.processes[ProcessId::from_index(number as usize)];
        let path = process.module.map(|module| paths[module.index()]);
        groups
            .entry((process.kind, path))
            .or_default()
            .push(number as usize);
    }
    for ((kind, _), members) in groups {
        let n = members.len();
        let Some(order) = permutation.of(n) else {
            let kind = network.name(network.kinds[kind].name);
            let message = format!("the list is not a permutation of the {n} processes `{kind}`");
            return Err(Box::new(
                Diagnostic::error(codes::BAD_PERMUTATION, message)
                    .at(span, "")
                    .help(format!("write each number from 0 to {} once", n - 1)),
            ));
        };
        let places: Vec<OsProcessId> = members.iter().map(|member| os_process[*member]).collect();
        for (member, place) in members.iter().zip(order) {
            os_process[*member] = places[place];
        }
    }
    Ok(())
}

/// Returns a number for each module, which is equal for modules of equal kinds in equal modules.
fn paths(network: &Network) -> Vec<usize> {
    let mut known: FxHashMap<(Option<usize>, Symbol), usize> = FxHashMap::default();
    let mut paths: Vec<usize> = Vec::with_capacity(network.modules.len());
    for module in network.modules.values() {
        let parent = module.parent.map(|parent| paths[parent.index()]);
        let next = known.len();
        paths.push(*known.entry((parent, module.kind)).or_insert(next));
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permutations_have_each_number_once() {
        assert_eq!(Permutation::Stride(3).of(7).unwrap(), [0, 3, 6, 1, 4, 2, 5]);
        for permutation in [
            Permutation::Random(6),
            Permutation::Stride(0),
            Permutation::Stride(99),
        ] {
            let mut order = permutation.of(20).unwrap();
            order.sort_unstable();
            assert!(order.into_iter().eq(0..20), "{permutation:?}");
        }
        assert!(Permutation::Random(1).of(20) != Permutation::Random(2).of(20));
        assert_eq!(Permutation::List(vec![2, 0, 1]).of(3).unwrap(), [2, 0, 1]);
        for wrong in [vec![0, 0, 1], vec![0, 1], vec![1, 2, 3]] {
            assert_eq!(Permutation::List(wrong).of(3), None);
        }
    }
}
