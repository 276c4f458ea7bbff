//! Edges that lead to the left, so that the others have no cycles.

/// Returns for each edge (writer item, reader item, has initial tokens) whether it leads to the
/// left. The other edges, except those from an item to itself, have no cycles.
///
/// Edges with initial tokens are chosen first, because a cycle of a running network has some. The
/// edges without initial tokens are then broken by the better of two heuristics: the order of Eades,
/// Lin and Smyth, or a depth-first search in the order of the items. Linear, apart from sorting.
///
/// # Panics
/// If an item of an edge is not less than `items`.
#[must_use]
pub(crate) fn backward(items: usize, edges: &[(usize, usize, bool)]) -> Vec<bool> {
    let cyclic = |backward: &dyn Fn(usize) -> bool| in_cycles(items, edges, backward);
    // Only edges inside of cycles matter. Cycles without initial tokens must be broken at other
    // edges.
    let stuck = cyclic(&|e| edges[e].2);
    let mut result = vec![false; edges.len()];
    let inner: Vec<usize> = (0..edges.len()).filter(|&e| stuck[e]).collect();
    for e in fewest(items, edges, &inner) {
        result[e] = true;
    }
    let left = cyclic(&|e| result[e]);
    let tokens: Vec<usize> = (0..edges.len()).filter(|&e| left[e]).collect();
    for e in breaking_tokens(items, edges, &tokens) {
        result[e] = true;
    }
    result
}

/// Returns for each edge that is not excluded whether it is in a cycle with other such edges.
fn in_cycles(
    items: usize,
    edges: &[(usize, usize, bool)],
    excluded: &dyn Fn(usize) -> bool,
) -> Vec<bool> {
    let kept = (0..edges.len()).filter(|&e| !excluded(e) && edges[e].0 != edges[e].1);
    let kept: Vec<usize> = kept.collect();
    let component = components(items, edges, &kept);
    let mut result = vec![false; edges.len()];
    for e in kept {
        result[e] = component[edges[e].0] == component[edges[e].1];
    }
    result
}

/// Edges by their writer.
fn outgoing(items: usize, edges: &[(usize, usize, bool)], chosen: &[usize]) -> Vec<Vec<usize>> {
    let mut outgoing = vec![Vec::new(); items];
    for &e in chosen {
        outgoing[edges[e].0].push(e);
    }
    outgoing
}

/// Returns the number of the strongly connected component of each item (Tarjan).
fn components(items: usize, edges: &[(usize, usize, bool)], chosen: &[usize]) -> Vec<usize> {
    let outgoing = outgoing(items, edges, chosen);
    let (mut index, mut low) = (vec![usize::MAX; items], vec![0; items]);
    let mut component = vec![usize::MAX; items];
    let (mut next, mut count) = (0, 0);
    let (mut open, mut path) = (Vec::new(), Vec::new());
    for root in 0..items {
        if index[root] != usize::MAX {
            continue;
        }
        path.push((root, 0));
        while let Some((item, at)) = path.last_mut() {
            let item = *item;
            if *at == 0 {
                index[item] = next;
                low[item] = next;
                next += 1;
                open.push(item);
            }
            if let Some(&e) = outgoing[item].get(*at) {
                *at += 1;
                let to = edges[e].1;
                if index[to] == usize::MAX {
                    path.push((to, 0));
                } else if component[to] == usize::MAX {
                    low[item] = low[item].min(index[to]);
                }
                continue;
            }
            path.pop();
            if let Some(&(above, _)) = path.last() {
                low[above] = low[above].min(low[item]);
            }
            if low[item] == index[item] {
                while let Some(member) = open.pop() {
                    component[member] = count;
                    if member == item {
                        break;
                    }
                }
                count += 1;
            }
        }
    }
    component
}

/// Returns the fewest edges of two heuristics that break all cycles of the chosen edges.
fn fewest(items: usize, edges: &[(usize, usize, bool)], chosen: &[usize]) -> Vec<usize> {
    let searched = searched(items, edges, chosen);
    let place = greedy(items, edges, chosen);
    let against = |&e: &usize| place[edges[e].0] > place[edges[e].1];
    let greedy: Vec<usize> = chosen.iter().copied().filter(against).collect();
    if greedy.len() < searched.len() {
        greedy
    } else {
        searched
    }
}

/// Returns edges with initial tokens that break all cycles of the chosen edges. Every cycle must
/// have one.
fn breaking_tokens(items: usize, edges: &[(usize, usize, bool)], chosen: &[usize]) -> Vec<usize> {
    // A topological order of the edges without initial tokens that puts sources in the order of
    // the items. Edges with initial tokens that agree with it need not lead to the left.
    let plain: Vec<usize> = chosen.iter().copied().filter(|&e| !edges[e].2).collect();
    let outgoing = outgoing(items, edges, &plain);
    let mut missing = vec![0; items];
    for &e in &plain {
        missing[edges[e].1] += 1;
    }
    let mut ready: std::collections::BTreeSet<usize> =
        (0..items).filter(|&i| missing[i] == 0).collect();
    let mut place = vec![usize::MAX; items];
    let mut next = 0;
    while let Some(item) = ready.pop_first() {
        place[item] = next;
        next += 1;
        for &e in &outgoing[item] {
            missing[edges[e].1] -= 1;
            if missing[edges[e].1] == 0 {
                ready.insert(edges[e].1);
            }
        }
    }
    let against = |&e: &usize| edges[e].2 && place[edges[e].0] > place[edges[e].1];
    let by_order: Vec<usize> = chosen.iter().copied().filter(against).collect();
    // A search that walks along edges without initial tokens first only closes cycles at edges that
    // it reaches last, but may close one at an edge without.
    let searched = searched(items, edges, chosen);
    if searched.len() < by_order.len() && searched.iter().all(|&e| edges[e].2) {
        searched
    } else {
        by_order
    }
}

/// Returns the edges that lead back to an item on the path of a depth-first search, which begins
/// at items without incoming edges, then at items in their order.
pub(super) fn searched(
    items: usize,
    edges: &[(usize, usize, bool)],
    chosen: &[usize],
) -> Vec<usize> {
    let outgoing = outgoing(items, edges, chosen);
    let mut entered = vec![false; items];
    for &e in chosen {
        entered[edges[e].1] = true;
    }
    let roots = (0..items).filter(|&i| !entered[i]).chain(0..items);
    let (mut seen, mut open) = (vec![false; items], vec![false; items]);
    let mut back = Vec::new();
    let mut path = Vec::new();
    for root in roots {
        if seen[root] {
            continue;
        }
        seen[root] = true;
        open[root] = true;
        path.push((root, 0));
        while let Some((item, at)) = path.last_mut() {
            let item = *item;
            if let Some(&e) = outgoing[item].get(*at) {
                *at += 1;
                let to = edges[e].1;
                if open[to] {
                    back.push(e);
                } else if !seen[to] {
                    seen[to] = true;
                    open[to] = true;
                    path.push((to, 0));
                }
            } else {
                open[item] = false;
                path.pop();
            }
        }
    }
    back.sort_unstable();
    back
}

/// Returns the place of each item in the order of Eades, Lin and Smyth: sinks last, sources first,
/// then the item with the most edges that leave more than enter. Ties in the order of the items.
fn greedy(items: usize, edges: &[(usize, usize, bool)], chosen: &[usize]) -> Vec<usize> {
    let outgoing = outgoing(items, edges, chosen);
    let mut incoming = vec![Vec::new(); items];
    for &e in chosen {
        incoming[edges[e].1].push(e);
    }
    let mut out: Vec<usize> = outgoing.iter().map(Vec::len).collect();
    let mut into: Vec<usize> = incoming.iter().map(Vec::len).collect();
    let score = |out: usize, into: usize| match (out, into) {
        (0, _) => isize::MIN,
        (_, 0) => isize::MAX,
        _ => out.cast_signed() - into.cast_signed(),
    };
    // Ordered by score from the largest. Sinks are last.
    let key = |item: usize, out: &[usize], into: &[usize]| {
        (std::cmp::Reverse(score(out[item], into[item])), item)
    };
    let mut queue: std::collections::BTreeSet<_> = (0..items)
        .filter(|&i| !outgoing[i].is_empty() || !incoming[i].is_empty())
        .map(|i| key(i, &out, &into))
        .collect();
    let mut place = vec![0; items];
    let (mut front, mut end) = (0, items);
    while let Some(&last) = queue.last() {
        let sink = last.0.0 == isize::MIN;
        let (_, item) = if sink {
            queue.remove(&last);
            last
        } else {
            queue.pop_first().unwrap_or(last)
        };
        if sink {
            end -= 1;
            place[item] = end;
        } else {
            place[item] = front;
            front += 1;
        }
        for &e in &outgoing[item] {
            let to = edges[e].1;
            if queue.remove(&key(to, &out, &into)) {
                into[to] -= 1;
                queue.insert(key(to, &out, &into));
            }
        }
        for &e in &incoming[item] {
            let from = edges[e].0;
            if queue.remove(&key(from, &out, &into)) {
                out[from] -= 1;
                queue.insert(key(from, &out, &into));
            }
        }
    }
    place
}

#[cfg(test)]
mod tests {
    use super::{backward, components};
    use proptest::prelude::*;

    #[test]
    fn a_cycle_is_broken_at_its_initial_tokens() {
        let ring = [(0, 1, false), (1, 2, true), (2, 0, false)];
        assert_eq!(backward(3, &ring), [false, true, false]);
    }

    #[test]
    fn a_cycle_without_initial_tokens_is_broken_at_its_last_edge() {
        let ring = [(0, 1, false), (1, 2, false), (2, 0, false)];
        assert_eq!(backward(3, &ring), [false, false, true]);
    }

    #[test]
    fn loops_and_edges_outside_of_cycles_are_not_backward() {
        let edges = [(0, 0, true), (0, 1, true), (1, 2, false), (2, 2, false)];
        assert_eq!(backward(3, &edges), [false; 4]);
    }

    #[test]
    fn a_request_and_its_reply_are_broken_at_the_reply() {
        let edges = [(1, 0, false), (0, 1, false), (1, 2, false), (2, 1, false)];
        assert_eq!(backward(3, &edges), [true, false, false, true]);
    }

    proptest! {
        #[test]
        fn forward_edges_have_no_cycles(
            edges in prop::collection::vec((0..12_usize, 0..12_usize, any::<bool>()), 0..40)
        ) {
            let back = backward(12, &edges);
            let kept: Vec<usize> = (0..edges.len())
                .filter(|&e| !back[e] && edges[e].0 != edges[e].1)
                .collect();
            let component = components(12, &edges, &kept);
            for &e in &kept {
                prop_assert_ne!(component[edges[e].0], component[edges[e].1]);
            }
            for (e, edge) in edges.iter().enumerate() {
                prop_assert!(!back[e] || edge.0 != edge.1);
            }
        }

        #[test]
        fn only_initial_tokens_are_backward_if_they_break_all_cycles(
            edges in prop::collection::vec((0..12_usize, 0..12_usize), 0..40)
        ) {
            let edges: Vec<_> = edges.iter().map(|&(a, b)| (a, b, a >= b)).collect();
            let back = backward(12, &edges);
            for (e, edge) in edges.iter().enumerate() {
                prop_assert!(!back[e] || edge.2);
            }
        }
    }
}
