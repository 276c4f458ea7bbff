//! Changes to the contents that make them easier to place.
//!
//! * Modules of one kind that exchange many tokens in both directions, such as the halves of a
//!   butterfly, have no frames: their processes are layered together.
//! * Modules in one row are layered, because lines between them bend less than in lanes.
//! * A ring of boxes has two rows, with opposite directions.

use super::nesting::{Item, Nesting};
use crate::picture::{Picture, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

/// Least number of edges in each direction between two modules without frames.
const MUTUAL: usize = 4;
/// Largest ring with two rows.
const MOST_IN_RING: usize = 26;

/// Returns the contents with the changes. If `wraps`, a row of modules becomes two rows.
pub(super) fn arranged(picture: &Picture, wraps: bool) -> Picture {
    let mut picture = dissolved(picture);
    let nesting = Nesting::of(&picture);
    let rings = rings(&picture, &nesting);
    for (group, ring) in rings.into_iter().enumerate() {
        let Shape::Matrix { columns } = picture.groups[group].shape else {
            continue;
        };
        let items = &nesting.items[group];
        let groups = items.iter().any(|item| matches!(item, Item::Group(_)));
        if groups && items.len() <= columns {
            let columns = items.len().div_ceil(2);
            picture.groups[group].shape = match wraps && columns > 1 {
                true => Shape::Matrix { columns },
                false => Shape::Layered,
            };
        }
        if !ring || groups || items.len() > MOST_IN_RING {
            continue;
        }
        let columns = items.len().div_ceil(2);
        picture.groups[group].shape = Shape::Matrix { columns };
        for (index, item) in items.iter().enumerate() {
            if let Item::Node(node) = *item {
                let back = items.len() + columns - 1 - index;
                picture.nodes[node].position = if index < columns { index } else { back };
            }
        }
    }
    picture
}

/// Returns the contents without the frames of modules that exchange many tokens, and of the modules
/// and families in them.
fn dissolved(picture: &Picture) -> Picture {
    let nesting = Nesting::of(picture);
    let mut between: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    for edge in &picture.edges {
        let (Some(from), Some(to)) = (edge.from.node, edge.to.node) else {
            continue;
        };
        let (scope, items) = nesting.way(from, to).top;
        let [a, b] = items.map(|item| nesting.items[scope][item]);
        if let (Item::Group(a), Item::Group(b)) = (a, b)
            && a != b
            && nesting.shape(picture, scope) == Shape::Layered
            && picture.groups[a].label == picture.groups[b].label
        {
            *between.entry((a, b)).or_default() += 1;
        }
    }
    let kind = |group: usize| (picture.groups[group].parent, &picture.groups[group].label);
    let many = |pair: &(usize, usize)| between.get(pair).is_some_and(|count| *count >= MUTUAL);
    let mutual: FxHashSet<_> = between
        .keys()
        .filter(|(a, b)| many(&(*a, *b)) && many(&(*b, *a)))
        .map(|(a, _)| kind(*a))
        .collect();
    if mutual.is_empty() {
        return picture.clone();
    }
    let mut kept: Vec<Option<usize>> = Vec::with_capacity(picture.groups.len());
    let mut inside = vec![false; picture.groups.len()];
    let mut names: Vec<&str> = Vec::new();
    let mut count = 0;
    for (index, group) in picture.groups.iter().enumerate() {
        let around = group.parent.is_some_and(|parent| inside[parent]);
        inside[index] = around || mutual.contains(&kind(index));
        if inside[index] && group.framed && !names.contains(&&*group.label) {
            names.push(&group.label);
        }
        kept.push((!inside[index]).then_some(count));
        count += usize::from(!inside[index]);
    }
    let home = |mut group: Option<usize>| {
        while let Some(index) = group
            && inside[index]
        {
            group = picture.groups[index].parent;
        }
        group.and_then(|index| kept[index])
    };
    let mut result = picture.clone();
    result.groups = (0..picture.groups.len())
        .filter(|index| !inside[*index])
        .map(|index| picture.groups[index].clone())
        .collect();
    for group in &mut result.groups {
        group.parent = home(group.parent);
    }
    for node in &mut result.nodes {
        node.group = home(node.group);
    }
    // The order of the old scopes, the whole picture first.
    let mut place = 0;
    let mut stack: Vec<Item> = nesting.items[nesting.root()]
        .iter()
        .rev()
        .copied()
        .collect();
    while let Some(item) = stack.pop() {
        match item {
            Item::Node(node) => result.nodes[node].position = place,
            Item::Group(group) => {
                if let Some(kept) = kept[group] {
                    result.groups[kept].position = place;
                }
                stack.extend(nesting.items[group].iter().rev());
            }
        }
        place += 1;
    }
    result.notes.push(format!(
        "Modules without frames, because they exchange tokens in both directions: {}",
        names.join(", ")
    ));
    result
}

/// Returns for each group whether it is a ring: an edge joins each item to the next, and the last to
/// the first.
fn rings(picture: &Picture, nesting: &Nesting) -> Vec<bool> {
    let mut joined: Vec<usize> = vec![0; picture.groups.len()];
    let mut other = vec![false; picture.groups.len()];
    let mut known: FxHashSet<(usize, usize)> = FxHashSet::default();
    for edge in &picture.edges {
        let (Some(from), Some(to)) = (edge.from.node, edge.to.node) else {
            continue;
        };
        let (scope, [a, b]) = nesting.way(from, to).top;
        if scope == nesting.root() || a == b {
            continue;
        }
        other[scope] |= edge.wraps;
        let count = nesting.items[scope].len();
        let first = match (a.min(b), a.max(b)) {
            (a, b) if a + 1 == b => a,
            (0, b) if b + 1 == count => b,
            _ => {
                other[scope] = true;
                continue;
            }
        };
        joined[scope] += usize::from(known.insert((scope, first)));
    }
    let is_ring = |group: usize| {
        let count = nesting.items[group].len();
        count >= 4 && joined[group] == count && !other[group]
    };
    (0..picture.groups.len()).map(is_ring).collect()
}
