//! Scopes, and the modules that clusters declare.

use super::constraint::Constraints;
use super::explicit::Explicit;
use super::keys::{Element, Key, PICTURE, VERSION};
use super::reading::{Fitted, Reading};
use super::value;
use crate::codes;
use crate::events::Attribute;
use crate::graph::Scope;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::codes::OTHER_VERSION;
use graphmap_kpn::declared::{
    ConstraintTarget, ModuleDecl, ModuleId, kind_of_name, without_cluster,
};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::level::{Level, LevelDecl};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::Span;
use graphmap_kpn::version;

/// A scope in the graph language.
#[derive(Clone, Copy, Default)]
struct ScopeState {
    /// Innermost module around the contents of the scope.
    module: Option<ModuleId>,
    /// True if the scope itself is that module.
    own: bool,
    /// True if the scope has contents.
    touched: bool,
    /// True if a statement gave the scope an attribute of the graph language.
    stated: bool,
    /// Whether Graphviz draws the scope as a cluster, if that differs from `own`.
    picture: Picture,
    name: Option<Symbol>,
    /// Head of the scope.
    span: Span,
}

/// Difference between a scope in the graph language and its picture.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Picture {
    #[default]
    Same,
    /// `module=""`: a cluster that is only a frame in the picture.
    Frame,
    /// `cluster=false`: the scope may be a module that Graphviz does not draw.
    Hidden,
}

/// Tree of modules in which ancestors are found in logarithmic time.
#[derive(Default)]
pub(super) struct Tree {
    /// Depth of each module, and an ancestor further up. These are jump pointers as in a
    /// skew-binary list (Myers, "An applicative random-access stack", 1983).
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

    /// Returns true if `inner` is `outer` or is inside it. `parent` returns the parent of a module.
    /// Panics if the tree does not contain both modules.
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

/// The scopes of a file, some of which are modules.
#[derive(Default)]
pub(super) struct Scopes {
    states: Vec<ScopeState>,
    pub(super) modules: Tree,
    constraints: Constraints,
    /// Attributes in the statements of scopes.
    pub(super) explicit: Explicit,
}

impl Scopes {
    /// Adds scope 0, which is the graph itself.
    pub(super) fn open_graph(&mut self) {
        self.states.push(ScopeState::default());
    }

    /// Returns the innermost module around the contents of a scope.
    pub(super) fn module(&self, scope: u32) -> Option<ModuleId> {
        self.states[scope as usize].module
    }

    /// Returns the module that a scope itself is.
    pub(super) fn own_module(&self, scope: u32) -> Option<ModuleId> {
        let state = &self.states[scope as usize];
        state.module.filter(|_| state.own)
    }

    /// Marks a scope as having contents, and returns the innermost module around them, which may be
    /// the scope itself. Returns `None` if there is no such module. Panics if the scope has not
    /// been opened.
    #[inline]
    pub(super) fn touch(&mut self, scope: u32) -> Option<ModuleId> {
        let state = &mut self.states[scope as usize];
        state.touched = true;
        state.module
    }

    /// Adds the scope `number`, which is a module if its name begins with `cluster`, in any case.
    /// The scope around it then has contents. Has no effect if the scope is opened again.
    pub(super) fn open(
        &mut self,
        reading: &mut Reading<'_>,
        number: u32,
        scope: &Scope,
        again: bool,
    ) {
        if again {
            return;
        }
        let around = self.touch(scope.parent);
        debug_assert_eq!(self.states.len(), number as usize);
        self.states.push(ScopeState {
            module: around,
            own: false,
            touched: false,
            stated: false,
            picture: Picture::Same,
            name: scope.name,
            span: scope.span,
        });
        let name = scope.name.map_or("", |name| reading.out.names.name(name));
        if without_cluster(name).is_some() {
            let name = name.to_owned();
            self.make_module(reading, number, &name);
        }
    }

    /// Makes a module of a scope, with the name `name`. Its kind is the name without `cluster`,
    /// without `_` at its start and end, and without the number at its end. The kind is `cluster`
    /// if only digits or no characters remain.
    fn make_module(&mut self, reading: &mut Reading<'_>, number: u32, name: &str) {
        let state = self.states[number as usize];
        let parent = state.module;
        let named = without_cluster(name).unwrap_or(name);
        let kind = kind_of_name(named.trim_start_matches('_')).trim_end_matches('_');
        let only_number = kind.chars().all(|c| c.is_ascii_digit());
        let kind = if only_number { "cluster" } else { kind };
        let kind = reading.out.names.intern(kind);
        let name = reading.out.names.intern(name);
        self.modules.add(parent.map(|p| p.index()));
        let id = reading.out.modules.push(ModuleDecl {
            name,
            kind,
            parent,
            replicas: None,
            closed: false,
            span: state.span,
        });
        let state = &mut self.states[number as usize];
        state.module = Some(id);
        state.own = true;
    }

    /// Applies `module=` at the start of a scope whose picture differs from the graph: `module=""`
    /// makes a frame of a cluster, and `module=kind` makes a module of a subgraph with
    /// `cluster=false`. Returns true if nothing remains to be done.
    fn differs(&mut self, reading: &mut Reading<'_>, scope: u32, attribute: &Attribute) -> bool {
        let state = self.states[scope as usize];
        let is_empty = reading.text.value(attribute.value).is_empty();
        match state.picture {
            Picture::Frame => is_empty,
            Picture::Same if state.own && is_empty && !state.touched && !state.stated => {
                // Nothing refers to the module yet, which is the last one.
                let last = reading.out.modules.pop();
                self.modules.nodes.pop();
                let state = &mut self.states[scope as usize];
                state.module = last.and_then(|module| module.parent);
                state.own = false;
                state.picture = Picture::Frame;
                true
            }
            Picture::Hidden if !state.own && !is_empty && !state.touched => {
                let name = state.name.map(|name| reading.out.names.name(name));
                let name = match name {
                    Some(name) => format!("cluster_{name}"),
                    None => format!("cluster{}", reading.out.modules.len() + 1),
                };
                self.make_module(reading, scope, &name);
                false
            }
            _ => false,
        }
    }

    /// Applies an attribute of a scope to the graph, or to the module that the scope is.
    /// `cluster=true` makes a module of a subgraph, and [`Scopes::differs`] describes `module=`.
    /// Reports an attribute or a value that is not allowed.
    pub(super) fn attribute(
        &mut self,
        reading: &mut Reading<'_>,
        scope: u32,
        attribute: &Attribute,
    ) {
        reading.scope = scope;
        let is_module = Key::of(&reading.text.value(attribute.name)) == Some(Key::Module);
        if is_module && self.differs(reading, scope, attribute) {
            return;
        }
        let state = self.states[scope as usize];
        let element = match (scope, state.own) {
            (0, _) => Element::Graph,
            (_, true) => Element::Cluster,
            _ => Element::Subgraph,
        };
        let Some(key) = reading.key(element, attribute) else {
            return;
        };
        if key.is_kept() {
            reading.kept.scope(scope, key, attribute);
            return;
        }
        self.explicit.note(scope, key, attribute);
        if key == Key::Cluster {
            self.cluster_attribute(reading, scope, attribute);
            return;
        }
        self.states[scope as usize].stated = true;
        if matches!(key, Key::Sizes | Key::Attributes) {
            // Read before, by `sizes.rs`.
            return;
        }
        if key == Key::Version {
            reading.version(attribute);
            return;
        }
        if key == Key::Skeleton {
            let value = reading.text.value(attribute.value).into_owned();
            if reading
                .read(attribute, |v| value::name(v).map(drop))
                .is_some()
            {
                reading.out.skeleton = Some((value, attribute.value.span));
            }
            return;
        }
        if let Key::Level(level) = key {
            reading.levels(level, attribute);
            return;
        }
        let Some(module) = state.module else {
            return;
        };
        match key {
            Key::Module => {
                if let Some(kind) = reading.symbol(attribute) {
                    reading.out.modules[module].kind = kind;
                }
            }
            Key::Closed => {
                if let Some(closed) = reading.read(attribute, value::truth) {
                    reading.out.modules[module].closed = closed;
                }
            }
            Key::Replicas => {
                if reading.fits(Fitted::Module(module), attribute) {
                    return;
                }
                if let Some(replicas) = reading.number(attribute, value::count) {
                    reading.out.modules[module].replicas = Some(replicas);
                }
            }
            _ => self
                .constraints
                .add(reading, ConstraintTarget::Module(module), key, attribute),
        }
    }

    fn cluster_attribute(&mut self, reading: &mut Reading<'_>, scope: u32, attribute: &Attribute) {
        let state = self.states[scope as usize];
        match reading.read(attribute, value::truth) {
            Some(true) if state.picture == Picture::Frame => {}
            Some(true) if state.touched && !state.own => {
                reading.report.push(
                    Diagnostic::error(
                        codes::LATE_CLUSTER,
                        "`cluster=true` comes after other statements of the subgraph",
                    )
                    .at(attribute.span(), "too late")
                    .also(state.span, "the subgraph")
                    .help("move it to the start of the subgraph, or begin the name with `cluster`"),
                );
            }
            Some(true) if !state.own => {
                let name = match state.name {
                    Some(name) => reading.out.names.name(name).to_owned(),
                    None => format!("cluster{}", reading.out.modules.len() + 1),
                };
                self.make_module(reading, scope, &name);
            }
            Some(false) if !state.own && state.picture != Picture::Frame => {
                self.states[scope as usize].picture = Picture::Hidden;
            }
            Some(false) if state.picture != Picture::Hidden => reading.report.push(
                Diagnostic::error(
                    codes::BAD_VALUE,
                    "`cluster=false` contradicts the name of the subgraph",
                )
                .at(attribute.span(), "not a cluster")
                .also(state.span, "its name begins with `cluster`")
                .help("rename the subgraph, or remove `cluster=false`"),
            ),
            _ => {}
        }
    }
}

impl Reading<'_> {
    /// Checks `graphmap=1`, the version of the graph language. Reports a value that is not a
    /// number, and stores the error for an unsupported version, or for a picture, in `refused`.
    fn version(&mut self, attribute: &Attribute) {
        if self.text.value(attribute.value) == PICTURE {
            let message = "the graph is a picture of a mapping, and not a network";
            let error = Diagnostic::error(OTHER_VERSION, message)
                .at(attribute.span(), "a node is all processes of a kind")
                .help("write it again with all processes: `--set detail=processes`");
            self.refused = Some(error);
            return;
        }
        let stated = self.read(attribute, value::version).map(u64::from);
        if stated.is_some()
            && let Some(error) = version::refused("the graph", "graphmap=", stated, VERSION)
        {
            self.refused = Some(error.at(attribute.span(), ""));
        }
    }

    /// Adds the codes of `allow="G0305,G0314"` and the like, each with its own position. Reports a
    /// list with an empty code, and adds none of it. Whether the codes exist is not checked.
    fn levels(&mut self, level: Level, attribute: &Attribute) {
        let Some(value) = self.read(attribute, |v| value::codes(v).map(str::to_owned)) else {
            return;
        };
        let whole = attribute.value.span;
        let raw = self.text.raw(whole);
        let mut from = 0;
        for code in value.split(',').map(str::trim) {
            // A code with escapes is not in the raw text, and gets the span of the value.
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
}
