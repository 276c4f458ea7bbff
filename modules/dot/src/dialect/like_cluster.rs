//! Nodes that an edge to a cluster makes.
//!
//! Graphviz has no edges to clusters: it draws an edge to the name of a cluster as one to a node of
//! that name. So does the dialect with the name of a module, with or without `cluster_`, and with
//! its kind.

use super::reading::{BUNDLE, ENVIRONMENT, Reading, STATED};
use crate::codes;
use graphmap_kpn::declared::{ModuleId, NodeDecl, without_cluster};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use hashbrown::HashMap;

/// How many modules around a node are compared with it. Whatever lies deeper counts as inside.
const DEEPEST: usize = 64;

/// What a node is called like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Like {
    /// A cluster, by its whole name.
    Cluster,
    /// A module, by its kind or its name without `cluster_`. A process of that name is not unusual,
    /// so this counts only where nothing but edges outside of such a module name it.
    Module,
}

impl Reading<'_> {
    /// Reports nodes that are called like a cluster or a module.
    pub(super) fn report_nodes_like_clusters(&mut self) {
        let clusters = self.names_of_modules();
        if clusters.is_empty() {
            return;
        }
        for (node, flags) in self.out.nodes.values().zip(&self.flags) {
            let Some(&(like, module)) = clusters.get(&node.name) else {
                continue;
            };
            if like == Like::Module
                && (flags & (STATED | ENVIRONMENT | BUNDLE) != 0 || self.is_in_one(node, &clusters))
            {
                continue;
            }
            let name = self.out.names.name(node.name);
            let finding = match like {
                Like::Cluster => Diagnostic::error(
                    codes::NODE_LIKE_CLUSTER,
                    format!("`{name}` is a cluster, but is used as a separate process"),
                )
                .at(node.span, "Graphviz draws a node here"),
                Like::Module => Diagnostic::error(
                    codes::NODE_LIKE_CLUSTER,
                    format!("`{name}` is a module, but is used as a separate process"),
                )
                .at(node.span, "only edges name this node"),
            };
            let finding = finding
                .also(self.out.modules[module].span, "the cluster")
                .help("name a process in the cluster as the end of the edge");
            self.report.push(match like {
                Like::Cluster => finding.help("if it is a process, use a name that no cluster has"),
                Like::Module => finding.help(format!(
                    "if it is a process, declare it with a separate statement: `{name};`"
                )),
            });
        }
    }

    /// The names of modules, each with the first module that it is a name of.
    fn names_of_modules(&self) -> HashMap<Symbol, (Like, ModuleId)> {
        let names = &self.out.names;
        let mut all = HashMap::new();
        for (id, module) in self.out.modules.iter() {
            all.insert(module.name, (Like::Cluster, id));
        }
        for (id, module) in self.out.modules.iter() {
            let bare = without_cluster(names.name(module.name)).map(|n| n.trim_start_matches('_'));
            let bare = bare.and_then(|bare| names.get(bare));
            // `cluster_1` is `1` to nobody, and its kind is `cluster` for want of another.
            let is_name = |symbol: &Symbol| {
                let name = names.name(*symbol);
                name != "cluster" && !name.chars().all(|c| c.is_ascii_digit())
            };
            for symbol in [Some(module.kind), bare]
                .into_iter()
                .flatten()
                .filter(is_name)
            {
                all.entry(symbol).or_insert((Like::Module, id));
            }
        }
        all
    }

    /// Whether a node lies in a module that it is called like.
    fn is_in_one(&self, node: &NodeDecl, clusters: &HashMap<Symbol, (Like, ModuleId)>) -> bool {
        let modules = &self.out.modules;
        let Some((_, called)) = clusters.get(&node.name) else {
            return false;
        };
        let mut around = node.module;
        for _ in 0..DEEPEST {
            let Some(module) = around else {
                return false;
            };
            if module == *called || modules[module].kind == node.name {
                return true;
            }
            around = modules[module].parent;
        }
        true
    }
}
