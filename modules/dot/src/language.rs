//! The graph language: reads the declarations of a process network from a graph.
//!
//! [`load`] and [`declare`] read a file into a [`Declared`]. The table in `keys.rs` lists the
//! attributes in both spellings. Attributes of Graphviz and of the user are accepted silently.
//! Unknown attributes are reported.
//!
//! Decisions that DOT leaves open:
//!
//! - A subgraph is a cluster if its name begins with `cluster`, in any case, as Graphviz compares
//!   it.
//! - Other subgraphs only group: they carry defaults and are ends of edges, but are not modules.
//! - A node belongs to the deepest cluster in which it occurs, so an edge outside may use it before
//!   its cluster is written. Two clusters that do not nest are an error.
//! - `module=` and the other attributes of a cluster are its own: unlike Graphviz's, they are not
//!   inherited by the clusters inside it.
//! - `a:out -> b:in` names ports, unless the name is a compass point (`n`, `se`, `c`, `_` and so
//!   on), which only sets where the line ends in a picture. `src=` and `dst=` override it.
//! - A node with `bundle=`, or with members, is a bundle and not a process. Its members are
//!   attributes (`src1="outTask1:outreq"`, the port after the last colon) or edges into it and out
//!   of it. A bundle with several writers and no explicit kind is a `select`.

use crate::codes;
use crate::decode::{Encoding, decode};
use crate::events::{Attribute, Header, Target};
use crate::graph::{Builder, End, Graph, Preset, Scope};
use crate::parser::parse;
use crate::token::Text;
use cluster::Scopes;
use edge::Edges;
use graphmap_kpn::codes::OTHER_VERSION;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Severity};
use graphmap_kpn::names::{Names, Symbol};
use graphmap_kpn::sizes::{Given, Sizes};
use graphmap_kpn::source::{Source, SourceMap, Span};
use keys::{Element, Key};
use node::Nodes;
use reading::Reading;

pub(crate) use keeping::can_be_declared;
pub use keeping::is_html;
pub use keys::{PICTURE, VERSION};

mod arguments;
mod attributes;
mod bundle;
mod cluster;
mod constraint;
mod drawn;
mod edge;
mod explicit;
mod fit;
mod join;
mod keeping;
mod kept;
pub(crate) mod keys;
mod like_cluster;
mod loops;
mod module_port;
mod node;
mod reading;
mod report;
mod sizes;
mod slip;
mod split_process;
mod strict;
mod unknown;
mod value;

/// The purpose for which a file is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A network: defects of the network are errors.
    Network,
    /// A picture of the graph: defects of the network are warnings.
    Picture,
}

/// Reads the bytes of a DOT file, adds its text to `sources`, and returns its declarations.
///
/// `name` names the file in diagnostics. If the graph has no name, the result has the stem of
/// `name` as its name. Returns `None`, with errors in `diagnostics`, if the file cannot be used.
/// Warnings are possible in both cases. `sources` is not changed if the bytes are not text or are
/// too large.
pub fn load(
    sources: &mut SourceMap,
    name: &str,
    bytes: Vec<u8>,
    diagnostics: &mut Diagnostics,
) -> Option<Declared> {
    let given = Given::default();
    load_for(
        Purpose::Network,
        &given,
        sources,
        (name, bytes),
        diagnostics,
    )
}

/// Reads a DOT file like [`load`]. The values in `given` replace sizes of the graph.
pub fn load_with(
    given: &Given,
    sources: &mut SourceMap,
    name: &str,
    bytes: Vec<u8>,
    diagnostics: &mut Diagnostics,
) -> Option<Declared> {
    load_for(Purpose::Network, given, sources, (name, bytes), diagnostics)
}

/// Reads a DOT file like [`load`], for a picture of the graph, which need not be a valid network.
///
/// Everything that Graphviz draws is declared. Errors of [`load`] about the network are warnings
/// here, except for a graph with too many edges and for an unsupported version. Returns `None` in
/// these two cases. Also returns `None` if the file is not text, is too large, has syntax errors or
/// contains no graph.
pub fn load_picture(
    given: &Given,
    sources: &mut SourceMap,
    name: &str,
    bytes: Vec<u8>,
    diagnostics: &mut Diagnostics,
) -> Option<Declared> {
    load_for(Purpose::Picture, given, sources, (name, bytes), diagnostics)
}

fn load_for(
    purpose: Purpose,
    given: &Given,
    sources: &mut SourceMap,
    (name, bytes): (&str, Vec<u8>),
    diagnostics: &mut Diagnostics,
) -> Option<Declared> {
    let (text, encoding) = match decode(bytes) {
        Ok(read) => read,
        Err(why) => {
            diagnostics.push(Diagnostic::error(
                codes::NOT_TEXT,
                format!("{name} is not a text file: {why}"),
            ));
            return None;
        }
    };
    let source = match sources.add(name, text) {
        Ok(source) => source,
        Err(why) => {
            diagnostics.push(Diagnostic::error(
                codes::TOO_LARGE,
                format!("{name} is too large: {why}"),
            ));
            return None;
        }
    };
    if let Encoding::Latin1(at) = encoding {
        // In Latin-1 each byte is a character, so byte `at` of the file is character `at` of the
        // text.
        let prefix = source.text().char_indices().nth(at).map_or(0, |(i, _)| i);
        let start = source.base() + prefix as u32;
        diagnostics.push(
            Diagnostic::note(
                codes::LATIN1,
                format!("{name} is not UTF-8 and is read as Latin-1"),
            )
            .at(Span::new(start, start), "the first byte that is not UTF-8")
            .help("save the file as UTF-8 if its names are shown incorrectly"),
        );
    }
    declare_for(purpose, given, sources, &source, diagnostics)
}

/// Returns the declarations of a text, which must be one of `sources`.
///
/// Returns `None`, with errors in `diagnostics`, if the text cannot be used, as [`load`] does.
/// Warnings are possible in both cases. If the graph has no name, the result has the stem of the
/// source's name as its name.
pub fn declare(
    sources: &SourceMap,
    source: &Source,
    diagnostics: &mut Diagnostics,
) -> Option<Declared> {
    let given = Given::default();
    declare_for(Purpose::Network, &given, sources, source, diagnostics)
}

fn declare_for(
    purpose: Purpose,
    given: &Given,
    sources: &SourceMap,
    source: &Source,
    diagnostics: &mut Diagnostics,
) -> Option<Declared> {
    let text = Text::new(source.text(), source.base());
    let mut syntax = Diagnostics::new();
    let mut meaning = Diagnostics::new();
    let (sizes, names) = sizes::of_text(source, given, &mut meaning);
    let mut builder = DeclaredBuilder::new(text, sources, sizes, names);
    let mut graph = Graph::new(text, &mut builder, &mut meaning);
    let graphs = parse(source, &mut graph, &mut syntax);
    drop(graph);
    if graphs == 0 && !syntax.has_errors() {
        let start = Span::new(source.base(), source.base());
        let empty = Diagnostic::error(codes::NO_GRAPH, "the file contains no graph")
            .at(start, "expected `digraph`")
            .help("begin the file with `digraph name {`");
        syntax.push(empty);
    }
    let broken = syntax.has_errors();
    diagnostics.append(syntax);
    if broken {
        // Diagnostics about the declarations of a text with syntax errors would be misleading.
        return None;
    }
    let mut declared = builder.finish(&mut meaning);
    if purpose == Purpose::Picture {
        meaning = meaning.filter_map(|diagnostic| Some(tolerated(diagnostic)));
    }
    let unusable = meaning.has_errors();
    meaning.sort();
    diagnostics.append(meaning);
    if declared.name.is_empty() {
        let stem = std::path::Path::new(source.name()).file_stem();
        declared.name = stem.map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    }
    (!unusable).then_some(declared)
}

/// Turns an error into a warning, unless it is about too many edges or the version of the graph,
/// because these prevent drawing. Other diagnostics are returned unchanged.
fn tolerated(mut diagnostic: Diagnostic) -> Diagnostic {
    let kept = [codes::TOO_MANY_EDGES, OTHER_VERSION];
    if diagnostic.severity == Severity::Error && !kept.contains(&diagnostic.code) {
        diagnostic.severity = Severity::Warning;
    }
    diagnostic
}

/// Builds a [`Declared`] from the nodes, scopes and edges that [`Graph`] reports.
struct DeclaredBuilder<'a> {
    reading: Reading<'a>,
    scopes: Scopes,
    nodes: Nodes,
    edges: Edges,
    graphs: u32,
    /// Position of the word `strict`.
    strict: Option<Span>,
}

impl<'a> DeclaredBuilder<'a> {
    fn new(
        text: Text<'a>,
        sources: &SourceMap,
        sizes: Sizes,
        names: Vec<String>,
    ) -> DeclaredBuilder<'a> {
        DeclaredBuilder {
            reading: Reading::new(text, sources, sizes, names),
            scopes: Scopes::default(),
            nodes: Nodes::new(),
            edges: Edges::default(),
            graphs: 0,
            strict: None,
        }
    }

    fn finish(self, diagnostics: &mut Diagnostics) -> Declared {
        let DeclaredBuilder {
            mut reading,
            scopes,
            mut nodes,
            edges,
            strict,
            ..
        } = self;
        reading.report_slips();
        if let Some(strict) = strict {
            reading.report_merged_edges(strict);
        }
        nodes.explicit.finish(&mut reading);
        nodes.explicit.join_split_processes(&mut reading);
        scopes.explicit.finish(&mut reading);
        nodes.finish(&mut reading);
        nodes.finish_special(&mut reading);
        reading.fit();
        reading.finish_kept(|scope| scopes.own_module(scope));
        reading.join_bundles(nodes.bundles, &edges.defaulted);
        reading.retain_processes();
        reading.out.sizes = reading.sizes.into_names();
        match reading.refused {
            Some(error) => diagnostics.push(error),
            None => reading.report.finish(diagnostics),
        }
        reading.out
    }

    #[inline]
    fn later_graph(&self) -> bool {
        self.graphs > 1
    }
}

impl Builder for DeclaredBuilder<'_> {
    type Key = Key;

    fn names(&mut self) -> &mut Names {
        &mut self.reading.out.names
    }

    fn open_graph(&mut self, header: &Header) {
        self.graphs += 1;
        if self.later_graph() {
            self.reading.report.several_graphs(header.span);
            return;
        }
        if let Some(name) = header.name {
            self.reading.out.name = self.reading.text.value(name).into_owned();
        }
        self.strict = header.strict;
        self.reading.report.header(header);
        self.scopes.open_graph();
    }

    fn defaults(&mut self, target: Target, attributes: &[Attribute]) {
        if !self.later_graph() {
            self.reading
                .list_of_defaults(element_of(target), attributes);
        }
    }

    fn classify(&mut self, target: Target, attribute: &Attribute) -> Option<Key> {
        if self.later_graph() {
            return None;
        }
        let element = element_of(target);
        let key = self.reading.key(element, attribute)?;
        if element == Element::Node && key.is_of_bundle_node() {
            let name = self.reading.text.value(attribute.name);
            self.reading.report.no_default(&name, attribute);
            return None;
        }
        Some(key)
    }

    fn open_scope(&mut self, number: u32, scope: &Scope, again: bool) {
        if !self.later_graph() {
            self.scopes.open(&mut self.reading, number, scope, again);
        }
    }

    fn scope_attribute(&mut self, scope: u32, attribute: &Attribute) {
        if !self.later_graph() {
            self.scopes.attribute(&mut self.reading, scope, attribute);
        }
    }

    fn node(&mut self, name: Symbol, span: Span, scope: u32, defaults: &[Preset<Key>]) {
        if self.later_graph() {
            return;
        }
        self.reading.scope = scope;
        let number = self.reading.add_node(name, span);
        self.scopes.touch(scope);
        if name == self.reading.known.null {
            // Defaults apply to processes. Only attributes on `NULL` itself are errors.
            return;
        }
        self.reading.kept_defaults(number, defaults);
        for preset in defaults.iter().filter(|preset| !preset.key.is_kept()) {
            self.nodes
                .key(&mut self.reading, number, preset.key, &preset.attribute);
        }
    }

    #[inline]
    fn mention(&mut self, node: u32, scope: u32, span: Span) {
        if self.later_graph() {
            return;
        }
        let module = self.scopes.touch(scope);
        let modules = &self.scopes.modules;
        self.nodes
            .mention(&mut self.reading, modules, (node, span), module);
    }

    fn node_attributes(&mut self, nodes: &[u32], attributes: &[Attribute], scope: u32) {
        if !self.later_graph() {
            self.reading.scope = scope;
            self.nodes.statement(&mut self.reading, nodes, attributes);
        }
    }

    #[inline]
    fn edges(&mut self, defaults: &[Preset<Key>], attributes: &[Attribute], scope: u32) {
        if !self.later_graph() {
            self.reading.scope = scope;
            self.reading.module = self.scopes.module(scope);
            self.edges
                .statement(&mut self.reading, defaults, attributes);
        }
    }

    #[inline]
    fn edge(&mut self, tail: &End, head: &End) {
        if !self.later_graph() {
            self.edges.channel(&mut self.reading, tail, head);
        }
    }
}

/// Returns the kind of element to which defaults of nodes or edges apply. `target` must not be the
/// graph.
fn element_of(target: Target) -> Element {
    match target {
        Target::Edge => Element::Edge,
        _ => Element::Node,
    }
}
