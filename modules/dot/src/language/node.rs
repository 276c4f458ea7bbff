//! Nodes: processes, nodes of split processes, and the environment.

use super::arguments::Arguments;
use super::bundle::{Bundles, Mention};
use super::cluster::Tree;
use super::constraint::Constraints;
use super::explicit::{Explicit, List};
use super::keys::{Element, Key};
use super::module_port::SpecialNodes;
use super::reading::{BUNDLE, ENVIRONMENT, Fitted, HAS_KIND, Reading, STATED, TORN, node_id};
use super::value;
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::arena::{Arena, Id as _};
use graphmap_kpn::declared::{ConstraintTarget, ModuleId, NodeDecl, NodeId, kind_of_name};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;

/// A node that occurs in two modules that do not nest.
struct Torn {
    node: u32,
    /// Position in the second module.
    span: Span,
    first: ModuleId,
    second: ModuleId,
}

/// The nodes of a file.
pub(super) struct Nodes {
    pub(super) bundles: Bundles,
    special: SpecialNodes,
    constraints: Constraints,
    arguments: Arguments,
    /// Attributes in the statements of nodes.
    pub(super) explicit: Explicit,
    /// Nodes in two modules, in order.
    torn: Vec<Torn>,
    /// Last position at which a node occurred, and the number of node statements so far.
    last: Mention,
}

impl Nodes {
    pub(super) fn new() -> Nodes {
        Nodes {
            bundles: Bundles::default(),
            special: SpecialNodes::default(),
            constraints: Constraints::default(),
            arguments: Arguments::default(),
            explicit: Explicit::default(),
            torn: Vec::new(),
            last: Mention {
                statement: 0,
                name: Span::NONE,
                module: None,
            },
        }
    }

    /// Records that a node occurs at a position, inside `module` if there is one. The node must
    /// exist. The position is that of the attributes that follow.
    #[inline]
    pub(super) fn mention(
        &mut self,
        reading: &mut Reading<'_>,
        modules: &Tree,
        (node, span): (u32, Span),
        module: Option<ModuleId>,
    ) {
        self.last.name = span;
        self.last.module = module;
        if let Some(module) = module {
            self.put(reading, modules, (node, span), module);
        }
    }

    /// Assigns a node to a module in which it occurs. The deepest such module wins. Records a node
    /// in two modules that do not nest, once. The environment is not assigned.
    fn put(
        &mut self,
        reading: &mut Reading<'_>,
        tree: &Tree,
        (node, span): (u32, Span),
        module: ModuleId,
    ) {
        if reading.flags[node as usize] & ENVIRONMENT != 0 {
            return;
        }
        let declared = &mut reading.out.nodes[node_id(node)];
        let Some(before) = declared.module else {
            declared.module = Some(module);
            return;
        };
        if before == module {
            return;
        }
        let modules = &reading.out.modules;
        let parent = |m: ModuleId| modules[m].parent;
        if tree.nests(module, before, parent) {
            declared.module = Some(module);
        } else if !tree.nests(before, module, parent) && reading.flags[node as usize] & TORN == 0 {
            reading.flags[node as usize] |= TORN;
            self.torn.push(Torn {
                node,
                span,
                first: before,
                second: module,
            });
        }
    }

    pub(super) fn statement(
        &mut self,
        reading: &mut Reading<'_>,
        nodes: &[u32],
        attributes: &[Attribute],
    ) {
        self.last.statement += 1;
        for &node in nodes {
            reading.flags[node as usize] |= STATED;
        }
        // Each key counts once, and there are few, so a list is enough. Members of bundles are
        // many, and go directly to the bundle.
        let mut list = List::new();
        for attribute in attributes {
            let Some(key) = reading.key(Element::Node, attribute) else {
                continue;
            };
            if key.is_of_bundle_node() {
                match nodes {
                    [node] => {
                        self.explicit.note(*node, key, attribute);
                        if !reading.is_of_environment(*node, attribute) {
                            self.bundles
                                .key(reading, (*node, self.last), key, attribute);
                        }
                    }
                    _ => {
                        let name = reading.text.value(attribute.name);
                        reading.report.no_default(&name, attribute);
                    }
                }
                continue;
            }
            reading.list(&mut list, key, attribute);
        }
        for node in nodes {
            for (key, attribute) in &list {
                if key.is_kept() {
                    self.kept(reading, *node, *key, attribute);
                    continue;
                }
                self.explicit.note(*node, *key, attribute);
                self.key(reading, *node, *key, attribute);
            }
        }
    }

    /// Records an attribute that is kept and not interpreted. Reports an attribute of the user on
    /// the environment.
    fn kept(&self, reading: &mut Reading<'_>, number: u32, key: Key, attribute: &Attribute) {
        let drawn = matches!(key, Key::Drawn(_));
        if drawn && reading.flags[number as usize] & ENVIRONMENT != 0 {
            return;
        }
        if drawn || !reading.is_of_environment(number, attribute) {
            reading.kept.node(number, key, attribute);
        }
    }

    /// Applies one attribute to the node `number`. Reports an invalid value, and an attribute on
    /// the environment. Neither of them is applied.
    pub(super) fn key(
        &mut self,
        reading: &mut Reading<'_>,
        number: u32,
        key: Key,
        attribute: &Attribute,
    ) {
        let id = node_id(number);
        if reading.is_of_environment(number, attribute) {
            return;
        }
        match key {
            _ if key.is_of_special_node() || key.is_of_module() => {
                self.special.key(reading, number, key, attribute);
            }
            Key::Bundle => self
                .bundles
                .key(reading, (number, self.last), key, attribute),
            Key::Process => {
                if let Some(process) = reading.symbol(attribute) {
                    reading.out.nodes[id].process = Some(process);
                }
            }
            Key::Kind => {
                if let Some(kind) = reading.symbol(attribute) {
                    reading.out.nodes[id].kind = kind;
                    reading.flags[number as usize] |= HAS_KIND;
                }
            }
            Key::Replicas => {
                if reading.fits(Fitted::Node(id), attribute) {
                    return;
                }
                if let Some(replicas) = reading.number(attribute, value::count) {
                    reading.out.nodes[id].replicas = Some(replicas);
                }
            }
            Key::Params | Key::Args => self.arguments.key(reading, number, key, attribute),
            Key::Load => {
                if let Some(load) = reading.number(attribute, value::amount) {
                    reading.out.nodes[id].load = load;
                }
            }
            Key::Mem => {
                if let Some(mem) = reading.number(attribute, value::bytes) {
                    reading.out.nodes[id].mem = mem;
                }
            }
            _ => self
                .constraints
                .add(reading, ConstraintTarget::Node(id), key, attribute),
        }
    }

    /// Declares the module ports, the included graphs, and the arguments of the other nodes.
    pub(super) fn finish_special(&mut self, reading: &mut Reading<'_>) {
        std::mem::take(&mut self.arguments).finish(reading);
        let special = std::mem::take(&mut self.special);
        special.finish(reading, &self.explicit, &mut self.constraints);
    }

    /// Derives the kinds that no attribute sets, from the name of the process without the number at
    /// its end. Reports nodes in two modules, except bundles that are declared twice, and nodes
    /// with the name of a module.
    pub(super) fn finish(&self, reading: &mut Reading<'_>) {
        reading.report_nodes_like_clusters();
        // Most nodes have the same kind as the node before.
        let mut last = (String::new(), None);
        for (node, flags) in reading.out.nodes.values_mut().zip(&reading.flags) {
            if flags & HAS_KIND != 0 {
                continue;
            }
            let own = node.process.unwrap_or(node.name);
            let name = reading.out.names.name(own);
            let kind = kind_of_name(name);
            node.kind = match last.1 {
                _ if kind.len() == name.len() => own,
                Some(symbol) if last.0 == kind => symbol,
                _ => {
                    kind.clone_into(&mut last.0);
                    *last.1.insert(reading.out.names.intern(&last.0))
                }
            };
        }
        for torn in &self.torn {
            if self.bundles.is_twice(torn.node) {
                continue;
            }
            let node = &reading.out.nodes[node_id(torn.node)];
            let modules = &reading.out.modules;
            let (first, second) = (&modules[torn.first], &modules[torn.second]);
            let (name, first_name, second_name) = (
                reading.out.names.name(node.name),
                reading.out.names.name(first.name),
                reading.out.names.name(second.name),
            );
            reading.report.push(
                Diagnostic::error(
                    codes::TWO_MODULES,
                    format!("`{name}` is in two modules, `{first_name}` and `{second_name}`"),
                )
                .at(torn.span, format!("named in `{second_name}`"))
                .also(first.span, format!("also named in `{first_name}`"))
                .also(node.span, "named first here")
                .help("rename one of the nodes, or move the edge out of the cluster")
                .with_note("a name is one node in the whole file"),
            );
        }
    }
}

impl Reading<'_> {
    /// Adds a node with default attributes and returns its number. The node is the environment if
    /// `name` is `NULL`. Warns of `null` in other letters than `NULL`.
    pub(super) fn add_node(&mut self, name: Symbol, span: Span) -> u32 {
        let number = self.flags.len() as u32;
        self.out.nodes.push(NodeDecl {
            name,
            process: None,
            port_prefix: None,
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
                    format!("`{text}` is an ordinary process, not the environment"),
                )
                .at(span, "the environment is written `NULL`"),
            );
        }
        number
    }

    /// Returns true, after a diagnostic about `attribute`, if the node `number` is the environment,
    /// which has no attributes.
    fn is_of_environment(&mut self, number: u32, attribute: &Attribute) -> bool {
        let environment = self.flags[number as usize] & ENVIRONMENT != 0;
        if environment {
            let name = self.text.value(attribute.name);
            self.report.of_environment(&name, attribute);
        }
        environment
    }

    /// Removes the environment and the bundles from the nodes, and numbers the others again. Ends
    /// of channels at removed nodes become `None`. Constraints on removed nodes are removed.
    pub(super) fn retain_processes(&mut self) {
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
        self.out.ports.retain_mut(|port| {
            let new = number(Some(port.node));
            port.node = new.unwrap_or(port.node);
            new.is_some()
        });
        self.out.arguments.retain_mut(|arguments| {
            let new = number(Some(arguments.node));
            arguments.node = new.unwrap_or(arguments.node);
            new.is_some()
        });
        self.out.includes.retain_mut(|include| {
            let new = number(Some(include.node));
            include.node = new.unwrap_or(include.node);
            new.is_some()
        });
        self.out.attributes.nodes.renumber(&new_number);
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
