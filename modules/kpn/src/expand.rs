//! Expansion: abstract declarations are replaced by their instances.
//!
//! A module or node with `replicas=N` is a *scope* with N instances. Scopes nest. Each instance of
//! a node becomes a node. Its name ends with the indices of its scopes, from 1 and outermost first
//! (`cell2_3`).
//!
//! A channel is repeated for each instance of the scopes that contain both ends. `step=` shifts the
//! instance of the reader. A step beyond the last instance makes no channel. With `wrap=true` it
//! leads to the first instance, and with `beyond=NULL` to the environment. `at=` selects the
//! instances of the scopes that contain only one end. The environment is in the scopes around the
//! declaration of its channel. If one end has no instances, the ports at the other end are joined
//! to the environment. They have the same form as with instances.
//!
//! At last, the channels at module ports are joined, and the ports vanish.
//!
//! Ranks have the order of an equivalent text written by hand: all nodes of the first instance of a
//! module, then all of the second.
//!
//! The time is linear in the size of the result.

use crate::arena::Id;
use crate::arguments::{Argument, ArgumentList};
use crate::codes;
use crate::declared::{
    ArgumentsDecl, ChannelDecl, ChannelExtra, Constraint, ConstraintDecl, ConstraintTarget,
    Declared, DeclaredAttributes, EndDecl, ListedPairs, ModuleDecl, ModuleId, ModulePortDecl,
    NodeDecl, NodeId,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::groups::Groups;
use crate::names::Symbol;
use crate::parts;
use crate::source::Span;
pub use limit::LIMIT;
use limit::too_many_channels;
use listed::Listed;
use pattern::Pattern;
use rustc_hash::FxHashMap;
use scopes::{ScopeId, Scopes, digits, flat};

mod limit;
mod listed;
mod pattern;
mod ports;
mod scopes;

/// Replaces abstract declarations by their instances. On success, returns the result with all
/// warnings.
///
/// # Errors
/// Returns all diagnostics, if one of them is an error. If parts of the declarations do not fit
/// together (`G0318`) or the result is too large (`G0250`), further checks are skipped.
pub fn expand(mut declared: Declared) -> Result<(Declared, Diagnostics), Diagnostics> {
    parts::check(&declared)?;
    let mut diagnostics = Diagnostics::new();
    let scopes = Scopes::of(&declared, &mut diagnostics);
    check_split_processes(&declared, &mut diagnostics);
    ports::check(&declared, &mut diagnostics);
    if scopes.arena.is_empty() && declared.pairs.is_empty() {
        nothing_repeats(&mut declared, &scopes, &mut diagnostics);
        single_arguments(&mut declared.arguments, &mut diagnostics);
        if !diagnostics.has_errors() {
            ports::join(&mut declared, &mut diagnostics);
        }
        return if diagnostics.has_errors() {
            Err(diagnostics)
        } else {
            Ok((declared, diagnostics))
        };
    }
    if let Some(diagnostic) = scopes.too_many(&declared) {
        diagnostics.push(diagnostic);
        return Err(diagnostics);
    }
    let mut expansion = Expansion::new(&declared, &scopes);
    expansion.modules();
    expansion.nodes();
    expansion.check_names(&mut diagnostics);
    expansion.channels(&mut diagnostics);
    expansion.constraints();
    expansion.arguments(&mut diagnostics);
    let mut result = expansion.out;
    if !diagnostics.has_errors() {
        ports::join(&mut result, &mut diagnostics);
    }
    if diagnostics.has_errors() {
        Err(diagnostics)
    } else {
        Ok((result, diagnostics))
    }
}

/// Checks the attributes of repetition in a graph without scopes, adds diagnostics, and clears the
/// attributes.
///
/// The declarations stay in place, because copying a million channels would be wasteful.
fn nothing_repeats(declared: &mut Declared, scopes: &Scopes, diagnostics: &mut Diagnostics) {
    for channel in declared.channels.iter().filter(|c| c.extra.is_some()) {
        let extra = declared.extra(channel).cloned().unwrap_or_default();
        if let Err(diagnostic) = Pattern::of(channel, &extra, declared, scopes, diagnostics) {
            diagnostics.push(*diagnostic);
        }
    }
    for extra in &mut declared.extras {
        extra.forget_repetition();
    }
}

/// Computes the arguments of nodes that are not repeated.
fn single_arguments(all: &mut [ArgumentsDecl], diagnostics: &mut Diagnostics) {
    for one in all {
        match one.list.values(1) {
            Ok(values) => {
                one.list.arguments = values.into_iter().map(Argument::Value).collect();
            }
            Err(error) => diagnostics.push(*error),
        }
    }
}

/// Reports nodes of one split process that are in different modules or have different `replicas=`.
/// Each node is compared with the first node of its process.
fn check_split_processes(declared: &Declared, diagnostics: &mut Diagnostics) {
    let mut first: FxHashMap<Symbol, NodeId> = FxHashMap::default();
    for (id, node) in declared.nodes.iter() {
        let Some(process) = node.process else {
            continue;
        };
        let other = *first.entry(process).or_insert(id);
        let beside = &declared.nodes[other];
        let difference = match beside.module == node.module {
            true if beside.replicas == node.replicas => continue,
            true => "have different `replicas=`",
            false => "are in different modules",
        };
        diagnostics.push(
            Diagnostic::error(
                codes::FACES_APART,
                format!(
                    "nodes `{}` and `{}` of process `{}` {difference}",
                    declared.name(beside.name),
                    declared.name(node.name),
                    declared.name(process)
                ),
            )
            .at(node.span, "this node")
            .also(beside.span, "the other node")
            .help(
                "put all nodes of a process into one cluster; to repeat it, set `replicas=` on the cluster \
                 only",
            ),
        );
    }
}

struct Expansion<'a> {
    declared: &'a Declared,
    scopes: &'a Scopes,
    out: Declared,
    /// Index in `out.modules` of the first instance of each module. Instances are contiguous.
    module_base: Vec<usize>,
    /// Index in `instances` of the first instance of each node.
    node_base: Vec<usize>,
    /// New id of each instance of each node.
    instances: Vec<Option<NodeId>>,
    port_of: FxHashMap<NodeId, &'a ModulePortDecl>,
}

/// Returns the digits, each plus 1 and separated by underscores, such as `2_3` for the digits 1 and
/// 2. Returns an empty text if there are no digits.
fn suffix(digits: &[u64]) -> String {
    let mut text = String::new();
    for digit in digits {
        if !text.is_empty() {
            text.push('_');
        }
        text.push_str(&(digit + 1).to_string());
    }
    text
}

impl<'a> Expansion<'a> {
    fn new(declared: &'a Declared, scopes: &'a Scopes) -> Expansion<'a> {
        let mut node_base = Vec::with_capacity(declared.nodes.len());
        let mut total = 0;
        for &scope in &scopes.of_node {
            node_base.push(total);
            total += scopes.count(scopes.path(scope)) as usize;
        }
        let out = Declared {
            name: declared.name.clone(),
            sources: declared.sources.clone(),
            names: declared.names.clone(),
            boxes: declared.boxes.clone(),
            environment: declared.environment.clone(),
            glue: declared.glue.clone(),
            skeleton: declared.skeleton.clone(),
            types: declared.types.clone(),
            levels: declared.levels.clone(),
            sizes: declared.sizes.clone(),
            attributes: DeclaredAttributes {
                lists: declared.attributes.lists.clone(),
                graph: declared.attributes.graph,
                ..DeclaredAttributes::default()
            },
            given: declared.given.clone(),
            ..Declared::default()
        };
        let module_base = Vec::with_capacity(declared.modules.len());
        Expansion {
            declared,
            scopes,
            out,
            module_base,
            node_base,
            instances: vec![None; total],
            port_of: declared
                .ports
                .iter()
                .map(|port| (port.node, port))
                .collect(),
        }
    }

    fn modules(&mut self) {
        for (id, module) in self.declared.modules.iter() {
            self.module_base.push(self.out.modules.len());
            let path = self.scopes.path(self.scopes.of_module[id.index()]);
            let replicas = self.scopes.replicas(path);
            let inner = module.replicas.map_or(1, u64::from);
            for instance in 0..self.scopes.count(path) {
                let name = self.numbered(module.name, &digits(instance, &replicas));
                // All instances of a repeated module have the parent in common.
                let outer = instance.checked_div(inner).unwrap_or(0);
                let parent = module
                    .parent
                    .map(|p| ModuleId::from_index(self.module_base[p.index()] + outer as usize));
                let made = self.out.modules.push(ModuleDecl {
                    name,
                    parent,
                    replicas: None,
                    closed: false,
                    ..module.clone()
                });
                let list = self.declared.attributes.modules.get(id);
                self.out.attributes.modules.set(made, list);
            }
        }
    }

    fn numbered(&mut self, name: Symbol, digits: &[u64]) -> Symbol {
        if digits.is_empty() {
            return name;
        }
        let name = self.declared.name(name);
        // The second instance of `stage1` is `stage1_2`, because `stage12` looks like an instance
        // of `stage`.
        let apart = if name.ends_with(|c: char| c.is_ascii_digit()) {
            "_"
        } else {
            ""
        };
        self.out
            .names
            .intern(&format!("{name}{apart}{}", suffix(digits)))
    }

    /// Creates the instances of all nodes in the result, in the order of an equivalent text written
    /// by hand.
    ///
    /// A scope is expanded completely, instance by instance, at its first node.
    fn nodes(&mut self) {
        let declared = self.declared;
        // Direct content of each scope, in source order. The last list is the content outside of
        // all scopes.
        let root = self.scopes.arena.len();
        let mut inside: Vec<Vec<Item>> = vec![Vec::new(); root + 1];
        let mut entered = vec![false; root];
        for id in declared.nodes.ids() {
            let path = self.scopes.node_path(Some(id));
            for (depth, &scope) in path.iter().enumerate() {
                if !std::mem::replace(&mut entered[scope.index()], true) {
                    let around = depth.checked_sub(1).map_or(root, |d| path[d].index());
                    inside[around].push(Item::Scope(scope));
                }
            }
            inside[path.last().map_or(root, |s| s.index())].push(Item::Node(id));
        }
        // Explicit stack of scopes, with the next position in each.
        let mut digits: Vec<u64> = Vec::new();
        let mut stack = vec![(root, 0usize)];
        while let Some((scope, position)) = stack.pop() {
            match inside[scope].get(position).copied() {
                Some(Item::Node(id)) => {
                    stack.push((scope, position + 1));
                    self.node(id, &digits);
                }
                Some(Item::Scope(inner)) => {
                    stack.push((scope, position + 1));
                    if self.scopes.arena[inner].replicas > 0 {
                        digits.push(0);
                        stack.push((inner.index(), 0));
                    }
                }
                None if scope == root => {}
                None => {
                    let digit = digits.last_mut().expect("a scope pushed its digit");
                    *digit += 1;
                    if *digit < self.scopes.arena[ScopeId::from_index(scope)].replicas {
                        stack.push((scope, 0));
                    } else {
                        digits.pop();
                    }
                }
            }
        }
    }

    fn node(&mut self, id: NodeId, digits: &[u64]) {
        let declared = self.declared;
        let node = &declared.nodes[id];
        let replicas = self.scopes.replicas(self.scopes.node_path(Some(id)));
        let instance = flat(digits, &replicas);
        let name = self.numbered(node.name, digits);
        let process = node.process.map(|p| self.numbered(p, digits));
        let port_prefix =
            (node.port_prefix(&declared.names)).map(|prefix| self.out.names.intern(&prefix));
        let outer = node
            .replicas
            .map_or(instance, |n| instance / u64::from(n).max(1));
        let module = node
            .module
            .map(|m| ModuleId::from_index(self.module_base[m.index()] + outer as usize));
        let made = self.out.nodes.push(NodeDecl {
            name,
            process,
            port_prefix,
            module,
            replicas: None,
            ..node.clone()
        });
        self.instances[self.node_base[id.index()] + instance as usize] = Some(made);
        let list = declared.attributes.nodes.get(id);
        self.out.attributes.nodes.set(made, list);
        if let Some(port) = self.port_of.get(&id) {
            self.out.ports.push(ModulePortDecl {
                node: made,
                ..ModulePortDecl::clone(port)
            });
        }
    }

    /// Reports two nodes of the result with equal names, and two modules with equal names in the
    /// same parent, because names identify processes and modules.
    ///
    /// Two declarations may collide in a million instances. They get one diagnostic.
    fn check_names(&self, diagnostics: &mut Diagnostics) {
        let mut reported: FxHashMap<(Span, Span), ()> = FxHashMap::default();
        let mut report = |what: &str, name: Symbol, span: Span, other: Span| {
            if reported.insert((span, other), ()).is_some() {
                return;
            }
            let name = self.out.name(name);
            diagnostics.push(
                Diagnostic::error(
                    codes::NAME_COLLISION,
                    format!("two {what} of the expanded graph are named `{name}`"),
                )
                .at(span, "one of the two")
                .also(other, "the other")
                .help("rename one of them; instances are numbered from 1"),
            );
        };
        let mut nodes: FxHashMap<Symbol, NodeId> = FxHashMap::default();
        for (id, node) in self.out.nodes.iter() {
            if let Some(other) = nodes.insert(node.name, id) {
                let other = self.out.nodes[other].span;
                report("processes", node.name, node.span, other);
            }
        }
        let mut modules: FxHashMap<(Option<ModuleId>, Symbol), ModuleId> = FxHashMap::default();
        for (id, module) in self.out.modules.iter() {
            if let Some(other) = modules.insert((module.parent, module.name), id) {
                let other = self.out.modules[other].span;
                report("modules", module.name, module.span, other);
            }
        }
    }

    fn channels(&mut self, diagnostics: &mut Diagnostics) {
        for channel in &self.declared.channels {
            let extra = self.declared.extra(channel).cloned().unwrap_or_default();
            if let Some(list) = extra.pairs {
                match Listed::of(channel, &extra, list, self.declared, self.scopes) {
                    Ok(listed) if self.out.channels.len() as u64 + listed.count() > LIMIT => {
                        diagnostics.push(too_many_channels(channel.span));
                        return;
                    }
                    Ok(listed) => self.repeat_listed(channel, extra, list, &listed),
                    Err(diagnostic) => diagnostics.push(*diagnostic),
                }
                continue;
            }
            match Pattern::of(channel, &extra, self.declared, self.scopes, diagnostics) {
                Ok(pattern) if self.out.channels.len() as u64 + pattern.most() > LIMIT => {
                    diagnostics.push(too_many_channels(channel.span));
                    return;
                }
                Ok(pattern) => self.repeat(channel, extra, &pattern),
                Err(diagnostic) => diagnostics.push(*diagnostic),
            }
        }
    }

    /// Adds the channels of listed pairs. An instance that does not exist is the environment.
    fn repeat_listed(
        &mut self,
        channel: &ChannelDecl,
        mut extra: ChannelExtra,
        list: ListedPairs,
        listed: &Listed<'_>,
    ) {
        extra.lone = list
            .several_writers
            .unwrap_or_else(|| listed.has_one_reader());
        // A channel of the environment closes no port of another process.
        let inside = channel.from.node.is_some() && channel.to.node.is_some();
        extra.vacant = inside && listed.count() == 0;
        extra.forget_repetition();
        let extra = if extra.says_more() {
            self.out.add_extra(extra)
        } else {
            None
        };
        let vacancies = listed.vacancies().filter(|_| inside);
        for (from, to) in listed.pairs().chain(vacancies) {
            let ends = (
                self.instance(channel.from, from),
                self.instance(channel.to, to),
            );
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            if from.node.is_some() || to.node.is_some() {
                self.out.channels.push(ChannelDecl {
                    from,
                    to,
                    extra,
                    within: None,
                    ..channel.clone()
                });
            }
        }
    }

    fn repeat(&mut self, channel: &ChannelDecl, mut extra: ChannelExtra, pattern: &Pattern) {
        extra.lone = pattern.has_lone_writer(&extra);
        extra.forget_repetition();
        if pattern.is_vacant() {
            extra.vacant = true;
        }
        let extra = if extra.says_more() {
            self.out.add_extra(extra)
        } else {
            None
        };
        let both = pattern.pairs().map(|(from, to)| (Some(from), Some(to)));
        for (from, to) in both.chain(pattern.beyond()).chain(pattern.vacancies()) {
            let ends = (
                self.instance(channel.from, from),
                self.instance(channel.to, to),
            );
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            self.out.channels.push(ChannelDecl {
                from,
                to,
                extra,
                within: None,
                ..channel.clone()
            });
        }
    }

    /// Returns an end at the instance `flat` of its node in the result. The returned end is at the
    /// environment if `flat` is `None` or `end` is at the environment. Returns `None` if that
    /// instance was not created.
    fn instance(&self, end: EndDecl, flat: Option<u64>) -> Option<EndDecl> {
        let (Some(node), Some(flat)) = (end.node, flat) else {
            return Some(EndDecl { node: None, ..end });
        };
        let made = self.instances[self.node_base[node.index()] + flat as usize]?;
        Some(EndDecl {
            node: Some(made),
            port: end.port,
        })
    }

    /// Computes the arguments of each instance. Reports an error of a declaration once.
    fn arguments(&mut self, diagnostics: &mut Diagnostics) {
        for decl in &self.declared.arguments {
            let path = self.scopes.node_path(Some(decl.node));
            for instance in 0..self.scopes.count(path) {
                let at = self.node_base[decl.node.index()] + instance as usize;
                let Some(node) = self.instances[at] else {
                    continue;
                };
                match decl.list.values(instance as i64 + 1) {
                    Ok(values) => self.out.arguments.push(ArgumentsDecl {
                        node,
                        list: ArgumentList {
                            arguments: values.into_iter().map(Argument::Value).collect(),
                            ..decl.list.clone()
                        },
                    }),
                    Err(error) => {
                        diagnostics.push(*error);
                        break;
                    }
                }
            }
        }
    }

    /// Returns the scopes around the target of a constraint: for a node, without its own.
    fn around(&self, target: ConstraintTarget) -> &[ScopeId] {
        match target {
            ConstraintTarget::Node(node) => {
                let path = self.scopes.node_path(Some(node));
                &path[..path.len() - usize::from(self.scopes.is_own(node))]
            }
            ConstraintTarget::Module(module) => {
                self.scopes.path(self.scopes.of_module[module.index()])
            }
        }
    }

    /// Adds each constraint to the result once for every instance of its target.
    ///
    /// A `colocate` group becomes one group for each instance of the modules around it, because the
    /// processes of a module belong together. Its name is not that of another group. A `separate`
    /// group remains one group.
    fn constraints(&mut self) {
        let mut groups = Groups::default();
        for decl in &self.declared.constraints {
            if let Constraint::Colocate(group) = &decl.constraint
                && self.around(decl.target).is_empty()
            {
                groups.keep(group);
            }
        }
        for decl in &self.declared.constraints {
            let path = match decl.target {
                ConstraintTarget::Node(n) => self.scopes.node_path(Some(n)),
                ConstraintTarget::Module(m) => self.scopes.path(self.scopes.of_module[m.index()]),
            };
            let around = self.around(decl.target).len();
            let replicas = self.scopes.replicas(path);
            for instance in 0..self.scopes.count(path) {
                let target = match decl.target {
                    ConstraintTarget::Node(n) => {
                        let at = self.node_base[n.index()] + instance as usize;
                        let Some(made) = self.instances[at] else {
                            continue;
                        };
                        ConstraintTarget::Node(made)
                    }
                    ConstraintTarget::Module(m) => {
                        let at = self.module_base[m.index()] + instance as usize;
                        ConstraintTarget::Module(ModuleId::from_index(at))
                    }
                };
                let constraint = match &decl.constraint {
                    Constraint::Colocate(group) => {
                        let digits = digits(instance, &replicas);
                        let number = suffix(&digits[..around]);
                        Constraint::Colocate(match number.is_empty() {
                            true => group.clone(),
                            false => {
                                groups.name(group, &number, |more| format!("{group}{number}{more}"))
                            }
                        })
                    }
                    other => other.clone(),
                };
                self.out.constraints.push(ConstraintDecl {
                    target,
                    constraint,
                    span: decl.span,
                });
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Item {
    Node(NodeId),
    Scope(ScopeId),
}
