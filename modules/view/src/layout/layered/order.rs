//! Order of the nodes in each layer, with few crossings.

use super::graph::{Graph, Node, Ports};
use crate::geometry::Side;

/// Work of the search, in visits of links: at least this, and more for each link.
const WORK: usize = 12_000_000;
/// Work of the search for each link, up to a number of links.
const LINK_WORK: usize = 300;
/// Links that add to the work of the search.
const MOST_LINKS: usize = 100_000;
/// Sweeps without a better order after which a search ends.
const PATIENCE: usize = 6;
/// Most initial orders.
const STARTS: usize = 96;

/// How far nodes move when the best order is changed at random, as a part of their layer.
const NOISE: [f64; 4] = [0.5, 0.25, 0.5, 1.0];

/// A link as seen from one of its ends.
#[derive(Clone, Copy)]
struct Neighbour {
    node: usize,
    /// Place of the far port among the fixed ports of its side.
    slot: usize,
    /// Place of the near port.
    own: usize,
}

/// Neighbours of each node in the layers before (0) and after (1).
struct Neighbours {
    first: [Vec<usize>; 2],
    list: [Vec<Neighbour>; 2],
}

impl Neighbours {
    fn of(&self, side: usize, node: usize) -> &[Neighbour] {
        &self.list[side][self.first[side][node]..self.first[side][node + 1]]
    }
}

/// State of the search.
struct Search<'a> {
    graph: &'a Graph,
    near: Neighbours,
    /// Number of places for fixed ports on each side of each node, at least 1.
    slots: [Vec<usize>; 2],
    layers: Vec<Vec<usize>>,
    /// Index of the first slot of each node in its layer, on each side.
    base: [Vec<usize>; 2],
    work: usize,
    /// Work after which the search ends.
    most: usize,
}

/// Orders the nodes in the layers of a graph. Sets for each port the place of its far ends, by
/// which free ports are ordered.
///
/// Sweeps with barycentres and medians alternately, and exchanges neighbours, from several initial
/// orders, of which the first is the order of items. Keeps the best. Each sweep takes
/// O(E log V). `share` divides the work.
pub(super) fn order(ports: &Ports, graph: &mut Graph, share: usize, far: &mut [f64]) {
    let mut search = Search::new(ports, graph);
    search.most /= share;
    search.load(&graph.layers);
    // Ports on the border follow the items, whose order stays if that has no crossings.
    let is_border = |layer: &[usize]| {
        let nodes = layer.iter().map(|node| &graph.nodes[*node]);
        nodes.clone().all(|node| matches!(node, Node::Border(_)))
    };
    let last = graph.layers.len().saturating_sub(1);
    if last > 0 {
        for (layer, side) in [(0, 1), (last, 0)] {
            if is_border(&graph.layers[layer]) {
                search.sort(layer, side, false);
            }
        }
    }
    let initial = search.layers.clone();
    let mut best = initial.clone();
    let mut fewest = search.load(&initial);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    for start in 0..STARTS {
        if fewest == 0 || search.work >= search.most {
            break;
        }
        let from = search.start(start, &initial, &best, &mut random);
        search.load(&from);
        let (found, layers) = search.improve(start);
        if found < fewest {
            fewest = found;
            best = layers;
        }
    }
    search.load(&best);
    search.far(ports, far);
    graph.layers = best;
}

impl Search<'_> {
    fn new<'a>(ports: &Ports, graph: &'a Graph) -> Search<'a> {
        let nodes = graph.nodes.len();
        let mut slots = [vec![1; nodes], vec![1; nodes]];
        for (node, kind) in graph.nodes.iter().enumerate() {
            let Node::Item(item) = *kind else { continue };
            for &port in &ports.of[item] {
                let flank = usize::from(ports.hand[port] == Side::Right);
                let slots = &mut slots[flank][node];
                *slots = (*slots).max(ports.slot[port] + 1);
            }
        }
        let slot = |end: super::graph::End| end.port.map_or(0, |p| ports.slot[p]);
        let mut near = Neighbours {
            first: [vec![0; nodes + 1], vec![0; nodes + 1]],
            list: [Vec::new(), Vec::new()],
        };
        for side in 0..2 {
            // The node whose neighbour on this side is `link[side]`.
            let own = 1 - side;
            let first = &mut near.first[side];
            for link in &graph.links {
                first[link[own].node + 1] += 1;
            }
            for node in 0..nodes {
                first[node + 1] += first[node];
            }
            let mut next = first.clone();
            let nobody = Neighbour {
                node: 0,
                slot: 0,
                own: 0,
            };
            near.list[side] = vec![nobody; graph.links.len()];
            for link in &graph.links {
                near.list[side][next[link[own].node]] = Neighbour {
                    node: link[side].node,
                    slot: slot(link[side]),
                    own: slot(link[own]),
                };
                next[link[own].node] += 1;
            }
        }
        Search {
            graph,
            near,
            slots,
            layers: Vec::new(),
            base: [vec![0; nodes], vec![0; nodes]],
            work: 0,
            most: WORK + LINK_WORK * graph.links.len().min(MOST_LINKS),
        }
    }

    /// Takes over an order. Returns its number of crossings.
    fn load(&mut self, layers: &[Vec<usize>]) -> usize {
        self.layers = layers.to_vec();
        for layer in 0..self.layers.len() {
            self.number(layer);
        }
        self.crossings()
    }

    fn number(&mut self, layer: usize) {
        for side in 0..2 {
            let mut next = 0;
            for &node in &self.layers[layer] {
                self.base[side][node] = next;
                next += self.slots[side][node];
            }
        }
    }

    /// Returns the place of the far end of a neighbour on a side.
    fn place(&self, side: usize, neighbour: Neighbour) -> usize {
        self.base[1 - side][neighbour.node] + neighbour.slot
    }

    /// Returns an initial order: the order of items, a search in depth from the left or from the
    /// right, or a random change of the best order.
    fn start(
        &mut self,
        start: usize,
        initial: &[Vec<usize>],
        best: &[Vec<usize>],
        random: &mut u64,
    ) -> Vec<Vec<usize>> {
        match start {
            0 => initial.to_vec(),
            1 => self.searched(initial, 1),
            2 => self.searched(initial, 0),
            _ => {
                let noise = NOISE[start % NOISE.len()];
                let mut layers = best.to_vec();
                let nodes = self.graph.nodes.len();
                let mut key = vec![0.0; nodes];
                for layer in &mut layers {
                    let length = layer.len() as f64;
                    for (i, &node) in layer.iter().enumerate() {
                        // xorshift64*
                        *random ^= *random >> 12;
                        *random ^= *random << 25;
                        *random ^= *random >> 27;
                        let bits = random.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
                        let part = bits as f64 / f64::from(1_u32 << 24);
                        key[node] = i as f64 + (part - 0.5) * length * noise;
                    }
                    layer.sort_by(|&a, &b| key[a].total_cmp(&key[b]));
                }
                layers
            }
        }
    }

    /// Returns the order in which a depth-first search reaches the nodes.
    fn searched(&self, initial: &[Vec<usize>], side: usize) -> Vec<Vec<usize>> {
        let mut layers = vec![Vec::new(); initial.len()];
        let mut seen = vec![false; self.graph.nodes.len()];
        let order: Vec<usize> = if side == 1 {
            (0..initial.len()).collect()
        } else {
            (0..initial.len()).rev().collect()
        };
        for layer in order {
            for &root in &initial[layer] {
                let mut stack = vec![root];
                while let Some(node) = stack.pop() {
                    if seen[node] {
                        continue;
                    }
                    seen[node] = true;
                    layers[self.graph.layer[node]].push(node);
                    stack.extend(self.near.of(side, node).iter().rev().map(|n| n.node));
                }
            }
        }
        layers
    }

    /// Sweeps until the order does not get better. Returns the best order and its crossings.
    fn improve(&mut self, start: usize) -> (usize, Vec<Vec<usize>>) {
        let mut best = self.layers.clone();
        let mut fewest = self.crossings();
        let mut patience = PATIENCE;
        for sweep in start.. {
            if patience == 0 || fewest == 0 || self.work >= self.most {
                break;
            }
            let median = sweep / 2 % 2 == 1;
            let count = self.layers.len();
            if sweep.is_multiple_of(2) {
                for layer in 1..count {
                    self.sort(layer, 0, median);
                }
            } else {
                for layer in (0..count.saturating_sub(1)).rev() {
                    self.sort(layer, 1, median);
                }
            }
            self.exchange(sweep % 4 >= 2);
            let crossings = self.crossings();
            if crossings < fewest {
                fewest = crossings;
                best.clone_from(&self.layers);
                patience = PATIENCE;
            } else {
                patience -= 1;
            }
        }
        (fewest, best)
    }

    /// Sorts a layer by the places of its neighbours on a side. Nodes without neighbours keep
    /// their index.
    fn sort(&mut self, layer: usize, side: usize, median: bool) {
        let mut nodes = std::mem::take(&mut self.layers[layer]);
        let mut keys: Vec<(f64, usize)> = Vec::with_capacity(nodes.len());
        let mut places = Vec::new();
        for &node in &nodes {
            let near = self.near.of(side, node);
            if near.is_empty() {
                continue;
            }
            places.clear();
            places.extend(near.iter().map(|&n| self.place(side, n)));
            self.work += places.len();
            keys.push((
                if median {
                    weighted_median(&mut places)
                } else {
                    mean(&places)
                },
                node,
            ));
        }
        keys.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut sorted = keys.into_iter();
        for node in &mut nodes {
            if !self.near.of(side, *node).is_empty()
                && let Some((_, next)) = sorted.next()
            {
                *node = next;
            }
        }
        self.layers[layer] = nodes;
        self.number(layer);
    }

    /// Exchanges adjacent nodes as long as that removes crossings. `equal` allows at first
    /// exchanges that keep their number, which leads out of local minima.
    fn exchange(&mut self, equal: bool) {
        for pass in 0..8 {
            let mut changed = false;
            for layer in 0..self.layers.len() {
                changed |= self.exchange_in(layer, equal && pass == 0);
            }
            if !changed || self.work >= self.most {
                break;
            }
        }
    }

    fn exchange_in(&mut self, layer: usize, equal: bool) -> bool {
        let mut nodes = std::mem::take(&mut self.layers[layer]);
        // Sorted places of the neighbours of each node, for both sides.
        let mut places = Vec::new();
        let mut spans = Vec::with_capacity(nodes.len());
        for &node in &nodes {
            let mut span = [0; 3];
            for side in 0..2 {
                span[side] = places.len();
                let near = self.near.of(side, node);
                places.extend(near.iter().map(|&n| self.place(side, n)));
                places[span[side]..].sort_unstable();
            }
            span[2] = places.len();
            spans.push(span);
        }
        self.work += places.len();
        let mut changed = false;
        for pass in 0..16 {
            let mut again = false;
            for i in 1..nodes.len() {
                let (mut now, mut then) = (0, 0);
                for side in 0..2 {
                    let a = &places[spans[i - 1][side]..spans[i - 1][side + 1]];
                    let b = &places[spans[i][side]..spans[i][side + 1]];
                    self.work += a.len() + b.len();
                    let (x, y) = between(a, b);
                    now += x;
                    then += y;
                }
                if then < now || (equal && pass == 0 && then == now && now > 0) {
                    nodes.swap(i - 1, i);
                    spans.swap(i - 1, i);
                    again = true;
                }
            }
            changed |= again;
            if !again {
                break;
            }
        }
        self.layers[layer] = nodes;
        self.number(layer);
        changed
    }

    fn crossings(&mut self) -> usize {
        let mut total = 0;
        let mut ends = Vec::new();
        for layer in 1..self.layers.len() {
            ends.clear();
            for &node in &self.layers[layer] {
                for &near in self.near.of(0, node) {
                    ends.push((self.base[0][node] + near.own, self.place(0, near)));
                }
            }
            // Links with the same end do not cross.
            ends.sort_unstable();
            self.work += ends.len();
            total += inversions(&ends);
        }
        total
    }

    /// Sets for each port of the graph the mean place of the far ends of its lines.
    fn far(&self, ports: &Ports, far: &mut [f64]) {
        for kind in &self.graph.nodes {
            if let Node::Item(item) = *kind {
                for &port in &ports.of[item] {
                    far[port] = f64::INFINITY;
                }
            }
        }
        let mut count = rustc_hash::FxHashMap::default();
        for link in &self.graph.links {
            for side in 0..2 {
                if let Some(port) = link[side].port {
                    let end = link[1 - side];
                    let size = self.slots[side][end.node] as f64;
                    let slot = end.port.map_or(0.0, |p| ports.slot[p] as f64);
                    let place = self.base[side][end.node] as f64 + slot.min(size);
                    let count = count.entry(port).or_insert(0.0);
                    *count += 1.0;
                    if *count == 1.0 {
                        far[port] = place;
                    } else {
                        far[port] += (place - far[port]) / *count;
                    }
                }
            }
        }
    }
}

fn mean(places: &[usize]) -> f64 {
    places.iter().sum::<usize>() as f64 / places.len() as f64
}

/// Returns the median, which is weighted towards the denser half if the number is even (Gansner,
/// Koutsofios, North and Vo). `places` must not be empty.
fn weighted_median(places: &mut [usize]) -> f64 {
    places.sort_unstable();
    let count = places.len();
    let at = |i: usize| places[i] as f64;
    let middle = count / 2;
    if count % 2 == 1 {
        return at(middle);
    }
    let left = at(middle - 1) - at(0);
    let right = at(count - 1) - at(middle);
    if left + right == 0.0 {
        (at(middle - 1) + at(middle)) / 2.0
    } else {
        (at(middle - 1) * right + at(middle) * left) / (left + right)
    }
}

/// Returns the crossings of the links of two adjacent nodes, by the sorted places of their far
/// ends: if `a` is above `b`, and if it is below.
fn between(a: &[usize], b: &[usize]) -> (usize, usize) {
    let (mut above, mut below) = (0, 0);
    let (mut less, mut not_more) = (0, 0);
    for &place in a {
        while less < b.len() && b[less] < place {
            less += 1;
        }
        while not_more < b.len() && b[not_more] <= place {
            not_more += 1;
        }
        above += less;
        below += b.len() - not_more;
    }
    (above, below)
}

/// Returns the number of pairs whose second numbers are in the other order than their first. The
/// pairs must be sorted. O(n log n), by a merge sort.
fn inversions(pairs: &[(usize, usize)]) -> usize {
    let mut numbers: Vec<usize> = pairs.iter().map(|p| p.1).collect();
    let mut merged = vec![0; numbers.len()];
    let mut total = 0;
    let mut run = 1;
    while run < numbers.len() {
        for start in (0..numbers.len()).step_by(2 * run) {
            let middle = (start + run).min(numbers.len());
            let end = (start + 2 * run).min(numbers.len());
            let (mut a, mut b) = (start, middle);
            for slot in &mut merged[start..end] {
                if b == end || (a < middle && numbers[a] <= numbers[b]) {
                    *slot = numbers[a];
                    a += 1;
                } else {
                    *slot = numbers[b];
                    b += 1;
                    total += middle - a;
                }
            }
        }
        std::mem::swap(&mut numbers, &mut merged);
        run *= 2;
    }
    total
}

#[cfg(test)]
mod tests {
    use super::{between, inversions};
    use proptest::prelude::*;

    fn naive(pairs: &[(usize, usize)]) -> usize {
        let crosses = |a: &(usize, usize), b: &(usize, usize)| a.0 < b.0 && a.1 > b.1;
        let after = |a| pairs.iter().filter(|b| crosses(a, b)).count();
        pairs.iter().map(after).sum()
    }

    proptest! {
        #[test]
        fn crossings_are_counted(
            mut pairs in prop::collection::vec((0..9_usize, 0..9_usize), 0..40)
        ) {
            pairs.sort_unstable();
            prop_assert_eq!(inversions(&pairs), naive(&pairs));
        }

        #[test]
        fn crossings_of_adjacent_nodes_are_counted(
            mut a in prop::collection::vec(0..9_usize, 0..9),
            mut b in prop::collection::vec(0..9_usize, 0..9),
        ) {
            a.sort_unstable();
            b.sort_unstable();
            let links = |upper: &[usize], lower: &[usize]| {
                let upper = upper.iter().map(|&p| (0, p));
                let mut links: Vec<_> = upper.chain(lower.iter().map(|&p| (1, p))).collect();
                links.sort_unstable();
                naive(&links)
            };
            prop_assert_eq!(between(&a, &b), (links(&a, &b), links(&b, &a)));
        }
    }
}
