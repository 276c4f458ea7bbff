//! The dialect: what a graph declares of a process network.
//!
//! [`load`] and [`declare`] read a file and give a [`Declared`]; the attributes are those of the
//! table in `keys.rs`, in both spellings. What is Graphviz's own passes silently, what is nobody's
//! is reported.
//!
//! Decisions that the language leaves open:
//!
//! - Subgraphs that are no clusters only group: they carry defaults and ends of edges, no meaning.
//! - A node lies in the deepest cluster it is mentioned in; two clusters that do not nest are an
//!   error. So a node may be used by an edge outside before its cluster is written.
//! - `module=` and the other attributes of a cluster are its own: unlike Graphviz's they are not
//!   inherited by the clusters inside it.
//! - `a:out -> b:in` names ports, except where the name is a compass point (`n`, `se`, `c`, `_`..),
//!   which only says where the line ends in the drawing. `src=` and `dst=` win over it.
//! - A node with `bundle=`, or with members, is a bundle and no process. Its members are written
//!   as attributes (`src1="outTask1:outreq"`, the port after the last colon) or drawn as edges into
//!   it and out of it. With several writers and nothing said it is a `select`.

use crate::codes;
use crate::decode::{Encoding, decode};
use crate::events::{Attribute, Header, Target};
use crate::graph::{Builder, End, Graph, Preset, Scope};
use crate::parser::parse;
use crate::recent::Recent;
use crate::token::Text;
use graphmap_kpn::declared::{Declared, ModuleId, NodeId};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::names::{Names, Symbol};
use graphmap_kpn::source::{Source, SourceMap, Span};
use hashbrown::HashMap;
use keys::{Element, Key};
use report::Report;

mod attributes;
mod bundle;
mod cluster;
mod drawn;
mod edge;
mod explicit;
pub(crate) mod keys;
mod node;
mod report;
mod slip;
mod value;

/// Reads the bytes of a DOT file, adds its text to the sources, and gives what it declares.
///
/// `name` is what to call the file. `None`, with errors in `findings`, when it cannot be used;
/// warnings may be there either way.
pub fn load(
    sources: &mut SourceMap,
    name: &str,
    bytes: Vec<u8>,
    findings: &mut Diagnostics,
) -> Option<Declared> {
    let (text, encoding) = match decode(bytes) {
        Ok(read) => read,
        Err(why) => {
            findings.push(Diagnostic::error(
                codes::NOT_TEXT,
                format!("{name} is not a text file: {why}"),
            ));
            return None;
        }
    };
    let source = match sources.add(name, text) {
        Ok(source) => source,
        Err(why) => {
            findings.push(Diagnostic::error(
                codes::TOO_LARGE,
                format!("{name} is too large: {why}"),
            ));
            return None;
        }
    };
    if let Encoding::Latin1(at) = encoding {
        // Every byte before the first that is not UTF-8 took as many bytes in the text, unless it
        // was above 0x7f, which it was not where this is the first.
        let prefix = source.text().char_indices().nth(at).map_or(0, |(i, _)| i);
        let start = source.base() + prefix as u32;
        findings.push(
            Diagnostic::note(
                codes::LATIN1,
                format!("{name} is not UTF-8: read as Latin-1"),
            )
            .at(Span::new(start, start), "the first byte that is not UTF-8")
            .help("save the file as UTF-8 if its names come out wrong"),
        );
    }
    declare(sources, &source, findings)
}

/// What a source text, one of `sources`, declares. As [`load`].
pub fn declare(
    sources: &SourceMap,
    source: &Source,
    findings: &mut Diagnostics,
) -> Option<Declared> {
    let text = Text::new(source.text(), source.base());
    let mut syntax = Diagnostics::new();
    let mut meaning = Diagnostics::new();
    let mut dialect = Dialect::new(text, sources);
    let mut graph = Graph::new(text, &mut dialect, &mut meaning);
    let graphs = parse(source, &mut graph, &mut syntax);
    drop(graph);
    if graphs == 0 && !syntax.has_errors() {
        let start = Span::new(source.base(), source.base());
        let empty = Diagnostic::error(codes::NO_GRAPH, "the file holds no graph")
            .at(start, "expected `digraph`")
            .help("a file of graphmap begins with `digraph name {`");
        syntax.push(empty);
    }
    let broken = syntax.has_errors();
    findings.append(syntax);
    if broken {
        // What a broken text seems to mean would only confuse.
        return None;
    }
    let mut declared = dialect.finish(&mut meaning);
    let unusable = meaning.has_errors();
    meaning.sort();
    findings.append(meaning);
    if declared.name.is_empty() {
        let stem = std::path::Path::new(source.name()).file_stem();
        declared.name = stem.map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    }
    (!unusable).then_some(declared)
}

/// Builds a [`Declared`] of what [`Graph`] tells.
struct Dialect<'a> {
    text: Text<'a>,
    out: Declared,
    report: Report,
    /// Names that come again and again.
    known: Known,
    scopes: Vec<cluster::ScopePlace>,
    modules: cluster::Tree,
    /// What each node is, by number; see [`node`].
    flags: Vec<u8>,
    bundles: HashMap<u32, bundle::BundleDraft>,
    /// The constraint of a target and kind, to be overridden by a later one.
    constraints: HashMap<(u32, bool, Key), usize>,
    /// What statements say of nodes, and of scopes.
    explicit_of_nodes: explicit::Explicit,
    explicit_of_scopes: explicit::Explicit,
    /// Nodes found in two modules, in order.
    torn: Vec<node::Torn>,
    /// Attributes of the edge statement being told.
    edge: edge::EdgeDraft,
    /// Which keys edges have from defaults.
    defaulted: drawn::Defaulted,
    /// Room for the attributes of one list.
    list: explicit::List,
    /// What attributes of edges came to before.
    edges: edge::Before,
    /// What names of attributes are on each element; they were not worth reporting.
    keys: [Recent<Option<Key>>; Element::COUNT],
    /// Symbols of values.
    symbols: Recent<Option<Symbol>>,
    /// Ports written `node:port`; `None` for those that are compass points.
    ports: Recent<Option<Symbol>>,
    /// Number of node statements so far.
    statements: u32,
    last_mention: Span,
    /// The module around it.
    last_module: Option<ModuleId>,
    graphs: u32,
}

struct Known {
    out: Symbol,
    into: Symbol,
    null: Symbol,
}

impl<'a> Dialect<'a> {
    fn new(text: Text<'a>, sources: &SourceMap) -> Dialect<'a> {
        let mut out = Declared {
            sources: sources.clone(),
            ..Declared::default()
        };
        let known = Known {
            out: out.names.intern("out"),
            into: out.names.intern("in"),
            null: out.names.intern("NULL"),
        };
        Dialect {
            text,
            edge: edge::EdgeDraft::default(),
            defaulted: drawn::Defaulted::default(),
            list: explicit::List::new(),
            edges: edge::Before::default(),
            keys: Default::default(),
            symbols: Recent::default(),
            ports: Recent::default(),
            out,
            report: Report::default(),
            known,
            scopes: Vec::new(),
            modules: cluster::Tree::default(),
            flags: Vec::new(),
            bundles: HashMap::new(),
            constraints: HashMap::new(),
            explicit_of_nodes: explicit::Explicit::default(),
            explicit_of_scopes: explicit::Explicit::default(),
            torn: Vec::new(),
            statements: 0,
            last_mention: Span::NONE,
            last_module: None,
            graphs: 0,
        }
    }

    /// The key of an attribute, if it may stand on the element; reports it otherwise.
    fn key(&mut self, element: Element, attribute: &Attribute) -> Option<Key> {
        let place = attribute.name.span;
        if let Some((_, key)) = self.keys[element as usize].get(self.text, place) {
            return key;
        }
        let name = self.text.value(attribute.name);
        let told = self.report.told();
        let key = match Key::of(&name) {
            Some(key) if key.fits(element) => Some(key),
            Some(key) => {
                self.report.misplaced(element, key, &name, attribute);
                None
            }
            None => {
                self.report.unknown(element, &name, attribute);
                None
            }
        };
        // What is wrong is to be told of every place.
        if told == self.report.told() {
            self.keys[element as usize].put(self.text, place, key);
        }
        key
    }

    /// The value of an attribute, read by `read`; reports it where it does not fit.
    fn read<T>(
        &mut self,
        attribute: &Attribute,
        read: impl FnOnce(&str) -> Result<T, value::Misfit>,
    ) -> Option<T> {
        let value = self.text.value(attribute.value);
        match read(&value) {
            Ok(read) => Some(read),
            Err(misfit) => {
                let name = self.text.value(attribute.name);
                self.report.misfit(&name, &value, attribute, misfit);
                None
            }
        }
    }

    /// The symbol of an attribute's value, which must not be empty.
    fn symbol(&mut self, attribute: &Attribute) -> Option<Symbol> {
        let place = attribute.value.span;
        if let Some((_, symbol)) = self.symbols.get(self.text, place) {
            return symbol;
        }
        let value = self.text.value(attribute.value);
        if value.is_empty() {
            self.read(attribute, |v| value::name(v).map(drop))?;
        }
        let symbol = Some(self.out.names.intern(&value));
        self.symbols.put(self.text, place, symbol);
        symbol
    }

    fn finish(mut self, findings: &mut Diagnostics) -> Declared {
        self.tell_slips();
        self.finish_explicit();
        self.finish_nodes();
        self.finish_bundles();
        self.drop_what_is_no_process();
        self.report.finish(findings);
        self.out
    }

    #[inline]
    fn later_graph(&self) -> bool {
        self.graphs > 1
    }
}

impl Builder for Dialect<'_> {
    type Key = Key;

    fn names(&mut self) -> &mut Names {
        &mut self.out.names
    }

    fn open_graph(&mut self, header: &Header) {
        self.graphs += 1;
        if self.later_graph() {
            self.report.several_graphs(header.span);
            return;
        }
        if let Some(name) = header.name {
            self.out.name = self.text.value(name).into_owned();
        }
        self.report.header(header);
        self.scopes.push(cluster::ScopePlace::default());
    }

    fn defaults(&mut self, target: Target, attributes: &[Attribute]) {
        if !self.later_graph() {
            self.list_of_defaults(element_of(target), attributes);
        }
    }

    fn classify(&mut self, target: Target, attribute: &Attribute) -> Option<Key> {
        if self.later_graph() {
            return None;
        }
        let element = element_of(target);
        let key = self.key(element, attribute)?;
        if element == Element::Node && key.is_of_bundle_node() {
            let name = self.text.value(attribute.name);
            self.report.no_default(&name, attribute);
            return None;
        }
        Some(key)
    }

    fn open_scope(&mut self, number: u32, scope: &Scope, again: bool) {
        if !self.later_graph() {
            self.open_place(number, scope, again);
        }
    }

    fn scope_attribute(&mut self, scope: u32, attribute: &Attribute) {
        if !self.later_graph() {
            self.place_attribute(scope, attribute);
        }
    }

    fn node(&mut self, name: Symbol, span: Span, scope: u32, defaults: &[Preset<Key>]) {
        if self.later_graph() {
            return;
        }
        let number = self.add_node(name, span);
        self.scopes[scope as usize].touched = true;
        if name == self.known.null {
            // Defaults are for processes; only what is written on it itself is a mistake.
            return;
        }
        for preset in defaults {
            self.node_key(number, preset.key, &preset.attribute);
        }
    }

    #[inline]
    fn mention(&mut self, node: u32, scope: u32, span: Span) {
        if self.later_graph() {
            return;
        }
        self.last_mention = span;
        let place = &mut self.scopes[scope as usize];
        place.touched = true;
        self.last_module = place.module;
        if let Some(module) = place.module {
            self.put(node, module, span);
        }
    }

    fn node_attributes(&mut self, nodes: &[u32], attributes: &[Attribute]) {
        if !self.later_graph() {
            self.node_statement(nodes, attributes);
        }
    }

    #[inline]
    fn edges(&mut self, defaults: &[Preset<Key>], attributes: &[Attribute], _: Span) {
        if !self.later_graph() {
            self.edge_statement(defaults, attributes);
        }
    }

    #[inline]
    fn edge(&mut self, tail: &End, head: &End) {
        if !self.later_graph() {
            self.channel(tail, head);
        }
    }
}

/// What defaults of a target are for.
fn element_of(target: Target) -> Element {
    match target {
        Target::Edge => Element::Edge,
        _ => Element::Node,
    }
}

/// The id of a node's number.
fn node_id(number: u32) -> NodeId {
    graphmap_kpn::arena::Id::from_index(number as usize)
}
