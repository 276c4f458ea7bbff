//! Reads [`Declared`] from JSON.

use super::format::{MALFORMED, VERSION, WRONG_REFERENCE};
use super::shape::{
    AttributesJson, ChannelJson, ConstraintJson, EndJson, GivenSpan, ModuleJson, NameOnly,
    ProcessJson, SpanOnly, Top, VersionOnly,
};
use crate::arena::Id;
use crate::arguments::{self, Argument, ArgumentList, ParameterType, Value};
use crate::attributes::AttributesId;
use crate::codes::BAD_ARGUMENT;
use crate::declared::{
    ArgumentsDecl, ChannelDecl, ChannelExtra, Constraint, ConstraintDecl, ConstraintTarget,
    Declared, EndDecl, ModuleDecl, ModuleId, NodeDecl, NodeId, kind_of_name,
};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::foreign;
use crate::nearest::nearest;
use crate::sizes::Place;
use crate::source::{Source, SourceMap, Span};
use crate::version;
use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Number of diagnostics after which reading stops.
const MOST_DIAGNOSTICS: usize = 1000;
/// Number of diagnostics that may contain a hint. A hint compares [`MOST_NAMES`] names at most.
const MOST_HINTS: usize = 20;
const MOST_NAMES: usize = 50_000;

/// Meaning of the spans in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Positions {
    /// Positions in the JSON text, because it is the text that the user wrote.
    Here,
    /// The `span` of each element, because a plug-in returns the spans that it was given. An
    /// element without a span has [`Span::NONE`].
    Given,
}

/// Reads a network from a part of a source text.
///
/// `json` must be a part of the text of `source`. `sources` contains the texts that the spans of
/// the result refer to. The first number of a given span is an index of them. `positions` also
/// determines the positions of diagnostics.
///
/// # Errors
/// Returns the errors in the text, at most about 1000. See [the format](super). If the text is not
/// JSON, is of another program, or has another version, this is the only error.
pub fn read(
    json: &str,
    source: &Source,
    sources: &SourceMap,
    positions: Positions,
) -> Result<Declared, Diagnostics> {
    let mut reader = Reader {
        source,
        sources,
        positions,
        element: (0, 0),
        path: Path::default(),
        declared: Declared::default(),
        by_name: FxHashMap::default(),
        diagnostics: Diagnostics::new(),
    };
    // Editors for Windows write a byte order mark, which is not part of JSON.
    reader.top(json.strip_prefix('\u{feff}').unwrap_or(json));
    if reader.diagnostics.has_errors() {
        return Err(reader.diagnostics);
    }
    reader.declared.sources = sources.clone();
    Ok(reader.declared)
}

/// The element being read, for diagnostics without a position: `constraints[0].processes[2]`.
#[derive(Clone, Copy, Default)]
struct Path {
    element: Option<(&'static str, usize)>,
    /// Entry of a list in the element.
    entry: Option<(&'static str, usize)>,
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((list, index)) = self.element {
            write!(f, "{list}[{index}]")?;
        }
        match self.entry {
            Some((list, index)) => write!(f, ".{list}[{index}]"),
            None => Ok(()),
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    sources: &'a SourceMap,
    positions: Positions,
    /// First byte of the element being read, and one past its last byte.
    element: (usize, usize),
    path: Path,
    declared: Declared,
    by_name: FxHashMap<String, NodeId>,
    diagnostics: Diagnostics,
}

impl Reader<'_> {
    fn top(&mut self, json: &str) {
        let version = match serde_json::from_str::<VersionOnly>(json) {
            Ok(top) => top.graphmap,
            Err(error) => return self.malformed(json, &error),
        };
        if version.is_none()
            && let Some(other) = of_other_program(json)
        {
            let message = format!("this is {}, not a network of graphmap", other.name);
            let at = self.first_byte(json);
            self.push(
                Diagnostic::error(MALFORMED, message)
                    .at(at, "")
                    .help(other.help),
            );
            return;
        }
        if let Some(error) = version::refused("the network", "\"graphmap\": ", version, VERSION) {
            let at = self.first_byte(json);
            self.push(error.at(at, ""));
            return;
        }
        let top: Top<'_> = match serde_json::from_str(json) {
            Ok(top) => top,
            Err(error) => return self.malformed(json, &error),
        };
        self.declared.name = top.name;
        self.declared.boxes = top.boxes;
        self.declared.glue = top.glue;
        self.declared.environment = top.environment.into_iter().collect();
        self.declared.skeleton = top.skeleton.map(|s| (s, Span::NONE));
        self.declared.attributes.graph = self.attributes(top.attributes);
        self.each("modules", top.modules, Reader::module);
        self.each("processes", top.processes, Reader::process);
        self.each("channels", top.channels, Reader::channel);
        self.each("constraints", top.constraints, Reader::constraint);
    }

    /// Calls `read` for each element of the list `name`. Skips the rest after [`MOST_DIAGNOSTICS`]
    /// diagnostics.
    fn each(
        &mut self,
        name: &'static str,
        list: Vec<&RawValue>,
        read: impl Fn(&mut Self, &RawValue),
    ) {
        for (index, raw) in list.into_iter().enumerate() {
            if self.diagnostics.len() < MOST_DIAGNOSTICS {
                self.path = Path {
                    element: Some((name, index)),
                    entry: None,
                };
                let begin = self.offset(raw.get()).unwrap_or(0);
                self.element = (begin, begin + raw.get().len());
                read(self, raw);
            }
        }
    }

    fn module(&mut self, raw: &RawValue) {
        let Some(module) = self.parse::<ModuleJson<'_>>(raw) else {
            // A placeholder, so that the indices of later modules remain valid.
            let unknown = self.intern("");
            self.declared.modules.push(ModuleDecl {
                name: unknown,
                kind: unknown,
                parent: None,
                replicas: None,
                closed: false,
                span: Span::NONE,
            });
            return;
        };
        let span = self.span(raw, module.span);
        let parent = self.module_id(raw, module.parent);
        let kind = module
            .kind
            .as_deref()
            .unwrap_or_else(|| kind_of_name(&module.name));
        let (name, kind) = (self.intern(&module.name), self.intern(kind));
        let id = self.declared.modules.push(ModuleDecl {
            name,
            kind,
            parent,
            replicas: None,
            closed: false,
            span,
        });
        let list = self.attributes(module.attributes);
        self.declared.attributes.modules.set(id, list);
    }

    fn process(&mut self, raw: &RawValue) {
        let Some(process) = self.parse::<ProcessJson<'_>>(raw) else {
            // References to the process are valid even if its other fields are not.
            if let Ok(NameOnly { name: Some(name) }) = serde_json::from_str(raw.get()) {
                let symbol = self.intern(&name);
                let span = self.here(raw.get());
                let id = self.declared.nodes.push(NodeDecl {
                    name: symbol,
                    process: None,
                    port_prefix: None,
                    kind: symbol,
                    module: None,
                    replicas: None,
                    load: 1.0,
                    mem: 0.0,
                    span,
                });
                self.by_name.insert(name.into_owned(), id);
            }
            return;
        };
        let span = self.span(raw, process.span);
        let module = self.module_id(raw, process.module);
        let load = self.cost(raw, "load", process.load, 1.0);
        let mem = self.cost(raw, "mem", process.mem, 0.0);
        let kind = process
            .kind
            .as_deref()
            .unwrap_or_else(|| kind_of_name(&process.name));
        let (name, kind) = (self.intern(&process.name), self.intern(kind));
        let id = self.declared.nodes.push(NodeDecl {
            name,
            process: None,
            port_prefix: None,
            kind,
            module,
            replicas: None,
            load,
            mem,
            span,
        });
        self.arguments(raw, id, &process);
        let list = self.attributes(process.attributes);
        self.declared.attributes.nodes.set(id, list);
        if let Some(first) = self.by_name.insert(process.name.clone().into_owned(), id) {
            let first = self.declared.nodes[first].span;
            let message = format!("two processes are named `{}`", process.name);
            let at = self.here(raw.get());
            self.push(
                Diagnostic::error(WRONG_REFERENCE, message)
                    .at(at, "the second")
                    .also(first, "the first")
                    .help(
                        "rename one of them; use `kind` for processes that run the same function",
                    ),
            );
        }
    }

    /// Declares the arguments of a process. Reports parameters and values that are malformed.
    fn arguments(&mut self, raw: &RawValue, node: NodeId, process: &ProcessJson<'_>) {
        if process.parameters.is_none() && process.arguments.is_none() {
            return;
        }
        let span = self.here(raw.get());
        let place = Place { span, inside: None };
        let list = process.parameters.as_deref().unwrap_or_default();
        let parameters = match arguments::parameters(list, place) {
            Ok(parameters) => parameters,
            Err(error) => return self.push(*error),
        };
        let given = process.arguments.as_deref().unwrap_or_default();
        let values = given.iter().enumerate().map(|(at, value)| {
            let ty = parameters.get(at).map(|parameter| parameter.ty);
            let value = match value {
                serde_json::Value::Bool(value) => Value::Bool(*value),
                serde_json::Value::String(text) => match (ty, text.parse()) {
                    (Some(ParameterType::Integer(..)), Ok(number)) => Value::Integer(number),
                    _ => Value::Text(text.clone()),
                },
                serde_json::Value::Number(number) => match number.as_i128() {
                    Some(number) => Value::Integer(number),
                    None => Value::Float(number.as_f64()?),
                },
                _ => return None,
            };
            Some(Argument::Value(value))
        });
        match values.collect() {
            Some(arguments) => self.declared.arguments.push(ArgumentsDecl {
                node,
                list: ArgumentList {
                    parameters,
                    arguments,
                    parameters_span: span,
                    span,
                },
            }),
            None => self.push(
                Diagnostic::error(BAD_ARGUMENT, "an argument is neither a number nor a text")
                    .at(span, "")
                    .help("use a number, a string, true or false for each parameter"),
            ),
        }
    }

    fn channel(&mut self, raw: &RawValue) {
        let Some(channel) = self.parse::<ChannelJson<'_>>(raw) else {
            return;
        };
        let from = self.end(channel.from, "out");
        let to = self.end(channel.to, "in");
        let (Some(from), Some(to)) = (from, to) else {
            return;
        };
        let span = self.span(raw, channel.span);
        let traffic = self.cost(raw, "traffic", channel.traffic, 1.0);
        let ty = channel.ty.map(|ty| self.intern(&ty));
        if channel.bundle.is_none() && channel.bundle_name.is_some() {
            let at = self.here(raw.get());
            self.push(
                Diagnostic::error(MALFORMED, "`bundle_name` is given without `bundle`")
                    .at(at, "")
                    .help("add the kind of the bundle, for example `\"bundle\": \"select\"`"),
            );
        }
        if let Some(other) = channel.other_bundle
            && channel
                .bundle
                .is_none_or(|one| one.direction() == other.direction())
        {
            let at = self.here(raw.get());
            let message = "`bundle` and `other_bundle` are not the kinds of two ends";
            self.push(Diagnostic::error(MALFORMED, message).at(at, "").help(
                "use `other_bundle` only if `bundle` is the kind of the bundle at the other end",
            ));
        }
        let attributes = self.attributes(channel.attributes);
        let stated = channel.tag.is_some() || channel.flow.is_some() || channel.bundle.is_some();
        let extra = if stated || attributes.is_some() {
            let bundle_name = channel.bundle_name.map(|name| self.intern(&name));
            self.declared.add_extra(ChannelExtra {
                tag: channel.tag,
                flow: channel.flow,
                bundle: channel.bundle,
                bundle_name,
                other_bundle: channel.other_bundle,
                attributes,
                span: if stated { span } else { Span::NONE },
                ..ChannelExtra::default()
            })
        } else {
            None
        };
        self.declared.channels.push(ChannelDecl {
            from,
            to,
            ty,
            capacity: channel.capacity,
            initial: channel.initial,
            extra,
            traffic,
            within: None,
            span,
        });
    }

    /// Returns an end of a channel. `null` is the environment, and `default_port` is the port if
    /// the end names none. Returns `None`, after a report, if the end is malformed or its process
    /// does not exist.
    fn end(&mut self, raw: &RawValue, default_port: &str) -> Option<EndDecl> {
        let end = match self.parse::<Option<EndJson<'_>>>(raw)? {
            None => {
                let port = self.intern(default_port);
                return Some(EndDecl { node: None, port });
            }
            Some(end) => end,
        };
        let (process, port) = match &end {
            EndJson::Process(process) => (process, default_port),
            EndJson::Port(process, port) => (process, &**port),
        };
        let node = Some(self.node(raw, process)?);
        let port = self.intern(port);
        Some(EndDecl { node, port })
    }

    fn constraint(&mut self, raw: &RawValue) {
        let Some(constraint) = self.parse::<ConstraintJson<'_>>(raw) else {
            return;
        };
        let span = self.span(raw, constraint.span);
        let mut stated = Vec::new();
        stated.extend(constraint.host.map(Constraint::Host));
        stated.extend(constraint.osprocess.map(Constraint::OsProcess));
        stated.extend(constraint.colocate.map(Constraint::Colocate));
        stated.extend(constraint.separate.map(Constraint::Separate));
        stated.extend(constraint.program.map(Constraint::Program));
        let hold = constraint.hold;
        stated.extend(hold.map(|(least, most)| Constraint::Hold { least, most }));
        stated.extend(constraint.whole.filter(|w| *w).map(|_| Constraint::Whole));
        let prefer = constraint.prefer;
        let prefer = prefer.map(|traffic| self.cost(raw, "prefer", Some(traffic), 0.0));
        stated.extend(prefer.map(Constraint::Prefer));
        let [stated] = stated.as_slice() else {
            let at = self.here(raw.get());
            self.push(
                Diagnostic::error(MALFORMED, "a constraint must have exactly one rule")
                    .at(at, "")
                    .help(
                        "give one of `host`, `osprocess`, `colocate`, `separate`, `program`, `hold`, \
                         `whole`, `prefer`",
                    ),
            );
            return;
        };
        let of_module = matches!(stated, Constraint::Whole | Constraint::Prefer(_));
        if of_module != constraint.module.is_some() {
            let at = self.here(raw.get());
            let message = "`whole` and `prefer` need `module`; all other rules need `processes`";
            self.push(Diagnostic::error(MALFORMED, message).at(at, ""));
            return;
        }
        if let Some(module) = self.module_id(raw, constraint.module) {
            self.declared.constraints.push(ConstraintDecl {
                target: ConstraintTarget::Module(module),
                constraint: stated.clone(),
                span,
            });
        }
        for (index, raw) in constraint.processes.into_iter().enumerate() {
            self.path.entry = Some(("processes", index));
            // If the list contains ranks, one diagnostic is enough.
            let Some(name) = self.parse::<Cow<'_, str>>(raw) else {
                return;
            };
            if let Some(node) = self.node(raw, &name) {
                self.declared.constraints.push(ConstraintDecl {
                    target: ConstraintTarget::Node(node),
                    constraint: stated.clone(),
                    span,
                });
            }
        }
    }

    /// Returns the node of a name. Returns `None`, after a report at `raw`, if no process that was
    /// read before has the name.
    fn node(&mut self, raw: &RawValue, name: &str) -> Option<NodeId> {
        let found = self.by_name.get(name).copied();
        if found.is_none() {
            let at = self.here(raw.get());
            let mut diagnostic =
                Diagnostic::error(WRONG_REFERENCE, format!("no process is named `{name}`"))
                    .at(at, "");
            if self.diagnostics.len() < MOST_HINTS {
                let names = self.declared.nodes.values().take(MOST_NAMES);
                let names = names.map(|node| self.declared.names.name(node.name));
                let hint = nearest(name, names).map(|near| format!("did you mean `{near}`?"));
                diagnostic.help.extend(hint);
            }
            self.push(diagnostic);
        }
        found
    }

    /// Returns the id of the module with an index. Returns `None` without an index. Also returns
    /// `None`, after a report at `raw`, if the module does not exist or was not read yet.
    fn module_id(&mut self, raw: &RawValue, index: Option<usize>) -> Option<ModuleId> {
        let index = index?;
        let known = self.declared.modules.len();
        if index < known {
            return Some(ModuleId::from_index(index));
        }
        let at = self.here(raw.get());
        self.push(
            Diagnostic::error(
                WRONG_REFERENCE,
                format!("module {index} does not exist, or comes later"),
            )
            .at(at, "")
            .help(format!(
                "use a module before this point, where {known} are known; they are numbered from \
                     0, and a parent comes before its children"
            )),
        );
        None
    }

    /// Stores attributes and returns the id of their list, or `None` if there are none.
    fn attributes(&mut self, read: AttributesJson<'_>) -> Option<AttributesId> {
        if read.is_empty() {
            return None;
        }
        let list = read.into_iter();
        let list = list
            .map(|(name, value)| (self.intern(&name.0), self.intern(&value.0)))
            .collect();
        let Declared {
            names, attributes, ..
        } = &mut self.declared;
        attributes.lists.add(names, list)
    }

    /// Returns a stated cost, or `default` if none is stated. A number that is negative or not
    /// finite is reported and replaced by `default`.
    fn cost(&mut self, raw: &RawValue, what: &str, stated: Option<f64>, default: f64) -> f64 {
        let value = stated.unwrap_or(default);
        if value >= 0.0 && value.is_finite() {
            return value;
        }
        let at = self.here(raw.get());
        let message = format!("`{what}` is {value}; it must be finite and at least 0");
        self.push(Diagnostic::error(MALFORMED, message).at(at, ""));
        default
    }

    /// Adds a diagnostic. If it has no position, a note names the element.
    fn push(&mut self, diagnostic: Diagnostic) {
        let element = self.path.element.filter(|_| diagnostic.primary.is_none());
        self.diagnostics.push(match element {
            Some(_) => diagnostic.with_note(format!("in `{}`", self.path)),
            None => diagnostic,
        });
    }

    /// Returns a span of one byte: the first byte of the position of a part. Returns [`Span::NONE`]
    /// if the part has no position.
    fn first_byte(&self, part: &str) -> Span {
        let at = self.here(part);
        match at.is_none() {
            true => at,
            false => Span::new(at.start, at.start + 1),
        }
    }

    fn intern(&mut self, name: &str) -> crate::names::Symbol {
        self.declared.names.intern(name)
    }

    fn parse<'r, T: Deserialize<'r>>(&mut self, raw: &'r RawValue) -> Option<T> {
        match serde_json::from_str(raw.get()) {
            Ok(value) => Some(value),
            Err(error) => {
                self.malformed(raw.get(), &error);
                None
            }
        }
    }

    /// Returns the offset at which a slice of the source text starts. Slices are identified by
    /// address. Returns `None` if `part` starts outside of the text.
    fn offset(&self, part: &str) -> Option<usize> {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.source.text().as_ptr() as usize);
        (offset <= self.source.text().len()).then_some(offset)
    }

    /// Returns the position for a diagnostic. It is that of `part` in the text, or the given span
    /// of the element being read if spans are given. Returns [`Span::NONE`] if there is no such
    /// position.
    fn here(&self, part: &str) -> Span {
        if self.positions == Positions::Given {
            let (begin, end) = self.element;
            let element = self.source.text().get(begin..end).unwrap_or("");
            let stated = serde_json::from_str::<SpanOnly>(element).ok();
            return self.given(stated.and_then(|stated| stated.span));
        }
        let Some(offset) = self.offset(part) else {
            return Span::NONE;
        };
        let start = self.source.base() + offset as u32;
        Span::new(start, start + part.len() as u32)
    }

    fn span(&self, raw: &RawValue, given: Option<GivenSpan>) -> Span {
        match self.positions {
            Positions::Here => self.here(raw.get()),
            Positions::Given => self.given(given),
        }
    }

    /// Returns a given span: the index of a text, the first byte, and one past the last byte.
    /// Returns [`Span::NONE`] if no span is given or it is not in a known text.
    fn given(&self, given: Option<GivenSpan>) -> Span {
        let Some((source, start, end)) = given else {
            return Span::NONE;
        };
        let known = self.sources.sources().nth(source as usize);
        let fits = |s: &&Source| start <= end && end as usize <= s.text().len();
        match known.filter(fits) {
            Some(s) => Span::new(s.base() + start, s.base() + end),
            None => Span::NONE,
        }
    }

    fn malformed(&mut self, part: &str, error: &serde_json::Error) {
        let lines: usize = part
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum();
        let mut offset = (lines + error.column().saturating_sub(1)).min(part.len());
        // Serde counts bytes.
        while !part.is_char_boundary(offset) {
            offset -= 1;
        }
        let length = part[offset..].chars().next().map_or(0, char::len_utf8);
        let mut at = self.here(part);
        if self.positions == Positions::Here && !at.is_none() {
            let start = at.start + offset as u32;
            at = Span::new(start, start + length as u32);
        }
        let text = error.to_string();
        // Removes serde's position, which is relative to the element. The snippet shows the right
        // one.
        let text = text.split(" at line ").next().unwrap_or(&text);
        let mut diagnostic = Diagnostic::error(MALFORMED, "this is not a network in JSON")
            .at(at, text)
            .help("see docs/src/plugins.md for the format");
        if at.is_none() {
            diagnostic = diagnostic.with_note(text);
        }
        self.push(diagnostic);
    }
}

/// Returns the other program's format that a JSON text has, according to the names in its top
/// object. Returns `None` if the format is unknown or the text is not a JSON object.
fn of_other_program(json: &str) -> Option<foreign::Foreign> {
    let top: FxHashMap<Cow<'_, str>, serde::de::IgnoredAny> = serde_json::from_str(json).ok()?;
    let names: Vec<&str> = top.keys().map(|name| &**name).collect();
    foreign::recognise_json(&names)
}
