//! Joining: nodes become processes, and ends of channels become ports.
//!
//! Channels that share a port become a bundle, and processes of the same `kind=` become a kind.
//! This module reports declarations that cannot be joined. [`crate::verify`] reports joined parts
//! that do not fit together. The time is linear in the size of the graph.

use crate::arena::{Arena, Id};
use crate::attributes::AttributesOf;
use crate::codes;
use crate::declared::{
    BundleKind, ChannelDecl, ChannelExtra, ConstraintDecl, ConstraintTarget, Declared, Direction,
    EndDecl, ModuleId, NodeId,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::{Names, Symbol};
use crate::network::{
    Bundle, Channel, ChannelId, Closed, ClosedId, DEFAULT_CAPACITY, Join, Module, Network,
    NetworkAttributes, NetworkConstraint, Port, PortId, Process, ProcessId, Terms, TermsId,
};
use crate::parts;
use crate::source::{SourceMap, Span};
use diagnostics::{JoinDiagnostics, both_directions, bundle_missing};
use ids::Ids;
use merged::MergedNodes;
use rustc_hash::FxHashMap;

mod diagnostics;
mod ids;
mod merged;
mod of_processes;

/// Joins expanded declarations to a network. On success, returns the network with all warnings.
///
/// `replicas` and the attributes of repetition are ignored: call [`crate::expand::expand`] first.
///
/// # Errors
/// Returns all diagnostics, if one of them is an error. If parts of the declarations do not fit
/// together (`G0318`), further checks are skipped.
pub fn resolve(declared: Declared) -> Result<(Network, Diagnostics), Diagnostics> {
    parts::check(&declared)?;
    let mut diagnostics = Diagnostics::new();
    let Declared {
        name,
        sources,
        mut names,
        modules,
        nodes,
        channels,
        extras,
        arguments,
        given,
        constraints,
        boxes,
        environment,
        glue,
        skeleton,
        types,
        // Levels concern diagnostics, not the network.
        levels: _,
        sizes: _,
        fitted: _,
        attributes,
        // [`crate::expand`] has applied these.
        pairs: _,
        ports: _,
        includes: _,
    } = declared;
    let mut merged = MergedNodes::of(&nodes, &names, &mut diagnostics);
    drop(nodes);
    let mut joining = Joining {
        channels: &channels,
        extras: &extras,
        process_of: &merged.process_of,
        names: &mut names,
        port_prefix_of: &merged.port_prefix_of,
        sources: &sources,
        process_names: &merged.processes,
        diagnostics: JoinDiagnostics::default(),
    };
    let joined = joining.join();
    diagnostics.append(joining.diagnostics.finish());
    let mut of_channels = AttributesOf::default();
    let (channels, terms) = with_ports(channels, &extras, &joined.port_of, &mut of_channels);
    for (process, first) in merged.processes.values_mut().zip(&joined.first_port) {
        process.first_port = *first;
    }
    let modules: Arena<ModuleId, Module> = modules
        .values()
        .map(|m| Module {
            name: m.name,
            kind: m.kind,
            parent: m.parent,
            span: m.span,
        })
        .collect();
    let mut processes = AttributesOf::default();
    for (node, &process) in merged.process_of.iter().enumerate() {
        let list = attributes.nodes.get(NodeId::from_index(node));
        if list.is_some() {
            processes.set(process, list);
        }
    }
    let attributes = NetworkAttributes {
        lists: attributes.lists,
        graph: attributes.graph,
        modules: attributes.modules,
        processes,
        channels: of_channels,
        closed: joined.closed_attributes,
    };
    let mut network = Network {
        name,
        sources,
        names,
        kinds: merged.kinds,
        modules,
        processes: merged.processes,
        ports: joined.ports,
        closed: joined.closed,
        channels,
        terms,
        bundles: joined.bundles,
        members: joined.members,
        constraints: Vec::new(),
        boxes,
        environment,
        glue,
        parameters: FxHashMap::default(),
        arguments: FxHashMap::default(),
        skeleton,
        types,
        attributes,
    };
    of_processes::arguments(
        &mut network,
        arguments,
        &merged.process_of,
        &given,
        &mut diagnostics,
    );
    let inside = processes_of_modules(&network, constraints.iter());
    network.constraints = constraints
        .into_iter()
        .map(|declared| {
            let processes = match declared.target {
                ConstraintTarget::Node(node) => vec![merged.process_of[node.index()]],
                ConstraintTarget::Module(module) => inside[module.index()].clone(),
            };
            NetworkConstraint {
                declared,
                processes,
            }
        })
        .collect();
    if diagnostics.has_errors() {
        Err(diagnostics)
    } else {
        Ok((network, diagnostics))
    }
}

/// Returns the processes of each module that a constraint applies to, in the order of ranks. The
/// result is indexed by module.
///
/// Processes of nested modules are included. The list is empty for all other modules. The time is
/// linear in the size of the network and of the result, although modules may nest a hundred
/// thousand deep. Panics if a constraint names a module that does not exist.
pub(crate) fn processes_of_modules<'c>(
    network: &Network,
    constraints: impl Iterator<Item = &'c ConstraintDecl>,
) -> Vec<Vec<ProcessId>> {
    let mut wanted = vec![false; network.modules.len()];
    for constraint in constraints {
        if let ConstraintTarget::Module(module) = constraint.target {
            wanted[module.index()] = true;
        }
    }
    // The innermost wanted module that contains each module or is that module. Parents come first.
    let mut nearest: Vec<Option<ModuleId>> = Vec::with_capacity(wanted.len());
    for (id, module) in network.modules.iter() {
        let around = module.parent.and_then(|p| nearest[p.index()]);
        nearest.push(if wanted[id.index()] { Some(id) } else { around });
    }
    let mut inside = vec![Vec::new(); network.modules.len()];
    for (id, process) in network.processes.iter() {
        let mut module = process.module.and_then(|m| nearest[m.index()]);
        while let Some(m) = module {
            inside[m.index()].push(id);
            module = network.modules[m].parent.and_then(|p| nearest[p.index()]);
        }
    }
    inside
}

/// Returns the channels between processes with their ports, and the different terms of the
/// channels, in the order of first appearance. Declarations that are joined to the environment are
/// omitted.
///
/// Adds the attributes of channels to `attributes`.
///
/// `port_of` contains the port of the writing end and of the reading end of each declaration, in
/// turn. The channels reuse the memory of the declarations (in-place `collect`), so that a million
/// of them are not in memory twice.
fn with_ports(
    declared: Vec<ChannelDecl>,
    extras: &[ChannelExtra],
    port_of: &[PortId],
    attributes: &mut AttributesOf<ChannelId>,
) -> (Arena<ChannelId, Channel>, Arena<TermsId, Terms>) {
    let mut arena = Arena::new();
    let mut known: FxHashMap<Terms, TermsId> = FxHashMap::default();
    let mut last = None;
    let mut next = 0;
    let channels = declared.into_iter().enumerate();
    let mut channels: Arena<ChannelId, Channel> = channels
        .filter_map(|(index, decl)| {
            decl.from.node.and(decl.to.node)?;
            let extra = decl.extra.map(|e| &extras[e.get() as usize]);
            let stated = Terms {
                capacity: decl.capacity.map_or(DEFAULT_CAPACITY, |c| c.get()),
                initial: decl.initial,
                tag: extra.and_then(|e| e.tag),
                flow: extra.and_then(|e| e.flow),
            };
            let terms = match last {
                Some((terms, id)) if terms == stated => id,
                _ => *known.entry(stated).or_insert_with(|| arena.push(stated)),
            };
            last = Some((stated, terms));
            if let Some(list) = extra.and_then(|e| e.attributes) {
                attributes.set(ChannelId::from_index(next), Some(list));
            }
            next += 1;
            Some(Channel {
                from: port_of[2 * index],
                to: port_of[2 * index + 1],
                ty: decl.ty,
                terms,
                traffic: decl.traffic,
                span: decl.span,
            })
        })
        .collect();
    channels.shrink_to_fit();
    (channels, arena)
}

struct Joined {
    ports: Arena<PortId, Port>,
    first_port: Vec<u32>,
    /// Port of each end, indexed by [`EndRef`]. Unspecified for the environment.
    port_of: Vec<PortId>,
    closed: Arena<ClosedId, Closed>,
    closed_attributes: AttributesOf<ClosedId>,
    bundles: Arena<crate::network::BundleId, Bundle>,
    members: Vec<ChannelId>,
}

struct Joining<'a> {
    channels: &'a [ChannelDecl],
    extras: &'a [ChannelExtra],
    process_of: &'a [ProcessId],
    port_prefix_of: &'a FxHashMap<NodeId, String>,
    names: &'a mut Names,
    sources: &'a SourceMap,
    process_names: &'a Arena<ProcessId, Process>,
    diagnostics: JoinDiagnostics,
}

/// An end of a declared channel: twice the index of the channel, plus one for the reading end.
#[derive(Clone, Copy)]
struct EndRef(u32);

impl EndRef {
    fn channel(self) -> usize {
        self.0 as usize / 2
    }
    fn direction(self) -> Direction {
        if self.0.is_multiple_of(2) {
            Direction::Output
        } else {
            Direction::Input
        }
    }
}

impl Joining<'_> {
    fn end(&self, end: EndRef) -> EndDecl {
        let channel = &self.channels[end.channel()];
        if end.direction() == Direction::Output {
            channel.from
        } else {
            channel.to
        }
    }

    fn other_end(&self, end: EndRef) -> EndDecl {
        self.end(EndRef(end.0 ^ 1))
    }

    fn process(&self, end: EndDecl) -> Option<ProcessId> {
        let node = end.node?.index();
        // Without split processes, nodes and processes have the same indices.
        let same = self.process_of.len() == self.process_names.len();
        Some(if same {
            ProcessId::from_index(node)
        } else {
            self.process_of[node]
        })
    }

    /// Returns the full name of a port: `process.port`. Panics if the process does not exist.
    fn full(&self, process: ProcessId, name: Symbol) -> String {
        let process = self.names.name(self.process_names[process].name);
        format!("{process}.{}", self.names.name(name))
    }

    fn join(&mut self) -> Joined {
        let (start, ends) = self.ends_by_process();
        // Declarations that are joined to the environment are not channels.
        let mut ids = Ids::default();
        for (index, decl) in self.channels.iter().enumerate() {
            let both = decl.from.node.is_some() && decl.to.node.is_some();
            if decl.from.node.is_none() && decl.to.node.is_none() {
                self.diagnostics.push(
                    Diagnostic::error(
                        codes::ENVIRONMENT_TO_ITSELF,
                        "a channel joins the environment to itself",
                    )
                    .at(decl.span, "`NULL` at both ends")
                    .help("remove it: no process uses this channel"),
                );
            }
            ids.push(index, both);
        }
        let mut joined = Joined {
            ports: Arena::with_capacity(ends.len()),
            first_port: Vec::with_capacity(self.process_names.len()),
            port_of: vec![PortId::from_index(0); 2 * self.channels.len()],
            closed: Arena::new(),
            closed_attributes: AttributesOf::default(),
            bundles: Arena::new(),
            members: Vec::new(),
        };
        // The group of the current process for each symbol. This is a table and not a search, so
        // that a process with a million ports costs no more than a million processes.
        let mut group_of: Vec<(u32, u32)> = Vec::new();
        let mut groups: Vec<Vec<EndRef>> = Vec::new();
        for process in self.process_names.ids() {
            joined.first_port.push(joined.ports.len() as u32);
            let range = start[process.index()] as usize..start[process.index() + 1] as usize;
            let mut names: Vec<Symbol> = Vec::new();
            for &(end, port) in &ends[range] {
                let name = match self.port_prefix_of.is_empty() {
                    true => port,
                    false => self.port_symbol(self.end(end)),
                };
                if group_of.len() <= name.index() {
                    group_of.resize(self.names.len().max(name.index() + 1), (0, 0));
                }
                let stamp = process.index() as u32 + 1;
                let (stamped, mut group) = group_of[name.index()];
                if stamped != stamp {
                    group = names.len() as u32;
                    group_of[name.index()] = (stamp, group);
                    names.push(name);
                    if groups.len() < names.len() {
                        groups.push(Vec::new());
                    }
                }
                groups[group as usize].push(end);
            }
            for (i, name) in names.into_iter().enumerate() {
                let group = std::mem::take(&mut groups[i]);
                self.port(process, name, &group, &ids, &mut joined);
                groups[i] = group;
                groups[i].clear();
            }
        }
        joined.ports.shrink_to_fit();
        joined
    }

    /// Groups all ends by process, in source order. Ends at the environment are omitted.
    ///
    /// Returns the index of the first end of each process, followed by the number of all ends.
    /// Returns the ends with the names of their ports. The channels of a process are scattered in
    /// memory, and each access costs a cache miss. This pass collects everything that most ports
    /// need.
    fn ends_by_process(&self) -> (Vec<u32>, Vec<(EndRef, Symbol)>) {
        let mut start = vec![0u32; self.process_names.len() + 1];
        let all = || (0..self.channels.len() as u32 * 2).map(EndRef);
        for end in all() {
            if let Some(process) = self.process(self.end(end)) {
                start[process.index() + 1] += 1;
            }
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let mut next = start.clone();
        let none = (EndRef(0), Symbol::from_index(0));
        let mut ends = vec![none; start[start.len() - 1] as usize];
        for end in all() {
            let decl = self.end(end);
            if let Some(process) = self.process(decl) {
                let at = &mut next[process.index()];
                ends[*at as usize] = (end, decl.port);
                *at += 1;
            }
        }
        (start, ends)
    }

    fn port_symbol(&mut self, end: EndDecl) -> Symbol {
        match end.node.and_then(|n| self.port_prefix_of.get(&n)) {
            Some(prefix) => {
                let name = format!("{prefix}.{}", self.names.name(end.port));
                self.names.intern(&name)
            }
            None => end.port,
        }
    }

    fn port(
        &mut self,
        process: ProcessId,
        name: Symbol,
        ends: &[EndRef],
        ids: &Ids,
        joined: &mut Joined,
    ) {
        let id = PortId::from_index(joined.ports.len());
        for &end in ends {
            joined.port_of[end.0 as usize] = id;
        }
        // An end that closes the port for lack of instances is ignored if other ends join the port.
        let is_vacant = |&end: &EndRef| self.extra(end).is_some_and(|extra| extra.vacant);
        let standing: Vec<EndRef>;
        let ends = if ends.len() > 1 && ends.iter().any(is_vacant) {
            standing = ends.iter().copied().filter(|end| !is_vacant(end)).collect();
            if standing.is_empty() {
                &ends[..1]
            } else {
                &standing
            }
        } else {
            ends
        };
        let first = ends[0];
        let direction = first.direction();
        if let Some(other) = ends.iter().find(|e| e.direction() != direction) {
            let full = self.full(process, name);
            let (one, other) = (self.span(first), self.span(*other));
            self.diagnostics
                .push(both_directions(&full, direction, one, other));
        }
        let join = match *ends {
            // This is the case for nearly all ports, and costs no more than their own entry.
            [only] if self.stated(only).is_none() && !self.is_lone(only) => {
                ids.of(only.channel()).map_or_else(
                    || {
                        let ChannelDecl { ty, span, .. } = self.channels[only.channel()];
                        let closed = Closed {
                            ty,
                            bundle: None,
                            span,
                        };
                        Join::Environment(self.closed(closed, &[only], joined))
                    },
                    Join::Channel,
                )
            }
            _ => self.join_of_many((process, name), ends, ids, joined),
        };
        joined.ports.push(Port {
            process,
            name,
            direction,
            join,
        });
    }

    /// Returns the join of the next port, which has several ends or a bundle. Adds the bundle with
    /// its members, or the closed entry, to `joined`. Reports contradictions.
    ///
    /// `ends` must not be empty. Only ends in the direction of the first one are joined.
    fn join_of_many(
        &mut self,
        port: (ProcessId, Symbol),
        ends: &[EndRef],
        ids: &Ids,
        joined: &mut Joined,
    ) -> Join {
        let (direction, span) = (ends[0].direction(), self.span(ends[0]));
        let same = ends.iter().filter(|end| end.direction() == direction);
        let (free, channels): (Vec<_>, Vec<_>) = same
            .copied()
            .partition(|&end| self.other_end(end).node.is_none());
        self.check_environment(port, &free, &channels);
        let ty = self.type_of(port, &free);
        let kind = self.bundle_kind(port, direction, &channels, free.is_empty());
        match (&channels[..], kind) {
            ([], _) => {
                let lone = free.iter().any(|&end| self.is_lone(end));
                let stated = free.iter().find_map(|&end| self.stated(end));
                let bundle = stated.or(lone.then_some(BundleKind::Select));
                let closed = Closed { ty, bundle, span };
                Join::Environment(self.closed(closed, &free, joined))
            }
            ([only], None) => {
                Join::Channel(ids.of(only.channel()).expect("both ends are processes"))
            }
            (many, kind) => {
                let before = joined.members.len() as u32;
                let members = many.iter().filter_map(|end| ids.of(end.channel()));
                joined.members.extend(members);
                let stated = many.iter().find(|&&end| self.stated(end).is_some());
                let bundle = Bundle {
                    kind: kind.unwrap_or(BundleKind::Select),
                    port: PortId::from_index(joined.ports.len()),
                    name: many.iter().find_map(|&end| self.extra(end)?.bundle_name),
                    span: stated.map_or(span, |&end| self.span(end)),
                    members: before..joined.members.len() as u32,
                };
                Join::Bundle(joined.bundles.push(bundle))
            }
        }
    }

    /// Adds an entry for a port that is joined to the environment. It has the attributes of the
    /// first of its ends that has any.
    fn closed(&self, closed: Closed, ends: &[EndRef], joined: &mut Joined) -> ClosedId {
        let id = joined.closed.push(closed);
        let list = ends.iter().find_map(|&end| self.extra(end)?.attributes);
        joined.closed_attributes.set(id, list);
        id
    }

    /// Reports an error if a port is joined to the environment and to a channel. Otherwise, warns
    /// if it is joined to the environment more than once. `free` contains the ends whose channels
    /// lead to the environment.
    fn check_environment(
        &mut self,
        (process, name): (ProcessId, Symbol),
        free: &[EndRef],
        channels: &[EndRef],
    ) {
        if let (Some(&free), Some(&channel)) = (free.first(), channels.first()) {
            let full = self.full(process, name);
            self.diagnostics.push(
                Diagnostic::error(
                    codes::ENVIRONMENT_AND_CHANNEL,
                    format!("port `{full}` is joined to the environment and to a channel"),
                )
                .at(self.span(free), "joined to the environment (`NULL`) here")
                .also(self.span(channel), "joined to a channel here")
                .help("remove one of the two edges, or use another port"),
            );
        } else if let [first, second, ..] = *free {
            let full = self.full(process, name);
            self.diagnostics.push(
                Diagnostic::warning(
                    codes::ENVIRONMENT_TWICE,
                    format!("port `{full}` is joined to the environment more than once"),
                )
                .at(self.span(second), "second time")
                .also(self.span(first), "first time")
                .help("remove one of the edges, or use another port"),
            );
        }
    }

    /// Returns the first type that the ends at the environment state, or `None` if none states one.
    /// Reports the first type that differs from it.
    fn type_of(&mut self, (process, name): (ProcessId, Symbol), free: &[EndRef]) -> Option<Symbol> {
        let typed = |&end: &EndRef| Some((end, self.channels[end.channel()].ty?));
        let mut types = free.iter().filter_map(typed);
        let (first, ty) = types.next()?;
        if let Some((end, other)) = types.find(|(_, other)| *other != ty) {
            let full = self.full(process, name);
            let says = |ty| format!("`{}` here", self.names.name(ty));
            let diagnostic =
                Diagnostic::error(codes::TYPE_CONFLICT, format!("port `{full}` has two types"))
                    .at(self.span(end), says(other))
                    .also(self.span(first), says(ty))
                    .help("remove one of the two `type=`");
            self.diagnostics.push(diagnostic);
        }
        Some(ty)
    }

    fn span(&self, end: EndRef) -> Span {
        self.channels[end.channel()].span
    }

    fn extra(&self, end: EndRef) -> Option<&ChannelExtra> {
        if self.extras.is_empty() {
            // Avoids access to the memory of the channel.
            return None;
        }
        self.extras
            .get(self.channels[end.channel()].extra?.get() as usize)
    }

    /// Returns the kind of bundle that the channel states for the port of this end, or `None` if it
    /// states none, or one for the port at its other end.
    fn stated(&self, end: EndRef) -> Option<BundleKind> {
        let extra = self.extra(end)?;
        let kinds = [extra.bundle, extra.other_bundle];
        kinds
            .into_iter()
            .flatten()
            .find(|kind| kind.direction() == end.direction())
    }

    /// Returns true if an input has one channel only because its repeated writer has one instance.
    /// Returns false for outputs.
    fn is_lone(&self, end: EndRef) -> bool {
        let lone = self.extra(end).is_some_and(|extra| extra.lone);
        lone && end.direction() == Direction::Input
    }

    /// Returns the kind of bundle at a port: the first kind that its channels state. Without a
    /// stated kind, returns `Select` for an input and `Broadcast` for an output. Returns `None` for
    /// a port without channels, and for a single channel without `bundle=` that is not lone
    /// ([`ChannelExtra::lone`]).
    ///
    /// Reports the first stated kind that differs. If `report` is true, also reports an output
    /// whose channels need `bundle=`.
    fn bundle_kind(
        &mut self,
        (process, name): (ProcessId, Symbol),
        direction: Direction,
        channels: &[EndRef],
        report: bool,
    ) -> Option<BundleKind> {
        let mut stated = channels.iter().filter_map(|&e| Some((e, self.stated(e)?)));
        let Some((first, kind)) = stated.next() else {
            if channels.len() < 2 && !channels.iter().any(|&end| self.is_lone(end)) {
                return None;
            }
            if direction == Direction::Input {
                return Some(BundleKind::Select);
            }
            if report {
                let other_end = channels.iter().find_map(|&e| self.extra(e)?.bundle);
                let diagnostic =
                    bundle_missing(&self.full(process, name), channels.len(), other_end);
                let mut nodes =
                    (channels.iter()).map(|&end| self.sources.edge_to_itself(self.span(end)));
                let diagnostic = match nodes.find_map(|node| node) {
                    None => diagnostic,
                    Some(node) => diagnostic.help(format!(
                        "to join each instance of a repeated `{node}` to the next, write \
                         `{node} -> {node} [step=1]`, and `at=first` or `at=last` at its other edges"
                    )),
                };
                let (first, second) = (self.span(channels[0]), self.span(channels[1]));
                self.diagnostics.push(if first == second {
                    diagnostic.at(first, "this edge stands for several channels")
                } else {
                    diagnostic
                        .at(second, "second channel")
                        .also(first, "first channel")
                        .help("or use a different port for each channel, with `src=`")
                });
            }
            return Some(BundleKind::Broadcast);
        };
        let other = stated.find(|(_, other)| *other != kind);
        if let Some((end, other)) = other {
            let full = self.full(process, name);
            self.diagnostics.push(
                Diagnostic::error(
                    codes::BUNDLE_CONFLICT,
                    format!("port `{full}` has two kinds of bundle"),
                )
                .at(self.span(end), format!("`{}` here", other.name()))
                .also(self.span(first), format!("`{}` here", kind.name()))
                .help(
                    "set the same `bundle=` on all edges of the port, or set it on one edge only",
                ),
            );
        }
        Some(kind)
    }
}
