//! Reads GraphML.

use crate::codes::GRAPHML;
use crate::drawing::{Attribute, Drawing, MOST_DEPTH, Module, Node, ORDER, Word};
use crate::index::{Index, Known};
use crate::translation::{Load, NULL, Translation};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::{Source, SourceMap, Span};
use roxmltree::{Document, Node as Element, ParsingOptions};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::ops::Range;

/// Maximum number of attributes in a tag. The parser compares each with all others.
const MOST_IN_TAG: usize = 1000;

/// Reads a network from the text of a GraphML file, which must be one of `sources`.
///
/// `given` replaces sizes of the graph. `load` determines whether defects of the network are
/// errors.
///
/// # Errors
/// Returns the errors in the text. If the text is not GraphML, only these are returned.
pub fn read(
    source: &Source,
    sources: &SourceMap,
    given: &Given,
    load: Load,
) -> Result<(Declared, Diagnostics), Diagnostics> {
    let text = source.text();
    if let Some(range) = crowded_tag(text) {
        let message = format!("a tag has more than {MOST_IN_TAG} attributes");
        return Err(error(message).at(absolute(source, range), "").into());
    }
    let options = ParsingOptions {
        allow_dtd: false,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)
        .map_err(|wrong| Diagnostics::from(not_xml(source, &wrong)))?;
    let mut reader = Reader {
        source,
        keys: FxHashMap::default(),
        drawing: Drawing::default(),
        index: Index::default(),
        orders: [Vec::new(), Vec::new()],
        edges: Vec::new(),
        found: Diagnostics::new(),
    };
    reader.document(&document);
    reader.sort();
    let mut translation = Translation::new(source, &reader.drawing);
    for (edge, module) in std::mem::take(&mut reader.edges) {
        if let Some(([tail, head], attributes)) = reader.edge(edge, module) {
            translation.edge(module, [&tail, &head], attributes);
        }
    }
    let mut found = reader.found;
    if found.has_errors() {
        found.sort();
        return Err(found);
    }
    let (declared, warnings) = translation.load(sources, given, load)?;
    found.append(warnings);
    Ok((declared, found))
}

fn error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(GRAPHML, message)
}

fn absolute(source: &Source, range: Range<usize>) -> Span {
    // A source is shorter than 4 GiB.
    let base = source.base();
    Span::new(base + range.start as u32, base + range.end as u32)
}

/// Returns the position of a tag with more than [`MOST_IN_TAG`] attributes. Text after the tag also
/// counts, where it has the form of an attribute.
fn crowded_tag(text: &str) -> Option<Range<usize>> {
    let is_attribute = |rest: &&str| rest.trim_start().starts_with(['"', '\'']);
    let mut start = 0;
    for piece in text.split('<') {
        let attributes = piece.split('=').skip(1).filter(is_attribute);
        if attributes.count() > MOST_IN_TAG {
            return Some(start..start + 1);
        }
        start += piece.len();
        start += usize::from(start < text.len());
    }
    None
}

fn not_xml(source: &Source, wrong: &roxmltree::Error) -> Diagnostic {
    let place = wrong.pos();
    let text = source.text();
    let mut lines = text.split_inclusive('\n');
    let before = lines.by_ref().take(place.row.saturating_sub(1) as usize);
    let start: usize = before.map(str::len).sum();
    let line = &text[start..];
    let column = line
        .char_indices()
        .nth(place.col.saturating_sub(1) as usize);
    let start = start + column.map_or(line.len(), |(at, _)| at);
    let length = text[start..].chars().next().map_or(0, char::len_utf8);
    let at = absolute(source, start..start + length);
    if matches!(wrong, roxmltree::Error::DtdDetected) {
        let message = "a document type declaration is not supported";
        let diagnostic = error(message).at(at, "");
        return diagnostic.help("remove `<!DOCTYPE ..>`; GraphML does not need it");
    }
    let mut reason = wrong.to_string();
    if let Some(end) = reason.rfind(" at ") {
        reason.truncate(end);
    }
    error("this is not well-formed XML").at(at, reason)
}

/// A `<key>`: an attribute that elements may have.
struct Key<'a> {
    /// Name of the attribute, or `None` for data of other programs.
    name: Option<Word<'a>>,
    /// True if spaces around the value belong to it.
    is_text: bool,
}

type Keys<'a> = FxHashMap<Cow<'a, str>, Key<'a>>;

struct Reader<'d, 'i> {
    source: &'i Source,
    keys: Keys<'d>,
    drawing: Drawing<'d>,
    index: Index<'d>,
    /// Attribute `order` of each node, and of each module.
    orders: [Vec<Option<u64>>; 2],
    /// Edges, each with the module whose graph contains it.
    edges: Vec<(Element<'d, 'i>, Option<usize>)>,
    found: Diagnostics,
}

/// Elements of a graph that are not read yet.
struct Todo<'d, 'i> {
    /// The first of them. The others follow it.
    first: Element<'d, 'i>,
    module: Option<usize>,
    depth: usize,
}

/// Ends and attributes of an edge.
type Edge<'d> = ([Word<'d>; 2], Vec<Attribute<'d>>);

impl<'d, 'i> Reader<'d, 'i> {
    fn document(&mut self, document: &'d Document<'i>) {
        let root = document.root_element();
        if name(root) != "graphml" {
            let message = format!("this is not GraphML, but `{}`", name(root));
            let at = self.tag(root);
            self.found
                .push(error(message).at(at, "expected `<graphml>`"));
            return;
        }
        for key in elements(root).filter(|e| name(*e) == "key") {
            self.key(key);
        }
        let mut graphs = elements(root).filter(|e| name(*e) == "graph");
        let Some(graph) = graphs.next() else {
            let error = error("the file contains no graph");
            let at = self.tag(root);
            self.found.push(error.at(at, "expected `<graph>` inside"));
            return;
        };
        for other in graphs {
            let warning = Diagnostic::warning(GRAPHML, "only the first graph of a file is read");
            let at = self.tag(other);
            self.found.push(warning.at(at, "ignored"));
        }
        self.drawing.name = self.attribute(graph, "id");
        for one in self.data(graph) {
            match &*one.name.text {
                "name" => self.drawing.name = Some(one.value),
                _ => self.drawing.attributes.push(one),
            }
        }
        self.graph(graph);
    }

    fn key(&mut self, element: Element<'d, 'i>) {
        let Some(id) = self.attribute(element, "id") else {
            return self.wrong(element, "a `<key>` has no `id`");
        };
        let called = self.attribute(element, "attr.name");
        let is_text = element
            .attribute("attr.type")
            .is_none_or(|ty| ty == "string");
        let default = elements(element).find(|e| name(*e) == "default");
        let default = default.and_then(|default| self.value(default, is_text));
        if let (Some(called), Some(value)) = (&called, default) {
            let of = element.attribute("for").unwrap_or("all");
            let attribute = Attribute {
                name: called.clone(),
                value,
            };
            for domain in ["node", "edge"] {
                if of == domain || of == "all" {
                    self.drawing.defaults.push((domain, attribute.clone()));
                }
            }
            if of == "graph" {
                self.drawing.attributes.push(attribute);
            }
        }
        let key = Key {
            name: called,
            is_text,
        };
        if self.keys.insert(id.text.clone(), key).is_some() {
            let message = format!("two keys have the id `{}`", id.text);
            self.found.push(error(message).at(id.span, ""));
        }
    }

    /// Reads the elements of a graph and of all graphs inside it. It is not recursive, because
    /// graphs may nest deeply.
    fn graph(&mut self, graph: Element<'d, 'i>) {
        self.directed(graph);
        let mut todo: Vec<Todo<'d, 'i>> = Vec::new();
        let enter = |graph: Element<'d, 'i>, module, depth| {
            let first = graph.first_child()?;
            Some(Todo {
                first,
                module,
                depth,
            })
        };
        todo.extend(enter(graph, None, 0));
        while let Some(Todo {
            first: element,
            module,
            depth,
        }) = todo.pop()
        {
            let next = element.next_sibling();
            todo.extend(next.map(|first| Todo {
                first,
                module,
                depth,
            }));
            if !element.is_element() {
                continue;
            }
            match name(element) {
                "node" => match self.node(element, module) {
                    Some(_) if depth == MOST_DEPTH => {
                        self.wrong(element, &format!("modules nest deeper than {MOST_DEPTH}"));
                    }
                    Some((inside, graph)) => todo.extend(enter(graph, Some(inside), depth + 1)),
                    None => {}
                },
                "edge" => self.edges.push((element, module)),
                "data" | "desc" => {}
                _ => self.unsupported(element),
            }
        }
    }

    /// Adds a node. Returns its number and its graph if it is a module.
    fn node(
        &mut self,
        element: Element<'d, 'i>,
        around: Option<usize>,
    ) -> Option<(usize, Element<'d, 'i>)> {
        let Some(id) = self.attribute(element, "id") else {
            self.wrong(element, "a `<node>` has no `id`");
            return None;
        };
        let mut attributes = self.data(element);
        let mut ports = Vec::new();
        let mut graph = None;
        for child in elements(element) {
            match name(child) {
                "graph" if graph.is_none() => graph = Some(child),
                "graph" => self.wrong(child, "a node contains several graphs"),
                "port" => self.ports(child, &mut ports),
                "data" | "desc" => {}
                _ => self.unsupported(child),
            }
        }
        let Some(graph) = graph else {
            let number = self.drawing.nodes.len();
            let order = self.order(&mut attributes);
            self.orders[0].push(order);
            let twice = self.index.add(&id, Known::Node(number, ports), GRAPHML);
            self.found.extend(twice);
            self.drawing.nodes.push(Node {
                name: id,
                module: around,
                attributes,
            });
            return None;
        };
        self.directed(graph);
        attributes.extend(self.data(graph));
        let order = self.order(&mut attributes);
        self.orders[1].push(order);
        let number = self.drawing.modules.len();
        let twice = self.index.add(&id, Known::Module(number), GRAPHML);
        self.found.extend(twice);
        self.drawing.modules.push(Module {
            id,
            parent: around,
            attributes,
        });
        Some((number, graph))
    }

    /// Adds the names of a port and of the ports inside it.
    fn ports(&mut self, element: Element<'d, 'i>, names: &mut Vec<String>) {
        let all = element.descendants().filter(|e| name(*e) == "port");
        for port in all {
            match port.attribute("name") {
                Some(name) => names.push(name.to_owned()),
                None => self.wrong(port, "a `<port>` has no `name`"),
            }
        }
    }

    /// Removes the attribute `order`, and returns its value. Reports another value than a number.
    fn order(&mut self, attributes: &mut Vec<Attribute<'d>>) -> Option<u64> {
        let index = attributes.iter().position(|a| a.name.text == ORDER)?;
        let value = attributes.remove(index).value;
        let order = value.text.trim().parse().ok();
        if order.is_none() {
            let error = error(format!("`{ORDER}` must be a number of at least 0"));
            self.found.push(error.at(value.span, ""));
        }
        order
    }

    /// Sorts nodes and modules by the attribute `order`. Reports a module that precedes the module
    /// around it.
    fn sort(&mut self) {
        let [of_nodes, of_modules] = std::mem::take(&mut self.orders);
        // The old index of each, in the new order.
        let sorted = |orders: &[Option<u64>]| {
            let mut indices: Vec<usize> = (0..orders.len()).collect();
            indices.sort_by_key(|index| (orders[*index].is_none(), orders[*index]));
            let mut new = vec![0; indices.len()];
            for (place, index) in indices.iter().enumerate() {
                new[*index] = place;
            }
            new
        };
        let (nodes, modules) = (sorted(&of_nodes), sorted(&of_modules));
        let Drawing {
            nodes: all_nodes,
            modules: all_modules,
            ..
        } = &mut self.drawing;
        for node in all_nodes.iter_mut() {
            node.module = node.module.map(|module| modules[module]);
        }
        for (index, module) in all_modules.iter_mut().enumerate() {
            module.parent = module.parent.map(|parent| modules[parent]);
            if module.parent.is_some_and(|parent| parent > modules[index]) {
                let error = error(format!(
                    "`{ORDER}` puts a module before the module around it"
                ));
                self.found.push(error.at(module.id.span, ""));
                module.parent = None;
            }
        }
        permute(all_nodes, &nodes);
        permute(all_modules, &modules);
        for (_, module) in &mut self.edges {
            *module = module.map(|module| modules[module]);
        }
        self.index.renumber(&nodes, &modules);
    }

    /// Returns the ends and the attributes of an edge in the graph of a module.
    fn edge(&mut self, element: Element<'d, 'i>, module: Option<usize>) -> Option<Edge<'d>> {
        if element.attribute("directed") == Some("false") {
            self.undirected(element);
            return None;
        }
        let mut attributes = self.data(element);
        let tail = self.end(
            element,
            module,
            ("source", "sourceport", "src"),
            &mut attributes,
        );
        let head = self.end(
            element,
            module,
            ("target", "targetport", "dst"),
            &mut attributes,
        );
        Some(([tail?, head?], attributes))
    }

    /// Returns the node at an end of an edge, and adds its port to the attributes. `names` are
    /// the names of node and port in GraphML, and of the port in the graph language.
    fn end(
        &mut self,
        element: Element<'d, 'i>,
        module: Option<usize>,
        (node, port, ours): (&'static str, &str, &'static str),
        attributes: &mut Vec<Attribute<'d>>,
    ) -> Option<Word<'d>> {
        let Some(end) = self.attribute(element, node) else {
            self.wrong(element, &format!("an `<edge>` has no `{node}`"));
            return None;
        };
        let port = self.attribute(element, port);
        let wrong = match self.index.get(&end.text) {
            _ if end.text == NULL => None,
            None => Some(error(format!("no node has the id `{}`", end.text))),
            Some(Known::Module(_)) => {
                let error = error(format!("an edge cannot end at the module `{}`", end.text));
                Some(error.help("name a node in the module"))
            }
            Some(Known::Node(number, ports)) => {
                if let Some(port) = &port
                    && !ports.is_empty()
                    && !ports.iter().any(|known| *known == *port.text)
                {
                    let message = format!("`{}` has no port `{}`", end.text, port.text);
                    let help = format!("the ports are {}", ports.join(", "));
                    self.found.push(error(message).at(port.span, "").help(help));
                }
                let inner = self.drawing.nodes[*number].module;
                let parent = |at: &usize| self.drawing.modules[*at].parent;
                let mut around = std::iter::successors(inner, parent);
                let is_inside = module.is_none_or(|module| around.any(|at| at == module));
                (!is_inside).then(|| {
                    let message = format!("`{}` is outside of the graph of the edge", end.text);
                    error(message).help("move the edge to a graph that contains both ends")
                })
            }
        };
        attributes.extend(port.map(|value| Attribute {
            name: Word {
                text: Cow::Borrowed(ours),
                span: value.span,
            },
            value,
        }));
        if let Some(wrong) = wrong {
            self.found.push(wrong.at(end.span, ""));
            return None;
        }
        Some(end)
    }

    /// Reports an element of GraphML that has no meaning in a network. Ignores elements of other
    /// programs.
    fn unsupported(&mut self, element: Element<'d, 'i>) {
        let root = element.document().root_element();
        if element.tag_name().namespace() != root.tag_name().namespace() {
            return;
        }
        let diagnostic = error(format!("`<{}>` is not supported", name(element)));
        let diagnostic = diagnostic.at(self.tag(element), "");
        self.found.push(match name(element) {
            "hyperedge" => diagnostic.help("use a node with `bundle`, and an edge for each end"),
            "locator" => diagnostic.help("write the graph in this file"),
            _ => diagnostic,
        });
    }

    /// Reports a graph whose edges have no direction.
    fn directed(&mut self, graph: Element<'d, 'i>) {
        if graph.attribute("edgedefault") == Some("undirected") {
            self.undirected(graph);
        }
    }

    fn undirected(&mut self, element: Element<'d, 'i>) {
        let error = error("an undirected edge cannot describe a channel");
        let error = error.at(self.tag(element), "");
        self.found
            .push(error.help("set `edgedefault=\"directed\"`, and remove `directed=\"false\"`"));
    }

    fn wrong(&mut self, element: Element<'d, 'i>, message: &str) {
        let at = self.tag(element);
        self.found.push(error(message).at(at, ""));
    }

    /// Returns the position of the name in the tag of an element.
    fn tag(&self, element: Element<'d, 'i>) -> Span {
        let start = element.range().start;
        let rest = &self.source.text()[start..];
        let length = rest.find(|c: char| c.is_whitespace() || c == '>' || c == '/');
        absolute(self.source, start..start + length.unwrap_or(rest.len()))
    }

    /// Returns the value of an attribute of XML.
    fn attribute(&self, element: Element<'d, 'i>, name: &str) -> Option<Word<'d>> {
        let attribute = element.attribute_node(name)?;
        Some(Word {
            text: Cow::Borrowed(attribute.value()),
            span: absolute(self.source, attribute.range_value()),
        })
    }

    /// Returns the attributes of the graph language in the `<data>` of an element.
    fn data(&mut self, element: Element<'d, 'i>) -> Vec<Attribute<'d>> {
        let mut attributes = Vec::new();
        for data in elements(element).filter(|e| name(*e) == "data") {
            let Some(id) = self.attribute(data, "key") else {
                self.wrong(data, "a `<data>` has no `key`");
                continue;
            };
            let Some(key) = self.keys.get(&id.text) else {
                let message = format!("no `<key>` has the id `{}`", id.text);
                self.found.push(error(message).at(id.span, ""));
                continue;
            };
            let is_text = key.is_text;
            let Some(called) = key.name.as_ref() else {
                continue;
            };
            let called = Word {
                text: called.text.clone(),
                span: id.span,
            };
            if let Some(value) = self.value(data, is_text) {
                let name = called;
                attributes.push(Attribute { name, value });
            } else {
                let message = format!("the value of `{}` is not text", called.text);
                let warning = Diagnostic::warning(GRAPHML, message);
                let at = self.tag(data);
                self.found.push(warning.at(at, "ignored"));
            }
        }
        attributes
    }

    /// Returns the text in an element, without spaces around it unless `is_text`. Returns `None` if
    /// it contains other elements.
    fn value(&self, element: Element<'d, 'i>, is_text: bool) -> Option<Word<'d>> {
        let mut found: Option<Word<'d>> = None;
        for child in element.children() {
            if child.is_element() {
                return None;
            }
            let Some(text) = child.text().filter(|_| child.is_text()) else {
                continue;
            };
            let span = absolute(self.source, child.range());
            found = Some(match found {
                None => Word {
                    text: Cow::Borrowed(text),
                    span,
                },
                Some(first) => Word {
                    text: Cow::Owned(first.text.into_owned() + text),
                    span: first.span.to(span),
                },
            });
        }
        let mut word = found.unwrap_or_else(|| {
            let end = element.range().end;
            Word {
                text: Cow::Borrowed(""),
                span: absolute(self.source, end..end),
            }
        });
        if !is_text {
            let trimmed = word.text.trim_start();
            word.span.start += (word.text.len() - trimmed.len()) as u32;
            let trimmed = trimmed.trim_end();
            word.span.start = word.span.start.min(word.span.end);
            word.span.end = word.span.end.min(word.span.start + trimmed.len() as u32);
            word.text = Cow::Owned(trimmed.to_owned());
        }
        Some(word)
    }
}

fn elements<'d, 'i>(element: Element<'d, 'i>) -> impl Iterator<Item = Element<'d, 'i>> {
    element.children().filter(Element::is_element)
}

fn name<'d>(element: Element<'d, '_>) -> &'d str {
    element.tag_name().name()
}

/// Moves each element of a list to its new index.
fn permute<T>(list: &mut Vec<T>, new: &[usize]) {
    let mut all: Vec<(usize, T)> = new.iter().copied().zip(list.drain(..)).collect();
    all.sort_by_key(|(index, _)| *index);
    list.extend(all.into_iter().map(|(_, element)| element));
}
