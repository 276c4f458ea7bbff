//! Even packing: each class of processes is spread evenly over the OS processes that may hold it.
//!
//! The number of processes of a class in an OS process is a common level, times the speed of the OS
//! process, as far as the limits allow (water filling). Two OS processes of equal limits and speeds
//! thus differ by at most one. A limit on several classes is divided among them in proportion.

use crate::boxes::{Limits, Shared};
use crate::request::Request;
use graphmap_kpn::containers::Boxes;
use graphmap_partition::Strategy;
use std::sync::LazyLock;

/// Name of the strategy that packs evenly. Of all even mappings, it searches for the cheapest.
pub(crate) const EVEN: &str = "even";

/// Returns the strategy that packs evenly: the usual search, for which [`crate::plan()`] adds
/// constraints.
pub fn strategy() -> &'static Strategy {
    static STRATEGY: LazyLock<Strategy> = LazyLock::new(|| {
        let mut strategy = Strategy::default();
        strategy.name = EVEN.into();
        strategy.about =
            "the same number of processes of each kind everywhere, then as auto".into();
        strategy
    });
    &STRATEGY
}

/// Returns true if the processes of each kind are spread evenly: with the strategy `even`, and with
/// `auto` if there are boxes.
pub(crate) fn is_even(request: &Request<'_>, boxes: &[Boxes]) -> bool {
    let name = &*request.options.strategy.name;
    request.mapper.is_none() && (name == EVEN || name == "auto" && !boxes.is_empty())
}

/// Returns the number of processes of each class in each OS process, or `None` if no packing was
/// found that keeps the limits. `sizes` are the numbers of processes of the classes.
pub(crate) fn pack(sizes: &[u64], limits: &[Limits], speeds: &[f64]) -> Option<Vec<Vec<u64>>> {
    let n = speeds.len();
    let mut bounds: Vec<Vec<(u64, u64)>> = sizes
        .iter()
        .enumerate()
        .map(|(class, size)| {
            let own = limits.iter().map(|limits| limits.own[class]);
            own.map(|(least, most)| (least.into(), u64::from(most).min(*size)))
                .collect()
        })
        .collect();
    // Each round makes the bounds of at least one OS process tighter.
    for _ in 0..=n * (sizes.len() + 1) {
        let mut totals = vec![0.0; n];
        let mut counts = Vec::with_capacity(sizes.len());
        for (size, bounds) in sizes.iter().zip(&bounds) {
            let filled = fill(*size, bounds, speeds, &totals)?;
            for ((total, count), speed) in totals.iter_mut().zip(&filled).zip(speeds) {
                *total += *count as f64 / speed;
            }
            counts.push(filled);
        }
        let mut changed = false;
        for (o, limits) in limits.iter().enumerate() {
            for shared in &limits.shared {
                changed |= tighten(shared, o, &counts, &mut bounds)?;
            }
        }
        if !changed {
            return Some(counts);
        }
    }
    None
}

/// Changes the bounds of the classes in an OS process so that they keep a limit on several classes.
/// Returns false if the counts keep it, or `None` if the bounds cannot.
fn tighten(
    shared: &Shared,
    o: usize,
    counts: &[Vec<u64>],
    bounds: &mut [Vec<(u64, u64)>],
) -> Option<bool> {
    let total: u64 = shared.classes.iter().map(|class| counts[*class][o]).sum();
    let (least, most) = (u64::from(shared.least), u64::from(shared.most));
    if total > most {
        let fixed: u64 = shared.classes.iter().map(|class| bounds[*class][o].0).sum();
        let (mut room, mut spare) = (most.checked_sub(fixed)?, total - fixed);
        for class in &shared.classes {
            let (low, high) = &mut bounds[*class][o];
            let wanted = counts[*class][o] - *low;
            let given = (wanted * room).checked_div(spare).unwrap_or(0);
            *high = *low + given;
            room -= given;
            spare -= wanted;
        }
        return Some(true);
    }
    if total < least {
        let can_grow = |class: &&usize| counts[**class][o] < bounds[**class][o].1;
        let class = *shared.classes.iter().find(can_grow)?;
        let high = bounds[class][o].1;
        bounds[class][o].0 = (counts[class][o] + least - total).min(high);
        return Some(true);
    }
    Some(false)
}

/// Spreads processes over OS processes within bounds. `totals` are the loads of the OS processes so
/// far: of two equal ones, the one with less gets one process more. Returns `None` if the bounds
/// have no room, or demand more processes.
fn fill(size: u64, bounds: &[(u64, u64)], speeds: &[f64], totals: &[f64]) -> Option<Vec<u64>> {
    if bounds.iter().any(|(least, most)| least > most) {
        return None;
    }
    let least: u64 = bounds.iter().map(|(least, _)| least).sum();
    let most: u64 = bounds.iter().map(|(_, most)| most).sum();
    if !(least..=most).contains(&size) {
        return None;
    }
    let at = |level: f64| -> Vec<u64> {
        let of = bounds.iter().zip(speeds);
        of.map(|((least, most), speed)| ((level * speed) as u64).clamp(*least, *most))
            .collect()
    };
    let slowest = speeds.iter().copied().fold(f64::INFINITY, f64::min);
    let (mut low, mut high) = (0.0, size as f64 / slowest + 1.0);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        match at(middle).iter().sum::<u64>() <= size {
            true => low = middle,
            false => high = middle,
        }
    }
    let mut counts = at(low);
    let mut rest = size - counts.iter().sum::<u64>();
    let mut order: Vec<usize> = (0..counts.len()).collect();
    while rest > 0 {
        let key = |o: usize| ((counts[o] + 1) as f64 / speeds[o], totals[o]);
        order.retain(|o| counts[*o] < bounds[*o].1);
        order.sort_by(|a, b| {
            let (a, b) = (key(*a), key(*b));
            a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        let take = (rest as usize).min(order.len());
        if take == 0 {
            return None;
        }
        for &o in &order[..take] {
            counts[o] += 1;
        }
        rest -= take as u64;
    }
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(own: &[(u32, u32)], most: u32) -> Limits {
        Limits {
            own: own.to_vec(),
            shared: vec![Shared {
                classes: (0..own.len()).collect(),
                least: 0,
                most,
            }],
        }
    }

    #[test]
    fn the_boxes_of_the_thesis() {
        let any = (0, u32::MAX);
        // 498 workers in 36 equal boxes.
        let alike = vec![limits(&[any], u32::MAX); 36];
        let counts = pack(&[498], &alike, &[1.0; 36]).unwrap();
        assert_eq!(counts[0].iter().filter(|n| **n == 14).count(), 30);
        assert_eq!(counts[0].iter().filter(|n| **n == 13).count(), 6);
        // The first box holds the start and at most 3 workers.
        let mut all = vec![limits(&[(1, 1), any], 4)];
        all.extend((1..36).map(|_| limits(&[(0, 0), any], u32::MAX)));
        let counts = pack(&[1, 498], &all, &[1.0; 36]).unwrap();
        assert_eq!(counts[0].iter().sum::<u64>(), 1);
        assert_eq!(counts[1][0], 3);
        assert_eq!(counts[1].iter().sum::<u64>(), 498);
        assert!(
            counts[1][1..].iter().all(|n| [14, 15].contains(n)),
            "{counts:?}"
        );
        let eight: Vec<Limits> = (0..8).map(|_| limits(&[any], u32::MAX)).collect();
        assert_eq!(
            pack(&[5], &eight, &[1.0; 8]).unwrap()[0],
            [1, 1, 1, 1, 1, 0, 0, 0]
        );
        assert_eq!(pack(&[9], &eight[..2], &[2.0, 1.0]).unwrap()[0], [6, 3]);
        assert_eq!(pack(&[9], &[limits(&[(0, 8)], 9)], &[1.0]), None);
    }

    proptest! {
        #[test]
        fn equal_boxes_differ_by_at_most_one(
            sizes in prop::collection::vec(0u64..50, 1..4),
            boxes in 1usize..9,
            most in 0u32..60,
        ) {
            let own = vec![(0, u32::MAX); sizes.len()];
            let all: Vec<Limits> = (0..boxes).map(|_| limits(&own, most)).collect();
            let fits = sizes.iter().sum::<u64>() <= u64::from(most) * boxes as u64;
            let packed = pack(&sizes, &all, &vec![1.0; boxes]);
            prop_assert!(!fits || packed.is_some());
            for (size, counts) in sizes.iter().zip(packed.iter().flatten()) {
                prop_assert_eq!(counts.iter().sum::<u64>(), *size);
                let spread = counts.iter().max().unwrap() - counts.iter().min().unwrap();
                prop_assert!(spread <= 1, "{:?}", counts);
            }
            for o in packed.iter().flat_map(|_| 0..boxes) {
                let total: u64 = packed.as_ref().unwrap().iter().map(|counts| counts[o]).sum();
                prop_assert!(total <= u64::from(most));
            }
        }
    }
}
