//! What the parser tells: the statements of a file, as they come.
//!
//! No tree is built. A chain of edges arrives as its operands one after the other ([`Events::node`]
//! and [`Events::end_operand`] for a list of nodes, [`Events::open_subgraph`] to
//! [`Events::close_subgraph`] for a subgraph, whose own statements lie between the two), then
//! [`Events::end_chain`] with how many there were and the attributes. A node statement is a chain of
//! one operand; [`Events::edge`] may tell a chain of two nodes at once.

use crate::token::Id;
use graphmap_kpn::source::Span;

/// The head of a graph.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Parallel edges are merged: the place of the word `strict`.
    pub strict: Option<Span>,
    /// `digraph` rather than `graph`.
    pub directed: bool,
    /// Its name.
    pub name: Option<Id>,
    /// From `strict` or `digraph` to the name.
    pub span: Span,
}

/// What attributes are the defaults of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The graph or subgraph itself.
    Graph,
    /// The nodes made after.
    Node,
    /// The edges made after.
    Edge,
}

/// `name = value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: Id,
    /// Its value.
    pub value: Id,
}

impl Attribute {
    /// From name to value.
    #[inline]
    pub fn span(&self) -> Span {
        Span::new(self.name.span.start, self.value.span.end)
    }
}

/// A mention of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeRef {
    /// Its name.
    pub name: Id,
    /// `node:port`.
    pub port: Option<Id>,
    /// `node:port:compass`.
    pub compass: Option<Id>,
}

impl NodeRef {
    /// From name to the last part of the port.
    #[inline]
    pub fn span(&self) -> Span {
        let last = self.compass.or(self.port).unwrap_or(self.name);
        Span::new(self.name.span.start, last.span.end)
    }
}

/// Who listens to the parser.
pub trait Events {
    /// `digraph name {`
    fn open_graph(&mut self, header: &Header);
    /// The `}` of the graph.
    fn close_graph(&mut self, brace: Span);
    /// `subgraph name {`, or `{` alone; `span` is all of that.
    fn open_subgraph(&mut self, name: Option<Id>, span: Span);
    /// The `}` of the subgraph.
    fn close_subgraph(&mut self, brace: Span);
    /// `node [..]`, `edge [..]` or `graph [..]`; several brackets are one list. `span` is the
    /// whole statement.
    fn defaults(&mut self, target: Target, attributes: &[Attribute], span: Span);
    /// `name = value` as a statement.
    fn assign(&mut self, attribute: &Attribute);
    /// One node of an operand.
    fn node(&mut self, node: &NodeRef);
    /// The list of nodes is over.
    fn end_operand(&mut self);
    /// The chain of `operands` operands is over; `span` goes from the first to the last
    /// bracket.
    fn end_chain(&mut self, operands: u32, attributes: &[Attribute], span: Span);
    /// A chain of two nodes, which most statements of a large graph are; told at once where it is
    /// written plainly.
    fn edge(&mut self, tail: &NodeRef, head: &NodeRef, attributes: &[Attribute], span: Span) {
        for node in [tail, head] {
            self.node(node);
            self.end_operand();
        }
        self.end_chain(2, attributes, span);
    }
    /// The chain had a syntax error: forget it.
    fn abandon_chain(&mut self);
}
