//! The interface between the parser and its users: the statements of a file, in order.
//!
//! The parser builds no tree. It reports the operands of a chain of edges one after the other:
//!
//! * a list of nodes by [`Events::node`] and [`Events::end_operand`],
//! * a subgraph by [`Events::open_subgraph`] and [`Events::close_subgraph`], with the statements of
//!   the subgraph between the two.
//!
//! Then [`Events::end_chain`] reports the number of operands and the attributes. A node statement
//! is a chain of one operand. [`Events::edge`] may report a chain of two nodes with one call.

use crate::token::Id;
use graphmap_kpn::source::Span;

/// The head of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Position of the word `strict`, which merges parallel edges.
    pub strict: Option<Span>,
    /// True for `digraph`, false for `graph`.
    pub directed: bool,
    /// Name of the graph.
    pub name: Option<Id>,
    /// Span from `strict` or `digraph` to the name.
    pub span: Span,
}

/// The elements to which defaults apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The graph or subgraph itself.
    Graph,
    /// Nodes created later.
    Node,
    /// Edges created later.
    Edge,
}

/// `name = value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Name of the attribute.
    pub name: Id,
    /// Value of the attribute.
    pub value: Id,
}

impl Attribute {
    /// Returns the span from name to value.
    #[inline]
    pub fn span(&self) -> Span {
        Span::new(self.name.span.start, self.value.span.end)
    }
}

/// An occurrence of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef {
    /// Name of the node.
    pub name: Id,
    /// Port of `node:port`.
    pub port: Option<Id>,
    /// Compass point of `node:port:compass`.
    pub compass: Option<Id>,
}

impl NodeRef {
    /// Returns the span from the name to the end of the port or compass point.
    #[inline]
    pub fn span(&self) -> Span {
        let last = self.compass.or(self.port).unwrap_or(self.name);
        Span::new(self.name.span.start, last.span.end)
    }
}

/// Receiver of the statements that the parser reads.
pub trait Events {
    /// Opens a graph: `digraph name {`.
    fn open_graph(&mut self, header: &Header);
    /// Closes the graph. `brace` is the position of its `}`. It is not called if the graph is not
    /// closed.
    fn close_graph(&mut self, brace: Span);
    /// Opens a subgraph: `subgraph name {`, or `{` alone. `span` is the span of this text.
    fn open_subgraph(&mut self, name: Option<Id>, span: Span);
    /// Closes the subgraph. `brace` is the position of its `}`.
    fn close_subgraph(&mut self, brace: Span);
    /// Sets defaults: `node [..]`, `edge [..]` or `graph [..]`. Attributes of several brackets are
    /// one list. `span` is the whole statement.
    fn defaults(&mut self, target: Target, attributes: &[Attribute], span: Span);
    /// Sets an attribute of the graph or subgraph: the statement `name = value`.
    fn assign(&mut self, attribute: &Attribute);
    /// Adds one node to the current operand, or begins an operand that is a list of nodes.
    fn node(&mut self, node: &NodeRef);
    /// Ends an operand that is a list of nodes. A subgraph as operand ends with
    /// [`Events::close_subgraph`] instead.
    fn end_operand(&mut self);
    /// Ends a chain of `operands` operands. `attributes` are the ones in its brackets. `span` goes
    /// from its first operand to its last bracket, or to its last operand if there are no
    /// attributes.
    fn end_chain(&mut self, operands: u32, attributes: &[Attribute], span: Span);
    /// Receives a chain of two nodes at once. Most statements of a large graph are such chains. The
    /// parser may use this method for chains of a digraph that contain only plain names, numbers,
    /// strings and attributes.
    ///
    /// By default, reports the nodes, the operands and the end of the chain with the other methods.
    fn edge(&mut self, tail: &NodeRef, head: &NodeRef, attributes: &[Attribute], span: Span) {
        for node in [tail, head] {
            self.node(node);
            self.end_operand();
        }
        self.end_chain(2, attributes, span);
    }
    /// Discards the current chain of the innermost open scope, if there is one. Its statement has a
    /// syntax error.
    fn abandon_chain(&mut self);
}
