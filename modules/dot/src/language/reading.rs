//! State shared by the readers of a file: its text, its declarations so far, and its diagnostics.
//!
//! The modules for scopes, nodes and edges keep their own state, and store their results here.

use super::kept::Kept;
use super::keys::{Element, Key};
use super::report::Report;
use super::value::{self, Misfit};
use crate::events::Attribute;
use crate::recent::Recent;
use crate::token::{Shape, Text};
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::attributes::too_many_names;
use graphmap_kpn::codes::UNDEFINED_SIZE;
use graphmap_kpn::declared::{Declared, ModuleId, NodeId};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::expression::{Expression, is_name};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::sizes::{Place, Sizes, entries, no_value};
use graphmap_kpn::source::{SourceMap, Span};
use std::ops::Range;

/// The node has an explicit kind.
pub(super) const HAS_KIND: u8 = 1;
/// The node is the environment.
pub(super) const ENVIRONMENT: u8 = 2;
/// The node is a bundle.
pub(super) const BUNDLE: u8 = 4;
/// The node is known to be in two modules.
pub(super) const TORN: u8 = 8;
/// The node has a statement.
pub(super) const STATED: u8 = 16;
/// The node is a module port.
pub(super) const PORT: u8 = 32;
/// The node stands for another graph.
pub(super) const INCLUDED: u8 = 64;

/// An element whose number of instances follows from the OS processes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fitted {
    Node(NodeId),
    Module(ModuleId),
}

/// A number of instances that is to be found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) element: Fitted,
    /// Smallest number of instances: 1 for `+`, 0 for `*`.
    pub(super) least: u32,
    pub(super) span: Span,
}

pub(super) struct Reading<'a> {
    pub(super) text: Text<'a>,
    pub(super) out: Declared,
    pub(super) report: Report,
    /// Error if the graph states an unsupported version of the graph language. It replaces all
    /// other diagnostics, which may be wrong about such a graph.
    pub(super) refused: Option<Diagnostic>,
    /// Symbols of frequent names.
    pub(super) known: Known,
    /// Flags of each node, by number: [`BUNDLE`] and the like.
    pub(super) flags: Vec<u8>,
    /// The sizes that the file defines.
    pub(super) sizes: Sizes,
    /// Attributes that are kept and not interpreted.
    pub(super) kept: Kept,
    /// Number of the scope that contains the current statement.
    pub(super) scope: u32,
    /// Numbers of instances that follow from the OS processes.
    pub(super) fits: Vec<Fit>,
    /// Module that contains the current statement of edges.
    pub(super) module: Option<ModuleId>,
    /// Number of rounds of loops so far.
    pub(super) rounds: u64,
    /// Number of expressions evaluated so far. Their values depend on the scope.
    pub(super) evaluated: usize,
    /// Cache of the keys of attribute names for each sort of element, without names that are
    /// reported.
    keys: [Recent<Option<Key>>; Element::COUNT],
    /// Cache of the symbols of values.
    symbols: Recent<Option<Symbol>>,
}

pub(super) struct Known {
    pub(super) out: Symbol,
    pub(super) into: Symbol,
    pub(super) null: Symbol,
}

impl<'a> Reading<'a> {
    /// `names` are declared by `attributes=`.
    pub(super) fn new(
        text: Text<'a>,
        sources: &SourceMap,
        sizes: Sizes,
        names: Vec<String>,
    ) -> Reading<'a> {
        let mut out = Declared {
            sources: sources.clone(),
            ..Declared::default()
        };
        let known = Known {
            out: out.names.intern("out"),
            into: out.names.intern("in"),
            null: out.names.intern("NULL"),
        };
        Reading {
            text,
            out,
            report: Report::default(),
            refused: None,
            known,
            flags: Vec::new(),
            sizes,
            kept: Kept::new(names),
            scope: 0,
            fits: Vec::new(),
            module: None,
            rounds: 0,
            evaluated: 0,
            keys: Default::default(),
            symbols: Recent::default(),
        }
    }

    /// Returns the key of an attribute, or `None` if the element may not have it or if the graph
    /// language does not have it. Reports an attribute that is misplaced or unknown, except an
    /// attribute of Graphviz. Attributes of the user have a key on all elements.
    pub(super) fn key(&mut self, element: Element, attribute: &Attribute) -> Option<Key> {
        let span = attribute.name.span;
        if let Some((_, key)) = self.keys[element as usize].get(self.text, span) {
            return key;
        }
        let name = self.text.value(attribute.name);
        let reported_count = self.report.reported_count();
        let key = match Key::of(&name) {
            Some(key) if key.fits(element) => Some(key),
            Some(key) => {
                self.report.misplaced(element, key, &name, attribute);
                None
            }
            None => {
                let key = self.kept_key(element, &name);
                match key {
                    Some(key) if !self.kept.takes(key) => {
                        let error = too_many_names().at(span, "one name too many");
                        self.report.push(error);
                        return None;
                    }
                    Some(_) => {}
                    None => {
                        let declared = &self.kept.declared;
                        self.report.unknown(element, &name, declared, attribute);
                    }
                }
                key
            }
        };
        // Not cached if reported, because the error must be reported at each position.
        if reported_count == self.report.reported_count() {
            self.keys[element as usize].put(self.text, span, key);
        }
        key
    }

    /// Parses the value of an attribute with `read`. Returns `None`, after a report, for a value
    /// that does not fit.
    pub(super) fn read<T>(
        &mut self,
        attribute: &Attribute,
        read: impl FnOnce(&str) -> Result<T, Misfit>,
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

    /// Parses the value of an attribute like [`read`](Self::read). Returns `None` without a report
    /// for an empty value, which unsets a default, as in Graphviz.
    pub(super) fn read_if_set<T>(
        &mut self,
        attribute: &Attribute,
        read: impl FnOnce(&str) -> Result<T, Misfit>,
    ) -> Option<T> {
        match self.text.value(attribute.value).is_empty() {
            true => None,
            false => self.read(attribute, read),
        }
    }

    /// Parses the value of an attribute like [`read`](Self::read), but replaces expressions by
    /// their values first. Returns `None` without a report if the definition of a size that an
    /// expression uses has an error.
    pub(super) fn number<T>(
        &mut self,
        attribute: &Attribute,
        read: impl Fn(&str) -> Result<T, Misfit>,
    ) -> Option<T> {
        self.number_or(attribute, &read, &read)
    }

    /// Parses the value of an attribute like [`number`](Self::number). `computed` parses the text
    /// in which expressions are replaced.
    pub(super) fn number_or<T>(
        &mut self,
        attribute: &Attribute,
        read: impl Fn(&str) -> Result<T, Misfit>,
        computed: impl Fn(&str) -> Result<T, Misfit>,
    ) -> Option<T> {
        let value = self.text.value(attribute.value);
        let misfit = match read(&value) {
            Ok(read) => return Some(read),
            Err(misfit) => misfit,
        };
        let name = self.text.value(attribute.name);
        // The hint is about a word that is similar to an expected one.
        let is_misspelt = misfit.hint.is_some() && is_name(&value) && !self.is_size(&value);
        let result = match is_misspelt {
            true => Computed::Plain,
            false => self.computed(&value, place(attribute), misfit.expected),
        };
        let text = match result {
            Computed::Text(text) => text,
            Computed::Nothing => return None,
            Computed::Plain => {
                self.report.misfit(&name, &value, attribute, misfit);
                return None;
            }
        };
        match computed(&text) {
            Ok(read) => Some(read),
            Err(misfit) => {
                let value = format!("{value} = {text}");
                self.report.misfit(&name, &value, attribute, misfit);
                None
            }
        }
    }

    /// Parses the value of an attribute like [`number`](Self::number), but returns `None` for an
    /// empty value, which unsets a default.
    pub(super) fn number_if_set<T>(
        &mut self,
        attribute: &Attribute,
        read: impl Fn(&str) -> Result<T, Misfit>,
    ) -> Option<T> {
        match self.text.value(attribute.value).is_empty() {
            true => None,
            false => self.number(attribute, read),
        }
    }

    /// Returns true if a text is the name of a size that holds in the current scope.
    pub(super) fn is_size(&self, text: &str) -> bool {
        is_name(text) && self.sizes.is_defined(self.scope as usize, text)
    }

    /// Replaces the expressions in a text by their values. Entries are separated by a comma, the
    /// ends of a range by `..`. Reports an expression without a value. `expected` are the values
    /// that need no expression.
    fn computed(&mut self, text: &str, place: Place, expected: &str) -> Computed {
        let operators = ['+', '*', '/', '%', '^', '('];
        let mut result = String::with_capacity(text.len());
        let before = self.evaluated;
        for part in parts(text) {
            let expression = &text[part.clone()];
            let is_number = expression.parse::<f64>().is_ok() && !self.is_size(expression);
            if value::is_keyword(expression) || is_number {
                result.push_str(expression);
                continue;
            }
            if expression.is_empty() || expression == "," || expression == ".." {
                result.push_str(if expression == ".." { "-" } else { expression });
                continue;
            }
            let place = place.at_part(&part);
            let parsed = match Expression::parse(expression) {
                Ok(parsed) => parsed,
                Err(_) if !expression.contains(operators) => return Computed::Plain,
                Err(error) => {
                    self.report.push(no_value(expression, place, &error));
                    return Computed::Nothing;
                }
            };
            // `4-1` is a malformed range, not a difference.
            if parsed.names().is_empty() && !expression.contains(operators) {
                return Computed::Plain;
            }
            self.evaluated += 1;
            let scope = self.scope as usize;
            let value = self.sizes.value(scope, expression, place, &parsed, &[]);
            match value {
                Ok(Some(value)) => result.push_str(&value.to_string()),
                Ok(None) => return Computed::Nothing,
                Err(error) => {
                    let is_word = error.code == UNDEFINED_SIZE && expression == text;
                    self.report.push(match is_word && is_name(text) {
                        true => error.help(format!("or write {expected}")),
                        false => *error,
                    });
                    return Computed::Nothing;
                }
            }
        }
        match self.evaluated == before {
            true => Computed::Plain,
            false => Computed::Text(result),
        }
    }

    /// Returns the symbol of an attribute's value, which is added to the names. Returns `None`,
    /// after a report, for an empty value.
    pub(super) fn symbol(&mut self, attribute: &Attribute) -> Option<Symbol> {
        let span = attribute.value.span;
        if let Some((_, symbol)) = self.symbols.get(self.text, span) {
            return symbol;
        }
        let value = self.text.value(attribute.value);
        if value.is_empty() {
            self.read(attribute, |v| value::name(v).map(drop))?;
        }
        let symbol = Some(self.out.names.intern(&value));
        self.symbols.put(self.text, span, symbol);
        symbol
    }
}

/// The result of replacing the expressions in a text.
pub(super) enum Computed {
    /// The text with their values.
    Text(String),
    /// The text contains no expression.
    Plain,
    /// An expression has no value, which was reported.
    Nothing,
}

/// Returns the bytes of the entries of a text and of the separators `,` and `..` between them.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for entry in entries(text) {
        if !parts.is_empty() {
            let comma = begin + text[begin..].find(',').unwrap_or(0);
            parts.push(comma..comma + 1);
        }
        begin = entry.end;
        match text[entry.clone()].find("..") {
            None => parts.push(entry),
            Some(dots) => {
                let dots = entry.start + dots;
                let before = text[entry.start..dots].trim_end().len();
                let after = text[dots + 2..entry.end].trim_start().len();
                parts.push(entry.start..entry.start + before);
                parts.push(dots..dots + 2);
                parts.push(entry.end - after..entry.end);
            }
        }
    }
    parts
}

/// Returns the position of the value of an attribute.
pub(super) fn place(attribute: &Attribute) -> Place {
    let span = attribute.value.span;
    let inside = match attribute.value.shape {
        Shape::Name | Shape::Number => Some(span.start),
        Shape::Quoted => Some(span.start + 1),
        Shape::Composed | Shape::Html => None,
    };
    Place { span, inside }
}

/// Returns the id of the node with a number. Whether the node exists is not checked.
pub(super) fn node_id(number: u32) -> NodeId {
    NodeId::from_index(number as usize)
}
