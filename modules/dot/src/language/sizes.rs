//! The definitions of sizes in a file, and the names of the user's attributes, which are read
//! before everything else.
//!
//! A definition holds in the whole of its graph or cluster, also before its statement. So the text
//! is parsed twice if it may contain definitions.

use super::keeping::declared_names;
use super::reading::place;
use crate::events::{Attribute, Header, Target};
use crate::graph::{Builder, End, Graph, Preset, Scope};
use crate::parser::parse;
use crate::token::Text;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::names::{Names, Symbol};
use graphmap_kpn::sizes::{Given, Sizes};
use graphmap_kpn::source::{Source, Span};

/// Name of the attribute.
const SIZES: &str = "sizes";

/// Name of the attribute of the graph that declares names of attributes.
const ATTRIBUTES: &str = "attributes";

/// Returns the sizes that a text defines, and the names of attributes that it declares. Reports the
/// errors of the definitions. Does not report errors of the syntax.
pub(super) fn of_text(
    source: &Source,
    given: &Given,
    diagnostics: &mut Diagnostics,
) -> (Sizes, Vec<String>) {
    let text = Text::new(source.text(), source.base());
    let mut definitions = Definitions {
        text,
        names: Names::default(),
        sizes: Sizes::new(given.clone()),
        attributes: Vec::new(),
        graphs: 0,
        diagnostics,
    };
    // A name may also consist of several strings, or continue on the next line.
    let any = [SIZES, ATTRIBUTES, "+", "\\\n", "\\\r"];
    if any.iter().any(|part| source.text().contains(part)) {
        let mut ignored = Diagnostics::new();
        let mut graph = Graph::new(text, &mut definitions, &mut ignored);
        parse(source, &mut graph, &mut Diagnostics::new());
    }
    let Definitions {
        mut sizes,
        attributes,
        diagnostics,
        ..
    } = definitions;
    sizes.settle(diagnostics);
    (sizes, attributes)
}

/// Receives the statements of a file, and keeps the definitions.
struct Definitions<'a> {
    text: Text<'a>,
    names: Names,
    sizes: Sizes,
    /// Names that `attributes=` declares.
    attributes: Vec<String>,
    graphs: u32,
    diagnostics: &'a mut Diagnostics,
}

impl Builder for Definitions<'_> {
    type Key = ();

    fn names(&mut self) -> &mut Names {
        &mut self.names
    }

    fn open_graph(&mut self, _: &Header) {
        self.graphs += 1;
    }

    fn defaults(&mut self, _: Target, _: &[Attribute]) {}

    fn classify(&mut self, _: Target, _: &Attribute) -> Option<()> {
        None
    }

    fn open_scope(&mut self, _: u32, scope: &Scope, again: bool) {
        if !again && self.graphs == 1 {
            self.sizes.add_scope(scope.parent as usize);
        }
    }

    fn scope_attribute(&mut self, scope: u32, attribute: &Attribute) {
        if self.graphs != 1 {
            return;
        }
        let name = self.text.value(attribute.name);
        if scope == 0 && name == ATTRIBUTES {
            let names = declared_names(self.text, attribute, self.diagnostics);
            self.attributes.extend(names);
        }
        if name == SIZES {
            let list = self.text.value(attribute.value);
            let place = place(attribute);
            self.sizes
                .define(scope as usize, &list, place, self.diagnostics);
        }
    }

    fn node(&mut self, _: Symbol, _: Span, _: u32, _: &[Preset<()>]) {}

    fn mention(&mut self, _: u32, _: u32, _: Span) {}

    fn node_attributes(&mut self, _: &[u32], _: &[Attribute], _: u32) {}

    fn edges(&mut self, _: &[Preset<()>], _: &[Attribute], _: u32) {}

    fn edge(&mut self, _: &End, _: &End) {}
}
