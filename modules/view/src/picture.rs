//! Contents of a picture of a network: the nodes of the graph, the kinds, or all processes.

use crate::count;
use graphmap_kpn::arena::Id;
use graphmap_kpn::attributes::{AttributesId, is_of_graphviz};
use graphmap_kpn::declared::{Declared, EndDecl, Flow};
use graphmap_kpn::network::{Joined, Network};
use rustc_hash::FxHashMap;

/// A network as nodes, groups and edges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// Name of the network.
    pub name: String,
    /// Nodes in the order of the source. Nodes for the environment follow.
    pub nodes: Vec<Node>,
    /// Modules. A parent precedes its children.
    pub groups: Vec<Group>,
    /// Edges, one for each pair of nodes and direction.
    pub edges: Vec<Edge>,
}

/// A node of the picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its text. Empty for the environment.
    pub label: String,
    /// Number of its kind, which determines its colour. `None` for the environment.
    pub kind: Option<usize>,
    /// The group that contains it.
    pub group: Option<usize>,
    /// Whether it represents several processes.
    pub many: bool,
    /// Text that appears when the pointer is on the node.
    pub title: String,
}

/// A group of the picture: a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its name.
    pub label: String,
    /// The group that contains it.
    pub parent: Option<usize>,
    /// Text that appears when the pointer is on the group: its attributes of the user, or nothing.
    pub title: String,
}

/// All channels from one node of the picture to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index of the writing node.
    pub from: usize,
    /// Index of the reading node.
    pub to: usize,
    /// Its text: the type of a single channel, or the number of channels.
    pub label: String,
    /// Text that appears when the pointer is on the edge: ports and types.
    pub title: String,
    /// Whether any of its channels is flow-controlled. Tokens flow on such a channel after both
    /// ends have opened it.
    pub controlled: bool,
}

/// Maximum number of channels in the title of an edge.
const MOST_NAMED: usize = 8;

/// Edges under construction.
#[derive(Default)]
struct Edges {
    known: FxHashMap<(usize, usize), usize>,
    list: Vec<(Edge, usize)>,
}

impl Edges {
    fn add(
        &mut self,
        (from, to): (usize, usize),
        ports: (&str, &str),
        ty: Option<&str>,
        flow: Option<Flow>,
        attributes: &str,
    ) {
        let mut title = format!("{} to {}", ports.0, ports.1);
        if let Some(ty) = ty {
            title += &format!(": {ty}");
        }
        if let Some(flow) = flow {
            title += &format!(", flow={}", flow.name());
        }
        title += attributes;
        let made = self.list.len();
        let at = *self.known.entry((from, to)).or_insert(made);
        if at == made {
            let label = ty.unwrap_or_default().to_owned();
            let edge = Edge {
                from,
                to,
                label,
                title,
                controlled: flow.is_some(),
            };
            self.list.push((edge, 1));
            return;
        }
        let (edge, count) = &mut self.list[at];
        *count += 1;
        edge.controlled |= flow.is_some();
        if *count <= MOST_NAMED && !edge.title.split("; ").any(|known| known == title) {
            edge.title += "; ";
            edge.title += &title;
        }
    }

    fn finish(self) -> Vec<Edge> {
        let edges = self.list.into_iter().map(|(mut edge, count)| {
            if count > 1 {
                edge.title = format!("{count} channels: {}", edge.title);
                edge.label = format!("×{count}");
            }
            edge
        });
        edges.collect()
    }
}

/// Returns the attributes of the user as text: `, x_est=4` for each.
fn users<'a>(attributes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let users = attributes.filter(|(name, _)| !is_of_graphviz(name));
    users
        .map(|(name, value)| format!(", {name}={value}"))
        .collect()
}

/// Returns the title of a group: the text of [`users`] without its first comma.
fn title_of_group(users: &str) -> String {
    users.strip_prefix(", ").unwrap_or_default().to_owned()
}

fn times(name: &str, count: usize) -> String {
    match count {
        1 => name.to_owned(),
        many => format!("{name} ×{many}"),
    }
}

impl Picture {
    /// Returns the picture of the nodes of a graph. An abstract declaration is one node, with its
    /// number of replicas. Each port joined to the environment has a node of its own there. A
    /// channel with the environment at both ends is omitted.
    ///
    /// # Panics
    /// Panics if an id or a symbol in the declarations is out of range.
    pub fn of_graph(declared: &Declared) -> Picture {
        let name = |symbol| declared.name(symbol);
        let lists = &declared.attributes.lists;
        let texts = |list: Option<AttributesId>| users(lists.texts(&declared.names, list));
        let mut kinds = FxHashMap::default();
        let mut nodes = Vec::with_capacity(declared.nodes.len());
        for (id, node) in declared.nodes.iter() {
            let made = kinds.len();
            let count = node.replicas.map_or(1, |n| n as usize);
            let mut title = format!("kind {}", name(node.kind));
            if let Some(process) = node.process {
                title += &format!(", node of process {}", name(process));
            }
            title += &texts(declared.attributes.nodes.get(id));
            nodes.push(Node {
                label: times(name(node.name), count),
                kind: Some(*kinds.entry(node.kind).or_insert(made)),
                group: node.module.map(Id::index),
                many: node.replicas.is_some(),
                title,
            });
        }
        let groups = declared.modules.iter().map(|(id, module)| Group {
            title: title_of_group(&texts(declared.attributes.modules.get(id))),
            label: times(name(module.kind), module.replicas.map_or(1, |n| n as usize)),
            parent: module.parent.map(Id::index),
        });
        let mut edges = Edges::default();
        for channel in &declared.channels {
            let ty = channel.ty.map(name);
            let (from, to) = (channel.from, channel.to);
            let port = |end: EndDecl| match end.node {
                Some(_) => name(end.port),
                None => ENVIRONMENT,
            };
            let group = |end: EndDecl| declared.nodes[end.node?].module.map(Id::index);
            let ends = match (from.node, to.node) {
                (Some(from), Some(to)) => (from.index(), to.index()),
                (Some(a), None) => (a.index(), environment(&mut nodes, group(from))),
                (None, Some(b)) => (environment(&mut nodes, group(to)), b.index()),
                (None, None) => continue,
            };
            let extra = declared.extra(channel);
            let flow = extra.and_then(|extra| extra.flow);
            let attributes = texts(extra.and_then(|extra| extra.attributes));
            edges.add(ends, (port(from), port(to)), ty, flow, &attributes);
        }
        Picture {
            name: declared.name.clone(),
            nodes,
            groups: groups.collect(),
            edges: edges.finish(),
        }
    }

    /// Returns the picture of all processes, with modules as groups. Each port joined to the
    /// environment has a node of its own there.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    pub fn of_processes(network: &Network) -> Picture {
        let texts = |list: Option<AttributesId>| users(network.attribute_texts(list));
        let attributes = &network.attributes;
        let mut nodes: Vec<Node> = network
            .processes
            .iter()
            .map(|(id, process)| Node {
                label: network.name(process.name).to_owned(),
                kind: Some(process.kind.index()),
                group: process.module.map(Id::index),
                many: false,
                title: format!(
                    "kind {}, load {}{}",
                    network.kind_name(id),
                    process.load,
                    texts(attributes.processes.get(id))
                ),
            })
            .collect();
        let groups = network.modules.iter().map(|(id, module)| Group {
            title: title_of_group(&texts(attributes.modules.get(id))),
            label: network.name(module.kind).to_owned(),
            parent: module.parent.map(Id::index),
        });
        let mut edges = Edges::default();
        for joined in network.joins() {
            match joined {
                Joined::Channel(id) => {
                    let channel = &network.channels[id];
                    let port = |port| network.name(network.ports[port].name);
                    let (from, to) = (network.writer(id).index(), network.reader(id).index());
                    let ty = channel.ty.map(|ty| network.name(ty));
                    let ports = (port(channel.from), port(channel.to));
                    let flow = network.terms(id).flow;
                    let texts = texts(attributes.channels.get(id));
                    edges.add((from, to), ports, ty, flow, &texts);
                }
                Joined::Closed(id) => {
                    let port = &network.ports[id];
                    let process = port.process;
                    let group = network.processes[process].module.map(Id::index);
                    let end = environment(&mut nodes, group);
                    let name = network.name(port.name);
                    let (ends, ports) = match port.direction {
                        graphmap_kpn::declared::Direction::Input => {
                            ((end, process.index()), (ENVIRONMENT, name))
                        }
                        graphmap_kpn::declared::Direction::Output => {
                            ((process.index(), end), (name, ENVIRONMENT))
                        }
                    };
                    let texts = texts(network.port_attributes(id));
                    edges.add(ends, ports, None, None, &texts);
                }
            }
        }
        Picture {
            name: network.name.clone(),
            nodes,
            groups: groups.collect(),
            edges: edges.finish(),
        }
    }

    /// Returns the picture as text. Each line lists the successors of a node over edges with the
    /// same label. A node without a label (the environment) is written as `NULL`. Nodes without
    /// outgoing edges have no line, and groups are not shown.
    ///
    /// # Panics
    /// Panics if an edge has an index that is out of range.
    pub fn text(&self) -> String {
        let mut leaving: Vec<Vec<&Edge>> = vec![Vec::new(); self.nodes.len()];
        for edge in &self.edges {
            leaving[edge.from].push(edge);
        }
        let name = |node: &Node| match node.label.as_str() {
            "" => "NULL".to_owned(),
            label => label.to_owned(),
        };
        let mut text = String::new();
        for (node, edges) in self.nodes.iter().zip(leaving) {
            let mut lines: Vec<(&str, Vec<String>)> = Vec::new();
            for edge in edges {
                let to = name(&self.nodes[edge.to]);
                match lines.iter_mut().find(|(label, _)| *label == edge.label) {
                    Some((_, line)) => line.push(to),
                    None => lines.push((&edge.label, vec![to])),
                }
            }
            for (label, line) in lines {
                let colon = if label.is_empty() { "" } else { ": " };
                let line = line.join(", ");
                text += &format!("{} -> {line}{colon}{label}\n", name(node));
            }
        }
        text
    }

    /// Returns the picture with a node for each kind. It has no modules, and no ports joined to the
    /// environment.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    pub fn of_kinds(network: &Network) -> Picture {
        let nodes = network.kinds.values().map(|kind| Node {
            label: times(network.name(kind.name), kind.members.len()),
            kind: None,
            group: None,
            many: kind.members.len() > 1,
            title: count(kind.members.len(), "process"),
        });
        let nodes = nodes.enumerate().map(|(i, node)| Node {
            kind: Some(i),
            ..node
        });
        let mut edges = Edges::default();
        for (id, channel) in network.channels.iter() {
            let kind = |process| network.processes[process].kind.index();
            let port = |port| network.name(network.ports[port].name);
            let ty = channel.ty.map(|ty| network.name(ty));
            let ports = (port(channel.from), port(channel.to));
            let ends = (kind(network.writer(id)), kind(network.reader(id)));
            edges.add(ends, ports, ty, network.terms(id).flow, "");
        }
        Picture {
            name: network.name.clone(),
            nodes: nodes.collect(),
            groups: Vec::new(),
            edges: edges.finish(),
        }
    }
}

/// Name of the other end of a port that is joined to the environment.
const ENVIRONMENT: &str = "the environment";

/// Adds a node for the environment, and returns its index.
fn environment(nodes: &mut Vec<Node>, group: Option<usize>) -> usize {
    nodes.push(Node {
        label: String::new(),
        kind: None,
        group,
        many: false,
        title: ENVIRONMENT.to_owned(),
    });
    nodes.len() - 1
}
