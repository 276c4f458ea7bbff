//! Nodes: processes, faces, the environment.

use super::explicit::List;
use super::keys::{Element, Key};
use super::{Dialect, node_id, value};
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::arena::{Arena, Id as _};
use graphmap_kpn::declared::{ConstraintTarget, ModuleId, NodeDecl, NodeId, kind_of_name};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use hashbrown::HashMap;

/// It says its kind.
const HAS_KIND: u8 = 1;
/// It is the environment.
pub(super) const ENVIRONMENT: u8 = 2;
/// It is a bundle.
pub(super) const BUNDLE: u8 = 4;
/// It is already known to lie in two modules.
const TORN: u8 = 8;
/// It has a statement of its own.
pub(super) const STATED: u8 = 16;

/// A node found in a second module.
pub(super) struct Torn {
    node: u32,
    /// Where.
    span: Span,
    first: ModuleId,
    second: ModuleId,
}

impl Dialect<'_> {
    pub(super) fn add_node(&mut self, name: Symbol, span: Span) -> u32 {
        let number = self.flags.len() as u32;
        self.out.nodes.push(NodeDecl {
            name,
            process: None,
            kind: name,
            module: None,
            replicas: None,
            load: 1.0,
            mem: 0.0,
            span,
        });
        let environment = name == self.known.null;
        self.flags.push(if environment { ENVIRONMENT } else { 0 });
        let text = self.out.names.name(name);
        if !environment && text.eq_ignore_ascii_case("null") {
            let text = text.to_owned();
            self.report.push(
                Diagnostic::warning(
                    codes::LOWERCASE_NULL,
                    format!("`{text}` is a process like any other"),
                )
                .at(span, "the environment is written `NULL`"),
            );
        }
        number
    }

    /// A node is mentioned in a module: it belongs to the deepest.
    pub(super) fn put(&mut self, node: u32, module: ModuleId, span: Span) {
        if self.flags[node as usize] & ENVIRONMENT != 0 {
            return;
        }
        let declared = &mut self.out.nodes[node_id(node)];
        let Some(before) = declared.module else {
            declared.module = Some(module);
            return;
        };
        if before == module {
            return;
        }
        let modules = &self.out.modules;
        let parent = |m: ModuleId| modules[m].parent;
        if self.modules.nests(module, before, parent) {
            declared.module = Some(module);
        } else if !self.modules.nests(before, module, parent)
            && self.flags[node as usize] & TORN == 0
        {
            self.flags[node as usize] |= TORN;
            self.torn.push(Torn {
                node,
                span,
                first: before,
                second: module,
            });
        }
    }

    pub(super) fn node_statement(&mut self, nodes: &[u32], attributes: &[Attribute]) {
        self.statements += 1;
        for &node in nodes {
            self.flags[node as usize] |= STATED;
        }
        // Each key counts once, and there are few. Members of bundles are many, and go where they
        // belong at once.
        let mut list = List::new();
        for attribute in attributes {
            let Some(key) = self.key(Element::Node, attribute) else {
                continue;
            };
            if key.is_of_bundle_node() {
                match nodes {
                    [node] => {
                        self.explicit_of_nodes.note(*node, key, attribute);
                        self.bundle_key(*node, key, attribute);
                    }
                    _ => {
                        let name = self.text.value(attribute.name);
                        self.report.no_default(&name, attribute);
                    }
                }
                continue;
            }
            self.list(&mut list, key, attribute);
        }
        for node in nodes {
            for (key, attribute) in &list {
                self.explicit_of_nodes.note(*node, *key, attribute);
                self.node_key(*node, *key, attribute);
            }
        }
    }

    /// One attribute of one node.
    pub(super) fn node_key(&mut self, number: u32, key: Key, attribute: &Attribute) {
        let id = node_id(number);
        if self.flags[number as usize] & ENVIRONMENT != 0 {
            self.environment_attribute(attribute);
            return;
        }
        match key {
            Key::Bundle => self.bundle_key(number, key, attribute),
            Key::Process => {
                if let Some(process) = self.symbol(attribute) {
                    self.out.nodes[id].process = Some(process);
                }
            }
            Key::Kind => {
                if let Some(kind) = self.symbol(attribute) {
                    self.out.nodes[id].kind = kind;
                    self.flags[number as usize] |= HAS_KIND;
                }
            }
            Key::Replicas => {
                if let Some(replicas) = self.read(attribute, value::count) {
                    self.out.nodes[id].replicas = Some(replicas);
                }
            }
            Key::Load => {
                if let Some(load) = self.read(attribute, value::amount) {
                    self.out.nodes[id].load = load;
                }
            }
            Key::Mem => {
                if let Some(mem) = self.read(attribute, value::bytes) {
                    self.out.nodes[id].mem = mem;
                }
            }
            _ => self.constrain(ConstraintTarget::Node(id), key, attribute),
        }
    }

    pub(super) fn environment_attribute(&mut self, attribute: &Attribute) {
        let name = self.text.value(attribute.name);
        self.report.push(
            Diagnostic::error(
                codes::MISPLACED_ATTRIBUTE,
                format!("`{name}` means nothing on `NULL`"),
            )
            .at(
                attribute.name.span,
                "`NULL` is the environment, not a process",
            ),
        );
    }

    /// Kinds, nodes in two modules, and nodes called like a module.
    pub(super) fn finish_nodes(&mut self) {
        self.report_nodes_like_clusters();
        // Most nodes are of the kind of the one before.
        let mut last = (String::new(), None);
        for (node, flags) in self.out.nodes.values_mut().zip(&self.flags) {
            if flags & HAS_KIND != 0 {
                continue;
            }
            let own = node.process.unwrap_or(node.name);
            let name = self.out.names.name(own);
            let kind = kind_of_name(name);
            node.kind = match last.1 {
                _ if kind.len() == name.len() => own,
                Some(symbol) if last.0 == kind => symbol,
                _ => {
                    kind.clone_into(&mut last.0);
                    *last.1.insert(self.out.names.intern(&last.0))
                }
            };
        }
        for torn in std::mem::take(&mut self.torn) {
            let twice = self.bundles.get(&torn.node);
            if twice.is_some_and(|bundle| bundle.is_twice()) {
                continue;
            }
            let node = &self.out.nodes[node_id(torn.node)];
            let modules = &self.out.modules;
            let (first, second) = (&modules[torn.first], &modules[torn.second]);
            let (name, first_name, second_name) = (
                self.out.names.name(node.name),
                self.out.names.name(first.name),
                self.out.names.name(second.name),
            );
            self.report.push(
                Diagnostic::error(
                    codes::TWO_MODULES,
                    format!("`{name}` lies in two modules, `{first_name}` and `{second_name}`"),
                )
                .at(torn.span, format!("named in `{second_name}` here"))
                .also(first.span, format!("it is in `{first_name}` already"))
                .also(node.span, "its first mention")
                .help("a name is one node in the whole file: rename one, or move the edge out of the cluster"),
            );
        }
    }

    /// Graphviz draws an edge to the name of a cluster as one to a node of that name.
    fn report_nodes_like_clusters(&mut self) {
        let modules = self.out.modules.values();
        let clusters: HashMap<Symbol, Span> = modules.map(|m| (m.name, m.span)).collect();
        if clusters.is_empty() {
            return;
        }
        for node in self.out.nodes.values() {
            let Some(cluster) = clusters.get(&node.name) else {
                continue;
            };
            let name = self.out.names.name(node.name);
            self.report.push(
                Diagnostic::error(
                    codes::NODE_LIKE_CLUSTER,
                    format!("`{name}` is a cluster, and here it would be a process of its own"),
                )
                .at(node.span, "a node, as Graphviz draws it")
                .also(*cluster, "the cluster")
                .help("an edge joins processes: name the one in the cluster that it is meant for")
                .help("if a process is meant, give it a name that no cluster has"),
            );
        }
    }

    /// Takes the environment and the bundles out of the nodes, and numbers the others anew.
    pub(super) fn drop_what_is_no_process(&mut self) {
        if self.flags.iter().all(|f| f & (ENVIRONMENT | BUNDLE) == 0) {
            return;
        }
        let mut new_number: Vec<Option<NodeId>> = Vec::with_capacity(self.flags.len());
        let mut kept = Arena::new();
        let nodes = std::mem::take(&mut self.out.nodes);
        for ((_, node), flags) in nodes.iter().zip(&self.flags) {
            let process = flags & (ENVIRONMENT | BUNDLE) == 0;
            new_number.push(process.then(|| kept.push(node.clone())));
        }
        drop(nodes);
        self.out.nodes = kept;
        let number = |node: Option<NodeId>| node.and_then(|n| new_number[n.index()]);
        for channel in &mut self.out.channels {
            channel.from.node = number(channel.from.node);
            channel.to.node = number(channel.to.node);
        }
        self.out.constraints.retain_mut(|c| match &mut c.target {
            ConstraintTarget::Module(_) => true,
            ConstraintTarget::Node(node) => match new_number[node.index()] {
                Some(new) => {
                    *node = new;
                    true
                }
                None => false,
            },
        });
    }
}
