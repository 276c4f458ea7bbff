//! Layered layout (Sugiyama): items in layers from left to right, lines bend only between layers.
//!
//! The steps follow Gansner, Koutsofios, North and Vo: ranks by network simplex, order by
//! sweeps and exchanges, then positions. A line that passes a layer runs straight across the whole
//! width of the layer, and labels are inside of this width. So no line passes through an item or a
//! label.

use crate::geometry::{Point, Size};
use crate::layout::scope::{Laid, Scope};
use graph::{Graph, Part, Ports};
use parts::Parts;
use routes::Sheet;
use sides::{Rows, Sides};

mod coordinates;
mod cycles;
mod graph;
mod order;
mod pack;
mod parts;
mod routes;
mod sides;
mod simplex;
#[cfg(test)]
mod tests;

pub(crate) use cycles::backward;
pub(crate) use sides::least_height;

/// Number of items from which the ratio of the sides is limited.
const LARGE: usize = 13;
/// Largest ratio of the sides of a large part.
const RATIO: f64 = 4.0;

/// Lays out a scope in layers. Lines from right to left ports lead to the right, lines from left to
/// right ports to the left. Other lines, and lines that close a cycle against the sides of their
/// ports, turn in the gaps between layers.
///
/// Deterministic. The search for a good order is limited by a count of work.
///
/// # Panics
/// If a port or line refers to an item or port that does not exist, or a size is not finite.
#[must_use]
pub(crate) fn layout(scope: &Scope) -> Laid {
    let ports = Ports::new(scope);
    let parts = split(scope);
    let mut laid = Laid {
        size: Size::default(),
        items: vec![Point::default(); scope.items.len()],
        ports: vec![Point::default(); scope.ports.len()],
        labels: vec![Point::default(); scope.ports.len()],
        lines: vec![Vec::new(); scope.lines.len()],
    };
    let mut rows = Rows {
        port: vec![[0.0; 2]; scope.ports.len()],
        row: vec![0.0; scope.ports.len()],
    };
    let mut far = vec![0.0; scope.ports.len()];
    let sizes: Vec<Size> = parts
        .iter()
        .map(|part| lay_out(scope, &ports, part, &mut rows, &mut far, &mut laid))
        .collect();
    pack::pack(scope, &ports, &parts, &sizes, &mut laid);
    laid
}

/// Returns the items of a scope, ordered by their layers and by their places in them.
///
/// # Panics
/// As [`layout`].
#[must_use]
pub(crate) fn ordered(scope: &Scope) -> Vec<usize> {
    let ports = Ports::new(scope);
    let mut far = vec![0.0; scope.ports.len()];
    let mut items = Vec::with_capacity(scope.items.len());
    for part in split(scope) {
        let mut graph = Graph::new(scope, &ports, &part);
        order::order(&ports, &mut graph, &mut far);
        let nodes = graph.layers.iter().flatten();
        items.extend(nodes.filter_map(|&node| match graph.nodes[node] {
            graph::Node::Item(item) => Some(item),
            _ => None,
        }));
    }
    items
}

/// Returns the parts of a scope that no line joins. All ports on the border are in one part.
fn split(scope: &Scope) -> Vec<Part> {
    // The last node is the border.
    let border = scope.items.len();
    let node = |port: usize| scope.ports[port].item.unwrap_or(border);
    let mut sets = Parts::new(border + 1);
    for line in &scope.lines {
        sets.join(node(line.from), node(line.to));
    }
    let mut index = vec![usize::MAX; border + 1];
    let mut parts: Vec<Part> = Vec::new();
    let mut part_of = |sets: &mut Parts, node: usize, parts: &mut Vec<Part>| {
        let root = sets.root(node);
        if index[root] == usize::MAX {
            index[root] = parts.len();
            parts.push(Part::default());
        }
        index[root]
    };
    for item in 0..border {
        let part = part_of(&mut sets, item, &mut parts);
        parts[part].items.push(item);
    }
    for (i, port) in scope.ports.iter().enumerate() {
        if port.item.is_none() {
            let part = part_of(&mut sets, border, &mut parts);
            parts[part].borders.push(i);
        }
    }
    for (i, line) in scope.lines.iter().enumerate() {
        let part = part_of(&mut sets, node(line.from), &mut parts);
        parts[part].lines.push(i);
    }
    parts
}

/// Lays out a part in its own coordinates. Returns its size.
fn lay_out(
    scope: &Scope,
    ports: &Ports,
    part: &Part,
    rows: &mut Rows,
    far: &mut [f64],
    laid: &mut Laid,
) -> Size {
    let mut graph = Graph::new(scope, ports, part);
    order::order(ports, &mut graph, far);
    let sides = Sides::new(scope, ports, &graph, far, rows);
    let large = part.items.len() >= LARGE;
    let mut stretch = 1.0;
    let mut rest = 4;
    loop {
        let y = coordinates::vertical(&graph, &sides, rows, stretch);
        sides.settle(scope, ports, &graph, &y, rows);
        let y = coordinates::follow(&graph, &sides, rows, stretch, y);
        let sheet = Sheet {
            scope,
            ports,
            part,
            graph: &graph,
            sides: &sides,
            rows,
            y: &y,
        };
        let size = sheet.write(0.0, laid);
        if large && size.height > RATIO * size.width {
            return sheet.write(size.height / RATIO, laid);
        }
        rest -= 1;
        if !large || rest == 0 || size.width <= RATIO * size.height || size.height <= 0.0 {
            return size;
        }
        stretch *= (size.width / (RATIO * size.height)).clamp(1.02, 8.0);
    }
}
