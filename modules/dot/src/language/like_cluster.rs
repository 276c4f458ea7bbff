//! Nodes that an edge to a cluster creates by mistake.
//!
//! Graphviz has no edges to clusters: an edge to the name of a cluster creates a node of that name.
//! The graph language does the same with the name of a module, with or without `cluster_`, and with
//! its kind.

use super::reading::{BUNDLE, ENVIRONMENT, Reading, STATED};
use crate::codes;
use graphmap_kpn::declared::{ModuleId, NodeDecl, without_cluster};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use hashbrown::HashMap;

/// Maximum number of modules around a node that are compared with its name. If there are more, the
/// node counts as inside a module of its name.
const DEEPEST: usize = 64;

/// The sort of name that a node shares.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Like {
    /// The whole name of a cluster.
    Cluster,
    /// The kind of a module, or its name without `cluster_`. Processes may have such a name, so
    /// this counts only if the node occurs in edges alone, outside of such a module.
    Module,
}

impl Reading<'_> {
    /// Reports nodes with the whole name of a cluster. Also reports nodes with another name of a
    /// module, or with its kind, if only edges name them outside of such a module.
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
            let diagnostic = match like {
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
            let diagnostic = diagnostic
                .also(self.out.modules[module].span, "the cluster")
                .help("name a process in the cluster as the end of the edge");
            self.report.push(match like {
                Like::Cluster => {
                    diagnostic.help("if it is a process, use a name that no cluster has")
                }
                Like::Module => diagnostic.help(format!(
                    "if it is a process, declare it with a separate statement: `{name};`"
                )),
            });
        }
    }

    /// Returns the names and kinds of modules, each with a module that has it. The whole name of a
    /// cluster takes precedence over other names.
    fn names_of_modules(&self) -> HashMap<Symbol, (Like, ModuleId)> {
        let names = &self.out.names;
        let mut all = HashMap::new();
        for (id, module) in self.out.modules.iter() {
            all.insert(module.name, (Like::Cluster, id));
        }
        for (id, module) in self.out.modules.iter() {
            let bare = without_cluster(names.name(module.name)).map(|n| n.trim_start_matches('_'));
            let bare = bare.and_then(|bare| names.get(bare));
            // A bare number is not a name, and `cluster` is only the kind of modules without a
            // better one.
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

    /// Returns true if a node is inside a module of which it has the name or the kind. Also returns
    /// true if it is in [`DEEPEST`] nested modules or more, of which the inner ones do not have its
    /// name. `clusters` is the result of [`Reading::names_of_modules`].
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
