//! Networks for tests. Each has a text, so that all elements have positions.

#![allow(dead_code, unreachable_pub)]

use graphmap_kpn::arguments::{self, Argument, ArgumentList, Parsed};
use graphmap_kpn::declared::{
    ArgumentsDecl, BundleKind, ChannelDecl, ChannelExtra, Declared, EndDecl, Flow, ModuleDecl,
    ModuleId, NodeDecl, NodeId, kind_of_name,
};
use graphmap_kpn::mapping::{Mapped, Mapping};
use graphmap_kpn::network::Verified;
use graphmap_kpn::sizes::Place;
use graphmap_kpn::source::Span;
use std::collections::HashMap;

/// Builder of a graph.
pub struct Graph {
    file: String,
    text: String,
    declared: Declared,
    nodes: HashMap<String, NodeId>,
    module: Option<ModuleId>,
}

impl Graph {
    pub fn new(name: &str) -> Graph {
        Graph {
            file: format!("graphs/{name}.dot"),
            text: format!("digraph {name} {{\n"),
            declared: Declared {
                name: name.into(),
                ..Declared::default()
            },
            nodes: HashMap::new(),
            module: None,
        }
    }

    fn line(&mut self, text: &str) -> Span {
        self.text.push_str("  ");
        let start = self.text.len() as u32;
        self.text.push_str(text);
        self.text.push('\n');
        Span::new(start, start + text.len() as u32)
    }

    /// Adds a module, and in it the declarations that `inside` makes.
    pub fn module(&mut self, name: &str, kind: &str, inside: impl FnOnce(&mut Graph)) {
        let span = self.line(&format!("subgraph {name} {{ module={kind};"));
        let module = ModuleDecl {
            name: self.declared.names.intern(name),
            kind: self.declared.names.intern(kind),
            parent: self.module,
            replicas: None,
            closed: false,
            span,
        };
        let outer = self.module.replace(self.declared.modules.push(module));
        inside(self);
        self.module = outer;
        self.text.push_str("  }\n");
    }

    /// Adds a node of the split process `process`. Panics if `name` is `NULL`.
    pub fn split_node(&mut self, name: &str, process: &str) -> &mut Graph {
        let node = self.node(name).expect("not the environment");
        let kind = self.declared.names.intern(kind_of_name(process));
        let process = self.declared.names.intern(process);
        let node = &mut self.declared.nodes[node];
        (node.process, node.kind) = (Some(process), kind);
        self
    }

    /// Returns the node of this name, and adds it to the current module if it is new. Returns
    /// `None` for `NULL`, the environment.
    pub fn node(&mut self, name: &str) -> Option<NodeId> {
        if name == "NULL" {
            return None;
        }
        if let Some(&node) = self.nodes.get(name) {
            // As in DOT: the first module that names a node contains it, even if the node was named
            // before.
            let module = &mut self.declared.nodes[node].module;
            *module = module.or(self.module);
            return Some(node);
        }
        let span = self.line(&format!("\"{name}\";"));
        let node = NodeDecl {
            name: self.declared.names.intern(name),
            process: None,
            port_prefix: None,
            kind: self.declared.names.intern(kind_of_name(name)),
            module: self.module,
            replicas: None,
            load: 1.0,
            mem: 0.0,
            span,
        };
        let id = self.declared.nodes.push(node);
        self.nodes.insert(name.into(), id);
        Some(id)
    }

    /// Sets the parameters of a node and the values of its arguments, as in `params=` and `args=`.
    pub fn arguments(&mut self, node: &str, parameters: &str, values: &str) {
        let node = self.node(node).expect("not the environment");
        let span = self.line(&format!("params=\"{parameters}\", args=\"{values}\";"));
        let value = |parsed| match parsed {
            Parsed::Value(value) => Argument::Value(value),
            Parsed::Expression(at) => panic!("{} is not a value", &values[at]),
        };
        let values = arguments::arguments(values).unwrap().into_iter();
        let list = ArgumentList {
            parameters: arguments::parameters(parameters, Place::NONE).unwrap(),
            arguments: values.map(value).collect(),
            parameters_span: span,
            span,
        };
        self.declared.arguments.push(ArgumentsDecl { node, list });
    }

    /// Adds a channel between `node.port` and `node.port`, and the nodes that do not exist. The
    /// default ports are `out` and `in`.
    pub fn channel(&mut self, from: &str, to: &str) -> &mut Graph {
        let mut end = |text: &str, port: &str| {
            let (node, port) = text.split_once('.').unwrap_or((text, port));
            EndDecl {
                node: self.node(node),
                port: self.declared.names.intern(port),
            }
        };
        let (writer, reader) = (end(from, "out"), end(to, "in"));
        let span = self.line(&format!("{from} -> {to};"));
        self.declared.channels.push(ChannelDecl {
            from: writer,
            to: reader,
            ty: None,
            capacity: None,
            initial: 0,
            extra: None,
            traffic: 1.0,
            within: None,
            span,
        });
        self
    }

    /// Sets the kind of a node, which is added if it does not exist. Panics if `name` is `NULL`.
    pub fn kind(&mut self, name: &str, kind: &str) -> &mut Graph {
        let node = self.node(name).expect("no environment");
        self.declared.nodes[node].kind = self.declared.names.intern(kind);
        self
    }

    fn last(&mut self) -> &mut ChannelDecl {
        self.declared.channels.last_mut().expect("after a channel")
    }

    /// Sets the payload type of the last channel. Panics if there is no channel.
    pub fn ty(&mut self, ty: &str) -> &mut Graph {
        let ty = self.declared.names.intern(ty);
        self.last().ty = Some(ty);
        self
    }

    /// Sets the capacity and the number of initial tokens of the last channel. A capacity of 0
    /// means the default. Panics if there is no channel.
    pub fn holds(&mut self, capacity: u32, initial: u32) -> &mut Graph {
        self.last().capacity = std::num::NonZeroU32::new(capacity);
        self.last().initial = initial;
        self
    }

    /// Makes the last channel a member of a bundle, and resets its other extra attributes. Panics
    /// if there is no channel.
    pub fn bundle(&mut self, kind: BundleKind) -> &mut Graph {
        let span = self.last().span;
        let extra = self.declared.add_extra(ChannelExtra {
            bundle: Some(kind),
            span,
            ..ChannelExtra::default()
        });
        self.last().extra = extra;
        self
    }

    /// Makes the last channel flow-controlled. Panics if there is no channel.
    pub fn flow(&mut self, flow: Flow) -> &mut Graph {
        let last = self.declared.channels.last();
        let old = self.declared.extra(last.expect("after a channel"));
        let mut extra = old.cloned().unwrap_or_default();
        (extra.flow, extra.span) = (Some(flow), self.last().span);
        self.last().extra = self.declared.add_extra(extra);
        self
    }

    /// Sets `skeleton=` of the graph.
    pub fn skeleton(&mut self, name: &str) -> &mut Graph {
        let span = self.line(&format!("skeleton={name};"));
        self.declared.skeleton = Some((name.into(), span));
        self
    }

    /// Returns the text of the graph so far, with its closing brace.
    pub fn text(&self) -> String {
        format!("{}}}\n", self.text)
    }

    /// Returns the verified network. Panics if the graph has errors.
    pub fn network(mut self) -> Verified {
        self.text.push_str("}\n");
        self.declared.sources.add(self.file, self.text).unwrap();
        let (declared, _) = graphmap_kpn::expand::expand(self.declared).unwrap();
        let (network, _) = graphmap_kpn::resolve::resolve(declared).unwrap();
        graphmap_kpn::infer::infer(network)
            .and_then(graphmap_kpn::verify::verify)
            .unwrap()
            .0
    }

    /// Returns the network mapped onto one OS process. Panics if the graph has errors.
    pub fn mapped(self) -> Mapped {
        let network = self.network();
        let mapping = Mapping::stack(network.processes.len(), 1);
        Mapped::new(network, mapping).unwrap()
    }
}

/// Returns the farm of the thesis: a manager of two nodes, and `inTask`, `outTask`, `doTask`,
/// `outResult`, `inResult` in each module. `modules` must be at least 1.
pub fn farm(modules: usize) -> Graph {
    let mut g = Graph::new("farm");
    g.split_node("managerPut", "manager")
        .split_node("managerGet", "manager");
    g.channel("managerPut", "inTask1").ty("Task");
    g.channel("outResult1", "managerGet").ty("Answer");
    g.channel("NULL", "managerPut");
    g.channel("managerGet", "NULL");
    for i in 1..=modules {
        g.module(&format!("cluster_{i}"), "thefarm", |g| {
            g.channel(&format!("inTask{i}"), &format!("outTask{i}"))
                .ty("Task");
            g.channel(&format!("inTask{i}.outlocal"), &format!("doTask{i}"))
                .ty("Task");
            for from in [format!("doTask{i}"), format!("inResult{i}")] {
                g.channel(&from, &format!("outResult{i}"));
                g.ty("Answer").bundle(BundleKind::Select);
            }
            for from in [format!("outTask{i}.outreq"), format!("doTask{i}.outreq")] {
                g.channel(&from, &format!("inTask{i}.inreq"));
                g.ty("Request").bundle(BundleKind::Select);
            }
        });
        let next = i + 1;
        if i < modules {
            g.channel(&format!("outTask{i}"), &format!("inTask{next}"))
                .ty("Task");
            g.channel(&format!("outResult{next}"), &format!("inResult{i}"))
                .ty("Answer");
        } else {
            g.channel(&format!("outTask{i}"), "NULL");
            g.channel("NULL", &format!("inResult{i}"));
        }
    }
    g
}

/// Returns a grid of cells. Each is joined to its neighbours in both directions, and at the border
/// to the environment.
pub fn grid(rows: usize, columns: usize) -> Graph {
    let mut g = Graph::new("stencil");
    let cell = |r: usize, c: usize| format!("cell{}_{}", r + 1, c + 1);
    for r in 0..rows {
        for c in 0..columns {
            g.node(&cell(r, c));
        }
    }
    let mut join = |one: Option<String>, other: Option<String>, (out, into): (&str, &str)| {
        let name = |n: Option<String>| n.unwrap_or_else(|| "NULL".into());
        let (one, other) = (name(one), name(other));
        g.channel(&format!("{one}.{out}"), &format!("{other}.{into}"))
            .ty("f64")
            .holds(2, 1);
        if one == "NULL" || other == "NULL" {
            g.holds(1, 0);
        }
    };
    for r in 0..rows {
        for c in 0..columns {
            let at = |rr: usize, cc: usize| (rr < rows && cc < columns).then(|| cell(rr, cc));
            let here = || Some(cell(r, c));
            join(here(), at(r, c + 1), ("toright", "fromleft"));
            join(here(), at(r + 1, c), ("todown", "fromup"));
            join(here(), at(r, c.wrapping_sub(1)), ("toleft", "fromright"));
            join(here(), at(r.wrapping_sub(1), c), ("toup", "fromdown"));
            if c == 0 {
                join(None, here(), ("out", "fromleft"));
            }
            if r == 0 {
                join(None, here(), ("out", "fromup"));
            }
            if c + 1 == columns {
                join(None, here(), ("out", "fromright"));
            }
            if r + 1 == rows {
                join(None, here(), ("out", "fromdown"));
            }
        }
    }
    g
}

/// Returns a tree in the order of a heap. A node gathers from its children and writes to its
/// parent. Panics if `arity` is 0 and there are several nodes.
pub fn tree(nodes: usize, arity: usize) -> Graph {
    let mut g = Graph::new("sum");
    let name = |i: usize| match i {
        0 => "root".to_owned(),
        _ if i * arity + 1 < nodes => format!("inner{i}"),
        _ => format!("leaf{i}"),
    };
    for i in 0..nodes {
        g.node(&name(i));
    }
    for i in 1..nodes {
        g.channel(&name(i), &name((i - 1) / arity))
            .ty("f64")
            .bundle(BundleKind::Reduce);
    }
    g
}

/// Returns a pool: a master shares tasks among workers and selects their answers.
pub fn pool(workers: usize) -> Graph {
    let mut g = Graph::new("pool");
    for i in 1..=workers {
        g.channel("master", &format!("worker{i}"))
            .ty("u32")
            .bundle(BundleKind::Share);
        g.channel(&format!("worker{i}"), "master")
            .ty("(u32, f64)")
            .bundle(BundleKind::Select);
    }
    g
}

/// Returns a source, a row of `filters` filters (at least 1), and a sink.
pub fn chain(filters: usize) -> Graph {
    let mut g = Graph::new("sieve");
    g.channel("source", "filter1").ty("u64").holds(16, 0);
    for i in 1..filters {
        g.channel(&format!("filter{i}"), &format!("filter{}", i + 1))
            .ty("u64")
            .holds(16, 0);
    }
    g.channel(&format!("filter{filters}"), "sink")
        .ty("u64")
        .holds(16, 0);
    g
}

/// Returns a pseudorandom network of one kind. All its ports are bundles. The network has
/// `channels` channels, but at least one for each process. Panics if `processes` is 0 and
/// `channels` is not.
pub fn random(processes: u64, channels: u64) -> Graph {
    let mut g = Graph::new("random");
    let mut state = 42u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % processes
    };
    for i in 0..processes {
        g.node(&format!("n{i}"));
    }
    // A cycle first, so that each process has both ports.
    for i in 0..processes {
        let to = (i + 1) % processes;
        g.channel(&format!("n{i}"), &format!("n{to}"))
            .bundle(BundleKind::Share);
    }
    for _ in processes..channels {
        let (from, to) = (next(), next());
        g.channel(&format!("n{from}"), &format!("n{to}"))
            .bundle(BundleKind::Share);
    }
    g
}
