//! A simple model of a DOT text, for comparison with other programs: nodes, edges, subgraphs and
//! attributes. Strict graphs and edges with keys are merged as in Graphviz.
#![allow(dead_code, reason = "each test program uses its part")]

pub(crate) mod corpus;
pub(crate) mod generate;
pub(crate) mod graphviz;

use graphmap_dot::events::{Attribute, Header, Target};
use graphmap_dot::graph::{Builder, End, Graph, Preset, Scope};
use graphmap_dot::parser::parse;
use graphmap_dot::token::{Id, Text};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::names::{Names, Symbol};
use graphmap_kpn::source::{SourceMap, Span};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(crate) type Attributes = BTreeMap<String, String>;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plain {
    pub(crate) directed: bool,
    pub(crate) strict: bool,
    /// In order of creation.
    pub(crate) nodes: Vec<(String, Attributes)>,
    /// Tail, head, attributes. Sorted.
    pub(crate) edges: Vec<(String, String, Attributes)>,
    /// Name (empty if it has none) and all nodes in it. Sorted.
    pub(crate) subgraphs: Vec<(String, BTreeSet<String>)>,
}

/// Returns all graphs of a text, and its diagnostics.
pub(crate) fn read(text: &str) -> (Vec<Plain>, Diagnostics) {
    let mut sources = SourceMap::new();
    let source = sources.add("t.dot", text).expect("less than 4 GiB");
    let text = Text::new(source.text(), source.base());
    let mut builder = Plainly {
        text,
        names: Names::new(),
        graphs: Vec::new(),
        scopes: Vec::new(),
        merged: HashMap::new(),
        defaults: Vec::new(),
        given: Vec::new(),
    };
    let (mut diagnostics, mut meaning) = (Diagnostics::new(), Diagnostics::new());
    let mut graph = Graph::new(text, &mut builder, &mut meaning);
    parse(&source, &mut graph, &mut diagnostics);
    diagnostics.append(meaning);
    builder.end_graph();
    (builder.graphs, diagnostics)
}

/// Returns the nodes and edges of graphs, one per line, sorted.
pub(crate) fn outline(graphs: &[Plain]) -> Vec<String> {
    let mut lines = Vec::new();
    for graph in graphs {
        lines.extend(graph.nodes.iter().map(|n| format!("node {}", n.0)));
        lines.extend(graph.edges.iter().map(|e| format!("edge {} {}", e.0, e.1)));
    }
    lines.sort();
    lines
}

struct Place {
    name: String,
    parent: usize,
    nodes: BTreeSet<u32>,
}

/// Ends of an edge and its key. The key is `None` in strict graphs, which have one edge between
/// nodes.
type EdgeKey = (u32, u32, Option<String>);

struct Plainly<'a> {
    text: Text<'a>,
    names: Names,
    graphs: Vec<Plain>,
    scopes: Vec<Place>,
    merged: HashMap<EdgeKey, usize>,
    defaults: Vec<(String, String)>,
    given: Vec<(String, String)>,
}

impl Plainly<'_> {
    fn value(&self, id: Id) -> String {
        self.text.value(id).into_owned()
    }

    fn pair(&self, attribute: &Attribute) -> (String, String) {
        let name = self.text.value(attribute.name).into_owned();
        (name, self.value(attribute.value))
    }

    fn graph(&mut self) -> &mut Plain {
        self.graphs.last_mut().expect("a graph is open")
    }

    fn end_graph(&mut self) {
        // Parents come before their children, so in reverse order each scope adds its nodes to its
        // parent.
        for i in (1..self.scopes.len()).rev() {
            let nodes = self.scopes[i].nodes.clone();
            let parent = self.scopes[i].parent;
            if parent != 0 {
                self.scopes[parent].nodes.extend(nodes);
            }
        }
        let scopes = std::mem::take(&mut self.scopes);
        let Some(graph) = self.graphs.last_mut() else {
            return;
        };
        for scope in scopes.into_iter().skip(1) {
            let name = |n: &u32| graph.nodes[*n as usize].0.clone();
            let nodes = scope.nodes.iter().map(name).collect();
            graph.subgraphs.push((scope.name, nodes));
        }
        graph.subgraphs.sort();
        graph.edges.sort();
    }
}

fn port(end: &End, plainly: &Plainly<'_>) -> Option<String> {
    let port = plainly.text.value(end.port?).into_owned();
    Some(match end.compass {
        Some(compass) => format!("{port}:{}", plainly.text.value(compass)),
        None => port,
    })
}

impl Builder for Plainly<'_> {
    fn defaults(&mut self, _: Target, _: &[Attribute]) {}

    type Key = Symbol;

    fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    fn open_graph(&mut self, header: &Header) {
        self.end_graph();
        self.merged.clear();
        self.scopes = vec![Place {
            name: String::new(),
            parent: 0,
            nodes: BTreeSet::new(),
        }];
        self.graphs.push(Plain {
            directed: header.directed,
            strict: header.strict.is_some(),
            ..Plain::default()
        });
    }

    fn classify(&mut self, _: Target, attribute: &Attribute) -> Option<Symbol> {
        let name = self.text.value(attribute.name);
        Some(self.names.intern(&name))
    }

    fn open_scope(&mut self, number: u32, scope: &Scope, again: bool) {
        if !again {
            assert_eq!(self.scopes.len(), number as usize);
            let name = scope.name.map_or("", |n| self.names.name(n));
            self.scopes.push(Place {
                name: name.to_owned(),
                parent: scope.parent as usize,
                nodes: BTreeSet::new(),
            });
        }
    }

    fn scope_attribute(&mut self, _: u32, _: &Attribute) {}

    fn node(&mut self, name: Symbol, _: Span, _: u32, defaults: &[Preset<Symbol>]) {
        let attributes = defaults.iter().map(|d| self.pair(&d.attribute)).collect();
        let name = self.names.name(name).to_owned();
        self.graph().nodes.push((name, attributes));
    }

    fn mention(&mut self, node: u32, scope: u32, _: Span) {
        self.scopes[scope as usize].nodes.insert(node);
    }

    fn node_attributes(&mut self, nodes: &[u32], attributes: &[Attribute], _: u32) {
        for attribute in attributes {
            let (name, value) = self.pair(attribute);
            for node in nodes {
                let all = &mut self.graph().nodes[*node as usize].1;
                all.insert(name.clone(), value.clone());
            }
        }
    }

    fn edges(&mut self, defaults: &[Preset<Symbol>], attributes: &[Attribute], _: u32) {
        self.defaults = defaults.iter().map(|d| self.pair(&d.attribute)).collect();
        self.given = attributes.iter().map(|a| self.pair(a)).collect();
    }

    fn edge(&mut self, tail: &End, head: &End) {
        let (tail_port, head_port) = (port(tail, self), port(head, self));
        let keyed = self.given.iter().rev().find(|(name, _)| name == "key");
        let keyed = keyed.map(|(_, value)| value.clone());
        let graph = self.graphs.last_mut().expect("a graph is open");
        let next = graph.edges.len();
        let mut ports = [tail_port, head_port];
        let mut index = next;
        if graph.strict || keyed.is_some() {
            let key = if graph.strict { None } else { keyed };
            let there = (tail.node, head.node, key.clone());
            let back = (head.node, tail.node, key);
            index = match self.merged.get(&there) {
                Some(known) => *known,
                None => match self.merged.get(&back) {
                    Some(known) if !graph.directed => {
                        ports.swap(0, 1);
                        *known
                    }
                    _ => *self.merged.entry(there).or_insert(next),
                },
            };
        }
        if index == next {
            let name = |end: &End| graph.nodes[end.node as usize].0.clone();
            let new = (
                name(tail),
                name(head),
                self.defaults.iter().cloned().collect(),
            );
            graph.edges.push(new);
        }
        let attributes = &mut graph.edges[index].2;
        let [tail_port, head_port] = ports;
        if let Some(port) = tail_port {
            attributes.insert("tailport".to_owned(), port);
        }
        if let Some(port) = head_port {
            attributes.insert("headport".to_owned(), port);
        }
        attributes.extend(self.given.iter().cloned());
    }
}
