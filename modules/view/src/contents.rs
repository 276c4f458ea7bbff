//! What a picture shows, without positions: nodes, groups around them, and edges between their
//! ports.

use crate::drawing::Form;

/// Contents of a picture of a network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Picture {
    /// Name of the network.
    pub name: String,
    /// Title of the picture: the `label` of the graph, or its name.
    pub title: String,
    /// True if the picture leads from top to bottom (`rankdir=TB`), and not from left to right.
    pub downwards: bool,
    /// Boxes.
    pub nodes: Vec<Node>,
    /// Modules and families. A parent precedes its children.
    pub groups: Vec<Group>,
    /// Edges, one for each pair of ports and direction.
    pub edges: Vec<Edge>,
    /// Sentences under the picture.
    pub notes: Vec<String>,
}

/// A box: a process, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name of the process, or of the first of those that it stands for.
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
    /// Text that appears when the pointer is on it.
    pub title: String,
    /// Colour that the user gave.
    pub color: Option<String>,
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

/// All channels from one port to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// The writer.
    pub from: End,
    /// The reader.
    pub to: End,
    /// Its text: the type of the tokens or the user's label, and the number of channels if there
    /// are several.
    pub label: String,
    /// Text that appears when the pointer is on it: ports, types, traffic.
    pub title: String,
    /// True if any of its channels is flow-controlled.
    pub controlled: bool,
    /// True if any of its channels has initial tokens. Cycles are broken here first.
    pub initial: bool,
    /// True for a channel that closes a ring or a torus: it is drawn as two stubs.
    pub wraps: bool,
    /// Width of the line: from 1 to 4, by traffic.
    pub width: f64,
    /// Colour that the user gave.
    pub color: Option<String>,
}

/// End of an edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The node. `None` for the environment.
    pub node: Option<usize>,
    /// Name of its port. Edges with the same node, direction and port share a trunk.
    pub port: String,
}
