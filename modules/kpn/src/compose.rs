//! Composition: nodes with `use=` are replaced by the graphs that they include.
//!
//! Each included graph becomes a module. The names of its processes get the name of the node as a
//! prefix (`list.manager`), and its own module ports become the ports of the module. The caller
//! reads the files, so that this crate does not choose a front end.

use crate::arena::{Arena, Id};
use crate::attributes::{AttributesId, is_of_graphviz};
use crate::codes;
use crate::declared::{
    ArgumentsDecl, ChannelExtra, Constraint, ConstraintTarget, Declared, Direction, EndDecl,
    IncludeDecl, ListedPairs, ModuleDecl, ModuleId, ModulePortDecl, NodeDecl, NodeId,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::groups::Groups;
use crate::names::{Names, Symbol};
use crate::nearest::nearest;
use crate::sizes::Given;
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};
use std::num::NonZeroU32;

/// Limit on the nesting of included graphs.
const DEPTH: usize = 32;

/// A graph to be read.
#[derive(Debug)]
pub struct Request<'a> {
    /// Path of the file, or name of a network of the library, as written.
    pub file: &'a str,
    /// Path of the graph that includes it.
    pub from: &'a str,
    /// Values that replace sizes of the graph.
    pub sizes: &'a Given,
    /// Position of the name of the file.
    pub span: Span,
}

/// The file of a graph.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Its path or name, for diagnostics.
    pub path: String,
    /// Its identity, such as the path without symbolic links. Two graphs with the same identity
    /// have the same text.
    pub identity: String,
}

/// A graph that was read.
#[derive(Debug)]
pub struct Included {
    /// Its file.
    pub origin: Origin,
    /// Its declarations.
    pub declared: Declared,
}

/// Replaces the nodes that include graphs, also in the included graphs. `origin` is the file of
/// `declared`. `read` reads a graph, or reports errors and returns `None`. `given` replaces sizes:
/// `list.n` is the size `n` of the graph that the node `list` includes.
///
/// Reports errors of the composition. After an error, some includes are missing in the result. The
/// time is linear in the size of the result.
pub fn compose(
    declared: Declared,
    origin: Origin,
    given: &Given,
    read: &mut dyn FnMut(&Request<'_>, &mut Diagnostics) -> Option<Included>,
    diagnostics: &mut Diagnostics,
) -> Declared {
    let mut composer = Composer {
        read,
        diagnostics,
        chain: vec![origin],
    };
    composer.compose(declared, given)
}

struct Composer<'a> {
    read: &'a mut dyn FnMut(&Request<'_>, &mut Diagnostics) -> Option<Included>,
    diagnostics: &'a mut Diagnostics,
    /// Files of the graphs that are being included, outermost first.
    chain: Vec<Origin>,
}

impl Composer<'_> {
    fn compose(&mut self, mut declared: Declared, given: &Given) -> Declared {
        if declared.includes.is_empty() {
            return declared;
        }
        let includes = std::mem::take(&mut declared.includes);
        let mut parts = FxHashMap::default();
        for include in includes {
            let name = declared.name(declared.nodes[include.node].name).to_owned();
            let mut sizes = given.of_included(&name);
            for (name, value, _) in &include.sizes {
                sizes.set_default(name, *value);
            }
            let part = self.part(&include, &sizes);
            if let Some(part) = &part {
                self.check_sizes(&include, part);
            }
            parts.insert(include.node, (include, part));
        }
        Merging::new(declared, self.diagnostics).merge(parts)
    }

    /// Reads an included graph and composes it. Returns `None`, after a report, if it cannot be
    /// read or includes itself.
    fn part(&mut self, include: &IncludeDecl, sizes: &Given) -> Option<Declared> {
        if self.chain.len() == DEPTH {
            let message = format!("graphs are included more than {DEPTH} deep");
            let error = Diagnostic::error(codes::NOT_INCLUDED, message);
            self.diagnostics.push(error.at(include.span, ""));
            return None;
        }
        let from = self
            .chain
            .last()
            .map_or("", |origin| &origin.path)
            .to_owned();
        let request = Request {
            file: &include.file,
            from: &from,
            sizes,
            span: include.span,
        };
        let Included { origin, declared } = (self.read)(&request, self.diagnostics)?;
        let is_same = |known: &Origin| known.identity == origin.identity;
        if let Some(first) = self.chain.iter().position(is_same) {
            let circle = self.chain[first..].iter().map(|known| &*known.path);
            let message = format!("`{}` includes itself", self.chain[first].path);
            self.diagnostics.push(
                Diagnostic::error(codes::NOT_INCLUDED, message)
                    .at(include.span, "included again here")
                    .with_note(format!("through {}", list(circle)))
                    .help("use `replicas=` to repeat a network"),
            );
            return None;
        }
        self.chain.push(origin);
        let composed = self.compose(declared, sizes);
        self.chain.pop();
        Some(composed)
    }

    /// Reports values for sizes that the included graph does not have.
    fn check_sizes(&mut self, include: &IncludeDecl, part: &Declared) {
        let known = || part.sizes.iter().map(|name| &**name);
        for (name, _, span) in &include.sizes {
            if known().any(|known| known == name) {
                continue;
            }
            let message = format!("`{}` has no size `{name}`", include.file);
            let error = Diagnostic::error(codes::UNDEFINED_SIZE, message).at(*span, "");
            self.diagnostics.push(match nearest(name, known()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.help(match part.sizes.is_empty() {
                    true => "it defines no sizes".to_owned(),
                    false => format!("its sizes are {}", list(known())),
                }),
            });
        }
    }
}

/// Returns the names in quotes, separated by commas.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The parts of a graph, by the nodes that include them.
type Parts = FxHashMap<NodeId, (IncludeDecl, Option<Declared>)>;

/// A graph into which others are merged.
struct Merging<'a> {
    declared: Declared,
    diagnostics: &'a mut Diagnostics,
    nodes: Arena<NodeId, NodeDecl>,
    /// Nodes of the symbols of names.
    taken: FxHashSet<Symbol>,
    /// Names of the groups of the graph and of the included graphs.
    colocate: Groups,
    separate: Groups,
}

/// The module ports of an included graph: direction and node of each name.
type PartPorts = FxHashMap<Symbol, (Direction, NodeId)>;

/// The new ids of the parts of an included graph.
struct Renumbered {
    symbols: Vec<Option<Symbol>>,
    /// Lists of attributes.
    lists: Vec<Option<AttributesId>>,
    /// Module that stands for the graph.
    module: ModuleId,
    /// Number of modules, nodes, properties and pairs before the graph's own.
    first_module: usize,
    first_node: usize,
    first_extra: usize,
    first_pair: usize,
}

impl Renumbered {
    fn symbol(&mut self, names: &mut Names, part: &Names, symbol: Symbol) -> Symbol {
        let known = &mut self.symbols[symbol.index()];
        *known.get_or_insert_with(|| names.intern(part.name(symbol)))
    }

    fn list(&self, list: Option<AttributesId>) -> Option<AttributesId> {
        list.and_then(|list| self.lists[list.index()])
    }

    fn module(&self, module: Option<ModuleId>) -> ModuleId {
        module.map_or(self.module, |module| {
            ModuleId::from_index(self.first_module + module.index())
        })
    }

    fn node(&self, node: NodeId) -> NodeId {
        NodeId::from_index(self.first_node + node.index())
    }

    fn extra(&self, extra: Option<NonZeroU32>) -> Option<NonZeroU32> {
        extra.and_then(|extra| extra.checked_add(self.first_extra as u32))
    }
}

impl<'a> Merging<'a> {
    fn new(mut declared: Declared, diagnostics: &'a mut Diagnostics) -> Merging<'a> {
        let nodes = std::mem::take(&mut declared.nodes);
        let taken = nodes.values().map(|node| node.name).collect();
        let (mut colocate, mut separate) = (Groups::default(), Groups::default());
        for constraint in &declared.constraints {
            match &constraint.constraint {
                Constraint::Colocate(group) => colocate.keep(group),
                Constraint::Separate(group) => separate.keep(group),
                _ => {}
            }
        }
        Merging {
            declared,
            diagnostics,
            nodes,
            taken,
            colocate,
            separate,
        }
    }

    fn merge(mut self, mut parts: Parts) -> Declared {
        // The processes of a graph have the ranks at its node.
        let nodes = std::mem::take(&mut self.nodes);
        let attributes = std::mem::take(&mut self.declared.attributes.nodes);
        let mut number: Vec<Option<NodeId>> = Vec::with_capacity(nodes.len());
        let mut modules: FxHashMap<NodeId, ModuleId> = FxHashMap::default();
        let mut ports: FxHashMap<NodeId, PartPorts> = FxHashMap::default();
        let mut renumbered: FxHashMap<NodeId, Renumbered> = FxHashMap::default();
        for (id, node) in nodes.iter() {
            let Some((include, part)) = parts.get_mut(&id) else {
                let new = self.declared.nodes.push(node.clone());
                number.push(Some(new));
                let of_nodes = &mut self.declared.attributes.nodes;
                of_nodes.set(new, attributes.get(id));
                continue;
            };
            number.push(None);
            if let Some(part) = part {
                let (mut new, of_part) = self.add_nodes(node, include, part);
                self.add_rest(node, &mut new, part);
                let list = self.of_module(attributes.get(id), new.list(part.attributes.graph));
                self.declared.attributes.modules.set(new.module, list);
                modules.insert(id, new.module);
                ports.insert(id, of_part);
                renumbered.insert(id, new);
            }
        }
        let own = self.declared.channels.len();
        for mut channel in std::mem::take(&mut self.declared.channels) {
            let from = self.end(
                channel.from,
                Direction::Output,
                channel.span,
                &number,
                &ports,
            );
            let to = self.end(channel.to, Direction::Input, channel.span, &number, &ports);
            if let (Some(from), Some(to)) = (from, to) {
                (channel.from, channel.to) = (from, to);
                self.declared.channels.push(channel);
            }
        }
        debug_assert!(self.declared.channels.len() <= own);
        for port in &mut self.declared.ports {
            port.node = number[port.node.index()].unwrap_or(port.node);
        }
        self.declared.constraints.retain_mut(|constraint| {
            if let ConstraintTarget::Node(node) = constraint.target {
                constraint.target = match (number[node.index()], modules.get(&node)) {
                    (Some(node), _) => ConstraintTarget::Node(node),
                    (None, Some(module)) => ConstraintTarget::Module(*module),
                    (None, None) => return false,
                };
            }
            true
        });
        // Ids of parts are final, so what refers to them comes last.
        for (id, _) in nodes.iter() {
            if let (Some((_, Some(part))), Some(new)) =
                (parts.get_mut(&id), renumbered.get_mut(&id))
            {
                self.add_channels(new, part);
                self.add_ports_and_constraints(&nodes[id], new, part);
            }
        }
        self.declared.ports.sort_by_key(|port| port.node);
        self.declared
    }

    /// Returns the attributes of the module of an included graph: those of its node, and the user's
    /// own attributes of the graph that the node does not have.
    fn of_module(
        &mut self,
        node: Option<AttributesId>,
        graph: Option<AttributesId>,
    ) -> Option<AttributesId> {
        let Declared {
            names, attributes, ..
        } = &mut self.declared;
        let mut list = attributes.lists.list(node).to_vec();
        for &(name, value) in attributes.lists.list(graph) {
            let is_known = list.iter().any(|(known, _)| *known == name);
            if !is_known && !is_of_graphviz(names.name(name)) {
                list.push((name, value));
            }
        }
        attributes.lists.add(names, list)
    }

    /// Adds the module, the inner modules and the nodes of a graph. Returns the new ids and the
    /// ports of the graph.
    fn add_nodes(
        &mut self,
        node: &NodeDecl,
        include: &IncludeDecl,
        part: &mut Declared,
    ) -> (Renumbered, PartPorts) {
        let declared = &mut self.declared;
        let prefix = declared.names.name(node.name).to_owned();
        let module = declared.modules.push(ModuleDecl {
            name: declared.names.intern(&format!("cluster_{prefix}")),
            kind: declared.names.intern(&part.name),
            parent: node.module,
            replicas: node.replicas,
            closed: false,
            span: node.span,
        });
        let mut new = Renumbered {
            symbols: vec![None; part.names.len()],
            lists: Vec::new(),
            module,
            first_module: declared.modules.len(),
            first_node: declared.nodes.len(),
            first_extra: 0,
            first_pair: declared.pairs.len(),
        };
        for index in 0..part.attributes.lists.len() {
            let list = part.attributes.lists.get(AttributesId::from_index(index));
            let list = list.iter().map(|&(name, value)| {
                let names = &mut declared.names;
                let name = new.symbol(names, &part.names, name);
                (name, new.symbol(names, &part.names, value))
            });
            let list = list.collect();
            let lists = &mut declared.attributes.lists;
            let list = lists.add(&declared.names, list);
            new.lists.push(list);
        }
        for (id, inner) in part.modules.iter() {
            let parent = Some(new.module(inner.parent));
            let name = new.symbol(&mut declared.names, &part.names, inner.name);
            let kind = new.symbol(&mut declared.names, &part.names, inner.kind);
            let made = declared.modules.push(ModuleDecl {
                name,
                kind,
                parent,
                ..inner.clone()
            });
            let list = new.list(part.attributes.modules.get(id));
            declared.attributes.modules.set(made, list);
        }
        let mut kinds: FxHashMap<Symbol, (Symbol, bool)> = FxHashMap::default();
        for &(old, other, _) in &include.kinds {
            kinds.insert(old, (other, false));
        }
        let is_port: FxHashSet<NodeId> = part.ports.iter().map(|port| port.node).collect();
        for (id, inner) in part.nodes.iter() {
            let named = |names: &mut Names, symbol| {
                names.intern(&format!("{prefix}.{}", part.names.name(symbol)))
            };
            let name = named(&mut declared.names, inner.name);
            let process = inner.process.map(|p| named(&mut declared.names, p));
            let port_prefix =
                (inner.port_prefix(&part.names)).map(|prefix| declared.names.intern(&prefix));
            let mut kind = new.symbol(&mut declared.names, &part.names, inner.kind);
            if !is_port.contains(&id)
                && let Some((other, used)) = kinds.get_mut(&kind)
            {
                (kind, *used) = (*other, true);
            }
            if !self.taken.insert(name) {
                let message = format!(
                    "two nodes are named `{}` after `{}` is included",
                    declared.names.name(name),
                    include.file
                );
                self.diagnostics.push(
                    Diagnostic::error(codes::NAME_COLLISION, message)
                        .at(include.span, "included here")
                        .also(inner.span, "one of the two")
                        .help("rename the node of the include, or the other node"),
                );
            }
            let made = declared.nodes.push(NodeDecl {
                name,
                process,
                port_prefix,
                kind,
                module: Some(new.module(inner.module)),
                ..inner.clone()
            });
            let list = new.list(part.attributes.nodes.get(id));
            declared.attributes.nodes.set(made, list);
        }
        for (old, _, span) in &include.kinds {
            if kinds.get(old).is_none_or(|(_, used)| *used) {
                continue;
            }
            let name = declared.names.name(*old);
            let mut all: Vec<&str> = part
                .nodes
                .iter()
                .filter(|(id, _)| !is_port.contains(id))
                .map(|(_, node)| part.names.name(node.kind))
                .collect();
            all.sort_unstable();
            all.dedup();
            let message = format!("`{}` has no kind `{name}`", include.file);
            self.diagnostics.push(
                Diagnostic::error(codes::NOT_INCLUDED, message)
                    .at(*span, "")
                    .help(format!("its kinds are {}", list(all.into_iter()))),
            );
        }
        let mut ports = PartPorts::default();
        for port in &part.ports {
            if part.nodes[port.node].module.is_none() {
                let name = new.symbol(&mut declared.names, &part.names, port.name);
                ports.insert(name, (port.direction, new.node(port.node)));
            }
        }
        (new, ports)
    }

    /// Adds the properties of channels and the pairs of instances of a graph, and the names of its
    /// sizes.
    fn add_rest(&mut self, node: &NodeDecl, new: &mut Renumbered, part: &Declared) {
        let declared = &mut self.declared;
        if declared.extras.is_empty() {
            declared.extras.push(ChannelExtra::default());
        }
        new.first_extra = declared.extras.len() - 1;
        for extra in part.extras.iter().skip(1) {
            let bundle_name =
                (extra.bundle_name).map(|name| new.symbol(&mut declared.names, &part.names, name));
            let pairs = extra.pairs.map(|pairs| ListedPairs {
                first: pairs.first + new.first_pair as u32,
                ..pairs
            });
            declared.extras.push(ChannelExtra {
                bundle_name,
                pairs,
                attributes: new.list(extra.attributes),
                ..extra.clone()
            });
        }
        declared.pairs.extend_from_slice(&part.pairs);
        for (ty, span) in &part.types {
            let ty = new.symbol(&mut declared.names, &part.names, *ty);
            declared.types.entry(ty).or_insert(*span);
        }
        let prefix = declared.names.name(node.name).to_owned();
        declared.fitted.extend_from_slice(&part.fitted);
        let sizes = part.sizes.iter().map(|name| format!("{prefix}.{name}"));
        declared.sizes.extend(sizes);
    }

    fn add_channels(&mut self, new: &mut Renumbered, part: &mut Declared) {
        let declared = &mut self.declared;
        for mut channel in std::mem::take(&mut part.channels) {
            for end in [&mut channel.from, &mut channel.to] {
                end.node = end.node.map(|node| new.node(node));
                end.port = new.symbol(&mut declared.names, &part.names, end.port);
            }
            channel.ty = (channel.ty).map(|ty| new.symbol(&mut declared.names, &part.names, ty));
            channel.extra = new.extra(channel.extra);
            channel.within = Some(new.module(channel.within));
            declared.channels.push(channel);
        }
    }

    fn add_ports_and_constraints(
        &mut self,
        node: &NodeDecl,
        new: &mut Renumbered,
        part: &mut Declared,
    ) {
        let declared = &mut self.declared;
        for port in &part.ports {
            let name = new.symbol(&mut declared.names, &part.names, port.name);
            declared.ports.push(ModulePortDecl {
                node: new.node(port.node),
                name,
                ..port.clone()
            });
        }
        for arguments in &part.arguments {
            declared.arguments.push(ArgumentsDecl {
                node: new.node(arguments.node),
                ..arguments.clone()
            });
        }
        let prefix = declared.names.name(node.name);
        for mut constraint in std::mem::take(&mut part.constraints) {
            constraint.target = match constraint.target {
                ConstraintTarget::Node(node) => ConstraintTarget::Node(new.node(node)),
                ConstraintTarget::Module(module) => {
                    ConstraintTarget::Module(new.module(Some(module)))
                }
            };
            // A group is a group of one instance of the graph.
            let groups = match &mut constraint.constraint {
                Constraint::Colocate(group) => Some((&mut self.colocate, group)),
                Constraint::Separate(group) => Some((&mut self.separate, group)),
                _ => None,
            };
            if let Some((groups, group)) = groups {
                *group = groups.name(group, prefix, |more| format!("{prefix}{more}.{group}"));
            }
            declared.constraints.push(constraint);
        }
    }

    /// Returns an end in the composed graph. Returns `None`, after a report, if it is at an
    /// included graph without such a port, or at one that could not be read.
    fn end(
        &mut self,
        end: EndDecl,
        side: Direction,
        span: Span,
        number: &[Option<NodeId>],
        ports: &FxHashMap<NodeId, PartPorts>,
    ) -> Option<EndDecl> {
        let Some(node) = end.node else {
            return Some(end);
        };
        if let Some(node) = number[node.index()] {
            return Some(EndDecl {
                node: Some(node),
                ..end
            });
        }
        let of_part = ports.get(&node)?;
        let names = &mut self.declared.names;
        match of_part.get(&end.port) {
            Some((direction, node)) if *direction == side => Some(EndDecl {
                node: Some(*node),
                port: names.intern(if side == Direction::Input {
                    "in"
                } else {
                    "out"
                }),
            }),
            found => {
                let name = names.name(end.port);
                let message = match found {
                    None => format!("the included graph has no module port `{name}`"),
                    Some((Direction::Input, _)) => {
                        format!(
                            "channels enter the included graph at `{name}`, they do not leave it"
                        )
                    }
                    Some((Direction::Output, _)) => {
                        format!(
                            "channels leave the included graph at `{name}`, they do not enter it"
                        )
                    }
                };
                let fitting = of_part.iter().filter(|(_, (way, _))| *way == side);
                let mut fitting: Vec<&str> = fitting.map(|(name, _)| names.name(*name)).collect();
                fitting.sort_unstable();
                let (attribute, what) = match side {
                    Direction::Input => ("dst", "in"),
                    Direction::Output => ("src", "out"),
                };
                let error = Diagnostic::error(codes::INCLUDED_PORT, message).at(span, "");
                self.diagnostics.push(match fitting.is_empty() {
                    true => error.help(format!(
                        "add a node with `port={what}` to the included graph"
                    )),
                    false => error.help(format!(
                        "name one of its ports with `{attribute}=`: {}",
                        list(fitting.into_iter())
                    )),
                });
                None
            }
        }
    }
}
