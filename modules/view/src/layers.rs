//! Layered layout, left to right, by Sugiyama's method. Breaks cycles, assigns each item to a layer
//! by the longest path to it, and orders each layer by the mean position of neighbours.

/// Size of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// Positions of items, and paths of edges between them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    /// Upper left corner of each item.
    pub(crate) positions: Vec<(f64, f64)>,
    /// For each edge, the points between its ends, in its direction.
    pub(crate) ways: Vec<Vec<(f64, f64)>>,
    /// Whether each edge leads to the left.
    pub(crate) back: Vec<bool>,
    /// Size of the whole layout.
    pub(crate) size: Size,
}

/// Distance between layers, and between items of one layer.
const GAP: (f64, f64) = (56.0, 18.0);
/// Height of an edge that passes through a layer.
const PASS: f64 = 6.0;
/// Number of times that the layers are ordered.
const SWEEPS: usize = 8;

/// Places items that edges join, so that edges lead to the right, except those that close a cycle.
/// Ignores an edge from an item to itself.
///
/// `sizes` has the size of each item. `edges` are pairs of indices of items. The time is nearly
/// linear in items and edges. If edges would pass through more than about ten layers on average,
/// all edges are straight.
///
/// # Panics
/// Panics if an edge has an index that is out of range.
pub(crate) fn layout(sizes: &[Size], edges: &[(usize, usize)]) -> Layout {
    let back = back_edges(sizes.len(), edges);
    let forward: Vec<(usize, usize)> = edges
        .iter()
        .zip(&back)
        .map(|(&(a, b), &back)| if back { (b, a) } else { (a, b) })
        .collect();
    let layer = layers(sizes.len(), &forward);
    let span = |&(a, b): &(usize, usize)| layer[b].saturating_sub(layer[a] + 1);
    let through = forward.iter().map(span).sum::<usize>() <= 10 * edges.len() + 100;

    // Vertices are the items, followed by the points at which long edges pass through a layer.
    let mut layer_of = layer.clone();
    let mut passes: Vec<Vec<usize>> = Vec::with_capacity(edges.len());
    let mut pairs = Vec::new();
    for edge in &forward {
        let mut passed = Vec::new();
        let mut last = edge.0;
        for between in layer[edge.0] + 1..layer[edge.1].max(layer[edge.0] + 1) {
            if !through {
                break;
            }
            layer_of.push(between);
            pairs.push((last, layer_of.len() - 1));
            last = layer_of.len() - 1;
            passed.push(last);
        }
        if edge.0 != edge.1 {
            pairs.push((last, edge.1));
        }
        passes.push(passed);
    }
    let order = ordered(&layer_of, &pairs);
    let size = |vertex: usize| match sizes.get(vertex) {
        Some(size) => *size,
        None => Size {
            width: 0.0,
            height: PASS,
        },
    };
    let place = |layer: &[usize]| {
        let height: f64 = layer.iter().map(|&v| size(v).height + GAP.1).sum();
        height - GAP.1
    };
    let tallest = order.iter().map(|l| place(l)).fold(0.0, f64::max);
    let mut at = vec![(0.0, 0.0); layer_of.len()];
    let mut x = 0.0;
    for layer in &order {
        let width = layer.iter().map(|&v| size(v).width).fold(0.0, f64::max);
        let mut y = (tallest - place(layer)) / 2.0;
        for &vertex in layer {
            let Size { width: w, height } = size(vertex);
            at[vertex] = (x + (width - w) / 2.0, y);
            y += height + GAP.1;
        }
        x += width + GAP.0;
    }
    let ways = passes.iter().zip(&back).map(|(passed, &back)| {
        let points = passed.iter().map(|&v| (at[v].0, at[v].1 + PASS / 2.0));
        match back {
            true => points.rev().collect(),
            false => points.collect(),
        }
    });
    Layout {
        ways: ways.collect(),
        positions: at[..sizes.len()].to_vec(),
        back,
        size: Size {
            width: (x - GAP.0).max(0.0),
            height: tallest.max(0.0),
        },
    }
}

/// Groups the edges by the item that they leave. Returns two lists: the indices of the edges that
/// leave item `i` are the elements from `first[i]` to `first[i + 1]` (exclusive) of the second
/// list, where `first` is the first list. The first list has one element more than there are items.
fn leaving(items: usize, edges: &[(usize, usize)]) -> (Vec<usize>, Vec<usize>) {
    let mut start = vec![0; items + 1];
    for &(a, _) in edges {
        start[a + 1] += 1;
    }
    for i in 0..items {
        start[i + 1] += start[i];
    }
    let mut next = start.clone();
    let mut list = vec![0; edges.len()];
    for (edge, &(a, _)) in edges.iter().enumerate() {
        list[next[a]] = edge;
        next[a] += 1;
    }
    (start, list)
}

/// Returns for each edge whether it closes a cycle in a depth-first search. Without these edges,
/// and without edges from an item to itself, the graph has no cycles. An edge from an item to
/// itself gets false. The search visits sources first, so that the start of the network is on the
/// left.
fn back_edges(items: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let (start, list) = leaving(items, edges);
    let mut entered = vec![0usize; items];
    for &(_, b) in edges.iter().filter(|(a, b)| a != b) {
        entered[b] += 1;
    }
    let mut roots: Vec<usize> = (0..items).collect();
    roots.sort_by_key(|&item| entered[item] > 0);
    let mut back = vec![false; edges.len()];
    // State of an item: 0 not visited, 1 on the current path, 2 done.
    let mut state = vec![0u8; items];
    let mut way: Vec<(usize, usize)> = Vec::new();
    for root in roots {
        if state[root] == 0 {
            state[root] = 1;
            way.push((root, start[root]));
        }
        while let Some((item, next)) = way.last_mut() {
            let (item, at) = (*item, *next);
            if at == start[item + 1] {
                state[item] = 2;
                way.pop();
                continue;
            }
            *next += 1;
            let edge = list[at];
            let to = edges[edge].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    way.push((to, start[to]));
                }
                1 if to != item => back[edge] = true,
                _ => {}
            }
        }
    }
    back
}

/// Returns the layer of each item, which is the number of edges on the longest path to it. Items
/// without incoming edges are placed one layer before their nearest successor, or in layer 0 if
/// they have none. The edges must have no cycles, except edges from an item to itself, which are
/// ignored.
fn layers(items: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let (start, list) = leaving(items, edges);
    let mut waits = vec![0usize; items];
    for &(a, b) in edges {
        waits[b] += usize::from(a != b);
    }
    let mut layer = vec![0; items];
    let mut ready: Vec<usize> = (0..items).filter(|&i| waits[i] == 0).collect();
    while let Some(item) = ready.pop() {
        for &edge in &list[start[item]..start[item + 1]] {
            let to = edges[edge].1;
            if to == item {
                continue;
            }
            layer[to] = layer[to].max(layer[item] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    // Items without incoming edges are placed next to their successors, not on the far left.
    let mut led_to = vec![false; items];
    for &(a, b) in edges {
        led_to[b] |= a != b;
    }
    for item in (0..items).filter(|&item| !led_to[item]) {
        let next = list[start[item]..start[item + 1]].iter();
        let next = next.map(|&edge| edges[edge].1).filter(|&to| to != item);
        if let Some(nearest) = next.map(|to| layer[to]).min() {
            layer[item] = nearest - 1;
        }
    }
    layer
}

/// Returns the vertices of each layer, ordered by the mean position of their neighbours. `layer_of`
/// has the layer of each vertex. `pairs` are the edges, as indices of vertices, from left to right.
fn ordered(layer_of: &[usize], pairs: &[(usize, usize)]) -> Vec<Vec<usize>> {
    let count = layer_of.iter().max().map_or(0, |last| last + 1);
    let mut order = vec![Vec::new(); count];
    for (vertex, &layer) in layer_of.iter().enumerate() {
        order[layer].push(vertex);
    }
    let turned: Vec<(usize, usize)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
    let (right, left) = (
        leaving(layer_of.len(), pairs),
        leaving(layer_of.len(), &turned),
    );
    let mut rank = vec![0.0; layer_of.len()];
    let number = |layer: &[usize], rank: &mut Vec<f64>| {
        for (i, &vertex) in layer.iter().enumerate() {
            rank[vertex] = (i as f64 + 0.5) / layer.len() as f64;
        }
    };
    for layer in &order {
        number(layer, &mut rank);
    }
    for sweep in 0..SWEEPS {
        let rightwards = sweep % 2 == 0;
        let ((start, list), ends) = if rightwards {
            (&left, &turned[..])
        } else {
            (&right, pairs)
        };
        for step in 0..count {
            let at = if rightwards { step } else { count - 1 - step };
            let layer = &mut order[at];
            let mut keys: Vec<(f64, usize)> = Vec::with_capacity(layer.len());
            for &vertex in layer.iter() {
                let joined = &list[start[vertex]..start[vertex + 1]];
                let sum: f64 = joined.iter().map(|&edge| rank[ends[edge].1]).sum();
                let key = match joined.len() {
                    0 => rank[vertex],
                    n => sum / n as f64,
                };
                keys.push((key, vertex));
            }
            // A stable sort keeps the order of equal vertices.
            keys.sort_by(|a, b| a.0.total_cmp(&b.0));
            *layer = keys.into_iter().map(|(_, vertex)| vertex).collect();
            number(layer, &mut rank);
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: Size = Size {
        width: 10.0,
        height: 8.0,
    };

    #[test]
    fn a_chain_is_a_line_and_a_farm_a_column() {
        let chain = layout(&[SIZE; 3], &[(0, 1), (1, 2)]);
        let xs: Vec<f64> = chain.positions.iter().map(|p| p.0).collect();
        assert!(xs[0] < xs[1] && xs[1] < xs[2], "{xs:?}");
        assert!(chain.positions.iter().all(|p| p.1 == chain.positions[0].1));
        let farm = layout(&[SIZE; 4], &[(0, 1), (0, 2), (0, 3)]);
        assert!(
            farm.positions[1..]
                .iter()
                .all(|p| p.0 == farm.positions[1].0)
        );
        assert_eq!(farm.positions[0].1, farm.positions[2].1);
    }

    #[test]
    fn an_edge_back_leads_left_and_a_long_one_passes_between() {
        let there = layout(&[SIZE; 3], &[(0, 1), (1, 2), (2, 0), (0, 2), (1, 1)]);
        assert_eq!(there.back, [false, false, true, false, false]);
        assert_eq!(there.ways[2].len(), 1);
        assert_eq!(there.ways[3].len(), 1);
        assert!(there.positions[0].0 < there.positions[2].0);
        let none = layout(&[], &[]);
        assert_eq!(none.size, Size::default());
    }

    #[test]
    fn a_long_ring_is_no_danger() {
        let n = 100_000;
        let edges: Vec<(usize, usize)> = (0..n).map(|i| (i, (i + 1) % n)).collect();
        let ring = layout(&vec![SIZE; n], &edges);
        assert_eq!(ring.back.iter().filter(|b| **b).count(), 1);
    }

    proptest! {
        #[test]
        fn nothing_lies_on_another(
            edges in prop::collection::vec((0usize..12, 0usize..12), 0..40)
        ) {
            let sizes: Vec<Size> = (0..12)
                .map(|i| Size { width: 5.0 + f64::from(i), height: 30.0 - f64::from(i) })
                .collect();
            let made = layout(&sizes, &edges);
            for (i, a) in made.positions.iter().enumerate() {
                prop_assert!(a.0 >= 0.0 && a.0 + sizes[i].width <= made.size.width + 1e-6);
                prop_assert!(a.1 >= -1e-6 && a.1 + sizes[i].height <= made.size.height + 1e-6);
                for (j, b) in made.positions.iter().enumerate().skip(i + 1) {
                    let apart = |p: f64, w: f64, q: f64, v: f64| p + w <= q || q + v <= p;
                    prop_assert!(
                        apart(a.0, sizes[i].width, b.0, sizes[j].width)
                            || apart(a.1, sizes[i].height, b.1, sizes[j].height)
                    );
                }
            }
            for (edge, &(a, b)) in edges.iter().enumerate() {
                if a != b {
                    let leads_left = made.positions[b].0 < made.positions[a].0;
                    prop_assert_eq!(made.back[edge], leads_left);
                }
            }
        }
    }
}
