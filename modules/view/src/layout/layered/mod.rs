//! Layered layout (Sugiyama): items in layers from left to right, lines bend only between layers.
//!
//! The steps follow Gansner, Koutsofios, North and Vo: ranks by network simplex, order by
//! sweeps and exchanges, then positions. A line that passes a layer runs straight across the whole
//! width of the layer, and labels are inside of this width. So no line passes through an item or a
//! label.

use crate::geometry::Size;
use crate::layout::scope::{Laid, Scope};
use graph::{Graph, Part, Ports};
use parts::Parts;
use routes::Sheet;
use sides::{Rows, Sides};

mod bands;
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

/// Largest ratio of the sides of a large part.
const RATIO: f64 = 4.0;
/// Largest factor of vertical distances that makes a part high enough. Others are cut into bands.
const STRETCH: f64 = 1.5;
/// Widths of bands that are tried.
const ATTEMPTS: usize = 4;

/// Lays out a scope in layers. Lines from right to left ports lead to the right, lines from left to
/// right ports to the left. Other lines, and lines that close a cycle against the sides of their
/// ports, turn in the gaps between layers. A part with at least `least` items that is more than
/// four times as wide as high is cut into bands, one below the other.
///
/// Deterministic. The search for a good order is limited by a count of work.
///
/// # Panics
/// If a port or line refers to an item or port that does not exist, or a size is not finite.
#[must_use]
pub(crate) fn layout(scope: &Scope, least: usize) -> Laid {
    let ports = Ports::new(scope);
    let parts = split(scope);
    let mut laid = Laid::of(scope);
    let mut room = Room::of(scope);
    let sizes: Vec<Size> = parts
        .iter()
        .map(|part| lay_out(scope, &ports, part, least, &mut room, &mut laid))
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
        let layer = graph::ranks(scope, &ports, &part);
        let mut graph = Graph::new(scope, &ports, &part, layer);
        order::order(&ports, &mut graph, 1, &mut far);
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

/// Lays out a part in its own coordinates. Returns its size. A part with at least `least` items
/// that is too wide is cut into bands, one below the other.
fn lay_out(
    scope: &Scope,
    ports: &Ports,
    part: &Part,
    least: usize,
    room: &mut Room,
    laid: &mut Laid,
) -> Size {
    let layer = graph::ranks(scope, ports, part);
    let large = part.items.len() >= least;
    let estimate = bands::Estimate::new(scope, ports, part, &layer);
    let guess = estimate.size();
    let mut plain = None;
    if !large || guess.width <= 2.0 * RATIO * guess.height {
        let size = in_layers(scope, ports, part, layer.clone(), [1, least], room, laid);
        if !large || size.width <= RATIO * size.height {
            return size;
        }
        plain = Some(size);
    }
    let mut best = None;
    let mut least_length = plain.map_or(f64::INFINITY, length);
    for firsts in estimate.cuts().take(ATTEMPTS) {
        if firsts.len() < 2 {
            continue;
        }
        let Some(sheet) = bands::Sheet::new(scope, ports, part, &estimate, &firsts) else {
            break;
        };
        let share = [firsts.len(), usize::MAX];
        let placed = sheet.place(|scope, ports, part, layer, laid| {
            in_layers(scope, ports, part, layer, share, &mut Room::of(scope), laid)
        });
        if length(placed.size) < least_length {
            least_length = length(placed.size);
            best = Some(placed);
        }
        if least_length <= RATIO {
            break;
        }
    }
    match (best, plain) {
        (Some(placed), _) => {
            placed.write(laid);
            placed.size
        }
        (None, Some(size)) => size,
        (None, None) => in_layers(scope, ports, part, layer, [1, least], room, laid),
    }
}

/// Numbers for the ports of a scope that parts set for their items.
struct Room {
    rows: Rows,
    /// Place of the far ends of each port.
    far: Vec<f64>,
}

impl Room {
    fn of(scope: &Scope) -> Room {
        let count = scope.ports.len();
        Room {
            rows: Rows {
                port: vec![[0.0; 2]; count],
                row: vec![0.0; count],
            },
            far: vec![0.0; count],
        }
    }
}

/// Returns the length of the longer side in relation to the other.
fn length(size: Size) -> f64 {
    let ratio = size.width / size.height.max(1.0);
    ratio.max(1.0 / ratio)
}

/// Lays out a part whose items and border ports have layers. `share` divides the work. The
/// distances of a part with at least `least` items grow until no side is too long, as far as they
/// are not too large then.
fn in_layers(
    scope: &Scope,
    ports: &Ports,
    part: &Part,
    layer: Vec<usize>,
    [share, least]: [usize; 2],
    Room { rows, far }: &mut Room,
    laid: &mut Laid,
) -> Size {
    let mut graph = Graph::new(scope, ports, part, layer);
    order::order(ports, &mut graph, share, far);
    let fits = part.items.len() >= least;
    let sides = Sides::new(scope, ports, &graph, far, rows);
    let mut stretch = 1.0;
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
        if fits && size.height > RATIO * size.width {
            return sheet.write(size.height / RATIO, laid);
        }
        let more = size.width / (RATIO * size.height).max(1.0);
        if !fits || more <= 1.0 || stretch * more > STRETCH {
            return size;
        }
        stretch *= more.max(1.02);
    }
}
