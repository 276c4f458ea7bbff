//! Merges nodes into processes. A split process has several nodes.

use crate::arena::{Arena, Id};
use crate::codes;
use crate::declared::{NodeDecl, NodeId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::{Names, Symbol};
use crate::network::{Kind, KindId, Process, ProcessId};
use rustc_hash::FxHashMap;

/// Load of a node that does not state one.
const DEFAULT_LOAD: f64 = 1.0;

/// Processes and kinds after merging nodes.
pub(super) struct MergedNodes {
    pub(super) processes: Arena<ProcessId, Process>,
    pub(super) kinds: Arena<KindId, Kind>,
    pub(super) process_of: Vec<ProcessId>,
    /// Prefix of the names of the ports, for each node of a split process.
    pub(super) port_prefix_of: FxHashMap<NodeId, String>,
}

impl MergedNodes {
    /// Merges the nodes of each split process into one process. The first node determines the kind
    /// and the module of the process. Kinds are created in the order of their first processes.
    ///
    /// Reports nodes that contradict each other, equal names of processes, and equal prefixes of
    /// ports. The load and the memory of a split process are the largest of its nodes, where the
    /// default load does not count.
    pub(super) fn of(
        nodes: &Arena<NodeId, NodeDecl>,
        names: &Names,
        diagnostics: &mut Diagnostics,
    ) -> MergedNodes {
        let mut merged = MergedNodes {
            processes: Arena::with_capacity(nodes.len()),
            kinds: Arena::new(),
            process_of: Vec::with_capacity(nodes.len()),
            port_prefix_of: FxHashMap::default(),
        };
        let mut kinds: FxHashMap<Symbol, KindId> = FxHashMap::default();
        let mut first_node: FxHashMap<Symbol, NodeId> = FxHashMap::default();
        for (id, node) in nodes.iter() {
            let known = node.process.and_then(|p| first_node.get(&p).copied());
            if let Some(first) = known {
                let process = merged.process_of[first.index()];
                merged.process_of.push(process);
                for part in [first, id] {
                    let prefix = nodes[part].port_prefix(names).unwrap_or_default();
                    merged.port_prefix_of.insert(part, prefix);
                }
                merged.merge(process, node, &nodes[first], names, diagnostics);
                continue;
            }
            let kind = *kinds.entry(node.kind).or_insert_with(|| {
                merged.kinds.push(Kind {
                    name: node.kind,
                    members: Vec::new(),
                    ports: Vec::new(),
                    span: node.span,
                })
            });
            let process = merged.processes.push(Process {
                name: node.process.unwrap_or(node.name),
                kind,
                module: node.module,
                load: node.load,
                mem: node.mem,
                span: node.span,
                first_port: 0,
            });
            merged.kinds[kind].members.push(process);
            merged.process_of.push(process);
            if let Some(name) = node.process {
                first_node.insert(name, id);
            }
        }
        merged.check_names(names, diagnostics);
        merged.check_prefixes(nodes, names, diagnostics);
        merged
    }

    /// Reports processes with equal names, because names identify processes.
    fn check_names(&self, names: &Names, diagnostics: &mut Diagnostics) {
        let mut owner: Vec<Option<ProcessId>> = vec![None; names.len()];
        for (id, process) in self.processes.iter() {
            let Some(other) = owner[process.name.index()].replace(id) else {
                continue;
            };
            let name = names.name(process.name);
            diagnostics.push(
                Diagnostic::error(
                    codes::NAME_COLLISION,
                    format!("two processes are named `{name}`"),
                )
                .at(process.span, "one of the two")
                .also(self.processes[other].span, "the other")
                .help(format!(
                    "rename one of them, or set `process={name}` on both if they are nodes of one \
                     process"
                )),
            );
        }
    }

    /// Reports two nodes of one split process whose ports would have the same prefix.
    fn check_prefixes(
        &self,
        nodes: &Arena<NodeId, NodeDecl>,
        names: &Names,
        diagnostics: &mut Diagnostics,
    ) {
        if self.port_prefix_of.is_empty() {
            return;
        }
        let mut known: FxHashMap<(ProcessId, &str), NodeId> = FxHashMap::default();
        for (id, node) in nodes.iter() {
            let Some(prefix) = self.port_prefix_of.get(&id) else {
                continue;
            };
            let process = self.process_of[id.index()];
            if let Some(other) = known.insert((process, prefix), id) {
                let (a, b) = (names.name(nodes[other].name), names.name(node.name));
                let of = names.name(self.processes[process].name);
                diagnostics.push(
                    Diagnostic::error(
                        codes::NAME_COLLISION,
                        format!(
                            "ports of nodes `{a}` and `{b}` of process `{of}` would have the same \
                             prefix, `{prefix}`"
                        ),
                    )
                    .at(node.span, "one of the two")
                    .also(nodes[other].span, "the other")
                    .help(
                        "rename one of them: the prefix is the name of the node without the name \
                         of the process",
                    ),
                );
            }
        }
    }

    fn merge(
        &mut self,
        process: ProcessId,
        node: &NodeDecl,
        first: &NodeDecl,
        names: &Names,
        diagnostics: &mut Diagnostics,
    ) {
        if node.kind != first.kind {
            let process = names.name(self.processes[process].name);
            diagnostics.push(
                Diagnostic::error(
                    codes::FACES_DISAGREE,
                    format!(
                        "nodes of process `{process}` have different kinds, `{}` and `{}`",
                        names.name(first.kind),
                        names.name(node.kind)
                    ),
                )
                .at(node.span, format!("kind `{}`", names.name(node.kind)))
                .also(first.span, format!("kind `{}`", names.name(first.kind)))
                .help("set the same `kind=` on all nodes of the process"),
            );
        }
        // Each node of a split process may state costs. The default must not override a stated
        // cost.
        let merged = &mut self.processes[process];
        merged.load = match (merged.load, node.load) {
            (DEFAULT_LOAD, load) | (load, DEFAULT_LOAD) => load,
            (a, b) => a.max(b),
        };
        merged.mem = merged.mem.max(node.mem);
    }
}
