//! Declarations of the model: each composition is a module, and each process in it a node.

use crate::architecture::{Architecture, Argument, PartId, defined_twice};
use crate::flatten::{Channel, End, Flat};
use crate::syntax::{File, Name, Pair};
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::arguments::{self, ArgumentList, Parameter, ParameterType};
use graphmap_kpn::codes::TOO_MANY_REPLICAS;
use graphmap_kpn::declared::{
    ArgumentsDecl, BundleKind, ChannelDecl, ChannelExtra, Declared, EndDecl, Flow, InstancePair,
    ListedPairs, ModuleDecl, ModuleId, NodeDecl, NodeId,
};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

/// Limit on the processes of the text after the compositions are instantiated.
const MOST_NODES: usize = 1 << 22;
/// Limit on the ports of all processes.
const MOST_PORTS: u64 = 1 << 30;

/// A composition that is instantiated: as a part of another, or by itself.
struct Site {
    composition: usize,
    module: ModuleId,
    /// Number of the first node.
    node: u32,
    /// Number of instances of the composition.
    instances: u64,
}

/// A process of the text inside an instantiated composition.
struct Leaf {
    process: usize,
    /// Number of all instances.
    instances: u64,
    /// Index of the first port of the first instance in [`Declaring::joined`].
    ports: u64,
}

/// A port of a process: number of the process, true for an output, and number of the port.
type PortKey = (usize, bool, u32);

struct Declaring<'a, 'f> {
    architecture: &'a Architecture<'f>,
    flats: &'a [Flat<'f>],
    out: Declared,
    sites: Vec<Site>,
    leaves: Vec<Leaf>,
    /// True for each port of each instance that has a channel.
    joined: Vec<bool>,
    /// Ports with several channels.
    shared: FxHashSet<PortKey>,
    /// Ports of channels with `buffersize`.
    buffered: FxHashSet<PortKey>,
    /// Ports whose channels are flow-controlled.
    controlled: FxHashSet<PortKey>,
    /// Symbols of the ports of each process: inputs and outputs.
    ports: Vec<[Vec<Symbol>; 2]>,
}

/// Returns the declarations of all compositions that are not only parts of others.
pub(crate) fn declare<'f>(
    architecture: &Architecture<'f>,
    flats: &[Flat<'f>],
    files: &'f [File],
    diagnostics: &mut Diagnostics,
) -> Declared {
    let mut declaring = Declaring {
        architecture,
        flats,
        out: Declared::default(),
        sites: Vec::new(),
        leaves: Vec::new(),
        joined: Vec::new(),
        shared: FxHashSet::default(),
        buffered: FxHashSet::default(),
        controlled: FxHashSet::default(),
        ports: Vec::new(),
    };
    if !declaring.instantiate(diagnostics) {
        return declaring.out;
    }
    if !declaring.find_ports(diagnostics) {
        return declaring.out;
    }
    let joins = declaring.count_channels();
    declaring.control(&joins);
    declaring.channels();
    declaring.environment();
    declaring.functions(files, diagnostics);
    declaring.arguments(diagnostics);
    declaring.out
}

impl<'f> Declaring<'_, 'f> {
    /// Adds the modules and nodes. Returns false after an error, which was reported.
    fn instantiate(&mut self, diagnostics: &mut Diagnostics) -> bool {
        for (number, of) in self.architecture.compositions.iter().enumerate() {
            if of.declaration.is_intermediate {
                continue;
            }
            // Each entry is a site, the full name of its composition, and its next part.
            let name = &of.declaration.name;
            let site = self.site(number, None, 1, 1, &name.text, name.span);
            let mut stack = vec![(site, name.text.clone(), 0)];
            while let Some((site, path, next)) = stack.pop() {
                let Site {
                    composition,
                    module,
                    instances,
                    ..
                } = self.sites[site];
                let flat = &self.flats[composition];
                let Some(part) = flat.parts.get(next) else {
                    continue;
                };
                stack.push((site, path.clone(), next + 1));
                let full = format!("{path}.{}", part.name.text);
                match part.id {
                    PartId::Process(process) => {
                        self.leaf(process, module, instances, part.count, &full, part.name);
                    }
                    PartId::Composition(inner) => {
                        let kind = &part.name.text;
                        let inner = self.site(
                            inner,
                            Some(module),
                            instances,
                            part.count,
                            kind,
                            part.name.span,
                        );
                        stack.push((inner, full, 0));
                    }
                }
                if self.leaves.len() > MOST_NODES || self.sites.len() > MOST_NODES {
                    diagnostics.push(
                        Diagnostic::error(
                            TOO_MANY_REPLICAS,
                            "the compositions have too many parts",
                        )
                        .at(name.span, format!("more than {MOST_NODES} parts"))
                        .help("write a number of instances instead of several parts"),
                    );
                    return false;
                }
            }
        }
        true
    }

    fn site(
        &mut self,
        composition: usize,
        parent: Option<ModuleId>,
        around: u64,
        count: u32,
        kind: &str,
        span: Span,
    ) -> usize {
        let module = self.out.modules.push(ModuleDecl {
            name: self.out.names.intern(&format!("cluster_{kind}")),
            kind: self.out.names.intern(kind),
            parent,
            replicas: (count != 1).then_some(count),
            closed: false,
            span,
        });
        self.sites.push(Site {
            composition,
            module,
            node: self.leaves.len() as u32,
            instances: around.saturating_mul(u64::from(count)),
        });
        self.sites.len() - 1
    }

    fn leaf(
        &mut self,
        process: usize,
        module: ModuleId,
        around: u64,
        count: u32,
        name: &str,
        part: &Name,
    ) {
        self.out.nodes.push(NodeDecl {
            name: self.out.names.intern(name),
            process: None,
            kind: self.out.names.intern(&part.text),
            module: Some(module),
            replicas: (count != 1).then_some(count),
            port_prefix: None,
            load: 1.0,
            mem: 0.0,
            span: part.span,
        });
        self.leaves.push(Leaf {
            process,
            instances: around.saturating_mul(u64::from(count)),
            ports: 0,
        });
    }
}

impl<'f> Declaring<'_, 'f> {
    /// Numbers the ports. Returns false after an error, which was reported.
    fn find_ports(&mut self, diagnostics: &mut Diagnostics) -> bool {
        for of in &self.architecture.processes {
            let process = of.declaration;
            let mut symbols = |ports: &[Name]| -> Vec<Symbol> {
                ports
                    .iter()
                    .map(|port| self.out.names.intern(&port.text))
                    .collect()
            };
            self.ports
                .push([symbols(&process.inputs), symbols(&process.outputs)]);
        }
        let mut all: u64 = 0;
        for (leaf, node) in self.leaves.iter_mut().zip(self.out.nodes.values()) {
            leaf.ports = all;
            let ports = self.ports[leaf.process].iter().map(Vec::len).sum::<usize>() as u64;
            all = all.saturating_add(leaf.instances.saturating_mul(ports.max(1)));
            if all > MOST_PORTS {
                diagnostics.push(
                    Diagnostic::error(TOO_MANY_REPLICAS, "the processes have too many ports")
                        .at(node.span, format!("the limit is {MOST_PORTS}"))
                        .help("correct the numbers of instances"),
                );
                return false;
            }
        }
        self.joined = vec![false; all as usize];
        true
    }

    /// Returns the key of a port, and its index in `joined` for an instance.
    fn port(&self, site: &Site, end: End, is_output: bool, around: u64) -> (PortKey, usize) {
        let leaf = &self.leaves[(site.node + end.leaf) as usize];
        let inside = u64::from(self.flats[site.composition].leaves[end.leaf as usize].1);
        let instance = around * inside + u64::from(end.index);
        let key = (leaf.process, is_output, end.port);
        (key, leaf.ports as usize + self.place(key, instance))
    }

    fn place(&self, (process, is_output, port): PortKey, instance: u64) -> usize {
        let [inputs, outputs] = &self.ports[process];
        let before = if is_output { inputs.len() } else { 0 };
        instance as usize * (inputs.len() + outputs.len()) + before + port as usize
    }

    /// Finds the ports with channels, and those with several channels. Returns the pairs of ports
    /// that channels join.
    fn count_channels(&mut self) -> FxHashSet<(PortKey, PortKey)> {
        let mut joins = FxHashSet::default();
        for site in &self.sites {
            for channel in &self.flats[site.composition].channels {
                let from = self.port(site, channel.from, true, 0).0;
                let to = self.port(site, channel.to, false, 0).0;
                joins.insert((from, to));
                if channel.properties.buffer_size.is_some() {
                    self.buffered.extend([from, to]);
                }
                for around in 0..site.instances {
                    for (end, is_output) in [(channel.from, true), (channel.to, false)] {
                        let (key, at) = self.port(site, end, is_output, around);
                        if end.is_shared || self.joined[at] {
                            self.shared.insert(key);
                        }
                        self.joined[at] = true;
                    }
                }
            }
        }
        joins
    }

    /// Finds the ports whose channels are flow-controlled. They are joined, over any number of
    /// ports, to a port with several channels of which one has a `buffersize`, but not to a channel
    /// with such a port at both ends. All channels at a port are flow-controlled or none.
    fn control(&mut self, joins: &FxHashSet<(PortKey, PortKey)>) {
        let mut others: FxHashMap<PortKey, Vec<PortKey>> = FxHashMap::default();
        for &(from, to) in joins {
            others.entry(from).or_default().push(to);
            others.entry(to).or_default().push(from);
        }
        let reached = |start: Vec<PortKey>| {
            let mut found: FxHashSet<PortKey> = start.iter().copied().collect();
            let mut stack = start;
            while let Some(port) = stack.pop() {
                let next = others.get(&port).into_iter().flatten();
                stack.extend(next.filter(|other| found.insert(**other)));
            }
            found
        };
        let at_both = |(from, to): &&(PortKey, PortKey)| {
            self.shared.contains(from) && self.shared.contains(to)
        };
        let excluded = reached(
            joins
                .iter()
                .filter(at_both)
                .map(|(from, _)| *from)
                .collect(),
        );
        let buffered = self.shared.intersection(&self.buffered);
        self.controlled = reached(buffered.copied().collect());
        self.controlled.retain(|port| !excluded.contains(port));
    }

    fn channels(&mut self) {
        // The pairs of a composition are stored once.
        let flats = self.flats;
        let runs: Vec<_> = flats.iter().map(|flat| self.runs(&flat.channels)).collect();
        for index in 0..self.sites.len() {
            let Site {
                composition,
                module,
                node,
                ..
            } = self.sites[index];
            for (channel, first, count) in &runs[composition] {
                let pairs = ListedPairs {
                    first: *first,
                    count: *count,
                    several_writers: Some(false),
                };
                self.channel(channel, node, module, pairs);
            }
        }
    }

    /// Stores the pairs of channels between the same ports. Returns the first of these channels,
    /// the index of the first pair, and the number of pairs.
    fn runs(&mut self, channels: &[Channel]) -> Vec<(Channel, u32, u32)> {
        let key = |channel: &Channel| {
            let Channel {
                from,
                to,
                properties,
                span,
            } = channel;
            (
                (from.leaf, from.port),
                (to.leaf, to.port),
                *properties,
                *span,
            )
        };
        let mut runs = Vec::new();
        for run in channels.chunk_by(|a, b| key(a) == key(b)) {
            let first = self.out.pairs.len() as u32;
            let pair = |channel: &Channel| -> InstancePair {
                (channel.from.index as i32 + 1, channel.to.index as i32 + 1)
            };
            self.out.pairs.extend(run.iter().map(pair));
            runs.push((run[0], first, run.len() as u32));
        }
        runs
    }

    fn channel(
        &mut self,
        channel: &Channel,
        first_node: u32,
        module: ModuleId,
        pairs: ListedPairs,
    ) {
        let end = |this: &Self, end: End, is_output: bool| {
            let node = first_node + end.leaf;
            let process = this.leaves[node as usize].process;
            let key = (process, is_output, end.port);
            let port = this.ports[process][usize::from(is_output)][end.port as usize];
            let node = Some(NodeId::from_index(node as usize));
            (EndDecl { node, port }, this.shared.contains(&key), key)
        };
        let (from, is_share, key) = end(self, channel.from, true);
        let (to, is_select, _) = end(self, channel.to, false);
        let (bundle, other_bundle) = match (is_share, is_select) {
            (true, true) => (Some(BundleKind::Share), Some(BundleKind::Select)),
            (true, false) => (Some(BundleKind::Share), None),
            (false, true) => (Some(BundleKind::Select), None),
            (false, false) => (None, None),
        };
        let extra = self.out.add_extra(ChannelExtra {
            tag: channel.properties.tag,
            flow: self.controlled.contains(&key).then_some(Flow::Credits),
            bundle,
            other_bundle,
            pairs: Some(pairs),
            span: channel.span,
            ..ChannelExtra::default()
        });
        self.out.channels.push(ChannelDecl {
            from,
            to,
            ty: None,
            capacity: channel.properties.buffer_size,
            initial: 0,
            extra,
            traffic: 1.0,
            within: Some(module),
            span: channel.span,
        });
    }

    /// Joins the ports without channels to the environment.
    fn environment(&mut self) {
        let none = self.out.names.intern("");
        for index in 0..self.leaves.len() {
            let Leaf {
                process,
                instances,
                ports: base,
            } = self.leaves[index];
            let span = self.out.nodes[NodeId::from_index(index)].span;
            for is_output in [false, true] {
                for port in 0..self.ports[process][usize::from(is_output)].len() {
                    let key = (process, is_output, port as u32);
                    let first = self.out.pairs.len() as u32;
                    for instance in 0..instances {
                        if !self.joined[base as usize + self.place(key, instance)] {
                            let number = instance as i32 + 1;
                            self.out.pairs.push((number, number));
                        }
                    }
                    let count = self.out.pairs.len() as u32 - first;
                    if count == 0 {
                        continue;
                    }
                    let bundle = self.shared.contains(&key).then_some(match is_output {
                        true => BundleKind::Share,
                        false => BundleKind::Select,
                    });
                    let extra = self.out.add_extra(ChannelExtra {
                        flow: self.controlled.contains(&key).then_some(Flow::Credits),
                        bundle,
                        pairs: Some(ListedPairs {
                            first,
                            count,
                            several_writers: Some(false),
                        }),
                        span,
                        ..ChannelExtra::default()
                    });
                    let own = EndDecl {
                        node: Some(NodeId::from_index(index)),
                        port: self.ports[process][usize::from(is_output)][port],
                    };
                    let outside = EndDecl {
                        node: None,
                        port: none,
                    };
                    let (from, to) = match is_output {
                        true => (own, outside),
                        false => (outside, own),
                    };
                    self.out.channels.push(ChannelDecl {
                        from,
                        to,
                        ty: None,
                        capacity: None,
                        initial: 0,
                        extra,
                        traffic: 1.0,
                        within: None,
                        span,
                    });
                }
            }
        }
    }

    /// Keeps the functions of the processes as attributes `function` and `header`.
    fn functions(&mut self, files: &'f [File], diagnostics: &mut Diagnostics) {
        let mut known: FxHashMap<&str, (&Name, &Pair)> = FxHashMap::default();
        for (name, pair) in files.iter().flat_map(|file| &file.functions) {
            if let Some((other, _)) = known.get(&*name.text) {
                diagnostics.push(defined_twice("function of the process", name, other.span));
                continue;
            }
            if self.architecture.process(name, diagnostics).is_some() {
                known.insert(&name.text, (name, pair));
            }
        }
        for index in 0..self.leaves.len() {
            let node = NodeId::from_index(index);
            let kind = self.out.nodes[node].kind;
            let Some((_, pair)) = known.get(self.out.names.name(kind)) else {
                continue;
            };
            let names = &mut self.out.names;
            let list = vec![
                (names.intern("function"), names.intern(&pair.second.text)),
                (names.intern("header"), names.intern(&pair.first.text)),
            ];
            let list = self.out.attributes.lists.add(&self.out.names, list);
            self.out.attributes.nodes.set(node, list);
        }
    }

    fn arguments(&mut self, diagnostics: &mut Diagnostics) {
        let mut lists: Vec<Option<ArgumentList>> = Vec::new();
        for of in &self.architecture.processes {
            let given = &of.declaration.parameters;
            let (mut parameters, mut values) = (Vec::new(), Vec::new());
            for name in given {
                let Some(value) = self.architecture.argument(of.structure, name, diagnostics)
                else {
                    continue;
                };
                let (ty, value) = match value {
                    Argument::Number(number) => ("i64", arguments::Value::Integer(number.into())),
                    Argument::Text(text) => ("String", arguments::Value::Text(text.to_owned())),
                };
                parameters.push(Parameter {
                    name: name.text.clone(),
                    ty: ParameterType::from_name(ty).expect("a type of Rust"),
                });
                values.push(arguments::Argument::Value(value));
            }
            let span = match (given.first(), given.last()) {
                (Some(first), Some(last)) => first.span.to(last.span),
                _ => Span::NONE,
            };
            lists.push((!parameters.is_empty()).then(|| ArgumentList {
                parameters: parameters.into(),
                arguments: values,
                parameters_span: span,
                span,
            }));
        }
        for (index, leaf) in self.leaves.iter().enumerate() {
            if let Some(list) = &lists[leaf.process] {
                self.out.arguments.push(ArgumentsDecl {
                    node: NodeId::from_index(index),
                    list: list.clone(),
                });
            }
        }
    }
}
