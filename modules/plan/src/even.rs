//! Even packing: each class of processes is spread evenly over the OS processes that may hold it.
//!
//! Two OS processes of equal limits and speeds differ by at most one process of each class. Others
//! have numbers in proportion to their speeds, as far as the limits allow.

use crate::boxes::{Limits, Shared};
use crate::request::Request;
use graphmap_kpn::containers::Boxes;
use graphmap_partition::Strategy;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// Limit on the nodes between which processes are exchanged, because all pairs are tried.
const MOST_NODES: usize = 500;

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

/// Returns the number of processes of each class in each OS process. `sizes` are the numbers of
/// processes of the classes. Returns `None` if no packing keeps the limits, or if limits on several
/// classes overlap without one containing the other.
///
/// OS processes that are alike share one node of a flow network, from the classes over the limits to
/// the OS processes. A flow that keeps all limits is a packing. Exchanges between nodes then
/// minimize the sum of `x * x / speed`, where `x` is the number of processes of a class in an OS
/// process. With more than [`MOST_NODES`] nodes there are no exchanges.
pub(crate) fn pack(sizes: &[u64], limits: &[Limits], speeds: &[f64]) -> Option<Vec<Vec<u64>>> {
    let groups = alike(limits, speeds);
    let mut nodes = Vec::with_capacity(groups.len());
    for group in &groups {
        let first = group[0];
        nodes.push(Node::of(
            sizes,
            &limits[first],
            group.len() as u64,
            speeds[first],
        )?);
    }
    let mut totals = flow(sizes, &nodes)?;
    // Equally even packings differ by the sums of all classes, with a weight that decides only
    // between them.
    let tie = 0.5 / (1.0 + sizes.iter().sum::<u64>() as f64);
    while nodes.len() <= MOST_NODES && exchange(&nodes, &mut totals, tie) {}
    let mut counts = vec![vec![0; speeds.len()]; sizes.len()];
    for ((node, totals), group) in nodes.iter().zip(&totals).zip(&groups) {
        node.spread(totals, group, &mut counts);
    }
    Some(counts)
}

/// Groups the OS processes by limits and speeds. Each group has at least one.
pub(crate) fn alike(limits: &[Limits], speeds: &[f64]) -> Vec<Vec<usize>> {
    let mut groups: FxHashMap<(&Limits, u64), Vec<usize>> = FxHashMap::default();
    for (o, (limits, speed)) in limits.iter().zip(speeds).enumerate() {
        let key = (limits, speed.to_bits());
        groups.entry(key).or_default().push(o);
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.sort_unstable();
    groups
}

/// OS processes that are alike, with the limits on all of them together.
struct Node {
    /// Least and largest number of each class.
    own: Vec<(u64, u64)>,
    /// Limits on several classes, narrow ones first. Of two with a common class, one contains the
    /// other.
    shared: Vec<Together>,
    /// Number of OS processes.
    n: u64,
    /// Speed of each.
    speed: f64,
}

struct Together {
    classes: Vec<usize>,
    least: u64,
    most: u64,
}

impl Node {
    fn of(sizes: &[u64], limits: &Limits, n: u64, speed: f64) -> Option<Node> {
        let times = |limit: u32| u64::from(limit).saturating_mul(n);
        let own = sizes.iter().zip(&limits.own);
        let own = own.map(|(size, (least, most))| (times(*least), times(*most).min(*size)));
        let mut shared: Vec<Together> = Vec::new();
        for Shared {
            classes,
            least,
            most,
        } in &limits.shared
        {
            let is_nested = |other: &Together| {
                let common = classes.iter().filter(|c| other.classes.contains(c)).count();
                common == 0 || common == classes.len() || common == other.classes.len()
            };
            if !shared.iter().all(is_nested) {
                return None;
            }
            shared.push(Together {
                classes: classes.clone(),
                least: times(*least),
                most: times(*most),
            });
        }
        shared.sort_by_key(|shared| shared.classes.len());
        Some(Node {
            own: own.collect(),
            shared,
            n,
            speed,
        })
    }

    /// Returns true if a change of the numbers keeps the limits.
    fn keeps(&self, totals: &[u64], changes: &[(usize, i64)]) -> bool {
        let changed = |class: usize| {
            let of_class = changes.iter().filter(|(changed, _)| *changed == class);
            totals[class] as i64 + of_class.map(|(_, by)| by).sum::<i64>()
        };
        let within = |value: i64, least: u64, most: u64| {
            u64::try_from(value).is_ok_and(|value| (least..=most).contains(&value))
        };
        let own = changes.iter().all(|(class, _)| {
            let (least, most) = self.own[*class];
            within(changed(*class), least, most)
        });
        own && self.shared.iter().all(|shared| {
            let is_changed = |(class, _): &(usize, i64)| shared.classes.contains(class);
            let sum = || shared.classes.iter().map(|class| changed(*class)).sum();
            !changes.iter().any(is_changed) || within(sum(), shared.least, shared.most)
        })
    }

    /// Returns the change of the cost by a change of the numbers, within limits. The weight of the
    /// sum of all classes is `tie`.
    fn cost(&self, totals: &[u64], changes: &[(usize, i64)], tie: f64) -> f64 {
        let squares = |total: u64| {
            let (each, rest) = (i128::from(total / self.n), i128::from(total % self.n));
            i128::from(self.n) * each * each + rest * (2 * each + 1)
        };
        let change = |total: u64, by: i64| {
            (squares(total.saturating_add_signed(by)) - squares(total)) as f64 / self.speed
        };
        let own = changes
            .iter()
            .map(|(class, by)| change(totals[*class], *by));
        let sum = change(totals.iter().sum(), changes.iter().map(|(_, by)| by).sum());
        own.sum::<f64>() + tie * sum
    }

    /// Spreads the processes of each class evenly over the OS processes of the node.
    ///
    /// The classes take turns with their remainders, in an order in which each shared limit has
    /// consecutive classes. So the sums of these classes differ by at most one, too.
    fn spread(&self, totals: &[u64], group: &[usize], counts: &mut [Vec<u64>]) {
        let mut order: Vec<usize> = (0..totals.len()).collect();
        order.sort_by_cached_key(|class| -> Vec<bool> {
            let widest_first = self.shared.iter().rev();
            widest_first
                .map(|shared| !shared.classes.contains(class))
                .collect()
        });
        let n = group.len() as u64;
        let mut next = 0;
        for class in order {
            let total = totals[class];
            for (i, o) in (0..).zip(group) {
                let turn = (i + n - next) % n;
                counts[class][*o] = total / n + u64::from(turn < total % n);
            }
            next = (next + total) % n;
        }
    }
}

/// Returns numbers of the classes in each node that keep all limits, or `None` if there are none.
///
/// This is a maximum flow with lower bounds (Ahuja, Magnanti, Orlin, "Network Flows", 1993, section
/// 6.7).
fn flow(sizes: &[u64], nodes: &[Node]) -> Option<Vec<Vec<u64>>> {
    // The source and the sink, for the sizes and for the bounds. Classes and shared limits follow.
    let (source, sink, from, to) = (0, 1, 2, 3);
    let mut network = Flow::default();
    let mut vertices = 4 + sizes.len();
    let mut bounded = Vec::new();
    network.add(sink, source, u64::MAX);
    for (class, size) in sizes.iter().enumerate() {
        bounded.push((source, 4 + class, *size, *size));
    }
    let mut of_node = Vec::with_capacity(nodes.len());
    for node in nodes {
        let first = vertices;
        vertices += node.shared.len();
        let around = |narrow: usize, class: usize| {
            let wider =
                (narrow..node.shared.len()).find(|i| node.shared[*i].classes.contains(&class));
            wider.map_or(sink, |i| first + i)
        };
        for (i, shared) in node.shared.iter().enumerate() {
            let next = shared
                .classes
                .first()
                .map_or(sink, |class| around(i + 1, *class));
            bounded.push((first + i, next, shared.least, shared.most));
        }
        of_node.push(bounded.len());
        for (class, (least, most)) in node.own.iter().enumerate() {
            bounded.push((4 + class, around(0, class), *least, *most));
        }
    }
    let mut needed = 0_u64;
    let mut edges = Vec::with_capacity(bounded.len());
    for &(a, b, least, most) in &bounded {
        edges.push(network.add(a, b, most.checked_sub(least)?));
        network.add(from, b, least);
        network.add(a, to, least);
        needed = needed.saturating_add(least);
    }
    if network.run(vertices, from, to) < needed {
        return None;
    }
    let number = |at: usize| bounded[at].2 + network.flow(edges[at]);
    let of_node = of_node.iter();
    Some(
        of_node
            .map(|first| {
                (0..sizes.len())
                    .map(|class| number(first + class))
                    .collect()
            })
            .collect(),
    )
}

/// A flow network. Edge `i ^ 1` is the reverse of edge `i`.
#[derive(Default)]
struct Flow {
    ends: Vec<(usize, usize)>,
    room: Vec<u64>,
}

impl Flow {
    /// Adds an edge, and returns its number.
    fn add(&mut self, from: usize, to: usize, most: u64) -> usize {
        self.ends.extend([(from, to), (to, from)]);
        self.room.extend([most, 0]);
        self.ends.len() - 2
    }

    fn flow(&self, edge: usize) -> u64 {
        self.room[edge ^ 1]
    }

    /// Finds a maximum flow by the method of Dinic (1970), and returns its value.
    fn run(&mut self, vertices: usize, from: usize, to: usize) -> u64 {
        let mut leaving = vec![Vec::new(); vertices];
        for (edge, (start, _)) in self.ends.iter().enumerate() {
            leaving[*start].push(edge);
        }
        let mut value = 0_u64;
        loop {
            let mut distance = vec![usize::MAX; vertices];
            distance[from] = 0;
            let mut queue = VecDeque::from([from]);
            while let Some(vertex) = queue.pop_front() {
                for &edge in &leaving[vertex] {
                    let end = self.ends[edge].1;
                    if self.room[edge] > 0 && distance[end] == usize::MAX {
                        distance[end] = distance[vertex] + 1;
                        queue.push_back(end);
                    }
                }
            }
            if distance[to] == usize::MAX {
                return value;
            }
            let mut next = vec![0; vertices];
            let mut path: Vec<usize> = Vec::new();
            loop {
                let vertex = path.last().map_or(from, |edge| self.ends[*edge].1);
                if vertex == to {
                    let most = path.iter().map(|edge| self.room[*edge]).min();
                    let most = most.expect("the path has an edge");
                    for edge in path.drain(..) {
                        self.room[edge] -= most;
                        self.room[edge ^ 1] = self.room[edge ^ 1].saturating_add(most);
                    }
                    value += most;
                    continue;
                }
                let Some(&edge) = leaving[vertex].get(next[vertex]) else {
                    let Some(last) = path.pop() else {
                        break;
                    };
                    next[self.ends[last].0] += 1;
                    continue;
                };
                let end = self.ends[edge].1;
                if self.room[edge] > 0 && distance[end] == distance[vertex] + 1 {
                    path.push(edge);
                } else {
                    next[vertex] += 1;
                }
            }
        }
    }
}

/// Moves processes of a class to another node, or exchanges processes of two classes, where that
/// makes the numbers more even. `tie` is the weight of the sums of all classes. Returns false if
/// nothing changed.
fn exchange(nodes: &[Node], totals: &mut [Vec<u64>], tie: f64) -> bool {
    let mut changed = false;
    let classes = totals.first().map_or(0, Vec::len);
    for a in 0..nodes.len() {
        for b in (0..nodes.len()).filter(|b| *b != a) {
            for class in 0..classes {
                let others = (0..classes).filter(|other| *other != class).map(Some);
                for back in std::iter::once(None).chain(others) {
                    changed |= exchange_between(nodes, totals, [a, b], class, back, tie);
                }
            }
        }
    }
    changed
}

/// Moves processes of a class from one node to another, and as many processes of the class `back`
/// to the first.
fn exchange_between(
    nodes: &[Node],
    totals: &mut [Vec<u64>],
    [a, b]: [usize; 2],
    class: usize,
    back: Option<usize>,
    tie: f64,
) -> bool {
    let slope = |node: usize, class: usize| {
        totals[node][class] as f64 / (nodes[node].n as f64 * nodes[node].speed)
    };
    let mut gain = slope(a, class) - slope(b, class);
    let weights = [a, b].map(|node| 1.0 / (nodes[node].n as f64 * nodes[node].speed));
    let mut curve: f64 = weights.iter().sum();
    if let Some(back) = back {
        gain += slope(b, back) - slope(a, back);
        curve *= 2.0;
    }
    // The best number if processes could be divided. The cost decides.
    let mut number = (gain / curve).round().max(1.0) as i64;
    while number > 0 {
        let changes = |sign: i64| {
            let back = back.map(|back| (back, -sign * number));
            let all = std::iter::once((class, sign * number)).chain(back);
            all.collect::<Vec<(usize, i64)>>()
        };
        let (of_a, of_b) = (changes(-1), changes(1));
        let keeps = nodes[a].keeps(&totals[a], &of_a) && nodes[b].keeps(&totals[b], &of_b);
        let cost = || {
            let of_a = nodes[a].cost(&totals[a], &of_a, tie);
            of_a + nodes[b].cost(&totals[b], &of_b, tie)
        };
        // A smaller difference may be due to rounding.
        if keeps && cost() < -1e-9 {
            for (node, changes) in [(a, of_a), (b, of_b)] {
                for (class, by) in changes {
                    totals[node][class] = totals[node][class].saturating_add_signed(by);
                }
            }
            return true;
        }
        number /= 2;
    }
    false
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

    /// Returns true if the counts keep the limits and hold all processes, and OS processes that are
    /// alike differ by at most one process of each class.
    fn is_even(counts: &[Vec<u64>], sizes: &[u64], limits: &[Limits]) -> bool {
        let speeds = vec![1.0; limits.len()];
        let sums = counts.iter().map(|of| of.iter().sum::<u64>());
        let spread = |group: &Vec<usize>| {
            counts.iter().all(|of| {
                let of = group.iter().map(|o| of[*o]);
                of.clone().max().unwrap() - of.min().unwrap() <= 1
            })
        };
        let keeps = |(o, limits): (usize, &Limits)| {
            let own = counts.iter().zip(&limits.own);
            let total = |shared: &Shared| shared.classes.iter().map(|c| counts[*c][o]).sum::<u64>();
            own.clone()
                .all(|(of, own)| (own.0.into()..=own.1.into()).contains(&of[o]))
                && limits
                    .shared
                    .iter()
                    .all(|s| (s.least.into()..=s.most.into()).contains(&total(s)))
        };
        sums.eq(sizes.iter().copied())
            && alike(limits, &speeds).iter().all(spread)
            && limits.iter().enumerate().all(keeps)
    }

    #[test]
    fn a_limit_on_two_kinds_leaves_equal_boxes_even() {
        let any = (0, u32::MAX);
        let mut all = vec![limits(&[any, any], 4)];
        all.extend((0..2).map(|_| limits(&[(0, 0), any], u32::MAX)));
        let counts = pack(&[4, 4], &all, &[1.0; 3]).unwrap();
        assert_eq!(counts, [[4, 0, 0], [0, 2, 2]]);
    }

    proptest! {
        #[test]
        fn boxes_of_the_same_container_differ_by_at_most_one(
            sizes in prop::collection::vec(0u64..20, 1..4),
            kinds in prop::collection::vec(
                (prop::collection::vec(any::<bool>(), 3), 0u32..30, 1usize..5), 1..4
            ),
        ) {
            let mut all = Vec::new();
            for (held, most, count) in kinds {
                let of = |held: &bool| if *held { (0, u32::MAX) } else { (0, 0) };
                let own: Vec<(u32, u32)> = held[..sizes.len()].iter().map(of).collect();
                all.extend((0..count).map(|_| limits(&own, most)));
            }
            if let Some(counts) = pack(&sizes, &all, &vec![1.0; all.len()]) {
                prop_assert!(is_even(&counts, &sizes, &all), "{counts:?}");
            }
        }

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
