//! Changes to the contents that make them easier to place.
//!
//! * Modules of one kind that exchange many tokens in both directions, such as the halves of a
//!   butterfly, have no frames: their processes are layered together.
//! * Modules that are rows of a grid with diagonals have no frames, because the diagonals are
//!   straight only without them.
//! * Modules in one row are layered, because lines between them bend less than in lanes.
//! * A request and its reply are one line with two arrows, except between neighbours in a matrix
//!   whose ports have no other lines.
//! * A complete connection has a bar ([`junctions`]).
//! * Boxes of modules without lines inside, such as the ranks of a butterfly, have the order of a
//!   layout without frames, so that few lines between the modules cross.
//! * A ring of boxes is a closed way through the cells of a matrix, also if the boxes have several
//!   kinds.

use super::junctions;
use super::layered;
use super::nesting::{Item, Nesting};
use super::scope::{Line, Port, Scope};
use super::wraps::LARGE;
use crate::geometry::{Side, Size};
use crate::picture::{Edge, End, Group, Picture, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

/// Least number of edges in each direction between two modules without frames.
const MUTUAL: usize = 4;
/// Most edges for each module of several rows, because lanes of many lines are wide.
const MOST_IN_LANES: usize = 6;
/// Approximate width of a box with its gap, in relation to the height.
const WIDE: f64 = 1.8;
/// Least number of boxes of a ring of several kinds. Fewer are clear in layers.
const LEAST_RING: usize = 9;
/// Wished ratio of width to height of a ring, and its limits.
const RATIO: f64 = 1.5;
const LIMITS: std::ops::RangeInclusive<f64> = 0.3..=3.6;
/// Limits of the ratio of a matrix of boxes. Beyond them, space beside it does not make up for its
/// length.
const OF_MATRIX: std::ops::RangeInclusive<f64> = 0.125..=16.0;

/// Returns the contents with the changes. If `wraps`, a row of modules becomes two rows, and a
/// matrix of boxes that is much longer than wide is layered, because layers can be cut into rows.
pub(super) fn arranged(picture: &Picture, wraps: bool) -> Picture {
    let mut picture = junctions::joined(gathered(flattened(dissolved(picture))));
    let nesting = Nesting::of(&picture);
    let rings = rings(&picture, &nesting);
    join_pairs(&mut picture, &nesting, &rings);
    let between = lines_between(&picture, &nesting);
    for (group, ring) in rings.into_iter().enumerate() {
        let Shape::Matrix { columns } = picture.groups[group].shape else {
            continue;
        };
        let items = &nesting.items[group];
        let groups = items.iter().any(|item| matches!(item, Item::Group(_)));
        if groups && columns > 1 && between[group] > MOST_IN_LANES * items.len() {
            picture.groups[group].shape = Shape::Layered;
            continue;
        }
        if groups && items.len() <= columns {
            let columns = items.len().div_ceil(2);
            picture.groups[group].shape = match wraps && columns > 1 {
                true => Shape::Matrix { columns },
                false => Shape::Layered,
            };
        }
        let Some(ring) = ring.filter(|_| !groups) else {
            let ratio = WIDE * columns as f64 / items.len().div_ceil(columns.max(1)) as f64;
            if wraps && !groups && items.len() >= LARGE && !OF_MATRIX.contains(&ratio) {
                picture.groups[group].shape = Shape::Layered;
            }
            continue;
        };
        let columns = columns_of_ring(items.len());
        picture.groups[group].shape = Shape::Matrix { columns };
        for (item, cell) in ring.into_iter().zip(closed_way(items.len(), columns)) {
            if let Item::Node(node) = items[item] {
                picture.nodes[node].position = cell;
            }
        }
    }
    order_ranks(&mut picture, &nesting, &between);
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

/// Orders the boxes of ranks: groups in a layered scope that contain only boxes, without lines
/// between them.
fn order_ranks(picture: &mut Picture, nesting: &Nesting, between: &[usize]) {
    // The scope around the rank of each node.
    let mut around = vec![None; picture.nodes.len()];
    let mut ranks = vec![Vec::new(); nesting.items.len()];
    for (scope, items) in nesting.items.iter().enumerate() {
        let is_layered = |scope| nesting.shape(picture, scope) == Shape::Layered;
        for item in items.iter().filter(|_| is_layered(scope)) {
            let Item::Group(group) = *item else {
                continue;
            };
            let nodes = nesting.items[group].iter().map(|item| match *item {
                Item::Node(node) => Some(node),
                Item::Group(_) => None,
            });
            let nodes: Option<Vec<usize>> = nodes.collect();
            let is_rank = between[group] == 0 && is_layered(group);
            if let Some(nodes) = nodes.filter(|nodes| is_rank && nodes.len() > 1) {
                for &node in &nodes {
                    around[node] = Some(scope);
                }
                ranks[scope].push(nodes);
            }
        }
    }
    let mut edges = vec![Vec::new(); nesting.items.len()];
    for (index, edge) in picture.edges.iter().enumerate() {
        if let (Some(from), Some(to)) = (edge.from.node, edge.to.node)
            && let (Some(scope), Some(other)) = (around[from], around[to])
            && scope == other
            && picture.nodes[from].group != picture.nodes[to].group
        {
            edges[scope].push(index);
        }
    }
    for (ranks, edges) in ranks.into_iter().zip(edges) {
        if ranks.len() < 2 || edges.is_empty() {
            continue;
        }
        let nodes = ranks.concat();
        let items: FxHashMap<usize, usize> = nodes
            .iter()
            .enumerate()
            .map(|(item, &node)| (node, item))
            .collect();
        let mut scope = Scope {
            items: vec![Size::new(1.0, 1.0); nodes.len()],
            ..Scope::default()
        };
        let mut ports: FxHashMap<(&End, Side), usize> = FxHashMap::default();
        for &edge in &edges {
            let edge = &picture.edges[edge];
            let [from, to] = [&edge.from, &edge.to].map(|end| end.node.map(|node| items[&node]));
            let sides = match from < to {
                true => [Side::Right, Side::Left],
                false => [Side::Left, Side::Right],
            };
            let mut port = |end, item, side| {
                *ports.entry((end, side)).or_insert_with(|| {
                    scope.ports.push(Port {
                        item,
                        side,
                        offset: None,
                        label: Size::default(),
                        stub: false,
                    });
                    scope.ports.len() - 1
                })
            };
            let line = Line {
                from: port(&edge.from, from, sides[0]),
                to: port(&edge.to, to, sides[1]),
            };
            scope.lines.push(line);
        }
        for (place, item) in layered::ordered(&scope).into_iter().enumerate() {
            picture.nodes[nodes[item]].position = place;
        }
        // Ports have the order of their edges.
        let place = |end: &End| end.node.map(|node| picture.nodes[node].position);
        let mut sorted: Vec<Edge> = edges
            .iter()
            .map(|&edge| picture.edges[edge].clone())
            .collect();
        sorted.sort_by_key(|edge| (place(&edge.from), place(&edge.to)));
        for (edge, sorted) in edges.into_iter().zip(sorted) {
            picture.edges[edge] = sorted;
        }
    }
}

/// Returns the number of edges between different items of each group.
fn lines_between(picture: &Picture, nesting: &Nesting) -> Vec<usize> {
    let mut between = vec![0; picture.groups.len() + 1];
    for edge in &picture.edges {
        if let (Some(from), Some(to)) = (edge.from.node, edge.to.node) {
            let (scope, [a, b]) = nesting.way(from, to).top;
            between[scope] += usize::from(a != b);
        }
    }
    between
}

/// Returns the number of columns of a matrix with an even number of rows for a ring of this length.
/// All rows are full if such a matrix has similar sides. Otherwise the last row may be shorter.
fn columns_of_ring(count: usize) -> usize {
    let ratio = |rows: usize| WIDE * count.div_ceil(rows) as f64 / rows as f64;
    let distance = |rows: usize| (ratio(rows) / RATIO).ln().abs();
    let even = || (2..=count / 2).step_by(2);
    let full = even()
        .filter(|rows| count.is_multiple_of(*rows))
        .filter(|rows| count < LARGE || LIMITS.contains(&ratio(*rows)));
    let best = full.min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    // Part of the last row that is empty. More than 1 if it has no box.
    let empty = |rows: usize| {
        let columns = count.div_ceil(rows);
        (rows * columns - count) as f64 / columns as f64
    };
    let cost = |rows: usize| distance(rows) + empty(rows);
    let short = even().filter(|rows| empty(*rows) < 1.0);
    let best = best.or_else(|| short.min_by(|a, b| cost(*a).total_cmp(&cost(*b))));
    count.div_ceil(best.unwrap_or(2))
}

/// Returns the cells of a closed way through a matrix with an even number of rows, the last of
/// which may be shorter: along the first row, back and forth through the other rows without the
/// first column, and up this column.
fn closed_way(count: usize, columns: usize) -> Vec<usize> {
    let rows = count.div_ceil(columns);
    let mut cells: Vec<usize> = (0..columns).collect();
    for row in 1..rows {
        let of_row = (1..columns).map(|column| row * columns + column);
        let of_row = of_row.filter(|cell| *cell < count);
        match row % 2 == 1 {
            true => cells.extend(of_row.rev()),
            false => cells.extend(of_row),
        }
    }
    cells.extend((1..rows).rev().map(|row| row * columns));
    cells
}

/// Adds a neighbour to the list of an element. Only the first three are relevant.
fn add_neighbour(near: &mut Vec<usize>, other: usize) {
    if near.len() < 3 && !near.contains(&other) {
        near.push(other);
    }
}

/// Returns the elements in the order of a ring that contains all of them, if each has two
/// neighbours. Begins with the first element and its first neighbour.
fn walk(near: &[Vec<usize>]) -> Option<Vec<usize>> {
    if near.len() < 4 || near.iter().any(|near| near.len() != 2) {
        return None;
    }
    let mut order = vec![0];
    let (mut last, mut at) = (0, near[0][0]);
    while at != 0 {
        order.push(at);
        let next = near[at][usize::from(near[at][0] == last)];
        (last, at) = (at, next);
    }
    (order.len() == near.len()).then_some(order)
}

/// Returns for each group the order of its items, if they are a ring.
fn rings(picture: &Picture, nesting: &Nesting) -> Vec<Option<Vec<usize>>> {
    let mut near: Vec<Vec<Vec<usize>>> = (nesting.items.iter())
        .map(|items| vec![Vec::new(); items.len()])
        .collect();
    let mut is_cut = vec![false; nesting.items.len()];
    for edge in &picture.edges {
        let (Some(from), Some(to)) = (edge.from.node, edge.to.node) else {
            continue;
        };
        let (scope, [a, b]) = nesting.way(from, to).top;
        is_cut[scope] |= edge.is_cut();
        if a != b {
            add_neighbour(&mut near[scope][a], b);
            add_neighbour(&mut near[scope][b], a);
        }
    }
    let ring = |group: usize| {
        let mut near = near[group].clone();
        near.first_mut()?.sort_unstable();
        walk(&near).filter(|_| !is_cut[group])
    };
    (0..picture.groups.len()).map(ring).collect()
}

/// Returns the contents with a matrix for the boxes of each scope that are a ring of several kinds,
/// or that are not in the order of the ring.
fn gathered(mut picture: Picture) -> Picture {
    let root = picture.groups.len();
    let around = |mut group: Option<usize>| {
        while let Some(index) = group
            && !picture.groups[index].framed
        {
            group = picture.groups[index].parent;
        }
        group.unwrap_or(root)
    };
    let mut boxes: Vec<Vec<usize>> = vec![Vec::new(); root + 1];
    let mut homes: Vec<(usize, usize)> = Vec::with_capacity(picture.nodes.len());
    for (index, node) in picture.nodes.iter().enumerate() {
        let scope = around(node.group);
        homes.push((scope, boxes[scope].len()));
        boxes[scope].push(index);
    }
    let framed = picture.groups.iter().filter(|group| group.framed);
    for scope in framed.map(|group| around(group.parent)) {
        boxes[scope].clear();
    }
    let mut near: Vec<Vec<Vec<usize>>> = (boxes.iter())
        .map(|boxes| vec![Vec::new(); boxes.len()])
        .collect();
    let mut enters = vec![false; picture.nodes.len()];
    // A reader of the first box of each scope.
    let mut nexts = vec![None; root + 1];
    for edge in picture.edges.iter().filter(|edge| !edge.is_cut()) {
        let (Some(from), Some(to)) = (edge.from.node, edge.to.node) else {
            continue;
        };
        let ((scope, a), (other, b)) = (homes[from], homes[to]);
        if from == to || scope != other || boxes[scope].is_empty() {
            continue;
        }
        add_neighbour(&mut near[scope][a], b);
        add_neighbour(&mut near[scope][b], a);
        enters[to] = true;
        if a == 0 {
            nexts[scope].get_or_insert(b);
        }
    }
    let mut emptied = vec![false; root];
    for (scope, mut near) in near.into_iter().enumerate() {
        let nodes = &boxes[scope];
        let group_of = |node: &usize| picture.nodes[*node].group;
        let is_family = nodes.first().and_then(group_of).is_some_and(|group| {
            picture.groups[group].shape != Shape::Layered
                && nodes.iter().all(|node| group_of(node) == Some(group))
        });
        let sources = nodes.iter().filter(|node| !enters[**node]).count();
        // Two ways from a source to a sink are clear in layers.
        let is_round = sources == 0 || sources * 4 >= nodes.len();
        if nodes.len() < LEAST_RING || is_family || !is_round {
            continue;
        }
        // The order of the ring has the direction of the tokens.
        if nexts[scope].is_some() && near[0].get(1).copied() == nexts[scope] {
            near[0].swap(0, 1);
        }
        let Some(order) = walk(&near) else {
            continue;
        };
        let parent = (scope < root).then_some(scope);
        for (place, item) in order.into_iter().enumerate() {
            let node = &mut picture.nodes[nodes[item]];
            let mut inner = node.group.replace(scope);
            while let Some(group) = inner.filter(|group| Some(*group) != parent) {
                emptied[group] = true;
                inner = picture.groups[group].parent;
            }
            node.position = place;
        }
        match parent {
            Some(group) => picture.groups[group].shape = Shape::Matrix { columns: 1 },
            None => picture.groups.push(Group {
                name: String::new(),
                label: String::new(),
                parent: None,
                position: 0,
                framed: false,
                shape: Shape::Matrix { columns: 1 },
                title: String::new(),
                color: None,
            }),
        }
    }
    without(picture, &emptied)
}

/// Returns the contents without the frames of modules that are rows of a grid with diagonals.
fn flattened(mut picture: Picture) -> Picture {
    let nesting = Nesting::of(&picture);
    let mut diagonals = vec![false; nesting.items.len()];
    for edge in picture.edges.iter().filter(|edge| !edge.is_cut()) {
        if let (Some(from), Some(to)) = (edge.from.node, edge.to.node) {
            let (scope, [a, b]) = nesting.way(from, to).top;
            let columns = [from, to].map(|node| nesting.node(node).1);
            diagonals[scope] |= a != b && columns[0] != columns[1];
        }
    }
    let mut emptied = vec![false; picture.groups.len()];
    let mut names: Vec<String> = Vec::new();
    for grid in (0..picture.groups.len()).filter(|grid| diagonals[*grid]) {
        let Some((rows, columns)) = rows_of(&picture, &nesting, grid) else {
            continue;
        };
        for (row, &group) in rows.iter().enumerate() {
            emptied[group] = true;
            let label = &picture.groups[group].label;
            if !names.contains(label) {
                names.push(label.clone());
            }
            for (column, item) in nesting.items[group].iter().enumerate() {
                if let Item::Node(node) = *item {
                    picture.nodes[node].group = Some(grid);
                    picture.nodes[node].position = row * columns + column;
                }
            }
        }
        picture.groups[grid].shape = Shape::Matrix { columns };
    }
    if !names.is_empty() {
        picture.notes.push(format!(
            "Modules without frames, because diagonals lead through them: {}",
            names.join(", ")
        ));
    }
    without(picture, &emptied)
}

/// Returns the rows of a group and their length, if it is a column of framed rows of boxes that are
/// equally long.
fn rows_of(picture: &Picture, nesting: &Nesting, grid: usize) -> Option<(Vec<usize>, usize)> {
    if picture.groups[grid].shape != (Shape::Matrix { columns: 1 }) {
        return None;
    }
    let row = |item: &Item| match *item {
        Item::Group(group) if picture.groups[group].framed => Some(group),
        Item::Group(_) | Item::Node(_) => None,
    };
    let rows: Vec<usize> = nesting.items[grid].iter().map(row).collect::<Option<_>>()?;
    let columns = nesting.items[*rows.first()?].len();
    let is_row = |&row: &usize| {
        let cells = &nesting.items[row];
        let is_long = |columns: usize| columns >= cells.len();
        cells.len() == columns
            && cells.iter().all(|cell| matches!(cell, Item::Node(_)))
            && matches!(picture.groups[row].shape, Shape::Matrix { columns } if is_long(columns))
    };
    (columns > 1 && rows.iter().all(is_row)).then_some((rows, columns))
}

/// Returns the contents without groups that have neither boxes nor groups.
fn without(mut picture: Picture, emptied: &[bool]) -> Picture {
    if !emptied.contains(&true) {
        return picture;
    }
    let is_kept = |group: usize| !emptied.get(group).is_some_and(|emptied| *emptied);
    let mut count = 0;
    let new: Vec<usize> = (0..picture.groups.len())
        .map(|group| {
            count += usize::from(is_kept(group));
            count.saturating_sub(1)
        })
        .collect();
    let mut index = 0..;
    picture.groups.retain(|_| index.next().is_some_and(is_kept));
    for group in &mut picture.groups {
        group.parent = group.parent.map(|parent| new[parent]);
    }
    for node in &mut picture.nodes {
        node.group = node.group.map(|group| new[group]);
    }
    picture
}

/// Joins an edge and the only edge in the opposite direction between the same two nodes. If other
/// edges share a port of one of them, all must be joined to edges that share a port, too.
fn join_pairs(picture: &mut Picture, nesting: &Nesting, rings: &[Option<Vec<usize>>]) {
    let edges = &picture.edges;
    let mut between: FxHashMap<[usize; 2], Vec<usize>> = FxHashMap::default();
    let mut trunks: FxHashMap<(&End, bool), Vec<usize>> = FxHashMap::default();
    for (index, edge) in edges.iter().enumerate() {
        for key in [(&edge.from, true), (&edge.to, false)] {
            trunks.entry(key).or_default().push(index);
        }
        let (Some(from), Some(to)) = (edge.from.node, edge.to.node) else {
            continue;
        };
        let ends = [from.min(to), from.max(to)];
        between.entry(ends).or_default().push(index);
    }
    // The other edge of each pair.
    let mut mates: Vec<Option<usize>> = vec![None; edges.len()];
    for pair in between.values() {
        let &[a, b] = &pair[..] else {
            continue;
        };
        let (one, other) = (&edges[a], &edges[b]);
        let (Some(from), Some(to)) = (one.from.node, one.to.node) else {
            continue;
        };
        let shares = || {
            let ends = [
                (&one.from, true),
                (&one.to, false),
                (&other.from, true),
                (&other.to, false),
            ];
            ends.iter().all(|end| trunks[end].len() > 1)
        };
        // In a matrix, neighbours have room for two straight lines.
        let are_apart = || {
            let (scope, [a, b]) = nesting.way(from, to).top;
            match nesting.shape(picture, scope) {
                Shape::Layered => true,
                Shape::Matrix { .. } if rings[scope].is_some() => false,
                Shape::Matrix { columns } => ![1, columns].contains(&a.abs_diff(b)),
            }
        };
        let is_opposite = other.from.node == Some(to) && from != to;
        let are_alike = one.controlled == other.controlled && one.color == other.color;
        if is_opposite && are_alike && !one.is_cut() && !other.is_cut() && (are_apart() || shares())
        {
            (mates[a], mates[b]) = (Some(b), Some(a));
        }
    }
    loop {
        let mut lone = Vec::new();
        for members in trunks.values().filter(|members| members.len() > 1) {
            let first = mates[members[0]];
            let same = |edge: &usize| {
                let (Some(mate), Some(first)) = (mates[*edge], first) else {
                    return false;
                };
                // The ports of both edges at the node of the trunk.
                let (own, of_first) = (&edges[*edge], &edges[members[0]]);
                let leaves = own.from == of_first.from;
                match leaves {
                    true => edges[mate].to == edges[first].to,
                    false => edges[mate].from == edges[first].from,
                }
            };
            let matched = |edge: &usize| mates[*edge].is_some();
            if members.iter().any(matched) && !members.iter().all(same) {
                lone.extend(members.iter().copied().filter(matched));
            }
        }
        if lone.is_empty() {
            break;
        }
        for edge in lone {
            if let Some(mate) = mates[edge].take() {
                mates[mate] = None;
            }
        }
    }
    // All kept edges of a bundle have the same direction.
    let first = |edge: usize| {
        let edge = &edges[edge];
        let trunks = [(&edge.from, true), (&edge.to, false)].map(|key| trunks[&key][0]);
        trunks[0].min(trunks[1])
    };
    let is_kept = |edge: usize| match mates[edge] {
        Some(mate) => (first(edge), edge) < (first(mate), mate),
        None => true,
    };
    let kept = (0..edges.len()).filter(|edge| is_kept(*edge));
    let joined = kept.map(|index| {
        let mut edge = edges[index].clone();
        if let Some(mate) = mates[index] {
            let mate = &edges[mate];
            edge.two_way = true;
            edge.initial &= mate.initial;
            edge.width = edge.width.max(mate.width);
            edge.title = format!("{}; {}", edge.title, mate.title);
            edge.label = match (&*edge.label, &*mate.label) {
                (label, "") => label.to_owned(),
                ("", label) => label.to_owned(),
                (a, b) if a == b => a.to_owned(),
                (a, b) => format!("{a} / {b}"),
            };
        }
        edge
    });
    picture.edges = joined.collect();
}
