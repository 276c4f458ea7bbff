//! What is read of a file so far: its text, what that declares, and what is wrong with it.
//!
//! The files of the subjects (scopes, nodes, edges) keep what is theirs alone, and say here what they find.

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

/// It says its kind.
pub(super) const HAS_KIND: u8 = 1;
/// It is the environment.
pub(super) const ENVIRONMENT: u8 = 2;
/// It is a bundle.
pub(super) const BUNDLE: u8 = 4;
/// It is already known to lie in two modules.
pub(super) const TORN: u8 = 8;
/// It has a statement of its own.
pub(super) const STATED: u8 = 16;

pub(super) struct Reading<'a> {
    pub(super) text: Text<'a>,
    pub(super) out: Declared,
    pub(super) report: Report,
    /// The error if the drawing states a version of the dialect that is not read. It takes the
    /// place of all other diagnostics, which may be wrong about such a drawing.
    pub(super) refused: Option<Diagnostic>,
    /// Names that come again and again.
    pub(super) known: Known,
    /// What each node is, by number: [`BUNDLE`] and so on.
    pub(super) flags: Vec<u8>,
    /// What names of attributes are on each element; they were not worth reporting.
    keys: [Recent<Option<Key>>; Element::COUNT],
    /// Symbols of values.
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

    /// The key of an attribute, if it may stand on the element; reports it otherwise.
    pub(super) fn key(&mut self, element: Element, attribute: &Attribute) -> Option<Key> {
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

    /// As [`read`](Self::read), of an attribute that may be unset: an empty value, as in Graphviz,
    /// where it takes back a default.
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

    /// The symbol of an attribute's value, which must not be empty.
    pub(super) fn symbol(&mut self, attribute: &Attribute) -> Option<Symbol> {
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
}

/// The id of a node's number.
pub(super) fn node_id(number: u32) -> NodeId {
    NodeId::from_index(number as usize)
}
