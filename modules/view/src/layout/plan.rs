//! The ports and lines of each scope, with the sides of the ports.
//!
//! An edge is a line in the innermost scope that contains both ends, and in each scope inside of it
//! around one of them. At the border of a scope, edges of one bundle share a port.

use super::layered::backward;
use super::matrix;
use super::nesting::{Item, Nesting, Way};
use super::scope::{Line, Port, Scope};
use super::sizes;
use crate::geometry::{Side, Size};
use crate::picture::{Edge, End, Picture, Shape, without_count};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;

/// Least number of lines of a trunk that runs above or below the items of a matrix.
const TRUNK: usize = 3;
/// Least number of equal labels that become a sentence under the picture.
const REPEATED: usize = 24;

/// The scopes of a picture before the layout.
#[derive(Debug)]
pub(super) struct Plan {
    /// Without the sizes of the items.
    pub(super) scopes: Vec<Scope>,
    /// Text of the label of each port. Empty for none.
    pub(super) texts: Vec<Vec<String>>,
    /// What is drawn for each edge.
    pub(super) courses: Vec<Course>,
    /// Number of each port on the border of a scope, by the port of the item of the scope around.
    pub(super) inner: FxHashMap<(usize, usize), usize>,
    /// Sentences under the picture.
    pub(super) notes: Vec<String>,
}

/// What is drawn for an edge.
#[derive(Debug)]
pub(super) enum Course {
    /// Lines, each with its scope, from the writer to the reader.
    Lines(Vec<(usize, usize)>),
    /// A loop at a port without lines.
    Loop(usize, usize),
    /// Stubs at ports, each with its scope.
    Stubs {
        /// Port of the writer.
        from: Option<(usize, usize)>,
        /// Port of the reader.
        to: Option<(usize, usize)>,
    },
}

/// Edges that share a port of an item or of the border.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Trunk {
    /// Port of a node: the number of the port.
    Port(usize),
    /// An edge that shares its ports with no other.
    Edge(usize),
}

/// Key of a port: the item or the border, the side, true for a port of writers, the trunk.
type Key = (Option<usize>, Side, bool, Trunk);

/// Lines that cross the border of a scope.
#[derive(Clone, Copy)]
struct Crossing {
    edge: usize,
    item: usize,
    side: Side,
    /// True if the writer is inside.
    leaves: bool,
}

struct Planning<'p> {
    picture: &'p Picture,
    nesting: &'p Nesting,
    plan: Plan,
    keys: Vec<FxHashMap<Key, usize>>,
    lines: Vec<FxHashMap<(usize, usize), usize>>,
    /// Numbers of the ports of writers and readers of each edge.
    ports: Vec<[usize; 2]>,
    /// Number of edges at each port.
    members: Vec<usize>,
    /// Edges between items of each scope.
    tops: Vec<Vec<(usize, [usize; 2])>>,
    ways: Vec<Option<Way>>,
    crossings: Vec<Vec<Crossing>>,
    labels: Labels,
    /// Numbers of the sides of ports with lines, by kind, port, and true for writers.
    sides_of_ports: FxHashMap<(&'p str, &'p str, bool), BTreeMap<Side, usize>>,
}

/// Texts of labels at the ends of edges.
#[derive(Default)]
struct Labels {
    /// Text at the writer and the reader of each edge.
    at: Vec<[String; 2]>,
}

impl Plan {
    pub(super) fn of(picture: &Picture, nesting: &Nesting) -> Plan {
        let scopes = nesting.items.len();
        let mut planning = Planning {
            picture,
            nesting,
            plan: Plan {
                scopes: vec![Scope::default(); scopes],
                texts: vec![Vec::new(); scopes],
                courses: Vec::with_capacity(picture.edges.len()),
                inner: FxHashMap::default(),
                notes: Vec::new(),
            },
            keys: vec![FxHashMap::default(); scopes],
            lines: vec![FxHashMap::default(); scopes],
            ports: Vec::new(),
            members: Vec::new(),
            tops: vec![Vec::new(); scopes],
            ways: Vec::new(),
            crossings: vec![Vec::new(); scopes],
            labels: Labels::default(),
            sides_of_ports: FxHashMap::default(),
        };
        planning.number_ports();
        planning.choose_labels();
        planning.start();
        // A parent precedes its children; the whole picture comes first.
        for scope in std::iter::once(nesting.root()).chain(0..nesting.root()) {
            planning.scope(scope);
        }
        planning.stubs();
        planning.plan
    }
}

fn joins(edge: &Edge) -> Option<[usize; 2]> {
    let ends = (edge.from.node?, edge.to.node?);
    (ends.0 != ends.1 && !edge.is_cut()).then_some([ends.0, ends.1])
}

impl<'p> Planning<'p> {
    fn number_ports(&mut self) {
        let mut numbers: FxHashMap<(&End, bool), usize> = FxHashMap::default();
        for edge in &self.picture.edges {
            let ports = [(&edge.from, true), (&edge.to, false)].map(|key| {
                let next = numbers.len();
                *numbers.entry(key).or_insert(next)
            });
            self.ports.push(ports);
        }
        self.members = vec![0; numbers.len()];
        for (edge, ports) in self.picture.edges.iter().zip(&self.ports) {
            for port in ports.iter().filter(|_| joins(edge).is_some()) {
                self.members[*port] += 1;
            }
        }
    }

    /// Chooses the end of each edge that has its label. Equal labels of a bundle are one. A label
    /// of most edges becomes a sentence.
    fn choose_labels(&mut self) {
        let edges = &self.picture.edges;
        let texts: Vec<String> = edges.iter().map(|edge| sizes::label(&edge.label)).collect();
        // The label of all edges at a port, if they have the same.
        let mut common: Vec<Option<Option<&str>>> = vec![None; self.members.len()];
        let of_lines = texts.iter().zip(&self.ports).zip(edges);
        for ((text, ports), _) in of_lines.filter(|(_, edge)| edge.elsewhere.is_none()) {
            for port in ports {
                common[*port] = match common[*port] {
                    None => Some(Some(text)),
                    Some(Some(known)) if known == text => Some(Some(text)),
                    Some(_) => Some(None),
                };
            }
        }
        let is_common = |port: usize| common[port].flatten().is_some();
        let mut left_out = 0;
        let mut uses: FxHashMap<&str, usize> = FxHashMap::default();
        let mut seen: FxHashSet<usize> = FxHashSet::default();
        let mut places = Vec::with_capacity(edges.len());
        for ((edge, text), [from, to]) in edges.iter().zip(&texts).zip(&self.ports) {
            let [writers, readers] = [*from, *to].map(|port| self.members[port]);
            let place = match () {
                () if text.is_empty() || edge.elsewhere.is_some() => None,
                () if edge.from.node.is_none() => Some(1),
                () if edge.to.node.is_none() => Some(0),
                // At the port that more edges share.
                () if readers > writers && is_common(*to) => Some(1),
                () if is_common(*from) => Some(0),
                () if is_common(*to) => Some(1),
                () => {
                    left_out += 1;
                    None
                }
            };
            if let Some(end) = place
                && seen.insert([*from, *to][end])
            {
                *uses.entry(text).or_default() += 1;
            }
            places.push(place);
        }
        let mut repeated: Option<(&str, usize)> = None;
        for (&text, &count) in &uses {
            let best = repeated.map_or((REPEATED - 1, ""), |(text, count)| (count, text));
            if (count, text) > best {
                repeated = Some((text, count));
            }
        }
        let repeated = repeated.map(|(text, _)| text.to_owned());
        if let Some(text) = &repeated {
            self.plan
                .notes
                .push(format!("Lines without a label: {text}"));
        }
        if left_out > 0 {
            let labels = if left_out == 1 {
                "label is"
            } else {
                "labels are"
            };
            self.plan.notes.push(format!(
                "{left_out} {labels} omitted, because a port has several"
            ));
        }
        self.labels.at = places
            .into_iter()
            .zip(texts)
            .map(|(place, text)| {
                let mut at = [String::new(), String::new()];
                if let Some(place) = place
                    && repeated.as_ref() != Some(&text)
                {
                    at[place] = text;
                }
                at
            })
            .collect();
    }

    /// Finds the ways of the edges, and adds ports for stubs and loops.
    fn start(&mut self) {
        for (index, edge) in self.picture.edges.iter().enumerate() {
            let way = joins(edge).map(|[from, to]| self.nesting.way(from, to));
            let course = match (&way, edge.from.node, edge.to.node) {
                (Some(way), ..) => {
                    self.tops[way.top.0].push((index, way.top.1));
                    Course::Lines(Vec::new())
                }
                (None, Some(from), Some(to)) if from == to && !edge.is_cut() => {
                    let (scope, item) = self.nesting.node(from);
                    let text = self.labels.at[index].concat();
                    let room = sizes::of_loop(&text, self.picture.downwards);
                    let port = self.lone(scope, item, Side::Right, room, false, String::new());
                    self.plan.texts[scope][port] = text;
                    Course::Loop(scope, port)
                }
                (None, ..) => Course::Stubs {
                    from: None,
                    to: None,
                },
            };
            self.ways.push(way);
            self.plan.courses.push(course);
        }
    }

    /// Adds ports for stubs, on the sides on which most processes of the kind have the port.
    fn stubs(&mut self) {
        for (index, edge) in self.picture.edges.iter().enumerate() {
            if !matches!(self.plan.courses[index], Course::Stubs { .. }) {
                continue;
            }
            let (from, to) = (edge.from.node, edge.to.node);
            let labels = match (&edge.elsewhere, from, to) {
                (Some(elsewhere), Some(from), Some(to)) => {
                    self.to_elsewhere(edge, elsewhere, [from, to])
                }
                _ => {
                    let name = |node: Option<usize>| {
                        let node = &self.picture.nodes[node.filter(|_| edge.wraps)?];
                        Some(sizes::label(&node.label))
                    };
                    let [at_writer, at_reader] = self.labels.at[index].clone();
                    [
                        name(to).unwrap_or(at_writer),
                        name(from).unwrap_or(at_reader),
                    ]
                }
            };
            let mut stub = |end: &End, leaves: bool, text: String| {
                let node = end.node?;
                let (scope, item) = self.nesting.node(node);
                let side = self.usual_side(node, &end.port, leaves);
                let room = sizes::of_label(&text);
                Some((scope, self.lone(scope, item, side, room, true, text)))
            };
            let [to_label, from_label] = labels;
            self.plan.courses[index] = Course::Stubs {
                from: stub(&edge.from, true, to_label),
                to: stub(&edge.to, false, from_label),
            };
        }
    }

    /// Returns the texts at the stubs of an edge to another module of the same frame.
    fn to_elsewhere(
        &self,
        edge: &Edge,
        [reader, writer]: &[String; 2],
        nodes: [usize; 2],
    ) -> [String; 2] {
        let [from, to] = nodes.map(|node| &self.picture.nodes[node].kind);
        let colon = if edge.label.is_empty() { "" } else { ": " };
        [
            format!("{}{colon}to {to} of {reader}", edge.label),
            format!("{}{colon}from {from} of {writer}", edge.label),
        ]
        .map(|text| sizes::label(&text))
    }

    /// Returns the side on which most processes of the kind of a node have a port with lines. Lines
    /// of layers have ports at the left and at the right only.
    fn usual_side(&self, node: usize, port: &str, leaves: bool) -> Side {
        let kind = &*self.picture.nodes[node].kind;
        let sides = self.sides_of_ports.get(&(kind, port, leaves));
        let (scope, _) = self.nesting.node(node);
        let is_layered = self.nesting.shape(self.picture, scope) == Shape::Layered;
        let fits = |side: &Side| !is_layered || matches!(side, Side::Left | Side::Right);
        let most = sides.and_then(|sides| {
            let sides = sides.iter().filter(|(side, _)| fits(side));
            sides.max_by_key(|(side, count)| (**count, **side))
        });
        most.map_or(
            match leaves {
                true => Side::Right,
                false => Side::Left,
            },
            |(side, _)| *side,
        )
    }

    /// Adds a port without lines.
    fn lone(
        &mut self,
        scope: usize,
        item: usize,
        side: Side,
        label: Size,
        stub: bool,
        text: String,
    ) -> usize {
        let ports = &mut self.plan.scopes[scope].ports;
        ports.push(Port {
            item: Some(item),
            side,
            offset: None,
            label,
            stub,
        });
        self.plan.texts[scope].push(text);
        ports.len() - 1
    }

    fn scope(&mut self, scope: usize) {
        let tops = std::mem::take(&mut self.tops[scope]);
        let crossings = std::mem::take(&mut self.crossings[scope]);
        let sides = self.sides(scope, &tops);
        for ((edge, items), sides) in tops.into_iter().zip(sides) {
            let ends = [0, 1].map(|end| {
                let item = items[end];
                self.cross(scope, item, edge, sides[end], end == 0);
                // Arcs of several lengths have no trunk.
                let alone = sides[0] == sides[1];
                self.port(scope, Some(item), sides[end], end == 0, edge, alone)
            });
            self.line(scope, edge, ends, None);
        }
        for crossing in crossings {
            let Crossing {
                edge,
                item,
                side,
                leaves,
            } = crossing;
            let own = self.side_to_border(scope, &crossing);
            self.cross(scope, item, edge, own, leaves);
            let inner = self.port(scope, Some(item), own, leaves, edge, false);
            let border = self.port(scope, None, side, leaves, edge, false);
            let ends = if leaves {
                [inner, border]
            } else {
                [border, inner]
            };
            self.line(scope, edge, ends, Some(leaves));
        }
    }

    /// Returns the sides of both ends of the lines between items of a scope.
    fn sides(&self, scope: usize, tops: &[(usize, [usize; 2])]) -> Vec<[Side; 2]> {
        let items = &self.nesting.items[scope];
        match self.nesting.shape(self.picture, scope) {
            Shape::Layered => {
                let sides = |is_backward: bool| match is_backward {
                    true => [Side::Left, Side::Right],
                    false => [Side::Right, Side::Left],
                };
                self.backward(scope, tops).into_iter().map(sides).collect()
            }
            Shape::Matrix { columns } => {
                let columns = columns.max(1);
                let is_plain = |item: usize| match items[item] {
                    Item::Node(_) => true,
                    Item::Group(group) => self.nesting.shape(self.picture, group) != Shape::Layered,
                };
                // The single box of the last row of a ring is joined to the box above it. In a
                // chain it is not, and has its line at the left like the first box of each row.
                let last = items.len().saturating_sub(1);
                let above = last.checked_sub(columns);
                let closes = !last.is_multiple_of(columns)
                    || tops
                        .iter()
                        .any(|(_, [a, b])| *a.max(b) == last && Some(*a.min(b)) == above);
                let sides = |(_, [a, b]): &(usize, [usize; 2])| {
                    let sides = matrix::sides(columns, items.len(), *a, *b);
                    match sides {
                        [Side::Bottom, Side::Right] | [Side::Right, Side::Bottom] if !closes => {
                            [Side::Right, Side::Left]
                        }
                        [from, to] if from == to && !(is_plain(*a) && is_plain(*b)) => {
                            [Side::Right, Side::Left]
                        }
                        // Diagonals between modules.
                        [Side::Left, Side::Right]
                            if a / columns != b / columns && !(is_plain(*a) && is_plain(*b)) =>
                        {
                            [Side::Right, Side::Left]
                        }
                        [Side::Top | Side::Bottom, _] | [_, Side::Top | Side::Bottom]
                            if !is_plain(*a) || !is_plain(*b) =>
                        {
                            [Side::Right, Side::Left]
                        }
                        _ => sides,
                    }
                };
                tops.iter().map(sides).collect()
            }
        }
    }

    /// Returns for each line between items of a layered scope whether it leads back. Lines between
    /// the same kinds lead in the same direction, so that processes of a kind are in a layer.
    fn backward(&self, scope: usize, tops: &[(usize, [usize; 2])]) -> Vec<bool> {
        let items = &self.nesting.items[scope];
        let mut kinds: FxHashMap<(bool, &str), usize> = FxHashMap::default();
        let mut families = 0;
        let kind_of: Vec<usize> = items
            .iter()
            .map(|item| {
                let key = match *item {
                    Item::Node(node) => (true, &*self.picture.nodes[node].kind),
                    Item::Group(group) => (false, without_count(&self.picture.groups[group].label)),
                };
                // A family is alone.
                if key == (false, "") {
                    families += 1;
                    return items.len() + families;
                }
                let next = kinds.len();
                *kinds.entry(key).or_insert(next)
            })
            .collect();
        let count = 2 * items.len() + 1;
        let mut between: BTreeMap<[usize; 2], bool> = BTreeMap::new();
        let mut within = Vec::new();
        for (edge, ends) in tops {
            let initial = self.picture.edges[*edge].initial;
            let pair = ends.map(|item| kind_of[item]);
            match pair[0] == pair[1] {
                true => within.push((ends[0], ends[1], initial)),
                false => *between.entry(pair).or_insert(true) &= initial,
            }
        }
        let edges: Vec<(usize, usize, bool)> = between
            .iter()
            .map(|([a, b], initial)| (*a, *b, *initial))
            .collect();
        let of_kinds = backward(count, &edges);
        let mut of_items = backward(items.len(), &within).into_iter();
        let order: BTreeMap<[usize; 2], bool> = between.keys().copied().zip(of_kinds).collect();
        tops.iter()
            .map(|(_, ends)| {
                let pair = ends.map(|item| kind_of[item]);
                match order.get(&pair) {
                    Some(is_backward) => *is_backward,
                    None => of_items.next().unwrap_or(false),
                }
            })
            .collect()
    }

    /// Returns the side of an item for a line to the border.
    fn side_to_border(&self, scope: usize, crossing: &Crossing) -> Side {
        let items = &self.nesting.items[scope];
        let usual = match crossing.leaves {
            true => Side::Right,
            false => Side::Left,
        };
        let is_node = matches!(items[crossing.item], Item::Node(_));
        match self.nesting.shape(self.picture, scope) {
            Shape::Layered => match crossing.side {
                Side::Left | Side::Right => crossing.side,
                Side::Top | Side::Bottom => usual,
            },
            Shape::Matrix { columns } => {
                let rows = items.len().div_ceil(columns.max(1));
                let row = crossing.item / columns.max(1);
                match crossing.side {
                    Side::Top if row == 0 => Side::Top,
                    Side::Bottom if row + 1 == rows => Side::Bottom,
                    _ if is_node && rows > 1 && self.shared(crossing.edge) >= TRUNK => {
                        match crossing.leaves {
                            true => Side::Bottom,
                            false => Side::Top,
                        }
                    }
                    Side::Left | Side::Right => crossing.side,
                    Side::Top | Side::Bottom => usual,
                }
            }
        }
    }

    /// Returns the number of edges of the bundle of an edge.
    fn shared(&self, edge: usize) -> usize {
        let [from, to] = self.ports[edge].map(|port| self.members[port]);
        from.max(to)
    }

    /// Returns the trunk of an edge at a frame or at a border.
    fn trunk(&self, edge: usize) -> Trunk {
        let ports = self.ports[edge];
        let [from, to] = ports.map(|port| self.members[port]);
        match () {
            () if from > 1 && from >= to => Trunk::Port(ports[0]),
            () if to > 1 => Trunk::Port(ports[1]),
            () => Trunk::Edge(edge),
        }
    }

    /// Notes that an edge crosses the border of an item, if that is a group.
    fn cross(&mut self, scope: usize, item: usize, edge: usize, side: Side, leaves: bool) {
        let Item::Group(group) = self.nesting.items[scope][item] else {
            return;
        };
        let way = self.ways[edge].as_ref().expect("the edge joins two nodes");
        let inside = if leaves { &way.writer } else { &way.reader };
        let at = inside.iter().find(|(inner, _)| *inner == group);
        let (_, item) = *at.expect("the end is inside of the group");
        self.crossings[group].push(Crossing {
            edge,
            item,
            side,
            leaves,
        });
    }

    /// Returns the port of an edge at an item or at the border, which it may share. If `alone`, an
    /// edge shares no port of a node.
    fn port(
        &mut self,
        scope: usize,
        item: Option<usize>,
        side: Side,
        leaves: bool,
        edge: usize,
        alone: bool,
    ) -> usize {
        let group = item.and_then(|item| match self.nesting.items[scope][item] {
            Item::Group(group) => Some(group),
            Item::Node(_) => None,
        });
        let end = usize::from(!leaves);
        let is_node = item.is_some() && group.is_none();
        let trunk = match is_node {
            true if alone => Trunk::Edge(edge),
            true => Trunk::Port(self.ports[edge][end]),
            false => self.trunk(edge),
        };
        let key = (item, side, leaves, trunk);
        if let Some(&known) = self.keys[scope].get(&key) {
            return known;
        }
        let text = match is_node {
            true => self.labels.at[edge][end].clone(),
            false => String::new(),
        };
        if is_node {
            let of = &self.picture.edges[edge];
            let end = if leaves { &of.from } else { &of.to };
            let kind = end.node.map(|node| &*self.picture.nodes[node].kind);
            let key = (kind.unwrap_or_default(), &*end.port, leaves);
            let sides = self.sides_of_ports.entry(key).or_default();
            *sides.entry(side).or_default() += 1;
        }
        let port = Port {
            item,
            side,
            offset: None,
            label: sizes::of_label(&text),
            stub: false,
        };
        let number = self.plan.scopes[scope].ports.len();
        self.plan.scopes[scope].ports.push(port);
        self.plan.texts[scope].push(text);
        self.keys[scope].insert(key, number);
        if let Some(group) = group {
            // The scope inside has a port with the same trunk on its border.
            let inner = self.port(group, None, side, leaves, edge, alone);
            self.plan.inner.insert((scope, number), inner);
        }
        number
    }

    /// Adds a line to the course of an edge, unless another edge has it. `leaves` is the direction
    /// of a line to the border.
    fn line(&mut self, scope: usize, edge: usize, [from, to]: [usize; 2], leaves: Option<bool>) {
        let lines = &mut self.plan.scopes[scope].lines;
        let number = *self.lines[scope].entry((from, to)).or_insert_with(|| {
            lines.push(Line { from, to });
            lines.len() - 1
        });
        let Course::Lines(course) = &mut self.plan.courses[edge] else {
            return;
        };
        // Outer scopes come first, so lines of the writer are added at the front.
        match leaves {
            Some(true) => course.insert(0, (scope, number)),
            Some(false) | None => course.push((scope, number)),
        }
    }
}
