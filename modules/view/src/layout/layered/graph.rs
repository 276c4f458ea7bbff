//! The layered graph: items, border ports and dummies in layers, edges between adjacent layers.

use super::cycles;
use super::simplex::{self, Edge};
use crate::geometry::Side;
use crate::layout::scope::Scope;
use rustc_hash::{FxHashMap, FxHashSet};

/// Work of the network simplex for ranks.
const RANK_WORK: usize = 30_000_000;

/// A part of a scope that is laid out on its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Its items, ascending.
    pub(super) items: Vec<usize>,
    /// Its ports on the border, ascending.
    pub(super) borders: Vec<usize>,
    /// Its lines, ascending.
    pub(super) lines: Vec<usize>,
}

/// Properties of ports that do not depend on positions.
#[derive(Clone, Debug)]
pub(super) struct Ports {
    /// Side to which lines leave the port.
    pub(super) hand: Vec<Side>,
    /// Number of lines.
    pub(super) lines: Vec<usize>,
    /// The first line, which orders ports whose far ends are the same.
    pub(super) first: Vec<usize>,
    /// Place of each port with a fixed offset among those on its side, otherwise 0.
    pub(super) slot: Vec<usize>,
    /// Ports of each item.
    pub(super) of: Vec<Vec<usize>>,
}

impl Ports {
    pub(super) fn new(scope: &Scope) -> Ports {
        let mut lines = vec![0; scope.ports.len()];
        let mut first = vec![usize::MAX; scope.ports.len()];
        let mut hand: Vec<Option<Side>> = scope
            .ports
            .iter()
            .map(|port| match (port.item.is_some(), port.side) {
                (true, side @ (Side::Left | Side::Right)) => Some(side),
                (false, side @ (Side::Left | Side::Right)) => Some(side.opposite()),
                _ => None,
            })
            .collect();
        for (i, line) in scope.lines.iter().enumerate() {
            for (port, far, side) in [
                (line.from, line.to, Side::Right),
                (line.to, line.from, Side::Left),
            ] {
                lines[port] += 1;
                first[port] = first[port].min(i);
                let far = hand[far].map_or(side, Side::opposite);
                hand[port].get_or_insert(far);
            }
        }
        let mut of = vec![Vec::new(); scope.items.len()];
        for (i, port) in scope.ports.iter().enumerate() {
            if let Some(item) = port.item {
                of[item].push(i);
            }
        }
        let mut slot = vec![0; scope.ports.len()];
        for ports in &of {
            let offset = |&p: &usize| scope.ports[p].offset.map(|o| (scope.ports[p].side, o, p));
            let mut fixed: Vec<_> = ports.iter().filter_map(offset).collect();
            fixed.sort_by(|a, b| (a.0.cmp(&b.0)).then(a.1.total_cmp(&b.1)));
            for i in 1..fixed.len() {
                if fixed[i - 1].0 == fixed[i].0 {
                    slot[fixed[i].2] = slot[fixed[i - 1].2] + 1;
                }
            }
        }
        Ports {
            slot,
            of,
            hand: hand.iter().map(|h| h.unwrap_or(Side::Right)).collect(),
            lines,
            first,
        }
    }
}

/// A node of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// An item of the scope.
    Item(usize),
    /// A port on the border.
    Border(usize),
    /// A place where lines pass the layer.
    Dummy,
}

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct End {
    /// The node.
    pub(super) node: usize,
    /// The port, if the node is an item.
    pub(super) port: Option<usize>,
}

/// Layers with their nodes, and links between adjacent layers.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) layer: Vec<usize>,
    /// Nodes of each layer from top to bottom.
    pub(super) layers: Vec<Vec<usize>>,
    /// Links from a layer to the next.
    pub(super) links: Vec<[End; 2]>,
    /// Nodes on the way of each line of the part, from its writer to its reader. Consecutive nodes
    /// are in adjacent layers, or in the same layer if the line turns in the gap beside it.
    pub(super) ways: Vec<Vec<usize>>,
    /// Preferred place of each node in its layer, from 0 to 1, from the order of items.
    pub(super) place: Vec<f64>,
}

impl Graph {
    /// Puts dummies on the ways of the lines of a part. `layer` has the layer of each item,
    /// followed by that of each border port.
    pub(super) fn new(scope: &Scope, ports: &Ports, part: &Part, layer: Vec<usize>) -> Graph {
        let mut nodes: Vec<Node> = part.items.iter().map(|&i| Node::Item(i)).collect();
        nodes.extend(part.borders.iter().map(|&p| Node::Border(p)));
        let items = part.items.len();
        let mut graph = Graph {
            layer,
            nodes,
            layers: Vec::new(),
            links: Vec::new(),
            ways: Vec::new(),
            place: Vec::new(),
        };
        let count = graph.layer.iter().max().map_or(0, |l| l + 1);
        let mut members = vec![0; count];
        for node in 0..graph.nodes.len() {
            graph.place.push(members[graph.layer[node]] as f64 + 0.5);
            members[graph.layer[node]] += 1;
        }
        for node in 0..graph.nodes.len() {
            graph.place[node] /= members[graph.layer[node]] as f64;
        }
        let mut dummies = FxHashMap::default();
        let mut linked = FxHashSet::default();
        for &line in &part.lines {
            let way = graph.way(scope, ports, part, items, line, &mut dummies);
            let ends = [scope.lines[line].from, scope.lines[line].to];
            graph.link(&way, ends, items, &mut linked);
            graph.ways.push(way);
        }
        graph.layers = vec![Vec::new(); count];
        for node in 0..graph.nodes.len() {
            graph.layers[graph.layer[node]].push(node);
        }
        for layer in &mut graph.layers {
            layer.sort_by(|&a, &b| graph.place[a].total_cmp(&graph.place[b]));
        }
        graph
    }

    /// Returns the way of a line, and adds the dummies on it that do not exist yet.
    fn way(
        &mut self,
        scope: &Scope,
        ports: &Ports,
        part: &Part,
        items: usize,
        line: usize,
        dummies: &mut FxHashMap<(usize, bool, usize), usize>,
    ) -> Vec<usize> {
        let ends = [scope.lines[line].from, scope.lines[line].to];
        let node = |port: usize| match scope.ports[port].item {
            Some(item) => part.items.binary_search(&item).unwrap_or_default(),
            None => items + part.borders.binary_search(&port).unwrap_or_default(),
        };
        let [from, to] = ends.map(node);
        // Gap into which each end leads: gap k is before layer k.
        let gap = |port: usize, node: usize| {
            self.layer[node] + usize::from(ports.hand[port] == Side::Right)
        };
        let (start, end) = (gap(ends[0], from), gap(ends[1], to));
        let passed = start.min(end)..start.max(end);
        // Lines of the port with more lines share its dummies.
        let trunk = if ports.lines[ends[0]] >= ports.lines[ends[1]] {
            ends[0]
        } else {
            ends[1]
        };
        let key = if ports.lines[trunk] > 1 {
            (trunk, true)
        } else {
            (line, false)
        };
        let mut way = vec![from];
        let (a, b) = (self.place[from], self.place[to]);
        let length = passed.len() as f64 + 1.0;
        let first = passed.start;
        let mut pass = |layer: usize| {
            let part = (layer - first + 1) as f64 / length;
            let part = if start <= end { part } else { 1.0 - part };
            *dummies.entry((key.0, key.1, layer)).or_insert_with(|| {
                self.nodes.push(Node::Dummy);
                self.layer.push(layer);
                self.place.push(a + (b - a) * part);
                self.nodes.len() - 1
            })
        };
        if start <= end {
            way.extend(passed.map(&mut pass));
        } else {
            way.extend(passed.rev().map(&mut pass));
        }
        way.push(to);
        way
    }

    fn link(
        &mut self,
        way: &[usize],
        ends: [usize; 2],
        items: usize,
        linked: &mut FxHashSet<[End; 2]>,
    ) {
        let end = |at: usize| End {
            node: way[at],
            port: match at {
                0 if way[0] < items => Some(ends[0]),
                _ if at + 1 == way.len() && way[at] < items => Some(ends[1]),
                _ => None,
            },
        };
        for at in 1..way.len() {
            let (a, b) = (end(at - 1), end(at));
            let (from, to) = (self.layer[a.node], self.layer[b.node]);
            let link = if from < to { [a, b] } else { [b, a] };
            if from != to && linked.insert(link) {
                self.links.push(link);
            }
        }
    }
}

/// Returns the layer of each item and border port of a part. All layers have nodes.
pub(super) fn ranks(scope: &Scope, ports: &Ports, part: &Part) -> Vec<usize> {
    let items = part.items.len();
    // Two more nodes stand for all ports on the left border and on the right border.
    let (left, right) = (items, items + 1);
    let node = |port: usize| match scope.ports[port].item {
        Some(item) => part.items.binary_search(&item).unwrap_or_default(),
        None if ports.hand[port] == Side::Right => left,
        None => right,
    };
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for &line in &part.lines {
        let (from, to) = (scope.lines[line].from, scope.lines[line].to);
        match (ports.hand[from], ports.hand[to]) {
            (Side::Right, Side::Left) => pairs.push((node(from), node(to))),
            (Side::Left, Side::Right) => pairs.push((node(to), node(from))),
            _ => {}
        }
    }
    pairs.retain(|&(a, b)| a != b && a != right && b != left);
    pairs.sort_unstable();
    let mut edges: Vec<Edge> = Vec::new();
    for (tail, head) in pairs {
        match edges.last_mut() {
            Some(last) if (last.tail, last.head) == (tail, head) => last.weight += 1,
            _ => edges.push(Edge {
                tail,
                head,
                length: 1,
                weight: 1,
            }),
        }
    }
    // The sides of ports come from `backward`, so cycles are an exception. A line that closes a
    // cycle leads back through the gaps.
    let plain: Vec<_> = edges.iter().map(|e| (e.tail, e.head, false)).collect();
    let all: Vec<usize> = (0..edges.len()).collect();
    let closing = cycles::searched(items + 2, &plain, &all);
    let mut kept = 0..edges.len();
    edges.retain(|_| {
        kept.next()
            .is_some_and(|e| closing.binary_search(&e).is_err())
    });
    let has = |hand| part.borders.iter().any(|&p| ports.hand[p] == hand);
    let (has_left, has_right) = (has(Side::Right), has(Side::Left));
    let (mut entered, mut left_by) = (vec![false; items + 2], vec![false; items + 2]);
    for edge in &edges {
        entered[edge.head] = true;
        left_by[edge.tail] = true;
    }
    let bound = |tail, head| Edge {
        tail,
        head,
        length: 1,
        weight: 0,
    };
    for item in 0..items {
        if has_left && !entered[item] {
            edges.push(bound(left, item));
        }
        if has_right && !left_by[item] {
            edges.push(bound(item, right));
        }
    }
    if has_left && has_right {
        edges.push(bound(left, right));
    }
    let ranks = simplex::positions(items + 2, &edges, RANK_WORK);
    let used = (0..items).chain(part.borders.iter().map(|&p| node(p)));
    let used: Vec<i64> = used.map(|n| ranks[n]).collect();
    let mut distinct = used.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let layer = |rank: &i64| distinct.binary_search(rank).unwrap_or_default();
    used.iter().map(layer).collect()
}
