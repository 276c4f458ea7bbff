//! Translates nodes, edges and modules to the graph language, and positions back.

use crate::drawing::{Attribute, Drawing, LABEL, MODULE_NAME, Word};
use graphmap_dot::language::is_html;
use graphmap_dot::write::word;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{ChannelExtra, Declared, ModuleId};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Label};
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::{Source, SourceMap, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::iter::successors;

/// Function that reads a text in the graph language:
/// [`load_with`](graphmap_dot::language::load_with), or
/// [`load_picture`](graphmap_dot::language::load_picture) for a picture.
pub type Load = fn(&Given, &mut SourceMap, &str, Vec<u8>, &mut Diagnostics) -> Option<Declared>;

/// Attribute of an edge: name of the bundle, as in JSON. The graph language names a bundle by the
/// name of its node.
pub(crate) const BUNDLE_NAME: &str = "bundle_name";
/// Name of the environment.
pub(crate) const NULL: &str = "NULL";
/// Maximum length of a translation: a constant, and a multiple of the length of the original. It is
/// exceeded if nodes alternate between modules that nest deeply.
const MOST: usize = 64 << 20;
const TIMES: usize = 8;

/// A piece of the translation, up to the start of the next piece.
struct Piece {
    start: u32,
    /// Position in the original.
    span: Span,
}

/// A text in the graph language that is made from another text.
pub(crate) struct Translation<'s> {
    source: &'s Source,
    text: String,
    pieces: Vec<Piece>,
    /// Name of each module in the translation, and its parent.
    modules: Vec<(String, Option<usize>)>,
    /// Modules whose real name a node has, or another module beside them.
    renamed: Vec<(usize, String)>,
    /// Module that is open for nodes and edges.
    open: Option<usize>,
    is_too_large: bool,
    /// Names of bundles, by the start of the edge in the translation.
    bundles: FxHashMap<u32, Word<'static>>,
}

impl<'s> Translation<'s> {
    /// Begins a graph with everything but its edges. `source` is the original.
    pub(crate) fn new(source: &'s Source, drawing: &Drawing<'_>) -> Translation<'s> {
        let mut translation = Translation {
            source,
            text: String::new(),
            pieces: Vec::new(),
            modules: Vec::new(),
            renamed: Vec::new(),
            open: None,
            is_too_large: false,
            bundles: FxHashMap::default(),
        };
        let start = Span::new(source.base(), source.base());
        translation.put("digraph ", start);
        if let Some(name) = drawing.name.as_ref().filter(|name| !name.text.is_empty()) {
            translation.word(name);
        }
        translation.put(" {\n", start);
        for attribute in &drawing.attributes {
            translation.statement(attribute);
        }
        for (element, attribute) in &drawing.defaults {
            translation.put(element, attribute.name.span);
            let span = attribute.value.span;
            translation.list(std::slice::from_ref(attribute), span);
        }
        translation.name_modules(drawing);
        translation.modules(drawing);
        for node in &drawing.nodes {
            translation.enter(node.module, node.name.span);
            translation.word(&node.name);
            translation.list(&node.attributes, node.name.span);
        }
        translation
    }

    fn put(&mut self, text: &str, span: Span) {
        let length = self.text.len() + text.len();
        self.is_too_large |= length > MOST + TIMES * self.source.text().len();
        match u32::try_from(self.text.len()) {
            Ok(start) if !self.is_too_large => {
                self.pieces.push(Piece { start, span });
                self.text.push_str(text);
            }
            _ => self.is_too_large = true,
        }
    }

    fn word(&mut self, given: &Word<'_>) {
        let Word { text, span } = given;
        let written = word(text);
        if written.starts_with('"') && written.len() == text.len() + 2 {
            self.put("\"", Span::new(span.start, span.start));
            self.put(text, *span);
            self.put("\"", Span::new(span.end, span.end));
        } else {
            self.put(&written, *span);
        }
    }

    fn attribute(&mut self, attribute: &Attribute<'_>) {
        let Attribute { name, value } = attribute;
        self.word(name);
        self.put("=", value.span);
        if name.text == LABEL && is_html(&value.text) {
            self.put(&value.text, value.span);
        } else {
            self.word(value);
        }
    }

    fn statement(&mut self, attribute: &Attribute<'_>) {
        self.attribute(attribute);
        self.put(";\n", attribute.value.span);
    }

    fn list(&mut self, attributes: &[Attribute<'_>], span: Span) {
        for (index, attribute) in attributes.iter().enumerate() {
            self.put(if index == 0 { " [" } else { " " }, span);
            self.attribute(attribute);
        }
        self.put(if attributes.is_empty() { ";\n" } else { "];\n" }, span);
    }

    /// Chooses the names of the modules in the translation, because two modules of one name beside
    /// each other would be one cluster, and a node with the name of a cluster is an error.
    fn name_modules(&mut self, drawing: &Drawing<'_>) {
        let nodes: FxHashSet<&str> = drawing.nodes.iter().map(|node| &*node.name.text).collect();
        let mut known: FxHashSet<(Option<usize>, String)> = FxHashSet::default();
        for (index, module) in drawing.modules.iter().enumerate() {
            let real = module.name();
            let mut name = real.text.clone().into_owned();
            let mut number = index;
            while nodes.contains(&*name) || !known.insert((module.parent, name.clone())) {
                number += 1;
                name = format!("{}_{number}", real.text);
            }
            if *name != *real.text {
                self.renamed.push((index, real.text.clone().into_owned()));
            }
            self.modules.push((name, module.parent));
        }
    }

    /// Writes the modules, in their order.
    fn modules(&mut self, drawing: &Drawing<'_>) {
        for (index, module) in drawing.modules.iter().enumerate() {
            let span = module.name().span;
            self.enter(module.parent, span);
            self.open(index, span);
            self.open = Some(index);
            self.put("cluster=true;\n", module.id.span);
            let attributes = module.attributes.iter();
            for attribute in attributes.filter(|a| a.name.text != MODULE_NAME) {
                self.statement(attribute);
            }
        }
    }

    fn open(&mut self, module: usize, span: Span) {
        let name = self.modules[module].0.clone();
        self.put("subgraph ", span);
        self.word(&Word {
            text: Cow::Owned(name),
            span,
        });
        self.put(" {\n", span);
    }

    /// Adds an edge, which is declared in a module. All modules and nodes must have been added.
    pub(crate) fn edge(
        &mut self,
        module: Option<usize>,
        ends: [&Word<'_>; 2],
        mut attributes: Vec<Attribute<'_>>,
    ) {
        let [tail, head] = ends;
        let span = tail.span.to(head.span);
        // The module counts only for listed instances and for edges of the environment.
        let listed = attributes.iter().any(|a| a.name.text == "for");
        let environment = ends.iter().any(|end| end.text == NULL);
        let module = module.filter(|_| listed || environment);
        self.enter(module, span);
        let start = u32::try_from(self.text.len()).unwrap_or(u32::MAX);
        attributes.retain(|attribute| {
            let named = attribute.name.text == BUNDLE_NAME && !attribute.value.text.is_empty();
            if named {
                let name = Word {
                    text: Cow::Owned(attribute.value.text.clone().into_owned()),
                    span: attribute.value.span,
                };
                self.bundles.insert(start, name);
            }
            !named
        });
        self.word(tail);
        self.put(" -> ", span);
        self.word(head);
        self.list(&attributes, span);
    }

    /// Opens a module again, and closes the modules that do not contain it. Closes all for `None`.
    fn enter(&mut self, module: Option<usize>, span: Span) {
        if self.open == module {
            return;
        }
        let path = |inner: Option<usize>| {
            let mut path: Vec<usize> = successors(inner, |at| self.modules[*at].1).collect();
            path.reverse();
            path
        };
        let (closed, opened) = (path(self.open), path(module));
        let common = closed
            .iter()
            .zip(&opened)
            .take_while(|(a, b)| a == b)
            .count();
        (common..closed.len()).for_each(|_| self.put("}\n", span));
        for module in &opened[common..] {
            self.open(*module, span);
        }
        self.open = module;
    }

    /// Reads the translation. `sources` must contain the original, to which all positions of the
    /// result refer.
    ///
    /// # Errors
    /// Returns the errors in the network.
    pub(crate) fn load(
        mut self,
        sources: &SourceMap,
        given: &Given,
        load: Load,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        if self.is_too_large {
            let message = format!("`{}` has too deep modules for its size", self.source.name());
            let error = Diagnostic::error(graphmap_dot::codes::TOO_LARGE, message);
            return Err(error.help("list the nodes of each module together").into());
        }
        let end = self.source.base() + self.source.text().len() as u32;
        let end = Span::new(end, end);
        self.enter(None, end);
        self.put("}\n", end);
        let text = std::mem::take(&mut self.text).into_bytes();
        let mut found = Diagnostics::new();
        let mut own = SourceMap::new();
        let declared = load(given, &mut own, self.source.name(), text, &mut found);
        let Some(source) = own.sources().next() else {
            // The text is too large.
            return Err(found);
        };
        let text = source.text();
        let mut diagnostics = found.filter_map(|mut one| {
            let place = |label: &mut Label| label.span = self.original(text, label.span);
            one.primary.iter_mut().for_each(place);
            one.secondary.iter_mut().for_each(place);
            Some(one)
        });
        let Some(mut declared) = declared else {
            diagnostics.sort();
            return Err(diagnostics);
        };
        self.name_bundles(&mut declared, &mut diagnostics);
        for (index, name) in std::mem::take(&mut self.renamed) {
            let name = declared.names.intern(&name);
            declared.modules[ModuleId::from_index(index)].name = name;
        }
        declared.map_spans(|span| self.original(text, span));
        declared.sources = sources.clone();
        diagnostics.sort();
        match diagnostics.has_errors() {
            true => Err(diagnostics),
            false => Ok((declared, diagnostics)),
        }
    }

    /// Names the bundles whose edges have such an attribute. Reports the attribute on an edge that
    /// is in no bundle.
    fn name_bundles(&self, declared: &mut Declared, diagnostics: &mut Diagnostics) {
        if self.bundles.is_empty() {
            return;
        }
        for index in 0..declared.channels.len() {
            let channel = declared.channels[index].clone();
            let Some(name) = self.bundles.get(&channel.span.start) else {
                continue;
            };
            let extra = declared.extra(&channel).cloned();
            let Some(extra) = extra.filter(|extra| extra.bundle.is_some()) else {
                let message = "`bundle_name` is given without `bundle`";
                let error = Diagnostic::error(graphmap_dot::codes::BAD_VALUE, message);
                diagnostics.push(error.at(name.span, "").help("add the kind of the bundle"));
                continue;
            };
            let extra = ChannelExtra {
                bundle_name: Some(declared.names.intern(&name.text)),
                ..extra
            };
            declared.channels[index].extra = declared.add_extra(extra);
        }
    }

    /// Returns the position in the original of a part of the translation `text`.
    fn original(&self, text: &str, span: Span) -> Span {
        if span.is_none() {
            return span;
        }
        let last = span.end.saturating_sub(1).max(span.start);
        self.at(text, span.start, span.start)
            .to(self.at(text, last, span.end))
    }

    /// Returns the position in the original of `position`, which is in the piece that contains
    /// `inside` or at its end. It is the position of the whole piece if the texts differ.
    fn at(&self, text: &str, inside: u32, position: u32) -> Span {
        let after = self.pieces.partition_point(|piece| piece.start <= inside);
        let Some(piece) = after.checked_sub(1).and_then(|i| self.pieces.get(i)) else {
            return Span::NONE;
        };
        let end = self
            .pieces
            .get(after)
            .map_or(text.len(), |p| p.start as usize);
        let translated = text.get(piece.start as usize..end);
        let base = self.source.base();
        let range = piece.span.start.wrapping_sub(base) as usize
            ..piece.span.end.wrapping_sub(base) as usize;
        let original = self.source.text().get(range);
        if translated.is_none() || translated != original {
            return piece.span;
        }
        let offset = piece.span.start + (position - piece.start);
        Span::new(offset, offset)
    }
}
