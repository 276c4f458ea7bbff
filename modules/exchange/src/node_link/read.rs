//! Reads node-link JSON.

use crate::codes::NODE_LINK;
use crate::drawing::{Attribute, Drawing, MOST_DEPTH, Module, Node, Word};
use crate::index::{Index, Known};
use crate::translation::{Load, NULL, Translation};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::{Source, SourceMap, Span};
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// Returns true if a text is a JSON object with the members of node-link JSON, and not a network in
/// the format of graphmap.
#[must_use]
pub fn is_node_link(text: &str) -> bool {
    serde_json::from_str::<Probe>(without_mark(text)).is_ok_and(|found| found.nodes && found.edges)
}

/// Reads a network from the text of a file, which must be one of `sources`.
///
/// `given` replaces sizes of the graph. `load` determines whether defects of the network are
/// errors.
///
/// # Errors
/// Returns the errors in the text. If the text is not node-link JSON, only these are returned.
pub fn read(
    source: &Source,
    sources: &SourceMap,
    given: &Given,
    load: Load,
) -> Result<(Declared, Diagnostics), Diagnostics> {
    let mut reader = Reader {
        source,
        drawing: Drawing::default(),
        index: Index::default(),
        ids: FxHashMap::default(),
        by_name: FxHashMap::default(),
        depths: Vec::new(),
        found: Diagnostics::new(),
    };
    let edges = reader.top(without_mark(source.text()));
    let mut translation = Translation::new(source, &reader.drawing);
    for edge in edges {
        if let Some(([tail, head], attributes)) = reader.edge(edge) {
            translation.edge(None, [&tail, &head], attributes);
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

/// Returns a text without the byte order mark that some editors write.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

fn error(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(NODE_LINK, message)
}

/// The members of an object, in order.
struct Members<'t>(Vec<(Cow<'t, str>, &'t RawValue)>);

/// Name of a member. It is borrowed from the text if it contains no escapes.
#[derive(Deserialize)]
struct Name<'t>(#[serde(borrow)] Cow<'t, str>);

impl<'t> Deserialize<'t> for Members<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Members<'t>, D::Error> {
        struct Object;
        impl<'t> Visitor<'t> for Object {
            type Value = Members<'t>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Members<'t>, A::Error> {
                let mut members = Vec::new();
                while let Some(Name(name)) = map.next_key()? {
                    members.push((name, map.next_value()?));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// The members that identify the format.
#[derive(Default)]
struct Probe {
    nodes: bool,
    edges: bool,
}

impl<'t> Deserialize<'t> for Probe {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Probe, D::Error> {
        struct Object;
        impl<'t> Visitor<'t> for Object {
            type Value = Probe;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'t>>(self, mut map: A) -> Result<Probe, A::Error> {
                let mut probe = Probe::default();
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        // The rest of a network of graphmap, which may be large, is not read.
                        "graphmap" => return Err(de::Error::custom("a network of graphmap")),
                        "nodes" => probe.nodes = true,
                        "links" | "edges" => probe.edges = true,
                        _ => {}
                    }
                    map.next_value::<IgnoredAny>()?;
                }
                Ok(probe)
            }
        }
        deserializer.deserialize_map(Object)
    }
}

struct Reader<'t> {
    source: &'t Source,
    drawing: Drawing<'t>,
    index: Index<'t>,
    /// Modules by their ids.
    ids: FxHashMap<Cow<'t, str>, usize>,
    /// Modules by the module around them and their names.
    by_name: FxHashMap<(Option<usize>, Cow<'t, str>), usize>,
    /// Number of modules around each module, and 1 for itself.
    depths: Vec<usize>,
    found: Diagnostics,
}

/// Ends and attributes of an edge.
type Edge<'t> = ([Word<'t>; 2], Vec<Attribute<'t>>);

impl<'t> Reader<'t> {
    /// Reads everything but the edges, and returns these.
    fn top(&mut self, json: &'t str) -> Vec<&'t RawValue> {
        let Members(members) = match serde_json::from_str(json) {
            Ok(members) => members,
            Err(wrong) => {
                self.malformed(json, &wrong);
                return Vec::new();
            }
        };
        let of = |names: &[&str]| {
            let mut members = members.iter();
            let found = members.find(|(name, _)| names.contains(&&**name));
            found.map(|(_, value)| *value)
        };
        let (nodes, edges) = (of(&["nodes"]), of(&["edges", "links"]));
        if nodes.is_none() || edges.is_none() {
            let error = error("this is not node-link JSON");
            let at = self.span(&json[..json.len().min(1)]);
            let error = error.at(at, "expected an object with `nodes` and `edges`");
            self.found.push(error);
            return Vec::new();
        }
        if let Some(value) = of(&["directed"]).filter(|value| value.get() == "false") {
            let error = error("an undirected edge cannot describe a channel");
            let error = error.at(self.span(value.get()), "");
            let help = "use a `DiGraph` or `MultiDiGraph`: `graph.to_directed()`";
            self.found.push(error.help(help));
        }
        if let Some(graph) = of(&["graph"]) {
            self.about(graph);
        }
        for node in nodes.map_or(Vec::new(), |nodes| self.list(nodes)) {
            self.node(node);
        }
        edges.map_or(Vec::new(), |edges| self.list(edges))
    }

    /// Reads the attributes of the graph.
    fn about(&mut self, graph: &'t RawValue) {
        for (name, value) in self.members(graph).unwrap_or_default() {
            match &*name {
                "modules" => {
                    for module in self.list(value) {
                        self.module(module);
                    }
                }
                // NetworkX adds these when it reads GraphML.
                "node_default" | "edge_default" => {}
                "name" => self.drawing.name = self.word(value),
                _ => {
                    let attribute = self.attribute(name, value);
                    self.drawing.attributes.extend(attribute);
                }
            }
        }
    }

    fn module(&mut self, raw: &'t RawValue) {
        let mut attributes = Vec::new();
        let (mut id, mut parent) = (None, None);
        let Some(members) = self.members(raw) else {
            return;
        };
        for (name, value) in members {
            match &*name {
                "id" => id = self.word(value),
                "parent" => parent = self.word(value),
                _ => attributes.extend(self.attribute(name, value)),
            }
        }
        let Some(id) = id else {
            return self.wrong(raw.get(), "a module has no `id`");
        };
        let parent = parent.and_then(|parent| {
            let found = self.ids.get(&parent.text).copied();
            if found.is_none() {
                let message = format!("no module before this one has the id `{}`", parent.text);
                self.found.push(error(message).at(parent.span, ""));
            }
            found
        });
        let number = self.drawing.modules.len();
        if self.ids.insert(id.text.clone(), number).is_some() {
            let message = format!("two modules have the id `{}`", id.text);
            self.found.push(error(message).at(id.span, ""));
        }
        let _ = self.add_module(id, parent, attributes);
    }

    /// Adds a module and returns its number. Reports too many modules inside each other, and
    /// returns `None` then.
    fn add_module(
        &mut self,
        id: Word<'t>,
        parent: Option<usize>,
        attributes: Vec<Attribute<'t>>,
    ) -> Option<usize> {
        let depth = parent.map_or(0, |parent| self.depths[parent]) + 1;
        if depth > MOST_DEPTH {
            let message = format!("modules nest deeper than {MOST_DEPTH}");
            self.found.push(error(message).at(id.span, ""));
            return None;
        }
        let module = Module {
            id,
            parent,
            attributes,
        };
        let number = self.drawing.modules.len();
        self.by_name
            .insert((parent, module.name().text.clone()), number);
        self.drawing.modules.push(module);
        self.depths.push(depth);
        Some(number)
    }

    /// Returns the module with an id or a path. Adds the modules of a path that do not exist.
    /// Returns `None` for an empty path, and if the path is too long, which is reported.
    fn module_of(&mut self, path: &Word<'t>) -> Option<usize> {
        if let Some(found) = self.ids.get(&path.text) {
            return Some(*found);
        }
        let mut module = None;
        for part in path.text.split('/').filter(|part| !part.is_empty()) {
            let key = (module, Cow::Owned(part.to_owned()));
            module = Some(match self.by_name.get(&key) {
                Some(found) => *found,
                None => {
                    let id = Word {
                        text: key.1,
                        span: path.span,
                    };
                    self.add_module(id, module, Vec::new())?
                }
            });
        }
        module
    }

    fn node(&mut self, raw: &'t RawValue) {
        let mut attributes = Vec::new();
        let (mut id, mut module) = (None, None);
        let Some(members) = self.members(raw) else {
            return;
        };
        for (name, value) in members {
            match &*name {
                "id" => id = Some(self.id(value, "id")),
                "module" => module = self.word(value),
                _ => {
                    let attribute = self.attribute(name, value);
                    attributes.extend(attribute.map(|mut attribute| {
                        if attribute.name.text == "memory" {
                            attribute.name.text = Cow::Borrowed("mem");
                        }
                        attribute
                    }));
                }
            }
        }
        let id = match id {
            Some(Some(id)) => id,
            Some(None) => return,
            None => return self.wrong(raw.get(), "a node has no `id`"),
        };
        let module = module.and_then(|module| self.module_of(&module));
        let number = self.drawing.nodes.len();
        let known = Known::Node(number, Vec::new());
        self.found.extend(self.index.add(&id, known, NODE_LINK));
        self.drawing.nodes.push(Node {
            name: id,
            module,
            attributes,
        });
    }

    /// Returns the ends and the attributes of an edge.
    fn edge(&mut self, raw: &'t RawValue) -> Option<Edge<'t>> {
        let mut attributes = Vec::new();
        let mut ends = [None, None];
        for (name, value) in self.members(raw)? {
            match &*name {
                "source" => ends[0] = Some(self.id(value, "source")?),
                "target" => ends[1] = Some(self.id(value, "target")?),
                // Number of an edge among parallel ones.
                "key" => {}
                _ => attributes.extend(self.attribute(name, value)),
            }
        }
        for (end, name) in ends.iter().zip(["source", "target"]) {
            match end {
                None => self.wrong(raw.get(), &format!("an edge has no `{name}`")),
                Some(end) if end.text != NULL && self.index.get(&end.text).is_none() => {
                    let message = format!("no node has the id `{}`", end.text);
                    self.found.push(error(message).at(end.span, ""));
                    return None;
                }
                Some(_) => {}
            }
        }
        let [tail, head] = ends;
        Some(([tail?, head?], attributes))
    }

    /// Returns the members of an object. Reports another value.
    fn members(&mut self, raw: &'t RawValue) -> Option<Vec<(Cow<'t, str>, &'t RawValue)>> {
        match serde_json::from_str(raw.get()) {
            Ok(Members(members)) => Some(members),
            Err(_) => {
                self.wrong(raw.get(), "expected an object");
                None
            }
        }
    }

    /// Returns the entries of a list. Reports another value.
    fn list(&mut self, raw: &'t RawValue) -> Vec<&'t RawValue> {
        serde_json::from_str(raw.get()).unwrap_or_else(|_| {
            self.wrong(raw.get(), "expected a list");
            Vec::new()
        })
    }

    /// Returns an attribute, or `None` if its value is `null`.
    fn attribute(&self, name: Cow<'t, str>, value: &'t RawValue) -> Option<Attribute<'t>> {
        let value = self.word(value)?;
        let span = match &name {
            Cow::Borrowed(text) => self.span(text),
            Cow::Owned(_) => value.span,
        };
        let name = Word { text: name, span };
        Some(Attribute { name, value })
    }

    /// Returns the name of a node, which is a string or a number. Reports another value.
    fn id(&mut self, raw: &'t RawValue, name: &str) -> Option<Word<'t>> {
        if raw.get().starts_with(['[', '{', 't', 'f', 'n']) {
            let error = error(format!("`{name}` must be a string or a number"));
            let error = error.at(self.span(raw.get()), "");
            let help =
                "give the nodes other names: `networkx.convert_node_labels_to_integers(graph)`";
            self.found.push(error.help(help));
            return None;
        }
        self.word(raw)
    }

    /// Returns the value of a string, or the text of another value. Returns `None` for `null`.
    fn word(&self, raw: &'t RawValue) -> Option<Word<'t>> {
        let text = raw.get();
        if text == "null" {
            return None;
        }
        let mut span = self.span(text);
        let Ok(Name(value)) = serde_json::from_str(text) else {
            let text = Cow::Borrowed(text);
            return Some(Word { text, span });
        };
        span = Span::new(span.start + 1, span.end - 1);
        Some(Word { text: value, span })
    }

    /// Returns the position of a part of the source.
    fn span(&self, part: &str) -> Span {
        let whole = self.source.text();
        let offset = (part.as_ptr() as usize).wrapping_sub(whole.as_ptr() as usize);
        // A source is shorter than 4 GiB.
        let start = self.source.base() + offset.min(whole.len()) as u32;
        let end =
            self.source.base() + (offset.min(whole.len()) + part.len()).min(whole.len()) as u32;
        Span::new(start, end)
    }

    fn wrong(&mut self, part: &str, message: &str) {
        // An element may have many lines.
        let first = part.lines().next().unwrap_or(part);
        let at = self.span(&part[..first.len()]);
        self.found.push(error(message).at(at, ""));
    }

    fn malformed(&mut self, json: &str, wrong: &serde_json::Error) {
        let mut reason = wrong.to_string();
        if let Some(end) = reason.rfind(" at line ") {
            reason.truncate(end);
        }
        let lines = json.split_inclusive('\n');
        let before = lines.take(wrong.line().saturating_sub(1)).map(str::len);
        let mut at = before.sum::<usize>() + wrong.column().saturating_sub(1);
        at = at.min(json.len());
        while !json.is_char_boundary(at) {
            at -= 1;
        }
        let length = json[at..].chars().next().map_or(0, char::len_utf8);
        let at = self.span(&json[at..at + length]);
        self.found
            .push(error("this is not node-link JSON").at(at, reason));
    }
}
