//! Scopes and modules.

use super::keys::{Element, Key};
use super::{Dialect, value};
use crate::codes;
use crate::events::Attribute;
use crate::graph::Scope;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{
    Constraint, ConstraintDecl, ConstraintTarget, ModuleDecl, ModuleId, kind_of_name,
};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::level::{Level, LevelDecl};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;

/// What a scope is to the dialect.
#[derive(Clone, Copy, Default)]
pub(super) struct ScopePlace {
    /// The innermost module around what stands in it.
    pub(super) module: Option<ModuleId>,
    /// It is that module itself.
    own: bool,
    /// Something stands in it.
    pub(super) touched: bool,
    name: Option<Symbol>,
    /// Its head, for when it says `cluster=true`.
    span: Span,
}

/// The modules as a tree in which ancestors are found in logarithmic time.
#[derive(Default)]
pub(super) struct Tree {
    /// Depth, and an ancestor further up: jump pointers as in a skew-binary list (Myers, "An
    /// applicative random-access stack", 1983).
    nodes: Vec<(u32, u32)>,
}

impl Tree {
    fn add(&mut self, parent: Option<usize>) {
        let this = self.nodes.len() as u32;
        let node = match parent {
            None => (0, this),
            Some(parent) => {
                let (depth, jump) = self.nodes[parent];
                let (jump_depth, jump_jump) = self.nodes[jump as usize];
                let further = self.nodes[jump_jump as usize].0;
                let same = depth - jump_depth == jump_depth - further;
                (depth + 1, if same { jump_jump } else { parent as u32 })
            }
        };
        self.nodes.push(node);
    }

    /// Whether `inner` is `outer` or lies in it.
    pub(super) fn nests(
        &self,
        inner: ModuleId,
        outer: ModuleId,
        parent: impl Fn(ModuleId) -> Option<ModuleId>,
    ) -> bool {
        let depth = self.nodes[outer.index()].0;
        let mut at = inner;
        while self.nodes[at.index()].0 > depth {
            let jump = self.nodes[at.index()].1 as usize;
            at = if self.nodes[jump].0 >= depth {
                ModuleId::from_index(jump)
            } else {
                match parent(at) {
                    Some(parent) => parent,
                    None => return false,
                }
            };
        }
        at == outer
    }
}

impl Dialect<'_> {
    pub(super) fn open_place(&mut self, number: u32, scope: &Scope, again: bool) {
        if again {
            return;
        }
        let parent = &mut self.scopes[scope.parent as usize];
        parent.touched = true;
        let around = parent.module;
        debug_assert_eq!(self.scopes.len(), number as usize);
        self.scopes.push(ScopePlace {
            module: around,
            own: false,
            touched: false,
            name: scope.name,
            span: scope.span,
        });
        let name = scope.name.map_or("", |name| self.out.names.name(name));
        if name.starts_with("cluster") {
            let name = name.to_owned();
            self.make_module(number, &name);
        }
    }

    /// Makes a module of a scope.
    fn make_module(&mut self, number: u32, name: &str) {
        let place = self.scopes[number as usize];
        let parent = place.module;
        let named = name.strip_prefix("cluster").unwrap_or(name);
        let kind = kind_of_name(named.trim_start_matches('_')).trim_end_matches('_');
        let only_number = kind.chars().all(|c| c.is_ascii_digit());
        let kind = if only_number { "cluster" } else { kind };
        let kind = self.out.names.intern(kind);
        let name = self.out.names.intern(name);
        self.modules.add(parent.map(|p| p.index()));
        let id = self.out.modules.push(ModuleDecl {
            name,
            kind,
            parent,
            replicas: None,
            span: place.span,
        });
        let place = &mut self.scopes[number as usize];
        place.module = Some(id);
        place.own = true;
    }

    pub(super) fn place_attribute(&mut self, scope: u32, attribute: &Attribute) {
        let place = self.scopes[scope as usize];
        let element = match (scope, place.own) {
            (0, _) => Element::Graph,
            (_, true) => Element::Cluster,
            _ => Element::Subgraph,
        };
        let Some(key) = self.key(element, attribute) else {
            return;
        };
        self.explicit_of_scopes.note(scope, key, attribute);
        if key == Key::Cluster {
            self.cluster_attribute(scope, attribute);
            return;
        }
        if key == Key::Skeleton {
            let value = self.text.value(attribute.value).into_owned();
            if self.read(attribute, |v| value::name(v).map(drop)).is_some() {
                self.out.skeleton = Some((value, attribute.value.span));
            }
            return;
        }
        if let Key::Level(level) = key {
            self.levels(level, attribute);
            return;
        }
        let Some(module) = place.module else {
            return;
        };
        match key {
            Key::Module => {
                if let Some(kind) = self.symbol(attribute) {
                    self.out.modules[module].kind = kind;
                }
            }
            Key::Replicas => {
                if let Some(replicas) = self.read(attribute, value::count) {
                    self.out.modules[module].replicas = Some(replicas);
                }
            }
            _ => self.constrain(ConstraintTarget::Module(module), key, attribute),
        }
    }

    /// `allow="G0305,G0314"`: each code with its own place.
    fn levels(&mut self, level: Level, attribute: &Attribute) {
        let Some(value) = self.read(attribute, |v| value::codes(v).map(str::to_owned)) else {
            return;
        };
        let whole = attribute.value.span;
        let raw = self.text.raw(whole);
        let mut from = 0;
        for code in value.split(',').map(str::trim) {
            // A text with escapes does not hold it as it is.
            let at = raw[from..].find(code).map(|at| from + at);
            let span = at.map_or(whole, |at| {
                let start = whole.start + at as u32;
                Span::new(start, start + code.len() as u32)
            });
            from = at.map_or(from, |at| at + code.len());
            let code = code.to_owned();
            self.out.levels.push(LevelDecl { level, code, span });
        }
    }

    fn cluster_attribute(&mut self, scope: u32, attribute: &Attribute) {
        let place = self.scopes[scope as usize];
        match self.read(attribute, value::truth) {
            Some(true) if place.touched && !place.own => {
                self.report.push(
                    Diagnostic::error(
                        codes::LATE_CLUSTER,
                        "`cluster=true` comes after what stands in the subgraph",
                    )
                    .at(attribute.span(), "comes too late")
                    .also(place.span, "of this subgraph")
                    .help("write it first in the subgraph, or let the name begin with `cluster`"),
                );
            }
            Some(true) if !place.own => {
                let name = match place.name {
                    Some(name) => self.out.names.name(name).to_owned(),
                    None => format!("cluster{}", self.out.modules.len() + 1),
                };
                self.make_module(scope, &name);
            }
            Some(false) if place.own => self.report.push(
                Diagnostic::error(codes::BAD_VALUE, "this subgraph is a cluster by its name")
                    .at(attribute.span(), "says that it is none")
                    .also(place.span, "its name begins with `cluster`")
                    .help("rename it"),
            ),
            _ => {}
        }
    }

    /// Adds a constraint, or replaces an earlier one of its kind on the same element.
    pub(super) fn constrain(&mut self, target: ConstraintTarget, key: Key, attribute: &Attribute) {
        let value = self.text.value(attribute.value).into_owned();
        let constraint = match key {
            Key::OsProcess => self
                .read(attribute, value::count)
                .map(Constraint::OsProcess),
            Key::Hold => self
                .read(attribute, value::range)
                .map(|(least, most)| Constraint::Hold { least, most }),
            Key::Whole => self
                .read(attribute, value::truth)
                .and_then(|whole| whole.then_some(Constraint::Whole)),
            Key::Prefer => self.read(attribute, value::amount).map(Constraint::Prefer),
            _ => {
                let valid = self.read(attribute, |v| value::name(v).map(drop));
                match (valid, key) {
                    (Some(()), Key::Host) => Some(Constraint::Host(value)),
                    (Some(()), Key::Colocate) => Some(Constraint::Colocate(value)),
                    (Some(()), Key::Separate) => Some(Constraint::Separate(value)),
                    _ => None,
                }
            }
        };
        let Some(constraint) = constraint else {
            return;
        };
        let decl = ConstraintDecl {
            target,
            constraint,
            span: attribute.span(),
        };
        let of = match target {
            ConstraintTarget::Node(node) => (node.index() as u32, false, key),
            ConstraintTarget::Module(module) => (module.index() as u32, true, key),
        };
        let next = self.out.constraints.len();
        let index = *self.constraints.entry(of).or_insert(next);
        match self.out.constraints.get_mut(index) {
            Some(earlier) => *earlier = decl,
            None => self.out.constraints.push(decl),
        }
    }
}
