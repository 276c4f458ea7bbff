//! Fast paths of the parser for large graphs.
//!
//! Nearly all of a large graph consists of edges between two nodes and lists of plain attributes.
//! This module reads them directly from the bytes, without tokens. It reports no errors. At any
//! other text it stops, and the regular parser continues from the same token.

use super::Parser;
use crate::events::{Attribute, Events, NodeRef};
use crate::scan::Scan;
use graphmap_kpn::source::Span;

impl<E: Events> Parser<'_, '_, E> {
    /// Reads and reports plain statements `a:p -> b:q [..];` while there are any. Returns false, at
    /// the same token, if there are none or if the graph is undirected.
    pub(super) fn quick_edges(&mut self) -> bool {
        if !self.directed {
            return false;
        }
        let mut scan = Scan::new(self.text, self.token.start);
        let mut last = None;
        while let Some(edge) = edge(&mut scan, &mut self.attributes) {
            self.events
                .edge(&edge.tail, &edge.head, &self.attributes, edge.span);
            last = Some(edge.last);
            scan.blanks();
        }
        if let Some(last) = last {
            self.go_on(last);
        }
        last.is_some()
    }

    /// Reads a list `[a=b, c=d]` and adds its attributes. Returns false, at the same bracket, if
    /// the list is not plain.
    pub(super) fn quick_list(&mut self) -> bool {
        let before = self.attributes.len();
        let mut scan = Scan::new(self.text, self.token.start);
        let Some(bracket) = list(&mut scan, &mut self.attributes) else {
            self.attributes.truncate(before);
            return false;
        };
        self.go_on(bracket);
        true
    }

    /// Continues with the token after the span `last`, which becomes the last token.
    fn go_on(&mut self, last: Span) {
        self.last = last;
        self.lexer.go_to(last.end - self.text.base());
        self.token = self.lexer.next_token();
    }
}

/// An edge between two nodes.
struct Edge {
    tail: NodeRef,
    head: NodeRef,
    /// Span from the first node to the last bracket.
    span: Span,
    /// Span of the last token of the statement.
    last: Span,
}

/// Reads a statement and its attributes, which replace those in `attributes`. Returns `None` if it
/// is not plain. The scan may then have stopped at any position in it.
#[inline(always)]
fn edge(scan: &mut Scan<'_>, attributes: &mut Vec<Attribute>) -> Option<Edge> {
    let tail = node(scan)?;
    scan.blanks();
    if !(scan.take(b'-') && scan.take(b'>')) {
        return None;
    }
    scan.blanks();
    let head = node(scan)?;
    let mut last = head.compass.or(head.port).unwrap_or(head.name).span;
    scan.blanks();
    attributes.clear();
    if scan.peek() == b'[' {
        last = list(scan, attributes)?;
        scan.blanks();
    }
    let end = match attributes.is_empty() {
        true => head.span().end,
        false => last.end,
    };
    if scan.peek() == b';' {
        last = scan.one();
    } else if !scan.statement_begins() {
        return None;
    }
    Some(Edge {
        tail,
        head,
        span: Span::new(tail.name.span.start, end),
        last,
    })
}

/// Reads a name, and the ports that follow it directly. Returns `None` if one of them is not plain.
/// The scan may then have stopped at any position in them.
#[inline(always)]
fn node(scan: &mut Scan<'_>) -> Option<NodeRef> {
    let mut node = NodeRef {
        name: scan.id()?,
        port: None,
        compass: None,
    };
    if scan.take(b':') {
        node.port = Some(scan.id()?);
        if scan.take(b':') {
            node.compass = Some(scan.id()?);
        }
    }
    Some(node)
}

/// Reads a list from its `[`, adds its attributes, and returns the span of its closing bracket.
/// Returns `None`, at any position in it, if the list is not plain. Its first attributes may then
/// have been added.
#[inline]
fn list(scan: &mut Scan<'_>, attributes: &mut Vec<Attribute>) -> Option<Span> {
    scan.one();
    scan.blanks();
    while scan.peek() != b']' {
        let name = scan.id()?;
        scan.blanks();
        if !scan.take(b'=') {
            return None;
        }
        scan.blanks();
        let value = scan.id()?;
        attributes.push(Attribute { name, value });
        scan.blanks();
        if scan.take(b',') || scan.take(b';') {
            scan.blanks();
        }
    }
    Some(scan.one())
}
