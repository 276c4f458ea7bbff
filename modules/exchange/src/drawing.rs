//! Graphs as both formats describe them: modules, nodes and attributes.

use graphmap_kpn::source::Span;
use std::borrow::Cow;

/// A name or a value, with its position.
#[derive(Clone, Debug)]
pub(crate) struct Word<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Span,
}

/// An attribute of the graph language.
#[derive(Clone, Debug)]
pub(crate) struct Attribute<'a> {
    pub(crate) name: Word<'a>,
    pub(crate) value: Word<'a>,
}

/// Attribute of a module: its name, if it differs from its id.
pub(crate) const MODULE_NAME: &str = "name";

/// Attribute of a node or module in GraphML: its position among the others.
pub(crate) const ORDER: &str = "order";

/// Attribute of the graph language whose value may be HTML: it then contains the `<` and `>` around
/// it.
pub(crate) const LABEL: &str = "label";

/// A module.
#[derive(Debug)]
pub(crate) struct Module<'a> {
    /// Unique name in the file.
    pub(crate) id: Word<'a>,
    /// Index of the module around it, which precedes it.
    pub(crate) parent: Option<usize>,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

impl<'a> Module<'a> {
    /// Returns the name in the network.
    pub(crate) fn name(&self) -> &Word<'a> {
        let mut attributes = self.attributes.iter();
        let given = attributes.find(|attribute| attribute.name.text == MODULE_NAME);
        given.map_or(&self.id, |attribute| &attribute.value)
    }
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) name: Word<'a>,
    /// Index of the innermost module that contains it.
    pub(crate) module: Option<usize>,
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// A graph without its edges.
#[derive(Debug, Default)]
pub(crate) struct Drawing<'a> {
    pub(crate) name: Option<Word<'a>>,
    pub(crate) attributes: Vec<Attribute<'a>>,
    /// Defaults of all nodes (`node`) or all edges (`edge`).
    pub(crate) defaults: Vec<(&'static str, Attribute<'a>)>,
    pub(crate) modules: Vec<Module<'a>>,
    /// Nodes in the order of ranks.
    pub(crate) nodes: Vec<Node<'a>>,
}

/// Maximum depth of modules inside modules in a file.
pub(crate) const MOST_DEPTH: usize = 250;
