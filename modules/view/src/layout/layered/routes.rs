//! Horizontal positions of layers, and the points of lines.

use super::graph::{Graph, Node, Part, Ports};
use super::sides::{PAD, Rows, Sides};
use crate::geometry::{Point, Side, Size};
use crate::layout::scope::{LANE, Laid, Scope};

/// Least width of the gap between two layers.
pub(super) const GAP: f64 = 28.0;
/// Width of a gap for each unit that its steepest line climbs.
const SLOPE: f64 = 0.45;
/// Largest width that a gap has because of the slope of its lines.
const WIDEST: f64 = 140.0;

/// A change of direction in a gap, from a node to a node of the same layer.
struct Turn {
    /// Index of the line in the part, and of the first of the two nodes in its way.
    at: (usize, usize),
    /// Gap before the layer, or after it.
    gap: usize,
    /// The layer is on the left of the gap.
    after: bool,
    climb: f64,
}

/// Positions of a part.
pub(super) struct Sheet<'a> {
    pub(super) scope: &'a Scope,
    pub(super) ports: &'a Ports,
    pub(super) part: &'a Part,
    pub(super) graph: &'a Graph,
    pub(super) sides: &'a Sides,
    pub(super) rows: &'a Rows,
    /// Vertical position of each node.
    pub(super) y: &'a [f64],
}

/// Horizontal positions of layers and vertical lanes.
struct Columns {
    /// Left side, line on which items are centred, and right side of each layer.
    layers: Vec<[f64; 3]>,
    /// Lanes in which lines change their direction, by line and index in its way.
    lanes: rustc_hash::FxHashMap<(usize, usize), f64>,
    width: f64,
}

impl Sheet<'_> {
    /// Returns the smallest and the largest vertical position.
    pub(super) fn range(&self) -> [f64; 2] {
        let mut range = [f64::INFINITY, f64::NEG_INFINITY];
        for (y, extent) in self.y.iter().zip(&self.sides.extent) {
            range[0] = range[0].min(y + extent[0]);
            range[1] = range[1].max(y + extent[1]);
        }
        if self.y.is_empty() { [0.0; 2] } else { range }
    }

    /// Returns the height of an end of a line at a node.
    fn level(&self, line: usize, at: usize) -> f64 {
        let way = &self.graph.ways[line];
        let node = way[at];
        let ends = self.scope.lines[self.part.lines[line]];
        let row = match self.graph.nodes[node] {
            Node::Item(_) if at == 0 => self.rows.row[ends.from],
            Node::Item(_) => self.rows.row[ends.to],
            _ => 0.0,
        };
        self.y[node] + row
    }

    fn turns(&self) -> Vec<Turn> {
        let mut turns = Vec::new();
        for (line, way) in self.graph.ways.iter().enumerate() {
            let ends = self.scope.lines[self.part.lines[line]];
            for at in [0, way.len() - 2] {
                let layer = self.graph.layer[way[at]];
                if layer != self.graph.layer[way[at + 1]] || (at > 0 && way.len() == 2) {
                    continue;
                }
                let port = if at == 0 { ends.from } else { ends.to };
                let after = self.ports.hand[port] == Side::Right;
                turns.push(Turn {
                    at: (line, at),
                    gap: layer + usize::from(after),
                    after,
                    climb: (self.level(line, at) - self.level(line, at + 1)).abs(),
                });
            }
        }
        turns.sort_by(|a, b| {
            (a.gap, a.after)
                .cmp(&(b.gap, b.after))
                .then(a.climb.total_cmp(&b.climb))
                .then(a.at.cmp(&b.at))
        });
        turns.dedup_by_key(|t| t.at);
        turns
    }

    /// Returns the positions of the layers. `least` is the least width.
    fn columns(&self, least: f64) -> Columns {
        let count = self.graph.layers.len();
        let mut halves = vec![[0.0_f64; 2]; count];
        for (node, kind) in self.graph.nodes.iter().enumerate() {
            if let Node::Item(item) = *kind {
                let half = self.scope.items[item].width / 2.0;
                for (side, reach) in halves[self.graph.layer[node]].iter_mut().enumerate() {
                    *reach = reach.max(half + self.sides.flanks[node][side].room);
                }
            }
        }
        let mut gaps = vec![GAP; count + 1];
        gaps[0] = 0.0;
        gaps[count] = 0.0;
        for &[a, b] in &self.graph.links {
            let climb = self.y[a.node] + self.rows.of(a) - self.y[b.node] - self.rows.of(b);
            let gap = &mut gaps[self.graph.layer[b.node]];
            *gap = gap.max((climb.abs() * SLOPE).min(WIDEST));
        }
        let turns = self.turns();
        for turn in &turns {
            gaps[turn.gap] += LANE;
        }
        let width = gaps.iter().sum::<f64>() + halves.iter().flatten().sum::<f64>();
        if count > 1 && width < least {
            let more = (least - width) / (count - 1) as f64;
            for gap in &mut gaps[1..count] {
                *gap += more;
            }
        }
        let mut layers = Vec::with_capacity(count);
        let mut x = 0.0;
        for (layer, [left, right]) in halves.iter().enumerate() {
            x += gaps[layer];
            layers.push([x, x + left, x + left + right]);
            x += left + right;
        }
        let mut lanes = rustc_hash::FxHashMap::default();
        let mut used = 0;
        for (i, turn) in turns.iter().enumerate() {
            if i > 0 && (turns[i - 1].gap, turns[i - 1].after) != (turn.gap, turn.after) {
                used = 0;
            }
            used += 1;
            let distance = LANE * f64::from(used);
            let lane = if turn.after {
                layers[turn.gap - 1][2] + distance
            } else {
                layers[turn.gap][0] - distance
            };
            lanes.insert(turn.at, lane);
        }
        Columns {
            layers,
            lanes,
            width: x + gaps[count],
        }
    }

    /// Writes the positions of the part, relative to its upper left corner. Returns its size.
    pub(super) fn write(&self, least_width: f64, laid: &mut Laid) -> Size {
        let columns = self.columns(least_width);
        let [top, bottom] = self.range();
        for (node, kind) in self.graph.nodes.iter().enumerate() {
            let [left, centre, _] = columns.layers[self.graph.layer[node]];
            let y = self.y[node] - top;
            match *kind {
                Node::Item(item) => {
                    let width = self.scope.items[item].width;
                    let at = Point::new(centre - width / 2.0, y);
                    laid.items[item] = at;
                    for flank in &self.sides.flanks[node] {
                        for &port in &flank.ports {
                            let [dx, dy] = self.rows.port[port];
                            laid.ports[port] = at + Point::new(dx, dy);
                            laid.labels[port] = self.label(port, flank.fan, at, width);
                        }
                    }
                }
                Node::Border(port) => laid.ports[port] = Point::new(left, y),
                Node::Dummy => {}
            }
        }
        for (line, &index) in self.part.lines.iter().enumerate() {
            laid.lines[index] = self.points(line, &columns, laid, top);
        }
        Size::new(columns.width, bottom - top)
    }

    fn label(&self, port: usize, fan: f64, at: Point, width: f64) -> Point {
        let size = self.scope.ports[port].label;
        let row = at.y + self.rows.row[port];
        let is_loop = self.ports.lines[port] == 0 && !self.scope.ports[port].stub;
        let away = if is_loop { fan } else { fan + PAD };
        let x = if self.ports.hand[port] == Side::Right {
            at.x + width + away
        } else {
            at.x - away - size.width
        };
        let y = if is_loop {
            row - size.height / 2.0
        } else {
            row - PAD - size.height
        };
        Point::new(x, y)
    }

    fn points(&self, line: usize, columns: &Columns, laid: &Laid, top: f64) -> Vec<Point> {
        let way = &self.graph.ways[line];
        let ends = self.scope.lines[self.part.lines[line]];
        let level = |at: usize| self.level(line, at) - top;
        let mut points = vec![laid.ports[ends.from]];
        points.extend(self.spread_point(way[0], ends.from, laid, level(0)));
        for at in 1..way.len() {
            let (a, b) = (level(at - 1), level(at));
            let (from, to) = (self.graph.layer[way[at - 1]], self.graph.layer[way[at]]);
            let (start, end) = (columns.layers[from], columns.layers[to]);
            if from < to {
                points.extend([Point::new(start[2], a), Point::new(end[0], b)]);
            } else if to < from {
                points.extend([Point::new(start[0], a), Point::new(end[2], b)]);
            } else {
                let lane = columns.lanes.get(&(line, at - 1)).copied();
                let lane = lane.unwrap_or(start[2]);
                let edge = if lane < start[1] { start[0] } else { start[2] };
                points.extend([
                    Point::new(edge, a),
                    Point::new(lane, a),
                    Point::new(lane, b),
                    Point::new(edge, b),
                ]);
            }
        }
        let last = way.len() - 1;
        points.extend(self.spread_point(way[last], ends.to, laid, level(last)));
        points.push(laid.ports[ends.to]);
        points.dedup();
        points
    }

    /// Returns the point at which a line reaches its row, if the row is not level with its port.
    fn spread_point(&self, node: usize, port: usize, laid: &Laid, level: f64) -> Option<Point> {
        let at = laid.ports[port];
        if !matches!(self.graph.nodes[node], Node::Item(_)) || at.y == level {
            return None;
        }
        let x = match (self.scope.ports[port].side, self.ports.hand[port]) {
            (Side::Top | Side::Bottom, _) => at.x,
            (_, Side::Right) => at.x + self.sides.flanks[node][1].fan,
            _ => at.x - self.sides.flanks[node][0].fan,
        };
        Some(Point::new(x, level))
    }
}
