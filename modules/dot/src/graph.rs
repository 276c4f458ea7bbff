//! The meaning of statements: nodes, scopes, defaults, and edges between groups.
//!
//! [`Graph`] receives the statements from the parser, and reports to a [`Builder`] the nodes and
//! edges that Graphviz would make of them. It stores only names, scopes and their members, but no
//! edges. It follows these rules of Graphviz:
//!
//! - The first occurrence of a node creates it, with the defaults in force there. Later occurrences
//!   do not change it, but attributes written there override its own.
//! - Defaults apply from their statement to the end of their scope, including the scopes inside it.
//!   They apply again if a subgraph of the same name in the same parent continues the scope.
//! - An edge operand that is a subgraph means all nodes in it, in order of creation. A chain joins
//!   each node of an operand with each node of the next.

use crate::codes;
use crate::events::{Attribute, Events, Header, NodeRef, Target};
use crate::recent::Recent;
use crate::token::{Id, Text};
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::names::{Names, Symbol};
use graphmap_kpn::source::Span;
use hashbrown::HashMap;
use std::rc::Rc;

/// Maximum number of nodes and edges to which the groups of one file may expand. Without a limit, a
/// file of a few hundred kilobytes could create billions.
const MOST_PRODUCTS: u64 = 1 << 24;

const NONE: u32 = u32::MAX;

/// A graph or subgraph. The graph has number 0, and subgraphs follow in the order in which they
/// open.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The scope around it. The parent of the graph is the graph.
    pub parent: u32,
    /// Name of the scope, if it has one.
    pub name: Option<Symbol>,
    /// Head of the scope in the source, where it first opens.
    pub span: Span,
}

/// A default: its key and its attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset<K> {
    /// Key that [`Builder::classify`] returned.
    pub key: K,
    /// The attribute in the source.
    pub attribute: Attribute,
}

/// One end of an edge.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// Number of the node.
    pub node: u32,
    /// Position of the node, or of its group.
    pub span: Span,
    /// Port of `node:port`.
    pub port: Option<Id>,
    /// Compass point of `node:port:compass`.
    pub compass: Option<Id>,
}

/// Receiver of the nodes, scopes and edges of a graph. Nodes are numbered from 0 in order of
/// creation.
pub trait Builder {
    /// Classification of an attribute.
    type Key: Copy + Eq;
    /// Returns the table of names, which must always be the same.
    fn names(&mut self) -> &mut Names;
    /// Begins a graph, which is scope 0. If a file has several graphs, the numbers of nodes and
    /// scopes begin again in each.
    fn open_graph(&mut self, header: &Header);
    /// Announces a list of defaults of nodes or edges. Each of them is classified next.
    fn defaults(&mut self, target: Target, attributes: &[Attribute]);
    /// Returns the key of a default, or `None` to ignore it. Defaults with equal keys override each
    /// other.
    fn classify(&mut self, target: Target, attribute: &Attribute) -> Option<Self::Key>;
    /// Opens the subgraph `number`, for the first time or `again`.
    fn open_scope(&mut self, number: u32, scope: &Scope, again: bool);
    /// Sets an attribute of a scope, by `name = value` or by a default of the graph (`graph [..]`).
    fn scope_attribute(&mut self, scope: u32, attribute: &Attribute);
    /// Creates the node with the next number in this scope, with these defaults.
    fn node(&mut self, name: Symbol, span: Span, scope: u32, defaults: &[Preset<Self::Key>]);
    /// Records that a node occurs in a scope. It is also called when the node is created.
    fn mention(&mut self, node: u32, scope: u32, span: Span);
    /// Sets attributes of nodes in a scope. Each node gets all of them. It is called for each
    /// statement of nodes, even without attributes.
    fn node_attributes(&mut self, nodes: &[u32], attributes: &[Attribute], scope: u32);
    /// Announces edges with these attributes in a scope.
    fn edges(&mut self, defaults: &[Preset<Self::Key>], attributes: &[Attribute], scope: u32);
    /// Adds an edge of the statement that [`Builder::edges`] announced.
    fn edge(&mut self, tail: &End, head: &End);
}

/// The nodes and scopes in each scope.
#[derive(Debug, Default)]
struct Members {
    nodes: Vec<Vec<u32>>,
    scopes: Vec<Vec<u32>>,
}

impl Members {
    /// Returns the nodes that occur directly in a subgraph, in order of occurrence. A node may be
    /// repeated. For the graph itself (scope 0) and for unknown scopes, the list is empty.
    fn nodes(&self, scope: u32) -> &[u32] {
        self.nodes.get(scope as usize).map_or(&[], |v| v)
    }

    /// Returns the scopes directly in a scope, in the order in which they first open. For an
    /// unknown scope, the list is empty.
    fn scopes(&self, scope: u32) -> &[u32] {
        self.scopes.get(scope as usize).map_or(&[], |v| v)
    }

    /// Returns all nodes in a subgraph and in the scopes inside it, each once, in order of
    /// creation. Each scope and each occurrence of a node costs 1 of `budget`. Returns `None` if
    /// the budget is not sufficient.
    fn all(&self, scope: u32, budget: &mut u64) -> Option<Vec<u32>> {
        let (mut all, mut open) = (Vec::new(), vec![scope]);
        while let Some(scope) = open.pop() {
            let nodes = self.nodes(scope);
            *budget = budget.checked_sub(nodes.len() as u64 + 1)?;
            all.extend_from_slice(nodes);
            open.extend_from_slice(self.scopes(scope));
        }
        all.sort_unstable();
        all.dedup();
        Some(all)
    }
}

/// Defaults of nodes and of edges.
type Defaults<K> = [Rc<Vec<Preset<K>>>; 2];

struct State<K> {
    scope: Scope,
    /// Defaults set in this scope itself, for use when the subgraph is continued.
    own: Vec<(Target, Preset<K>)>,
}

/// An open scope.
struct Open<K> {
    number: u32,
    defaults: Defaults<K>,
    /// Index in `operands` of the first operand of the chains inside this scope.
    chain: usize,
}

struct Operand {
    /// Index of its first node in `Graph::ends`. Its nodes end at the first node of the next
    /// operand.
    first: u32,
    /// Number of the subgraph, or [`NONE`] for a list of nodes.
    scope: u32,
    span: Span,
}

/// Translates the statements of the parser for a [`Builder`].
pub struct Graph<'a, 'b, B: Builder> {
    text: Text<'a>,
    builder: &'b mut B,
    diagnostics: &'b mut Diagnostics,
    states: Vec<State<B::Key>>,
    members: Members,
    by_name: HashMap<(u32, Symbol), u32>,
    open: Vec<Open<B::Key>>,
    /// Node of each symbol, or [`NONE`].
    node_of: Vec<u32>,
    nodes: u32,
    /// Cache of nodes by their text in the source.
    recent: Recent<u32>,
    /// Operands of the chains being read, innermost last.
    operands: Vec<Operand>,
    ends: Vec<PendingEnd>,
    ports: Vec<(Id, Option<Id>)>,
    /// True inside a list of nodes.
    in_list: bool,
    /// Remainder of [`MOST_PRODUCTS`].
    budget: u64,
}

struct PendingEnd {
    node: u32,
    /// Index in `ports`, or [`NONE`].
    port: u32,
    span: Span,
}

impl<'a, 'b, B: Builder> Graph<'a, 'b, B> {
    /// Creates a translator for a builder. `text` must be the text that the parser reads. If groups
    /// expand to too many edges, an error is added to `diagnostics`.
    pub fn new(
        text: Text<'a>,
        builder: &'b mut B,
        diagnostics: &'b mut Diagnostics,
    ) -> Graph<'a, 'b, B> {
        Graph {
            text,
            builder,
            diagnostics,
            states: Vec::new(),
            members: Members::default(),
            by_name: HashMap::new(),
            open: Vec::new(),
            node_of: Vec::new(),
            nodes: 0,
            recent: Recent::default(),
            operands: Vec::new(),
            ends: Vec::new(),
            ports: Vec::new(),
            in_list: false,
            budget: MOST_PRODUCTS,
        }
    }

    #[inline]
    fn scope(&self) -> u32 {
        self.open.last().map_or(0, |o| o.number)
    }

    #[inline]
    fn in_force(&self, target: Target) -> Rc<Vec<Preset<B::Key>>> {
        self.open.last().map_or_else(Rc::default, |open| {
            Rc::clone(&open.defaults[usize::from(target == Target::Edge)])
        })
    }

    fn add_scope(&mut self, scope: Scope) -> u32 {
        let number = self.states.len() as u32;
        if number > 0 {
            self.members.scopes[scope.parent as usize].push(number);
        }
        self.states.push(State {
            scope,
            own: Vec::new(),
        });
        self.members.nodes.push(Vec::new());
        self.members.scopes.push(Vec::new());
        number
    }

    /// Returns the number of the node of a name, which is created if it does not exist. Reports the
    /// occurrence to the builder, and adds the node to the innermost open subgraph.
    #[inline]
    fn node_number(&mut self, name: Id) -> u32 {
        let scope = self.scope();
        let node = match self.recent.get(self.text, name.span) {
            Some((_, node)) => node,
            None => self.look_up(name, scope),
        };
        self.builder.mention(node, scope, name.span);
        if scope != 0 {
            let members = &mut self.members.nodes[scope as usize];
            if members.last() != Some(&node) {
                members.push(node);
            }
        }
        node
    }

    /// Returns the number of the node of a name, and creates the node in `scope` if it does not
    /// exist. Adds the name to the cache.
    fn look_up(&mut self, name: Id, scope: u32) -> u32 {
        let value = self.text.value(name);
        let symbol = self.builder.names().intern(&value);
        let index = symbol.index();
        if index >= self.node_of.len() {
            self.node_of.resize(index + 1, NONE);
        }
        if self.node_of[index] == NONE {
            self.node_of[index] = self.nodes;
            self.nodes += 1;
            let defaults = self.in_force(Target::Node);
            self.builder.node(symbol, name.span, scope, &defaults);
        }
        let node = self.node_of[index];
        self.recent.put(self.text, name.span, node);
        node
    }

    fn end(&self, index: usize) -> End {
        let pending = &self.ends[index];
        let port = self.ports.get(pending.port as usize);
        End {
            node: pending.node,
            span: pending.span,
            port: port.map(|p| p.0),
            compass: port.and_then(|p| p.1),
        }
    }

    /// Returns the ends of an operand, in order. `operand` is its index in `operands`. Returns
    /// `None` if the operand is a subgraph with more nodes than `budget` permits.
    fn ends_of(&mut self, operand: usize) -> Option<Vec<End>> {
        let Operand { first, scope, span } = self.operands[operand];
        if scope == NONE {
            let after = self.operands.get(operand + 1);
            let last = after.map_or(self.ends.len(), |o| o.first as usize);
            return Some((first as usize..last).map(|i| self.end(i)).collect());
        }
        let nodes = self.members.all(scope, &mut self.budget)?;
        let end = |node| End {
            node,
            span,
            port: None,
            compass: None,
        };
        Some(nodes.into_iter().map(end).collect())
    }

    fn join(&mut self, chain: usize) -> Option<()> {
        let last = self.operands.len() - 1;
        let single = |o: &Operand, next: Option<&Operand>, ends: usize| {
            o.scope == NONE && next.map_or(ends, |n| n.first as usize) == o.first as usize + 1
        };
        // Fast path: nearly all operands are one node, and need no list.
        let all_single = (chain..=last)
            .all(|i| single(&self.operands[i], self.operands.get(i + 1), self.ends.len()));
        if all_single {
            for i in chain..last {
                let tail = self.end(self.operands[i].first as usize);
                let head = self.end(self.operands[i + 1].first as usize);
                self.builder.edge(&tail, &head);
            }
            return Some(());
        }
        let mut tails = self.ends_of(chain)?;
        for i in chain + 1..=last {
            let heads = self.ends_of(i)?;
            let edges = tails.len() as u64 * heads.len() as u64;
            self.budget = self.budget.checked_sub(edges)?;
            for tail in &tails {
                for head in &heads {
                    self.builder.edge(tail, head);
                }
            }
            tails = heads;
        }
        Some(())
    }

    fn forget(&mut self, chain: usize) {
        if let Some(operand) = self.operands.get(chain) {
            self.ends.truncate(operand.first as usize);
        }
        self.operands.truncate(chain);
        if chain == 0 {
            self.ports.clear();
        }
    }

    fn too_many(&mut self, span: Span) {
        // Reported once, because all later groups would be too many as well.
        if self.budget > 0 {
            let message = format!("groups in edges stand for more than {MOST_PRODUCTS} edges");
            let diagnostic = Diagnostic::error(codes::TOO_MANY_EDGES, message)
                .at(span, "the limit is exceeded here")
                .help("use `replicas=` instead of large groups")
                .with_note(
                    "`{a b} -> {c d}` joins each node of one group to each node of the other",
                );
            self.diagnostics.push(diagnostic);
        }
        self.budget = 0;
    }

    fn chain_start(&self) -> usize {
        self.open.last().map_or(0, |o| o.chain)
    }
}

/// Adds a default to a list, or replaces the one with the same key.
fn set<K: Copy + Eq>(list: &mut Rc<Vec<Preset<K>>>, default: Preset<K>) {
    let list = Rc::make_mut(list);
    match list.iter_mut().find(|d| d.key == default.key) {
        Some(old) => *old = default,
        None => list.push(default),
    }
}

impl<B: Builder> Events for Graph<'_, '_, B> {
    fn open_graph(&mut self, header: &Header) {
        self.states.clear();
        self.members = Members::default();
        self.by_name.clear();
        self.open.clear();
        self.node_of.clear();
        self.recent.clear();
        self.nodes = 0;
        self.operands.clear();
        self.ends.clear();
        self.ports.clear();
        let value = header.name.map(|id| self.text.value(id));
        let name = value.map(|value| self.builder.names().intern(&value));
        let number = self.add_scope(Scope {
            parent: 0,
            name,
            span: header.span,
        });
        self.open.push(Open {
            number,
            defaults: [Rc::default(), Rc::default()],
            chain: 0,
        });
        self.builder.open_graph(header);
    }

    fn close_graph(&mut self, _: Span) {}

    fn open_subgraph(&mut self, name: Option<Id>, span: Span) {
        let parent = self.scope();
        let value = name.map(|id| self.text.value(id));
        let name = value.map(|value| self.builder.names().intern(&value));
        let known = name.and_then(|name| self.by_name.get(&(parent, name)).copied());
        let number = known.unwrap_or_else(|| self.add_scope(Scope { parent, name, span }));
        if let Some(name) = name {
            self.by_name.insert((parent, name), number);
        }
        let mut defaults = [self.in_force(Target::Node), self.in_force(Target::Edge)];
        for (target, default) in &self.states[number as usize].own {
            set(
                &mut defaults[usize::from(*target == Target::Edge)],
                *default,
            );
        }
        self.open.push(Open {
            number,
            defaults,
            chain: self.operands.len(),
        });
        let scope = &self.states[number as usize].scope;
        self.builder.open_scope(number, scope, known.is_some());
    }

    fn close_subgraph(&mut self, brace: Span) {
        let Some(closed) = self.open.pop() else {
            return;
        };
        self.forget(closed.chain);
        let span = self.states[closed.number as usize].scope.span.to(brace);
        self.operands.push(Operand {
            first: self.ends.len() as u32,
            scope: closed.number,
            span,
        });
    }

    fn defaults(&mut self, target: Target, attributes: &[Attribute], _: Span) {
        let scope = self.scope();
        if target != Target::Graph {
            self.builder.defaults(target, attributes);
        }
        for attribute in attributes {
            if target == Target::Graph {
                self.builder.scope_attribute(scope, attribute);
                continue;
            }
            let Some(key) = self.builder.classify(target, attribute) else {
                continue;
            };
            let default = Preset {
                key,
                attribute: *attribute,
            };
            if let Some(open) = self.open.last_mut() {
                set(
                    &mut open.defaults[usize::from(target == Target::Edge)],
                    default,
                );
            }
            let state = &mut self.states[scope as usize];
            // Only a named subgraph can be continued.
            if state.scope.name.is_some() && scope != 0 {
                let own = &mut state.own;
                own.retain(|(t, d)| *t != target || d.key != key);
                own.push((target, default));
            }
        }
    }

    fn assign(&mut self, attribute: &Attribute) {
        let scope = self.scope();
        self.builder.scope_attribute(scope, attribute);
    }

    fn node(&mut self, node: &NodeRef) {
        let number = self.node_number(node.name);
        if !std::mem::replace(&mut self.in_list, true) {
            self.operands.push(Operand {
                first: self.ends.len() as u32,
                scope: NONE,
                span: node.span(),
            });
        }
        let port = match node.port {
            Some(port) => {
                self.ports.push((port, node.compass));
                self.ports.len() as u32 - 1
            }
            None => NONE,
        };
        self.ends.push(PendingEnd {
            node: number,
            port,
            span: node.span(),
        });
    }

    fn end_operand(&mut self) {
        self.in_list = false;
    }

    fn end_chain(&mut self, operands: u32, attributes: &[Attribute], span: Span) {
        let chain = self.chain_start();
        if operands > 1 {
            let defaults = self.in_force(Target::Edge);
            self.builder.edges(&defaults, attributes, self.scope());
            if self.join(chain).is_none() {
                self.too_many(span);
            }
        } else if let Some(first) = self.operands.get(chain)
            && first.scope == NONE
        {
            let ends = &self.ends[first.first as usize..];
            let nodes: Vec<u32> = ends.iter().map(|e| e.node).collect();
            self.builder
                .node_attributes(&nodes, attributes, self.scope());
        }
        self.forget(chain);
    }

    #[inline]
    fn edge(&mut self, tail: &NodeRef, head: &NodeRef, attributes: &[Attribute], _: Span) {
        let end = |node: &NodeRef, number| End {
            node: number,
            span: node.span(),
            port: node.port,
            compass: node.compass,
        };
        let tail = end(tail, self.node_number(tail.name));
        let head = end(head, self.node_number(head.name));
        let (scope, defaults) =
            (self.open.last()).map_or((0, &[][..]), |open| (open.number, &*open.defaults[1]));
        self.builder.edges(defaults, attributes, scope);
        self.builder.edge(&tail, &head);
    }

    fn abandon_chain(&mut self) {
        let chain = self.chain_start();
        self.in_list = false;
        self.forget(chain);
    }
}
