//! Nesting of repeated modules and nodes.

use super::limit::LIMIT;
use crate::arena::{Arena, Id, define_id};
use crate::codes;
use crate::declared::{ChannelDecl, Declared, NodeId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::Symbol;
use crate::source::Span;

/// Limit on the bytes of the names of all instances: half of the capacity of a table of names.
const NAME_BYTES: u64 = 1 << 31;

/// Limit on the nesting of repeated modules. Each scope stores its path, so that the memory is
/// quadratic in the depth.
pub(super) const DEPTH: usize = 32;

define_id!(
    /// Id of a repeated module or node.
    pub(super) ScopeId, "x"
);

pub(super) struct Scope {
    pub(super) replicas: u64,
    /// The scopes that contain this one, outermost first, and this one.
    pub(super) path: Vec<ScopeId>,
    pub(super) span: Span,
}

pub(super) struct Scopes {
    pub(super) arena: Arena<ScopeId, Scope>,
    /// Innermost scope of each module, and of each node.
    pub(super) of_module: Vec<Option<ScopeId>>,
    pub(super) of_node: Vec<Option<ScopeId>>,
    pub(super) own_of_node: Vec<bool>,
}

impl Scopes {
    /// Returns the scopes of all repeated modules and nodes. Reports a module or node that is
    /// nested more than [`DEPTH`] deep, and uses the scope that was created last for it.
    ///
    /// Panics if a module precedes its parent.
    pub(super) fn of(declared: &Declared, diagnostics: &mut Diagnostics) -> Scopes {
        let mut arena: Arena<ScopeId, Scope> = Arena::new();
        let mut of_module: Vec<Option<ScopeId>> = Vec::with_capacity(declared.modules.len());
        let mut inner =
            |arena: &mut Arena<ScopeId, Scope>, outer: Option<ScopeId>, n: u32, span| {
                let mut path = outer.map_or(Vec::new(), |s| arena[s].path.clone());
                if path.len() == DEPTH {
                    diagnostics.push(too_deep(span));
                    return arena.ids().next_back().expect("it lies in a scope");
                }
                path.push(ScopeId::from_index(arena.len()));
                arena.push(Scope {
                    replicas: n.into(),
                    path,
                    span,
                })
            };
        for module in declared.modules.values() {
            let outer = module.parent.and_then(|p| of_module[p.index()]);
            let own = module
                .replicas
                .map(|n| inner(&mut arena, outer, n, module.span));
            of_module.push(own.or(outer));
        }
        let mut of_node = Vec::with_capacity(declared.nodes.len());
        let mut own_of_node = Vec::with_capacity(declared.nodes.len());
        for node in declared.nodes.values() {
            let outer = node.module.and_then(|m| of_module[m.index()]);
            let own = node
                .replicas
                .map(|n| inner(&mut arena, outer, n, node.span));
            own_of_node.push(own.is_some());
            of_node.push(own.or(outer));
        }
        Scopes {
            arena,
            of_module,
            of_node,
            own_of_node,
        }
    }

    /// Returns true if the node itself is repeated, and not only a module that contains it. Panics
    /// if the node does not exist.
    pub(super) fn is_own(&self, node: NodeId) -> bool {
        self.own_of_node[node.index()]
    }

    /// Returns the scopes that contain a scope, outermost first, and the scope itself. The path of
    /// `None` is empty. Panics if the scope does not exist.
    pub(super) fn path(&self, scope: Option<ScopeId>) -> &[ScopeId] {
        scope.map_or(&[], |s| &self.arena[s].path)
    }

    /// Returns the scopes of a node, outermost first. The path of the environment (`None`) is
    /// empty. Panics if the node does not exist.
    pub(super) fn node_path(&self, node: Option<NodeId>) -> &[ScopeId] {
        self.path(node.and_then(|n| self.of_node[n.index()]))
    }

    /// Returns the scopes around the declaration of a channel, outermost first. Panics if its
    /// module does not exist.
    pub(super) fn around(&self, channel: &ChannelDecl) -> &[ScopeId] {
        self.path(channel.within.and_then(|m| self.of_module[m.index()]))
    }

    /// Returns the number of instances at the end of a path, which is the product of the replicas
    /// in it. The product saturates. An empty path has one instance. Panics if a scope does not
    /// exist.
    pub(super) fn count(&self, path: &[ScopeId]) -> u64 {
        path.iter()
            .fold(1u64, |n, &s| n.saturating_mul(self.arena[s].replicas))
    }

    pub(super) fn replicas(&self, path: &[ScopeId]) -> Vec<u64> {
        path.iter().map(|&s| self.arena[s].replicas).collect()
    }

    /// Returns an upper bound of the bytes of the names of all instances of modules, nodes and
    /// split processes. The bound saturates.
    fn name_bytes(&self, declared: &Declared) -> u64 {
        // An index has at most ten digits and an underscore.
        let bytes = |name: Symbol, scope: Option<ScopeId>| {
            let path = self.path(scope);
            let each = declared.name(name).len() + 11 * path.len();
            self.count(path).saturating_mul(each as u64)
        };
        let modules = declared.modules.values().zip(&self.of_module);
        let modules = modules.map(|(m, &scope)| bytes(m.name, scope));
        let nodes = declared.nodes.values().zip(&self.of_node);
        let nodes = nodes.map(|(n, &scope)| {
            let process = n.process.map_or(0, |p| bytes(p, scope));
            bytes(n.name, scope).saturating_add(process)
        });
        modules.chain(nodes).fold(0, u64::saturating_add)
    }

    /// Returns an error if the expanded graph exceeds [`LIMIT`] processes, channels or modules, or
    /// if its names exceed [`NAME_BYTES`]. Otherwise, and if nothing is repeated, returns `None`.
    ///
    /// The estimate counts one channel for each instance of the end with more instances. So the
    /// channels can exceed the limit nevertheless.
    pub(super) fn too_many(&self, declared: &Declared) -> Option<Diagnostic> {
        let nodes: u64 = self
            .of_node
            .iter()
            .fold(0, |n, &s| n.saturating_add(self.count(self.path(s))));
        let ends = |c: &ChannelDecl| {
            let from = self.count(self.node_path(c.from.node));
            from.max(self.count(self.node_path(c.to.node)))
        };
        let channels = declared
            .channels
            .iter()
            .fold(0u64, |n, c| n.saturating_add(ends(c)));
        let modules: u64 = self
            .of_module
            .iter()
            .fold(0, |n, &s| n.saturating_add(self.count(self.path(s))));
        let most = nodes.max(channels).max(modules);
        let names = self.name_bytes(declared);
        if most <= LIMIT && names <= NAME_BYTES {
            return None;
        }
        let (_, largest) = self
            .arena
            .iter()
            .max_by_key(|(id, s)| (s.replicas, std::cmp::Reverse(*id)))?;
        let message = if most > LIMIT {
            format!(
                "the expanded graph has {} processes, channels or modules; the limit is {LIMIT}",
                shown(most)
            )
        } else {
            let names = shown(names);
            format!("the names in the expanded graph need {names} bytes; the limit is {NAME_BYTES}")
        };
        Some(
            Diagnostic::error(codes::TOO_MANY_REPLICAS, message)
                .at(largest.span, format!("repeated {} times", largest.replicas))
                .help("check `replicas=` here and of the clusters around it: they are multiplied"),
        )
    }
}

/// Returns a saturated number as text.
fn shown(number: u64) -> String {
    match number {
        u64::MAX => "more than 10^19".to_owned(),
        number => number.to_string(),
    }
}

/// Returns the digits of a flat instance number, one for each number of `replicas`, outermost
/// first. A number that is too large is taken modulo the number of all instances.
///
/// # Panics
/// Panics if one of `replicas` is 0.
pub(super) fn digits(mut flat: u64, replicas: &[u64]) -> Vec<u64> {
    let mut digits = vec![0; replicas.len()];
    for (digit, &n) in digits.iter_mut().zip(replicas).rev() {
        *digit = flat % n;
        flat /= n;
    }
    digits
}

/// Returns the flat instance number of digits, which are outermost first, like `replicas`. It is 0
/// without digits.
pub(super) fn flat(digits: &[u64], replicas: &[u64]) -> u64 {
    digits
        .iter()
        .zip(replicas)
        .fold(0, |sum, (&d, &n)| sum * n + d)
}

pub(super) fn too_deep(span: Span) -> Diagnostic {
    Diagnostic::error(
        codes::TOO_MANY_REPLICAS,
        format!("repeated modules are nested more than {DEPTH} deep"),
    )
    .at(span, "one level too many")
    .help("remove `replicas=` from modules that have one instance")
}
