//! What a picture shows, without positions: nodes, groups around them, and edges between their
//! ports.

use crate::drawing::Form;
use rustc_hash::FxHashMap;

/// Contents of a picture of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Name of the network.
    pub name: String,
    /// Title of the picture: the `label` of the graph, or its name.
    pub title: String,
    /// True if the picture leads from top to bottom (`rankdir=TB`), and not from left to right.
    pub downwards: bool,
    /// True if it leads in the opposite direction: from bottom to top (`rankdir=BT`), or from right
    /// to left (`rankdir=RL`).
    pub reversed: bool,
    /// Boxes.
    pub nodes: Vec<Node>,
    /// Modules and families. A parent precedes its children.
    pub groups: Vec<Group>,
    /// Edges, one for each pair of ports and direction. Many edges between two nodes are one.
    pub edges: Vec<Edge>,
    /// Sentences under the picture.
    pub notes: Vec<String>,
}

/// A box: a process, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name of the process, or of the first process that it stands for.
    pub name: String,
    /// Its text.
    pub label: String,
    /// Name of its kind.
    pub kind: String,
    /// The group that contains it.
    pub group: Option<usize>,
    /// Place among the nodes and groups of its group: the order of the source.
    pub position: usize,
    /// What the box stands for.
    pub form: Form,
    /// Number of processes that it stands for.
    pub processes: usize,
    /// Text that appears when the pointer is on it.
    pub title: String,
    /// Fill colour that the user gave.
    pub color: Option<String>,
    /// Colour of the outline that the user gave.
    pub outline: Option<String>,
}

/// A module, or a family: items of one kind with a known structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Name of the module. Empty for a family.
    pub name: String,
    /// Its text.
    pub label: String,
    /// The group that contains it.
    pub parent: Option<usize>,
    /// Place among the nodes and groups of its parent.
    pub position: usize,
    /// False for a family, which has no frame.
    pub framed: bool,
    /// How its items are placed.
    pub shape: Shape,
    /// Text that appears when the pointer is on it. Empty for none.
    pub title: String,
    /// Colour that the user gave.
    pub color: Option<String>,
}

/// How the items of a group are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// In layers, by the edges between them.
    Layered,
    /// In rows of this many columns, in the order of [`Node::position`].
    Matrix {
        /// Number of columns, at least 1.
        columns: usize,
    },
}

/// All channels from one port to another. If there are many edges between two nodes, all channels
/// from one node to the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The writer.
    pub from: End,
    /// The reader.
    pub to: End,
    /// Its text: the user's label or the type of the tokens, and the number of channels if there
    /// are several.
    pub label: String,
    /// Type of the tokens of its first channel, if it is known.
    pub ty: String,
    /// Number of channels.
    pub channels: usize,
    /// Text that appears when the pointer is on it: ports, types, traffic.
    pub title: String,
    /// True if any of its channels is flow-controlled.
    pub controlled: bool,
    /// True if any of its channels has initial tokens. Cycles are broken here first.
    pub initial: bool,
    /// True for a channel that closes a row or a column of a torus: it is drawn as two stubs.
    pub wraps: bool,
    /// Where the reader is, seen from the writer, and where the writer is, if a frame stands for
    /// several modules and the channels lead from one of them to another: `next farm`. Such an edge
    /// is drawn as two stubs.
    pub elsewhere: Option<[String; 2]>,
    /// True if channels lead from the reader to the writer, too.
    pub two_way: bool,
    /// Width of the line: from 1 to 4, by traffic.
    pub width: f64,
    /// Colour that the user gave.
    pub color: Option<String>,
}

impl Edge {
    /// Returns true if it is drawn as two stubs, although both ends are shown.
    pub(crate) fn is_cut(&self) -> bool {
        self.wraps || self.elsewhere.is_some()
    }
}

/// End of an edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End {
    /// The node. `None` for the environment.
    pub node: Option<usize>,
    /// Name of its port. Edges with the same node, direction and port share a trunk.
    pub port: String,
}

/// Returns a name, or `name ×3` for several elements.
pub(crate) fn times(name: &str, count: usize) -> String {
    match count {
        1 => name.to_owned(),
        many => format!("{name} ×{many}"),
    }
}

/// Returns the name in a text of [`times`].
pub(crate) fn without_count(text: &str) -> &str {
    match text.rsplit_once(" ×") {
        Some((name, count)) if count.parse::<usize>().is_ok() => name,
        _ => text,
    }
}

impl Picture {
    /// Returns the picture as text. Each line lists the successors of a node over channels of the
    /// same type, or over the same number of channels if there are several. The environment is
    /// written as `NULL`. Nodes without outgoing edges have no line, and groups are not shown.
    ///
    /// # Panics
    /// Panics if an edge has an index that is out of range.
    #[must_use]
    pub fn text(&self) -> String {
        let names: Vec<String> = self.nodes.iter().map(Node::numbered).collect();
        let name = |node: Option<usize>| node.map_or("NULL", |node| &names[node]);
        // Pairs of nodes, with the number of their channels. Each channel to the environment is on
        // its own.
        let mut pairs: Vec<(&Edge, usize)> = Vec::new();
        let mut known: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        let mut leaving: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut entering = Vec::new();
        for edge in &self.edges {
            let made = pairs.len();
            if let (Some(from), Some(to)) = (edge.from.node, edge.to.node) {
                let at = *known.entry((from, to)).or_insert(made);
                if at < made {
                    pairs[at].1 += edge.channels;
                    continue;
                }
                pairs.push((edge, edge.channels));
            } else {
                pairs.resize(made + edge.channels, (edge, 1));
            }
            match edge.from.node {
                Some(from) => leaving[from].extend(made..pairs.len()),
                None => entering.extend(made..pairs.len()),
            }
        }
        let entering = entering.into_iter().map(|pair| vec![pair]);
        let mut text = String::new();
        for leaving in leaving.into_iter().chain(entering) {
            let mut lines: Vec<(String, String)> = Vec::new();
            let mut of_label: FxHashMap<String, usize> = FxHashMap::default();
            for (edge, count) in leaving.into_iter().map(|pair| pairs[pair]) {
                let label = match count {
                    1 => edge.ty.clone(),
                    many => format!("×{many}"),
                };
                let to = name(edge.to.node);
                let at = *of_label.entry(label.clone()).or_insert(lines.len());
                match lines.get_mut(at) {
                    Some((line, _)) => {
                        line.push_str(", ");
                        line.push_str(to);
                    }
                    None => lines.push((format!("{} -> {to}", name(edge.from.node)), label)),
                }
            }
            for (line, label) in lines {
                let colon = if label.is_empty() { "" } else { ": " };
                text += &format!("{line}{colon}{label}\n");
            }
        }
        text
    }
}

impl Node {
    /// Returns its name, with the number of processes if there are several.
    fn numbered(&self) -> String {
        times(&self.name, self.processes)
    }
}
