//! The canonical layout of a DOT file.
//!
//! * One statement per line, four spaces per level, `;` after statements.
//! * Short groups are on one line. So are lists of attributes that fit and contain no comments.
//! * Comments and single blank lines stay, and so do names and values.
//! * Attributes of the graph language get their present spelling (`PIproc=` becomes `process=`,
//!   `PIbundlein1=a, PIin1=p` becomes `dst1="a:p"`).
//!
//! The graph does not change, and formatting is idempotent.

use crate::events::{Attribute, Events, Header, NodeRef, Target};
use crate::language::VERSION;
use crate::language::keys::{self, Element, Key};
use crate::lexer::Lexer;
use crate::parser::parse;
use crate::token::{Id, Shape, Text, TokenKind};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::{Source, Span};
use graphmap_kpn::version;
use std::borrow::Cow;
use std::fmt::Write;

/// Maximum length of a line with a list of attributes.
const WIDTH: usize = 100;
/// Maximum length of a group on one line.
const GROUP: usize = 60;

/// Returns the text of a source in its canonical layout.
///
/// # Errors
/// Returns the diagnostics, including warnings, if the source has syntax errors. Returns an error
/// if it states an unsupported version of the graph language.
pub fn format(source: &Source) -> Result<String, Diagnostics> {
    let text = Text::new(source.text(), source.base());
    let mut lexer = Lexer::new(text.as_str()).keep_comments();
    while lexer.next_token().kind != TokenKind::End {}
    let base = text.base();
    let comments = lexer.take_comments();
    let mut layout = Layout {
        text,
        comments: comments
            .into_iter()
            .map(|(start, end)| Span::new(base + start, base + end))
            .collect(),
        next_comment: 0,
        out: String::with_capacity(source.text().len()),
        frames: Vec::new(),
        directed: true,
        in_list: false,
        last_end: base,
        fresh_block: true,
        after_line_comment: false,
        refused: None,
    };
    let mut diagnostics = Diagnostics::new();
    parse(source, &mut layout, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    if let Some(error) = layout.refused {
        return Err(Diagnostics::from(error));
    }
    layout.comments_before(u32::MAX);
    Ok(layout.out)
}

/// An open brace.
struct Frame {
    /// Number of operands of the current chain in the block.
    operands: u32,
    /// Offset of its `{` in the output.
    start: usize,
    /// True if it may be put on one line, because it is a group of short statements.
    simple: bool,
}

struct Layout<'a> {
    text: Text<'a>,
    comments: Vec<Span>,
    next_comment: usize,
    out: String,
    frames: Vec<Frame>,
    directed: bool,
    in_list: bool,
    /// Error if the graph states an unsupported version.
    refused: Option<Diagnostic>,
    /// End, in the source, of the text that was written last.
    last_end: u32,
    /// True if the innermost block is still empty.
    fresh_block: bool,
    /// True if the last line ends in a line comment.
    after_line_comment: bool,
}

impl Layout<'_> {
    fn indent(&mut self) {
        // Unlimited indentation would make the size of the output quadratic in the depth.
        let depth = self.frames.len().min(16);
        for _ in 0..depth {
            self.out.push_str("    ");
        }
    }

    fn line_breaks(&self, from: u32, to: u32) -> usize {
        let between = match from < to {
            true => self.text.raw(Span::new(from, to)),
            false => "",
        };
        between.bytes().filter(|b| *b == b'\n').count()
    }

    /// Writes the comments that begin before a position of the source and are not written yet. A
    /// comment in one line stays on the line that it follows. Other comments get lines of their
    /// own. A comment prevents that the innermost group is put on one line.
    fn comments_before(&mut self, position: u32) {
        while let Some(&span) = self.comments.get(self.next_comment) {
            if span.start >= position {
                return;
            }
            self.next_comment += 1;
            if let Some(frame) = self.frames.last_mut() {
                frame.simple = false;
            }
            let raw = self.text.raw(span).trim_end();
            let breaks = self.line_breaks(self.last_end, span.start);
            let line_comment = !raw.starts_with("/*");
            let follows = breaks == 0
                && !raw.contains('\n')
                && self.out.ends_with('\n')
                && !self.after_line_comment;
            if follows {
                self.out.pop();
                self.out.push(' ');
            } else {
                self.blank_line(breaks);
                self.indent();
            }
            self.out.push_str(raw);
            self.out.push('\n');
            self.after_line_comment = line_comment || raw.contains('\n');
            self.last_end = self.last_end.max(span.end);
            self.fresh_block = false;
        }
    }

    fn blank_line(&mut self, breaks: usize) {
        if breaks > 1 && !self.fresh_block && !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// Begins a line for the element at a position of the source. First writes the comments before
    /// the element, and a blank line if the source has one there.
    fn begin(&mut self, position: u32) {
        self.comments_before(position);
        let breaks = self.line_breaks(self.last_end, position);
        self.blank_line(breaks);
        self.indent();
        self.fresh_block = false;
    }

    fn end(&mut self, end: &str, position: u32) {
        self.out.push_str(end);
        self.out.push('\n');
        self.after_line_comment = false;
        self.last_end = self.last_end.max(position);
    }

    fn id(&mut self, id: Id) {
        let written = as_written(self.text, id);
        self.out.push_str(&written);
    }

    /// Begins an operand of a chain. Writes the operator before it, or begins a line if it is the
    /// first operand. `position` is its position in the source.
    fn operand(&mut self, position: u32) {
        let operands = self.frames.last_mut().map_or(0, |frame| {
            frame.operands += 1;
            frame.operands
        });
        if operands > 1 {
            self.out
                .push_str(if self.directed { " -> " } else { " -- " });
        } else {
            self.begin(position);
        }
    }

    fn list(&mut self, element: Element, attributes: &[Attribute], end: u32) {
        let written = respell(self.text, element, attributes);
        let line_start = self.out.rfind('\n').map_or(0, |at| at + 1);
        let used = self.out.len() - line_start;
        let length: usize = written.iter().map(|(_, w)| w.len() + 2).sum();
        let comments = self.comments.get(self.next_comment);
        let commented = comments.is_some_and(|c| c.start < end);
        if written.is_empty() || (!commented && used + length < WIDTH) {
            let all: Vec<&str> = written.iter().map(|(_, w)| w.as_str()).collect();
            let _ = write!(self.out, " [{}]", all.join(", "));
            return;
        }
        self.end(" [", self.last_end);
        if let Some(frame) = self.frames.last_mut() {
            frame.simple = false;
        }
        self.frames.push(Frame {
            operands: 0,
            start: 0,
            simple: false,
        });
        self.fresh_block = true;
        for (span, attribute) in written {
            // Line breaks before the list do not make a blank line in it.
            self.last_end = self.last_end.max(span.start.min(self.next_comment_start()));
            self.begin(span.start);
            self.out.push_str(&attribute);
            self.end(",", span.end);
        }
        self.comments_before(end);
        self.frames.pop();
        self.indent();
        self.out.push(']');
        self.fresh_block = false;
    }

    fn next_comment_start(&self) -> u32 {
        let next = self.comments.get(self.next_comment);
        next.map_or(u32::MAX, |c| c.start)
    }

    fn close(&mut self, brace: Span) -> Option<Frame> {
        self.comments_before(brace.start);
        let frame = self.frames.pop()?;
        let group = frame
            .simple
            .then(|| self.on_one_line(frame.start))
            .flatten();
        match group {
            Some(group) => {
                self.out.truncate(frame.start);
                self.out.push_str(&group);
            }
            None => {
                self.indent();
                self.out.push('}');
                if let Some(outer) = self.frames.last_mut() {
                    outer.simple = false;
                }
            }
        }
        self.last_end = self.last_end.max(brace.end);
        self.fresh_block = false;
        Some(frame)
    }

    /// Returns the text since the `{` at `start`, and a `}`, as one line. `start` is an offset in
    /// the output. Returns `None` if the line is longer than [`GROUP`] bytes, or if the text
    /// contains a quoted or HTML string.
    fn on_one_line(&self, start: usize) -> Option<String> {
        let body = self.out.get(start + 1..)?;
        if body.len() > 20 * GROUP || body.contains(['"', '<']) {
            return None;
        }
        let lines: Vec<&str> = body
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty())
            .collect();
        let group = match lines.as_slice() {
            [] => "{}".to_owned(),
            lines => format!("{{ {} }}", lines.join(" ")),
        };
        (group.len() <= GROUP).then_some(group)
    }
}

/// Returns an identifier as written. The pieces of a composed string are put on one line, with
/// ` + ` between them and without comments.
fn as_written(text: Text<'_>, id: Id) -> Cow<'_, str> {
    let raw = text.raw(id.span);
    if id.shape != Shape::Composed {
        return Cow::Borrowed(raw);
    }
    let mut pieces = Vec::new();
    let mut lexer = Lexer::new(raw);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::End => break,
            TokenKind::Plus => {}
            _ => pieces.push(&raw[token.start as usize..token.end as usize]),
        }
    }
    match pieces.as_slice() {
        [_] => Cow::Borrowed(raw),
        pieces => Cow::Owned(pieces.join(" + ")),
    }
}

/// Returns a string in quotes whose value is `value`.
///
/// DOT has no such string for a value that ends with a backslash or has one before a quote. For
/// these, the result is not correct DOT or has another value.
pub(crate) fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('"', "\\\""))
}

/// Returns the attributes in their present spelling, each with its position, in order.
///
/// On a node, the port of a member becomes part of the member's attribute, and its own attribute is
/// omitted. Members and ports that occur several times, and pairs for which [`members_stay`]
/// returns true, stay as they are.
fn respell(text: Text<'_>, element: Element, attributes: &[Attribute]) -> Vec<(Span, String)> {
    let keys: Vec<Option<Key>> = attributes
        .iter()
        .map(|a| Key::of(&text.value(a.name)))
        .collect();
    // Repeated members override each other, so they stay as they are.
    let mut ports = hashbrown::HashMap::new();
    let mut members = hashbrown::HashMap::new();
    for (key, attribute) in keys.iter().zip(attributes) {
        match key {
            Some(Key::WriterPort(_) | Key::ReaderPort(_)) => {
                let entry = ports.entry(*key).or_insert((0, attribute));
                entry.0 += 1;
            }
            Some(Key::Writer(_) | Key::Reader(_)) => *members.entry(*key).or_insert(0) += 1,
            _ => {}
        }
    }
    let joined = |key: Option<Key>| {
        let (member, port) = match key? {
            Key::Writer(n) | Key::WriterPort(n) => (Key::Writer(n), Key::WriterPort(n)),
            Key::Reader(n) | Key::ReaderPort(n) => (Key::Reader(n), Key::ReaderPort(n)),
            _ => return None,
        };
        let once = members.get(&Some(member)) == Some(&1);
        let port = ports.get(&Some(port));
        (once && port.is_none_or(|(count, _)| *count == 1)).then_some((member, port))
    };
    let plain = |a: &Attribute, name: &str| format!("{name}={}", as_written(text, a.value));
    let unchanged = |a: &Attribute| plain(a, &as_written(text, a.name));
    let mut written = Vec::with_capacity(attributes.len());
    for (key, attribute) in keys.into_iter().zip(attributes) {
        let span = attribute.span();
        let name = text.value(attribute.name);
        let value = text.value(attribute.value);
        let one = match joined(key).filter(|_| element == Element::Node) {
            Some((Key::Writer(n) | Key::Reader(n), port)) => {
                let is_port = matches!(key, Some(Key::WriterPort(_) | Key::ReaderPort(_)));
                let whole = members_stay(text, attributes, n, key, port.map(|p| p.1));
                if whole {
                    unchanged(attribute)
                } else if is_port {
                    continue;
                } else {
                    let side = if matches!(key, Some(Key::Writer(_))) {
                        "src"
                    } else {
                        "dst"
                    };
                    match port {
                        Some((_, port)) => {
                            let port = text.value(port.value);
                            format!("{side}{n}={}", quoted(&format!("{value}:{port}")))
                        }
                        None => plain(attribute, &format!("{side}{n}")),
                    }
                }
            }
            _ => match keys::modern(&name).filter(|(_, key)| key.fits(element)) {
                Some((modern, _)) => plain(attribute, modern),
                None => unchanged(attribute),
            },
        };
        written.push((span, one));
    }
    written
}

/// Returns true if a member and its port must stay two attributes, because one of the values
/// contains a colon or is empty and would be misread. Returns false if `port` is `None`.
///
/// `number` is the number of the member. `key` decides whether the member is a reader or a writer.
/// `port` is the attribute of its port.
fn members_stay(
    text: Text<'_>,
    attributes: &[Attribute],
    number: u32,
    key: Option<Key>,
    port: Option<&Attribute>,
) -> bool {
    let Some(port) = port else {
        return false;
    };
    let reads = matches!(key, Some(Key::Reader(_) | Key::ReaderPort(_)));
    let member = if reads {
        Key::Reader(number)
    } else {
        Key::Writer(number)
    };
    let colon = |a: &Attribute| {
        let value = text.value(a.value);
        value.contains(':') || value.is_empty()
    };
    let process = attributes
        .iter()
        .find(|a| Key::of(&text.value(a.name)) == Some(member));
    colon(port) || process.is_some_and(colon)
}

impl Events for Layout<'_> {
    fn open_graph(&mut self, header: &Header) {
        self.directed = header.directed;
        self.begin(header.span.start);
        if header.strict.is_some() {
            self.out.push_str("strict ");
        }
        self.out
            .push_str(if header.directed { "digraph" } else { "graph" });
        if let Some(name) = header.name {
            self.out.push(' ');
            self.id(name);
        }
        self.out.push(' ');
        self.frames.push(Frame {
            operands: 0,
            start: self.out.len(),
            simple: false,
        });
        self.end("{", header.span.end);
        self.fresh_block = true;
    }

    fn close_graph(&mut self, brace: Span) {
        self.close(brace);
        self.end("", brace.end);
    }

    fn open_subgraph(&mut self, name: Option<Id>, span: Span) {
        self.operand(span.start);
        let keyword = self.text.raw(span).starts_with(['s', 'S']);
        if keyword {
            self.out.push_str("subgraph ");
        }
        if let Some(name) = name {
            self.id(name);
            self.out.push(' ');
        }
        self.frames.push(Frame {
            operands: 0,
            start: self.out.len(),
            simple: !keyword,
        });
        self.end("{", span.end);
        self.fresh_block = true;
    }

    fn close_subgraph(&mut self, brace: Span) {
        self.close(brace);
    }

    fn defaults(&mut self, target: Target, attributes: &[Attribute], span: Span) {
        self.begin(span.start);
        let (name, element) = match target {
            Target::Graph => {
                self.check_version(attributes);
                ("graph", self.scope())
            }
            Target::Node => ("node", Element::Node),
            Target::Edge => ("edge", Element::Edge),
        };
        self.out.push_str(name);
        self.list(element, attributes, span.end);
        self.end(";", span.end);
    }

    fn assign(&mut self, attribute: &Attribute) {
        self.check_version(&[*attribute]);
        let span = attribute.span();
        self.begin(span.start);
        for (_, written) in respell(self.text, self.scope(), &[*attribute]) {
            self.out.push_str(&written);
        }
        self.end(";", span.end);
        if let Some(frame) = self.frames.last_mut() {
            frame.operands = 0;
        }
    }

    fn node(&mut self, node: &NodeRef) {
        if self.in_list {
            self.out.push_str(", ");
        } else {
            self.operand(node.name.span.start);
        }
        self.in_list = true;
        self.id(node.name);
        for port in [node.port, node.compass].into_iter().flatten() {
            self.out.push(':');
            self.id(port);
        }
    }

    fn end_operand(&mut self) {
        self.in_list = false;
    }

    fn end_chain(&mut self, operands: u32, attributes: &[Attribute], span: Span) {
        if let Some(first) = attributes.first() {
            let element = if operands > 1 {
                Element::Edge
            } else {
                Element::Node
            };
            self.last_end = self
                .last_end
                .max(first.name.span.start.min(self.next_comment_start()));
            self.list(element, attributes, span.end);
        }
        let group = operands == 1 && attributes.is_empty() && self.out.ends_with('}');
        self.end(if group { "" } else { ";" }, span.end);
        if let Some(frame) = self.frames.last_mut() {
            frame.operands = 0;
        }
    }

    fn abandon_chain(&mut self) {}
}

impl Layout<'_> {
    /// Checks the version of the graph language among attributes of the graph. Stores the error
    /// about an unsupported version in `refused`. Does nothing inside a subgraph. [`declare`]
    /// reports a value that is not a number.
    ///
    /// [`declare`]: crate::language::declare
    fn check_version(&mut self, attributes: &[Attribute]) {
        if self.scope() != Element::Graph {
            return;
        }
        for attribute in attributes {
            if Key::of(&self.text.value(attribute.name)) != Some(Key::Version) {
                continue;
            }
            let stated = self.text.value(attribute.value).parse().ok();
            let error = stated.and_then(|stated| {
                version::refused("the graph", "graphmap=", Some(stated), VERSION)
            });
            if let Some(error) = error {
                self.refused = Some(error.at(attribute.span(), ""));
            }
        }
    }

    fn scope(&self) -> Element {
        if self.frames.len() > 1 {
            Element::Cluster
        } else {
            Element::Graph
        }
    }
}
