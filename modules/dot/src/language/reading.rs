//! State shared by the readers of a file: its text, its declarations so far, and its diagnostics.
//!
//! The modules for scopes, nodes and edges keep their own state, and store their results here.

use super::keys::{Element, Key};
use super::report::Report;
use super::value::{self, Misfit};
use crate::events::Attribute;
use crate::recent::Recent;
use crate::token::Text;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{Declared, NodeId};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::source::SourceMap;

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
    pub(super) fn new(text: Text<'a>, sources: &SourceMap) -> Reading<'a> {
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
            keys: Default::default(),
            symbols: Recent::default(),
        }
    }

    /// Returns the key of an attribute, or `None` if the element may not have it or if the graph
    /// language does not have it. Reports an attribute that is misplaced or unknown, except an
    /// attribute of Graphviz.
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
                self.report.unknown(element, &name, attribute);
                None
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

/// Returns the id of the node with a number. Whether the node exists is not checked.
pub(super) fn node_id(number: u32) -> NodeId {
    NodeId::from_index(number as usize)
}
