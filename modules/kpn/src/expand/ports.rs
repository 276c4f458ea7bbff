//! Module ports: the channels at each become channels between processes.
//!
//! [`check`] runs on declarations before they are repeated, because its errors concern the text.
//! [`join`] runs afterwards on the instances: each channel into a port continues in each channel
//! out of it, and the ports vanish. The time is linear in the size of the result.

use super::limit::{LIMIT, too_many_channels};
use crate::arena::{Arena, Id};
use crate::codes;
use crate::declared::{
    ChannelDecl, ChannelExtra, ConstraintTarget, Declared, Direction, EndDecl, ModuleDecl,
    ModuleId, ModulePortDecl, NodeId,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::expression::is_name;
use crate::network::DEFAULT_CAPACITY;
use crate::source::{Source, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::num::NonZeroU32;

/// The module port of each node, if it is one.
struct Ports<'d> {
    declared: &'d Declared,
    of_node: FxHashMap<NodeId, &'d ModulePortDecl>,
}

impl<'d> Ports<'d> {
    fn of(declared: &'d Declared) -> Ports<'d> {
        let ports = declared.ports.iter().map(|port| (port.node, port));
        Ports {
            declared,
            of_node: ports.collect(),
        }
    }

    fn at(&self, end: EndDecl) -> Option<&'d ModulePortDecl> {
        self.of_node.get(&end.node?).copied()
    }

    fn name(&self, port: &ModulePortDecl) -> &'d str {
        self.declared.name(self.declared.nodes[port.node].name)
    }

    fn module(&self, port: &ModulePortDecl) -> Option<ModuleId> {
        self.declared.nodes[port.node].module
    }

    /// Returns the module of a port, if it is an included graph: the port is in another text than
    /// the node that includes it.
    fn including(&self, port: &ModulePortDecl) -> Option<&'d ModuleDecl> {
        let module = &self.declared.modules[self.module(port)?];
        let base = |span| self.declared.sources.source(span).map(Source::base);
        let (outer, inner) = (base(module.span)?, base(port.span)?);
        (outer != inner).then_some(module)
    }

    /// Returns true if a node is inside a module. Every node is inside the graph (`None`).
    fn is_inside(&self, node: NodeId, module: Option<ModuleId>) -> bool {
        self.contains(module, self.declared.nodes[node].module)
    }

    /// Returns true if a module contains `around` or is that module. The graph (`None`) contains
    /// all modules.
    fn contains(&self, module: Option<ModuleId>, mut around: Option<ModuleId>) -> bool {
        let Some(module) = module else {
            return true;
        };
        let modules = &self.declared.modules;
        while let Some(inner) = around {
            if inner == module {
                return true;
            }
            around = modules[inner].parent;
        }
        false
    }
}

/// Reports channels that use module ports from the wrong side, ports that lack the channels of one
/// side, and channels that cross the border of a closed module without a port.
pub(super) fn check(declared: &Declared, diagnostics: &mut Diagnostics) {
    let closed = declared.modules.values().any(|module| module.closed);
    if declared.ports.is_empty() && !closed {
        return;
    }
    let ports = Ports::of(declared);
    // Number of channels outside and inside of each port.
    let mut joined: FxHashMap<NodeId, [u32; 2]> = FxHashMap::default();
    for channel in &declared.channels {
        let ends = [
            (channel.from, channel.to, Direction::Output),
            (channel.to, channel.from, Direction::Input),
        ];
        for (end, other, side) in ends {
            if let Some(port) = ports.at(end) {
                // A channel that ends at an input comes from outside, and one that begins there
                // leads inside.
                let inside = (side == Direction::Input) != (port.direction == Direction::Input);
                joined.entry(port.node).or_default()[usize::from(inside)] += 1;
                wrong_side(&ports, port, channel, other, inside, diagnostics);
                port_of_port(&ports, port, channel, end, diagnostics);
            }
        }
        if closed {
            crosses_border(&ports, channel, diagnostics);
        }
    }
    let mut open = Vec::new();
    for port in &declared.ports {
        let [outside, inside] = joined.get(&port.node).copied().unwrap_or_default();
        let of_graph = ports.module(port).is_none();
        if inside == 0 {
            diagnostics.push(unjoined(&ports, port, "inside"));
        } else if outside == 0 && !of_graph {
            diagnostics.push(unjoined(&ports, port, "outside"));
        } else if of_graph {
            open.push(port);
        }
    }
    if let [first, ..] = open[..] {
        let names: Vec<String> = (open.iter())
            .map(|port| format!("`{}`", ports.name(port)))
            .collect();
        let (plural, verb) = if open.len() == 1 {
            ("", "leads")
        } else {
            ("s", "lead")
        };
        let names = names.join(", ");
        let message = format!("module port{plural} {names} of the graph {verb} to the environment");
        diagnostics.push(
            Diagnostic::note(codes::OPEN_PORT, message)
                .at(first.span, "")
                .with_note("a graph that includes this one can join them"),
        );
    }
}

fn unjoined(ports: &Ports<'_>, port: &ModulePortDecl, side: &str) -> Diagnostic {
    let name = ports.name(port);
    let error = Diagnostic::error(
        codes::MODULE_PORT_UNJOINED,
        format!("module port `{name}` is not joined {side} its module"),
    );
    let or_null = "or join it to `NULL`, the environment";
    if side == "outside"
        && let Some(module) = ports.including(port)
    {
        let declared = ports.declared;
        let node = declared.sources.text(module.span);
        let own = declared.name(port.name);
        let (edge, default, attribute) = match port.direction {
            Direction::Input => (format!("... -> {node}"), "in", "dst"),
            Direction::Output => (format!("{node} -> ..."), "out", "src"),
        };
        let named = match own == default {
            true => String::new(),
            false if is_name(own) => format!(" [{attribute}={own}]"),
            false => format!(" [{attribute}={own:?}]"),
        };
        let error = error
            .at(module.span, "no edge at this node joins it")
            .also(port.span, "the port")
            .help(format!("add an edge `{edge}{named}`"))
            .help(or_null);
        return match module.replicas.is_some() {
            true => repeated(declared, module, node, error),
            false => error,
        };
    }
    let (from, to) = match (port.direction, side) {
        (Direction::Input, "inside") | (Direction::Output, "outside") => (name, "..."),
        _ => ("...", name),
    };
    error
        .at(port.span, "")
        .help(format!("add an edge `{from} -> {to}` {side} the cluster"))
        .help(or_null)
}

/// Number of nodes that are compared with the names of instances.
const COMPARED: usize = 10_000;

/// Returns the diagnostic. Adds how instances of an included graph are joined, if another node has
/// the name of an instance, such as `S1` or `S[1]`. `node` is the name of the node that includes
/// the graph, as written.
fn repeated(declared: &Declared, module: &ModuleDecl, node: &str, error: Diagnostic) -> Diagnostic {
    let base = node.trim_matches('"');
    let is_instance = |name: &str| {
        let index = name.strip_prefix(base).unwrap_or("");
        let in_brackets = index.starts_with('[') && index.ends_with(']');
        let number = index.strip_prefix('_').unwrap_or(index);
        in_brackets || !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    };
    let mut others = declared.nodes.values().take(COMPARED);
    let other = others
        .find(|other| other.module == module.parent && is_instance(declared.name(other.name)));
    match other {
        Some(other) => error
            .also(
                other.span,
                format!("this is another process, not an instance of `{node}`"),
            )
            .help(format!(
                "an edge at `{node}` selects instances: `at=1`, `at=first`, `at=last`"
            ))
            .help(format!(
                "an edge `{node} -> {node} [step=1]` joins each instance to the next"
            )),
        None => error,
    }
}

/// Reports a channel between a port and a node on the wrong side of it. `inside` is the side of the
/// port at which the channel ends or begins.
fn wrong_side(
    ports: &Ports<'_>,
    port: &ModulePortDecl,
    channel: &ChannelDecl,
    other: EndDecl,
    inside: bool,
    diagnostics: &mut Diagnostics,
) {
    let Some(node) = other.node else {
        return;
    };
    let module = ports.module(port);
    let beside = ports.at(other).filter(|o| ports.module(o) == module);
    let fits = match beside {
        // Both ports must be joined on the same side: from an input to an output inside.
        Some(beside) => beside.direction != port.direction,
        None => ports.is_inside(node, module) == inside,
    };
    if fits && (inside || module.is_some()) {
        return;
    }
    let name = ports.name(port);
    let other = ports.declared.name(ports.declared.nodes[node].name);
    let (flows, help) = match port.direction {
        Direction::Input => (
            "`port=in`: channels enter the module here",
            format!(
                "an edge to `{name}` begins outside of the cluster, an edge from `{name}` ends inside"
            ),
        ),
        Direction::Output => (
            "`port=out`: channels leave the module here",
            format!(
                "an edge to `{name}` begins inside of the cluster, an edge from `{name}` ends outside"
            ),
        ),
    };
    let label = match (module, inside) {
        (None, _) => format!("`{name}` is a port of the whole graph, so `{other}` is inside"),
        (_, true) => format!("`{other}` is not inside the module"),
        (_, false) => format!("`{other}` is inside the module"),
    };
    diagnostics.push(
        Diagnostic::error(
            codes::MODULE_PORT_MISUSED,
            format!("module port `{name}` is joined to `{other}` in the wrong direction"),
        )
        .at(channel.span, label)
        .also(port.span, flows)
        .help(help),
    );
}

/// Reports a name of a port at a module port.
fn port_of_port(
    ports: &Ports<'_>,
    port: &ModulePortDecl,
    channel: &ChannelDecl,
    end: EndDecl,
    diagnostics: &mut Diagnostics,
) {
    let named = ports.declared.name(end.port);
    if matches!(named, "in" | "out") {
        return;
    }
    let name = ports.name(port);
    let message = format!("module port `{name}` has no port `{named}`");
    diagnostics.push(
        Diagnostic::error(codes::MODULE_PORT_MISUSED, message)
            .at(channel.span, "")
            .also(port.span, "a module port, not a process")
            .help("remove `src=` or `dst=` at this end of the edge"),
    );
}

/// Reports a channel that enters or leaves a closed module elsewhere than at a port.
fn crosses_border(ports: &Ports<'_>, channel: &ChannelDecl, diagnostics: &mut Diagnostics) {
    let declared = ports.declared;
    for (end, other) in [(channel.from, channel.to), (channel.to, channel.from)] {
        let Some(node) = end.node else {
            continue;
        };
        // The environment is in the module where the edge is written.
        let beside = match other.node {
            Some(other) => declared.nodes[other].module,
            None => channel.within,
        };
        let mut module = declared.nodes[node].module;
        while let Some(inner) = module {
            let of = &declared.modules[inner];
            let at_port = ports.at(end).is_some() && declared.nodes[node].module == Some(inner);
            if of.closed && !at_port && !ports.contains(Some(inner), beside) {
                let (name, node) = (
                    declared.name(of.name),
                    declared.name(declared.nodes[node].name),
                );
                let message = format!("a channel reaches `{node}` in the closed module `{name}`");
                let mut error = Diagnostic::error(codes::CLOSED_MODULE, message)
                    .at(channel.span, "it does not end at a module port")
                    .also(of.span, "`closed=true`")
                    .help("add a node with `port=in` or `port=out` to the cluster, and join it on both sides");
                if other.node.is_none() {
                    error = error.help("or write the edge inside of the cluster");
                }
                diagnostics.push(error.help("or remove `closed=true`"));
                return;
            }
            module = of.parent;
        }
    }
}

/// Joins the channels at each port, and removes the ports. Reports instances of ports that lack the
/// channels of one side, and channels that contradict each other.
pub(super) fn join(declared: &mut Declared, diagnostics: &mut Diagnostics) {
    if declared.ports.is_empty() {
        return;
    }
    let mut port_of = vec![None; declared.nodes.len()];
    for (index, port) in declared.ports.iter().enumerate() {
        port_of[port.node.index()] = Some(index as u32);
    }
    let channels = std::mem::take(&mut declared.channels);
    let mut joining = Joining {
        declared,
        port_of,
        channels: &channels,
        out_of: FxHashMap::default(),
        joined: Vec::with_capacity(channels.len()),
        extras: FxHashMap::default(),
        continued: vec![false; channels.len()],
        steps: 0,
        reported: FxHashSet::default(),
        diagnostics,
    };
    joining.join();
    let Joining {
        mut joined,
        port_of,
        ..
    } = joining;
    // The outermost edges determine the order of the channels at a port of a process.
    joined.sort_by_key(|(top, _)| *top);
    declared.channels = joined.into_iter().map(|(_, channel)| channel).collect();
    remove_ports(declared, &port_of);
}

/// Limit on the steps of channels through ports. Edges on both sides of many ports in a row
/// multiply.
const MOST_STEPS: u64 = 1 << 24;

/// Index in [`Declared::extras`].
type Extra = Option<NonZeroU32>;

struct Joining<'a> {
    declared: &'a mut Declared,
    /// Index in [`Declared::ports`] of each node, if it is a port.
    port_of: Vec<Option<u32>>,
    channels: &'a [ChannelDecl],
    /// Channels that begin at each port, in order.
    out_of: FxHashMap<NodeId, Vec<u32>>,
    /// The results, each with the index of its outermost channel.
    joined: Vec<(u32, ChannelDecl)>,
    /// Combined properties of each pair of properties.
    extras: FxHashMap<(Extra, Extra), Extra>,
    /// True for each channel from a port that continues another channel.
    continued: Vec<bool>,
    /// Number of channels followed so far.
    steps: u64,
    /// Positions of reported errors.
    reported: FxHashSet<(Span, Span)>,
    diagnostics: &'a mut Diagnostics,
}

impl Joining<'_> {
    fn port(&self, end: EndDecl) -> Option<(NodeId, &ModulePortDecl)> {
        let node = end.node?;
        let index = self.port_of[node.index()]?;
        Some((node, &self.declared.ports[index as usize]))
    }

    /// Returns true for a port of the graph itself. The environment is outside of it.
    fn is_of_graph(&self, port: NodeId) -> bool {
        self.declared.nodes[port].module.is_none()
    }

    fn join(&mut self) {
        for (index, channel) in self.channels.iter().enumerate() {
            if let Some((port, _)) = self.port(channel.from) {
                self.out_of.entry(port).or_default().push(index as u32);
            }
        }
        if self.has_cycle() {
            return;
        }
        for (index, channel) in self.channels.iter().enumerate() {
            let mut first = channel.clone();
            if let Some((port, decl)) = self.port(channel.from) {
                if decl.direction == Direction::Output || !self.is_of_graph(port) {
                    continue;
                }
                self.continued[index] = true;
                first.from.node = None;
            }
            if !self.follow(index as u32, first) {
                return;
            }
        }
        for (index, channel) in self.channels.iter().enumerate() {
            if let Some((port, decl)) = self.port(channel.from)
                && !self.continued[index]
            {
                let side = match decl.direction {
                    Direction::Input => "outside",
                    Direction::Output => "inside",
                };
                self.unjoined(port, side);
            }
        }
    }

    /// Reports ports that lead to each other in a circle, and returns true if there are some.
    fn has_cycle(&mut self) -> bool {
        let between_ports = |channel: &ChannelDecl| {
            let (from, _) = self.port(channel.from)?;
            let (to, _) = self.port(channel.to)?;
            Some((from, to))
        };
        // Removes the ports that no other port leads to, until only circles are left.
        let mut entering: FxHashMap<NodeId, u32> = FxHashMap::default();
        for (_, to) in self.channels.iter().filter_map(between_ports) {
            *entering.entry(to).or_default() += 1;
        }
        let ports = self.out_of.keys().copied();
        let mut free: Vec<NodeId> = ports.filter(|port| !entering.contains_key(port)).collect();
        while let Some(port) = free.pop() {
            for &index in self.out_of.get(&port).map_or(&[][..], |all| all) {
                let Some((_, to)) = between_ports(&self.channels[index as usize]) else {
                    continue;
                };
                if let Some(count) = entering.get_mut(&to) {
                    *count -= 1;
                    if *count == 0 {
                        entering.remove(&to);
                        free.push(to);
                    }
                }
            }
        }
        let in_circle = |channel: &&ChannelDecl| {
            between_ports(channel).is_some_and(|(from, to)| {
                entering.contains_key(&from) && entering.contains_key(&to)
            })
        };
        let Some(channel) = self.channels.iter().find(in_circle) else {
            return false;
        };
        let name = |end: EndDecl| {
            end.node.map_or("NULL", |node| {
                self.declared.name(self.declared.nodes[node].name)
            })
        };
        let message = format!(
            "the module ports `{}` and `{}` are in a circle of ports",
            name(channel.from),
            name(channel.to)
        );
        self.diagnostics.push(
            Diagnostic::error(codes::MODULE_PORT_MISUSED, message)
                .at(channel.span, "")
                .help("put a process into the circle"),
        );
        true
    }

    /// Adds what a channel becomes that begins at a process or at the environment. Returns false if
    /// there are too many channels.
    fn follow(&mut self, index: u32, first: ChannelDecl) -> bool {
        // Explicit stack, because ports may nest as deep as modules.
        let mut stack = vec![(index, first)];
        while let Some((top, mut channel)) = stack.pop() {
            if self.steps == MOST_STEPS {
                let span = self.channels[top as usize].span;
                let message =
                    format!("channels pass through module ports more than {MOST_STEPS} times");
                self.diagnostics.push(
                    Diagnostic::error(codes::TOO_MANY_REPLICAS, message)
                        .at(span, "the limit is exceeded here")
                        .help("several edges on both sides of a port multiply"),
                );
                return false;
            }
            self.steps += 1;
            let Some((port, decl)) = self.port(channel.to) else {
                self.push(top, channel);
                if self.joined.len() as u64 > LIMIT {
                    let span = self.channels[top as usize].span;
                    self.diagnostics.push(too_many_channels(span));
                    return false;
                }
                continue;
            };
            let leaves = decl.direction == Direction::Output;
            let next = self.out_of.get(&port).cloned().unwrap_or_default();
            if next.is_empty() && leaves && self.is_of_graph(port) {
                channel.to.node = None;
                self.push(top, channel);
                continue;
            }
            if next.is_empty() {
                self.unjoined(port, if leaves { "outside" } else { "inside" });
            }
            for &index in next.iter().rev() {
                self.continued[index as usize] = true;
                let combined = self.combined(&channel, &self.channels[index as usize], leaves);
                stack.push((if leaves { index } else { top }, combined));
            }
        }
        true
    }

    fn push(&mut self, top: u32, channel: ChannelDecl) {
        // A port that leads from the environment to the environment joins nothing.
        if channel.from.node.is_some() || channel.to.node.is_some() {
            self.joined.push((top, channel));
        }
    }

    /// Reports an instance of a port, once for each declaration of a port.
    fn unjoined(&mut self, port: NodeId, side: &str) {
        let index = self.port_of[port.index()].unwrap_or(0);
        let span = self.declared.ports[index as usize].span;
        if self.reported.insert((span, Span::NONE)) {
            let name = self.declared.name(self.declared.nodes[port].name);
            self.diagnostics.push(
                Diagnostic::error(
                    codes::MODULE_PORT_UNJOINED,
                    format!("module port `{name}` is not joined {side} its module"),
                )
                .at(span, "")
                .help("join the same instances on both sides, or the others to `NULL`")
                .help("`at=` selects instances, and `step=1` joins each instance to the next"),
            );
        }
    }

    /// Returns the channel that `first` and `second` are together, which meet at a port. `leaves`
    /// is true if `second` is the outer one.
    fn combined(&mut self, first: &ChannelDecl, second: &ChannelDecl, leaves: bool) -> ChannelDecl {
        let outer = if leaves { second } else { first };
        let mut differ = None;
        let mut one_of = |what: &str, differs| {
            if differs && differ.is_none() {
                differ = Some(what.to_owned());
            }
        };
        let ends = [first, second];
        let stated = ends.map(|end| self.declared.extra(end));
        let traffic = [0, 1].map(|i| {
            let states = stated[i].is_some_and(|extra| extra.states_traffic);
            (states || ends[i].traffic != 1.0).then_some(ends[i].traffic)
        });
        let initial = [0, 1].map(|i| {
            let states = stated[i].is_some_and(|extra| extra.states_initial);
            (states || ends[i].initial > 0).then_some(ends[i].initial)
        });
        one_of("type", first.ty.zip(second.ty).is_some_and(|(a, b)| a != b));
        // The library has the default capacity for a size, so that it contradicts no other.
        let capacity = ends.map(|end| {
            let of_default = |capacity: &NonZeroU32| capacity.get() == DEFAULT_CAPACITY;
            end.capacity.filter(|capacity| !of_default(capacity))
        });
        let of_capacity = capacity[0].zip(capacity[1]);
        one_of("capacity", of_capacity.is_some_and(|(a, b)| a != b));
        let of_initial = initial[0].zip(initial[1]);
        one_of("initial", of_initial.is_some_and(|(a, b)| a != b));
        let of_traffic = traffic[0].zip(traffic[1]);
        one_of("traffic", of_traffic.is_some_and(|(a, b)| a != b));
        let extra = match (first.extra, second.extra) {
            (extra, None) | (None, extra) => extra,
            (a, b) => {
                let known = self.extras.get(&(a, b)).copied();
                known.unwrap_or_else(|| {
                    let (extra, contradiction) = self.combined_extra(first, second);
                    if let Some(what) = contradiction {
                        differ = differ.take().or(Some(what));
                    }
                    self.extras.insert((a, b), extra);
                    extra
                })
            }
        };
        if let Some(what) = differ
            && self.reported.insert((first.span, second.span))
        {
            let message = format!("`{what}=` differs on the two sides of a module port");
            let error = Diagnostic::error(codes::PORT_SIDES_DIFFER, message)
                .at(second.span, "one side")
                .also(first.span, "the other side");
            let sources = &self.declared.sources;
            let base = |span| sources.source(span).map(Source::base);
            self.diagnostics.push(match base(first.span) == base(second.span) {
                true => error.help(format!("remove `{what}=` on one of the two edges")),
                // An edge of a graph may have the attribute from a graph that it includes.
                false => error
                    .help(format!("use the same value of `{what}=` in both graphs"))
                    .help("if it is a size of an included graph, set the size at both nodes, or with `-D`"),
            });
        }
        ChannelDecl {
            from: first.from,
            to: second.to,
            ty: first.ty.or(second.ty),
            capacity: capacity[0].or(capacity[1]),
            initial: initial[0].or(initial[1]).unwrap_or(0),
            extra,
            traffic: traffic[0].or(traffic[1]).unwrap_or(1.0),
            within: None,
            span: outer.span,
        }
    }

    /// Returns the properties of two channels together, and the name of a property in which they
    /// contradict each other.
    fn combined_extra(
        &mut self,
        first: &ChannelDecl,
        second: &ChannelDecl,
    ) -> (Extra, Option<String>) {
        let of = |channel: &ChannelDecl| self.declared.extra(channel).cloned().unwrap_or_default();
        let (first, second) = (of(first), of(second));
        let mut differ = None;
        if first.tag.zip(second.tag).is_some_and(|(a, b)| a != b) {
            differ = Some("tag".to_owned());
        }
        if first.flow.zip(second.flow).is_some_and(|(a, b)| a != b) {
            differ = Some("flow".to_owned());
        }
        // A channel has a bundle at each end, and states at most one kind for each.
        let kinds = [
            first.bundle,
            first.other_bundle,
            second.bundle,
            second.other_bundle,
        ];
        let mut at_ends = [Direction::Output, Direction::Input].map(|direction| {
            let mut stated = kinds
                .iter()
                .flatten()
                .filter(|k| k.direction() == direction);
            let kind = stated.next().copied();
            if stated.any(|other| Some(*other) != kind) {
                differ = Some("bundle".to_owned());
            }
            kind
        });
        if at_ends[0].is_none() {
            at_ends.swap(0, 1);
        }
        let Declared {
            names, attributes, ..
        } = &mut *self.declared;
        let lists = &mut attributes.lists;
        let (attributes, name) = lists.union(names, first.attributes, second.attributes);
        let differ = differ.or_else(|| name.map(|name| names.name(name).to_owned()));
        let extra = ChannelExtra {
            attributes,
            tag: first.tag.or(second.tag),
            flow: first.flow.or(second.flow),
            bundle: at_ends[0],
            other_bundle: at_ends[1],
            bundle_name: first.bundle_name.or(second.bundle_name),
            lone: first.lone || second.lone,
            vacant: first.vacant || second.vacant,
            states_initial: first.states_initial || second.states_initial,
            states_traffic: first.states_traffic || second.states_traffic,
            span: if first.span.is_none() {
                second.span
            } else {
                first.span
            },
            ..ChannelExtra::default()
        };
        (self.declared.add_extra(extra), differ)
    }
}

/// Removes the nodes that are ports, and numbers the others again.
fn remove_ports(declared: &mut Declared, port_of: &[Option<u32>]) {
    let mut kept = Arena::new();
    let nodes = std::mem::take(&mut declared.nodes);
    let number: Vec<Option<NodeId>> = nodes
        .values()
        .zip(port_of)
        .map(|(node, port)| port.is_none().then(|| kept.push(node.clone())))
        .collect();
    declared.nodes = kept;
    declared.ports.clear();
    declared.attributes.nodes.renumber(&number);
    for channel in &mut declared.channels {
        for end in [&mut channel.from, &mut channel.to] {
            end.node = end.node.and_then(|node| number[node.index()]);
        }
    }
    declared.arguments.retain_mut(|arguments| {
        let new = number[arguments.node.index()];
        arguments.node = new.unwrap_or(arguments.node);
        new.is_some()
    });
    declared
        .constraints
        .retain_mut(|constraint| match &mut constraint.target {
            ConstraintTarget::Module(_) => true,
            ConstraintTarget::Node(node) => match number[node.index()] {
                Some(new) => {
                    *node = new;
                    true
                }
                None => false,
            },
        });
}
